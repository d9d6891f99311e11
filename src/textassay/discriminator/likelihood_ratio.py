"""Likelihood ratio: a sentence is real where a model of real text finds it likelier than one of generated text.

An interpolated Kneser-Ney model is fitted to each side. The log of the ratio of a sentence's two probabilities is, for
the true distributions, the best statistic there is. As models of a few thousand sentences are sure of much that is
chance, each token's two probabilities may be blurred into one another, which bounds what one token can say. The order
and the blur are chosen, and the sum is turned into a probability, on validation text.

Sources: Neyman and Pearson, "On the problem of the most efficient tests of statistical hypotheses", 1933; Huber, "A
robust version of the probability ratio test", 1965 (bounded terms; here they are bounded by blurring, not by cutting).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_cross_entropy
from textassay.discriminator.newton import fit_logistic
from textassay.discriminator.side_models import FittedSides, SideModels, TokenProbs
from textassay.errors import OptionError

FloatArray = npt.NDArray[np.float64]

BLURS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)

_CALIBRATION_C = 10.0  # two coefficients on standardised numbers: binds only where there are a few sentences
_TOLERANCE = 1e-4


class LikelihoodRatioDiscriminator:
    """The ratio of two n-gram models, calibrated."""

    name = "likelihood-ratio"

    def __init__(self, *, max_order: int = 4, blurs: Sequence[float] = BLURS) -> None:
        if max_order < 1:
            raise OptionError(f"max_order must be at least 1, got {max_order}")
        if not blurs or not 0 <= min(blurs) <= max(blurs) < 0.5:
            raise OptionError(f"blurs must be numbers from 0 to below 0.5, got {list(blurs)}")
        self.max_order = max_order
        self.blurs = tuple(sorted(blurs))
        self.chosen: Mapping[str, Any] = {}
        self._fitted: _Ratio | None = None

    @property
    def features(self) -> str:
        """The models, what is tried, and the calibration."""
        return (
            f"Kneser-Ney 1-{self.max_order}-grams of each side, blur {','.join(f'{blur:g}' for blur in self.blurs)}, "
            "calibrated with length"
        )

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(max_order=self.max_order, blurs=self.blurs)
        models = SideModels(train, max_order=self.max_order)
        lowest = np.inf
        for order in range(1, self.max_order + 1):
            sides = models.fit(order)
            probs = [sides.token_probs(corpus) for corpus in valid]
            for blur in self.blurs:
                ratio = _Ratio.calibrated(sides, blur, probs)
                loss = balanced_cross_entropy(*(ratio.prob_real(side) for side in probs))
                if loss < lowest:
                    lowest = loss
                    fitted._fitted = ratio
                    fitted.chosen = {"order": order, "blur": blur, "scale": ratio.scale}
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._fitted is None:
            raise OptionError("a likelihood-ratio discriminator must be fitted before it scores texts")
        return self._fitted.prob_real(self._fitted.sides.token_probs(corpus))


@dataclass(frozen=True)
class _Ratio:
    """Models, and how their ratio becomes log-odds."""

    sides: FittedSides
    blur: float
    scale: float  # of the log ratio
    per_token: float  # added for each token
    intercept: float

    @classmethod
    def calibrated(cls, sides: FittedSides, blur: float, valid: Sequence[TokenProbs]) -> "_Ratio":
        """Return what fits validation text best, both sides weighing the same."""
        rows = np.concatenate([_statistics(side, blur) for side in valid])  # (n, 2)
        spread = rows.std(axis=0)
        spread[spread == 0] = 1.0
        is_real = np.repeat([True, False], [len(side.offsets) - 1 for side in valid])
        theta = fit_logistic(csr_matrix(rows / spread), is_real, c=_CALIBRATION_C, tolerance=_TOLERANCE)
        scale, per_token = (theta[:2] / spread).tolist()
        return cls(sides, blur, scale, per_token, float(theta[2]))

    def prob_real(self, probs: TokenProbs) -> FloatArray:
        log_odds = _statistics(probs, self.blur) @ np.array([self.scale, self.per_token]) + self.intercept
        return np.asarray(expit(log_odds), dtype=np.float64)


def _statistics(probs: TokenProbs, blur: float) -> FloatArray:
    """Return the log ratio and the number of tokens of each sentence, shape (N, 2)."""
    return np.stack([probs.sums(probs.log_ratios(blur)), np.diff(probs.offsets).astype(np.float64)], axis=1)
