"""Figures of an analysis of judgements: how often people are right, and what they make of each generator.

Filled marks and bars count every judgement (H1), hollow ones the majority of each text (H2). Whiskers are confidence
intervals.
"""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter

from textassay.human import GeneratorVerdict, HumanAnalysis, Share
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, legend, row_text, with_minus
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, canvas, to_svg

_ROW = 0.3
_BAR = 0.36
_SIDES = (("all texts", INK), ("real text", REAL), ("generated text", GENERATED))


def draw_analysis(analysis: HumanAnalysis) -> tuple[Drawing, ...]:
    """Return the figures that an analysis allows."""
    return tuple(one for one in (draw_accuracy(analysis), draw_generators(analysis)) if one is not None)


@mpl.rc_context(SETTINGS)
def draw_accuracy(analysis: HumanAnalysis) -> Drawing | None:
    """Return bars of the accuracy on all, on real and on generated texts; None for ratings."""
    if analysis.by_majority is None:
        return None
    figure, axes = canvas(4.6, 2.5, left=0.68, right=0.62, top=0.42, bottom=0.34)
    told: list[str] = []
    names: list[str] = []
    for side, (name, colour) in enumerate(_SIDES):
        shares = [verdict.rates[side] for verdict in analysis.verdicts]
        if all(share is None for share in shares):
            continue
        place = len(names)
        names.append(name)
        for verdict, share, offset in zip(analysis.verdicts, shares, (-_BAR / 2, _BAR / 2), strict=True):
            if share is None:
                continue
            _bar(axes, place + offset, share, colour, filled=verdict is analysis.by_judgement)
            told.append(f"{verdict.name} on {name} {100 * share.value:.2f} %")
    axes.axhline(0.5, color=MUTED, linewidth=0.8, dashes=(3, 2), zorder=0)
    axes.annotate("guessing", (1, 0.5), (3, 0), ("axes fraction", "data"), "offset points", va="center", color=MUTED)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylim(0, 1)
    axes.spines["left"].set_visible(True)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_ylabel("judged right", color=MUTED, labelpad=3)
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", length=0, labelsize=8.5, labelcolor=INK)
    keys = {
        "H1: every judgement": Line2D([], [], color=MUTED, lw=5, alpha=0.75),
        "H2: majority of each text": Line2D([], [], color=MUTED, lw=0, marker="s", ms=6, mfc="none"),
    }
    legend(figure, keys, left=0.68, columns=2)
    return Drawing(
        "accuracy",
        "",
        "accuracy.svg",
        to_svg(figure),
        f"Bars of how often people judged right: {', '.join(told)}. Guessing is 50 %.",
    )


@mpl.rc_context(SETTINGS)
def draw_generators(analysis: HumanAnalysis) -> Drawing | None:
    """Return what people make of each generator, best first, over the band of real text; None where there is none."""
    first = analysis.by_judgement
    if not first.generators:
        return None
    is_vote = analysis.by_majority is not None
    sign = 1.0 if is_vote else -1.0
    rows = sorted(first.generators, key=lambda row: sign * row.share.value)
    real = first.real
    names = [label(row.generator) for row in rows] + (["real text"] if real else [])
    left = 0.14 + INCHES_A_LETTER * max(map(len, names))
    top = 0.34 if is_vote else 0.1
    figure, axes = canvas(4.9, _ROW * len(names) + top + 0.46, left=left, right=0.62, top=top, bottom=0.46)
    if real is not None and real.share.interval is not None:
        axes.axvspan(real.share.interval.low, real.share.interval.high, color=REAL, alpha=0.13, linewidth=0)
    others = (
        {} if analysis.by_majority is None else _by_name(analysis.by_majority.generators, analysis.by_majority.real)
    )
    told = []
    for row, (one, name) in enumerate(zip([*rows, *([real] if real else [])], names, strict=True)):
        colour = REAL if one is real else GENERATED
        row_text(axes, row, name, colour=REAL if one is real else INK)
        axes.axhline(row, color=RULE, linewidth=0.5, zorder=0)
        other = others.get(one.generator)
        _mark(axes, row - (0.13 if other else 0), one.share, colour, filled=True)
        if other is not None:
            _mark(axes, row + 0.16, other.share, colour, filled=False)
        shown = f"{100 * one.share.value:.1f} %" if is_vote else with_minus(number(one.share.value, 3))
        axes.annotate(shown, (1, row), (0.62 * 72 - 2, 0), ("axes fraction", "data"), "offset points",
                      ha="right", va="center", color=colour if one is real else INK)  # fmt: skip
        told.append(f"{name} {shown}")
    axes.set_ylim(len(names) - 0.4, -0.6)
    what = "judged fake (fewer is better)" if is_vote else "mean rating (more is better)"
    if is_vote:
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        keys = {
            "H1: every judgement": Line2D([], [], color=MUTED, marker="o", ms=4.2, lw=1.6),
            "H2: majority of each text": Line2D([], [], color=MUTED, marker="o", ms=4, mfc="none", lw=0.9),
        }
        legend(figure, keys, left=left, columns=2)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlabel(what, color=MUTED, labelpad=3)
    return Drawing(
        "generators", "", "generators.svg", to_svg(figure), f"Texts {what}, with intervals: {', '.join(told)}."
    )


def _by_name(rows: Sequence[GeneratorVerdict], real: GeneratorVerdict | None) -> dict[str, GeneratorVerdict]:
    return {row.generator: row for row in (*rows, *([real] if real else []))}


def _bar(axes: Axes, x: float, share: Share, colour: str, *, filled: bool) -> None:
    axes.add_patch(
        Rectangle((x - _BAR / 2 + 0.02, 0), _BAR - 0.04, share.value, facecolor=colour if filled else "none",
                  alpha=0.75 if filled else None, edgecolor=colour, linewidth=0.9)
    )  # fmt: skip
    top = share.value
    if share.interval is not None:
        top = share.interval.high
        axes.plot([x, x], [share.interval.low, top], color=INK, lw=1.1, solid_capstyle="round")
    axes.annotate(f"{100 * share.value:.1f}", (x, top), (0, 3), textcoords="offset points", ha="center", color=INK,
                  fontsize=7.5)  # fmt: skip


def _mark(axes: Axes, row: float, share: Share, colour: str, *, filled: bool) -> None:
    if share.interval is not None:
        axes.plot([share.interval.low, share.interval.high], [row, row], "-", color=colour, lw=1.6 if filled else 0.9,
                  solid_capstyle="round", clip_on=False)  # fmt: skip
    axes.plot([share.value], [row], "o", ms=4.2 if filled else 4, mfc=colour if filled else "none", mec=colour,
              mew=0 if filled else 0.9, clip_on=False)  # fmt: skip
