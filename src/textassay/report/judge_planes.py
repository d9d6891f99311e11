"""Figures of a meta-evaluation in two dimensions: evaluators against evaluators, gold against metric, ranks."""

import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy import stats

from textassay.meta_evaluation import Evaluation, Judging
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, row_text, tick_places, with_minus
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, add_axes, canvas, to_svg
from textassay.report.words import printable

_CELL = 0.34
_MOST_PANELS = 9
_MOST_COLUMNS = 8  # evaluators whose ranks are drawn
_PANEL = 1.75


@mpl.rc_context(SETTINGS)
def draw_heat_map(judging: Judging) -> Drawing:
    """Return Kendall's tau of all golds and evaluators with one another: blue alike, orange the other way round."""
    matrix = next(matrix for matrix in judging.matrices if matrix.kind == "kendall")
    order = _order(judging)
    places = [matrix.names.index(name) for name in order]
    values, p = matrix.values[np.ix_(places, places)], matrix.p_adjusted[np.ix_(places, places)]
    n, names = len(order), [label(name) for name in order]
    longest = INCHES_A_LETTER * max(map(len, names))
    figure, axes = canvas(
        0.2 + longest + _CELL * n + 0.5 * longest, 0.3 + _CELL * n + 0.75 * longest,
        left=0.12 + longest, right=0.08 + 0.5 * longest, top=0.1 + 0.75 * longest, bottom=0.2,
    )  # fmt: skip
    alpha = 1 - judging.level
    for i in range(n):
        row_text(axes, i, names[i], bold=order[i] in {gold.name for gold in judging.golds})
        axes.text(i + 0.1, -0.62, names[i], rotation=45, rotation_mode="anchor", ha="left", va="center", color=INK)
        for j in range(n):
            value = float(values[i, j])
            if i == j or math.isnan(value):
                continue
            axes.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, facecolor=REAL if value > 0 else GENERATED,
                                     alpha=0.75 * abs(value), linewidth=0))  # fmt: skip
            sure = p[i, j] < alpha
            axes.text(j, i, with_minus(number(value, 2)).replace("0.", ".", 1), ha="center", va="center", fontsize=6.5,
                      color=INK if sure else MUTED, fontweight="bold" if sure else "normal")  # fmt: skip
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    told = "; ".join(
        f"{a} with {b} {number(float(values[0, j]), 2)}" for j, b in enumerate(order) if j for a in order[:1]
    )
    return Drawing(
        "matrix", "", "judge-matrix.svg", to_svg(figure),
        f"Kendall's tau of all evaluators with one another; bold: significant after Benjamini and Hochberg. {told}.",
    )  # fmt: skip


@mpl.rc_context(SETTINGS)
def draw_scatters(judging: Judging) -> Drawing | None:
    """Return the first gold against its best and its most contrary evaluators, a panel each, with intervals."""
    gold = judging.golds[0]
    shown = shown_evaluators(judging, _MOST_PANELS)
    if not shown:
        return None
    n_columns = min(3, len(shown))
    n_rows = math.ceil(len(shown) / n_columns)
    left, gap, bottom, top = 0.5, 0.42, 0.42, 0.26
    width = left + n_columns * (_PANEL + gap)
    keys = [f"{n} {label(name)}" for n, name in enumerate(gold.order, 1)]
    n_keys = max(1, int((width - left) / (0.25 + 0.8 * INCHES_A_LETTER * max(map(len, keys)))))  # beside each other
    panels_end = n_rows * (_PANEL + bottom + top)
    height = panels_end + 0.16 * math.ceil(len(keys) / n_keys) + 0.1
    figure = None
    for place, evaluation in enumerate(shown):
        row, column = divmod(place, n_columns)
        from_left = left + column * (_PANEL + gap)
        above = row * (_PANEL + bottom + top) + top
        right, below = width - from_left - _PANEL, height - above - _PANEL
        if figure is None:
            figure, axes = canvas(width, height, left=from_left, right=right, top=above, bottom=below)
        else:
            axes = add_axes(figure, left=from_left, right=right, top=above, bottom=below)
        _scatter(axes, gold, evaluation, judging)
        if column == 0:
            axes.set_ylabel(printable(gold.name), color=MUTED, labelpad=3)
    assert figure is not None
    for place, key in enumerate(keys):
        row, column = divmod(place, n_keys)
        across = left + column * (width - left) / n_keys
        figure.text(across / width, 1 - (panels_end + 0.16 * (row + 0.5)) / height, key, color=INK, fontsize=7)
    told = ", ".join(f"{e.name} (tau {number(judging.agreement(gold.name, e.name).value, 2)})" for e in shown)
    return Drawing(
        "scatter", gold.name, "judge-scatter.svg", to_svg(figure),
        f"{gold.name} against {told}; a point a generator, numbered from the best, with intervals over other texts.",
    )  # fmt: skip


