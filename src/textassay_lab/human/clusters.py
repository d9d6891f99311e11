"""Means of clustered values, such as judgements of one page: variances, intervals, differences.

A mean is a ratio of two sums over clusters (cluster sizes are random, too), and its variance is that of the clusters'
sums of ``value - mean``. With two crossed kinds of clusters, such as pages and raters who judged several pages, the
variances of both are added and that of their intersections is subtracted; the result is never smaller than with either
kind alone. Three raters say little of how raters differ, but three hundred texts much of how texts do: the degrees of
freedom are Satterthwaite's, which weigh both by their parts of the variance. What raters add to a difference of two
groups may be taken from all pairs of groups together.

Sources: Cameron, Gelbach, Miller, "Robust Inference With Multiway Clustering", Journal of Business and Economic
Statistics 29, 2011 (two kinds of clusters); Satterthwaite, "An Approximate Distribution of Estimates of Variance
Components", Biometrics Bulletin 2, 1946 (degrees of freedom of a sum of variances); Dean, Pagano, "Evaluating
Confidence Interval Methods for Binomial Proportions in Clustered Surveys", Journal of Survey Statistics and Methodology
3, 2015 (Wilson's interval with the effective sample size, Student's quantile); Newcombe, "Interval estimation for the
difference between independent proportions", Statistics in Medicine 17, 1998 (from the intervals of both proportions).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from textassay.errors import EmptyCorpusError
from textassay.estimate import Interval

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Difference:
    """A difference of two means; all but `value` are NaN if one of them has a single cluster."""

    value: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class ClusteredMeans:
    """Means of D groups of values."""

    values: FloatArray  # Shape (D,)
    sizes: IntArray  # Values in each group, shape (D,)
    counts: IntArray  # Clusters of each group, of one kind or of two, shape (1 or 2, D)
    # By the first kind alone; with two, also by the second alone and by both, shape (1 or 3, D, D)
    covariances: FloatArray

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each group, of the kind with fewest, shape (D,)."""
        return np.asarray(self.counts.min(axis=0))

    @property
    def crosses(self) -> bool:
        """Whether there are two kinds of clusters."""
        return len(self.counts) > 1

    def of_first_kind(self) -> "ClusteredMeans":
        """Return the same means where clusters of the second kind are these and no others, such as these raters."""
        return replace(self, counts=self.counts[:1], covariances=self.covariances[:1])

    def variance(self, group: int) -> float:
        """Return the variance of a mean; NaN with a single cluster."""
        return self._spread(self._weights({group: 1.0}))[0]

    def _weights(self, weights: Mapping[int, float]) -> FloatArray:
        found = np.zeros(len(self.values))
        found[list(weights)] = list(weights.values())
        return found

    def _parts(self, weights: FloatArray) -> FloatArray:
        """Return the variance of a weighted sum of means by each of `covariances`."""
        used = np.flatnonzero(weights)
        return np.asarray(self.covariances[:, used[:, None], used] @ weights[used] @ weights[used])

    def _spread(self, weights: FloatArray, alike: Sequence[FloatArray] = ()) -> tuple[float, float]:
        """Return the variance of a weighted sum of means, and its degrees of freedom; NaN with a single cluster.

        `alike`: weights of all sums to which clusters of the second kind are taken to add as much as to this one, with
        D' groups among them, which vary independently.
        """
        parts, n = self._parts(weights), self.counts[:, weights != 0].min(axis=1)
        if not np.isfinite(parts).all():
            return math.nan, math.nan
        if not self.crosses:
            return max(0.0, float(parts[0])), float(n[0] - 1)
        df = n - 1.0
        pooled = [found for each in alike if np.isfinite(found := self._parts(each)).all()]
        if len(pooled) > 1:
            groups = np.any([each != 0 for each in alike], axis=0)
            df[1] = (self.counts[1, groups].min() - 1) * (groups.sum() - 1)
        both = np.mean(pooled, axis=0) if pooled else parts
        second, added = float(both[1]), float(both[2] - both[0])
        first = float(parts[0])
        variance = max(first, second, first + added)
        lost = first**2 / df[0] + second**2 / df[1]
        return variance, float(np.clip(variance**2 / lost, df.min(), df.max()) if lost > 0 else df.min())

    def interval(self, group: int, *, level: float, method: str) -> Interval | None:
        """Return Student's interval of a mean; None with a single cluster."""
        value, (variance, df) = float(self.values[group]), self._spread(self._weights({group: 1.0}))
        if not math.isfinite(variance):
            return None
        margin = self._quantile(level, df) * math.sqrt(variance)
        return Interval(value - margin, value + margin, level, method)

    def share_interval(self, group: int, *, level: float, method: str) -> Interval | None:
        """Return Wilson's interval of a mean of zeros and ones; None with a single cluster.

        The effective sample size is that of independent values with the same variance of the mean, at most the number
        of values; if all values are equal, it is the number of clusters.
        """
        value, (variance, df) = float(self.values[group]), self._spread(self._weights({group: 1.0}))
        if not math.isfinite(variance):
            return None
        spread = value * (1 - value)
        size = float(self.sizes[group])
        if spread <= 0:
            effective = float(self.n_clusters[group])
        else:
            effective = min(size, spread / variance) if variance > 0 else size
        quantile = self._quantile(level, df)
        ratio = quantile**2 / effective
        middle = (value + ratio / 2) / (1 + ratio)
        margin = quantile / (1 + ratio) * math.sqrt(spread / effective + ratio / (4 * effective))
        return Interval(max(0.0, middle - margin), min(1.0, middle + margin), level, method)

    def difference(
        self,
        first: int,
        second: int,
        *,
        level: float,
        shares: bool = False,
        alike: Sequence[tuple[int, int]] = (),
    ) -> Difference:
        """Return the mean of one group less that of another, with Student's interval and two-sided p-value.

        `alike`: all pairs of groups to whose differences clusters of the second kind, such as raters, are taken to add
        as much as to this one. If nothing varies, each cluster counts as one answer, and p is that of Fisher's exact
        test.
        """
        value = float(self.values[first] - self.values[second])
        contrasts = [self._weights({one: 1.0, other: -1.0}) for one, other in alike]
        variance, df = self._spread(self._weights({first: 1.0, second: -1.0}), contrasts)
        if not math.isfinite(variance):
            return Difference(value, math.nan, math.nan, math.nan)
        error = math.sqrt(variance)
        below = above = self._quantile(level, df) * error
        if shares and not all(0 < share < 1 for share in self.values[[first, second]].tolist()):
            interval_a, interval_b = (self.share_interval(group, level=level, method="") for group in (first, second))
            assert interval_a is not None
            assert interval_b is not None
            share_a, share_b = self.values[[first, second]].tolist()
            below = max(below, math.hypot(share_a - interval_a.low, interval_b.high - share_b))
            above = max(above, math.hypot(interval_a.high - share_a, share_b - interval_b.low))
        if error > 0:
            p_value = 2 * float(stdtr(df, -abs(value) / error))
        else:
            from scipy import stats

            answers = np.diag(self.n_clusters[[first, second]])
            p_value = float(stats.fisher_exact(answers).pvalue) if value else 1.0
        return Difference(value, value - below, value + above, p_value)

    def log_ratio_margin(self, first: int, second: int, *, level: float) -> float:
        """Return the half-width of Student's interval of the log-ratio of two means, both above 0.

        NaN if one of them has a single cluster.
        """
        variance, df = self._spread(self._weights({first: 1 / self.values[first], second: -1 / self.values[second]}))
        return self._quantile(level, df) * math.sqrt(variance) if math.isfinite(variance) else math.nan

    @staticmethod
    def _quantile(level: float, df: float) -> float:
        return float(stdtrit(df, (1 + level) / 2))


