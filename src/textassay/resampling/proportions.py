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

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, rel_entr
from scipy.stats import beta, hypergeom

from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Interval
from textassay.resampling.kernels import is_proved, is_rejected

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Of the certified bound
_NUISANCE = 0.02  # share of the error rate used for the limits of both proportions
_PRECISION = 0.005  # of the search, in standard errors
_SLACKS = (0.03, 0.1, 0.3, 1.0)  # standard errors by which the bound is lowered until the proof succeeds


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
    if observed <= 1 or not is_rejected(1.0, limits, weighted, n_a, n_b, rest):
        return 1.0
    rejected, possible = 1.0, observed
    while possible - rejected > _PRECISION * error:
        middle = (rejected + possible) / 2
        if is_rejected(middle, limits, weighted, n_a, n_b, rest):
            rejected = middle
        else:
            possible = middle
    for slack in _SLACKS:
        bound = max(1.0, rejected - slack * error)
        if bound == 1.0 or is_proved(bound, limits, slack * error, weighted, n_a, n_b, rest):
            return bound
    return 1.0


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
