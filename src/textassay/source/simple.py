"""Generators with a known fault: real sentences with their words shuffled, and a few sentences copied.

A metric that looks only at words cannot tell the first from real text; one that looks only at n-grams finds the second
flawless. Both draw their sentences independently, with replacement, so that equal sentences may be drawn.
"""

from typing import Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import TooFewSentencesError, check_range
from textassay.ngram.language_model import check_sample, check_train, drawn_corpus, not_fitted, refuse
from textassay.seeding import stream, uniforms

IntArray = npt.NDArray[np.int64]


class WordShuffler:
    """Draws training sentences and puts the words of each in random order; a `Generator`."""

    def __init__(self) -> None:
        self._train: Corpus | None = None

    @property
    def name(self) -> str:
        return "word-shuffler"

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Keep `train` and return itself; raises `EmptyCorpusError` where it has no sentence."""
        check_train(train, generator=self.name)
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
        """Return `n` shuffled training sentences; it takes none of the other settings."""
        check_sample(n, seed=seed, temperature=temperature, generator=self.name)
        refuse(self.name, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, context=context)
        train = _require(self._train, self.name)
        key = _key(seed, self.name, train)
        drawn = train.take(_choose(key, n, len(train)))
        ranks = np.empty(len(drawn.tokens))
        for position in range(int(drawn.lengths.max())):
            longer = np.flatnonzero(drawn.lengths > position)
            ranks[drawn.offsets[longer] + position] = uniforms(key, longer, 1 + position)
        order = np.lexsort((ranks, np.repeat(np.arange(n), drawn.lengths)))
        return drawn_corpus(drawn.tokens[order], drawn.offsets, vocabulary=train.vocabulary, tokenizer=train.tokenizer)


class Copier:
    """Draws from a few fixed training sentences; a `Generator`."""

    def __init__(self, n_sentences: int = 50, *, seed: int = 0) -> None:
        check_range("n_sentences", n_sentences, 1)
        self.n_sentences = n_sentences
        self.seed = seed
        self._known: Corpus | None = None

    @property
    def name(self) -> str:
        return f"copier(n_sentences={self.n_sentences})"

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Choose the sentences, without replacement, and return itself."""
        check_train(train, generator=self.name)
        if len(train) < self.n_sentences:
            raise TooFewSentencesError(
                f"{self.name} needs at least {self.n_sentences} training sentences, got {len(train)}"
            )
        rng = stream(self.seed, "copier", "choice")
        self._known = train.take(np.sort(rng.choice(len(train), self.n_sentences, replace=False)))
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
        """Return `n` of the known sentences; it takes none of the other settings."""
        check_sample(n, seed=seed, temperature=temperature, generator=self.name)
        refuse(self.name, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, context=context)
        known = _require(self._known, self.name)
        return known.take(_choose(_key(seed, self.name, known), n, len(known)))


def _require(corpus: Corpus | None, generator: str) -> Corpus:
    if corpus is None:
        raise not_fitted(generator)
    return corpus


def _key(seed: int, generator: str, corpus: Corpus) -> int:
    return int(stream(seed, generator, corpus.fingerprint).integers(2**63))


def _choose(key: int, n: int, n_choices: int) -> IntArray:
    """Return n numbers below `n_choices`, drawn with replacement, one for each sentence number."""
    return (uniforms(key, np.arange(n), 0) * n_choices).astype(np.int64)
