"""CSV and TSV files: how tables of texts are read, and how tables of results are written.

They are written so that every reader sees the same rows and no spreadsheet runs a formula. A field is quoted if it
holds a line break of any kind (`csv.writer` forgets the lone carriage return), a quote or a separator, or begins or
ends with white space. Spreadsheets compute cells that begin with ``=``, ``+``, ``-`` or ``@``, so such text gets an
apostrophe in front, as OWASP advises; `plain_cell` removes it. Numbers stay as they are.

Source: OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from textassay.corpus.limits import line_limit, text_too_long
from textassay.corpus.source import Source
from textassay.errors import InputError

_MAX_FIELD = 2**31 - 1  # the largest limit that the csv module accepts
_DELIMITERS = (",", ";", "\t", "|")
_LEFT_OUT_BY_TURK = ["Approve", "Reject"]
_N_LOOKED_AT = 50  # rows from which the separator is told
# Of what is written
_FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"  # full-width = + - @, which spreadsheets treat alike in some languages
_FORMULA = re.compile(rf"'*(?:[\t\r\n]|[\s\ufeff\u200b\0]*[=+\-@{_FULL_WIDTH}])")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'[",;\t\r\n\0\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\A\s|\s\Z')


def delimiter_of(source: Source) -> str:
    """Return what separates the fields of a table: as its ending says, or as its first rows do."""
    usual = "," if source.kind == ".csv" else "\t"
    lines = source.head.decode("utf-8", "ignore").removeprefix("\ufeff").split("\n")
    if usual in lines[0]:
        return usual
    others = [other for other in _DELIMITERS if other in lines[0]]
    return max(others, key=lambda other: (_agree(lines, other), lines[0].count(other)), default=usual)


def _agree(lines: Sequence[str], delimiter: str) -> bool:
    """Return whether all rows but the last, which may not be whole, have as many fields as the first."""
    with long_fields():
        try:
            rows = list(csv.reader((line + "\n" for line in lines[:_N_LOOKED_AT]), delimiter=delimiter))
        except csv.Error:
            return False
    return len({len(row) for row in rows[: max(1, len(rows) - 1)] if row}) == 1


def csv_rows(source: Source, *, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and the rows of a table, each with the number of its last line; skip blank lines.

    Fields in double quotes may hold line breaks. Every row must have as many fields as the header, but for the last
    two columns of Mechanical Turk, `Approve` and `Reject`, which its rows leave out.
    """
    with long_fields():
        reader = csv.reader(_with_ends(source), delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            yield reader.line_num, header
            for row in reader:
                if not row:
                    continue
                missing = header[len(row) :]
                if len(row) > len(header) or (missing and missing != _LEFT_OUT_BY_TURK[-len(missing) :]):
                    raise InputError(_unequal(source, reader.line_num, row, header, delimiter))
                yield reader.line_num, row + [""] * len(missing)
        except csv.Error as error:
            if "field limit" in str(error):
                raise text_too_long(f"{source.place} line {reader.line_num}: a field", None, line_limit()) from None
            raise InputError(
                f"{source.place} line {reader.line_num}: {str(error).partition(' - ')[0]}; put fields that contain "
                "quotes or line breaks in double quotes, and double the quotes inside"
            ) from None


def _unequal(source: Source, line: int, row: Sequence[str], header: Sequence[str], delimiter: str) -> str:
    """Return what is wrong with a row that has more or fewer fields than the header."""
    seen = f"{source.place} line {line}: {len(row)} fields, but the first line has {len(header)}"
    sign = {"\t": "a tab", ",": "a comma"}.get(delimiter, f"'{delimiter}'")
    if len(header) == 1:
        return f"{seen}: it has no {sign.split()[-1]}; if each line is one text, rename the file to end in .txt"
    if len(row) > len(header):
        return f"{seen}; put fields that contain {sign} in double quotes, and double the quotes inside"
    return f"{seen}; the row is too short: quote fields that contain a line break, or add the missing fields"


def _with_ends(source: Source) -> Iterator[str]:
    r"""Yield the lines with their ends; only ``\n`` ends one."""
    for block in source.text_blocks(max_line=line_limit()):
        lines = block.split("\n")
        last = lines.pop()
        for line in lines:
            yield line + "\n"
        if last:
            yield last


@contextmanager
def long_fields() -> Iterator[None]:
    """Set the csv module's limit on the length of a field to our own inside the ``with`` block."""
    limit = csv.field_size_limit(min(line_limit(), _MAX_FIELD))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


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
    if value is None or value != value:
        return ""
    text = str(value)
    if type(value) is float or type(value) is int:
        return text
    if not isinstance(value, int | float) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
