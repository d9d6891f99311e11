"""The figures of a comparison, as data: forest plots, what the classifier saw, planes, frontiers, pairs, ranks."""

import math
from collections.abc import Sequence
from typing import Literal

from textassay.comparison.comparison import FLOOR
from textassay.comparison.digest import Digest
from textassay.comparison.metric_kinds import family_of, metric_slug
from textassay.estimate import Estimate
from textassay.report.document import Figure
from textassay.report.plots import (
    Axis,
    Curves,
    Forest,
    ForestRow,
    HeatCell,
    HeatMap,
    Mark,
    Point,
    Reference,
    Series,
)
from textassay.report.text import ends, number, slug

# (quality, diversity); of a family with orders, those of one order.
_PAIRS = (
    ("bleu", "self-bleu"),
    ("lm-score", "reverse-lm-score"),
    ("lm-score", "text-entropy"),
    ("precision", "recall"),
    ("density", "coverage"),
)
_FALLING = {"self-bleu", "lm-score", "reverse-lm-score"}  # less of it is more quality, or more diversity
_WON_BY_NONSENSE = {"text-entropy"}  # diversity, where quality is how likely text is
_HALVES = ((0.0, 0.5, 1.0), ("0", "0.5", "1"))
_SIDES: tuple[tuple[Literal["real", "generated"], int], ...] = (("real", 0), ("generated", 1))  # with its dashes
_LEAST_COLOUR = 0.25  # of a significant difference


def forest_figure(digest: Digest, metric: str) -> Figure | None:
    """Return values with intervals, one row a generator, over the band of what real text scores.

    A filled circle is the value that tables show, which compares with the band; a hollow one that at the other size:
    of all texts, or at the floor's. For a generator with fewer texts than that, a hollow diamond is what real text
    scores at its size. None where no generator has a value.
    """
    if all(digest.shown(generator, metric) is None for generator in digest.order):
        return None
    places, best = digest.places(metric), digest.marked(metric)
    rows = []
    for name in (*digest.order, *digest.floors):
        is_floor = name in digest.floors
        like, own = (None, None) if is_floor else (digest.beside(name, metric), digest.own_floor(name, metric))
        marks = [] if like is None else [Mark(like.value, style="hollow", colour="muted", below=True)]
        marks += [] if own is None else [Mark(own.value, style="hollow diamond", colour="real", below=True)]
        estimate = digest.shown(name, metric)
        if estimate is not None:
            marks.append(_mark(estimate, "diamond" if is_floor else "filled", "real" if is_floor else "generated"))
        rows.append(ForestRow(name, tuple(marks), number(digest.value(name, metric), places), name in best, is_floor))
    floor, unit = digest.estimate(FLOOR, metric), digest.told_unit(metric)
    band = None if floor is None or floor.interval is None else (floor.interval.low, floor.interval.high)
    band = band if band is not None and all(map(math.isfinite, band)) else None
    references = () if floor is None else (Reference(floor.value, colour="real", dashed=True),)
    plot = Forest(tuple(rows), Axis(f"{metric} ({unit})" if unit else metric), band=band, references=references)
    return Figure(f"forest-{metric_slug(metric)}", plot)


def scores_figure(digest: Digest, generator: str) -> Figure | None:
    """Return the histograms of the discriminator's scores on both sides; None where no metric keeps them."""
    kept = digest.first_detail(generator, "score_histogram")
    if kept is None:
        return None
    metric, histogram = kept
    edges = [float(edge) for edge in histogram["edges"]]
    series = []
    for side, dashes in _SIDES:
        points = step_points(edges, [n / (sum(histogram[side]) or 1) for n in histogram[side]])
        series.append(Series(side, points, colour=side, steps=True, fill=True, dashes=dashes))
    ticks = (edges[0], (edges[0] + edges[-1]) / 2, edges[-1])
    x = Axis("probability of being real", (edges[0], edges[-1]), ticks=ticks)
    plot = Curves(tuple(series), x, Axis("share of texts", (0, None)))
    value = number(digest.value(generator, metric), 3)
    caption = f"What the classifier says of both sides: the less they overlap, the easier to tell; {metric} {value}."
    return Figure(f"scores-{slug(generator)}", plot, caption)


