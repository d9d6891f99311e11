"""GPT-2 in folders of transformers, both ways: what the library reads of ours, and its own as our faster network."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.byte_pairs import BytePairs
from textassay.corpus.encoding import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError
from textassay.prior.model_folder import load_config, one_line
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.pretrained import load_tokens
from textassay_lab.training.history import History

_EPSILON = 1e-5  # added to variances in layer norm, as PyTorch does unless told otherwise
_WHITE_SPACE = "".join(rf"\x{{{code:x}}}" for code in range(0x10000) if chr(code).isspace())  # as `str.split` sees it
_SPLITS = {"whitespace": (f"[{_WHITE_SPACE}]+", "Removed"), "chars": (r"[\s\S]", "Isolated")}
_BUFFERS = (".attn.bias", ".attn.masked_bias")  # in files of early versions of the library


def gpt2_config(model: Any) -> dict[str, Any]:
    """Return what ``config.json`` says to transformers of a fitted `Gpt2Model`."""
    shapes = {name: weight.shape for name, weight in model.weights.items()}
    return {
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": shapes["transformer.wte.weight"][0],
        "n_positions": shapes["transformer.wpe.weight"][0],
        "n_embd": model.width,
        "n_layer": model.layers,
        "n_head": model.heads,
        "activation_function": "gelu_new",
        "resid_pdrop": model.dropout,
        "embd_pdrop": model.dropout,
        "attn_pdrop": model.dropout,
        "layer_norm_epsilon": _EPSILON,
        "bos_token_id": SOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
    }


def tokenizer_files(form: TextForm) -> dict[str, dict[str, Any]]:
    """Return the documents with which transformers makes the same tokens, after a ``<sos>``.

    They exist for byte pairs, white space and characters, without lower case; the rules of others are our own.
    """
    function, name = form.tokenizer.function, form.tokenizer.name
    types = {token: number for number, token in enumerate(form.vocabulary.tokens)}
    decoder = {"type": "Fuse"} if name == "chars" else None
    if isinstance(function, BytePairs) and not form.tokenizer.lowercase:
        split: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        decoder = split
        model: dict[str, Any] = {"type": "BPE", "vocab": types, "merges": [list(pair) for pair in function.merges]}
    elif name in _SPLITS:
        pattern, behavior = _SPLITS[name]
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}
        model = {"type": "WordLevel", "vocab": types, "unk_token": SPECIAL_TOKENS[UNK]}
    else:
        return {}
    first = SPECIAL_TOKENS[SOS]
    begun = [{"SpecialToken": {"id": first, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {
        "type": "TemplateProcessing",
        "single": begun,
        "pair": [*begun, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {first: {"id": first, "ids": [SOS], "tokens": [first]}},
    }
    parts = {"pre_tokenizer": split, "post_processor": template, "decoder": decoder, "model": model}
    names = dict(zip(("pad_token", "eos_token", "bos_token", "unk_token"), SPECIAL_TOKENS, strict=True))
    reader = {"tokenizer_class": "PreTrainedTokenizerFast", **names, "split_special_tokens": True}
    return {
        "tokenizer.json": {"version": "1.0", "added_tokens": [], "normalizer": None, **parts},
        "tokenizer_config.json": {**reader, "clean_up_tokenization_spaces": False},
    }


def open_gpt2(folder: Path, check: Callable[[Mapping[str, npt.NDArray[Any]]], None]) -> tuple[Any, TextForm]:
    """Return the model of a folder of transformers as a fitted `Gpt2Model`, and its tokens.

    The embeddings stand in the order of our vocabulary: special tokens first, types that are no token left out.
    `check` raises for weights that cannot be.
    """
    config = load_config(folder)
    _check_config(config, folder)
    tokens = load_tokens(folder, config)
    if len(tokens.ends) > 1:
        raise _other(folder, "has several end tokens")
    if not tokens.name.startswith("bpe-"):
        raise _other(folder, "has tokens that are not byte pairs")
    form = tokens.form
    with one_line(folder, "the model"):
        weights = _weights(folder)
        check(weights)
        embeddings = weights["transformer.wte.weight"]
        if embeddings.shape != (config.vocab_size, config.n_embd):
            raise InputError("its embeddings do not fit its configuration")
    if not np.array_equal(weights.pop("lm_head.weight", embeddings), embeddings):
        raise _other(folder, "has an output layer that is not its embeddings")
    weights["transformer.wte.weight"] = embeddings[tokens.inputs]
    sizes = {"width": config.n_embd, "layers": config.n_layer, "heads": config.n_head}
    model: Any = make_generator("gpt2", **sizes, dropout=config.resid_pdrop, positions=config.n_positions)
    record = {"history": asdict(History())}
    with one_line(folder, "the model"):
        model.restore(weights, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record=record)
    model.module.excluded = np.flatnonzero(~tokens.drawable).tolist()
    return model, form


def _check_config(config: Any, folder: Path) -> None:
    ours: Mapping[str, tuple[Any, ...]] = {
        "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
        "layer_norm_epsilon": (_EPSILON,),
        "n_inner": (None, 4 * config.n_embd),
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
        "tie_word_embeddings": (True,),
    }
    for name, values in ours.items():
        if (value := getattr(config, name, values[0])) not in values:
            raise _other(folder, f"has {name} {value}, not {values[-1]}")


def _other(folder: Path, difference: str) -> InputError:
    return InputError(f"{folder} holds a GPT-2 that {difference}, which ours has not: write pretrained:{folder}")


def _weights(folder: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the weights by the names of the whole model, float32."""
    from safetensors.torch import load_file

    weights = {}
    for path in sorted(folder.glob("model*.safetensors")):  # large models have several
        for name, weight in load_file(path).items():
            whole = name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}"
            if not whole.endswith(_BUFFERS):
                weights[whole] = weight.float().numpy()
    return weights
