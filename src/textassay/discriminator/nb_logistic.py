"""NB-weighted logistic regression: n-grams weighted by how much more often one side has them.

Every n-gram of a sentence counts with the log of the ratio of its shares of real and of generated sentences, as naive
Bayes would weigh it; a logistic regression then says how far each of these weights is to be believed.

Source: Wang and Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", ACL 2012.
Departs from it: a logistic regression instead of a support vector machine, with sentence ends as tokens; shares of
sentences instead of shares of all n-grams, with a pseudo-count of the smaller side on both, so that an n-gram equally
rare on sides of unequal sizes weighs nothing; interpolation and strength are chosen on validation text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_accuracy, balanced_cross_entropy
from textassay.discriminator.newton import fit_logistic
from textassay.errors import OptionError
from textassay.ngram import NgramIndex, mark_ends

FloatArray = npt.NDArray[np.float64]

STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # inverse strengths of regularisation
INTERPOLATIONS = (0.25, 0.5, 1.0)  # the paper: 0.25 for its naive Bayes machine, 1 for no interpolation

_TOLERANCE = 0.03
_OVERFIT = 1.05  # weaker regularisation is no longer tried once validation cross-entropy is so far above its best


class NbLogisticDiscriminator:
    """Logistic regression over present n-grams times their log count ratios."""

    name = "nb-logistic"

    def __init__(
        self,
        *,
        max_order: int = 3,
        min_sentences: int = 2,
        smoothing: float = 1.0,
        strengths: Sequence[float] = STRENGTHS,
        interpolations: Sequence[float] = INTERPOLATIONS,
    ) -> None:
        for setting, value in (("max_order", max_order), ("min_sentences", min_sentences)):
            if value < 1:
                raise OptionError(f"{setting} must be at least 1, got {value}")
        if smoothing <= 0:
            raise OptionError(f"smoothing must be above 0, got {smoothing}")
        if not strengths or min(strengths) <= 0:
            raise OptionError(f"strengths must be numbers above 0, got {list(strengths)}")
        if not interpolations or not 0 < min(interpolations) <= max(interpolations) <= 1:
            raise OptionError(f"interpolations must be numbers above 0, at most 1, got {list(interpolations)}")
        self.max_order = max_order
        self.min_sentences = min_sentences
        self.smoothing = smoothing
        self.strengths = tuple(sorted(strengths))
        self.interpolations = tuple(sorted(interpolations))
        self.chosen: Mapping[str, Any] = {}
        self._weights: _Weights | None = None

    @property
    def features(self) -> str:
        """N-grams, smoothing, interpolations and strengths of regularisation."""
        return (
            f"1-{self.max_order}-grams with ends in >={self.min_sentences} sentences, log count ratios +"
            f"{self.smoothing:g}, C={','.join(f'{c:g}' for c in self.strengths)}, "
            f"interpolation {','.join(f'{share:g}' for share in self.interpolations)}"
        )

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(
            max_order=self.max_order,
            min_sentences=self.min_sentences,
            smoothing=self.smoothing,
            strengths=self.strengths,
            interpolations=self.interpolations,
        )
        marked = [mark_ends(corpus) for corpus in train]
        index = NgramIndex.build(marked, max_order=self.max_order, min_sentences=self.min_sentences)
        counts = [index.count_matrix(corpus) for corpus in marked]
        ratios = log_count_ratios(counts[0], counts[1], smoothing=self.smoothing)
        features = _weighted(vstack(counts, format="csr"), ratios)
        valid_features = [_weighted(index.count_matrix(mark_ends(corpus)), ratios) for corpus in valid]
        is_real = np.repeat([True, False], [len(corpus) for corpus in train])
        best, lowest, theta = (-np.inf, -np.inf), np.inf, None
        for c in self.strengths:
            theta = fit_logistic(features, is_real, c=c, tolerance=_TOLERANCE, start=theta)
            losses = []
            for share in self.interpolations:
                weights = _Weights(index, ratios, _interpolated(theta[:-1], share), float(theta[-1]))
                real, generated = (weights.prob_real(part) for part in valid_features)
                losses.append(balanced_cross_entropy(real, generated))
                merit = (balanced_accuracy(real, generated), -losses[-1])
                if merit > best:
                    best = merit
                    fitted._weights = weights
                    fitted.chosen = {"c": c, "interpolation": share, "n_features": index.n_features}
            lowest = min(lowest, *losses)
            if min(losses) > _OVERFIT * lowest:
                break
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._weights is None:
            raise OptionError("an nb-logistic discriminator must be fitted before it scores texts")
        counts = self._weights.index.count_matrix(mark_ends(corpus))
        return self._weights.prob_real(_weighted(counts, self._weights.ratios))


def log_count_ratios(real: csr_matrix, generated: csr_matrix, *, smoothing: float = 1.0) -> FloatArray:
    """Return how much more often real sentences hold each n-gram, shape (n_features,), in nats.

    `real`, `generated`: counts, shapes (n_real, n_features) and (n_generated, n_features), at least one row each.

    ln of (share of real sentences + a) / (share of generated ones + a), a being `smoothing` over the smaller number of
    sentences: with equally many sentences, each count plus `smoothing`.
    """
    added = smoothing / min(real.shape[0], generated.shape[0])
    shares = [np.bincount(side.indices, minlength=side.shape[1]) / side.shape[0] + added for side in (real, generated)]
    return np.asarray(np.log(shares[0]) - np.log(shares[1]), dtype=np.float64)


@dataclass(frozen=True)
class _Weights:
    """A fitted linear model over the n-grams of `index`, each as large as its ratio."""

    index: NgramIndex
    ratios: FloatArray
    coefficients: FloatArray
    intercept: float

    def prob_real(self, features: csr_matrix) -> FloatArray:
        return np.asarray(expit(features @ self.coefficients + self.intercept), dtype=np.float64)


def _weighted(counts: csr_matrix, ratios: FloatArray) -> csr_matrix:
    """Return for each n-gram that a sentence holds its ratio, however often it holds it."""
    return csr_matrix((ratios[counts.indices], counts.indices, counts.indptr), shape=counts.shape)


def _interpolated(coefficients: FloatArray, share: float) -> FloatArray:
    """Return `share` of the coefficients and, for the rest, their mean size for all."""
    if share == 1 or len(coefficients) == 0:
        return coefficients
    return share * coefficients + (1 - share) * float(np.abs(coefficients).mean())
