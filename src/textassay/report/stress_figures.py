"""What damage does to every metric, as two figures: a map of sensitivity, and the curves of each damage.

Effects are in standard errors of the metric, so that metrics can be compared. Scales are logarithmic beyond one.
"""

import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from textassay.meta_evaluation import DamageCurve, Stress
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, legend, row_text, with_minus
from textassay.report.stress_text import verdict_text
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, add_axes, canvas, to_svg

_CELL, _ROW = 0.62, 0.21  # inches
_MOST = 300.0  # standard errors per unit of strength that have the full colour
_KINDS = {
    "classifier": ("dd",),
    "overlap with real text": ("bleu", "bleu-nearest", "rouge", "meteor", "cider", "cider-d"),
    "variety": ("self-bleu", "distinct-n", "compression-ratio", "zipf", "vocabulary", "length"),
    "sentence vectors": ("fed", "mmd", "mauve", "precision", "recall", "density", "coverage"),
    "language model": ("lm-score", "reverse-lm-score"),
}
_REST = "other"
_CAPTION = "Number: the smallest share that is told. Blue: worse with damage; orange: better; grey: unsure; white: not."
# Okabe and Ito's hues, darkened until they read as thin lines on white; and what tells kinds apart without colour.
_LOOKS = dict(
    zip(
        (*_KINDS, _REST),
        ((INK, "-"), (GENERATED, "-"), (REAL, "-"), ("#00795a", "--"), ("#a8477f", "-."), (MUTED, ":")),
        strict=True,
    )
)


def draw_stress(stress: Stress) -> list[Drawing]:
    """Return the map of sensitivity and the curves; none where nothing was measured."""
    if not stress.curves:
        return []
    return [_draw_map(stress), _draw_curves(stress)]


@mpl.rc_context(SETTINGS)
def _draw_map(stress: Stress) -> Drawing:
    n_rows, n_columns = len(stress.metrics), len(stress.damages)
    left = 0.2 + INCHES_A_LETTER * max(map(len, stress.metrics))
    top = 0.2 + 0.72 * INCHES_A_LETTER * max(map(len, stress.damages))
    width, height = left + _CELL * n_columns + 0.8, top + _ROW * n_rows + 0.4
    figure, axes = canvas(width, height, left=left, right=0.8, top=top, bottom=0.4)
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.set_axis_off()
    for row, metric in enumerate(stress.metrics):
        row_text(axes, row + 0.5, metric)
        for column, damage in enumerate(stress.damages):
            curve = stress.of(metric, damage)
            axes.add_patch(
                mpl.patches.Rectangle((column, row), 1, 1, facecolor=_colour(curve), edgecolor="#ffffff", linewidth=1.0)
            )
            axes.text(column + 0.5, row + 0.5, verdict_text(curve).replace("WRONG ", "").replace("-", ""), ha="center",
                      va="center", fontsize=7, color=INK)  # fmt: skip
    for column, damage in enumerate(stress.damages):
        axes.text(column + 0.4, -0.25, damage, rotation=45, ha="left", va="bottom", color=INK)
    axes.text(0, n_rows + 0.5, _CAPTION, ha="left", va="top", color=MUTED)
    told = (
        "Map of metrics (rows) and damages (columns). Blue: the metric gets worse with damage, orange: better, white: "
        "it does not move; the stronger the colour, the more standard errors per unit of strength. Numbers: the "
        "smallest share of damage that is told from real text."
    )
    return Drawing("map", "", "stress-map.svg", to_svg(figure), told)


def _colour(curve: DamageCurve) -> tuple[float, ...]:
    """Return white for what does not move, and more and more of a hue for what does."""
    if curve.verdict in ("unknown", "either way"):
        return to_rgb("#e9ebee")
    if curve.verdict == "blind" or not curve.sensitivity:
        return to_rgb("#ffffff")
    share = min(1.0, math.log1p(abs(curve.sensitivity)) / math.log1p(_MOST))
    hue = np.array(to_rgb(REAL if curve.sensitivity > 0 else GENERATED))
    return tuple((1 - 0.75 * share * (1 - hue)).tolist())


