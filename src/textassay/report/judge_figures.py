"""Figures of a meta-evaluation: taus with the gold orders as bars, single texts, and the planes of `judge_planes`."""

import math

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from textassay.meta_evaluation import Judging, TextCorrelation
from textassay.report.judge_planes import draw_heat_map, draw_ranks_by, draw_scatters
from textassay.report.judge_values import draw_values
from textassay.report.number import level, number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, legend, row_text
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, canvas, to_svg
from textassay.report.words import printable

_ROW = 0.25
_COLOURS = (INK, REAL, GENERATED, MUTED)


def draw_judging(judging: Judging) -> tuple[Drawing, ...]:
    """Return all figures that a meta-evaluation allows."""
    drawn = [_taus(judging), draw_values(judging), draw_heat_map(judging), draw_scatters(judging)]
    drawn += [draw_ranks_by(judging), _texts(judging)]
    return tuple(drawing for drawing in drawn if drawing is not None)


@mpl.rc_context(SETTINGS)
def _taus(judging: Judging) -> Drawing | None:
    """Return Kendall's tau of every evaluator with every gold as bars with intervals; stars where Holm's p is small."""
    golds = [gold.name for gold in judging.golds]
    names = list(judging.verdicts[0].order)
    if not names:
        return None
    height = _ROW * max(1.0, 0.62 * len(golds))
    left = 0.12 + INCHES_A_LETTER * max(len(label(name)) for name in names)
    top = 0.12 + 0.18 * len(golds)
    figure, axes = canvas(left + 3.6, top + height * len(names) + 0.5, left=left, right=0.25, top=top, bottom=0.46)
    thick = 0.8 / len(golds)
    told = []
    for row, name in enumerate(names):
        row_text(axes, row, label(name), bold=name in judging.verdicts[0].trusted)
        for place, gold in enumerate(golds):
            found = judging.agreement(gold, name)
            if math.isnan(found.value):
                continue
            y, colour = row - 0.4 + thick * (place + 0.5), _COLOURS[place % len(_COLOURS)]
            axes.barh(y, found.value, thick * 0.85, color=colour, alpha=0.35, linewidth=0)
            axes.plot([found.low, found.high], [y, y], "-", color=colour, linewidth=1.1)
            if found.p_adjusted < 1 - judging.level:
                outside = max(found.value, found.high) if found.value > 0 else min(found.value, found.low)
                axes.text(outside, y, " * ", color=colour, va="center", fontsize=8,
                          ha="left" if found.value > 0 else "right")  # fmt: skip
        told.append(f"{name} {number(judging.agreement(golds[0], name).value, 2)}")
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlim(-1.12, 1.12)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlabel(
        f"Kendall's tau; * Holm's p below {1 - judging.level:.2g}; lines: {level(judging.level)} intervals", color=MUTED
    )
    legend(figure, {gold: Line2D([], [], color=_COLOURS[n % len(_COLOURS)], linewidth=5, alpha=0.35)
                    for n, gold in enumerate(golds)}, left=left)  # fmt: skip
    return Drawing("taus", "", "judge-taus.svg", to_svg(figure), f"Kendall's tau with {golds[0]}: {'; '.join(told)}.")


@mpl.rc_context(SETTINGS)
def _texts(judging: Judging) -> Drawing | None:
    """Return the correlations of single texts, within generators and pooled, with intervals."""
    found = [t for t in judging.text_correlations if t.kind == "kendall" and not math.isnan(t.value)]
    within = sorted((t for t in found if t.grouping == "group by generator"), key=lambda t: -t.value)
    if not within:
        return None
    pooled = {t.evaluator: t for t in found if t.grouping == "no grouping"}
    left = 0.12 + INCHES_A_LETTER * max(len(label(t.evaluator)) for t in within)
    figure, axes = canvas(left + 3.4, 0.5 + _ROW * len(within) + 0.46, left=left, right=0.2, top=0.5, bottom=0.46)
    for row, one in enumerate(within):
        row_text(axes, row, label(one.evaluator))
        _point(axes, one, row - 0.13, INK, "o")
        if one.evaluator in pooled:
            _point(axes, pooled[one.evaluator], row + 0.17, REAL, "D")
        axes.axhline(row + 0.5, color=RULE, linewidth=0.4, zorder=0)
    ends = [abs(x) for t in (*within, *pooled.values()) for x in (t.value, t.low, t.high) if not math.isnan(x)]
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_xlim(-1.08 * max(ends), 1.08 * max(ends))
    axes.set_ylim(len(within) - 0.4, -0.6)
    axes.set_xlabel(printable(f"Kendall's tau with {judging.golds[0].name}, single texts"), color=MUTED)
    entries = {
        "texts of one generator, mean over generators": Line2D([], [], color=INK, marker="o", ms=4),
        "texts of all generators together": Line2D([], [], color=REAL, marker="D", ms=3.6),
    }
    legend(figure, entries, left=min(left, 1.6))
    told = ", ".join(f"{t.evaluator} {number(t.value, 2)}" for t in within)
    return Drawing("texts", "", "judge-texts.svg", to_svg(figure), f"Tau of single texts within generators: {told}.")


def _point(axes: Axes, found: TextCorrelation, y: float, colour: str, mark: str) -> None:
    if not math.isnan(found.low):
        axes.plot([found.low, found.high], [y, y], "-", color=colour, linewidth=1.3)
    axes.plot([found.value], [y], mark, color=colour, ms=4 if mark == "o" else 3.4, mew=0)
