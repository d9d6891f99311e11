"""Correlation of two lists of numbers, such as a metric's values and a known order of generators, with its p-value.

Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945 (tau-b); Spearman, "The proof and
measurement of association between two things", 1904; computed by SciPy.
Departs from it: with at most eight items, the p-values of ranks are exact, ties or not, where SciPy uses a normal or
Student's distribution (which gives a perfect Spearman correlation of five items a p-value of 0, not of 1/60).
"""

import itertools
import math
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, unknown_name

FloatArray = npt.NDArray[np.float64]
CorrelationKind = Literal["kendall", "spearman", "pearson"]

MAX_EXACT = 8  # items: all 40,320 orders of eight are enumerated


@dataclass(frozen=True)
class Correlation:
    """A correlation."""

    value: float  # In [-1, 1]; NaN where a side is constant or there are fewer than two items
    p: float  # Two-sided, of independence; NaN where `value` is
    n: int  # Items
    kind: CorrelationKind  # "kendall" (tau-b), "spearman" or "pearson"
    # "exact" (all orders), "normal" or "t" (which for Pearson is exact where both sides are normal)
    p_method: Literal["exact", "normal", "t"]


def correlation(x: npt.ArrayLike, y: npt.ArrayLike, kind: CorrelationKind = "kendall") -> Correlation:
    """Return the correlation of `x` and `y` with its two-sided p-value.

    `x`, `y`: equally many finite numbers, shapes (n,).

    tau-b is (concordant - discordant pairs) / sqrt(pairs not tied in x * pairs not tied in y).
    """
    if kind not in get_args(CorrelationKind):
        raise unknown_name("correlation", kind, get_args(CorrelationKind))
    first, second = (np.asarray(side, dtype=np.float64) for side in (x, y))
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError(f"a correlation needs two lists of one length, got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a correlation needs finite numbers, got NaN or infinity")
    n = len(first)
    if n < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        reason = f"there are {n} items" if n < 2 else "one side is constant"
        warnings.warn(f"the {kind} correlation is undefined: {reason}", RuntimeWarning, stacklevel=2)
        return Correlation(math.nan, math.nan, n, kind, "exact")
    if kind == "pearson":
        linear = stats.pearsonr(first, second)
        return Correlation(float(linear.statistic), float(linear.pvalue), n, kind, "t")
    ranks = stats.rankdata(first), stats.rankdata(second)
    if kind == "kendall":
        result = stats.kendalltau(*ranks)
        p_method: Literal["exact", "normal", "t"] = "exact" if _scipy_is_exact(*ranks) else "normal"
    else:
        result, p_method = stats.spearmanr(*ranks), "t"
    p = float(result.pvalue)
    if n <= MAX_EXACT:
        p, p_method = _exact_p(*ranks, kind), "exact"
    return Correlation(float(result.statistic), p, n, kind, p_method)


def _exact_p(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> float:
    """Return the share of all orders of `second` whose correlation with `first` is at least as far from 0."""
    covariances, p_values = _null_distribution(tuple(np.sort(first).tolist()), tuple(np.sort(second).tolist()), kind)
    return float(p_values[np.searchsorted(covariances, abs(_covariance(first, second, kind)) - 1e-6)])


def _covariance(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> float:
    """Return the covariance of ranks (of signs of pairs for Kendall), which orders them as the correlation does."""
    if kind == "spearman":
        return float((first - first.mean()) @ (second - second.mean()))
    signs = [np.sign(ranks[:, None] - ranks) for ranks in (first, second)]
    return float(np.triu(signs[0] * signs[1], 1).sum())


@cache
def _null_distribution(
    first: tuple[float, ...], second: tuple[float, ...], kind: CorrelationKind
) -> tuple[FloatArray, FloatArray]:
    """Return the absolute covariances of all orders of two lists of ranks, ascending, and the p-value of each.

    They depend on the ranks only through ties, so they are computed once for each pattern of ties.
    """
    ranks, orders = (np.asarray(first), np.asarray(second)), _orders(len(first))
    if kind == "spearman":
        covariances = (ranks[1] - ranks[1].mean())[orders] @ (ranks[0] - ranks[0].mean())
    else:
        signs = np.sign(ranks[1][:, None] - ranks[1])
        covariances = np.zeros(len(orders))
        for one, other in itertools.combinations(range(len(first)), 2):
            covariances += np.sign(ranks[0][one] - ranks[0][other]) * signs[orders[:, one], orders[:, other]]
    absolute, counts = np.unique(np.abs(covariances).round(6), return_counts=True)
    return absolute, counts[::-1].cumsum()[::-1] / len(orders)


@cache
def _orders(n: int) -> npt.NDArray[np.int64]:
    """Return all orders of n items, the given one first, shape (n!, n)."""
    return np.array(list(itertools.permutations(range(n))))


def _scipy_is_exact(first: FloatArray, second: FloatArray) -> bool:
    """Return whether SciPy computes Kendall's p exactly: no ties, and few items or (almost) all pairs of one kind."""
    n = len(first)
    if len(np.unique(first)) < n or len(np.unique(second)) < n:
        return False
    ordered = second[np.argsort(first)]
    discordant = int(np.count_nonzero(np.triu(ordered[:, None] > ordered, 1)))
    return n <= 33 or min(discordant, n * (n - 1) // 2 - discordant) <= 1