def clustered_means(
    values: FloatArray, groups: IntArray, clusters: IntArray, crossed: IntArray | None = None
) -> ClusteredMeans:
    """Return the mean of each group of values, with their covariances.

    `values`: shape (n,), at least one; `groups`: group of each value, shape (n,), consecutive numbers from 0;
    `clusters`: cluster of each value, shape (n,), any numbers; `crossed`: cluster of a second kind, shape (n,), or
    None.
    """
    if not len(values):
        raise EmptyCorpusError("a mean needs at least one value")
    sizes = np.bincount(groups)
    means = np.bincount(groups, weights=values) / sizes
    influence = (values - means[groups]) / sizes[groups]
    kinds: list[IntArray] = [clusters]
    if crossed is not None:
        _, first = np.unique(clusters, return_inverse=True)
        _, second = np.unique(crossed, return_inverse=True)
        kinds += [crossed, first * (int(second.max()) + 1) + second]
    by_kind = [_covariance(influence, groups, kind, len(sizes)) for kind in kinds]
    covariances = [covariance for covariance, _ in by_kind]
    counts: Sequence[IntArray] = [count for _, count in by_kind]
    if crossed is not None:
        covariances[2] = covariances[0] + covariances[1] - covariances[2]
        counts = counts[:2]
    return ClusteredMeans(
        values=means,
        sizes=sizes.astype(np.int64),
        counts=np.stack(counts),
        covariances=np.stack(covariances),
    )


def _covariance(
    influence: FloatArray, groups: IntArray, clusters: IntArray, n_groups: int
) -> tuple[FloatArray, IntArray]:
    """Return the covariance of the means for one kind of clusters, and the number of clusters of each group."""
    from scipy import sparse

    _, places = np.unique(clusters, return_inverse=True)
    shape = (int(places.max()) + 1, n_groups)
    sums = sparse.csc_matrix(sparse.coo_matrix((influence, (places, groups)), shape=shape))  # sums duplicates
    counts = np.diff(sums.indptr).astype(np.int64)
    scale = np.sqrt(np.divide(counts, counts - 1, out=np.full(n_groups, np.nan), where=counts > 1))
    covariance = np.asarray((sums.T @ sums).toarray(), dtype=np.float64)
    return covariance * np.outer(scale, scale), counts
