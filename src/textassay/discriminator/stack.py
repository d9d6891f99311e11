"""The stack: n-gram models of both sides, their pooled text and their ratios, weighed by a logistic regression.

Each sentence is described by sums over its tokens (`textassay.discriminator.stack_features`): log-probabilities by
smoothed n-gram models of the real, the generated and the pooled training text, and log-ratios of counts that shrink to
those of shorter contexts. A training sentence is described without its own counts, so that its description means what
that of a new sentence does; no text is set aside for it. How strongly the top is regularised, and whether it bends, is
chosen on validation text that nothing was counted on; then all is counted and fitted again with that text.

Where both sides come with the log-probability of each sentence under the generator, that is one more number.

Sources: Wolpert, "Stacked generalization", Neural Networks 5, 1992; see `textassay.ngram.side_counts` for the counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_cross_entropy, log_probs_column
from textassay.discriminator.dense_logistic import DenseLogistic, fit_dense_logistic
from textassay.discriminator.linear_margins import MARGINS_TOLD
from textassay.discriminator.stack_features import StackFeatures
from textassay.errors import OptionError
from textassay.ngram import SKIP_PATTERNS_LABEL, STRENGTHS

FloatArray = npt.NDArray[np.float64]

_GRID = (0.01, 0.1, 1.0, 10.0)
_BENDS = (0.0, 0.3)


class StackDiscriminator:
    """Logistic regression over what n-gram models of both sides say of a sentence."""

    reads_log_probs = True

    def __init__(
        self,
        name: str = "stack",
        *,
        max_order: int = 5,
        skips: bool = True,
        margins: bool = True,
        grid: Sequence[float] = _GRID,
        bends: Sequence[float] = _BENDS,
    ) -> None:
        if max_order < 1:
            raise OptionError(f"max_order must be at least 1, got {max_order}")
        if not grid or min(grid) <= 0:
            raise OptionError(f"grid must hold numbers above 0, got {list(grid)}")
        if not bends or min(bends) < 0:
            raise OptionError(f"bends must hold numbers of at least 0, got {list(bends)}")
        self.name = name
        self.max_order = max_order
        self.skips = skips
        self.margins = margins
        self.grid = tuple(sorted(grid))
        self.bends = tuple(sorted(bends))
        self.chosen: Mapping[str, Any] = {}
        self._valid_scores: tuple[FloatArray, FloatArray] | None = None
        self._fitted: tuple[StackFeatures, DenseLogistic, int] | None = None

    @property
    def features(self) -> str:
        """N-grams, models and strengths of regularisation."""
        strengths = ",".join(f"{strength:g}" for strength in STRENGTHS)
        also = [name for name, there in ((SKIP_PATTERNS_LABEL, self.skips), (MARGINS_TOLD, self.margins)) if there]
        models = [f"Witten-Bell, Kneser-Ney and shrunk ({strengths}) log-ratios of 1-{self.max_order}-grams with ends"]
        grid, bends = (",".join(f"{value:g}" for value in values) for values in (self.grid, self.bends))
        return f"{', '.join(models + also)}, log-probabilities cut, C={grid}, bends={bends}"

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(
            self.name,
            max_order=self.max_order,
            skips=self.skips,
            margins=self.margins,
            grid=self.grid,
            bends=self.bends,
        )
        column = log_probs_column(*train)
        features, columns = StackFeatures.fit(
            train, max_order=self.max_order, skips=self.skips, margins=self.margins, column=column
        )
        judged = np.concatenate([features.describe(corpus) for corpus in valid])
        is_real = _labels(train)
        best = np.inf
        for bend in self.bends:
            top = None
            n_columns, emphasis = _used(features, columns, bend)
            for c in self.grid:
                top = fit_dense_logistic(columns[:, :n_columns], is_real, c=c, emphasis=emphasis, start=top)
                scores = expit(top.log_odds(judged[:, :n_columns]))
                of_valid = (scores[: len(valid[0])], scores[len(valid[0]) :])
                loss = balanced_cross_entropy(*of_valid)
                if loss < best:
                    best, chosen, fitted._valid_scores = loss, (c, bend), of_valid
        del features, columns, judged  # large where there is much text
        everything = (Corpus.concatenate([train[0], valid[0]]), Corpus.concatenate([train[1], valid[1]]))
        features, columns = StackFeatures.fit(
            everything, max_order=self.max_order, skips=self.skips, margins=self.margins, column=column
        )
        c, bend = chosen
        n_columns, emphasis = _used(features, columns, bend)
        top = fit_dense_logistic(columns[:, :n_columns], _labels(everything), c=c, emphasis=emphasis)
        fitted._fitted = (features, top, n_columns)
        fitted.chosen = {
            "c": c,
            "bend": bend,
            "n_features": features.counts.index.n_features,
            "log_probs": column is not None,
        }
        return fitted

    @property
    def valid_scores(self) -> tuple[FloatArray, FloatArray]:
        """Scores of the validation sentences by a stack that learnt from the training sentences alone."""
        if self._valid_scores is None:
            raise OptionError("a stack must be fitted before it scores texts")
        return self._valid_scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._fitted is None:
            raise OptionError("a stack must be fitted before it scores texts")
        features, top, n_columns = self._fitted
        return np.asarray(expit(top.log_odds(features.describe(corpus)[:, :n_columns])), dtype=np.float64)


def _labels(pair: Pair) -> npt.NDArray[np.bool_]:
    return np.repeat([True, False], [len(corpus) for corpus in pair])


def _used(features: StackFeatures, columns: FloatArray, bend: float) -> tuple[int, FloatArray]:
    """Return how many columns a top uses, and the emphasis of each."""
    n_columns = features.n_straight if bend == 0 else columns.shape[1]
    emphasis = np.full(n_columns, bend if bend > 0 else 1.0)
    emphasis[: features.n_straight] = 1.0
    return n_columns, emphasis
