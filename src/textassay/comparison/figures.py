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
    Band,
    Colour,
    Curves,
    Forest,
    ForestRow,
    HeatCell,
    HeatMap,
    Mark,
    MarkStyle,
    Point,
    Reference,
    Series,
    series_colour,
    series_shape,
)
from textassay.report.table import ARROWS
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
_MOST_ABREAST = 8  # generators of an overview whose rows are metrics
_MOST_PANELS = 4  # beside each other
_LEAST_COLOUR = 0.25  # of a significant difference


def colour_of(digest: Digest, name: str) -> Colour:
    """Return the colour of a generator, by its place in the comparison; blue for real text."""
    return series_colour(digest.generators.index(name)) if name in digest.generators else "real"


def _shape_of(digest: Digest, name: str) -> int:
    return series_shape(digest.generators.index(name)) if name in digest.generators else 0


def overview_figure(digest: Digest) -> Figure | None:
    """Return generators by metrics: values, the darker the nearer to the top, bold as in the tables.

    A row is a metric that ranks, a column a generator; of more than `_MOST_ABREAST` generators a row is a generator and
    a column the last metric of a family. None where no generator has a rank beside another.
    """
    ranked = {metric for _, metric in digest.ranks}
    metrics = [metric for metric in digest.metrics if metric in ranked]
    n, names = len(digest.generators), (*digest.order, *(name for name in digest.floors if name == FLOOR))
    if n < 2 or not metrics:
        return None

    def cell(name: str, metric: str) -> HeatCell | None:
        value, rank = digest.value(name, metric), digest.ranks.get((name, metric))
        if value is None:
            return None
        text, best = number(value, digest.places(metric)), name in digest.marked(metric)
        strength = 0.0 if rank is None else (n - (rank.low + rank.high) / 2 + 0.5) / n
        return HeatCell(strength, text, colour=colour_of(digest, name), bold=best)

    colours = (*_names(digest), (FLOOR, colour_of(digest, FLOOR)))
    told = (
        "Values of the tables. The stronger the colour, the nearer a generator is to the top of a metric; bold: none "
        f"is significantly better. {ARROWS['lower']} lower, {ARROWS['higher']} higher, {ARROWS['closer']} closer to "
        f"{FLOOR} is better."
    )
    if n <= _MOST_ABREAST:
        titles = [f"{metric} {ARROWS[digest.better(metric)]}" for metric in metrics]
        cells = tuple(tuple(cell(name, metric) for name in names) for metric in metrics)
        plot = HeatMap(tuple(titles), names, cells, scale=1.6, wide=0.56, names=colours, size=8)
    else:
        last = list({family_of(metric): metric for metric in metrics}.values())
        titles = [f"{metric} {ARROWS[digest.better(metric)]}" for metric in last]
        cells = tuple(tuple(cell(name, metric) for metric in last) for name in names)
        plot = HeatMap(names, tuple(titles), cells, scale=1.6, wide=0.56, names=colours, size=8)
        told += " Of each family of metrics, the last one is shown."
    return Figure("overview", plot, told)


def forest_figure(digest: Digest, metric: str) -> Figure | None:
    """Return values with intervals, one row a generator, over the band of what real text scores.

    A filled circle is the value that tables show, which compares with the band; a hollow one that at the other size:
    of all texts, or at the floor's. For a generator with fewer texts than that, a hollow diamond is what real text
    scores at its size. None where no generator has a value.
    """
    if all(digest.shown(generator, metric) is None for generator in digest.order):
        return None
    places, best = digest.places(metric), digest.marked(metric)
    rows = tuple(
        ForestRow(name, _marks(digest, name, metric), number(digest.value(name, metric), places), name in best,
                  name in digest.floors, colour_of(digest, name))
        for name in (*digest.order, *digest.floors)
    )  # fmt: skip
    bands, references = _floor_of(digest, metric)
    plot = Forest(rows, Axis(_with_unit(digest, metric)), bands=bands, references=references)
    return Figure(f"forest-{metric_slug(metric)}", plot)


def forests_figure(digest: Digest, metrics: Sequence[str], name: str) -> Figure | None:
    """Return the forest plots of several metrics beside each other, for the same rows; None where there is no value."""
    known = [m for m in metrics if any(digest.shown(generator, m) is not None for generator in digest.order)]
    if not known:
        return None
    rows = tuple(
        ForestRow(row, tuple(mark for panel, metric in enumerate(known) for mark in _marks(digest, row, metric, panel)),
                  reference=row in digest.floors, colour=colour_of(digest, row))
        for row in (*digest.order, *digest.floors)
    )  # fmt: skip
    found = [_floor_of(digest, metric, panel) for panel, metric in enumerate(known)]
    plot = Forest(
        rows, Axis(), tuple(_with_unit(digest, metric) for metric in known), own_scales=True, most_columns=_MOST_PANELS,
        bands=tuple(band for bands, _ in found for band in bands),
        references=tuple(line for _, lines in found for line in lines),
    )  # fmt: skip
    return Figure(f"forest-{slug(name)}", plot)


def _marks(digest: Digest, name: str, metric: str, panel: int = 0) -> tuple[Mark, ...]:
    is_floor, colour = name in digest.floors, colour_of(digest, name)
    like, own = (None, None) if is_floor else (digest.beside(name, metric), digest.own_floor(name, metric))
    marks = [] if like is None else [Mark(like.value, style="hollow", colour="muted", panel=panel, below=True)]
    marks += [] if own is None else [Mark(own.value, style="hollow diamond", colour="real", panel=panel, below=True)]
    estimate = digest.shown(name, metric)
    if estimate is not None:
        style: MarkStyle = "diamond" if is_floor else "filled"
        marks.append(Mark(estimate.value, *ends(estimate.interval), style=style, colour=colour, panel=panel))
    return tuple(marks)


