"""Parallel text: pairs of a source sentence and its translation, pairs held out from training, forced beginnings.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 6: pairs are held out
before training, because prefixes must come from pairs that the model never saw. Appendix: translations are forced to
begin with nothing (``normal``), the reference's first three tokens (``data3``), those of another, randomly chosen
reference, grammatical but wrong (``unrel3``), or three random words of the vocabulary (``rand3``).
Departs from it: ``unrel3`` takes no reference that begins as the source's own does, since its beginning would be right.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError, unknown_name
from textassay.ngram.language_model import drawn_corpus
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ParallelText:
    """Sentence k of `target` translates sentence k of `source`; they share one vocabulary."""

    source: Corpus
    target: Corpus

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise InputError(
                f"line k of one side must translate line k of the other, but the source has {len(self.source)} "
                f"sentences and the translation {len(self.target)}"
            )
        if self.source.vocabulary is not self.target.vocabulary:
            raise OptionError("source and translation have different vocabularies: encode both with one TextForm")

    @classmethod
    def from_texts(cls, source: Any, target: Any, form: TextForm) -> "ParallelText":
        """Return the pairs of two lists of texts (see `as_texts`), encoded by the `form` of a model."""
        return cls(form.corpus(source), form.corpus(target))

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def fingerprint(self) -> str:
        both = f"{self.source.fingerprint} {self.target.fingerprint}"
        return hashlib.blake2b(both.encode(), digest_size=16).hexdigest()

    def take(self, indices: IntArray) -> "ParallelText":
        return ParallelText(self.source.take(indices), self.target.take(indices))


def learn_joint_form(source: Any, target: Any, *, size: int, lowercase: bool = False) -> TextForm:
    """Return byte pairs learnt from both sides together, so that names and numbers have the same tokens in both."""
    texts = [*as_texts(source, "source").texts, *as_texts(target, "target").texts]
    return TextForm.learn(texts, tokenizer=f"bpe-{size}", lowercase=lowercase)


def held_out_pairs(n_pairs: int, n: int, *, seed: int) -> tuple[IntArray, IntArray]:
    """Return the indices of the pairs to train on and of `n` pairs to hold out, each in increasing order.

    The indices are disjoint. Equal pairs may be in both: leaving them out would change the distribution.
    """
    if n < 0:
        raise OptionError(f"pairs to hold out must be at least 0, got {n}")
    if n_pairs - n < 2:
        raise TooFewSentencesError(f"of {n_pairs:,} pairs, {n} cannot be held out: at least 2 must be left to train on")
    order = stream(seed, "pairs", "held back").permutation(n_pairs)
    return np.sort(order[n:]), np.sort(order[:n])


PREFIX_MODES = ("normal", "data3", "unrel3", "rand3")
LENGTH = 3


def forced_prefixes(mode: str, references: Corpus, *, length: int = LENGTH, seed: int = 0) -> Corpus:
    """Return the forced prefix of the translation of each source, N token sequences.

    `length`: tokens that are forced, at least 1; fewer where a reference is shorter (``data3``).
    """
    if mode not in PREFIX_MODES:
        raise unknown_name("prefix mode", mode, PREFIX_MODES)
    if length < 1:
        raise OptionError(f"the length of forced prefixes must be at least 1, got {length}")
    n = len(references)
    if mode == "normal":
        return _as_corpus(np.empty((n, 0), dtype=np.int64), np.zeros(n, dtype=np.int64), references)
    if mode == "rand3":
        n_types, first = len(references.vocabulary), len(SPECIAL_TOKENS)
        if n_types == first:
            raise OptionError("the vocabulary has no words to draw from")
        rows = stream(seed, "prefixes", "rand").integers(first, n_types, (n, length))
        return _as_corpus(rows, np.full(n, length), references)
    lengths = np.minimum(references.lengths, length)
    inside = np.arange(length) < lengths[:, None]
    places = references.offsets[:-1, None] + np.arange(length)
    own = np.full((n, length), -1, dtype=np.int64)
    own[inside] = references.tokens[places[inside]]
    if mode == "data3":
        return _as_corpus(own, lengths, references)
    return _as_corpus(own[_unrelated(own, lengths == length, seed)], np.full(n, length), references)


def _unrelated(own: IntArray, whole: npt.NDArray[np.bool_], seed: int) -> IntArray:
    """Return for each row of `own`, (N, l), a random `whole` row that differs from it, shape (N,)."""
    _, kinds = np.unique(own, axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    choices = np.flatnonzero(whole)
    alike = np.bincount(kinds[choices], minlength=int(kinds.max(initial=0)) + 1)
    stuck = np.flatnonzero(alike[kinds] == len(choices))
    if len(stuck) > 0:
        raise InputError(
            f"sentence {stuck[0] + 1} has no unrelated reference of {own.shape[1]} tokens: all begin as its own; more "
            "references are needed"
        )
    rng = stream(seed, "prefixes", "unrelated")
    chosen = np.full(len(own), -1)
    waiting = np.arange(len(own))
    while len(waiting) > 0:
        chosen[waiting] = choices[rng.integers(0, len(choices), len(waiting))]
        waiting = waiting[kinds[chosen[waiting]] == kinds[waiting]]
    return chosen


def _as_corpus(rows: IntArray, lengths: IntArray, references: Corpus) -> Corpus:
    inside = np.arange(rows.shape[1]) < lengths[:, None]
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    tokens = rows[inside].astype(np.int32)
    return drawn_corpus(tokens, offsets, vocabulary=references.vocabulary, tokenizer=references.tokenizer)