def step_points(edges: Sequence[float], heights: Sequence[float]) -> tuple[Point, ...]:
    """Return bins as the points of a series of steps."""
    return tuple(Point(x, y) for x, y in zip(edges, [*heights, 0.0], strict=True))


def roc_figure(digest: Digest, generator: str) -> Figure | None:
    """Return how many real texts are found at what share of false alarms; None where no metric keeps the points."""
    kept = digest.first_detail(generator, "roc")
    if kept is None:
        return None
    metric, points = kept
    area = digest.detail(generator, metric, "auc")
    line = Series(generator, tuple(Point(x, y) for x, y in points), dots=False,
                  colour="real" if generator in digest.floors else "generated")  # fmt: skip
    x, y = (Axis(name, (0, 1.005), ticks=_HALVES[0], labels=_HALVES[1])
            for name in ("generated called real", "real called real"))  # fmt: skip
    plot = Curves((line,), x, y, references=(Reference(axis="diagonal", colour="rule"),), legend=False,
                  size=(2.7, 2.5), text="" if area is None else f"AUC {number(area, 3)}")  # fmt: skip
    caption = f"At every threshold; the diagonal is guessing. {plot.text}".rstrip()
    return Figure(f"roc-{slug(generator)}", plot, caption)


def frontier_figure(digest: Digest) -> Figure | None:
    """Return the divergence frontiers of all generators and of real text, all at the floor's size where it is known.

    None where no metric keeps any.
    """
    for metric in digest.comparison.metrics:
        curves: dict[str, Estimate] = {}
        for name in (*digest.order, FLOOR):
            estimate = digest.matched(name, metric) or digest.estimate(name, metric)
            if estimate is not None and estimate.details.get("frontier"):
                curves[name] = estimate
        if any(name in digest.generators for name in curves):
            break
    else:
        return None
    series = []
    for place, (name, estimate) in enumerate(curves.items()):
        frontier = estimate.details["frontier"]
        corner = max(range(len(frontier)), key=lambda k: min(frontier[k]))
        is_floor = name in digest.floors
        series.append(Series(name, tuple(Point(x, y) for x, y in frontier), dots=False, beside=True, anchor=corner,
                             colour="real" if is_floor else "generated", dashes=1 if is_floor else place % 4,
                             bold=name in digest.marked(digest.headline or "")))  # fmt: skip
    x, y = (Axis(f"{side} text: like the mixture", (0, 1.005), ticks=_HALVES[0], labels=_HALVES[1])
            for side in ("generated", "real"))  # fmt: skip
    told = "; ".join(f"{name} {number(estimate.value, 3)}" for name, estimate in curves.items())
    caption = f"Divergence frontiers; the area under each is {metric}: {told}."
    return Figure(f"frontier-{metric_slug(metric)}", Curves(tuple(series), x, y, size=(3.6, 3.3)), caption)


def plane_pairs(digest: Digest) -> list[tuple[str, str]]:
    """Return the pairs (quality, diversity) of metrics that the comparison has."""
    pairs = []
    for quality in digest.metrics:
        for first, second in _PAIRS:
            diversity = second + quality.removeprefix(first)
            if family_of(quality) == first and diversity in digest.metrics:
                pairs.append((quality, diversity))
    return pairs


def plane_figures(digest: Digest) -> list[Figure]:
    """Return quality against diversity, a figure a pair of metrics of which some generator has both values.

    Every point is measured at the floor's size, because these metrics move with the number of texts. Axes are turned so
    that right and up are more quality and more diversity.
    """
    figures: list[Figure] = []
    for quality, diversity in plane_pairs(digest):
        points = {
            name: (x, y)
            for name in (*digest.order, FLOOR)
            if (x := digest.matched(name, quality)) is not None and (y := digest.matched(name, diversity)) is not None
        }
        if not set(points) - {FLOOR}:
            continue
        series = tuple(
            Series(name, (_point(x, y),), line=False, beside=True, colour="real" if name == FLOOR else "generated",
                   marker=5 if name == FLOOR else 0, bold=name in digest.marked(digest.headline or ""))
            for name, (x, y) in points.items()
        )  # fmt: skip
        plot = Curves(
            series,
            Axis(f"{quality}: quality →", falling=family_of(quality) in _FALLING),
            Axis(f"{diversity}: diversity →", falling=family_of(diversity) in _FALLING),
            region=_region(*points[FLOOR]) if FLOOR in points else None, size=(3.3, 2.6), kind="scatter",
        )  # fmt: skip
        caption = f"Quality by {quality} and diversity by {diversity}, at the floor's size."
        judged = [f"{name} {number(value, 3)}" for name in points if (value := digest.value(name, "dd")) is not None]
        if family_of(diversity) in _WON_BY_NONSENSE and judged:
            caption += f" Senseless text can win here; how well a classifier tells it, dd: {', '.join(judged)}."
        name = f"plane-{metric_slug(quality)}"
        if name in [figure.name for figure in figures]:  # against another diversity
            name += f"-{metric_slug(diversity)}"
        figures.append(Figure(name, plot, caption))
    return figures


