"""Delete-a-group jackknife, terms of means, and intervals from terms.

The terms of a value linearise it: its sampling variance is ``var(terms) / len(terms)`` with ddof 1, summed over the
independent samples behind the value. The terms of a mean are its observations. A value whose parts depend on one
another (the number of distinct n-grams, say) is recomputed without each of G groups; a bootstrap would repeat texts,
which such a value takes for copies.

Source: Busing, Meijer, van der Leeden, "Delete-m jackknife for unequal m", Statistics and Computing 9, 1999.
Departs from it: the point estimate is not corrected for bias, because values that depend on the number of texts are
reported at that number; pseudo-values of unequal groups are scaled and shifted so that their mean is the value and
their plain variance is the paper's.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from textassay.errors import OptionError
from textassay.estimate import Interval

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_GROUPS = 50


@dataclass(frozen=True, eq=False)
class GroupedTerms:
    """One term a text where texts come in groups: independent are the groups, not the texts."""

    values: FloatArray  # Shape (n_texts,)
    groups: IntArray  # Equal numbers mean the same group, on another side as well


Terms = FloatArray | GroupedTerms


def assign_groups(
    n_items: int, rng: np.random.Generator, *, n_groups: int = N_GROUPS, units: IntArray | None = None
) -> IntArray:
    """Return a random jackknife group for each item.

    `units`: unit of each item, shape (n_items,), or None; items of one unit (texts of one document) stay together.

    Shape (n_items,), consecutive numbers from 0. Sizes differ by at most one; with units they are as even as whole
    units allow, and there may be fewer than `n_groups` groups.
    """
    if n_items < 1:
        raise OptionError(f"n_items must be at least 1, got {n_items}")
    if units is None:
        members, sizes = np.arange(n_items), np.ones(n_items, dtype=np.int64)
    else:
        _, members, sizes = np.unique(units, return_inverse=True, return_counts=True)
    n_units = len(sizes)
    order = rng.permutation(n_units)
    if n_units <= n_groups:
        group_of_unit = order
    else:
        ends = np.cumsum(sizes[order])
        middles = ends - sizes[order] / 2
        group_of_unit = np.empty(n_units, dtype=np.int64)
        group_of_unit[order] = np.floor(middles * n_groups / n_items).astype(np.int64)
        is_there = np.bincount(group_of_unit) > 0
        group_of_unit = (np.cumsum(is_there) - 1)[group_of_unit]
    return group_of_unit if units is None else group_of_unit[members].astype(np.int64)


def jackknife_terms(value: float, replicates: FloatArray, sizes: IntArray) -> FloatArray | None:
    """Return the terms of a value, shape (G,), mean `value`, from its jackknife replicates.

    `replicates`: the value without group g, shape (G,); `sizes`: items in each group, shape (G,), each at least 1.

    With groups of equal size they are the pseudo-values ``G value - (G - 1) replicate``, shifted. None with fewer than
    two groups or if a replicate is not finite.

    With h = sum(sizes) / sizes, the pseudo-value of a group is ``h value - (h - 1) replicate``, and the variance is the
    mean of ``(pseudo-value - their weighted mean)^2 / (h - 1)``, which ``var(terms, ddof=1) / G`` equals.
    """
    n_groups = len(replicates)
    if n_groups < 2 or not np.isfinite(replicates).all() or not math.isfinite(value):
        return None
    weights = sizes / sizes.sum()
    steps = (1 - weights) / weights * (value - replicates)
    deviations = (steps - float(weights @ steps)) * np.sqrt((n_groups - 1) * weights / (1 - weights))
    centred = deviations - deviations.mean()
    spread = float(centred @ centred)
    scale = math.sqrt(float(deviations @ deviations) / spread) if spread > 0 else 1.0
    return np.asarray(value + scale * centred, dtype=np.float64)


def counts_by_group(
    kinds: npt.NDArray[np.int32], offsets: IntArray, groups: IntArray, n_kinds: int
) -> Iterator[IntArray]:
    """Yield, group after group, how many items of each kind (a word, say) the group's texts have, shape (n_kinds,).

    `kinds`: kind of each item, from 0 to `n_kinds` - 1, shape (T,); `offsets`: where the items of each text start, and
    the end of the last, shape (N + 1,); `groups`: jackknife group of each text, shape (N,).
    """
    for group in range(int(groups.max(initial=-1)) + 1):
        texts = np.flatnonzero(groups == group)
        lengths = offsets[texts + 1] - offsets[texts]
        ends = np.cumsum(lengths)
        items = np.repeat(offsets[texts] - ends + lengths, lengths) + np.arange(int(lengths.sum()))
        yield np.bincount(kinds[items], minlength=n_kinds)


def cluster_terms(values: FloatArray, units: IntArray | None = None) -> FloatArray | None:
    """Return the terms of ``values.mean()``: the values themselves, or one term per unit.

    `values`: shape (n_items,); `units`: unit of each item, shape (n_items,), or None for independent items.

    Shape (n_items,) or (n_units,), with the mean of `values`; None if there are fewer than two. The term of a unit is
    ``mean + n_units / n_items * sum of (value - mean) over its items``, which linearises a ratio of two sums.
    """
    if units is None:
        return values if len(values) > 1 else None
    _, members = np.unique(units, return_inverse=True)
    n_units = int(members.max()) + 1
    if n_units < 2:
        return None
    mean = float(values.mean())
    sums = np.bincount(members, weights=values - mean, minlength=n_units)
    return np.asarray(mean + sums * (n_units / len(values)), dtype=np.float64)


def text_terms(values: FloatArray, groups: IntArray | None) -> Terms | None:
    """Return `values`, one term a text, with the groups of the texts; None where there is a single unit."""
    if groups is None:
        return values if len(values) > 1 else None
    return GroupedTerms(values, groups) if len(groups) and (groups != groups[0]).any() else None


def clustered(sample: Terms | None) -> FloatArray | None:
    """Return a term a unit of one sample: a text, or a group where texts come in groups."""
    return cluster_terms(sample.values, sample.groups) if isinstance(sample, GroupedTerms) else sample


def independent_samples(value: float, samples: Sequence[Terms | None]) -> list[FloatArray | None]:
    """Return samples that are independent of one another, a term a unit, from those of several sides.

    Texts of one group on several sides are one unit: sides that share groups become one sample.
    """
    grouped = [sample for sample in samples if isinstance(sample, GroupedTerms)]
    others = [sample for sample in samples if not isinstance(sample, GroupedTerms)]
    found = [np.unique(sample.groups) for sample in grouped]
    if len(np.unique(np.concatenate([*found, np.zeros(0, np.int64)]))) == sum(map(len, found)):
        return [clustered(sample) for sample in samples]
    n = sum(len(sample.values) for sample in grouped)
    parts = [(sample.values - sample.values.mean()) * (n / len(sample.values)) for sample in grouped]
    joint = cluster_terms(value + np.concatenate(parts), np.concatenate([sample.groups for sample in grouped]))
    return [*others, joint]


def terms_interval(
    value: float,
    samples: Sequence[Terms | None],
    *,
    level: float,
    method: str,
    low: float = -math.inf,
    high: float = math.inf,
) -> Interval | None:
    """Return Student's interval around `value` from the terms of its samples, shapes (n,).

    None if the value is not finite, or a sample has no terms or undefined ones.
    """
    independent = independent_samples(value, samples)
    terms = [sample for sample in independent if sample is not None]
    if not math.isfinite(value) or not terms or len(terms) < len(independent):
        return None
    variances = np.array([np.var(sample, ddof=1) / len(sample) for sample in terms])
    variance = float(variances.sum())
    if math.isnan(variance):
        return None
    margin = 0.0
    if variance > 0:
        freedom = variance**2 / sum(part**2 / (len(sample) - 1) for part, sample in zip(variances, terms, strict=True))
        margin = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance)
    return Interval(max(low, value - margin), min(high, value + margin), level, method)
