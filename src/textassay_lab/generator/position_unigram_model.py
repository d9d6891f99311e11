"""A language model of sentence lengths and of the words at each position, each word independent of the others.

Its lengths and its word frequencies, position by position, are those of real text, so that only a metric that looks at
two words at once can tell it from real text.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK, Vocabulary
from textassay.errors import check_type
from textassay.ngram.language_model import (
    check_counted,
    check_sample,
    check_train,
    drawn_corpus,
    not_fitted,
    refuse,
    sentence_sums,
    tokens_in,
    training_record,
)
from textassay.seeding import stream, uniforms
from textassay_lab.generator.position_unigram import PositionUnigramSettings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PositionUnigram(PositionUnigramSettings):
    """Draws a length, then a word for each position, all independently; a `LanguageModel` without temperature.

    The length l has probability (count + 1 / (L + 1)) / (N + 1) for 0 to the longest length L, longer sentences have
    none. The word w at position i has probability (count_i(w) + strength u(w)) / (n_i + strength), where u is the
    word's share of the text, (count(w) + 1 / V) / (T + 1) over the V types that models draw, ``<unk>`` among them.
    Token by token, a sentence ends at position i with the probability of length i among all lengths from i on.
    """

    kind = "position-unigram"

    reach: ClassVar[int] = 0  # length of the context

    def __post_init__(self) -> None:
        super().__post_init__()
        self._train: Corpus | None = None
        self._fingerprint = ""
        self._lengths: FloatArray = np.empty(0)
        self._shares: FloatArray = np.empty(0)
        self._at: list[IntArray] = []

    @property
    def name(self) -> str:
        return f"position-unigram(strength={self.strength:g})"

    @property
    def vocabulary(self) -> Vocabulary:
        return self._require().vocabulary

    @property
    def tokenizer(self) -> str:
        return self._require().tokenizer

    @property
    def max_length(self) -> int:
        """Tokens of the longest sentence it draws."""
        self._require()
        return len(self._lengths) - 1

    @property
    def record(self) -> dict[str, Any]:
        """Record of the training text."""
        return training_record(self._require(), self._fingerprint)

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Count `train` and return itself; `valid` is not used."""
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
        self._fingerprint = train.fingerprint
        return self

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the training tokens, from which `restore` refits."""
        train = self._require()
        return {"tokens": train.tokens, "offsets": train.offsets}

    def check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]], n_types: int) -> None:
        """Raise `InputError` unless names, shapes and types are those of `arrays()`."""
        check_counted(arrays, n_types, values=False)

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Refit to saved tokens; see `textassay_lab.generator.saved`."""
        check_counted(arrays, len(vocabulary), values=True)
        fingerprint = record.get("train", {}).get("fingerprint")
        check_type("the fingerprint of the training text", fingerprint, str)
        self.fit(drawn_corpus(arrays["tokens"], arrays["offsets"], vocabulary=vocabulary, tokenizer=tokenizer))
        self._fingerprint = fingerprint

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
        key = int(stream(seed, self.name, self._fingerprint).integers(2**63))
        lengths = _invert(self._lengths, uniforms(key, np.arange(n), 0))
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
        tokens = np.empty(offsets[-1], dtype=np.int32)
        for position in range(int(lengths.max())):
            rows = np.flatnonzero(lengths > position)
            tokens[offsets[rows] + position] = _invert(self._words(position), uniforms(key, rows, 1 + position))
        return drawn_corpus(tokens, offsets, vocabulary=train.vocabulary, tokenizer=train.tokenizer)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, shape (N,), in nats; -inf above `max_length`."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each end, shape (T + N,); see `LanguageModel`.

        -inf from the first token after `max_length`.
        """
        refuse(self.name, temperature=temperature)
        vocabulary = self._require().vocabulary
        tokens = tokens_in(vocabulary, corpus, generator=self.name)
        ends, goes_on = self._hazards()
        scores = np.full(len(tokens) + len(corpus), -np.inf)
        for position in range(min(self.max_length, int(corpus.lengths.max(initial=-1))) + 1):
            rows = np.flatnonzero(corpus.lengths >= position)
            begins = corpus.offsets[rows]
            longer = corpus.lengths[rows] > position
            scores[(begins + rows)[~longer] + position] = ends[position]
            if position < self.max_length and longer.any():
                words = np.log(self._words(position)[tokens[begins[longer] + position]])
                scores[(begins + rows)[longer] + position] = goes_on[position] + words
        return scores

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each prefix, shape (B, V); see `LanguageModel`.

        NaN after a prefix longer than `max_length`.
        """
        refuse(self.name, temperature=temperature)
        vocabulary = self._require().vocabulary
        tokens_in(vocabulary, prefixes, generator=self.name)
        ends, goes_on = self._hazards()
        log_probs = np.full((len(prefixes), len(vocabulary)), np.nan)
        for position in np.unique(prefixes.lengths[prefixes.lengths <= self.max_length]):
            row = np.full(len(vocabulary), -np.inf)
            if position < self.max_length:
                row[UNK:] = goes_on[position] + np.log(self._words(position)[UNK:])
            row[EOS] = ends[position]
            log_probs[prefixes.lengths == position] = row
        return log_probs

    def _hazards(self) -> tuple[FloatArray, FloatArray]:
        """Return the log-probability of ending, and of going on, at each position from 0 to the longest, (L + 1,)."""
        from_here = np.cumsum(self._lengths[::-1])[::-1]
        with np.errstate(divide="ignore"):
            return np.log(self._lengths / from_here), np.log(np.append(from_here[1:], 0.0) / from_here)

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
    outcomes = np.searchsorted(bounds, draws * bounds[-1], side="right")
    return np.asarray(np.minimum(outcomes, len(bounds) - 1), dtype=np.int64)