@mpl.rc_context(SETTINGS)
def _draw_curves(stress: Stress) -> Drawing:
    n_columns = min(4, len(stress.damages))
    n_rows = math.ceil(len(stress.damages) / n_columns)
    left, gap, bottom, top, panel_width, panel_height = 0.62, 0.12, 0.42, 0.55, 1.75, 1.35
    step = panel_height + 0.3
    width, height = left + n_columns * (panel_width + gap), top + n_rows * step + bottom - 0.2
    first: Axes | None = None
    figure = None
    lowest, highest = _limits(stress.curves)
    for place, damage in enumerate(stress.damages):
        row, column = divmod(place, n_columns)
        x, y = left + column * (panel_width + gap), top + row * step + 0.1
        margins = {"left": x, "right": width - x - panel_width, "top": y, "bottom": height - y - panel_height}
        if first is None or figure is None:
            figure, axes = canvas(width, height, **margins)
            axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
            axes.set_ylim(lowest, highest)
            axes.set_xlim(0, 1.04 * max(stress.strengths))
            first = axes
        else:
            axes = add_axes(figure, **margins, beside=first)
        _draw_panel(axes, stress, damage)
        axes.tick_params(labelleft=column == 0, labelbottom=place + n_columns >= len(stress.damages))
        axes.annotate(damage, (0, 1), (0, 4), "axes fraction", "offset points", color=INK, fontweight="bold")
    assert first is not None
    assert figure is not None
    ticks = [sign * 10.0**k for k in (0, 1, 2, 3, 4) for sign in (-1, 1)]
    shown = sorted({0.0, *(tick for tick in ticks if lowest < tick < highest)})
    first.set_yticks(shown, [with_minus(f"{tick:g}") for tick in shown])
    first.minorticks_off()
    places = [0.0, max(stress.strengths) / 2, max(stress.strengths)]
    first.set_xticks(places, [f"{place:g}" for place in places])
    figure.text(0.06 / width, 0.5, "worse, in standard errors of the metric", color=MUTED, rotation=90, va="center")
    figure.text((left + width) / 2 / width, 0.05 / height, "strength: share that is damaged", color=MUTED, ha="center")
    kinds = list(dict.fromkeys(map(_kind, stress.metrics)))
    entries = {kind: Line2D([], [], color=_LOOKS[kind][0], ls=_LOOKS[kind][1]) for kind in _LOOKS if kind in kinds}
    legend(figure, entries, left=left, columns=3)
    told = (
        f"Curves of {len(stress.metrics)} metrics against the strength of damage, one panel a damage: "
        f"{', '.join(stress.damages)}. Above 0 the metric gets worse, below 0 it gets better."
    )
    return Drawing("curve", "", "stress-curves.svg", to_svg(figure), told)


def _draw_panel(axes: Axes, stress: Stress, damage: str) -> None:
    axes.spines["left"].set_visible(True)
    axes.grid(visible=True, color=RULE, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    for metric in stress.metrics:
        curve = stress.of(metric, damage)
        if curve.noise:
            colour, dash = _LOOKS[_kind(metric)]
            heights = [0.0, *(effect / curve.noise for effect in curve.effects)]
            axes.plot([0, *curve.strengths], heights, dash, color=colour, linewidth=0.9, alpha=0.85)


def _limits(curves: Sequence[DamageCurve]) -> tuple[float, float]:
    """Return the limits of the heights, in standard errors."""
    heights = [effect / curve.noise for curve in curves if curve.noise for effect in curve.effects]
    return min([-3.0, *(1.5 * h for h in heights if h < 0)]), max([3.0, *(1.5 * h for h in heights if h > 0)])


def _kind(metric: str) -> str:
    base = metric.split("(")[0]
    return next((kind for kind, names in _KINDS.items() if base in names), _REST)
