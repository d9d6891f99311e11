"""Read texts, group labels and prompts from JSON lines, JSON, CSV and TSV files."""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textassay.corpus.documents import json_error, parse_json
from textassay.corpus.limits import current_limits, text_too_long
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.records import (
    Columns,
    IdColumns,
    Rows,
    choose_column,
    choose_text_column,
    json_kind,
    read_records,
)
from textassay.corpus.source import Source
from textassay.errors import EmptyCorpusError, InputError

_SPACES = (" ", "\n", "\r", "\t")  # white space in JSON
_SPACE = re.compile(r"[ \n\r\t]*")
_LINE_FACTOR = 16  # how many times as long as a text its line may be, with all other fields
_MAX_FIELD = 2**31 - 1  # the largest limit that the csv module accepts
_OTHER_DELIMITERS = (",", ";", "\t", "|")


def read_json_lines(source: Source, columns: Columns) -> Rows:
    """Return the rows of a file with one JSON string or object per line; blank lines are skipped.

    Group and prompt are ignored if the lines are strings.
    """

    def records() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(source.lines(max_line=_line_limit()), start=1):
            if line and not line.isspace():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise json_error(error, f"{source.place} line {number}") from None

    return read_records(records(), f"{source.place} line", columns)


def read_json(source: Source, columns: Columns) -> Rows:
    """Return the rows of a JSON file that holds a list of strings or objects; columns as in `read_json_lines`."""
    return read_records(enumerate(_items(source), start=1), f"{source.place} item", columns)


def _items(source: Source) -> Iterator[Any]:
    """Yield the items of a JSON list one by one, so that unused fields do not stay in memory."""
    text = source.text()
    decoder: Any = json.JSONDecoder()
    scan = decoder.scan_once

    def after_space(place: int) -> int:
        match = _SPACE.match(text, place)
        return place if match is None else match.end()

    def error(problem: str, place: int) -> InputError:
        return json_error(json.JSONDecodeError(problem, text, place), source.place)

    place = after_space(0)
    if text[place : place + 1] != "[":
        value = parse_json(text, source.place)
        if isinstance(value, dict) and isinstance(value.get("samples"), list):  # a log of inspect_ai
            yield from value["samples"]
            return
        kind = json_kind(value)
        raise InputError(f"{source.place} must hold a JSON list of strings or objects, got {kind}")
    place = after_space(place + 1)
    sign = text[place : place + 1]
    while sign != "]":
        try:
            item, place = scan(text, place)
        except StopIteration as stopped:
            raise error("Expecting value", stopped.value) from None
        except (ValueError, RecursionError) as fault:
            raise json_error(fault, source.place) from None
        yield item
        sign = text[place : place + 1]
        if sign != ",":
            place = after_space(place)
            sign = text[place : place + 1]
            if sign != ",":
                break
        place += 1
        if text.startswith(_SPACES, place):
            place = after_space(place)
    if sign != "]":
        raise error("Expecting ',' delimiter", place)
    place = after_space(place + 1)
    if place < len(text):
        raise error("Extra data", place)


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
                raise text_too_long(f"{source.place} line {reader.line_num}: a field", None, _line_limit()) from None
            raise InputError(
                f"{source.place} line {reader.line_num}: {str(error).partition(' - ')[0]}; put fields that hold quotes "
                "or line breaks in double quotes, with the quotes inside doubled"
            ) from None


def _with_ends(source: Source) -> Iterator[str]:
    r"""Yield the lines with their ends; only ``\n`` ends one."""
    for block in source.text_blocks(max_line=_line_limit()):
        lines = block.split("\n")
        last = lines.pop()
        for line in lines:
            yield line + "\n"
        if last:
            yield last


def _line_limit() -> int:
    """Return how many characters a line or field with a text may have."""
    return _LINE_FACTOR * current_limits().max_text


@contextmanager
def long_fields() -> Iterator[None]:
    """Set the csv module's limit on the length of a field to our own inside the ``with`` block."""
    limit = csv.field_size_limit(min(_line_limit(), _MAX_FIELD))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
