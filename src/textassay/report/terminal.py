"""A document on a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from textassay.report.console import ARROWS, heading, label_grid, print_table, safe
from textassay.report.document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Section,
    Table,
    Terms,
    Texts,
    is_item,
)
from textassay.report.words import excerpt

_STYLES = {"best": "bold", "good": "green", "bad": "bold red", "weak": "dim", "": ""}
_MOST_TEXTS = 5  # of a list
_SCORE_WIDTH = 10


def print_document(document: Document, console: Console, *, everything: bool = True) -> None:
    """Print a document on `console`, in its width: the answer first; figures are left to other renderers.

    Without `everything`, what is marked as extra is left out.
    """
    for place, sentence in enumerate(document.answer):
        console.print(safe(console, sentence, "" if place else "bold"))
    if document.facts:
        console.print()
        _print_terms(document.facts, console, indent=0)
    for section in document.sections:
        if everything or not section.extra:
            _print_section(section, console, everything=everything)


def print_part(part: Part, console: Console, *, everything: bool = True) -> None:
    """Print one part of a document."""
    if isinstance(part, Section):
        if everything or not part.extra:
            _print_section(part, console, everything=everything)
    elif isinstance(part, Paragraph):
        _print_paragraph(part, console)
    elif isinstance(part, Terms):
        _print_terms(part.items, console)
    elif isinstance(part, Table):
        if everything or not part.extra:
            _print_table(part, console)
    elif isinstance(part, Texts):
        _print_texts(part, console)
    else:
        assert isinstance(part, Figure)


def _print_section(section: Section, console: Console, *, everything: bool) -> None:
    printed = [
        part
        for part in section.parts
        if not isinstance(part, Figure) and (everything or not getattr(part, "extra", False))
    ]
    if not printed:
        return
    if section.title:
        heading(console, section.title)
    for place, part in enumerate(printed):
        if isinstance(part, Terms) and place and is_item(printed[place - 1]):
            _print_terms(part.items, console, indent=4)
        else:
            print_part(part, console, everything=everything)


def _print_paragraph(part: Paragraph, console: Console) -> None:
    if part.kind == "code":
        console.print(Text("    ") + safe(console, part.text), soft_wrap=True)
        return
    if is_item(part):
        grid = Grid.grid(padding=(0, 1, 0, 0))
        grid.add_row(safe(console, "·"), safe(console, part.text, "bold" if part.kind == "warning" else ""))
        print_table(console, grid)
        return
    text = safe(console, part.text, "dim" if part.kind == "note" else "")
    console.print(Padding(text, (0, 0, 0, 2), expand=False))


def _print_terms(items: Sequence[tuple[str, str]], console: Console, *, indent: int = 2) -> None:
    grid = label_grid()
    for label, text in items:
        grid.add_row(safe(console, label, "dim"), safe(console, text))
    print_table(console, grid, indent=indent)


def _print_table(table: Table, console: Console) -> None:
    grid = _grid(table, shown_columns(table, console), console)
    console.print()
    if table.title:
        console.print(Padding(safe(console, table.title, "bold"), (0, 0, 0, 2), expand=False))
    print_table(console, grid)
    for note in table.notes:
        console.print(Padding(safe(console, note, "dim"), (0, 0, 0, 2), expand=False))


def shown_columns(table: Table, console: Console) -> list[int]:
    """Return the places of the columns that are printed: of a table that `fits`, those for which there is room."""
    places = [place for place, column in enumerate(table.columns) if not column.hidden]
    while table.fits and len(places) > 2 and _width(_grid(table, places, console), console) > console.width - 2:
        places.pop()
    return places


def _width(grid: Grid, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), grid).maximum


def _grid(table: Table, shown: Sequence[int], console: Console) -> Grid:
    """Return the columns of a table at the places `shown`."""
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim",
                show_header=any(table.columns[place].name for place in shown))  # fmt: skip
    grouped = any(table.columns[place].group for place in shown)
    previous = ""
    for place in shown:
        column = table.columns[place]
        group = "" if column.group == previous else column.group
        previous = column.group
        head = _head(column, group if grouped else None)
        if column.numeric:
            grid.add_column(safe(console, head), justify="right", no_wrap=True)
        else:
            grid.add_column(safe(console, head), overflow="fold")
    for row in table.rows:
        if row.kind == "heading":
            grid.add_row(safe(console, row.cells[0].text, "bold"))
            continue
        style = "dim" if row.kind == "reference" else ""
        grid.add_row(*(_cell(row.cells[place], console, style) for place in shown))
    return grid


def _head(column: Column, group: str | None) -> str:
    arrow = f" {ARROWS[column.better]}" if column.better and ARROWS[column.better] else ""
    if group is None:
        return column.name + arrow
    return f"{group}{arrow if group else ''}\n{column.name if column.group else column.name + arrow}"


def _cell(cell: Cell, console: Console, style: str) -> Text:
    star = "*" if cell.tone == "best" else ""
    text = safe(console, star + cell.text, _STYLES[cell.tone] or style)
    if cell.spread:
        text.append_text(safe(console, f" {cell.spread}", "dim"))
    if cell.below:
        text.append_text(safe(console, f"\n{cell.below}", "dim"))
    return text


def _print_texts(part: Texts, console: Console) -> None:
    for group in dict.fromkeys(entry.group for entry in part.entries):
        entries = [entry for entry in part.entries if entry.group == group]
        console.print()
        title = ": ".join(filter(None, (part.title, group)))
        console.print(safe(console, f"{title} ({part.score})" if part.score else title, "bold"))
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(no_wrap=True)
        for entry in entries[:_MOST_TEXTS]:
            text = excerpt(entry.text, max(20, console.width - _SCORE_WIDTH), part.phrases) or "(empty)"
            grid.add_row(safe(console, _score(entry.score), "dim"), safe(console, text))
        print_table(console, grid)


def _score(score: float | None) -> str:
    """Return a probability of which neither end is shown as certain."""
    if score is None:
        return ""
    return "<0.001" if score < 0.001 else ">0.999" if score > 0.999 else f"{score:.3f}"
