"""What a linear model over n-grams says of a sentence, as one number for a stack.

A logistic regression over the n-grams of a sentence, ends included, is fitted without each of `N_FOLDS` parts of the
training text in turn. A training sentence gets its log-odds from the fit that did not see its part, a new sentence the
mean over all fits, so that both numbers mean about the same.

Source: Wolpert, "Stacked generalization", Neural Networks 5, 1992.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair
from textassay.discriminator.newton import fit_logistic
from textassay.ngram import NgramIndex
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_FOLDS = 3

_MAX_ORDER = 4
_MIN_SENTENCES = 2  # of the training text
_C = 0.1
_TOLERANCE = 0.1  # margins are weighed by the stack: they need not be exact

# All of it, for signatures.
MARGINS_TOLD = (
    f"linear margins of 1-{_MAX_ORDER}-grams in >={_MIN_SENTENCES} sentences from {N_FOLDS} parts at C={_C:g}"
)


@dataclass(frozen=True)
class LinearMargins:
    """Linear models of `N_FOLDS` parts; made by `fit`."""

    index: NgramIndex  # The n-grams
    coefficients: FloatArray  # Mean over the fits, the intercept last, shape (n_features + 1,)

    @classmethod
    def fit(cls, train: Pair, groups: IntArray | None = None) -> "tuple[LinearMargins, FloatArray]":
        """Return models, and the margins of training sentences, real ones first, shape (n_real + n_generated,)."""
        index = NgramIndex.build(train, max_order=_MAX_ORDER, min_sentences=_MIN_SENTENCES)
        rows = vstack([_presence(index, corpus) for corpus in train], format="csr")
        sizes = [len(corpus) for corpus in train]
        is_real = np.repeat([True, False], sizes)
        groups = np.arange(sum(sizes)) if groups is None else groups
        parts = stream(0, "linear margins", "parts").permutation(int(groups.max()) + 1)[groups] % N_FOLDS
        margins = np.zeros(len(is_real))
        fits = []
        for part in range(N_FOLDS):
            rest = np.flatnonzero(parts != part)
            own = np.flatnonzero(parts == part)
            if is_real[rest].all() or not is_real[rest].any():
                continue
            theta = fit_logistic(rows[rest], is_real[rest], c=_C, tolerance=_TOLERANCE)
            margins[own] = rows[own] @ theta[:-1] + theta[-1]
            fits.append(theta)
        mean = np.mean(fits, axis=0) if fits else np.zeros(index.n_features + 1)
        return cls(index, mean), margins

    def margins(self, corpus: Corpus) -> FloatArray:
        """Return the mean log-odds of new sentences, with ends as in `fit`, shape (N,)."""
        rows = _presence(self.index, corpus)
        return np.asarray(rows @ self.coefficients[:-1] + self.coefficients[-1], dtype=np.float64)


def _presence(index: NgramIndex, corpus: Corpus) -> csr_matrix:
    rows = index.count_matrix(corpus)
    rows.data[:] = 1.0
    return rows
