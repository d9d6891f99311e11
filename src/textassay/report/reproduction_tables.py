"""Columns of reproduced tables as a figure: a panel a column, a line a row, ours with its interval, the published one.

The same rows stand in all panels, named once on the left.
"""

import math
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from textassay.meta_evaluation import Cell, ReproducedTable, TableFigure
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, legend, row_text, tick_places, with_minus
from textassay.report.svg import INK, MUTED, REAL, RULE, SETTINGS, add_axes, canvas, to_svg
from textassay.report.words import printable

_ROW = 0.22
_PANEL, _GAP, _RIGHT = 1.6, 0.22, 0.2
_TOP, _BOTTOM = 0.52, 0.46


@mpl.rc_context(SETTINGS)
def draw_table_figure(drawn: TableFigure, tables: Sequence[ReproducedTable]) -> Drawing | None:
    """Return the figure, without the rows that no panel has; None where none is left."""
    by_id = {table.id: table for table in tables}
    columns = [
        {cell.row: cell for cell in by_id[panel.table].cells if cell.column == panel.column}
        if panel.table in by_id
        else {}
        for panel in drawn.panels
    ]
    rows = [row for row in drawn.rows if any(row in column for column in columns)]
    if not rows:
        return None
    left = 0.14 + INCHES_A_LETTER * max(len(label(row)) for row in rows)
    width = left + len(columns) * (_PANEL + _GAP) - _GAP + _RIGHT
    height = _TOP + _ROW * len(rows) + _BOTTOM
    first = None
    told = []
    for place, (panel, column) in enumerate(zip(drawn.panels, columns, strict=True)):
        start = left + place * (_PANEL + _GAP)
        margins = {"left": start, "right": width - start - _PANEL, "top": _TOP, "bottom": _BOTTOM}
        if first is None:
            figure, axes = canvas(width, height, **margins)
            first = axes
            for line, row in enumerate(rows):
                row_text(axes, line, label(row))
        else:
            axes = add_axes(figure, **margins, beside=first if drawn.shared else None)
        starred = {row for table, row, name in drawn.starred if (table, name) == (panel.table, panel.column)}
        _draw(axes, [column.get(row) for row in rows], [row in starred for row in rows])
        _finish(axes, len(rows), list(column.values()))
        axes.annotate(printable(panel.title), (0, 1), (0, 5), "axes fraction", "offset points", color=INK,
                      fontweight="bold")  # fmt: skip
        told.append(f"{panel.title}: {'; '.join(_told(row, column[row]) for row in rows if row in column)}")
    figure.text((left + width - _RIGHT) / 2 / width, 0.06 / height, printable(drawn.x), color=MUTED, ha="center")
    cells = [cell for column in columns for cell in column.values()]
    entries = {}
    if any(cell.ours is not None for cell in cells):
        entries["here, with interval" + ("; * p at most .05" if drawn.starred else "")] = _key(
            color=INK, marker="o", ms=4.2
        )
    if any(cell.published is not None for cell in cells):
        entries["published"] = _key(color=REAL, marker="D", mfc="none", ms=5.5, mew=1.1, linestyle="none")
    legend(figure, entries, columns=2, left=left)
    return Drawing(
        "table", "", f"{drawn.name}.svg", to_svg(figure), f"{drawn.title}. {'. '.join(told)}."
    )  # fmt: skip


def _draw(axes: Axes, cells: Sequence[Cell | None], starred: Sequence[bool]) -> None:
    """Draw a panel: few elements for many cells, so that files stay small."""
    known = [(line, cell) for line, cell in enumerate(cells) if cell is not None]
    printed = [(cell.published, line) for line, cell in known if cell.published is not None]
    if printed:
        axes.plot(*zip(*printed, strict=True), "D", mfc="none", mec=REAL, ms=5.5, mew=1.1, clip_on=False)
    spans = [(line, c.low, c.high) for line, c in known if c.low is not None and c.high is not None]
    if spans:
        xs = [x for _, low, high in spans for x in (low, high, math.nan)]
        axes.plot(xs, [line for line, _, _ in spans for _ in range(3)], "-", color=INK, linewidth=1.3, clip_on=False)
    ours = [(cell.ours, line) for line, cell in known if cell.ours is not None]
    if ours:
        axes.plot(*zip(*ours, strict=True), "o", color=INK, ms=3.8, mew=0, clip_on=False)
    for line, cell in known:
        if starred[line] and cell.ours is not None:
            known_ends = [x for x in (cell.ours, cell.low, cell.high, cell.published) if x is not None]
            outer, aside, align = (max(known_ends), 4, "left") if cell.ours > 0 else (min(known_ends), -4, "right")
            axes.annotate("*", (outer, line), (aside, -4), textcoords="offset points", ha=align, color=INK)


def _finish(axes: Axes, n_rows: int, cells: Sequence[Cell]) -> None:
    """Set limits and ticks; where numbers lie on both sides of 0, or near it, 0 is drawn."""
    known = [x for cell in cells for x in (cell.ours, cell.low, cell.high, cell.published) if x is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    low = 0.0 if 0 < low < 0.5 * high else low
    before = axes.get_xlim() if axes.get_autoscalex_on() is False else (low, high)
    pad = 0.04 * (max(high, before[1]) - min(low, before[0]) or 1.0)
    axes.set_xlim(min(low - pad * (low != 0), before[0]), max(high + pad, before[1]))
    if low <= 0 <= high:
        axes.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_ylim(n_rows - 0.4, -0.6)
    tick_places(axes, x=4)
    axes.set_yticks([])
    rules = [y for line in range(n_rows) for y in (line, line, math.nan)]
    axes.plot([0, 1, math.nan] * n_rows, rules, "-", color=RULE, linewidth=0.5, zorder=0,
              transform=axes.get_yaxis_transform())  # fmt: skip


def _told(row: str, cell: Cell) -> str:
    ours = "" if cell.ours is None else with_minus(number(cell.ours, 3))
    published = "" if cell.published is None else f"published {with_minus(number(cell.published, 3))}"
    return f"{row} {', '.join(filter(None, (ours, published)))}"


def _key(**look: object) -> Line2D:
    return Line2D([], [], **look)  # type: ignore[arg-type]
