"""What evaluators say of every generator: one panel of bars an evaluator, generators in the order of the gold."""

import math

import matplotlib as mpl
import numpy as np

from textassay.meta_evaluation import Judging
from textassay.report.judge_planes import shown_evaluators
from textassay.report.number import level, number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, row_text, tick_places, with_minus
from textassay.report.svg import GENERATED, INK, MUTED, REAL, SETTINGS, add_axes, canvas, to_svg
from textassay.report.words import printable

_ROW = 0.2
_PANEL = 1.15
_GAP = 0.22
_MOST_COLUMNS = 4
_MOST_PANELS = 10  # evaluators beside the golds


@mpl.rc_context(SETTINGS)
def draw_values(judging: Judging) -> Drawing:
    """Return the values of golds and evaluators as bars with intervals over other texts; a line is real text."""
    golds = judging.golds
    columns = [*golds, *shown_evaluators(judging, _MOST_PANELS)]
    order = np.argsort(-golds[0].goodness, kind="stable").tolist()
    names = [label(judging.generators[place]) for place in order]
    left, top, bottom = 0.12 + INCHES_A_LETTER * max(map(len, names)), 0.3, 0.3
    n_columns = min(_MOST_COLUMNS, len(columns))
    n_rows = math.ceil(len(columns) / n_columns)
    each = top + _ROW * len(names) + bottom
    width, height = left + n_columns * (_PANEL + _GAP), n_rows * each
    figure = None
    told = []
    for place, column in enumerate(columns):
        row, across = divmod(place, n_columns)
        from_left, above = left + across * (_PANEL + _GAP), row * each + top
        right, below = width - from_left - _PANEL, height - above - _ROW * len(names)
        if figure is None:
            figure, axes = canvas(width, height, left=from_left, right=right, top=above, bottom=below)
        else:
            axes = add_axes(figure, left=from_left, right=right, top=above, bottom=below)
        values, arms = column.values[order], column.half_widths(judging.level)[order]
        colour = INK if column in golds else GENERATED
        axes.barh(range(len(names)), values, 0.72, color=colour, alpha=0.4, linewidth=0)
        for y, (value, arm) in enumerate(zip(values.tolist(), arms.tolist(), strict=True)):
            if not math.isnan(arm):
                axes.plot([value - arm, value + arm], [y, y], "-", color=colour, linewidth=1.0)
            if across == 0:
                row_text(axes, y, names[y])
        if column.floor is not None:
            axes.axvline(column.floor, color=REAL, linewidth=0.9, dashes=(3, 2))
        axes.axvline(0, color=MUTED, linewidth=0.6)
        axes.set_ylim(len(names) - 0.4, -0.6)
        tick_places(axes, x=3)
        axes.set_yticks([])
        axes.annotate(printable(label(column.name)), (0, 1), (0, 5), "axes fraction", "offset points", color=INK,
                      fontweight="bold", fontsize=7.5)  # fmt: skip
        told.append(f"{column.name}: {', '.join(with_minus(number(value, 3)) for value in values.tolist())}")
    assert figure is not None
    return Drawing(
        "values", "", "judge-values.svg", to_svg(figure),
        f"Values of {', '.join(names)}, the best by {golds[0].name} first, with {level(judging.level)} intervals over "
        f"other texts; dashed: real text. {'; '.join(told)}.",
    )  # fmt: skip
