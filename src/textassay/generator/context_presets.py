"""Presets of conditional generators.

Garbacea et al., "Judge the Judges", EMNLP 2019, does not say how theirs were trained. ``paper`` of ``att2seq`` has the
sizes of Dong et al., "Learning to Generate Product Reviews from Attributes", EACL 2017, that of the others usual ones;
``small`` and ``tiny`` are those of the LSTM, for comparison.
"""

from collections.abc import Mapping
from typing import Any

from textassay.generator.lstm_presets import LSTM_PRESETS
from textassay.training import Recipe

_SMALL = {**LSTM_PRESETS["small"], "context_width": 32}
_TINY = {**LSTM_PRESETS["tiny"], "context_width": 8}
_C2S = {
    "paper": {
        "width": 512,
        "layers": 1,
        "context_width": 64,
        "dropout": 0.2,
        "batch_size": 128,
        "recipe": Recipe(max_epochs=80, patience=5, learning_rate=1e-3, max_norm=5.0),
    },
    "small": _SMALL,
    "tiny": _TINY,
}

CONTEXT_PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "c2s": _C2S,
    "gc2s": _C2S,
    "att2seq": {
        "paper": {
            "width": 512,
            "layers": 2,
            "context_width": 64,
            "dropout": 0.2,
            "spread": 0.08,
            "batch_size": 50,
            "recipe": Recipe(max_epochs=80, patience=5, learning_rate=2e-3, max_norm=5.0),
        },
        "small": _SMALL,
        "tiny": _TINY,
    },
}
