"""Figures of a reproduced study: sweeps over temperature, what was found against the truth, growth, taus.

Families have a colour and a mark each; inside a family the line is the thicker, the more training text. All axes are
turned so that less is better: BLEU is drawn negated, as the paper draws it.
"""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes

from textassay.meta_evaluation.reproduction import Curve, Reproduction, TauDistribution
from textassay.report.drawing import (
    INCHES_A_LETTER,
    LABEL_HEIGHT,
    Drawing,
    label,
    names_beside,
    plane,
    row_text,
    tick_places,
)
from textassay.report.number import number
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, canvas, slug, to_svg

__all__ = ["TEMPERATURE_NOTE", "draw_reproduction"]

TEMPERATURE_NOTE = "Logits are divided by T; the paper's code multiplies them, so its temperature is 1 / T."
_SWEEPS = ("bleu", "lm", "fed")
_COLOURS = (GENERATED, INK, REAL, MUTED)
_MARKS = ("o", "s", "^", "D")
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.8), (1.4, 1.4))
_ROW = 0.22


def draw_reproduction(reproduction: Reproduction) -> tuple[Drawing, ...]:
    """Return all figures that the curves and taus of a reproduction allow."""
    drawn: list[Drawing | None] = [_sweep([c for c in reproduction.curves if c.figure == name]) for name in _SWEEPS]
    drawn.append(_against_truth([curve for curve in reproduction.curves if curve.figure == "estimate"]))
    drawn.append(_growth([curve for curve in reproduction.curves if curve.figure == "size"]))
    for gold in dict.fromkeys(tau.gold for tau in reproduction.taus):
        drawn.append(_taus([tau for tau in reproduction.taus if tau.gold == gold]))
    return tuple(drawing for drawing in drawn if drawing is not None)


@mpl.rc_context(SETTINGS)
def _sweep(curves: Sequence[Curve]) -> Drawing | None:
    """Return one panel over temperatures, a curve a generator."""
    if not curves:
        return None
    figure_name, x, y = curves[0].figure, _turned(curves[0].x), _turned(curves[0].y)
    if figure_name == "fed":
        x = "T (logits / T; the paper's code: 1 / T)"
    right = 0.3 + INCHES_A_LETTER * max(len(label(curve.name)) for curve in curves)
    height = max(3.0, 0.6 + LABEL_HEIGHT * len(curves))
    figure, axes = plane(3.3 + right, height, x=x, y=y, right=right)
    families = list(dict.fromkeys(curve.family for curve in curves))
    ends = {}
    for curve in curves:
        place = families.index(curve.family)
        members = [other.name for other in curves if other.family == curve.family]
        width = 0.7 + 1.1 * members.index(curve.name) / max(1, len(members) - 1)
        signs = _sign(curve.x), _sign(curve.y)
        xs, ys = [signs[0] * p.x for p in curve.points], [signs[1] * p.y for p in curve.points]
        axes.plot(xs, ys, "-", color=_COLOURS[place % 4], linewidth=width, marker=_MARKS[place % 4], ms=2.2, mew=0)
        for at, px, py in ((p.at, px, py) for p, px, py in zip(curve.points, xs, ys, strict=True)):
            if at == 1.0:
                axes.plot([px], [py], _MARKS[place % 4], color=_COLOURS[place % 4], ms=4.4, mew=0)
        ends[curve.name] = ((xs[-1], ys[-1]), label(curve.name), _COLOURS[place % 4])
    tick_places(axes, x=5, y=5)
    axes.margins(0.06, 0.08)
    axes.autoscale_view()
    if figure_name != "fed":
        _name_temperatures(axes, curves[-1])
    names_beside(axes, ends, height=height - 0.54, bold=())
    temperatures = [number(point.at, 1) for point in curves[0].points]
    told = (
        f"{y} against {x}, a curve a generator, at temperatures {', '.join(temperatures)} from one end to the named "
        f"one; the larger mark is 1.0; less is better on both axes. {TEMPERATURE_NOTE}"
    )
    return Drawing("sweep", figure_name, f"sweep-{figure_name}.svg", to_svg(figure), told)


