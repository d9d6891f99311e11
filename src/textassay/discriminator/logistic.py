"""Logistic regression over the n-grams of a sentence: the default discriminator, and a plain one to compare with.

A sentence is described by its word 1- to 4-grams, with its beginning and its end as tokens of their own, so that where
words stand at the edges counts too (of text cut at a length it finds 0.99 instead of 0.97). Two weightings (present or
not; TF-IDF) and several strengths of regularisation are fitted; the one with the best balanced accuracy on validation
text stays. Fits are stopped early (`_TOLERANCE`), which moves no measured discrepancy by more than 0.001.

Source: objective (3) of Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation".
"""

import copy
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import (
    FIT,
    MOST_FITTED,
    BaseDiscriminator,
    Pair,
    Part,
    Scores,
    balanced_accuracy,
    balanced_cross_entropy,
    drawn,
    is_real_of,
    setting,
)
from textassay.discriminator.solvers import fit_logistic
from textassay.errors import OptionError, unknown_name
from textassay.ngram.index import mark_ends
from textassay.ngram.text_counts import KeptNgrams, TextCounts

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Texts = tuple[IntArray, npt.NDArray[np.bool_]]  # numbers of some texts, and which of these are real
Weighting = Literal["binary", "tfidf"]

_TOLERANCE = 0.03

# Inverse strengths of regularisation to try for each weighting, strongest regularisation first.
GRID: Mapping[Weighting, Sequence[float]] = {
    "binary": (0.01, 0.03, 0.1, 0.3, 1.0),
    "tfidf": (0.3, 1.0, 3.0, 10.0, 30.0),
}
_PLAIN_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Weights:
    """From counts of n-grams to what a linear model multiplies: presence, or TF-IDF with rows of length 1."""

    idf: FloatArray | None = None  # inverse document frequencies, shape (n_features,); presence where None

    def __call__(self, counts: csr_matrix) -> csr_matrix:
        """Return the features, shape (n_sentences, n_features)."""
        data = np.ones_like(counts.data)
        if self.idf is not None:
            data = counts.data * self.idf[counts.indices]
            rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
            data /= np.sqrt(np.bincount(rows, weights=data * data, minlength=counts.shape[0]))[rows]
        return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


@dataclass(frozen=True)
class NgramLogistic:
    """A fitted linear model over n-grams."""

    ngrams: KeptNgrams
    weights: Weights
    coefficients: FloatArray
    intercept: float

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.prob_real_of(self.weights(self.ngrams.counts(corpus)))

    def prob_real_of(self, features: csr_matrix) -> FloatArray:
        """Return the same from the features of sentences."""
        return np.asarray(expit(features @ self.coefficients + self.intercept), dtype=np.float64)


@dataclass(eq=False, kw_only=True)
class NgramLogisticDiscriminator(BaseDiscriminator):
    """A linear model over n-grams: a subclass says how they are weighted and which strengths are tried."""

    with_ends: ClassVar[bool] = True  # whether beginnings and ends are tokens
    overfit: ClassVar[float] = 1.05  # no weaker regularisation once validation cross-entropy is so far above its best
    ahead: ClassVar[float] = 0.7  # how far a fit starts along the way from the last fit but one to the last

    max_order: int = setting(4, "the longest n-grams", least=1)
    min_sentences: int = setting(2, "an n-gram is a feature if it occurs in so many training sentences", least=1)
    most_fitted: int = setting(MOST_FITTED, "most training texts a side for fitting the weights", least=1)

    @abstractmethod
    def weightings(self, counts: csr_matrix) -> Iterator[tuple[dict[str, Any], Weights, Sequence[float]]]:
        """Yield what to try, from the counts of the training text: its name for `chosen`, weights, and strengths."""

    def learn(self, train: Pair, valid: Pair) -> tuple[NgramLogistic, dict[str, Any]]:
        """Return the model with the best balanced accuracy on validation text, then the lowest cross-entropy."""
        rows = np.split(np.arange(sum(map(len, [*train, *valid]))), [sum(map(len, train))])
        counts = TextCounts.of([*train, *valid], **self._counted)
        return self._learn(
            counts, *((of_pair, is_real_of(pair)) for of_pair, pair in zip(rows, (train, valid), strict=True))
        )

    def fit_part(self, train: Part, valid: Part) -> Self:
        """Return a fitted copy, from the counts of the whole pool."""
        fitted = copy.copy(self)
        parts = ((part.numbers, part.is_real) for part in (train, valid))
        fitted._model, fitted.chosen = self._learn(train.pool.once(count_texts, **self._counted), *parts)
        return fitted

    def prob_real_of(self, part: Part) -> Scores:
        model: NgramLogistic = self.model
        counts = part.pool.once(count_texts, **self._counted).of_rows(part.numbers, model.ngrams)
        scores = model.prob_real_of(model.weights(counts))
        return scores[part.is_real], scores[~part.is_real]

    @property
    def _counted(self) -> dict[str, Any]:
        return {"max_order": self.max_order, "min_sentences": self.min_sentences, "with_ends": self.with_ends}

    def _learn(self, counts: TextCounts, train: Texts, valid: Texts) -> tuple[NgramLogistic, dict[str, Any]]:
        n_texts = max(np.bincount(train[1], minlength=2).tolist())
        train, valid = (self._drawn(*texts) for texts in (train, valid))
        ngrams, train_counts = counts.learnt_from(train[0])
        valid_counts = counts.of_rows(valid[0], ngrams)
        best = (-math.inf, -math.inf)
        for name, weights, strengths in self.weightings(train_counts):
            features, valid_features = weights(train_counts), weights(valid_counts)
            lowest, known = math.inf, list[tuple[float, FloatArray]]()
            for c in strengths:
                theta = fit_logistic(
                    features,
                    train[1],
                    c=c,
                    tolerance=_TOLERANCE,
                    start=_start(known, c, self.ahead),
                    full_steps=self.ahead == 0,
                )
                known = [*known[-1:], (c, theta)]
                model = NgramLogistic(ngrams, weights, theta[:-1], float(theta[-1]))
                scores = model.prob_real_of(valid_features)
                real, generated = scores[valid[1]], scores[~valid[1]]
                loss = balanced_cross_entropy(real, generated)
                merit = (balanced_accuracy(real, generated), -loss)
                if merit > best:
                    best, best_model = merit, model
                    chosen = {**name, "c": c, "n_features": len(ngrams.columns)}
                lowest = min(lowest, loss)
                if loss > self.overfit * lowest:
                    break
        if n_texts > self.most_fitted:
            chosen[FIT] = self.most_fitted
        return best_model, chosen

    def _drawn(self, numbers: IntArray, is_real: npt.NDArray[np.bool_]) -> Texts:
        """Return those of the texts that are learnt from or chosen by; real ones come first."""
        n_real = int(np.count_nonzero(is_real))
        mask = drawn((n_real, len(is_real) - n_real), self.most_fitted, "logistic")
        return numbers[mask], is_real[mask]


