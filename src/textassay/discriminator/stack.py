"""The stack: n-gram models of both sides, their pooled text and their ratios, weighed by a logistic regression.

Each sentence is described by some forty sums over its tokens: log-probabilities by smoothed n-gram models of the real,
the generated and the pooled training text, and log-ratios of counts that shrink to those of shorter contexts
(`textassay.ngram.side_counts`). A training sentence is described without its own counts, so that its description means
what that of a new sentence does; no text is set aside for it. Validation text is counted, too; how well the stack does
on it is said by a top that was not fitted to its descriptions.

Where both sides come with the log-probability of each sentence under the generator, that is one more number.

Sources: Wolpert, "Stacked generalization", Neural Networks 5, 1992; see `textassay.ngram.side_counts` for the counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_cross_entropy, log_probs_column
from textassay.discriminator.dense_logistic import DenseLogistic, fit_dense_logistic
from textassay.discriminator.logistic import mark_ends
from textassay.errors import OptionError
from textassay.ngram.side_counts import STRENGTHS, SideCounts
from textassay.resampling.permutation import joint_groups

__all__ = ["StackDiscriminator"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STRENGTHS_OF_TOP = (0.03, 0.3, 3.0)


class StackDiscriminator:
    """Logistic regression over what n-gram models of both sides say of a sentence.

    Parameters
    ----------
    name
        For signatures.
    max_order
        Longest n-grams, in tokens (sentence ends count as tokens), at least 1.
    grid
        Inverse strengths of regularisation of the top to choose from, above 0.

    Raises
    ------
    OptionError
        If a number is out of range.
    """

    reads_log_probs = True

    def __init__(self, name: str = "stack", *, max_order: int = 5, grid: tuple[float, ...] = _STRENGTHS_OF_TOP) -> None:
        if max_order < 1:
            raise OptionError(f"max_order must be at least 1, got {max_order}")
        if not grid or min(grid) <= 0:
            raise OptionError(f"grid must hold numbers above 0, got {list(grid)}")
        self.name = name
        self.max_order = max_order
        self.grid = tuple(sorted(grid))
        self.chosen: Mapping[str, Any] = {}
        self._fitted: _Fitted | None = None

    @property
    def features(self) -> str:
        """N-grams, models and strengths of regularisation."""
        strengths = ",".join(f"{strength:g}" for strength in STRENGTHS)
        return (
            f"Witten-Bell, Kneser-Ney and shrunk ({strengths}) log-ratios of 1-{self.max_order}-grams, "
            f"C={','.join(f'{c:g}' for c in self.grid)}"
        )

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(self.name, max_order=self.max_order, grid=self.grid)
        sides = [Corpus.concatenate([train[side], valid[side]]) for side in (0, 1)]
        column = log_probs_column(sides[0], sides[1])
        marked = [mark_ends(corpus) for corpus in sides]
        counts = SideCounts.build(marked[0], marked[1], max_order=self.max_order)
        groups = None
        if sides[0].groups is not None or sides[1].groups is not None:
            groups = joint_groups(sides[0].groups, sides[1].groups, len(sides[0]), len(sides[1]))
        rows = counts.describe_own(groups)
        described = np.concatenate(
            [
                _columns(rows[: len(sides[0])], sides[0], column),
                _columns(rows[len(sides[0]) :], sides[1], column),
            ]
        )
        is_real = np.repeat([True, False], [len(corpus) for corpus in sides])
        is_train = np.concatenate([np.arange(len(sides[side])) < len(train[side]) for side in (0, 1)])
        best = np.inf
        top = None
        for c in self.grid:
            top = fit_dense_logistic(described[is_train], is_real[is_train], c=c, start=top)
            scores = expit(top.log_odds(described[~is_train]))
            valid_scores = (scores[: len(valid[0])], scores[len(valid[0]) :])
            loss = balanced_cross_entropy(*valid_scores)
            if loss < best:
                best, best_c, best_scores, best_top = loss, c, valid_scores, top
        final = fit_dense_logistic(described, is_real, c=best_c, start=best_top)
        fitted._fitted = _Fitted(counts, final, column, sides[0], best_scores)
        fitted.chosen = {"c": best_c, "n_features": counts.index.n_features, "log_probs": column is not None}
        return fitted

    @property
    def valid_scores(self) -> tuple[FloatArray, FloatArray]:
        """Scores of the validation sentences by a top that was not fitted to them."""
        return self._require().valid_scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,).

        Raises
        ------
        OptionError
            If the discriminator was not fitted.
        """
        fitted = self._require()
        if corpus.vocabulary is not fitted.real.vocabulary:
            corpus = corpus.with_vocabulary(fitted.real.vocabulary)
        rows = fitted.counts.describe(mark_ends(corpus))
        return np.asarray(expit(fitted.top.log_odds(_columns(rows, corpus, fitted.column))), dtype=np.float64)

    def _require(self) -> "_Fitted":
        if self._fitted is None:
            raise OptionError("a stack must be fitted before it judges")
        return self._fitted


@dataclass(frozen=True)
class _Fitted:
    """What fitting made: counts, the top, the column of log-probabilities, and validation scores."""

    counts: SideCounts
    top: DenseLogistic
    column: str | None
    real: Corpus
    valid_scores: tuple[FloatArray, FloatArray]


def _columns(rows: FloatArray, corpus: Corpus, column: str | None) -> FloatArray:
    """Return what the top sees of sentences: sums over tokens, lengths, and log-probabilities where there are any."""
    parts = [rows, corpus.lengths[:, None], np.log1p(corpus.lengths)[:, None]]
    if column is not None:
        log_probs = np.asarray(corpus.columns[column], dtype=np.float64)
        parts += [log_probs[:, None], (log_probs / (corpus.lengths + 1))[:, None]]
    return np.concatenate(parts, axis=1)
