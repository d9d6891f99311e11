"""Prefix switching: one model continues prefixes of several kinds, to be read side by side.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.4, tables 1, 8 and 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import OptionError
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.exposure.runs import parse_kind
from textassay_lab.generator.next_words import Ends, model_vocabulary
from textassay_lab.generator.prefixes import (
    continue_prefixes,
    corrupted,
    data_prefixes,
    model_prefixes,
    random_prefixes,
    shuffled,
)

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SwitchedSample:
    """A sentence in two parts; joined, they are its text."""

    kind: str  # Of the prefix, such as ``shuffled``
    prefix: str  # The model's own under ``model``
    continuation: str  # Written by the model, with the space before it


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
    """Return `n` sentences for each kind of prefix, continued by the model."""
    if length < 1 or n_tokens < 1 or n < 1:
        raise OptionError(f"length, n_tokens and n must be at least 1, got {length}, {n_tokens} and {n}")
    vocabulary = model_vocabulary(model)
    if text.vocabulary is not vocabulary and text.vocabulary.tokens != vocabulary.tokens:
        raise OptionError(f"{model.name} and the real text have different vocabularies: use text.with_vocabulary")

    def seed_for(purpose: str) -> int:
        return int(stream(seed, "switching", purpose).integers(2**62))

    samples: list[SwitchedSample] = []
    for name in kinds:
        kind, rate = parse_kind(name)
        if kind in ("data", "shuffled"):
            prefix = data_prefixes(text, length, n, seed=seed_for("data"), ends=ends)
            prefix = shuffled(prefix, seed=seed_for("shuffled")) if kind == "shuffled" else prefix
        elif kind == "random":
            prefix = random_prefixes(len(vocabulary), length, n, seed=seed_for("random"))
        else:  # whole sentences are drawn, so that a corrupted prefix is that of the sample under ``model``
            prefix = model_prefixes(model, length + n_tokens, n, seed=seed_for("model"), ends=ends)
            prefix = (
                corrupted(prefix[:, :length], rate, len(vocabulary), seed=seed_for("corrupted")) if rate else prefix
            )
        rows = prefix
        if prefix.shape[1] == length:
            rows = continue_prefixes(model, prefix, n_tokens, seed=seed_for(f"continued {name}"), ends=ends)
        texts, prefix_texts = _texts(model, text, rows), _texts(model, text, rows[:, :length])
        samples += [
            SwitchedSample(name, *_split_at_prefix(one, part)) for one, part in zip(texts, prefix_texts, strict=True)
        ]
    return tuple(samples)


def _texts(model: LanguageModel, text: Corpus, rows: IntArray) -> list[str]:
    """Return the texts of rows of ids, shape (n, l), up to their first end."""
    vocabulary = model_vocabulary(model)
    kept = [row[: int(np.argmax(row == EOS))] if (row == EOS).any() else row for row in rows]
    tokenizer = getattr(getattr(model, "form", None), "tokenizer", None)
    decode = getattr(getattr(tokenizer, "function", None), "decode", None)
    if decode is None:
        return [join_tokens(text.tokenizer, vocabulary.decode(row)) for row in kept]
    offsets = np.cumsum([0, *map(len, kept)])
    return list(decode(np.concatenate(kept).astype(np.int32), offsets))


def _split_at_prefix(whole: str, prefix: str) -> tuple[str, str]:
    """Split a text after its prefix; a character whose bytes both parts share goes to the second."""
    pairs = enumerate(zip(whole, prefix, strict=False))
    length = next((place for place, (a, b) in pairs if a != b), min(len(whole), len(prefix)))
    return whole[:length], whole[length:]
