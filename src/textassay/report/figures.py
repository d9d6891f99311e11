"""All figures of a comparison as SVG; here forest plots and score histograms.

Text stays text, colours are the fixed ones of `PALETTE` (the page turns them into variables, so that it can be light or
dark), the background is transparent, and the same comparison gives the same bytes. Blue is real text, orange is
generated text, everywhere; shapes differ too, for print and for eyes that see no such difference.

Colours: two hues of Okabe and Ito, "Color Universal Design" (2008), darkened until they read as text on white.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from textassay.comparison import FLOOR, Comparison
from textassay.estimate import Estimate
from textassay.report.bins import draw_lengths, draw_positions
from textassay.report.curves import draw_frontier, draw_learning_curve, draw_prefixes, draw_roc
from textassay.report.digest import Digest
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, row_text, with_minus
from textassay.report.orders import draw_pairs, draw_ranks
from textassay.report.planes import draw_planes
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, canvas, to_svg
from textassay.report.words import printable, slug

_ROW = 0.25


def draw_figures(comparison: Comparison) -> tuple[Drawing, ...]:
    """Return all figures of a comparison: those that its estimates allow."""
    digest = Digest(comparison)
    drawn = [draw_forest(digest, metric) for metric in comparison.metrics]
    for generator in (*digest.order, *digest.floors):
        drawn += [draw_scores(digest, generator), draw_roc(digest, generator)]
    for explanation in comparison.explanations:
        drawn += [draw_lengths(explanation), draw_prefixes(explanation), draw_positions(explanation)]
        drawn.append(draw_learning_curve(explanation))
    drawn += [draw_frontier(digest), *draw_planes(digest)]
    if digest.headline is not None:
        drawn.append(draw_pairs(digest, digest.headline))
    drawn.append(draw_ranks(digest))
    named: dict[str, Drawing] = {}
    for drawing in drawn:
        if drawing is not None:
            stem, n = drawing.file_name.removesuffix(".svg"), 1
            name = drawing.file_name
            while name in named:  # names that differ in odd characters only
                n += 1
                name = f"{stem}-{n}.svg"
            named[name] = replace(drawing, file_name=name)
    return tuple(named.values())


@mpl.rc_context(SETTINGS)
def draw_forest(digest: Digest, metric: str) -> Drawing | None:
    """Return values with intervals, one row a generator, over the band of what real text scores.

    A filled circle is the value by which generators are ranked: on all text, or at the floor's size where closer to
    real text is better. A hollow one is the value at the floor's size, to be compared with the band. For a generator
    with fewer sentences than that, a hollow diamond is what real text scores at its size. None where no generator has a
    value.
    """
    rows = [*digest.order, *digest.floors]
    if all(digest.shown(generator, metric) is None for generator in digest.order):
        return None
    names = [label(name) for name in rows]
    places = digest.places(metric)
    shown = {name: with_minus(number(digest.value(name, metric), places)) for name in rows}
    left = 0.12 + INCHES_A_LETTER * max(map(len, names))
    right = max(0.62, 0.2 + INCHES_A_LETTER * max(map(len, shown.values())))
    width, height = 4.7, _ROW * len(rows) + 0.56
    figure, axes = canvas(width, height, left=left, right=right, top=0.1, bottom=0.46)
    best = digest.marked(metric)
    floor = digest.estimate(FLOOR, metric)
    if floor is not None:
        if floor.interval is not None and math.isfinite(floor.interval.low + floor.interval.high):
            axes.axvspan(floor.interval.low, floor.interval.high, color=REAL, alpha=0.13, linewidth=0)
        axes.axvline(floor.value, color=REAL, linewidth=0.9, dashes=(3, 2))
    for row, (generator, name) in enumerate(zip(rows, names, strict=True)):
        is_floor = generator in digest.floors
        colour = REAL if is_floor else GENERATED
        estimate = digest.shown(generator, metric)
        row_text(axes, row, name, bold=generator in best, colour=REAL if is_floor else INK)
        like = None if is_floor else digest.beside(generator, metric)
        if like is not None:
            axes.plot([like.value], [row + 0.27], "o", ms=4, mfc="none", mec=MUTED, mew=0.9, clip_on=False)
        own = None if is_floor else digest.own_floor(generator, metric)
        if own is not None:
            axes.plot([own.value], [row + 0.27], "D", ms=3.4, mfc="none", mec=REAL, mew=0.9, clip_on=False)
        if estimate is None:
            axes.annotate("n/a", (1, row), (right * 72 - 2, 0), ("axes fraction", "data"), "offset points",
                          ha="right", va="center", color=MUTED)  # fmt: skip
            continue
        if estimate.interval is not None:
            axes.plot([estimate.interval.low, estimate.interval.high], [row, row], "-", color=colour, lw=1.6,
                      solid_capstyle="round", clip_on=False)  # fmt: skip
        axes.plot([estimate.value], [row], "D" if is_floor else "o", color=colour, ms=4.2, mew=0, clip_on=False)
        axes.annotate(shown[generator], (1, row), (right * 72 - 2, 0), ("axes fraction", "data"), "offset points",
                      ha="right", va="center", color=REAL if is_floor else INK,
                      fontweight="bold" if generator in best else "normal")  # fmt: skip
    _rows_axis(axes, len(rows), n_floors=len(digest.floors))
    _value_axis(axes, _span(digest, rows, metric), metric, digest.told_unit(metric))
    return Drawing("forest", metric, f"forest-{slug(metric)}.svg", to_svg(figure), _told_forest(digest, metric))


@mpl.rc_context(SETTINGS)
def draw_scores(digest: Digest, generator: str) -> Drawing | None:
    """Return the histograms of the discriminator's scores on both sides; None where no metric keeps them."""
    for metric in digest.comparison.metrics:
        histogram = digest.detail(generator, metric, "score_histogram")
        if histogram is not None:
            break
    else:
        return None
    edges = [float(edge) for edge in histogram["edges"]]
    figure, axes = canvas(3.5, 1.55, left=0.08, right=0.08, top=0.22, bottom=0.44)
    for side, colour, dashes in (("real", REAL, "-"), ("generated", GENERATED, (0, (4, 1.6)))):
        total = sum(histogram[side]) or 1
        shares = [part / total for part in histogram[side]]
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.16, linewidth=0)
        axes.stairs(shares, edges, color=colour, linewidth=1.3, linestyle=dashes)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.set_xticks([edges[0], (edges[0] + edges[-1]) / 2, edges[-1]])
    axes.set_xlabel("probability of being real", color=MUTED, labelpad=2)
    axes.axvline((edges[0] + edges[-1]) / 2, color=RULE, linewidth=0.8, zorder=0)
    axes.text(0, 1.05, "generated", color=GENERATED, transform=axes.transAxes, fontweight="bold")
    axes.text(1, 1.05, "real", color=REAL, transform=axes.transAxes, ha="right", fontweight="bold")
    value = digest.value(generator, metric)
    told = (
        f"Histograms of the classifier's scores for {printable(generator)} (dashed, orange) and real text (solid, "
        f"blue); the less they overlap, the easier the two are told apart. {metric} is {number(value, 3)}."
    )
    return Drawing("scores", generator, f"scores-{slug(generator)}.svg", to_svg(figure), told)


