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
from typing import Any

from textassay.corpus.limits import line_limit, text_too_long
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.records import (
    Columns,
    IdColumns,
    Rows,
    choose_column,
    choose_text_column,
)
from textassay.corpus.source import Source
from textassay.errors import EmptyCorpusError, InputError

_MAX_FIELD = 2**31 - 1  # the largest limit that the csv module accepts
_OTHER_DELIMITERS = (",", ";", "\t", "|")
# Of what is written
_FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"  # full-width = + - @, which spreadsheets treat alike in some languages
_FORMULA = re.compile(rf"'*(?:[\t\r\n]|[\s\ufeff\u200b\0]*[=+\-@{_FULL_WIDTH}])")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'[",;\t\r\n\0\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\A\s|\s\Z')


def read_csv(source: Source, columns: Columns, *, delimiter: str) -> Rows:
    """Return the rows of a CSV or TSV file with a header; fields in double quotes may hold line breaks.

    An empty field is an empty text; blank lines are skipped. Every row must have as many fields as the header.
    """
    labels: list[Any] = []
    prompts = TextPacker()
    rows = csv_rows(source, delimiter=delimiter)
    _, header = next(rows, (0, []))

    def place_of(column: str | None) -> int | None:
        return None if column is None else header.index(choose_column(header, column, source.place))

    text = header.index(choose_text_column(header, columns, source.place))
    group, prompt = place_of(columns.group), place_of(columns.prompt)
    ids = IdColumns((name for place, name in enumerate(header) if place != text), columns)

    def read() -> Iterator[str]:
        for _, row in rows:
            if group is not None:
                labels.append(row[group])
            if prompt is not None:
                prompts.add_one(row[prompt])
            if ids:
                ids.add(dict(zip(header, row, strict=True)))
            yield row[text]

    texts = PackedTexts.of(read())
    if not texts:
        raise EmptyCorpusError(f"{source.place} has a header but no row")
    of_prompts = None if prompt is None else prompts.texts()
    return Rows(texts, None if group is None else labels, of_prompts, ids=ids.numbers(len(texts)))


def csv_rows(source: Source, *, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header and the rows of a CSV or TSV file, each with the number of its last line; skip blank lines."""
    with long_fields():
        reader = csv.reader(_with_ends(source), delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            if len(header) == 1 and any(other in header[0] for other in _OTHER_DELIMITERS if other != delimiter):
                raise InputError(
                    f"{source.place}: the only column is '{header[0]}'; fields must be separated by "
                    f"{'commas' if delimiter == ',' else 'tabs'}"
                )
            yield reader.line_num, header
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise InputError(
                        f"{source.place} line {reader.line_num}: {len(row)} fields, but the header has {len(header)}; "
                        "put fields that hold the separator or quotes in double quotes"
                    )
                yield reader.line_num, row
        except csv.Error as error:
            if "field limit" in str(error):
                raise text_too_long(f"{source.place} line {reader.line_num}: a field", None, line_limit()) from None
            raise InputError(
                f"{source.place} line {reader.line_num}: {str(error).partition(' - ')[0]}; put fields that hold quotes "
                "or line breaks in double quotes, with the quotes inside doubled"
            ) from None


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
