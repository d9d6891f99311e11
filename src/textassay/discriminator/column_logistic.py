"""Logistic regression over what a language model says of each text: some thirty columns, so it learns from few texts.

How strongly it is regularised is chosen on validation text; then it is fitted again with that text. Columns are cut far
from the middle, so that no single text decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import BaseDiscriminator, Pair, Scores, balanced_cross_entropy, is_real_of, setting
from textassay.discriminator.solvers import DenseLogistic, dense_logistic_path, fit_dense_logistic
from textassay.errors import UnavailableError
from textassay.prior.catalog import MODEL_COLUMN

FloatArray = npt.NDArray[np.float64]

_MOST_SPREADS = 5.0  # columns are cut so many distances of the quartiles beyond these


@dataclass(eq=False, kw_only=True)
class ColumnLogistic(BaseDiscriminator):
    """Logistic regression over the columns of a language model; deterministic."""

    name = "language-model"
    reads_prior = True
    grid: Sequence[float] = setting((0.003, 0.03, 0.3, 3.0), "inverse strengths of regularisation to try", above=0)

    @property
    def features(self) -> str:
        return f"columns of a language model, C={','.join(f'{c:g}' for c in self.grid)}"

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Fitted, Mapping[str, Any]]":
        limits = _limits(np.concatenate([_columns(side) for side in train]))
        rows, is_real = _stacked(train, limits), is_real_of(train)
        tops = list(dense_logistic_path(rows, is_real, self.grid))
        scores = [_scores(top, valid, limits) for top in tops]
        best = int(np.argmin([balanced_cross_entropy(*of_top) for of_top in scores]))
        everything = np.concatenate([rows, _stacked(valid, limits)])
        labels = np.concatenate([is_real, is_real_of(valid)])
        top = fit_dense_logistic(everything, labels, c=self.grid[best], start=tops[best])
        return _Fitted(top, limits, scores[best]), {"c": self.grid[best]}

    @property
    def valid_scores(self) -> Scores:
        """Scores of the validation texts by the fit that did not see them."""
        model: _Fitted = self.model
        return model.valid_scores


@dataclass(frozen=True)
class _Fitted:
    top: DenseLogistic
    limits: tuple[FloatArray, FloatArray]
    valid_scores: Scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.top.prob_real(np.clip(_columns(corpus), *self.limits))


def _columns(corpus: Corpus) -> FloatArray:
    if MODEL_COLUMN not in corpus.columns:
        raise UnavailableError("language-model needs what a language model says of the texts: give --prior smollm2")
    return np.asarray(corpus.columns[MODEL_COLUMN], dtype=np.float64)


def _stacked(pair: Pair, limits: tuple[FloatArray, FloatArray]) -> FloatArray:
    rows: FloatArray = np.clip(np.concatenate([_columns(side) for side in pair]), *limits)
    return rows


def _limits(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    margins = np.where(high > low, _MOST_SPREADS * (high - low), np.inf)
    return low - margins, high + margins


def _scores(top: DenseLogistic, pair: Pair, limits: tuple[FloatArray, FloatArray]) -> Scores:
    real, generated = (top.prob_real(np.clip(_columns(side), *limits)) for side in pair)
    return real, generated
