"""Names of weights in models saved before networks were modules (formats 1 and 2), and the names that they have now."""

import re
from collections.abc import Mapping
from typing import Any

_LSTM = {
    "words": "embedding.weight",
    r"layer (\d+) input": r"layers.\1.weight_ih",
    r"layer (\d+) state": r"layers.\1.weight_hh",
    r"layer (\d+) bias": r"layers.\1.bias",
    "output": "head.weight",
    "output bias": "head.bias",
}
_TRANSFORMER_XL = {
    "words": "embedding.weight",
    "output bias": "head.bias",
    "clusters": "clusters.weight",
    "cluster bias": "clusters.bias",
    "(content|distance)": r"query_bias.\1",
    r"layer (\d+) key value": r"blocks.\1.attention.key_value.weight",
    r"layer (\d+) (query|distances|mix)": r"blocks.\1.attention.\2.weight",
    r"layer (\d+) heard scale": r"blocks.\1.attention_norm.weight",
    r"layer (\d+) heard bias": r"blocks.\1.attention_norm.bias",
    r"layer (\d+) thought scale": r"blocks.\1.mlp_norm.weight",
    r"layer (\d+) thought bias": r"blocks.\1.mlp_norm.bias",
    r"layer (\d+) (inner|outer)": r"blocks.\1.\2.weight",
    r"layer (\d+) (inner|outer) bias": r"blocks.\1.\2.bias",
}
_TRANSLATION = {
    "source words": "source_words.weight",
    "words": "words.weight",
    r"(\w+\.\d+)\.self\.(query|memory|out)": r"\1.attention.\2.weight",
    r"(\w+\.\d+)\.self\.(query|memory|out) bias": r"\1.attention.\2.bias",
    r"(\w+\.\d+)\.source\.(query|memory|out)": r"\1.source_attention.\2.weight",
    r"(\w+\.\d+)\.source\.(query|memory|out) bias": r"\1.source_attention.\2.bias",
    r"(\w+\.\d+)\.rise": r"\1.inner.weight",
    r"(\w+\.\d+)\.rise bias": r"\1.inner.bias",
    r"(\w+\.\d+)\.fall": r"\1.outer.weight",
    r"(\w+\.\d+)\.fall bias": r"\1.outer.bias",
    r"(\w+\.\d+)\.self scale": r"\1.attention_norm.weight",
    r"(\w+\.\d+)\.self shift": r"\1.attention_norm.bias",
    r"(\w+\.\d+)\.source scale": r"\1.source_norm.weight",
    r"(\w+\.\d+)\.source shift": r"\1.source_norm.bias",
    r"(\w+\.\d+)\.inner scale": r"\1.mlp_norm.weight",
    r"(\w+\.\d+)\.inner shift": r"\1.mlp_norm.bias",
}
_NOISE_GRU = {
    "words": "words.weight",
    "(input|state)": r"cell.\1.weight",
    "(input|state) bias": r"cell.\1.bias",
    "output": "head.weight",
    "output bias": "head.bias",
}
_LEAKGAN = {
    "(features|worker) words": r"\1.words.weight",
    "features bias": "features.pooled.bias",
    "features highway": "features.highway.weight",
    "features highway bias": "features.highway.bias",
    "features highway gate": "features.gate.weight",
    "features highway gate bias": "features.gate.bias",
    "(manager|worker) input": r"\1.lstm.weight_ih",
    "(manager|worker) state": r"\1.lstm.weight_hh",
    "(manager|worker) bias": r"\1.lstm.bias",
    "manager goal": "manager.goal.weight",
    "manager goal bias": "manager.goal.bias",
    "worker first goal": "worker.first.goal",
    "worker goals": "worker.goals.weight",
    "worker output": "worker.head.weight",
}
_OF_KIND: Mapping[str, Mapping[str, str]] = {
    "lstm": _LSTM,
    "scheduled-sampling": _LSTM,
    "random-lstm": _LSTM,
    "tied-lstm": {**_LSTM, "output": "projection.weight", "fixed words": "fixed.weight"},
    "att2seq": {
        **_LSTM,
        r"layer (\d+) start": r"starts.\1.weight",
        r"layer (\d+) start bias": r"starts.\1.bias",
        "(attention|mix) (output|attribute)": r"\1_\2.weight",
    },
    "c2s": {**_LSTM, "context": "context.weight", "context bias": "context.bias"},
    "gc2s": {
        **_LSTM,
        "(context|skip)": r"\1.weight",
        "context bias": "context.bias",
        "gate": "gate_layer.weight",
        "gate bias": "gate_layer.bias",
    },
    "transformer-xl": _TRANSFORMER_XL,
    "translation": _TRANSLATION,
    "noise-gru": _NOISE_GRU,
    "leakgan": _LEAKGAN,
}


def present_name(name: str, kind: str, settings: Mapping[str, Any]) -> str:
    """Return what a weight of a model of this kind and these settings is called now."""
    for number, attribute in enumerate(settings.get("attributes", ())):
        if name == f"attribute {attribute}":
            return f"attributes.{number}.weight"
    for number, window in enumerate(pair[0] for pair in settings.get("filters", ())):
        if name == f"features filters {window}":
            return f"features.filters.{number}.weight"
    for old, new in _OF_KIND.get(kind, {}).items():
        if match := re.fullmatch(old, name):
            return match.expand(new)
    return name
