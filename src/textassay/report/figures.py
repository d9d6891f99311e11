"""Figures as SVG: forest plots, score histograms, pair differences, rank intervals.

Text stays text, colours are the fixed ones of `PALETTE` (the page turns them into variables, so that it can be light or
dark), the background is transparent, and the same comparison gives the same bytes. Blue is real text, orange is
generated text, everywhere; shapes differ too, for print and for eyes that see no such difference.

Colours: two hues of Okabe and Ito, "Color Universal Design" (2008), darkened until they read as text on white.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import MaxNLocator

from textassay.comparison.comparison import FLOOR, Comparison
from textassay.estimate import Estimate
from textassay.report.digest import Digest, printable, shorten
from textassay.report.kinds import family_of, variant_of
from textassay.report.number import number
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, canvas, slug, to_svg

__all__ = ["Drawing", "draw_figures", "draw_forest", "draw_pairs", "draw_ranks", "draw_scores"]

_NAME_WIDTH = 22
_INCHES_A_LETTER = 0.076
_ROW = 0.25


@dataclass(frozen=True)
class Drawing:
    """One figure.

    Attributes
    ----------
    kind
        "forest", "scores", "pairs" or "ranks".
    subject
        The metric or generator it is about; empty where it is about all.
    file_name
        In the folder of figures.
    svg
        The document.
    description
        What a person who cannot see it should be told.
    """

    kind: str
    subject: str
    file_name: str
    svg: str
    description: str


def draw_figures(comparison: Comparison) -> tuple[Drawing, ...]:
    """Return all figures of a comparison: those that its estimates allow."""
    digest = Digest(comparison)
    drawn = [draw_forest(digest, metric) for metric in comparison.metrics]
    drawn += [draw_scores(digest, generator) for generator in (*digest.order, *digest.floors)]
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

    A filled circle is the value on all text; a hollow one is the value at the floor's size, to be compared with the
    band. For a generator with fewer sentences than that, a hollow diamond is what real text scores at its size. None
    where no generator has a value.
    """
    rows = [*digest.order, *digest.floors]
    if all(digest.estimate(generator, metric) is None for generator in digest.order):
        return None
    names = [_label(name) for name in rows]
    left, right = 0.12 + _INCHES_A_LETTER * max(map(len, names)), 0.62
    width, height = 4.7, _ROW * len(rows) + 0.56
    figure, axes = canvas(width, height, left=left, right=right, top=0.1, bottom=0.46)
    places = digest.places(metric)
    best = digest.best(metric)
    floor = digest.estimate(FLOOR, metric)
    if floor is not None:
        if floor.interval is not None and math.isfinite(floor.interval.low + floor.interval.high):
            axes.axvspan(floor.interval.low, floor.interval.high, color=REAL, alpha=0.13, linewidth=0)
        axes.axvline(floor.value, color=REAL, linewidth=0.9, dashes=(3, 2))
    for row, (generator, name) in enumerate(zip(rows, names, strict=True)):
        is_floor = generator in digest.floors
        colour = REAL if is_floor else GENERATED
        estimate = digest.estimate(generator, metric)
        _row_text(axes, row, name, bold=generator in best, colour=REAL if is_floor else INK)
        like = None if is_floor else digest.matched(generator, metric)
        if like is not None:
            axes.plot([like.value], [row + 0.27], "o", ms=4, mfc="none", mec=MUTED, mew=0.9, clip_on=False)
        own = None if like is None else digest.own_floor(generator, metric)
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
        axes.annotate(_minus(number(estimate.value, places)), (1, row), (right * 72 - 2, 0), ("axes fraction", "data"),
                      "offset points", ha="right", va="center", color=INK if not is_floor else REAL,
                      fontweight="bold" if generator in best else "normal")  # fmt: skip
    _rows_axis(axes, len(rows), n_floors=len(digest.floors))
    _value_axis(axes, _span(digest, rows, metric), metric)
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