@mpl.rc_context(SETTINGS)
def draw_ranks_by(judging: Judging) -> Drawing | None:
    """Return the ranks of all generators by the golds and the first evaluators, joined by lines."""
    columns = [*judging.golds, *shown_evaluators(judging, _MOST_COLUMNS)]
    n, n_generators = len(columns), len(judging.generators)
    if n < 2:
        return None
    ranks = np.array([stats.rankdata(-column.goodness, method="average") for column in columns])
    order = np.argsort(ranks[0], kind="stable")
    names = [label(judging.generators[place]) for place in order]
    left = 0.25 + INCHES_A_LETTER * max(map(len, names))
    longest = INCHES_A_LETTER * max(len(label(column.name)) for column in columns)
    width, height = left + 0.62 * (n - 1) + 0.55 * longest + 0.3, 0.25 * n_generators + 0.75 * longest + 0.3
    figure, axes = canvas(width, height, left=left, right=0.55 * longest + 0.3, top=0.75 * longest + 0.15, bottom=0.1)
    for position, place in enumerate(order.tolist()):
        shade = position / max(1, n_generators - 1)
        colour = REAL if shade < 1 / 3 else MUTED if shade < 2 / 3 else GENERATED
        dashes = ("-", (0, (4, 1.4)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4)))[position % 4]
        axes.plot(range(n), ranks[:, place], linestyle=dashes, color=colour, linewidth=1.3, marker="o", ms=3.6, mew=0)
        axes.annotate(names[position], (0, position + 1), (-8, 0), textcoords="offset points", ha="right",
                      va="center", color=colour)  # fmt: skip
    for place, column in enumerate(columns):
        axes.text(place, 0.35, label(column.name), rotation=45, rotation_mode="anchor", ha="left", va="center",
                  color=INK, fontweight="bold" if column in judging.golds else "normal")  # fmt: skip
        axes.axvline(place, color=RULE, linewidth=0.5, zorder=0)
    axes.set_xlim(-0.1, n - 0.9)
    axes.set_ylim(n_generators + 0.5, 0.6)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    told = "; ".join(f"by {column.name}: {', '.join(column.order)}" for column in columns)
    return Drawing("ranks", "", "judge-ranks.svg", to_svg(figure), f"Generators, the best first, {told}.")


def _order(judging: Judging) -> list[str]:
    """Return golds, then evaluators by their tau with the first gold, then those that have none."""
    verdict = judging.verdicts[0]
    return [*(gold.name for gold in judging.golds), *verdict.order, *verdict.undefined]


def shown_evaluators(judging: Judging, most: int) -> list[Evaluation]:
    """Return the evaluators to draw: the best by the first gold and, where there are more, the most contrary third."""
    order = judging.verdicts[0].order
    chosen: Sequence[str] = order if len(order) <= most else (*order[: most - most // 3], *order[-(most // 3) :])
    by_name = {evaluation.name: evaluation for evaluation in judging.evaluations}
    return [by_name[name] for name in chosen]


def _scatter(axes: Axes, gold: Evaluation, evaluation: Evaluation, judging: Judging) -> None:
    x, y = evaluation.values, gold.values
    wide, tall = evaluation.half_widths(judging.level), gold.half_widths(judging.level)
    axes.spines["left"].set_visible(True)
    axes.grid(visible=True, color=RULE, linewidth=0.4)
    axes.set_axisbelow(True)
    for place in range(len(x)):
        if not math.isnan(wide[place]):
            axes.plot([x[place] - wide[place], x[place] + wide[place]], [y[place]] * 2, "-", color=MUTED, linewidth=0.8)
        if not math.isnan(tall[place]):
            axes.plot([x[place]] * 2, [y[place] - tall[place], y[place] + tall[place]], "-", color=MUTED, linewidth=0.8)
    axes.plot(x, y, "o", color=GENERATED, ms=4, mew=0)
    for number_of, place in enumerate(np.argsort(-gold.goodness, kind="stable").tolist(), 1):
        axes.annotate(str(number_of), (x[place], y[place]), (3, 2), textcoords="offset points", fontsize=5.5, color=INK)
    tick_places(axes, x=3, y=4)
    tau = judging.agreement(gold.name, evaluation.name).value
    axes.annotate(printable(f"{label(evaluation.name)}, tau {with_minus(number(tau, 2))}"), (0, 1), (0, 5),
                  "axes fraction", "offset points", color=INK, fontweight="bold", fontsize=7.5)  # fmt: skip
    if evaluation.better == "lower":
        axes.invert_xaxis()
    if evaluation.better == "closer":
        axes.set_xlabel("difference from real text", color=MUTED, labelpad=1, fontsize=7)
