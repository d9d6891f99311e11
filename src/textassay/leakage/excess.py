"""How much more often a trait occurs in generated than in fresh real text of the same lengths, and whether by chance.

Short texts are written twice without being copied, so texts are compared with texts of about their length: in strata.

The test. If a generated text of some length has the trait as often as a real one, the count of the generated texts in a
stratum is hypergeometric given the counts of both. Their sum over strata has the convolution of these distributions,
and the p-value is its upper tail: Fisher's exact test where there is one stratum. Texts in groups (of one document, of
one prompt) are not independent: then both counts and totals are divided by how much more the groups vary than texts do,
and the test is that of one stratum with the shares of the interval. It is approximate. Texts of a group that both sides
have are two groups, which is conservative.

The interval. The real share is that of each stratum, weighted by the generated texts there; the interval of the
difference is Newcombe's, with the number of texts that would give each share its variance.

Sources: Fisher, "Statistical Methods for Research Workers", 1925; Gart, "Point and interval estimation of the common
odds ratio in the combination of 2 x 2 tables with fixed marginals", Biometrika 57, 1970 (exact test over strata);
Cochran, "The combination of estimates from different experiments", Biometrics 10, 1954, on direct standardisation;
Rao and Scott, "A simple method for the analysis of clustered binary data", Biometrics 48, 1992 (groups); Cohen,
"Statistical Power Analysis for the Behavioral Sciences", 1988 (power by the arcsine of shares).
"""

import math
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
_NEGLIGIBLE = 1e-18  # of a distribution's largest probability: what is rarer is left out


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
    size_generated: float  # Independent texts that are worth as much
    size_real: float

    @property
    def share(self) -> float:
        """Share of the generated texts that have the trait."""
        return self.count_generated / self.n_generated if self.n_generated else math.nan

    def detectable(self, alpha: float) -> float:
        """Return the least excess that a test at `alpha` would find with probability `POWER`; infinite for none."""
        if not (self.size_generated and self.size_real):
            return math.inf
        angle = math.asin(math.sqrt(self._smoothed)) + _quantiles(alpha) / 2 * math.sqrt(
            1 / self.size_generated + 1 / self.size_real
        )
        return math.sin(angle) ** 2 - self._smoothed if angle < math.pi / 2 else math.inf

    def texts_needed(self, excess: float, alpha: float) -> tuple[int, bool]:
        """Return how many real texts would show such an excess, and whether as many generated ones are needed, too."""
        base = self._smoothed if self.size_real else 0.01
        apart = 2 * (math.asin(math.sqrt(min(1.0, base + excess))) - math.asin(math.sqrt(base)))
        per_text = (apart / _quantiles(alpha)) ** 2
        real = 1.0 if not self.size_real else self.n_real / self.size_real
        generated = 1.0 if not self.size_generated else self.n_generated / self.size_generated
        rest = per_text - (1 / self.size_generated if self.size_generated else math.inf)
        both = rest < per_text / 10  # the generated ones alone leave (almost) no room
        return math.ceil(2 / per_text * max(real, generated)) if both else math.ceil(real / rest), both

    @property
    def _smoothed(self) -> float:
        return (self.expected * self.size_real + 0.5) / (self.size_real + 1)


def excess(generated: Side, real: Side, *, level: float) -> Excess:
    """Return how much more often generated texts have the trait; the interval has the `level`."""
    n_generated, n_real = len(generated.has), len(real.has)
    counts = int(generated.has.sum()), int(real.has.sum())
    if not (n_generated and n_real):
        return Excess(n_generated, counts[0], n_real, counts[1], math.nan, math.nan, None, 1.0, 0.0, 0.0)
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
    interval = newcombe_interval(
        share * size_generated, size_generated, expected * size_real, size_real, level=level
    )  # fmt: skip
    return Excess(
        n_generated, counts[0], n_real, counts[1], expected, share - expected, interval, p_value, size_generated,
        size_real,
    )  # fmt: skip


def _quantiles(alpha: float) -> float:
    return float(ndtri(1 - alpha) + ndtri(POWER))


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
    """Return the probability of at least as many generated texts with the trait, given the counts of each stratum.

    All of shape (n_strata,).
    """
    first, masses = 0, np.ones(1)
    for n, count, m, other in zip(n_generated, generated, n_real, real, strict=True):
        with_trait = int(count + other)
        low, high = max(0, with_trait - int(m)), min(int(n), with_trait)
        mean = n * with_trait / (n + m)
        spread = 10 * math.sqrt(mean) + 60
        low, high = max(low, math.floor(mean - spread)), min(high, math.ceil(mean + spread))
        one = hypergeom.pmf(np.arange(low, high + 1), n + m, with_trait, n)
        masses = np.convolve(masses, one)
        first += low
        kept = np.flatnonzero(masses > _NEGLIGIBLE * masses.max())
        first, masses = first + int(kept[0]), masses[kept[0] : kept[-1] + 1]
    place = int(generated.sum()) - first
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