@mpl.rc_context(SETTINGS)
def draw_pairs(digest: Digest, metric: str) -> Drawing | None:
    """Return the matrix of differences, row minus column; a filled cell is significant. None below two generators."""
    found = {(pair.a, pair.b): pair for pair in digest.pairs(metric)}
    order = list(digest.order)
    known = [abs(pair.difference) for pair in found.values() if pair.difference is not None]
    if len(order) < 2 or not known:
        return None
    largest = max(known) or 1.0
    cell = 0.5
    names = [_label(name) for name in order]
    longest = _INCHES_A_LETTER * max(map(len, names))
    n = len(order) - 1
    figure, axes = canvas(
        0.2 + longest + cell * n + 0.75 * longest, 0.2 + 0.34 * n + 0.75 * longest,
        left=0.12 + longest, right=0.08 + 0.75 * longest, top=0.1 + 0.75 * longest, bottom=0.1,
    )  # fmt: skip
    places = 2
    for i in range(1, len(order)):
        _row_text(axes, i - 1, names[i])
        for j in range(i):
            pair = found.get((order[i], order[j])) or found.get((order[j], order[i]))
            if pair is None or pair.difference is None:
                continue
            difference = pair.difference if pair.a == order[i] else -pair.difference
            significant = digest.separated(pair)
            box = FancyBboxPatch(
                (j + 0.05, i - 1 - 0.42), 0.9, 0.84, boxstyle="round,pad=0,rounding_size=0.08", mutation_aspect=1.4,
                facecolor=GENERATED if significant else "none",
                alpha=0.14 + 0.4 * abs(difference) / largest if significant else None,
                edgecolor="none" if significant else MUTED, linewidth=0.7, linestyle=(0, (2, 2)),
            )  # fmt: skip
            axes.add_patch(box)
            axes.text(j + 0.5, i - 1, _minus(number(difference, places, sign=True)), ha="center",
                      va="center", color=INK if significant else MUTED, fontsize=7.5)  # fmt: skip
    for j in range(n):
        axes.text(j + 0.42, -0.62, names[j], rotation=45, rotation_mode="anchor", ha="left", va="center", color=INK)
    axes.set_xlim(0, n)
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xticks([])
    apart = sum(digest.separated(pair) for pair in found.values())
    told = (
        f"Matrix of differences by {metric}, row minus column. {apart} of {len(found)} pairs are separated; the table "
        "of pairs gives every number."
    )
    return Drawing("pairs", metric, f"pairs-{slug(metric)}.svg", to_svg(figure), told)


@mpl.rc_context(SETTINGS)
def draw_ranks(digest: Digest) -> Drawing | None:
    """Return the rank intervals of every generator under every metric that ranks; None below two generators."""
    metrics = [m for m in digest.comparison.metrics if any((g, m) in digest.ranks for g in digest.generators)]
    n = len(digest.generators)
    if n < 2 or not metrics:
        return None
    names = [_label(name) for name in digest.order]
    left = 0.12 + _INCHES_A_LETTER * max(map(len, names))
    column = 0.54
    right = max(0.1, _INCHES_A_LETTER * len(family_of(metrics[-1])) - column)
    figure, axes = canvas(
        left + column * len(metrics) + right, _ROW * n + 0.72, left=left, right=right, top=0.5, bottom=0.22
    )
    gap, bar = 0.14, 0.055
    for place, metric in enumerate(metrics):
        start, scale = place + gap / 2, (1 - gap - 2 * bar) / max(1, n - 1)
        family, variant = family_of(metric), variant_of(metric)
        axes.text(place + 0.5, -0.72, variant or family, ha="center", va="bottom", color=INK, fontsize=7)
        if variant and (place == 0 or family_of(metrics[place - 1]) != family):
            axes.text(place + gap / 2, -1.45, family, ha="left", va="bottom", color=INK, fontsize=7.5,
                      fontweight="bold")  # fmt: skip
        for end, tick in ((0, "1"), (n - 1, str(n))):
            axes.text(start + bar + scale * end, n - 0.32, tick, ha="center", va="top", color=MUTED, fontsize=6.5)
        for row, generator in enumerate(digest.order):
            rank = digest.ranks.get((generator, metric))
            axes.plot([start, place + 1 - gap / 2], [row, row], "-", color=RULE, lw=0.8, zorder=0)
            if rank is not None:
                ends = (start + bar + scale * (rank.low - 1), start + bar + scale * (rank.high - 1))
                axes.plot(ends, (row, row), "-", color=GENERATED, lw=5, solid_capstyle="round",
                          alpha=1.0 if generator in digest.best(metric) else 0.55)  # fmt: skip
    for row, name in enumerate(names):
        _row_text(axes, row, name, bold=digest.order[row] in digest.best(digest.headline or ""))
    axes.set_xlim(0, len(metrics))
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xticks([])
    told = "Rank intervals: " + "; ".join(
        f"{printable(g)} {', '.join(f'{digest.rank_text(g, m)} by {m}' for m in metrics if (g, m) in digest.ranks)}"
        for g in digest.order
    )
    return Drawing("ranks", "", "ranks.svg", to_svg(figure), told + ".")


def _label(name: str) -> str:
    return shorten(printable(name), _NAME_WIDTH)


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _row_text(axes: Axes, row: float, text: str, *, bold: bool = False, colour: str = INK) -> None:
    """Write the name of a row in the left margin, flush with the axes."""
    axes.annotate(text, (0, row), (-6, 0), ("axes fraction", "data"), "offset points", ha="right", va="center",
                  color=colour, fontweight="bold" if bold else "normal")  # fmt: skip


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
            digest.estimate(generator, metric),
            digest.matched(generator, metric),
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


def _value_axis(axes: Axes, span: tuple[float, float], metric: str) -> None:
    axes.set_xlim(*span)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlabel(printable(metric), color=MUTED, labelpad=3)


def _told_forest(digest: Digest, metric: str) -> str:
    places = digest.places(metric)
    told = []
    for generator in (*digest.order, *digest.floors):
        estimate = digest.estimate(generator, metric)
        shown = "not available" if estimate is None else number(estimate.value, places)
        told.append(f"{printable(generator)} {shown}")
    return f"Values of {metric} with their intervals: {', '.join(told)}."
