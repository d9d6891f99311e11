"""Lower bounds by betting, exact at any sample size: of a mean of bounded values, and of a difference of two shares.

A gambler who bets that values lie above m can expect no gain where their mean is at most m, so a capital of 1/alpha is
reached with probability at most alpha. The bound is the largest m at which the capital gets there. It needs no two
values to have the same distribution: it is enough that each has at most this mean given those before it, which lets the
rule that makes the values (a classifier) learn from earlier ones.

The stake on each value follows from the mean square of those before it, in an order of their own; the capital is the
mean over several orders, which is an e-value too and depends little on any of them. In simulation this bound was above
mixtures of fixed stakes, and above the empirical Bernstein bound of Maurer and Pontil.

`ShareDifference` is about texts in groups, with any mix of both sides. A classifier calls k of a group's r real texts
real, and l of its s generated ones. Groups are independent, the texts of one are not. Every text weighs the same: the
difference is p - q with p = E[k] / E[r] and q = E[l] / E[s]. Weighing every group the same would compare other
distributions, which can be further apart than those of the texts.

If p - q is at most m, ``(k - p r) / R + ((p - m) s - l) / S`` has a mean of at most 0 for any constants R and S, so a
gambler who bets on it cannot expect to gain. With the mean sizes of groups elsewhere as R and S it hardly depends on p.
As p is not known, the capital counts that is least over all p, where a small part of it is bet on what p is not (Berger
and Boos); on a cell of p with a fixed stake its logarithm is concave, so that the ends of the cell bound it.

No bet may lose more than there is, so stakes are limited by the largest group. Its size must be known in advance: it is
the most texts of each side, and of both, in a group elsewhere, and larger groups count as so many texts. The bound is
therefore for texts of which no group counts more; where sizes end there, it is exact without this reserve.

Where that limit binds, much is given away (``benchmarks/group_bounds.py`` prints the table), and much of that must be:
among n groups, 3/n of all may be large and wrong throughout, and none of them be seen, with a probability of 5 %.

Sources: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86, 2024 (section 4, the predictable plug-in); Berger and Boos, "P values maximized over a
confidence set for the nuisance parameter", JASA 89, 1994. Departs from them: one-sided; mean over orders; a difference
of two ratios as the mean; the confidence set of p is one of bets, too.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import logsumexp

from textassay.errors import InputError

FloatArray = npt.NDArray[np.float64]

N_ORDERS = 8
_MOST_STAKE = 0.75  # of the capital that a value of -1 may take
_PRIOR = 0.25  # mean square of a value that counts as one, before any is known
_LARGEST = math.log(1e300)  # logarithm of the largest e-value
_CLOSE = 1e-9

_NUISANCE = 0.05  # share of the capital that is bet on p, for a difference
_MOST_LOST = 0.95  # of the capital, by one group
_CELLS = 64  # of p
_STEPS = 32  # of m, each with stakes of its own
_PRECISION = 1e-4


class BoundedMean:
    """Values in [-1, 1], each with at most the mean in question given those before it."""

    def __init__(self, blocks: Sequence[npt.ArrayLike], *, alpha: float, rng: np.random.Generator) -> None:
        """Take blocks of values in their order; inside a block, values are in no order.

        `blocks`: arrays of shape (n,), at least one value in all; `alpha`: the error rate at which stakes are best.
        """
        arrays = [np.asarray(block, dtype=np.float64) for block in blocks]
        self.mean = float(np.concatenate(arrays).mean())
        self._alpha = alpha
        orders = [np.concatenate([rng.permutation(block) for block in arrays]) for _ in range(N_ORDERS)]
        self._values = np.clip(np.stack(orders), -1, 1)  # (n_orders, n)
        self._stakes = stakes(self._values, alpha)

    def log_capital(self, mean: float) -> float:
        """Return the logarithm of the capital after betting that the values lie above `mean`, inside (-1, 1)."""
        limited = np.minimum(self._stakes, _MOST_STAKE / (1 + mean))
        grown = np.log1p(limited * (self._values - mean)).sum(axis=1)
        return float(logsumexp(grown) - math.log(len(grown)))

    @property
    def e_value(self) -> float:
        """Evidence that the mean is above 0, in [0, 1e300]: at least c with probability at most 1/c if it is not."""
        return math.exp(min(self.log_capital(0.0), _LARGEST))

    @property
    def lower_bound(self) -> float:
        """A bound that the mean is at least, but for a chance of `alpha`; in [-1, 1)."""
        return self.lower_bound_at(self._alpha)

    def lower_bound_at(self, alpha: float) -> float:
        """Return `lower_bound` for another chance, by the same stakes."""

        def lacking(mean: float) -> float:
            return self.log_capital(mean) + math.log(alpha)

        lowest = -1 + _CLOSE
        if self.mean <= lowest or lacking(lowest) <= 0:
            return -1.0
        if lacking(self.mean) >= 0:  # only by rounding: around their own mean values gain nothing
            return self.mean
        return float(brentq(lacking, lowest, self.mean, xtol=_CLOSE))


def stakes(values: FloatArray, alpha: float, *, prior: float = _PRIOR) -> FloatArray:
    """Return the stake on each value, from the spread of those before it around their mean, shape (n_orders, n)."""
    n = values.shape[1]
    counts = np.arange(1, n + 1)
    means = np.cumsum(values, axis=1) / (counts + 1)
    variances = (prior + np.cumsum((values - means) ** 2, axis=1)) / (counts + 1)
    before = np.concatenate([np.full((len(values), 1), prior), variances[:, :-1]], axis=1)
    return np.asarray(np.sqrt(2 * math.log(1 / alpha) / (n * before)), dtype=np.float64)


class ShareDifference:
    """Texts in groups, of each side some called real."""

    def __init__(
        self,
        called: npt.ArrayLike,
        sizes: npt.ArrayLike,
        *,
        elsewhere: npt.ArrayLike,
        alpha: float,
        rng: np.random.Generator,
    ) -> None:
        """Take groups that are draws from one distribution, by a classifier and threshold that saw none of them.

        `called`, `sizes`: texts called real and all texts, of real and generated text, shape (n_groups, 2);
        `elsewhere`: sizes of other groups of the same distribution, shape (n, 2), with texts of both sides; `alpha`:
        the error rate at which stakes are best.
        """
        counts, totals, others = (np.asarray(each, dtype=np.float64) for each in (called, sizes, elsewhere))
        if not others.sum(axis=0).all():
            raise InputError(f"groups elsewhere must have texts of both sides, got sizes of shape {others.shape}")
        self._alpha = alpha
        limits = np.append(others.max(axis=0), others.sum(axis=1).max())
        self.largest = tuple(limits.tolist())  # As how many texts a group counts at most: real, generated, both
        scale = others.mean(axis=0)
        parts = np.column_stack([totals, totals.sum(axis=1)])
        weights = np.min(limits / np.maximum(parts, limits), axis=1, keepdims=True) / scale
        orders = np.stack([rng.permutation(len(counts)) for _ in range(N_ORDERS)])
        self._called = tuple((counts * weights)[orders].transpose(2, 0, 1))  # (n_orders, n_groups) each
        self._sizes = tuple((totals * weights)[orders].transpose(2, 0, 1))
        self._per_text = 1 / scale
        residuals = [_residuals(*side) for side in zip(self._called, self._sizes, strict=True)]
        spread = ((others / scale) ** 2).mean(axis=0) / 4  # of a share of one half, all texts of a group alike
        self._stakes = stakes(residuals[0] - residuals[1], alpha, prior=float(spread.sum()))
        self._stakes_on_p = stakes(residuals[0], alpha * _NUISANCE / 2, prior=float(spread[0]))
        edges = np.linspace(0, 1, _CELLS + 1).tolist()
        cells = [(self._log_capital_on_p(*ends) + math.log(_NUISANCE), ends) for ends in pairwise(edges)]
        self._cells = sorted(cells)  # (logarithm of what bets on p have become, ends of p), what p may be first

    def log_capital(self, difference: float) -> float:
        """Return the logarithm of the capital after betting that p - q is above `difference`, in [0, 1)."""
        return self._log_capital(difference, difference, math.inf)

    @property
    def e_value(self) -> float:
        """Evidence that p is above q, as `BoundedMean.e_value`."""
        return math.exp(min(self.log_capital(0.0), _LARGEST))

    @property
    def lower_bound(self) -> float:
        """A bound that p - q is at least, but for a chance of `alpha`; in [0, 1], where 0 says nothing."""
        return self.lower_bound_at(self._alpha)

    def lower_bound_at(self, alpha: float) -> float:
        """Return `lower_bound` for another chance, by the same stakes."""
        needed = -math.log(alpha)
        edges = np.linspace(0, 1, _STEPS + 1).tolist()
        for low, high in pairwise(edges):
            if self._log_capital(high, high, needed) >= needed:
                continue
            rejected, possible = low, high
            while possible - rejected > _PRECISION:
                middle = (rejected + possible) / 2
                if self._log_capital(middle, high, needed) >= needed:
                    rejected = middle
                else:
                    possible = middle
            return float(rejected)
        return 1.0

    def _log_capital(self, difference: float, step: float, enough: float) -> float:
        """Return the least capital over p, by the stakes of all differences up to `step`.

        Where only the question matters whether it is `enough`, the first cell of p with less answers it.
        """
        (called_real, called_generated), (real, generated) = self._called, self._sizes
        least = enough
        for of_p, (low, high) in self._cells:
            if of_p >= least:
                break
            places = sorted({low, min(max(difference, low), high), high})  # q is p - m, and at least 0
            gains = [called_real - p * real + max(0.0, p - difference) * generated - called_generated for p in places]
            grown = self._grown(self._stakes, gains, self._loss(high, 1 - max(0.0, low - step)))
            least = min(least, float(np.logaddexp(of_p, math.log1p(-_NUISANCE) + grown)))
            if least < enough < math.inf:
                break
        return least

    def _log_capital_on_p(self, low: float, high: float) -> float:
        """Return the least capital over a cell after betting half on a larger p and half on a smaller one."""
        gains = [self._called[0] - p * self._sizes[0] for p in (low, high)]
        above = self._grown(self._stakes_on_p, gains, self._loss(high, 0.0))
        below = self._grown(self._stakes_on_p, [-gain for gain in gains], self._loss(1 - low, 0.0))
        return float(np.logaddexp(above, below) - math.log(2))

    def _loss(self, by_real: float, by_generated: float) -> float:
        """Return how much a group may lose where a text of each side may lose so much."""
        by_text = np.array([by_real, by_generated]) * self._per_text
        order = np.argsort(-by_text)
        worst = self.largest[order[0]]
        return float(
            worst * by_text[order[0]] + min(self.largest[order[1]], self.largest[2] - worst) * by_text[order[1]]
        )

    def _grown(self, best: FloatArray, gains: Sequence[FloatArray], loss: float) -> float:
        """Return the logarithm of the mean capital over orders, the least of several gains each, that lose no more."""
        limited = np.minimum(best, _MOST_LOST / loss)
        grown = np.min([np.log1p(limited * gain).sum(axis=1) for gain in gains], axis=0)
        return float(np.logaddexp.reduce(grown) - math.log(len(grown)))


def _residuals(called: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return what was called less what the share in the groups before lets expect, shape (n_orders, n_groups)."""
    shares = (np.cumsum(called, axis=1) + 0.5) / (np.cumsum(sizes, axis=1) + 1)
    before = np.concatenate([np.full((len(shares), 1), 0.5), shares[:, :-1]], axis=1)
    return np.asarray(called - before * sizes, dtype=np.float64)
