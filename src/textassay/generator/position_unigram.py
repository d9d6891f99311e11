"""A generator that knows how long sentences are and which words stand where, and nothing of what follows what.

Its word frequencies and its lengths are those of real text, position by position, so that only what looks at two words
at once can tell it from real text.
"""

from typing import Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import UNK
from textassay.errors import OptionError
from textassay.generator.base import check_sample, check_train, drawn_corpus, not_fitted, refuse, tokens_in
from textassay.seeding import stream, uniforms

__all__ = ["PositionUnigram"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PositionUnigram:
    """Draws a length, then a word for each position, all independently; a `Generator` that is a `ScoredGenerator`.

    Parameters
    ----------
    strength
        How many words of the whole text a position's own words are blended with, above 0.

    Notes
    -----
    The length l has probability (count + 1 / (L + 1)) / (N + 1) for 0 to the longest length L, longer sentences have
    none. The word w at position i has probability (count_i(w) + strength u(w)) / (n_i + strength), where u is the
    word's share of the text, (count(w) + 1 / V) / (T + 1) over the V types that models draw, ``<unk>`` among them.
    """

    def __init__(self, *, strength: float = 10.0) -> None:
        if not 0 < strength < float("inf"):
            raise OptionError(f"strength must be above 0, got {strength}")
        self.strength = strength
        self._train: Corpus | None = None
        self._lengths: FloatArray = np.empty(0)
        self._shares: FloatArray = np.empty(0)
        self._at: list[IntArray] = []

    @property
    def name(self) -> str:
        """Canonical name."""
        return f"position-unigram(strength={self.strength:g})"

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Count `train` and return itself; `valid` is not used.

        Raises
        ------
        EmptyCorpusError
            If `train` has no sentence.
        InputError
            If a sentence of `train` holds ``<pad>``, ``<eos>`` or ``<sos>``.
        """
        check_train(train, generator=self.name)
        longest = int(train.lengths.max())
        counts = np.bincount(train.lengths, minlength=longest + 1)
        self._lengths = (counts + 1 / (longest + 1)) / (len(train) + 1)
        n_types = len(train.vocabulary) - UNK
        words = np.bincount(train.tokens, minlength=len(train.vocabulary)).astype(np.float64)
        words[UNK:] += 1 / n_types
        self._shares = words / (len(train.tokens) + 1)
        where = _positions(train.offsets)
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(longest + 1))
        self._at = [train.tokens[order[ends[i] : ends[i + 1]]].astype(np.int64) for i in range(longest)]
        self._train = train
        return self

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return `n` sentences; it takes none of the other settings."""
        check_sample(n, seed=seed, temperature=temperature, generator=self.name)
        refuse(self.name, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, context=context)
        train = self._require()
        key = int(stream(seed, self.name, train.fingerprint).integers(2**63))
        lengths = _invert(self._lengths, uniforms(key, np.arange(n), 0))
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
        tokens = np.empty(offsets[-1], dtype=np.int32)
        for position in range(int(lengths.max())):
            rows = np.flatnonzero(lengths > position)
            tokens[offsets[rows] + position] = _invert(self._words(position), uniforms(key, rows, 1 + position))
        return drawn_corpus(tokens, offsets, vocabulary=train.vocabulary, tokenizer=train.tokenizer)

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, shape (N,), in nats; -inf for one longer than all it knows."""
        train = self._require()
        tokens = tokens_in(train.vocabulary, corpus, generator=self.name)
        longest = len(self._lengths) - 1
        lengths = corpus.lengths
        found = np.full(len(corpus), -np.inf)
        known = lengths <= longest
        found[known] = np.log(self._lengths[lengths[known]])
        for position in range(min(longest, int(lengths.max(initial=0)))):
            rows = np.flatnonzero(known & (lengths > position))
            found[rows] += np.log(self._words(position)[tokens[corpus.offsets[rows] + position]])
        return found

    def _words(self, position: int) -> FloatArray:
        """Return the probabilities of all types at one position, shape (V,)."""
        own = self._at[position]
        counts = np.bincount(own, minlength=len(self._shares))
        return np.asarray((counts + self.strength * self._shares) / (len(own) + self.strength), dtype=np.float64)

    def _require(self) -> Corpus:
        if self._train is None:
            raise not_fitted(self.name)
        return self._train


def _positions(offsets: IntArray) -> IntArray:
    """Return where in its sentence each token stands, from 0, shape (T,)."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))


def _invert(probabilities: FloatArray, draws: FloatArray) -> IntArray:
    """Return the outcome that each draw in [0, 1) stands for."""
    bounds = np.cumsum(probabilities)
    found = np.searchsorted(bounds, draws * bounds[-1], side="right")
    return np.asarray(np.minimum(found, len(bounds) - 1), dtype=np.int64)
