"""An exact lower bound of the sum of two proportions, hardly wider than the normal approximation.

Two separate limits at half the error rate each add their widths, as if both samples had to be extreme at once. Testing
the sum itself adds variances: with equal samples the margin is about 0.6 times as long.

Under the null hypothesis that the sum is s, the probability of a result at least as large as the observed one depends
on how s is divided between the two proportions. Its maximum over all divisions, within confidence limits that use a
small part of the error rate, is compared with the rest of the error rate; the bound is the largest s that is rejected.
The probabilities are sums over both binomials. They increase in both proportions, so the upper corner of a cell bounds
the whole cell: the maximum over divisions is bounded from above, not merely searched on a grid.

Sources: Chan and Zhang, "Test-based exact confidence intervals for the difference of two binomial proportions",
Biometrics 55, 1999 (inverting the unconditional test); Berger and Boos, "P values maximized over a confidence set for
the nuisance parameter", JASA 89, 1994 (limits of the proportions, by Clopper and Pearson).
Departs from them: both proportions are limited, not one; results are ordered by the sum of the observed proportions.
"""

import math

import numba
import numpy as np
import numpy.typing as npt
from scipy.stats import beta

FloatArray = npt.NDArray[np.float64]

_NUISANCE = 0.02  # share of the error rate used for the limits of both proportions
_DIVISIONS = 9  # grid points of the search, before the bound is proved
_PRECISION = 0.005  # of the search, in standard errors
_SLACKS = (0.03, 0.1, 0.3, 1.0)  # standard errors by which the bound is lowered until the proof succeeds
_CELLS = 1 << 12  # largest number of initial cells
_SPLITS = 8  # how often a cell is halved before the proof fails
_WIDTH, _MARGIN = 9.0, 30  # standard deviations and counts around the mean; the rest counts as extreme


def sum_lower_bound(count_a: int, n_a: int, count_b: int, n_b: int, *, alpha: float) -> float:
    """Return a lower bound of the sum of two proportions that is too high with probability at most `alpha`."""
    rest = alpha * (1 - _NUISANCE)
    limits = np.array([_limits(count, n, alpha * _NUISANCE / 4) for count, n in ((count_a, n_a), (count_b, n_b))])
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


def _limits(count: int, n: int, alpha: float) -> tuple[float, float]:
    """Return confidence limits of a proportion, each with error rate at most `alpha`."""
    low = 0.0 if count == 0 else float(beta.ppf(alpha, count, n - count + 1))
    high = 1.0 if count == n else float(beta.isf(alpha, count + 1, n - count))
    return low, high


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
