"""Logistic regression over numbers that come with texts: what a language model says of each, or an encoder's vectors.

How strongly it is regularised is chosen on validation text; then it is fitted again with that text. Columns are cut far
from the middle, so that no single text decides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import BaseDiscriminator, Pair, Scores, balanced_cross_entropy, is_real_of, setting
from textassay.discriminator.solvers import DenseLogistic, dense_logistic_path, fit_dense_logistic
from textassay.embedding.encoder import VECTORS
from textassay.errors import UnavailableError
from textassay.prior.catalog import MODEL_COLUMN

FloatArray = npt.NDArray[np.float64]

_MOST_SPREADS = 5.0  # columns are cut so many distances of the quartiles beyond these


@dataclass(eq=False, kw_only=True)
class ColumnLogistic(BaseDiscriminator):
    """Logistic regression over what a language model says of texts: some thirty columns; deterministic."""

    name = "language-model"
    reads_prior = True
    column = MODEL_COLUMN
    read = "columns of a language model"
    remedy = "columns of a language model: give --prior smollm2"
    grid: Sequence[float] = setting((0.003, 0.03, 0.3, 3.0), "inverse strengths of regularisation to try", above=0)

    @property
    def features(self) -> str:
        return f"{self.read}, C={','.join(f'{c:g}' for c in self.grid)}"

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Fitted, Mapping[str, Any]]":
        limits = _limits(np.concatenate([self._columns(side) for side in train]))
        read = partial(self._within, limits)
        rows, is_real = np.concatenate([read(side) for side in train]), is_real_of(train)
        tops = list(dense_logistic_path(rows, is_real, self.grid))
        sides = [read(side) for side in valid]
        scores = [(top.prob_real(sides[0]), top.prob_real(sides[1])) for top in tops]
        best = int(np.argmin([balanced_cross_entropy(*of_top) for of_top in scores]))
        labels = np.concatenate([is_real, is_real_of(valid)])
        top = fit_dense_logistic(np.concatenate([rows, *sides]), labels, c=self.grid[best], start=tops[best])
        return _Fitted(top, read, scores[best]), {"c": self.grid[best]}

    @property
    def valid_scores(self) -> Scores:
        """Scores of the validation texts by the fit that did not see them."""
        model: _Fitted = self.model
        return model.valid_scores

    def _within(self, limits: tuple[FloatArray, FloatArray], corpus: Corpus) -> FloatArray:
        rows: FloatArray = np.clip(self._columns(corpus), *limits)
        return rows

    def _columns(self, corpus: Corpus) -> FloatArray:
        if self.column not in corpus.columns:
            raise UnavailableError(f"{self.name} needs {self.remedy}")
        return np.asarray(corpus.columns[self.column], dtype=np.float64)


@dataclass(eq=False, kw_only=True)
class VectorLogistic(ColumnLogistic):
    """The same over the vectors of a pretrained encoder."""

    name = "vectors"
    reads_prior = False
    reads_vectors = True
    column = VECTORS
    read = "vectors of an encoder"
    remedy = "vectors of the texts: give --encoder minilm, or another model"
    grid: Sequence[float] = setting((0.0003, 0.003, 0.03, 0.3), "inverse strengths of regularisation to try", above=0)


@dataclass(frozen=True)
class _Fitted:
    top: DenseLogistic
    read: Callable[[Corpus], FloatArray]
    valid_scores: Scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.top.prob_real(self.read(corpus))


def _limits(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    margins = np.where(high > low, _MOST_SPREADS * (high - low), np.inf)
    return low - margins, high + margins
