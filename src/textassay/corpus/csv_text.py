"""Write CSV so that every reader sees the same rows and no spreadsheet runs a formula.

A field is quoted if it holds a line break of any kind (`csv.writer` forgets the lone carriage return), a quote or a
separator, or begins or ends with white space. Spreadsheets compute cells that begin with ``=``, ``+``, ``-`` or ``@``,
so such text gets an apostrophe in front, as OWASP advises; `plain_cell` removes it. Numbers stay as they are.

Source: OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

_FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"  # full-width = + - @, which spreadsheets treat alike in some languages
_FORMULA = re.compile(rf"'*(?:[\t\r\n]|[\s\ufeff\u200b\0]*[=+\-@{_FULL_WIDTH}])")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'[",;\t\r\n\0\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\A\s|\s\Z')


def csv_text(header: Iterable[object], rows: Iterable[Iterable[object]], *, delimiter: str = ",") -> str:
    """Return a table as CSV; None and NaN become empty fields."""
    return "".join(csv_lines(header, rows, delimiter=delimiter))


def csv_lines(header: Iterable[object], rows: Iterable[Iterable[object]], *, delimiter: str = ",") -> Iterator[str]:
    """Yield the lines of `csv_text` with their line ends."""
    yield _line(list(header), delimiter)
    for row in rows:
        yield _line(list(row), delimiter)


def plain_cell(cell: str) -> str:
    """Return the text behind `cell`, without the apostrophe that protects formulas."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _line(values: Sequence[object], delimiter: str) -> str:
    fields = [_field(value) for value in values]
    return (delimiter.join(fields) if fields != [""] else '""') + "\n"


def _field(value: object) -> str:
    """Return a value as a field, quoted and protected where needed."""
    if value is None or value != value:
        return ""
    text = str(value)
    if not isinstance(value, int | float) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
