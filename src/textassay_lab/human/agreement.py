"""Agreement of raters beyond chance: Fleiss' kappa and Krippendorff's alpha, with intervals over pages.

Sources: Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76, 1971; Krippendorff,
"Computing Krippendorff's Alpha-Reliability", 2011; Hayes, Krippendorff, "Answering the Call for a Standard Reliability
Measure for Coding Data", Communication Methods and Measures 1, 2007 (alpha of ordinal and interval data).
Departs from them: jackknife intervals leave out whole pages, because judgements of one page are correlated.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, unknown_name
from textassay.estimate import Interval
from textassay.resampling.jackknife import assign_groups, jackknife_terms, terms_interval
from textassay.seeding import stream
from textassay_lab.human.judgements import Judgements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Level = Literal["nominal", "ordinal", "interval"]

_Statistic = Callable[[BoolArray], float]
_LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
_MIN_SHARED = 3  # items for a correlation of two lists of ratings


@dataclass(frozen=True)
class Agreement:
    measure: str  # "fleiss-kappa", "krippendorff-alpha" or "rater-correlation"
    labels: str  # "correct/mistaken", "real/fake", or the level of ratings: "ordinal" or "interval"
    items: str  # "all", "real" or "generated"
    value: float  # At most 1; 0 is agreement by chance; NaN if undefined
    interval: Interval | None  # None with fewer than two pages
    n_items: int  # Items used
    n_votes: int | None  # Judgements per item; None if the number varies


def fleiss_kappa(votes: IntArray) -> float:
    """Return Fleiss' kappa, at most 1; NaN, with a warning, if all votes are in one category.

    `votes`: number of raters who put each item into each category, shape (n_items, n_categories).

    ``(P - E) / (1 - E)`` with P the fraction of pairs of raters of an item who agree, and E the sum of the squared
    fractions of the categories.

    >>> import numpy as np
    >>> round(fleiss_kappa(np.array([[3, 0], [0, 3], [2, 1]])), 4)
    0.55
    """
    totals = votes.sum(axis=1)
    if not len(votes) or totals.min() < 2 or totals.min() != totals.max():
        raise InputError("Fleiss' kappa needs items that all have the same number of votes, at least 2")
    kappa = _fleiss(votes, np.ones(len(votes), dtype=np.bool_))
    return _warned("Fleiss' kappa", kappa)


def krippendorff_alpha(units: IntArray, values: FloatArray, *, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha, at most 1; NaN, with a warning, if no item has two ratings or all are equal.

    `units`: item of each rating, shape (n_ratings,), in any numbers; `values`: the ratings, shape (n_ratings,), finite.

    1 - D / E: D is the mean squared difference of two ratings of an item, E that of any two ratings; for nominal data
    the fraction that differs. For ordinal data it is the alpha of interval data on mean ranks.

    >>> import numpy as np
    >>> units = np.array([0, 0, 1, 1, 2, 2, 2, 3])
    >>> round(krippendorff_alpha(units, np.array([1.0, 1, 2, 2, 3, 3, 1, 2])), 4)
    0.625
    """
    if level not in _LEVELS:
        raise unknown_name("level", str(level), _LEVELS)
    return _warned("Krippendorff's alpha", _krippendorff(np.asarray(units), np.asarray(values, np.float64), level))


def rater_correlation(units: IntArray, raters: IntArray, values: FloatArray) -> float:
    """Return the mean correlation of a rater's ratings with the mean ratings of the others, in [-1, 1].

    `units`, `raters`, `values`: item, rater and value of each rating, shapes (n_ratings,).

    Pearson's correlation, averaged over raters who share at least 3 items with others; NaN if there are none, or all
    ratings of a side are equal.
    """
    if not len(units):
        return math.nan
    counts, sums = np.bincount(units), np.bincount(units, weights=values)
    shared = counts[units] > 1
    units, raters, values = units[shared], raters[shared], values[shared]
    if not len(units):
        return math.nan
    others = (sums[units] - values) / (counts[units] - 1)
    n = np.bincount(raters)
    own_centred, others_centred = (
        side - (np.bincount(raters, side) / np.maximum(n, 1))[raters] for side in (values, others)
    )
    products, first, second = (
        np.bincount(raters, side) for side in (own_centred * others_centred, own_centred**2, others_centred**2)
    )
    is_usable = (n >= _MIN_SHARED) & (first > 1e-12) & (second > 1e-12)
    if not is_usable.any():
        return math.nan
    return float(np.clip((products[is_usable] / np.sqrt(first[is_usable] * second[is_usable])).mean(), -1.0, 1.0))