def _floor_of(digest: Digest, metric: str, panel: int = 0) -> tuple[tuple[Band, ...], tuple[Reference, ...]]:
    """Return the band of real text and the line in it, where they are known."""
    floor = digest.estimate(FLOOR, metric)
    if floor is None:
        return (), ()
    low, high = _ends(floor)
    bands = () if low is None or high is None else (Band(low, high, panel),)
    return bands, (Reference(floor.value, colour="real", dashed=True, panel=panel),)


def _with_unit(digest: Digest, metric: str) -> str:
    unit = digest.unit_beside_values(metric)
    return f"{metric} ({unit})" if unit else metric


def scores_figure(digest: Digest) -> Figure | None:
    """Return the histograms of the discriminator's scores on both sides, a panel a generator or row of real text.

    None where no metric keeps them.
    """
    series: list[Series] = []
    titles: list[str] = []
    edges: list[float] = []
    for name in (*digest.order, *digest.floors):
        kept = digest.first_detail(name, "score_histogram")
        if kept is None:
            continue
        metric, histogram = kept
        edges = [float(edge) for edge in histogram["edges"]]
        for side, dashes in _SIDES:
            points = step_points(edges, [n / (sum(histogram[side]) or 1) for n in histogram[side]])
            colour = "real" if side == "real" else colour_of(digest, name) if name in digest.generators else "muted"
            series.append(Series(side, points, colour=colour, steps=True, fill=True, dashes=dashes, panel=len(titles)))
        value = number(digest.value(name, metric), 3).replace("-", "\N{MINUS SIGN}")
        titles.append(f"{name}: {metric} {value}")
    if not titles:
        return None
    ticks = (edges[0], (edges[0] + edges[-1]) / 2, edges[-1])
    x = Axis("probability of being real", (edges[0], edges[-1]), ticks=ticks)
    plot = Curves(tuple(series), x, Axis("share of texts", (0, None)), tuple(titles), legend=False, size=(2.4, 1.5),
                  most_columns=_MOST_PANELS)  # fmt: skip
    return Figure(
        "scores", plot,
        "Scores of the classifier on both sides, real text solid and blue: the less they overlap, the easier to "
        "separate.",
    )  # fmt: skip


def step_points(edges: Sequence[float], heights: Sequence[float]) -> tuple[Point, ...]:
    """Return bins as the points of a series of steps."""
    return tuple(Point(x, y) for x, y in zip(edges, [*heights, 0.0], strict=True))


def roc_figure(digest: Digest) -> Figure | None:
    """Return how many real texts are found at what share of false alarms; None where no metric keeps the points."""
    series = []
    for name in digest.order:
        kept = digest.first_detail(name, "roc")
        if kept is not None:
            metric, points = kept
            area = digest.detail(name, metric, "auc")
            title = name if area is None else f"{name}, AUC {number(area, 3)}"
            series.append(Series(title, tuple(Point(x, y) for x, y in points), dots=False,
                                 colour=colour_of(digest, name), dashes=_shape_of(digest, name)))  # fmt: skip
    if not series:
        return None
    x, y = (Axis(name, (0, 1.005), ticks=_HALVES[0], labels=_HALVES[1])
            for name in ("generated called real", "real called real"))  # fmt: skip
    plot = Curves(tuple(series), x, y, references=(Reference(axis="diagonal", colour="rule"),), size=(3.9, 3.2))
    return Figure("roc", plot, "ROC curve over all thresholds of the classifier; the diagonal is guessing.")


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
    for name, estimate in curves.items():
        frontier = estimate.details["frontier"]
        corner = max(range(len(frontier)), key=lambda k: min(frontier[k]))
        is_floor = name in digest.floors
        series.append(Series(name, tuple(Point(x, y) for x, y in frontier), dots=False, beside=True, anchor=corner,
                             colour=colour_of(digest, name),
                             dashes=1 if is_floor else _shape_of(digest, name)))  # fmt: skip
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
            Series(name, (_point(x, y),), line=False, beside=True, colour=colour_of(digest, name),
                   marker=5 if name == FLOOR else _shape_of(digest, name))
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
            caption += f" Meaningless text can win here; dd, how well a classifier detects it: {', '.join(judged)}."
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
        return HeatCell(strength if is_sure else None, number(difference, 2, sign=True), is_sure, not is_sure, "muted")

    cells = tuple(tuple(cell(i, j) for j in range(len(order) - 1)) for i in range(1, len(order)))
    return Figure(
        f"pairs-{metric_slug(metric)}",
        HeatMap(order[1:], order[:-1], cells, scale=1.6, wide=0.5, names=_names(digest)),
        "Row minus column. Filled: significant after Holm's adjustment for all pairs; dashed: could be chance at "
        "this sample size.",
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
        best = generator in digest.marked(metric)
        return HeatCell(strength, digest.rank_text(generator, metric), colour=colour_of(digest, generator), bold=best)

    cells = tuple(tuple(cell(generator, metric) for metric in metrics) for generator in digest.order)
    return Figure(
        "ranks", HeatMap(digest.order, tuple(metrics), cells, scale=1.6, size=7.5, wide=0.42, names=_names(digest)),
        "Rank intervals, 1 is best: from 1 + the number of generators significantly better to n less the number "
        "significantly worse. Strong colour: near the top; bold: none is significantly better.",
    )  # fmt: skip


def _names(digest: Digest) -> tuple[tuple[str, Colour], ...]:
    return tuple((name, colour_of(digest, name)) for name in digest.generators)


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