def _rows_axis(axes: Axes, n_rows: int, *, n_floors: int) -> None:
    """Put row 0 on top, a hair line under each generator and a line above the rows of real text."""
    axes.set_ylim(n_rows - 0.4, -0.6)
    for row in range(n_rows - n_floors):
        axes.axhline(row, color=RULE, linewidth=0.5, zorder=0)
    if n_floors:
        axes.axhline(n_rows - n_floors - 0.5, color=RULE, linewidth=0.8, zorder=0)


def _span(digest: Digest, rows: Sequence[str], metric: str) -> tuple[float, float]:
    """Return the range of all that a forest plot shows, with a margin."""
    points: list[float] = []
    for generator in rows:
        shown: tuple[Estimate | None, ...] = (
            digest.shown(generator, metric),
            digest.beside(generator, metric),
            digest.own_floor(generator, metric),
        )
        for estimate in shown:
            if estimate is not None:
                points.append(estimate.value)
        if shown[0] is not None and shown[0].interval is not None:
            points += [shown[0].interval.low, shown[0].interval.high]
    known = [point for point in points if math.isfinite(point)]
    margin = 0.04 * (max(known) - min(known)) or 0.01
    return min(known) - margin, max(known) + margin


def _value_axis(axes: Axes, span: tuple[float, float], metric: str, unit: str) -> None:
    axes.set_xlim(*span)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlabel(printable(f"{metric} ({unit})" if unit else metric), color=MUTED, labelpad=3)


def _told_forest(digest: Digest, metric: str) -> str:
    places = digest.places(metric)
    told = []
    for generator in (*digest.order, *digest.floors):
        estimate = digest.shown(generator, metric)
        shown = "not available" if estimate is None else number(estimate.value, places)
        told.append(f"{printable(generator)} {shown}")
    return f"Values of {metric} with their intervals: {', '.join(told)}."