def agreements(
    judgements: Judgements, *, votes: int | None, level: float = 0.95, seed: int = 0
) -> tuple[Agreement, ...]:
    pages = np.unique([item.page for item in judgements.items], return_inverse=True)[1].astype(np.int64)
    groups = assign_groups(len(pages), stream(seed, "agreement", "groups"), units=pages)
    counts = np.bincount(judgements.item, minlength=len(pages))
    is_shared, all_items = counts > 1, np.ones(len(pages), dtype=np.bool_)
    coefficients: list[tuple[str, str, str, BoolArray, int | None, _Statistic]] = []
    if judgements.scale == "real-or-fake":
        is_real, by_label = judgements.is_real, judgements.votes()
        right = np.where(is_real[:, None], by_label[:, ::-1], by_label)  # correct, mistaken
        sides = {"all": all_items, "real": is_real, "generated": ~is_real}
        tables = [("correct/mistaken", name, right) for name in sides] + [("real/fake", "all", by_label)]
        equal = counts == votes if votes is not None and votes > 1 else ~all_items
        coefficients += [
            ("fleiss-kappa", labels, name, equal & sides[name], votes, partial(_fleiss, table))
            for labels, name, table in tables
        ]
        coefficients.append(
            ("krippendorff-alpha", "real/fake", "all", is_shared, None, partial(_alpha, judgements, "nominal"))
        )
    else:
        for level_of_data in _LEVELS[1:]:
            alpha = partial(_alpha, judgements, level_of_data)
            coefficients.append(("krippendorff-alpha", level_of_data, "all", is_shared, None, alpha))
        coefficients.append(
            ("rater-correlation", "interval", "all", is_shared, None, partial(_correlation, judgements))
        )
    results = []
    for measure, labels, name, keep, n_votes, statistic in coefficients:
        if keep.any():
            value, interval = _with_interval(statistic, keep, groups, level)
            results.append(Agreement(measure, labels, name, value, interval, int(keep.sum()), n_votes))
    return tuple(results)


def _alpha(judgements: Judgements, level: Level, keep: BoolArray) -> float:
    kept = keep[judgements.item]
    return _krippendorff(judgements.item[kept], judgements.value[kept], level)


def _correlation(judgements: Judgements, keep: BoolArray) -> float:
    kept = keep[judgements.item]
    return rater_correlation(judgements.item[kept], judgements.rater[kept], judgements.value[kept])


def _fleiss(votes: IntArray, keep: BoolArray) -> float:
    """Return kappa of the items `keep`; NaN if all votes are in one category or there is no item."""
    kept = votes[keep].astype(np.float64)
    if not len(kept):
        return math.nan
    n = float(kept[0].sum())
    agreed = float((kept**2).sum() - n * len(kept)) / (n * (n - 1) * len(kept))
    chance = float(((kept.sum(axis=0) / kept.sum()) ** 2).sum())
    return (agreed - chance) / (1 - chance) if chance < 1 - 1e-12 else math.nan


def _krippendorff(units: IntArray, values: FloatArray, level: Level) -> float:
    counts = np.bincount(units) if len(units) else np.zeros(0, dtype=np.int64)
    paired = counts[units] > 1
    units, values = units[paired], values[paired]
    if not len(units):
        return math.nan
    _, units = np.unique(units, return_inverse=True)
    distinct, kinds, frequencies = np.unique(values, return_inverse=True, return_counts=True)
    n = float(len(values))
    sizes = np.bincount(units).astype(np.float64)
    if level == "nominal":
        cells = np.unique(units * len(distinct) + kinds, return_counts=True)
        equal = np.bincount(cells[0] // len(distinct), weights=cells[1].astype(np.float64) ** 2)
        observed = ((sizes**2 - equal) / (sizes - 1)).sum() / n
        expected = (n**2 - (frequencies.astype(np.float64) ** 2).sum()) / (n * (n - 1))
    else:
        if level == "ordinal":
            values = (np.cumsum(frequencies) - frequencies / 2)[kinds]
        means = np.bincount(units, weights=values) / sizes
        observed = 2 * (sizes[units] / (sizes[units] - 1) * (values - means[units]) ** 2).sum() / n
        expected = 2 * ((values - values.mean()) ** 2).sum() / (n - 1)
    return 1 - float(observed / expected) if len(distinct) > 1 else math.nan


def _with_interval(
    statistic: _Statistic, keep: BoolArray, groups: IntArray, level: float
) -> tuple[float, Interval | None]:
    """Return a coefficient with its jackknife interval over groups of pages."""
    value = statistic(keep)
    present, sizes = np.unique(groups[keep], return_counts=True)
    without = np.array([statistic(keep & (groups != group)) for group in present])
    terms = jackknife_terms(value, without, sizes)
    method = f"t: jackknife over {len(present)} groups of pages"
    return value, terms_interval(value, [terms], level=level, method=method, low=-1.0, high=1.0)


def _warned(name: str, value: float) -> float:
    if math.isnan(value):
        warnings.warn(
            f"{name} is undefined: no item has two judgements, or all are equal", RuntimeWarning, stacklevel=3
        )
    return value
