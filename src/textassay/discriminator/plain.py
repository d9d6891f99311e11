"""The yardstick of the bench: a logistic regression over which n-grams a sentence holds, and nothing else.

Word 1- to 4-grams, present or not, without marks for the beginning and the end of a sentence; only the strength of
regularisation is chosen, by balanced accuracy on validation text. Other discriminators are measured against it, so it
stays as it is when they improve.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_accuracy, balanced_cross_entropy
from textassay.discriminator.newton import fit_logistic
from textassay.errors import OptionError
from textassay.ngram import NgramIndex

FloatArray = npt.NDArray[np.float64]

MAX_ORDER = 4
MIN_SENTENCES = 2
STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # inverse strengths of regularisation
_TOLERANCE = 0.03


class PlainLogistic:
    """Logistic regression over the presence of word 1- to 4-grams; a `Discriminator`."""

    name = "plain"

    def __init__(self) -> None:
        self.chosen: Mapping[str, Any] = {}
        self._index: NgramIndex | None = None
        self._theta: FloatArray = np.empty(0)

    @property
    def features(self) -> str:
        """N-grams and strengths of regularisation."""
        strengths = ",".join(f"{c:g}" for c in STRENGTHS)
        return f"1-{MAX_ORDER}-grams without ends in >={MIN_SENTENCES} sentences, binary C={strengths}"

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)()
        index = NgramIndex.build(train, max_order=MAX_ORDER, min_sentences=MIN_SENTENCES)
        fitted._index = index
        features = vstack([_presence(index, corpus) for corpus in train], format="csr")
        judged = [_presence(index, corpus) for corpus in valid]
        is_real = np.repeat([True, False], [len(corpus) for corpus in train])
        best = (-np.inf, -np.inf)
        theta = None
        for c in STRENGTHS:
            theta = fit_logistic(features, is_real, c=c, tolerance=_TOLERANCE, start=theta)
            real, generated = (_prob(part, theta) for part in judged)
            merit = (balanced_accuracy(real, generated), -balanced_cross_entropy(real, generated))
            if merit > best:
                best = merit
                fitted._theta = theta
                fitted.chosen = {"c": c, "n_features": index.n_features}
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._index is None:
            raise OptionError("a plain discriminator must be fitted before it scores texts")
        return _prob(_presence(self._index, corpus), self._theta)


def _presence(index: NgramIndex, corpus: Corpus) -> csr_matrix:
    """Return which n-grams stand in each sentence, ones, shape (N, n_features)."""
    counts = index.count_matrix(corpus)
    return csr_matrix((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)


def _prob(features: csr_matrix, theta: FloatArray) -> FloatArray:
    return np.asarray(expit(features @ theta[:-1] + theta[-1]), dtype=np.float64)
