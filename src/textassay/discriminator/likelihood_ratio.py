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
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import BaseDiscriminator, Pair, balanced_cross_entropy, is_real_of, setting
from textassay.discriminator.newton import fit_logistic
from textassay.discriminator.side_models import FittedSides, SideModels, TokenProbs

FloatArray = npt.NDArray[np.float64]

_CALIBRATION_C = 10.0  # two coefficients on standardised numbers: binds only where there are a few sentences
_TOLERANCE = 1e-4


@dataclass(eq=False, kw_only=True)
class LikelihoodRatioDiscriminator(BaseDiscriminator):
    """The ratio of two n-gram models, calibrated; deterministic."""

    name = "likelihood-ratio"
    max_order: int = setting(4, "the longest n-grams to try", least=1)
    blurs: Sequence[float] = setting(
        (0.0, 0.05, 0.1, 0.2, 0.3, 0.4),
        "the shares to try that each side takes from the other's probabilities",
        least=0,
        below=0.5,
    )

    @property
    def features(self) -> str:
        """The models, what is tried, and the calibration."""
        return (
            f"Kneser-Ney 1-{self.max_order}-grams of each side, blur {','.join(f'{blur:g}' for blur in self.blurs)}, "
            "calibrated with length"
        )

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Ratio, Mapping[str, Any]]":
        """Return the order and the blur with the lowest cross-entropy on validation text, calibrated on that."""
        models = SideModels(train, max_order=self.max_order)
        lowest = np.inf
        for order in range(1, self.max_order + 1):
            sides = models.fit(order)
            probs = [sides.token_probs(corpus) for corpus in valid]
            for blur in self.blurs:
                rows = [_statistics(side, blur) for side in probs]
                ratio = _Ratio(sides, blur, *_calibrated(np.concatenate(rows), is_real_of(valid)))
                loss = balanced_cross_entropy(*(ratio.prob_real_of(side) for side in rows))
                if loss < lowest:
                    lowest, model = loss, ratio
                    chosen = {"order": order, "blur": blur, "scale": float(ratio.scales[0])}
        return model, chosen


@dataclass(frozen=True)
class _Ratio:
    """Models, and how their ratio becomes log-odds."""

    sides: FittedSides
    blur: float
    scales: FloatArray  # of the log ratio, and what is added for each token
    intercept: float

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.prob_real_of(_statistics(self.sides.token_probs(corpus), self.blur))

    def prob_real_of(self, rows: FloatArray) -> FloatArray:
        return np.asarray(expit(rows @ self.scales + self.intercept), dtype=np.float64)


def _calibrated(rows: FloatArray, is_real: npt.NDArray[np.bool_]) -> tuple[FloatArray, float]:
    """Return the scales and the intercept that fit the statistics of validation text best."""
    spread = rows.std(axis=0)
    spread[spread == 0] = 1.0
    theta = fit_logistic(csr_matrix(rows / spread), is_real, c=_CALIBRATION_C, tolerance=_TOLERANCE)
    return theta[:2] / spread, float(theta[2])


def _statistics(probs: TokenProbs, blur: float) -> FloatArray:
    """Return the log ratio and the number of tokens of each sentence, shape (N, 2)."""
    return np.stack([probs.sums(probs.log_ratios(blur)), np.diff(probs.offsets).astype(np.float64)], axis=1)
