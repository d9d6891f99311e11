"""What the classifiers over n-gram counts share: features made of token ids, both classes weighing the same.

Source: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", section on discriminative evaluators (1- to 3-grams). Its n-grams are not further described: here all that
stand in enough training sentences are features, without marks for the ends of sentences.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import TfidfTransformer

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator.base import BaseDiscriminator, Pair, balanced_weights, is_real_of, setting
from textassay.ngram.index import NgramIndex

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weighting = Literal["counts", "presence", "tf-idf"]


@dataclass(frozen=True)
class Rows:
    """Sentences as a classifier reads them: features (N, n_features), 1 for real or 0 (N,), weights (N,) of mean 1."""

    features: csr_matrix
    is_real: IntArray
    weights: FloatArray


@dataclass(eq=False, kw_only=True)
class NgramClassifier(BaseDiscriminator):
    """A classifier over the n-grams of a sentence: a subclass learns from `Rows` and scores features."""

    max_order: int = setting(3, "the longest n-grams", least=1)
    min_sentences: int = setting(2, "an n-gram is a feature if so many training sentences hold it", least=1)
    weighting: Weighting = setting(
        "counts",
        "``counts``; ``presence``: 1 where a sentence holds the n-gram; ``tf-idf``: 1 + log of the count, times the "
        "inverse document frequency in the training text, rows of length 1",
        choices=Weighting,
    )

    @property
    def features(self) -> str:
        """The n-grams, and the settings of the classifier."""
        return f"1-{self.max_order}-grams in >={self.min_sentences} sentences, {self.weighting}, {self.settings}"

    @property
    @abstractmethod
    def settings(self) -> str:
        """Every setting of the classifier that can change its answers."""

    @abstractmethod
    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return what is learnt from at least one feature, and what was chosen, JSON-ready."""

    @abstractmethod
    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        """Return the probability of being real of each row, at least one, shape (N,)."""

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Model, Mapping[str, Any]]":
        """Return the n-grams of the training text and what the classifier learnt from them."""
        index = NgramIndex.build(train, max_order=self.max_order, min_sentences=self.min_sentences)
        counts = vstack([index.count_matrix(corpus) for corpus in train], format="csr")
        idf = None
        if self.weighting == "tf-idf" and index.n_features:
            idf = TfidfTransformer(sublinear_tf=True).fit(counts)
        model = _Model(index, train[0].vocabulary, idf, self.weighting, None)
        if not index.n_features:
            return model, {"n_features": 0}
        rows = Rows(model.weighted(counts), is_real_of(train).astype(np.int64), balanced_weights(train))
        valid_features = vstack([model.features(corpus) for corpus in valid], format="csr")
        valid_rows = Rows(valid_features, is_real_of(valid).astype(np.int64), balanced_weights(valid))
        learnt, chosen = self.learn_rows(rows, valid_rows)
        return replace(model, learnt=learnt), {"n_features": index.n_features, **chosen}

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,); 1/2 where no n-gram was a feature."""
        model: _Model = self.model
        if model.learnt is None or len(corpus) == 0:
            return np.full(len(corpus), 0.5)
        return self.score_rows(model.learnt, model.features(corpus))


@dataclass(frozen=True)
class _Model:
    """From sentences to features, and from these to probabilities."""

    index: NgramIndex
    vocabulary: Vocabulary
    idf: TfidfTransformer | None
    weighting: Weighting
    learnt: Any  # None where there was no feature

    def features(self, corpus: Corpus) -> csr_matrix:
        known = corpus if corpus.vocabulary is self.vocabulary else corpus.with_vocabulary(self.vocabulary)
        return self.weighted(self.index.count_matrix(known))

    def weighted(self, counts: csr_matrix) -> csr_matrix:
        if self.weighting == "presence":
            return csr_matrix((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        return counts if self.idf is None else csr_matrix(self.idf.transform(counts))
