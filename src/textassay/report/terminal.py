"""A document on a terminal: safe text, and tables in which no number is cut, however narrow the terminal is."""

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from copy import copy

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column as GridColumn
from rich.table import Table as Grid
from rich.text import Text

from textassay.report.document import Document, Figure, Pairs, Paragraph, Part, Pieces, Section, Terms, Texts, is_item
from textassay.report.table import ARROWS, Cell, Column, Table
from textassay.report.text import excerpt, printable, shorten

_STYLES = {"best": "bold", "good": "green", "bad": "bold red", "weak": "dim", "": ""}
_MOST_TEXTS = 5  # of a list
_MOST_PAIRS = 1
_SCORE_WIDTH = 10
_SOURCE_WIDTH = 20
_NUMBER = re.compile(r"[*\[(<>≥≤±+-]*\d[\d.,\s%±+\[\]()<>≥≤/-]*")  # a cell, or a word, that is a number
_LEAST_TEXT = 12  # letters to which a column of text may be folded before a table is broken in two
_UNBOUNDED = 100_000
_ASCII = str.maketrans(
    {"≥": ">=", "≤": "<=", "↓": "v", "↑": "^", "≈": "~", "±": "+-", "…": "...", "·": "-", "\N{EN DASH}": "-"}
)


def memory_console() -> Console:
    """Return a console of 80 columns that writes plain text into memory, for `printed`, also in a notebook."""
    return Console(file=io.StringIO(), width=80, force_jupyter=False, force_terminal=False)


def printed(document: Document, console: Console) -> str:
    """Return what a document is on a console in memory, without what is marked as extra."""
    print_document(document, console, everything=False)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


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
    elif isinstance(part, Pairs):
        _print_pairs(part, console)
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
    text = _note(part.text, console) if part.kind == "note" else safe(console, part.text)
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
        console.print(Padding(_note(note, console), (0, 0, 0, 2), expand=False))


def _note(text: str, console: Console) -> Text:
    """Return a note; what is bold elsewhere has a star on a terminal, which may have no bold letters."""
    return safe(console, re.sub("[Bb]old: ", "* ", text), "dim")


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
        text.append_text(safe(console, f" {_spread(cell)}", "dim"))
    if cell.below:
        text.append_text(safe(console, f"\n{cell.below}", "dim"))
    return text


def _spread(cell: Cell) -> str:
    """Return what stands behind a value: of an interval that begins or ends at the value, the other end alone."""
    low, _, high = cell.spread.strip("[]").partition(", ")
    if cell.spread.startswith("[") and cell.text in (low, high):
        return f"≥{low}" if cell.text == high else f"≤{high}"
    return cell.spread


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
            source = f"{shorten(entry.source, _SOURCE_WIDTH)}: " if entry.source else ""
            room = max(20, console.width - _SCORE_WIDTH - len(source))
            text = source + (excerpt(entry.text, room, part.phrases_in(entry)) or "(empty)")
            grid.add_row(safe(console, _score(entry.score), "dim"), safe(console, text))
        print_table(console, grid)


def _print_pairs(part: Pairs, console: Console) -> None:
    for pair in part.entries[:_MOST_PAIRS]:
        console.print(Padding(safe(console, ": ".join(filter(None, (pair.source, pair.label)))), (0, 0, 0, 2)))
        grid = label_grid()
        for side, pieces in zip(part.sides, (pair.left, pair.right), strict=True):
            grid.add_row(safe(console, side, "dim"), safe(console, with_marks(pieces)))
        print_table(console, grid, indent=4)


def with_marks(pieces: Pieces) -> str:
    """Return a text with marked pieces in brackets."""
    return "".join(_bracketed(text) if is_marked else text for text, is_marked in pieces)


def _bracketed(text: str) -> str:
    bare = text.rstrip()
    return f"[{bare}]{text[len(bare) :]}" if bare else text


def _score(score: float | None) -> str:
    """Return a probability of which neither end is shown as certain."""
    if score is None:
        return ""
    return "<0.001" if score < 0.001 else ">0.999" if score > 0.999 else f"{score:.3f}"


def safe(console: Console, text: str, style: str = "") -> Text:
    """Return `text` for this console, line breaks kept, with nothing in it that could steer a terminal."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return Text(lines.translate(_ASCII) if console.options.ascii_only else lines, style)


def heading(console: Console, text: str) -> None:
    """Print an empty line and `text` as a heading."""
    console.print()
    console.print(safe(console, text, "bold underline" if console.is_terminal else "bold"))


def label_grid() -> Grid:
    """Return a table without lines for labels and texts."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def print_table(console: Console, table: Grid, *, indent: int = 2, below: int = 0) -> None:
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


def _broken(console: Console, table: Grid, room: int) -> list[Grid]:
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


def _is_of_numbers(column: GridColumn) -> bool:
    """Return whether the cells of a column must stay whole: those on the right, and those that are mostly numbers."""
    cells = [text for cell in column.cells if (text := _plain(cell).strip())]
    n_numbers = sum(_NUMBER.fullmatch(text) is not None for text in cells)
    return column.justify == "right" or (column.max_width is None and 2 * n_numbers > len(cells))


def _is_decoration(column: GridColumn) -> bool:
    """Return whether a column holds nothing to read, as bars do."""
    return not any(letter.isalnum() for cell in (column.header, *column.cells) for letter in _plain(cell))


def _groups(table: Grid) -> list[list[int]]:
    """Return the columns behind the first, each with those behind it that have no header of their own."""
    groups: list[list[int]] = []
    for place, column in enumerate(table.columns):
        if place and groups and table.show_header and not _plain(column.header).strip():
            groups[-1].append(place)
        elif place:
            groups.append([place])
    return groups


def _least_width(console: Console, table: Grid, rigid: Sequence[bool]) -> int:
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


def _part(table: Grid, places: Sequence[int], rigid: Sequence[bool], *, wrap_headers: bool = False) -> Grid:
    """Return the columns of `table` at `places`; those that are `rigid` never shrink."""
    part = Grid(
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


def _wrapped(column: GridColumn) -> RenderableType:
    """Return the header of a column broken at spaces to the width of its cells, or of its longest word."""
    lines = _plain(column.header).split("\n")
    words = [cell_len(word) for line in lines for word in line.split()]
    width = max((*words, *(cell_len(_plain(cell)) for cell in column.cells)), default=1)
    text = "\n".join(
        textwrap.fill(line, max(1, width), break_long_words=False, break_on_hyphens=False) for line in lines
    )
    return Text(text, column.header.style) if isinstance(column.header, Text) else text


def _listed(table: Grid, width: int, indent: int) -> Iterator[str]:
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
