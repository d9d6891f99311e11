"""Prefix switching: one model goes on from beginnings of several kinds, to be read side by side.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.4, tables 1, 8 and 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.continuation import (
    continue_prefixes,
    corrupted,
    data_prefixes,
    model_prefixes,
    random_prefixes,
    shuffled,
)
from textassay.corpus import EOS, Corpus, join_tokens
from textassay.errors import OptionError
from textassay.exposure.runs import parse_kind
from textassay.generator import Ends, LanguageModel, model_vocabulary
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SwitchedSample:
    """A sentence in two parts, which joined as they are give its text."""

    kind: str  # Of the prefix, such as ``shuffled``
    prefix: str  # The given beginning; the model's own under ``model``
    continuation: str  # What the model wrote after it, the space before it included


def switch_prefixes(
    model: LanguageModel,
    text: Corpus,
    *,
    kinds: Sequence[str] = ("data", "model", "shuffled", "random"),
    length: int = 10,
    n_tokens: int = 20,
    n: int = 3,
    seed: int = 0,
    ends: Ends = "excluded",
) -> tuple[SwitchedSample, ...]:
    """Return `n` sentences that the model went on with, for each kind of prefix."""
    if length < 1 or n_tokens < 1 or n < 1:
        raise OptionError(f"length, n_tokens and n must be at least 1, got {length}, {n_tokens} and {n}")
    vocabulary = model_vocabulary(model)
    if text.vocabulary is not vocabulary and text.vocabulary.tokens != vocabulary.tokens:
        raise OptionError(f"{model.name} and the real text have different vocabularies: use text.with_vocabulary")

    def of(purpose: str) -> int:
        return int(stream(seed, "switching", purpose).integers(2**62))

    found: list[SwitchedSample] = []
    for name in kinds:
        kind, rate = parse_kind(name)
        if kind in ("data", "shuffled"):
            begin = data_prefixes(text, length, n, seed=of("data"), ends=ends)
            begin = shuffled(begin, seed=of("shuffled")) if kind == "shuffled" else begin
        elif kind == "random":
            begin = random_prefixes(len(vocabulary), length, n, seed=of("random"))
        else:  # the whole sentence is drawn at once, so that what is corrupted is the beginning of what is shown
            begin = model_prefixes(model, length + n_tokens, n, seed=of("model"), ends=ends)
            begin = corrupted(begin[:, :length], rate, len(vocabulary), seed=of("corrupted")) if rate else begin
        rows = begin
        if begin.shape[1] == length:
            rows = continue_prefixes(model, begin, n_tokens, seed=of(f"continued {name}"), ends=ends)
        whole, first = _texts(model, text, rows), _texts(model, text, rows[:, :length])
        found += [SwitchedSample(name, *_parted(one, part)) for one, part in zip(whole, first, strict=True)]
    return tuple(found)


def _texts(model: LanguageModel, text: Corpus, rows: IntArray) -> list[str]:
    """Return what rows of ids, (n, l), say up to their first end."""
    vocabulary = model_vocabulary(model)
    kept = [row[: int(np.argmax(row == EOS))] if (row == EOS).any() else row for row in rows]
    tokenizer = getattr(getattr(model, "form", None), "tokenizer", None)
    decode = getattr(getattr(tokenizer, "function", None), "decode", None)
    if decode is None:
        return [join_tokens(text.tokenizer, vocabulary.decode(row)) for row in kept]
    offsets = np.cumsum([0, *map(len, kept)])
    return list(decode(np.concatenate(kept).astype(np.int32), offsets))


def _parted(whole: str, prefix: str) -> tuple[str, str]:
    """Return the two parts of a text; a letter whose bytes both share goes to the second."""
    pairs = enumerate(zip(whole, prefix, strict=False))
    length = next((place for place, (a, b) in pairs if a != b), min(len(whole), len(prefix)))
    return whole[:length], whole[length:]