def pairs_figure(digest: Digest, metric: str) -> Figure | None:
    """Return the matrix of differences, row minus column; a filled cell is significant. None below two generators."""
    pairs = {(pair.a, pair.b): pair for pair in digest.pairs(metric)}
    order = digest.order
    known = [abs(pair.difference) for pair in pairs.values() if pair.difference is not None]
    if len(order) < 2 or not known:
        return None
    largest = max(known) or 1.0

    def cell(i: int, j: int) -> HeatCell | None:
        pair = pairs.get((order[i], order[j])) or pairs.get((order[j], order[i])) if j < i else None
        if pair is None or pair.difference is None:
            return None
        difference = pair.difference if pair.a == order[i] else -pair.difference
        is_sure = digest.separated(pair)
        strength = _LEAST_COLOUR + (1 - _LEAST_COLOUR) * abs(difference) / largest
        return HeatCell(-strength if is_sure else None, number(difference, 2, sign=True), is_sure, not is_sure)

    cells = tuple(tuple(cell(i, j) for j in range(len(order) - 1)) for i in range(1, len(order)))
    return Figure(
        f"pairs-{metric_slug(metric)}", HeatMap(order[1:], order[:-1], cells, scale=1.35, wide=0.5),
        "Row minus column. Filled: significant after Holm's adjustment for all pairs; dashed: could be luck at this "
        "sample size.",
    )  # fmt: skip


def ranks_figure(digest: Digest) -> Figure | None:
    """Return the rank intervals of every generator under every metric that ranks; None below two generators."""
    metrics = [metric for metric in digest.metrics if any((g, metric) in digest.ranks for g in digest.generators)]
    n = len(digest.generators)
    if n < 2 or not metrics:
        return None

    def cell(generator: str, metric: str) -> HeatCell | None:
        rank = digest.ranks.get((generator, metric))
        if rank is None:
            return None
        strength = (n - (rank.low + rank.high) / 2 + 0.5) / n
        return HeatCell(-strength, digest.rank_text(generator, metric), generator in digest.marked(metric))

    cells = tuple(tuple(cell(generator, metric) for metric in metrics) for generator in digest.order)
    return Figure(
        "ranks", HeatMap(digest.order, tuple(metrics), cells, scale=1.3, wide=0.42),
        "Rank intervals, 1 is best: from 1 + the number of generators significantly better to n less the number "
        "significantly worse. Dark: near the top; black figures: none is significantly better.",
    )  # fmt: skip


def _mark(estimate: Estimate, style: str, colour: str) -> Mark:
    return Mark(estimate.value, *ends(estimate.interval), style=style, colour=colour)  # type: ignore[arg-type]


def _point(x: Estimate, y: Estimate) -> Point:
    (x_low, x_high), (low, high) = _ends(x), _ends(y)
    return Point(x.value, y.value, low, high, x_low, x_high)


def _ends(estimate: Estimate) -> tuple[float, float] | tuple[None, None]:
    bounds = estimate.interval
    known = bounds is not None and math.isfinite(bounds.low + bounds.high)
    return (bounds.low, bounds.high) if bounds is not None and known else (None, None)


def _region(x: Estimate, y: Estimate) -> tuple[float, float, float, float] | None:
    """Return the intervals of real text."""
    if x.interval is None or y.interval is None:
        return None
    ends = (x.interval.low, x.interval.high, y.interval.low, y.interval.high)
    return ends if all(map(math.isfinite, ends)) else None
