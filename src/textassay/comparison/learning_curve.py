"""The learning curve of dd: its value at growing sample sizes, and whether it is still rising.

A classifier that sees more text detects more, so dd grows with the sample until it levels off. The curve uses nested
random subsets of both sides, each half of the next; every point is a dd of its own, with cross-fitting and thresholds.
Without groups, the half is what a comparison measures at the floor's size anyway (`textassay.comparison.floor`).

The curve is rising where the interval of the last doubling's increase lies above 0, and has levelled off where it lies
below `FLAT`; otherwise it is undecided. The difference is paired, since the texts of the half were judged both times:
with t the share of correct answers in the full sample and u that in the half, a text adds t/n - 2u/n if it is in both,
else t/n. The rule says nothing about larger samples.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from textassay.comparison.explanation import FLAT, CurvePoint
from textassay.comparison.floor import in_random_order, real_halves
from textassay.corpus.corpus import Corpus
from textassay.discriminator.cross_fitting import CrossFit
from textassay.errors import TooFewSentencesError
from textassay.estimate import Estimate
from textassay.metric.base import Effort, Metric
from textassay.metric.blindness import guessing_variance
from textassay.metric.discrepancy import dd, dd_and_fits
from textassay.metric.discrepancy_interval import variance_factor
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Rows = npt.NDArray[np.bool_]

# How often the sample is halved at each effort: with 4, the smallest point has a sixteenth of the texts.
HALVINGS: Mapping[Effort, int] = {"quick": 1, "default": 4, "max": 1}
_FAR = 1 << 40  # offset that keeps group numbers apart from those of single texts


@dataclass(frozen=True)
class Judgement:
    """dd of one pair of corpora, and the cross-fit it came from."""

    estimate: Estimate
    fit: CrossFit


@dataclass(frozen=True)
class Rise:
    """Increase of dd by the last doubling of the sample, with its interval."""

    value: float
    low: float
    high: float

    @property
    def rising(self) -> bool | None:
        """True where it is above 0, False where it is below `FLAT`, None where it may be either."""
        return True if self.low > 0 else False if self.high < FLAT else None


@dataclass(frozen=True)
class LearningCurve:
    """The points, the smallest sample first, and the last rise; None where half the sample is too small for dd."""

    points: tuple[CurvePoint, ...]
    rise: Rise | None


def judge(real: Corpus, generated: Corpus, metric: Metric, *, seed: int) -> Judgement:
    """Return dd and its cross-fit; `metric` is dd with its settings."""
    estimate, fits = dd_and_fits(metric, generated, real, seed=seed)
    return Judgement(estimate, fits[0])


def learning_curve(
    real: Corpus,
    generated: Corpus,
    metric: Metric | None = None,
    *,
    seed: int = 0,
    halvings: int | None = None,
    full: Judgement | None = None,
    half: Judgement | None = None,
) -> LearningCurve:
    """Return dd with all texts of both sides, a half, a quarter, and so on, the smallest sample first.

    `full`, `half`: what `judge` says of all texts and of `half_rows`, to save doing it again.
    """
    metric = metric or dd.declaration.with_settings()
    judged = full or judge(real, generated, metric, seed=seed)
    order = _ranks(real, generated, seed)
    points = [_point(judged, len(real), len(generated))]
    rise = None
    for halving in range(1, (HALVINGS[metric.settings["effort"]] if halvings is None else halvings) + 1):
        row_masks = [rank < 0.5**halving for rank in order]
        parts = [corpus.take(np.flatnonzero(rows)) for corpus, rows in zip((real, generated), row_masks, strict=True)]
        try:
            part = half if half is not None and halving == 1 else judge(parts[0], parts[1], metric, seed=seed)
        except TooFewSentencesError:
            break
        points.append(_point(part, len(parts[0]), len(parts[1])))
        if halving == 1:
            rise = rise_of(judged, part, row_masks, (real.groups, generated.groups), metric.level)
    return LearningCurve(tuple(reversed(points)), rise)


def side_rises(
    real: Corpus, generated: Corpus, metric: Metric, *, seed: int, full: Judgement
) -> dict[str, Rise | None]:
    """Return what the last doubling of one side alone added to dd: of ``generated`` text and of ``real`` text.

    None where half of a side is too small.
    """
    rises: dict[str, Rise | None] = {}
    for side, halved in (("generated", 1), ("real", 0)):
        row_masks = [np.ones(len(corpus), dtype=np.bool_) for corpus in (real, generated)]
        row_masks[halved] = _ranks(real, generated, seed)[halved] < 0.5
        parts = [corpus.take(np.flatnonzero(rows)) for corpus, rows in zip((real, generated), row_masks, strict=True)]
        try:
            part = judge(parts[0], parts[1], metric, seed=seed)
        except TooFewSentencesError:
            rises[side] = None
            continue
        shares = (0.5, 1.0) if side == "real" else (1.0, 0.5)
        rises[side] = rise_of(full, part, row_masks, (real.groups, generated.groups), metric.level, shares=shares)
    return rises


def half_rows(real: Corpus, generated: Corpus, seed: int) -> tuple[IntArray, IntArray]:
    """Return which texts of both sides the half of the curve has, real ones first."""
    real_rank, generated_rank = _ranks(real, generated, seed)
    return np.flatnonzero(real_rank < 0.5), np.flatnonzero(generated_rank < 0.5)


def _ranks(real: Corpus, generated: Corpus, seed: int) -> list[FloatArray]:
    """Return the position of each text in the growing sample, in [0, 1); a group shares one position."""
    if real.groups is None and generated.groups is None:
        first, second = real_halves(len(real), seed)
        shuffle = stream(seed, "learning-curve", "real").permutation
        order = np.concatenate([shuffle(second), shuffle(first)])
        # of an odd number, the half has one less of the real texts, and one more of the generated ones
        return [_places(order) + 0.5 / len(real), _places(in_random_order(len(generated), seed))]
    names = [corpus.groups for corpus in (real, generated)]
    known = np.unique(np.concatenate([groups for groups in names if groups is not None] or [np.zeros(0, np.int64)]))
    of_group = stream(seed, "learning-curve", "groups").permutation(len(known)) / max(1, len(known))
    ranks = []
    for side, corpus in (("real", real), ("generated", generated)):
        if corpus.groups is None:
            ranks.append(stream(seed, "learning-curve", side).permutation(len(corpus)) / len(corpus))
        else:
            ranks.append(of_group[np.searchsorted(known, corpus.groups)])
    return ranks


def _places(order: IntArray) -> FloatArray:
    """Return where each number stands in an order of all, in [0, 1)."""
    places = np.empty(len(order))
    places[order] = np.arange(len(order)) / len(order)
    return places


def _point(judged: Judgement, n_real: int, n_generated: int) -> CurvePoint:
    value, interval = judged.estimate.value, judged.estimate.interval
    low, high = (-1.0, 1.0) if interval is None else (interval.low, interval.high)
    return CurvePoint(n_real, n_generated, value, low, high)


def rise_of(
    full: Judgement,
    half: Judgement,
    row_masks: Sequence[Rows],
    groups: tuple[IntArray | None, IntArray | None],
    level: float,
    *,
    shares: tuple[float, float] = (0.5, 0.5),
) -> Rise:
    """Return the difference of the two values with Student's interval; the variance allows for cross-fitting.

    `row_masks`: which texts of the full sample are in the half, real ones first; `shares`: what part of each side.
    """
    residuals, units = [], []
    n_units = 0
    for of_full, of_half, rows, names in zip(full.fit.correct(), half.fit.correct(), row_masks, groups, strict=True):
        terms = [of_full, np.full(len(rows), np.nan)]
        terms[1][rows] = of_half
        tested = [~np.isnan(side) for side in terms]
        added = sum(
            sign * np.nan_to_num(side) / known.sum()
            for sign, side, known in zip((1.0, -1.0), terms, tested, strict=True)
        )
        kind = 2 * tested[0] + tested[1]
        means = np.bincount(kind, weights=added) / np.maximum(1, np.bincount(kind))
        residuals.append(added - means[kind])
        units.append(np.arange(n_units, n_units + len(rows)) if names is None else names + _FAR)
        n_units += len(rows)
    _, members = np.unique(np.concatenate(units), return_inverse=True)
    sums = np.bincount(members, weights=np.concatenate(residuals))
    guessing_var = sum(  # for classifiers that score most texts alike
        guessing_variance(
            judged.estimate.details["alike"], *(part * len(rows) for part, rows in zip(parts, row_masks, strict=True))
        )
        for judged, parts in ((full, (1.0, 1.0)), (half, shares))
    )
    factor = variance_factor(len(full.fit.folds))
    variance = max(factor * float(np.square(sums).sum()) * len(sums) / (len(sums) - 1), factor * guessing_var)
    value = full.estimate.value - half.estimate.value
    margin = float(stdtrit(max(1, len(sums) - 2), (1 + level) / 2)) * math.sqrt(variance)
    return Rise(value, value - margin, value + margin)
