"""Correlations at text level: whether an evaluator identifies the better text, not only the better generator.

The groupings have the names of the WMT metrics tasks: "no grouping" correlates all texts of all generators at once,
"group by generator" (there "by system") the texts of each generator, and "group by item" the generators' texts for each
input, where they answered the same inputs; the latter two average over the groups.

Source: Deutsch, Foster, Freitag, "Ties Matter", EMNLP 2023, section 2.
Departs from it: with intervals, by resampling generators and the texts within each, as at generator level; ranks are
those of each resample. The p-value of an average uses a normal distribution with the exact variance under random orders
within groups; for "no grouping" it treats texts as independent, though those of one generator are not: use its
interval instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, check_range, unknown_name
from textassay.metric.base import check_level
from textassay_lab.meta_evaluation.correlations import (
    CorrelationKind,
    check_together,
    draw_generators,
    percentile_interval,
    row_correlations,
    text_draws,
)
from textassay_lab.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]
Grouping = Literal["no grouping", "group by generator", "group by item"]

MOST_FOR_INTERVAL = 4_000  # texts of a group; an interval compares all their pairs


@dataclass(frozen=True)
class TextCorrelation:
    """Agreement of an evaluator's scores of texts with the gold's."""

    # Their names
    gold: str
    evaluator: str
    # Which correlation, and of which texts
    kind: CorrelationKind
    grouping: Grouping
    value: float  # In [-1, 1]; NaN where it is undefined in every group
    p: float  # Two-sided, of independence within groups
    # Percentile interval at `level` over other generators and other texts, or over other inputs where items are
    # grouped; NaN without draws or where a group has more than `MOST_FOR_INTERVAL` texts
    low: float
    high: float
    level: float  # Of the interval
    n_texts: int  # Texts that both scored
    n_groups: int  # Groups with a correlation
    n_undefined: int  # Groups left out: constant scores, or fewer than two texts


def text_correlation(
    gold: Evaluation,
    evaluation: Evaluation,
    kind: CorrelationKind = "kendall",
    grouping: Grouping = "group by generator",
    *,
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> TextCorrelation | None:
    """Return the correlation of the scores of texts; None where one of the two has none."""
    for what, name, allowed in (("correlation", kind, CorrelationKind), ("grouping", grouping, Grouping)):
        if name not in get_args(allowed):
            raise unknown_name(what, str(name), get_args(allowed))
    check_together([gold, evaluation])
    check_level(level)
    check_range("n_resamples", n_resamples, 0)
    mine, theirs = gold.text_goodness, evaluation.text_goodness
    if mine is None or theirs is None:
        return None
    texts = [np.array([mine[name], theirs[name]]) for name in gold.generators]  # G of (2, n_texts)
    if grouping == "group by item":
        if len({array.shape[1] for array in texts}) > 1:
            raise InputError("group by item: every generator must have one text for each input")
        texts = list(np.array(texts).transpose(2, 1, 0))  # n_items of (2, G)
    known = [np.isfinite(array).all(axis=0) for array in texts]
    groups = [array[:, kept] for array, kept in zip(texts, known, strict=True)]
    pooled = np.concatenate(groups, axis=1)
    if grouping == "no grouping":
        groups = [pooled]
    values = [_value(group, kind) for group in groups]
    value, p = _average(groups, values, kind)
    n_undefined = sum(map(math.isnan, values))
    low = high = math.nan
    if n_resamples:
        if grouping == "group by item":
            draws = _item_draws(np.array(values), n_resamples, seed)
        else:
            draws = _draws(gold.generators, texts, known, kind, grouping, n_resamples, seed)
        low, high = percentile_interval(draws, level)
    return TextCorrelation(
        gold.name, evaluation.name, kind, grouping, value, p, low, high, level,
        n_texts=pooled.shape[1], n_groups=len(groups) - n_undefined, n_undefined=n_undefined,
    )  # fmt: skip


def _value(group: FloatArray, kind: CorrelationKind) -> float:
    """Return the correlation of the two rows, NaN where undefined; Kendall's in time n log n."""
    if group.shape[1] < 2 or np.any(np.ptp(group, axis=1) == 0):
        return math.nan
    if kind == "kendall":
        return float(stats.kendalltau(group[0], group[1], method="asymptotic").statistic)
    return float(row_correlations(group[:1], group[1:], kind)[0])


def _average(groups: Sequence[FloatArray], values: Sequence[float], kind: CorrelationKind) -> tuple[float, float]:
    """Return the mean of the correlations that are defined, and its two-sided p-value."""
    defined = [place for place, value in enumerate(values) if not math.isnan(value)]
    if not defined:
        return math.nan, math.nan
    mean: float = math.fsum(values[place] for place in defined) / len(defined)
    error = math.sqrt(math.fsum(_variance(groups[place], kind) for place in defined)) / len(defined)
    return mean, float(2 * stats.norm.sf(abs(mean) / error))


