"""How much more often a trait occurs in generated than in fresh real text of the same lengths, and whether by chance.

Short texts are written twice without being copied, so texts are compared with texts of about their length: in strata.

The test. If a generated text of some length has the trait as often as a real one, the count of the generated texts in a
stratum is hypergeometric given the counts of both sides, whatever the share. The statistic is the sum of these counts,
each with a weight that is large where few texts of that length have the trait: there, one that was carried over is hard
to mistake. Its distribution is the convolution over strata, the p-value its upper tail: Fisher's exact test where there
is one stratum. Weights depend on the counts of both sides together, so the test is exact.

Texts in groups (of one document, of one prompt) are not independent: then counts and totals are divided by how much
more the groups vary than texts do, and the test is that of one stratum with the shares of the interval. It is
approximate. Texts of a group that both sides have are two groups, which is conservative.

The interval. The real share is that of each stratum, weighted by the generated texts there; the interval of the
difference is Newcombe's, with the number of texts that would give the real share its variance.

Sources: Fisher, "Statistical Methods for Research Workers", 1925; Gart, "Point and interval estimation of the common
odds ratio in the combination of 2 x 2 tables with fixed marginals", Biometrika 57, 1970 (exact test over strata);
Cochran, "Some methods for strengthening the common chi-squared tests", Biometrics 10, 1954 (weights, standardised
shares); Rao and Scott, "A simple method for the analysis of clustered binary data", Biometrics 48, 1992 (groups).
Departs from them: weights are those of the most powerful test of a few texts that are copied whatever their length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import hypergeom

from textassay.estimate import Interval
from textassay.resampling.proportions import newcombe_interval

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

POWER = 0.8
_LEAST_IN_STRATUM, _MOST_STRATA = 20, 20  # real texts; strata
_LARGEST_WEIGHT = 100  # of a text, where others have 1
_NEGLIGIBLE = 1e-18  # of a distribution's largest probability: what is rarer is left out
_MOST_TIMES = 1e6  # as many texts as there are: more are none that anybody gets


@dataclass(frozen=True)
class Side:
    """One side: the number of tokens of each text, whether it has the trait, and its group; shapes (N,)."""

    lengths: IntArray
    has: Mask
    groups: IntArray | None = None  # None: texts are independent


@dataclass(frozen=True)
class Excess:
    """How often a trait occurs on each side, and what is more on the generated one."""

    n_generated: int
    count_generated: int
    n_real: int
    count_real: int
    expected: float  # Share of real texts of the generated lengths that have it, in [0, 1]; NaN without real texts
    difference: float  # Generated share less the expected one
    interval: Interval | None
    p_value: float  # One-sided; 1 where a side has no text
    strata: tuple["Stratum", ...]

    @property
    def share(self) -> float:
        """Share of the generated texts that have the trait."""
        return self.count_generated / self.n_generated if self.n_generated else math.nan

    def detectable(self, alpha: float) -> float:
        """Return the least share of copied texts that a test at `alpha` finds with probability `POWER`."""
        return _detectable(self.strata, alpha)

    def texts_needed(self, share: float, alpha: float) -> tuple[int, bool]:
        """Return how many real texts would show that `share` is copied, and whether as many generated ones must, too.

        0 where no number would.
        """

        def least(times_real: float, times_generated: float) -> float:
            of = self.strata
            larger = [Stratum(one.n_generated * times_generated, one.n_real * times_real, one.share) for one in of]
            return _detectable(larger, alpha)

        both = least(_MOST_TIMES, 1.0) > share
        if not self.strata or (both and least(_MOST_TIMES, _MOST_TIMES) > share):
            return 0, both
        low, high = 0.0, math.log2(_MOST_TIMES)
        while high - low > 0.01:
            middle = (low + high) / 2
            if least(2**middle, 2**middle if both else 1.0) > share:
                low = middle
            else:
                high = middle
        return math.ceil(2**high * self.n_real), both


@dataclass(frozen=True)
class Stratum:
    """Texts of about one length: independent texts that they are worth, and the share of real texts with the trait."""

    n_generated: float
    n_real: float
    share: float  # In (0, 1)


def _detectable(strata: Sequence[Stratum], alpha: float) -> float:
    """Return the least share of copied texts that a test at `alpha` finds with probability `POWER`, at most 1."""
    if not strata:
        return 1.0
    n, m, share = np.array([(one.n_generated, one.n_real, one.share) for one in strata]).T
    worth = n * m / (n + m)

    def is_found(copied: float) -> bool:
        shares = share + copied * (1 - share)
        expected = copied * float(np.sum(worth * (1 - share) / share))
        spread = [math.sqrt(float(np.sum(worth * p * (1 - p) / share**2))) for p in (share, shares)]
        return expected >= -float(ndtri(alpha)) * spread[0] + float(ndtri(POWER)) * spread[1]

    low, high = 0.0, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high


def excess(generated: Side, real: Side, *, level: float) -> Excess:
    """Return how much more often generated texts have the trait; the interval has the `level`."""
    n_generated, n_real = len(generated.has), len(real.has)
    counts = int(generated.has.sum()), int(real.has.sum())
    if not (n_generated and n_real):
        return Excess(n_generated, counts[0], n_real, counts[1], math.nan, math.nan, None, 1.0, ())
    bounds = strata(real.lengths)
    of_generated, of_real = (np.searchsorted(bounds, side.lengths, side="right") for side in (generated, real))
    n = len(bounds) + 1
    tables = np.array([
        np.bincount(of_generated, minlength=n), np.bincount(of_generated, generated.has, minlength=n),
        np.bincount(of_real, minlength=n), np.bincount(of_real, real.has, minlength=n),
    ]).astype(np.int64)  # fmt: skip
    weights = tables[0] / n_generated
    shares = tables[3] / tables[2]
    expected, share = float(weights @ shares), counts[0] / n_generated
    smoothed = (tables[3] + 0.5) / (tables[2] + 1)
    variance = float(np.sum(weights**2 * smoothed * (1 - smoothed) / tables[2]))
    middle = float(weights @ smoothed)
    size_real = min(float(n_real), middle * (1 - middle) / variance)
    size_generated = float(n_generated)
    of_strata = [Stratum(*each) for each in zip(tables[0].tolist(), tables[2].tolist(), smoothed.tolist(), strict=True)]
    if generated.groups is None and real.groups is None:
        p_value = exact_p_value(*tables)
    else:
        pooled = (tables[1] + tables[3]) / (tables[0] + tables[2])
        sums = [_group_sums(side, pooled[own]) for side, own in ((generated, of_generated), (real, of_real))]
        size_generated /= _inflation(sums[0], float(np.sum((generated.has - pooled[of_generated]) ** 2)))
        size_real /= _inflation(sums[1], float(np.sum((real.has - pooled[of_real]) ** 2)))
        sizes = np.array([[max(1, int(size_generated))], [max(1, int(size_real))]])
        fewer = np.array([[int(share * sizes[0, 0])], [math.ceil(expected * sizes[1, 0])]])
        p_value = exact_p_value(sizes[0], fewer[0], sizes[1], fewer[1])
        of_strata = [Stratum(size_generated, size_real, middle)]
    interval = newcombe_interval(
        share * size_generated, size_generated, expected * size_real, size_real, level=level
    )  # fmt: skip
    return Excess(
        n_generated, counts[0], n_real, counts[1], expected, share - expected, interval, p_value, tuple(of_strata)
    )  # fmt: skip


def strata(real: IntArray) -> IntArray:
    """Return the lengths at which strata begin, but for the first: each has a twentieth of the `real` texts, or 20.

    `real`: the length of each, shape (N,).
    """
    least = max(_LEAST_IN_STRATUM, -(-len(real) // _MOST_STRATA))
    lengths, counts = np.unique(real, return_counts=True)
    bounds, so_far, left = [], 0, len(real)
    for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        if so_far >= least and left >= least:
            bounds.append(length)
            so_far = 0
        so_far += count
        left -= count
    return np.array(bounds, dtype=np.int64)


def exact_p_value(n_generated: IntArray, generated: IntArray, n_real: IntArray, real: IntArray) -> float:
    """Return the probability of a weighted count of generated texts as large as this, given the counts of each stratum.

    All of shape (n_strata,).
    """
    n, with_trait = n_generated + n_real, generated + real
    if not with_trait.any():
        return 1.0
    shares = np.where(with_trait > 0, (with_trait + 0.5) / (n + 1), np.inf)
    weights = np.maximum(1, np.rint(_LARGEST_WEIGHT * shares.min() / shares)).astype(np.int64)
    first, masses = 0, np.ones(1)
    for size, k, drawn, weight in np.stack([n, with_trait, n_generated, weights], axis=1).tolist():
        mean = drawn * k / size
        spread = 10 * math.sqrt(mean * (size - k) * (size - drawn) / size / max(1, size - 1)) + 60
        low = max(0, k - size + drawn, math.floor(mean - spread))
        one = hypergeom.pmf(np.arange(low, min(drawn, k, math.ceil(mean + spread)) + 1), size, k, drawn)
        longer = np.zeros(len(masses) + weight * (len(one) - 1))
        for place, mass in enumerate(one.tolist()):
            longer[weight * place : weight * place + len(masses)] += mass * masses
        kept = np.flatnonzero(longer > _NEGLIGIBLE * longer.max())
        first, masses = first + weight * low + int(kept[0]), longer[kept[0] : kept[-1] + 1]
    place = int(generated @ weights) - first
    return float(min(1.0, masses[max(0, place) :].sum())) if place < len(masses) else 0.0


def _group_sums(side: Side, expected: FloatArray) -> FloatArray:
    """Return by how much the count of each group exceeds what its strata have."""
    if side.groups is None:
        return np.asarray(side.has - expected)
    which = np.unique(side.groups, return_inverse=True)[1].reshape(-1)
    return np.bincount(which, side.has - expected).astype(np.float64)


def _inflation(sums: FloatArray, squares: float) -> float:
    """Return how many texts of groups are worth one independent text, at least 1."""
    return max(1.0, float(np.sum(sums**2)) / squares) if squares else 1.0
