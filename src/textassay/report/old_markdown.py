"""Text and tables as Markdown, with nothing in them that Markdown or HTML would interpret."""

from collections.abc import Sequence

from textassay.report.words import printable


def escaped(text: str) -> str:
    """Return `text` with what Markdown or HTML would interpret made plain."""
    plain = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{character}" if character in "\\`*_[]|#~" else character for character in plain)


def markdown_rows(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True) -> list[str]:
    """Return the lines of a table; all columns but the first are set flush right where they are `numbers`."""
    rule = ["---", *("---:" if numbers else "---" for _ in header[1:])]
    lines = ([*map(escaped, header)], rule, *([*map(escaped, row)] for row in rows))
    return [f"| {' | '.join(row)} |" for row in lines]
