"""A document as Markdown, with nothing in it that Markdown or HTML would interpret."""

from collections.abc import Iterator, Sequence

from textassay.report.document import Document, Pairs, Paragraph, Part, Section, Terms, Texts, is_item, without_extras
from textassay.report.table import ARROWS, Cell, Column, Table
from textassay.report.terminal import with_marks
from textassay.report.text import excerpt, printable

_TEXT_WIDTH = 160
_MOST_TEXTS = 5
_MOST_PAIRS = 20


def to_markdown(document: Document, *, figures: str | None = "figures", everything: bool = True, depth: int = 1) -> str:
    """Return the document; `figures` is the folder of the figures beside it, none to leave them out.

    Without `everything`, what is marked as extra is left out. `depth` is that of the title's heading.
    """
    if not everything:
        document = without_extras(document)
    lines = [f"{'#' * depth} {escaped(document.title)}"]
    if document.answer:
        lines += ["", " ".join(map(escaped, document.answer))]
    if document.facts:
        lines += ["", *(f"- {escaped(label)}: {escaped(text)}" for label, text in document.facts)]
    for section in document.sections:
        lines += _section(section, depth + 1, figures)
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return `text` with what Markdown or HTML would interpret made plain."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{character}" if character in "\\`*_[]|#~" else character for character in plain)


def markdown_table(table: Table) -> list[str]:
    """Return the lines of a table with its title and notes."""
    lines = [f"**{escaped(table.title)}**", ""] if table.title else []
    rule = ["---:" if column.numeric else "---" for column in table.columns]
    rows: list[list[str]] = []
    for row in table.rows:
        if row.kind == "heading":
            rows.append([f"**{escaped(row.cells[0].text)}**", *[""] * (len(table.columns) - 1)])
        else:
            rows.append([_cell(cell) for cell in row.cells])
    lines += [f"| {' | '.join(row)} |" for row in ([_head(column) for column in table.columns], rule, *rows)]
    return [*lines, *(line for note in table.notes for line in ("", escaped(note)))]


def _section(section: Section, depth: int, figures: str | None) -> list[str]:
    lines = ["", f"{'#' * depth} {escaped(section.title)}"] if section.title else []
    previous: Part | None = None
    for part in section.parts:
        body = list(_part(part, depth, figures))
        if body and isinstance(part, Terms) and is_item(previous):
            lines += [f"    {line}" for line in body]  # the list goes on behind them
        elif body:
            follows = is_item(part) and is_item(previous)
            lines += body if follows or isinstance(part, Section) else ["", *body]
            previous = part
    return lines


def _part(part: Part, depth: int, figures: str | None) -> Iterator[str]:
    if isinstance(part, Section):
        yield from _section(part, min(6, depth + 1), figures)
    elif isinstance(part, Paragraph):
        if part.kind == "code":
            yield from (f"    {printable(line)}" for line in part.text.split("\n"))
        else:
            yield f"- {escaped(part.text)}" if is_item(part) else escaped(part.text)
    elif isinstance(part, Terms):
        yield from (f"- {escaped(term)}: {escaped(text)}" for term, text in part.items)
    elif isinstance(part, Table):
        yield from markdown_table(part)
    elif isinstance(part, Texts):
        yield from _texts(part)
    elif isinstance(part, Pairs):
        for pair in part.entries[:_MOST_PAIRS]:
            yield f"- {escaped(': '.join(filter(None, (pair.source, pair.label))))}"
            for side, pieces in zip(part.sides, (pair.left, pair.right), strict=True):
                yield f"    - {escaped(side)}: {escaped(with_marks(pieces))}"
    elif figures is not None:
        yield f"![{escaped(part.description)}]({figures}/{part.name}.svg)"
        if part.caption:
            yield from ("", escaped(part.caption))


def _texts(part: Texts) -> Iterator[str]:
    groups: Sequence[str] = list(dict.fromkeys(entry.group for entry in part.entries))
    for group in groups:
        title = ": ".join(filter(None, (part.title, group)))
        yield from (f"{escaped(title)}{f' ({escaped(part.score)})' if part.score else ''}:", "")
        for entry in [entry for entry in part.entries if entry.group == group][:_MOST_TEXTS]:
            score = "" if entry.score is None else f"{entry.score:.2f} "
            source = f"{escaped(entry.source)}: " if entry.source else ""
            yield f"- {score}{source}{escaped(excerpt(entry.text, _TEXT_WIDTH, part.phrases_in(entry)))}"
        if group != groups[-1]:
            yield ""


def _head(column: Column) -> str:
    arrow = ARROWS[column.better] if column.better else ""
    return escaped(" ".join(filter(None, (column.group, column.name, arrow))))


def _cell(cell: Cell) -> str:
    text = escaped(cell.plain)
    shown = f"**{text}**" if cell.tone == "best" and text else text
    return f"{shown} ({escaped(cell.below)})" if cell.below else shown