def count_texts(real: Corpus, generated: Corpus, **counted: Any) -> TextCounts:
    """Return `TextCounts` of the texts of a pool, real ones first."""
    return TextCounts.of([real, generated], **counted)


def _start(known: Sequence[tuple[float, FloatArray]], c: float, ahead: float) -> FloatArray | None:
    """Return where the fit for `c` starts, from up to two strengths before it and what was fitted with them."""
    if len(known) < 2:
        return known[0][1] if known else None
    (before, first), (last, second) = known
    if last == before or ahead == 0:
        return second
    ratio = math.log(c / last) / math.log(last / before)
    return np.asarray(second + ahead * ratio * (second - first), dtype=np.float64)


@dataclass(eq=False, kw_only=True)
class LogisticDiscriminator(NgramLogisticDiscriminator):
    name = "logistic"
    grid: Mapping[Weighting, Sequence[float]] = setting(
        GRID,
        "how n-grams may be weighted (``binary`` or ``tfidf``), and for each the inverse strengths of regularisation "
        "to try",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for weighting, strengths in self.grid.items():
            if weighting not in get_args(Weighting):
                raise unknown_name("weighting", weighting, get_args(Weighting))
            if not strengths or min(strengths) <= 0:
                raise OptionError(f"grid must hold numbers above 0 for {weighting}, got {list(strengths)}")
        if not self.grid:
            raise OptionError("grid must have at least one weighting, got none")
        self.grid = {weighting: tuple(sorted(strengths)) for weighting, strengths in self.grid.items()}

    @property
    def features(self) -> str:
        grids = " or ".join(
            f"{weighting} C={','.join(f'{c:g}' for c in strengths)}" for weighting, strengths in self.grid.items()
        )
        return f"1-{self.max_order}-grams with ends in >={self.min_sentences} sentences, {grids}"

    def weightings(self, counts: csr_matrix) -> Iterator[tuple[dict[str, Any], Weights, Sequence[float]]]:
        """Yield those of the grid; the inverse document frequency is ln((1 + N) / (1 + df)) + 1."""
        for weighting, strengths in self.grid.items():
            weights = Weights()
            if weighting == "tfidf":
                frequency = np.bincount(counts.indices, minlength=counts.shape[1])
                weights = Weights(np.log((1 + counts.shape[0]) / (1 + frequency)) + 1)
            yield {"weighting": weighting}, weights, strengths

    def token_evidence(self, corpus: Corpus) -> FloatArray:
        """Return what each token adds to the log-odds of its sentence being real.

        Shape (T + 2 N,), in nats: for each sentence its beginning, its tokens and its end, which sum to the log-odds of
        `prob_real`. An n-gram counts at its last token, in equal parts where it stands several times; the intercept
        counts at the beginning.
        """
        model: NgramLogistic = self.model
        marked = mark_ends(corpus)
        counts = model.ngrams.counts(corpus)
        n_columns = counts.shape[1]
        once = model.weights(counts).data / counts.data * model.coefficients[counts.indices]  # of one occurrence
        entries = np.repeat(np.arange(len(marked)), np.diff(counts.indptr)) * n_columns + counts.indices
        sentences = np.repeat(np.arange(len(marked)), marked.lengths)
        evidence = np.zeros(len(marked.tokens))
        for order, columns in enumerate(model.ngrams.columns_of(marked), start=1):
            starts = np.flatnonzero(columns >= 0)
            needed = sentences[starts] * n_columns + columns[starts]
            evidence[starts + order - 1] += once[np.searchsorted(entries, needed)]
        evidence[marked.offsets[:-1]] += model.intercept
        return evidence


@dataclass(eq=False, kw_only=True)
class PlainLogistic(NgramLogisticDiscriminator):
    """Logistic regression over the presence of word 1- to 4-grams, without marks for beginnings and ends.

    Other discriminators are measured against it, so it stays as it is when they improve.
    """

    name = "plain"
    with_ends: ClassVar[bool] = False
    overfit: ClassVar[float] = math.inf
    ahead: ClassVar[float] = 0.0

    @property
    def features(self) -> str:
        strengths = ",".join(f"{c:g}" for c in _PLAIN_STRENGTHS)
        return f"1-{self.max_order}-grams without ends in >={self.min_sentences} sentences, binary C={strengths}"

    def weightings(self, counts: csr_matrix) -> Iterator[tuple[dict[str, Any], Weights, Sequence[float]]]:
        yield {}, Weights(), _PLAIN_STRENGTHS
