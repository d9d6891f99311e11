"""Forced prefixes of translations.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, appendix: ``normal`` (nothing is
forced), ``data3`` (the reference's first three tokens), ``unrel3`` (those of another, randomly chosen reference:
grammatical but wrong), ``rand3`` (three random words of the vocabulary).
Departs from it: ``unrel3`` takes no reference that begins as the source's own does, since its beginning would be right.
"""

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS
from textassay.errors import InputError, OptionError, unknown_name
from textassay.ngram.language_model import drawn_corpus
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

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
