"""Figures of a reproduced study: sweeps, what was found against the truth, growth, taus, values by length.

What judges (the paper's classifier, ours, among training or unseen text) has a colour and a dash, a family a mark.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from textassay.meta_evaluation import Curve, Reproduction, TauDistribution
from textassay.report.number import number
from textassay.report.old_drawing import (
    COLOURS,
    DASHES,
    INCHES_A_LETTER,
    LEGEND_ROW,
    Drawing,
    legend,
    panels,
    plane,
    tick_places,
)
from textassay.report.reproduction_lengths import draw_by_length
from textassay.report.reproduction_sweeps import draw_sweep, shown_share
from textassay.report.reproduction_tables import draw_table_figure
from textassay.report.svg import INK, MUTED, REAL, SETTINGS, to_svg
from textassay.report.words import printable, slug

_SWEEPS = ("bleu", "lm", "fed")
_MARKS = ("o", "s", "^", "D")
_WIDTH = 4.7
_COMPARED = ("BLEU-5", "FED", "LM score", "DD")  # what the paper's tables of taus compare
_OURS = "our DD"
_ROW = 0.27


def draw_reproduction(reproduction: Reproduction) -> tuple[Drawing, ...]:
    """Return all figures that the curves and taus of a reproduction allow, and those of its tables."""
    drawn: list[Drawing | None] = [draw_sweep([c for c in reproduction.curves if c.figure == name]) for name in _SWEEPS]
    drawn.append(_against_truth([curve for curve in reproduction.curves if curve.figure == "estimate"]))
    drawn.append(_growth([curve for curve in reproduction.curves if curve.figure == "size"]))
    for gold in dict.fromkeys(tau.gold for tau in reproduction.taus):
        drawn.append(_taus([tau for tau in reproduction.taus if tau.gold == gold and _is_compared(tau)]))
    by_length = [curve for curve in reproduction.curves if curve.figure == "by length"]
    for title in dict.fromkeys(curve.title for curve in by_length):
        drawn.append(draw_by_length([curve for curve in by_length if curve.title == title]))
    drawn += [draw_table_figure(figure, reproduction.tables) for figure in reproduction.figures]
    return tuple(drawing for drawing in drawn if drawing is not None)


@mpl.rc_context(SETTINGS)
def _against_truth(curves: Sequence[Curve]) -> Drawing | None:
    """Return what was found against the exact discrepancy, with intervals and the diagonal."""
    if not curves:
        return None
    judges, families = _judges(curves), _families(curves)
    top = 0.2 + LEGEND_ROW * max(len(judges), len(families))
    x = f"{curves[0].x} (numbers: share of the training text)"
    figure, axes = plane(_WIDTH, 3.4 + top, x=x, y="found by a classifier", top=top)
    for curve in curves:
        _draw_judged(axes, curve, judges.index(curve.y), families.index(curve.family))
    points = [point for curve in curves for point in curve.points]
    low = min(0.0, *(point.y for point in points))
    left, right = min(point.x for point in points), max(point.x for point in points)
    axes.set_xlim(left - 0.12 * (right - left) - 0.01, right + 0.12 * (right - left) + 0.01)
    axes.set_ylim(low - 0.02, 1.03 * axes.get_xlim()[1])
    axes.plot(axes.get_xlim(), axes.get_xlim(), "-", color=MUTED, linewidth=1.1, zorder=0)
    middle = sum(axes.get_xlim()) / 2
    axes.annotate("all of it", (middle, middle), (0, 5), textcoords="offset points", ha="right", color=MUTED)
    _name_ends(axes, curves)
    tick_places(axes, x=5, y=5)
    legend(figure, _judge_entries(judges), left=0.58)
    legend(figure, {family: _key(linestyle="none", **_mark(n, MUTED)) for n, family in enumerate(families)}, left=3.6)
    told = "; ".join(
        f"{curve.name}: "
        + ", ".join(f"{p.label} {number(p.y, 3)} of {number(p.x, 3)}" for p in curve.points)
        for curve in curves
    )  # fmt: skip
    return Drawing(
        "estimate", "", "found-and-exact.svg", to_svg(figure),
        f"Found discrepancy against the exact one, with intervals; on the line both are equal. {told}.",
    )  # fmt: skip


@mpl.rc_context(SETTINGS)
def _growth(curves: Sequence[Curve]) -> Drawing | None:
    """Return discrepancies against the size of the training text, a panel a family."""
    if not curves:
        return None
    judges, families = _judges(curves), _families(curves)
    top = 0.4 + LEGEND_ROW * len(judges)
    figure, drawn = panels(families, _WIDTH, 2.3 + top, x=curves[0].x, y="DD", top=top)
    for curve in curves:
        place = families.index(curve.family)
        _draw_judged(drawn[place], curve, judges.index(curve.y), place)
    tick_places(drawn[0], x=4, y=5)
    drawn[0].xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    drawn[0].set_xlim(0, 1.07 * max(point.x for curve in curves for point in curve.points))
    drawn[0].set_ylim(min(0.0, *(point.y for curve in curves for point in curve.points)))
    legend(figure, _judge_entries(judges), left=0.58)
    told = "; ".join(
        f"{curve.name} {', '.join(f'{number(p.y, 3)} at {p.x:,.0f}' for p in curve.points)}" for curve in curves
    )
    return Drawing("size", "", "dd-by-training-text.svg", to_svg(figure), f"DD by training text: {told}.")


@mpl.rc_context(SETTINGS)
def _taus(taus: Sequence[TauDistribution]) -> Drawing | None:
    """Return tau of each metric, a panel a group of generators: interval, value, published value."""
    if not taus:
        return None
    metrics = list(dict.fromkeys(tau.metric for tau in taus))
    groups = list(dict.fromkeys(tau.group for tau in taus))
    left = 0.1 + INCHES_A_LETTER * max(len(_told_judge(metric)) for metric in metrics)
    height = _ROW * len(metrics) + 1.0
    figure, drawn = panels(
        groups, _WIDTH, height, x=f"tau with the order by {taus[0].gold}", y="", left=left,
        right=0.15, gap=0.2, top=0.56,
    )  # fmt: skip
    for tau in taus:
        axes, row = drawn[groups.index(tau.group)], metrics.index(tau.metric)
        if tau.published is not None:
            axes.plot([tau.published], [row], "D", mfc="none", mec=REAL, ms=7, mew=1.2, clip_on=False)
        if tau.low is not None and tau.high is not None:
            axes.plot([tau.low, tau.high], [row, row], "-", color=INK, linewidth=1.6)
        if tau.value is not None:
            axes.plot([tau.value], [row], "o", color=INK, ms=4.6, mew=0, clip_on=False)
    for axes in drawn:
        axes.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
    drawn[0].set_xlim(-1.1, 1.1)
    drawn[0].set_ylim(len(metrics) - 0.4, -0.6)
    drawn[0].set_xticks([-1, 0, 1])
    drawn[0].set_yticks(range(len(metrics)), [_told_judge(metric) for metric in metrics])
    drawn[0].tick_params(axis="y", labelsize=8.5, labelcolor=INK, length=0, pad=5)
    entries = {f"here, with interval ({number(100 * taus[0].level, 0)} %)": _key(color=INK, marker="o", ms=4.6)}
    if any(tau.published is not None for tau in taus):
        entries["published"] = _key(color=REAL, marker="D", mfc="none", ms=7, mew=1.2, linestyle="none")
    legend(figure, entries, columns=2, left=min(left, 1.7))
    told = "; ".join(
        f"{tau.metric}, {tau.group} {number(tau.value, 2)} ({number(tau.low, 2)} to {number(tau.high, 2)}"
        f"{'' if tau.published is None else f', published {number(tau.published, 2)}'})"
        for tau in taus
    )
    return Drawing("taus", taus[0].gold, f"taus-{slug(taus[0].gold)}.svg", to_svg(figure), f"Kendall's tau: {told}.")


def _draw_judged(axes: Axes, curve: Curve, judge: int, family: int) -> None:
    """Draw the points of a curve with their intervals, joined in the judge's dashes, as the family's marks."""
    colour = COLOURS[judge % len(COLOURS)]
    for p in curve.points:
        for low, high, across in ((p.x_low, p.x_high, True), (p.y_low, p.y_high, False)):
            if low is not None and high is not None:
                ends = ([low, high], [p.y, p.y]) if across else ([p.x, p.x], [low, high])
                axes.plot(*ends, "-", color=colour, linewidth=1.0)
    axes.plot([p.x for p in curve.points], [p.y for p in curve.points], color=colour, linewidth=1.1,
              dashes=DASHES[judge % len(DASHES)], **_mark(family, colour))  # fmt: skip


def _name_ends(axes: Axes, curves: Sequence[Curve]) -> None:
    """Write the share of training text below the first and last point of each family's lowest curve."""
    for family in _families(curves):
        points = min((c for c in curves if c.family == family), key=lambda c: sum(p.y for p in c.points)).points
        for point, other in dict.fromkeys([(points[0], points[-1]), (points[-1], points[0])]):
            outward = 1 if point.x > other.x else -1
            axes.annotate(shown_share(point.label, family), (point.x, point.y), (3 * outward, -5),
                          textcoords="offset points", ha="left" if outward > 0 else "right", va="top", color=MUTED,
                          fontsize=7.5)  # fmt: skip


def _mark(family: int, colour: str) -> dict[str, Any]:
    """Return how a family's points look: the second and fourth are hollow."""
    inside = "white" if family % 2 else colour
    return {"marker": _MARKS[family % len(_MARKS)], "ms": 3.6, "mec": colour, "mfc": inside, "mew": 0.9}


def _judge_entries(judges: Sequence[str]) -> dict[str, Line2D]:
    return {
        _told_judge(judge): _key(color=COLOURS[n % len(COLOURS)], dashes=DASHES[n % len(DASHES)], linewidth=1.6)
        for n, judge in enumerate(judges)
    }


def _key(**look: Any) -> Line2D:
    """Return a line or mark for a legend."""
    return Line2D([], [], **look)


def _judges(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.y for curve in curves))


def _families(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.family for curve in curves))


def _told_judge(name: str) -> str:
    """Return a metric's name, where DD is said to be by the paper's classifier."""
    return printable(name.replace("DD", "DD (paper's classifier)", 1) if name.startswith("DD") else name)


def _is_compared(tau: TauDistribution) -> bool:
    return tau.metric in _COMPARED or tau.metric.startswith(_OURS)
