"""Columns of reproduced tables side by side as a picture: ours with its interval, and the published value."""

from collections.abc import Callable, Mapping, Sequence

from textassay.report.document import Figure
from textassay.report.plots import Axis, Forest, ForestRow, Mark, Reference
from textassay.report.text import number
from textassay_lab.papers.reproduction import Cell, ReproducedTable

Panel = tuple[str, str]  # a table and one of its columns


def table_figure(
    name: str,
    title: str,
    x: str,
    tables: Mapping[str, ReproducedTable],
    panels: Mapping[str, Panel],
    rows: Sequence[str],
    *,
    own_scales: bool = False,
    faint: Callable[[str, str, str], bool] | None = None,
) -> Figure | None:
    """Return a column a panel, the panel's title first, a line for each of `rows`; None where nothing is known.

    `faint` says by table, row and column which values of ours are drawn hollow, such as those not significant.
    """
    columns = {}
    for head, (table, column) in panels.items():
        cells = tables[table].cells if table in tables else ()
        known = {cell.row: cell for cell in cells if cell.column == column and cell.row in rows}
        if known and tables[table].recomputed:  # from the paper's numbers, so not ours
            known = {row: Cell(row, column, published=cell.published) for row, cell in known.items()}
        if known:
            columns[head] = known
    names = [row for row in rows if any(row in known for known in columns.values())]
    if not names:
        return None
    lines = []
    for row in names:
        marks: list[Mark] = []
        for place, (head, known) in enumerate(columns.items()):
            if row in known:
                table, column = panels[head]
                marks += _marks(known[row], place, hollow=faint is not None and faint(table, row, column))
        lines.append(ForestRow(row, tuple(marks)))
    every = [list(known.values()) for known in columns.values()]
    ends = [[x for c in cells for x in (c.ours, c.low, c.high, c.published) if x is not None] for cells in every]
    zeros = [place for place, values in enumerate(ends) if values and min(values) <= 0 <= max(values)]
    hollow = "; hollow: p above .05" if faint is not None else ""
    legend = [
        (f"here, with interval{hollow}", "ours", Mark(0.0, 0.0, 0.0, colour="ink")),
        ("published", "published", Mark(0.0, style="hollow diamond", colour="real")),
    ]
    plot = Forest(
        tuple(lines),
        Axis(x),
        panels=tuple(columns),
        references=tuple(Reference(0.0, panel=place) for place in zeros),
        legend=tuple((words, mark) for words, side, mark in legend
                     if any(getattr(cell, side) is not None for cells in every for cell in cells)),
        most_columns=4,
        own_scales=own_scales,
    )  # fmt: skip
    told = (
        f"{head}: {'; '.join(_cell_label(row, known[row]) for row in names if row in known)}"
        for head, known in columns.items()
    )
    return Figure(name, plot, f"{title}.", f"{title}. {'. '.join(told)}.")


def _marks(cell: Cell, panel: int, *, hollow: bool) -> list[Mark]:
    published = Mark(cell.published, style="hollow diamond", colour="real", panel=panel)
    ours = Mark(cell.ours, cell.low, cell.high, "hollow" if hollow else "filled", "ink", panel)
    return [mark for mark in (published, ours) if mark.value is not None]


def _cell_label(row: str, cell: Cell) -> str:
    ours = [] if cell.ours is None else [number(cell.ours, 3)]
    published = [] if cell.published is None else [f"published {number(cell.published, 3)}"]
    return f"{row} {', '.join(ours + published)}"
