"""Proportions, such as the accuracies of a fixed classifier: intervals, exact bounds, tests of many traits.

The discrepancy of a fixed classifier is a difference of two independent proportions: real texts classified as real less
generated texts classified as real. `newcombe_interval` is its interval; `certified_lower_bound` is exact at any sample
size and also a lower bound of the total variation, which no classifier exceeds.

That bound is hardly wider than the normal approximation. Two separate limits at half the error rate each add their
widths, as if both samples had to be extreme at once. Testing the sum itself adds variances: with equal samples the
margin is about 0.6 times as long. Under the null hypothesis that the sum is s, the probability of a result at least as
large as the observed one depends on how s is divided between the two proportions. Its maximum over all divisions,
within confidence limits that use a small part of the error rate, is compared with the rest of the error rate; the bound
is the largest s that is rejected. The probabilities are sums over both binomials. They increase in both proportions, so
the upper corner of a cell bounds the whole cell: the maximum over divisions is bounded from above, not merely searched
on a grid.

Sources: Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
methods", Statistics in Medicine 17, 1998 (method 10: Wilson's interval for each side); Clopper and
Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934; Chan
and Zhang, "Test-based exact confidence intervals for the difference of two binomial proportions", Biometrics 55, 1999
(inverting the unconditional test); Berger and Boos, "P values maximized over a confidence set for the nuisance
parameter", JASA 89, 1994; Fisher, "Statistical Methods for Research Workers", 1925 (the exact test; two-sided p-values
are twice the smaller tail here); Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence",
Computational Linguistics 19, 1993 (the likelihood ratio of rare words).
Departs from them: counts of `newcombe_interval` may be fractional, for texts scored by several classifiers
(`effective_size`); of the certified bound, both proportions are limited, not one, and results are ordered by the sum of
the observed proportions.
"""

import math
from typing import Literal

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, rel_entr
from scipy.stats import beta, hypergeom

from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Interval

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Of the certified bound
_NUISANCE = 0.02  # share of the error rate used for the limits of both proportions
_DIVISIONS = 9  # grid points of the search, before the bound is proved
_PRECISION = 0.005  # of the search, in standard errors
_SLACKS = (0.03, 0.1, 0.3, 1.0)  # standard errors by which the bound is lowered until the proof succeeds
_CELLS = 1 << 12  # largest number of initial cells
_SPLITS = 8  # how often a cell is halved before the proof fails
_WIDTH, _MARGIN = 9.0, 30  # standard deviations and counts around the mean; the rest counts as extreme


def newcombe_interval(
    k_real_correct: float, n_real: float, k_generated_wrong: float, n_generated: float, *, level: float
) -> Interval:
    """Return the interval of ``k_real_correct / n_real - k_generated_wrong / n_generated``, inside [-1, 1]."""
    _check_level("level", level)
    _check_counts(k_real_correct, n_real)
    _check_counts(k_generated_wrong, n_generated)
    one, other = k_real_correct / n_real, k_generated_wrong / n_generated
    (low, high), (other_low, other_high) = (
        wilson_interval(share, n, level=level) for share, n in ((one, n_real), (other, n_generated))
    )
    down, up = math.hypot(one - low, other_high - other), math.hypot(high - one, other - other_low)
    return Interval(max(-1.0, one - other - down), min(1.0, one - other + up), level, "newcombe")


