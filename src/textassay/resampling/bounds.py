"""A lower bound of the total variation from the scores of a fixed classifier, at a threshold chosen on validation text.

Any classifier and threshold fixed before the test bound the total variation: it is at least the fraction of real texts
classified as real less the fraction of generated texts classified as real. The best threshold for a bound is not that
of the best accuracy: if a small part of the generated text differs strongly, a threshold that isolates this part gives
nearly the same difference with a fraction of its variance. `choose_bound` therefore picks, on validation scores, the
threshold with the highest expected bound at the size of the test; the whole error rate is then spent once, on test
scores that had no part in the choice.

No exact alternative that was tried is higher by more than 0.001 (``benchmarks/bounds.py`` prints the table). The choice
costs up to 0.004 with 4,000 texts per side, and 0.013 with 200, if the usual threshold is the best one.

Sources: the paper's objective, Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation";
Michel, Naef, Meinshausen, "High-Probability Bounds for the Total Variation Distance", arXiv 2005.06006 (the idea of
thresholds away from the middle). Departs from them: one threshold, chosen on validation scores, with an exact bound.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from textassay.errors import EmptyCorpusError
from textassay.resampling.proportions import certified_lower_bound

FloatArray = npt.NDArray[np.float64]

_STANDARD_ERRORS = 0.5  # by which the expected gain must exceed 0 for a threshold other than the usual one


@dataclass(frozen=True)
class LowerBound:
    """A lower bound of the total variation."""

    value: float  # In [0, 1); 0 is no information
    kind: str  # ``"threshold"``
    exact: bool  # Whether the error rate holds at any sample size, not only asymptotically
    threshold: float  # Scores above it mean real
    alpha: float  # Upper bound of the probability that `value` is too high


@dataclass(frozen=True)
class BoundRule:
    """The kind of bound and its threshold, fixed before the test."""

    threshold: float
    kind: str = "threshold"
    exact: bool = True

    def bound(self, real: FloatArray, generated: FloatArray, *, alpha: float) -> LowerBound:
        """Return the bound from test scores.

        `real`, `generated`: scores of independent texts that neither the classifier nor this rule saw, shapes
        (n_real,) and (n_generated,), at least one each.
        """
        counts = (int(np.count_nonzero(side > self.threshold)) for side in (real, generated))
        value = certified_lower_bound(next(counts), len(real), next(counts), len(generated), alpha=alpha)
        return LowerBound(value, self.kind, self.exact, self.threshold, alpha)


def choose_bound(
    valid_real: FloatArray,
    valid_generated: FloatArray,
    *,
    n_real: int,
    n_generated: int,
    alpha: float,
    usual: float = 0.5,
) -> BoundRule:
    """Return the threshold with the highest expected bound.

    `valid_real`, `valid_generated`: scores of validation texts, shapes (n,), at least one each.

    The expected bound at a threshold is the difference of shares less the normal quantile times its standard error,
    which adds the variances of test and validation scores; shares are (count + 1/2) / (n + 1).
    """
    if not (len(valid_real) and len(valid_generated)):
        raise EmptyCorpusError(
            f"a bound needs at least one score per side, got {len(valid_real)} and {len(valid_generated)}"
        )
    scores = np.unique(np.concatenate([valid_real, valid_generated, [usual]]))
    place = int(np.searchsorted(scores, usual))
    expected, variance, changed = np.zeros(len(scores)), np.zeros(len(scores)), np.zeros(len(scores))
    for sign, side, n in ((1, valid_real, n_real), (-1, valid_generated, n_generated)):
        above = len(side) - np.searchsorted(np.sort(side), scores, side="right")
        share = (above + 0.5) / (len(side) + 1)
        expected += sign * share
        variance += share * (1 - share) * (1 / n + 1 / len(side))
        changed += np.abs(above - above[place]) / len(side) ** 2
    expected += float(ndtri(alpha)) * np.sqrt(variance)
    gain = expected - expected[place]
    gain[gain <= _STANDARD_ERRORS * np.sqrt(changed)] = 0.0
    best = int(np.argmax(gain))
    if gain[best] <= 0 or best == len(scores) - 1:
        return BoundRule(usual)
    return BoundRule(float((scores[best] + scores[best + 1]) / 2))
