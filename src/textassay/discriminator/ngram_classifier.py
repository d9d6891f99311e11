"""What the classifiers over n-gram counts share: features made of token ids, both classes weighing the same.

Source: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", section on discriminative evaluators (1- to 3-grams). Its n-grams are not further described: here all that
stand in enough training sentences are features, without marks for the ends of sentences.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfTransformer

from textassay.corpus import Corpus, Vocabulary
from textassay.discriminator.base import Pair
from textassay.errors import OptionError
from textassay.ngram import NgramIndex

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weighting = Literal["counts", "presence", "tf-idf"]

MAX_ORDER = 3


@dataclass(frozen=True)
class Rows:
    """Sentences as a classifier reads them: features (N, n_features), 1 for real or 0 (N,), weights (N,) of mean 1."""

    features: csr_matrix
    is_real: IntArray
    weights: FloatArray


class NgramClassifier(ABC):
    """A classifier over the n-grams of a sentence.

    `weighting`: ``counts``; ``presence``: 1 where the n-gram stands in the sentence; ``tf-idf``: 1 + log of the count,
    times the inverse document frequency in the training text, rows of length 1.
    """

    name: str

    def __init__(self, *, max_order: int, min_sentences: int, weighting: Weighting) -> None:
        check_least(max_order=(max_order, 1), min_sentences=(min_sentences, 1))
        if weighting not in get_args(Weighting):
            raise OptionError(f"weighting must be {', '.join(get_args(Weighting))}, got {weighting}")
        self.max_order = max_order
        self.min_sentences = min_sentences
        self.weighting: Weighting = weighting
        self.chosen: Mapping[str, Any] = {}
        self._fitted: _Fitted | None = None

    @property
    def features(self) -> str:
        """The n-grams, and the settings of the classifier."""
        return f"1-{self.max_order}-grams in >={self.min_sentences} sentences, {self.weighting}, {self.settings}"

    @property
    @abstractmethod
    def settings(self) -> str:
        """Every setting of the classifier that can change its answers."""

    @abstractmethod
    def learn(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return the fitted model, and what was chosen, JSON-ready; there is at least one feature."""

    @abstractmethod
    def judge(self, model: Any, features: csr_matrix) -> FloatArray:
        """Return the probability of being real of each row, at least one, shape (N,)."""

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; this one stays as it is."""
        fitted = copy.copy(self)
        index = NgramIndex.build(train, max_order=self.max_order, min_sentences=self.min_sentences)
        counts = vstack([index.count_matrix(corpus) for corpus in train], format="csr")
        idf = (
            TfidfTransformer(sublinear_tf=True).fit(counts) if self.weighting == "tf-idf" and counts.shape[1] else None
        )
        encoder = _Encoder(index, train[0].vocabulary, idf, self.weighting)
        model: Any = None
        chosen: dict[str, Any] = {}
        if index.n_features:
            valid_counts = vstack([index.count_matrix(encoder.known(corpus)) for corpus in valid], format="csr")
            model, chosen = self.learn(
                _rows(encoder.weighted(counts), train), _rows(encoder.weighted(valid_counts), valid)
            )
        fitted._fitted = _Fitted(encoder, model)
        fitted.chosen = {"n_features": index.n_features, **chosen}
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,); 1/2 where no n-gram was a feature."""
        if self._fitted is None:
            raise OptionError(f"a {self.name} discriminator must be fitted before it scores texts")
        if self._fitted.model is None or len(corpus) == 0:
            return np.full(len(corpus), 0.5)
        return self.judge(self._fitted.model, self._fitted.encoder.encode(corpus))


@dataclass(frozen=True)
class _Encoder:
    """From sentences to features."""

    index: NgramIndex
    vocabulary: Vocabulary
    idf: TfidfTransformer | None
    weighting: Weighting

    def encode(self, corpus: Corpus) -> csr_matrix:
        return self.weighted(self.index.count_matrix(self.known(corpus)))

    def known(self, corpus: Corpus) -> Corpus:
        return corpus if corpus.vocabulary is self.vocabulary else corpus.with_vocabulary(self.vocabulary)

    def weighted(self, counts: csr_matrix) -> csr_matrix:
        if self.weighting == "presence":
            return csr_matrix((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        return counts if self.idf is None else csr_matrix(self.idf.transform(counts))


@dataclass(frozen=True)
class _Fitted:
    encoder: _Encoder
    model: Any  # None where there was no feature


def _rows(features: csr_matrix, pair: Pair) -> Rows:
    sizes = [len(corpus) for corpus in pair]
    weights = np.repeat([sum(sizes) / (2 * size) for size in sizes], sizes)
    return Rows(features, np.repeat(np.array([1, 0]), sizes), weights)


def check_least(**settings: tuple[float, float]) -> None:
    """Raise unless each setting, given with its least value, is at least that."""
    for name, (value, least) in settings.items():
        if not value >= least:
            raise OptionError(f"{name} must be at least {least:g}, got {value}")