@mpl.rc_context(SETTINGS)
def _against_truth(curves: Sequence[Curve]) -> Drawing | None:
    """Return what was found against the exact discrepancy, with intervals and the diagonal."""
    if not curves:
        return None
    right = 0.35 + INCHES_A_LETTER * max(len(label(curve.name)) for curve in curves)
    figure, axes = plane(3.2 + right, 3.2, x=curves[0].x, y="found by a classifier", right=right)
    beside = {}
    for place, curve in enumerate(curves):
        colour, mark = _COLOURS[place % 4], _MARKS[place % 4]
        for point in curve.points:
            if point.x_low is not None and point.x_high is not None:
                axes.plot([point.x_low, point.x_high], [point.y, point.y], "-", color=colour, linewidth=0.9)
            if point.y_low is not None and point.y_high is not None:
                axes.plot([point.x, point.x], [point.y_low, point.y_high], "-", color=colour, linewidth=0.9)
        axes.plot([p.x for p in curve.points], [p.y for p in curve.points], mark, color=colour, ms=4, mew=0)
        last = max(curve.points, key=lambda point: point.x)
        beside[curve.name] = ((last.x, last.y), label(curve.name), colour)
    low = min(0.0, *(point.y for curve in curves for point in curve.points))
    left = min(point.x for curve in curves for point in curve.points)
    axes.plot([low, 1], [low, 1], "-", color=RULE, linewidth=1.1, zorder=0)
    axes.set_xlim(left - 0.08 * (1 - left) - 0.01, 1.01)
    axes.set_ylim(low - 0.02, 1.02)
    tick_places(axes, x=5, y=5)
    names_beside(axes, beside, height=2.66, bold=())
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
    """Return a discrepancy against the size of the training text, a curve a family and kind of real text."""
    if not curves:
        return None
    right = 0.35 + INCHES_A_LETTER * max(len(label(curve.name)) for curve in curves)
    height = max(2.9, 0.6 + LABEL_HEIGHT * len(curves))
    figure, axes = plane(3.3 + right, height, x=curves[0].x, y=_turned(curves[0].y), right=right)
    families = list(dict.fromkeys(curve.family for curve in curves))
    ends = {}
    for curve in curves:
        place = families.index(curve.family)
        kind = [other.name for other in curves if other.family == curve.family].index(curve.name)
        colour = _COLOURS[place % 4]
        xs = [point.x for point in curve.points]
        axes.plot(xs, [p.y for p in curve.points], color=colour, marker=_MARKS[place % 4], ms=3.6, mew=0,
                  linewidth=1.3, dashes=_DASHES[kind % 3])  # fmt: skip
        for point in curve.points:
            if point.y_low is not None and point.y_high is not None:
                axes.plot([point.x, point.x], [point.y_low, point.y_high], "-", color=colour, linewidth=0.8)
        ends[curve.name] = ((xs[-1], curve.points[-1].y), label(curve.name), colour)
    tick_places(axes, x=4, y=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.margins(0.05, 0.08)
    axes.autoscale_view()
    names_beside(axes, ends, height=height - 0.54, bold=())
    told = "; ".join(
        f"{curve.name} {', '.join(f'{number(p.y, 3)} at {p.x:,.0f}' for p in curve.points)}" for curve in curves
    )
    return Drawing("size", "", "dd-by-training-text.svg", to_svg(figure), f"{curves[0].y} by training text: {told}.")


@mpl.rc_context(SETTINGS)
def _taus(taus: Sequence[TauDistribution]) -> Drawing:
    """Return tau of every metric in every group: draws as dots of their shares, interval, value, published value."""
    rows = [f"{tau.metric}, {tau.group}" for tau in taus]
    left = 0.15 + INCHES_A_LETTER * max(map(len, rows))
    height = _ROW * len(rows) + 0.62
    figure, axes = canvas(left + 3.3, height, left=left, right=0.15, top=0.12, bottom=0.5)
    before = ""
    for row, (tau, name) in enumerate(zip(taus, rows, strict=True)):
        if before and tau.metric != before:
            axes.axhline(row - 0.5, color=RULE, linewidth=0.6, zorder=0)
        before = tau.metric
        row_text(axes, row, name)
        for value, share in zip(tau.values, tau.shares, strict=True):
            axes.plot([value], [row], "o", color=MUTED, ms=1 + 7 * share**0.5, mew=0, alpha=0.35)
        if tau.low is not None and tau.high is not None:
            axes.plot([tau.low, tau.high], [row, row], "-", color=GENERATED, linewidth=1.4)
        if tau.value is not None:
            axes.plot([tau.value], [row], "o", color=GENERATED, ms=4.4, mew=0)
        if tau.published is not None:
            axes.plot([tau.published], [row], "D", mfc="none", mec=REAL, ms=6, mew=1.1)
    axes.axvline(0, color=RULE, linewidth=0.8, zorder=0)
    axes.set_xlim(-1.06, 1.06)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlabel(f"tau with the order by {taus[0].gold}; diamond: published", color=MUTED, labelpad=3)
    told = "; ".join(
        f"{name} {number(tau.value, 2)} ({number(tau.low, 2)} to {number(tau.high, 2)}"
        f"{'' if tau.published is None else f', published {number(tau.published, 2)}'})"
        for name, tau in zip(rows, taus, strict=True)
    )
    return Drawing("taus", taus[0].gold, f"taus-{slug(taus[0].gold)}.svg", to_svg(figure), f"Kendall's tau: {told}.")


def _sign(axis: str) -> float:
    return -1.0 if axis.startswith("BLEU") else 1.0


def _turned(axis: str) -> str:
    """Return the name of an axis on which less is better."""
    return f"\N{MINUS SIGN}{axis}" if _sign(axis) < 0 else axis


def _name_temperatures(axes: Axes, curve: Curve) -> None:
    """Write the temperatures at both ends of a curve."""
    for point in (curve.points[0], curve.points[-1]):
        axes.annotate(f"T {number(point.at, 1)}", (_sign(curve.x) * point.x, _sign(curve.y) * point.y), (0, -9),
                      textcoords="offset points", ha="center", color=MUTED, fontsize=7)  # fmt: skip
