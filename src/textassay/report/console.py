"""The parts that everything printed on a terminal shares: safe text, headings, arrows, tables with whole numbers."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from copy import copy

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from textassay.report.words import printable

ARROWS = {"lower": "↓", "higher": "↑", "closer": "≈", "neither": ""}
_NUMBER = re.compile(r"[*\[(<>±+-]*\d[\d.,\s%±+\[\]()<>/-]*")  # a cell, or a word, that is a number
_LEAST_TEXT = 12  # letters to which a column of text may be folded before a table is broken in two
_UNBOUNDED = 100_000
_ASCII = str.maketrans({"↓": "v", "↑": "^", "≈": "~", "±": "+-", "…": "...", "·": "-", "\N{EN DASH}": "-"})


def safe(console: Console, text: str, style: str = "") -> Text:
    """Return `text` for this console, line breaks kept, with nothing in it that could steer a terminal."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return Text(lines.translate(_ASCII) if console.options.ascii_only else lines, style)


def heading(console: Console, text: str) -> None:
    """Print an empty line and `text` as a heading."""
    console.print()
    console.print(safe(console, text, "bold underline" if console.is_terminal else "bold"))


def label_grid() -> Table:
    """Return a table without lines for labels and texts."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def print_table(console: Console, table: Table, *, indent: int = 2, below: int = 0) -> None:
    """Print `table` so that no number in it is cut or broken, however narrow the console is.

    Columns of numbers keep their width and columns of text are folded. Where that is not enough, headers are wrapped,
    then the table is broken in several, each with the first column, and at last every row becomes a list.
    """
    parts = _broken(console, table, console.width - indent)
    for part in parts or []:
        console.print(Padding(part, (0, 0, below if part is parts[-1] else 1, indent), expand=False))
    if not parts:
        for line in _listed(table, console.width, indent):
            console.print(Text(line), soft_wrap=True)


def _broken(console: Console, table: Table, room: int) -> list[Table]:
    """Return `table` in as few parts as fit `room`; none where even one column of numbers does not."""
    if Measurement.get(console, console.options.update(max_width=_UNBOUNDED), table).maximum <= room:
        return [table]
    rigid = [_is_of_numbers(column) for column in table.columns]
    if _least_width(console, table, rigid) <= room:
        return [_part(table, range(len(table.columns)), rigid)]
    kept = [place for place, column in enumerate(table.columns) if not _is_decoration(column)]
    whole = _part(table, kept, rigid, wrap_headers=True)
    rigid = [rigid[place] for place in kept]
    if _least_width(console, whole, rigid) <= room:
        return [whole]
    parts: list[list[int]] = []
    for group in _groups(whole):
        longer = [*parts[-1], *group] if parts else [0, *group]
        if parts and _least_width(console, _part(whole, longer, rigid), [rigid[place] for place in longer]) <= room:
            parts[-1] = longer
        else:
            parts.append([0, *group])
    tables = [_part(whole, places, rigid) for places in parts]
    widths = [
        _least_width(console, part, [rigid[place] for place in places])
        for part, places in zip(tables, parts, strict=True)
    ]
    return tables if max(widths, default=room + 1) <= room else []


def _is_of_numbers(column: Column) -> bool:
    """Return whether the cells of a column must stay whole: those on the right, and those that are mostly numbers."""
    cells = [text for cell in column.cells if (text := _plain(cell).strip())]
    n_numbers = sum(_NUMBER.fullmatch(text) is not None for text in cells)
    return column.justify == "right" or (column.max_width is None and 2 * n_numbers > len(cells))


def _is_decoration(column: Column) -> bool:
    """Return whether a column holds nothing to read, as bars do."""
    return not any(letter.isalnum() for cell in (column.header, *column.cells) for letter in _plain(cell))


def _groups(table: Table) -> list[list[int]]:
    """Return the columns behind the first, each with those behind it that have no header of their own."""
    groups: list[list[int]] = []
    for place, column in enumerate(table.columns):
        if place and groups and table.show_header and not _plain(column.header).strip():
            groups[-1].append(place)
        elif place:
            groups.append([place])
    return groups


def _least_width(console: Console, table: Table, rigid: Sequence[bool]) -> int:
    """Return the width below which a number would be broken, or a text folded to almost nothing."""
    options = console.options.update(max_width=_UNBOUNDED)
    width = Measurement.get(console, options, table).maximum
    for column, is_rigid in zip(table.columns, rigid, strict=True):
        if not is_rigid:
            cells = [_plain(column.header), *map(_plain, column.cells)]
            lines = [cell_len(line) for cell in cells for line in cell.split("\n")]
            widest = min(max(lines), column.max_width or _UNBOUNDED)
            numbers = [cell_len(word) for cell in cells for word in cell.split() if _NUMBER.fullmatch(word)]
            width -= widest - min(widest, max(_LEAST_TEXT, column.min_width or 0, *numbers))
    return width


def _part(table: Table, places: Sequence[int], rigid: Sequence[bool], *, wrap_headers: bool = False) -> Table:
    """Return the columns of `table` at `places`; those that are `rigid` never shrink."""
    part = Table(
        box=table.box,
        show_edge=table.show_edge,
        show_header=table.show_header,
        pad_edge=table.pad_edge,
        padding=table.padding,
        collapse_padding=table.collapse_padding,
        header_style=table.header_style,
    )
    for place in places:
        column = copy(table.columns[place])
        header = column.header
        if wrap_headers and rigid[place]:
            header = _wrapped(column)
        part.add_column(
            header,
            justify=column.justify,
            vertical=column.vertical,
            style=column.style,
            header_style=column.header_style,
            min_width=column.min_width if rigid[place] or not wrap_headers else None,
            max_width=column.max_width,
            no_wrap=rigid[place],
            overflow="fold",
        )
    cells = [list(table.columns[place].cells) for place in places]
    for number, row in enumerate(table.rows):
        part.add_row(*(column[number] for column in cells), style=row.style, end_section=row.end_section)
    return part


def _wrapped(column: Column) -> RenderableType:
    """Return the header of a column broken at spaces to the width of its cells, or of its longest word."""
    lines = _plain(column.header).split("\n")
    words = [cell_len(word) for line in lines for word in line.split()]
    width = max((*words, *(cell_len(_plain(cell)) for cell in column.cells)), default=1)
    text = "\n".join(
        textwrap.fill(line, max(1, width), break_long_words=False, break_on_hyphens=False) for line in lines
    )
    return Text(text, column.header.style) if isinstance(column.header, Text) else text


def _listed(table: Table, width: int, indent: int) -> Iterator[str]:
    """Yield the rows below one another, a line a cell, each behind its header; a line may be too long for a number."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    headers = [" ".join(_plain(column.header).split()) if table.show_header else "" for column in table.columns]
    for number in range(len(table.rows)):
        for place, column in enumerate(columns):
            before = " " * (indent + 2 * (place > 0))
            header = f"{headers[place]}: " if place and headers[place] else ""
            cell = column[number]
            if place and not any(map(str.isalnum, cell)):
                continue
            if _NUMBER.fullmatch(cell) and cell_len(before + header + cell) <= width:
                yield before + header + cell
            elif _NUMBER.fullmatch(cell):
                yield from (before + header.rstrip(), before + cell) if header else (before + cell,)
            else:
                yield from textwrap.wrap(
                    header + cell, max(1, width - len(before) - 2), initial_indent=before,
                    subsequent_indent=before + "  ", break_long_words=False, break_on_hyphens=False,
                )  # fmt: skip


def _plain(cell: RenderableType) -> str:
    """Return a cell's text without styles."""
    return cell.plain if isinstance(cell, Text) else Text.from_markup(cell).plain if isinstance(cell, str) else ""