def _variance(group: FloatArray, kind: CorrelationKind) -> float:
    """Return the variance of a correlation over all orders of one side, ties as they are."""
    n: int = group.shape[1]
    if kind != "kendall":
        return 1 / (n - 1)
    ties = [np.unique(side, return_counts=True)[1].astype(np.float64) for side in group]
    tied = [float((t * (t - 1)).sum()) for t in ties]
    triples = [float((t * (t - 1) * (t - 2)).sum()) for t in ties]
    all_pairs = n * (n - 1)
    variance = all_pairs * (2 * n + 5) - sum(float((t * (t - 1) * (2 * t + 5)).sum()) for t in ties)
    variance = variance / 18 + tied[0] * tied[1] / (2 * all_pairs)
    if n > 2:
        variance += triples[0] * triples[1] / (9 * all_pairs * (n - 2))
    return variance / ((all_pairs - tied[0]) * (all_pairs - tied[1]) / 4)


def _draws(
    generators: Sequence[str],
    texts: Sequence[FloatArray],
    known: Sequence[npt.NDArray[np.bool_]],
    kind: CorrelationKind,
    grouping: Grouping,
    n_resamples: int,
    seed: int,
) -> FloatArray:
    """Return the correlation in each resample, shape (n_resamples,); empty where groups are too large."""
    times = np.apply_along_axis(
        np.bincount, 1, draw_generators(len(generators), n_resamples=n_resamples, seed=seed), minlength=len(generators)
    )
    scored = [array[:, mask] for array, mask in zip(texts, known, strict=True)]
    sizes = [array.shape[1] for array in scored]
    if (sum(sizes) if grouping == "no grouping" else max(sizes)) > MOST_FOR_INTERVAL:
        return np.zeros(0)
    counts = [
        np.concatenate(text_draws(name, len(mask), n_resamples=n_resamples, seed=seed))[:, mask]
        for name, mask in zip(generators, known, strict=True)
    ]
    if grouping == "no grouping":
        weights = np.concatenate([count * times[:, [g]] for g, count in enumerate(counts)], axis=1)
        return _weighted(np.concatenate(scored, axis=1), kind)(weights)
    of_groups = np.array([_weighted(group, kind)(count) for group, count in zip(scored, counts, strict=True)]).T
    return _weighted_mean(of_groups, times.astype(np.float64))


def _item_draws(values: FloatArray, n_resamples: int, seed: int) -> FloatArray:
    """Return the mean over drawn inputs of their correlations, shape (n_resamples,)."""
    counts = np.concatenate(text_draws("(items)", len(values), n_resamples=n_resamples, seed=seed))
    return _weighted_mean(np.broadcast_to(values, counts.shape), counts)


def _weighted_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of each row over its defined values."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        sums = (np.where(defined, values, 0.0) * weights).sum(axis=1)
        return np.asarray(sums / (weights * defined).sum(axis=1), dtype=np.float64)


def _weighted(group: FloatArray, kind: CorrelationKind) -> Callable[[FloatArray], FloatArray]:
    """Return a function from counts of each text, shape (B, n), to correlations, shape (B,)."""
    first, second = group
    if kind == "kendall":
        signs = [np.sign(side[:, None] - side) for side in group]
        products = (signs[0] * signs[1], signs[0] ** 2, signs[1] ** 2)

        def tau(counts: FloatArray) -> FloatArray:
            sums = [((counts @ product) * counts).sum(axis=1) for product in products]
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(sums[0] / np.sqrt(sums[1] * sums[2]), dtype=np.float64)

        return tau
    below = [(side < side[:, None]) + 0.5 * (side == side[:, None]) for side in group] if kind == "spearman" else []

    def linear(counts: FloatArray) -> FloatArray:
        sides = [counts @ part.T for part in below] if below else [first[None], second[None]]
        total = counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            centred = [side - (counts * side).sum(axis=1, keepdims=True) / total for side in sides]
            variances = [(counts * side**2).sum(axis=1) for side in centred]
            tiny = [1e-24 * (counts * np.square(side)).sum(axis=1) for side in sides]
            scale = np.sqrt(variances[0] * variances[1])
            correlations = (counts * centred[0] * centred[1]).sum(axis=1) / scale
        constant = (variances[0] <= tiny[0]) | (variances[1] <= tiny[1])
        return np.where(constant, np.nan, np.clip(correlations, -1.0, 1.0))

    return linear
