"""Logistic regression over the n-grams of a sentence: the default discriminator.

A sentence is described by its word 1- to 4-grams, with its beginning and its end as tokens of their own, so that where
words stand at the edges counts too (of text cut at a length it finds 0.99 instead of 0.97). Two weightings (present or
not; TF-IDF) and several strengths of regularisation are fitted; the one with the best balanced accuracy on validation
text stays. Fits are stopped early (`_TOLERANCE`), which moves no measured discrepancy by more than 0.001.

Source: objective (3) of Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_accuracy, balanced_cross_entropy
from textassay.discriminator.newton import fit_logistic
from textassay.errors import OptionError, unknown_name
from textassay.ngram import NgramIndex, mark_ends

FloatArray = npt.NDArray[np.float64]
Weighting = Literal["binary", "tfidf"]

_TOLERANCE = 0.03
_OVERFIT = 1.05  # weaker regularisation is no longer tried once validation cross-entropy is so far above its best

# Inverse strengths of regularisation to try for each weighting, strongest regularisation first.
GRID: Mapping[Weighting, Sequence[float]] = {
    "binary": (0.01, 0.03, 0.1, 0.3, 1.0),
    "tfidf": (0.3, 1.0, 3.0, 10.0, 30.0),
}


class LogisticDiscriminator:
    """Logistic regression over word n-grams.

    `grid`: how n-grams may be weighted (``binary`` or ``tfidf``), and for each the inverse strengths of regularisation
    (above 0) to try; the choice is made on validation text, ties go to the lower cross-entropy.
    """

    name = "logistic"

    def __init__(
        self, *, max_order: int = 4, min_sentences: int = 2, grid: Mapping[Weighting, Sequence[float]] = GRID
    ) -> None:
        for setting, value in (("max_order", max_order), ("min_sentences", min_sentences)):
            if value < 1:
                raise OptionError(f"{setting} must be at least 1, got {value}")
        for weighting, strengths in grid.items():
            if weighting not in get_args(Weighting):
                raise unknown_name("weighting", weighting, get_args(Weighting))
            if not strengths or min(strengths) <= 0:
                raise OptionError(f"grid must hold numbers above 0 for {weighting}, got {list(strengths)}")
        if not grid:
            raise OptionError("grid must have at least one weighting, got none")
        self.max_order = max_order
        self.min_sentences = min_sentences
        self.grid = {weighting: tuple(sorted(strengths)) for weighting, strengths in grid.items()}
        self.chosen: Mapping[str, Any] = {}
        self._weights: _Weights | None = None

    @property
    def features(self) -> str:
        """N-grams, weightings and strengths of regularisation."""
        grids = " or ".join(
            f"{weighting} C={','.join(f'{c:g}' for c in strengths)}" for weighting, strengths in self.grid.items()
        )
        return f"1-{self.max_order}-grams with ends in >={self.min_sentences} sentences, {grids}"

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(max_order=self.max_order, min_sentences=self.min_sentences, grid=self.grid)
        marked = [mark_ends(corpus) for corpus in train]
        index = NgramIndex.build(marked, max_order=self.max_order, min_sentences=self.min_sentences)
        counts = vstack([index.count_matrix(corpus) for corpus in marked], format="csr")
        valid_counts = [index.count_matrix(mark_ends(corpus)) for corpus in valid]
        is_real = np.repeat([True, False], [len(corpus) for corpus in train])
        best = (-np.inf, -np.inf)
        for weighting, strengths in self.grid.items():
            idf = _inverse_document_frequency(counts) if weighting == "tfidf" else None
            features = _features(counts, idf)
            valid_features = [_features(part, idf) for part in valid_counts]
            lowest = np.inf
            theta = None
            for c in strengths:
                theta = fit_logistic(features, is_real, c=c, tolerance=_TOLERANCE, start=theta)
                weights = _Weights(index, idf, theta[:-1], float(theta[-1]))
                real, generated = (weights.prob_real(part) for part in valid_features)
                loss = balanced_cross_entropy(real, generated)
                merit = (balanced_accuracy(real, generated), -loss)
                if merit > best:
                    best = merit
                    fitted._weights = weights
                    fitted.chosen = {"weighting": weighting, "c": c, "n_features": index.n_features}
                lowest = min(lowest, loss)
                if loss > _OVERFIT * lowest:
                    break
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._weights is None:
            raise OptionError("a logistic discriminator must be fitted before it scores texts")
        return self._weights.prob_real(
            _features(self._weights.index.count_matrix(mark_ends(corpus)), self._weights.idf)
        )

    def token_evidence(self, corpus: Corpus) -> FloatArray:
        """Return what each token adds to the log-odds of its sentence being real.

        Shape (T + 2 N,), in nats: for each sentence its beginning, its tokens and its end, which sum to the log-odds of
        `prob_real`. An n-gram counts at its last token, in equal parts where it stands several times; the intercept
        counts at the beginning.
        """
        if self._weights is None:
            raise OptionError("a logistic discriminator must be fitted before it explains")
        return self._weights.token_evidence(mark_ends(corpus))


@dataclass(frozen=True)
class _Weights:
    """A fitted linear model over the n-grams of `index`."""

    index: NgramIndex
    idf: FloatArray | None
    coefficients: FloatArray
    intercept: float

    def prob_real(self, features: csr_matrix) -> FloatArray:
        return np.asarray(expit(features @ self.coefficients + self.intercept), dtype=np.float64)

    def token_evidence(self, marked: Corpus) -> FloatArray:
        counts = self.index.count_matrix(marked)
        parts = _features(counts, self.idf).data / counts.data * self.coefficients[counts.indices]  # of one occurrence
        entries = np.repeat(np.arange(len(marked)), np.diff(counts.indptr)) * self.index.n_features + counts.indices
        sentences = np.repeat(np.arange(len(marked)), marked.lengths)
        evidence = np.zeros(len(marked.tokens))
        first = 0
        for order, (ids, size) in enumerate(zip(self.index.all_ids(marked), self.index.sizes, strict=True), start=1):
            starts = np.flatnonzero(ids >= 0)
            needed = sentences[starts] * self.index.n_features + first + ids[starts]
            evidence[starts + order - 1] += parts[np.searchsorted(entries, needed)]
            first += size
        evidence[marked.offsets[:-1]] += self.intercept
        return evidence


def _inverse_document_frequency(counts: csr_matrix) -> FloatArray:
    """Return the smoothed inverse document frequency of each n-gram, ln((1 + N) / (1 + df)) + 1."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(np.log((1 + counts.shape[0]) / (1 + frequency)) + 1, dtype=np.float64)


def _features(counts: csr_matrix, idf: FloatArray | None) -> csr_matrix:
    """Return rows of ones without `idf`, else counts times `idf` scaled to length 1."""
    if idf is None:
        data = np.ones_like(counts.data)
    else:
        data = counts.data * idf[counts.indices]
        lengths = np.diff(counts.indptr)
        rows = np.repeat(np.arange(counts.shape[0]), lengths)
        norms = np.sqrt(np.bincount(rows, weights=data * data, minlength=counts.shape[0]))
        data /= norms[rows]
    return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