def wilson_interval(share: float, n: float, *, level: float) -> tuple[float, float]:
    """Return the ends of the score interval of a share of `n` observations, which need not be a whole number."""
    z = -float(ndtri((1 - level) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return centre - reach, centre + reach


def clopper_pearson(count: int, n: int, *, alpha: float, side: Literal["lower", "upper"]) -> float:
    """Return the exact one-sided bound of a proportion with error rate at most `alpha`, in [0, 1]."""
    _check_level("alpha", alpha)
    _check_counts(count, n)
    if side == "lower":
        return 0.0 if count == 0 else float(beta.ppf(alpha, count, n - count + 1))
    return 1.0 if count == n else float(beta.isf(alpha, count + 1, n - count))


def certified_lower_bound(
    k_real_correct: int, n_real: int, k_generated_wrong: int, n_generated: int, *, alpha: float
) -> float:
    """Return a lower bound of the total variation, in [0, 1), too high with probability at most `alpha`.

    Exact at any sample size, see the docstring of the module.
    """
    _check_level("alpha", alpha)
    _check_counts(k_real_correct, n_real)
    _check_counts(k_generated_wrong, n_generated)
    return sum_lower_bound(k_real_correct, n_real, n_generated - k_generated_wrong, n_generated, alpha=alpha) - 1


def effective_size(terms: npt.NDArray[np.float64]) -> float:
    """Return the number of binary observations whose mean has the variance of the mean of `terms`.

    `terms`: fractions in [0, 1], shape (n,), such as the share of several classifiers that got a text right.
    """
    mean, variance = float(np.mean(terms)), float(np.var(terms))
    if variance == 0:
        return float(len(terms))
    return max(float(len(terms)), len(terms) * mean * (1 - mean) / variance)


def _check_level(name: str, level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"{name} must be between 0 and 1, got {level}")


def _check_counts(count: float, n: float) -> None:
    if n <= 0:
        raise EmptyCorpusError(f"a proportion needs at least one text, got {n}")
    if not 0 <= count <= n:
        raise OptionError(f"a count must be between 0 and its total {n}, got {count}")


def sum_lower_bound(count_a: int, n_a: int, count_b: int, n_b: int, *, alpha: float) -> float:
    """Return a lower bound of the sum of two proportions that is too high with probability at most `alpha`."""
    rest = alpha * (1 - _NUISANCE)
    of_each = alpha * _NUISANCE / 4
    sides: tuple[Literal["lower"], Literal["upper"]] = ("lower", "upper")
    limits = np.array(
        [
            [clopper_pearson(count, n, alpha=of_each, side=side) for side in sides]
            for count, n in ((count_a, n_a), (count_b, n_b))
        ]
    )
    weighted = count_a * n_b + count_b * n_a
    observed = count_a / n_a + count_b / n_b
    smoothed = [(count + 0.5) / (n + 1) for count, n in ((count_a, n_a), (count_b, n_b))]
    error = math.sqrt(sum(share * (1 - share) / n for share, n in zip(smoothed, (n_a, n_b), strict=True)))
    if observed <= 1 or not _is_rejected(1.0, limits, weighted, n_a, n_b, rest):
        return 1.0
    rejected, possible = 1.0, observed
    while possible - rejected > _PRECISION * error:
        middle = (rejected + possible) / 2
        if _is_rejected(middle, limits, weighted, n_a, n_b, rest):
            rejected = middle
        else:
            possible = middle
    for slack in _SLACKS:
        bound = max(1.0, rejected - slack * error)
        if bound == 1.0 or _is_proved(bound, limits, slack * error, weighted, n_a, n_b, rest):
            return bound
    return 1.0


@numba.njit(cache=True, nogil=True)
def _divisions(total: float, limits: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest first proportion in a sum of at most `total`; reversed if there is none.

    If the upper limits of both sum to less than `total`, only that of the first matters.
    """
    return min(limits[0, 1], max(limits[0, 0], total - limits[1, 1])), min(limits[0, 1], total - limits[1, 0])


@numba.njit(cache=True, nogil=True)
def _is_rejected(total: float, limits: FloatArray, weighted: int, n_a: int, n_b: int, alpha: float) -> bool:
    """Return whether, on the grid of divisions, a sum of `total` is rejected at level `alpha`."""
    low, high = _divisions(total, limits)
    if low > high:
        return True
    for division in range(_DIVISIONS):
        share = low + (high - low) * division / (_DIVISIONS - 1)
        if _tail(share, min(total - share, limits[1, 1]), weighted, n_a, n_b) > alpha:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _is_proved(
    total: float, limits: FloatArray, width: float, weighted: int, n_a: int, n_b: int, alpha: float
) -> bool:  # fmt: skip
    """Return whether `total` is rejected at every division within `limits`, by the upper corners of cells."""
    low, high = _divisions(total, limits)
    if low > high:
        return True
    n_cells = max(1, min(_CELLS, math.ceil((high - low) / (8 * width))))
    begins = np.empty(_SPLITS + 2)
    ends = np.empty(_SPLITS + 2)
    for cell in range(n_cells):
        begins[0] = low + (high - low) * cell / n_cells
        ends[0] = low + (high - low) * (cell + 1) / n_cells
        waiting = 1
        while waiting > 0:
            waiting -= 1
            begin, end = begins[waiting], ends[waiting]
            if _tail(end, min(total - begin, limits[1, 1]), weighted, n_a, n_b) <= alpha:
                continue
            if (end - begin) * n_cells * (1 << _SPLITS) <= (high - low) * 1.5:
                return False
            middle = (begin + end) / 2
            begins[waiting], ends[waiting] = begin, middle
            begins[waiting + 1], ends[waiting + 1] = middle, end
            waiting += 2
    return True


@numba.njit(cache=True, nogil=True)
def _tail(share_a: float, share_b: float, weighted: int, n_a: int, n_b: int) -> float:
    """Return the probability of ``count_a * n_b + count_b * n_a >= weighted``, rounded up rather than down."""
    first_a, masses_a, missing_a = _masses(n_a, min(1.0, max(0.0, share_a)))
    first_b, masses_b, missing_b = _masses(n_b, min(1.0, max(0.0, share_b)))
    for place in range(len(masses_b) - 2, -1, -1):
        masses_b[place] += masses_b[place + 1]  # now upper tail probabilities
    total = missing_a + missing_b
    for place in range(len(masses_a)):
        needed = -((first_a + place) * n_b - weighted)  # of n_a times the other count
        place_b = max(0, -(-needed // n_a) - first_b)
        if place_b < len(masses_b):
            total += masses_a[place] * masses_b[place_b]
    return total


@numba.njit(cache=True, nogil=True)
def _masses(n: int, share: float) -> tuple[int, FloatArray, float]:
    """Return the first count kept, the probabilities from it on, and the probability of all other counts."""
    spread = _WIDTH * math.sqrt(n * share * (1 - share)) + _MARGIN
    first = max(0, int(n * share - spread))
    last = min(n, int(n * share + spread))
    if share in (0.0, 1.0):
        first = last = int(n * share)
        return first, np.ones(1), 0.0
    masses = np.empty(last - first + 1)
    mode = min(last, int((n + 1) * share))
    log_mass = (
        math.lgamma(n + 1)
        - math.lgamma(mode + 1)
        - math.lgamma(n - mode + 1)
        + mode * math.log(share)
        + (n - mode) * math.log1p(-share)
    )
    masses[mode - first] = math.exp(log_mass)
    odds = share / (1 - share)
    for count in range(mode, last):
        masses[count + 1 - first] = masses[count - first] * odds * (n - count) / (count + 1)
    for count in range(mode, first, -1):
        masses[count - 1 - first] = masses[count - first] * count / (odds * (n - count + 1))
    return first, masses, max(0.0, 1.0 - masses.sum())


def fisher_p_values(first: IntArray, n_first: int, second: IntArray, n_second: int) -> FloatArray:
    """Return Fisher's exact two-sided p-value of every trait.

    `first`, `second`: number of items of each sample that have the trait, shape (n_traits,).

    Shape (n_traits,), in [0, 1]: twice the smaller tail of the hypergeometric distribution. The test is exact at any
    counts.
    """
    tables, where = np.unique(np.stack([first, first + second]), axis=1, return_inverse=True)
    n_with_trait = tables[1]
    below = tables[0] * n_second <= (n_with_trait - tables[0]) * n_first
    tails = np.empty(tables.shape[1])
    for rows, tail, shift in ((below, hypergeom.cdf, 0), (~below, hypergeom.sf, 1)):
        tails[rows] = tail(tables[0, rows] - shift, n_first + n_second, n_first, n_with_trait[rows])
    return np.minimum(1.0, 2 * tails)[where.reshape(-1)]


def signed_likelihood_ratios(
    first: npt.ArrayLike, n_first: npt.ArrayLike, second: npt.ArrayLike, n_second: npt.ArrayLike
) -> FloatArray:
    """Return the signed log-likelihood ratio statistic of two proportions: twice the ratio in nats.

    Positive where the trait is more frequent in the first sample.
    """
    a, n, b, m = (np.asarray(argument, dtype=np.float64) for argument in (first, n_first, second, n_second))
    share = (a + b) / np.maximum(n + m, 1)
    ratio = 2 * (
        rel_entr(a, n * share)
        + rel_entr(n - a, n * (1 - share))
        + rel_entr(b, m * share)
        + rel_entr(m - b, m * (1 - share))
    )
    return np.asarray(np.sign(a * m - b * n) * np.maximum(ratio, 0.0), dtype=np.float64)
