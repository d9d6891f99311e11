"""Read texts, group labels and prompts from JSON lines, JSON, CSV and TSV files."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from textassay.corpus.documents import json_error, parse_json
from textassay.corpus.limits import current_limits, text_too_long
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.source import Source
from textassay.errors import EmptyCorpusError, InputError

_SPACES = (" ", "\n", "\r", "\t")  # white space in JSON
_SPACE = re.compile(r"[ \n\r\t]*")
_LINE_FACTOR = 16  # how many times as long as a text its line may be, with all other fields
_MAX_FIELD = 2**31 - 1  # the largest limit that the csv module accepts
_MAX_LEVELS = 20  # of nested objects whose columns are listed
_OTHER_DELIMITERS = (",", ";", "\t", "|")
_USUAL_COLUMNS = ("text", "sentence", "content")
_MAX_LISTED = 12  # columns named in a message


class Columns(NamedTuple):
    """Which columns of a table are read: names, dotted for nested ones (``a.b``)."""

    text: str | None = None  # None: the only one, or the only one with a usual name
    group: str | None = None
    prompt: str | None = None


@dataclass(frozen=True)
class Rows:
    """What was read from a table of N rows."""

    texts: PackedTexts
    labels: list[Any] | None = None  # N labels of groups
    prompts: PackedTexts | None = None  # N prompts


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

    return _collect(records(), f"{source.place} line", columns)


def read_json(source: Source, columns: Columns) -> Rows:
    """Return the rows of a JSON file that holds a list of strings or objects; columns as in `read_json_lines`."""
    return _collect(enumerate(_items(source), start=1), f"{source.place} item", columns)


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
        kind = _kind(parse_json(text, source.place))
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

    def read() -> Iterator[str]:
        for _, row in rows:
            if group is not None:
                labels.append(row[group])
            if prompt is not None:
                prompts.add((row[prompt],))
            yield row[text]

    texts = PackedTexts.of(read())
    if not texts:
        raise EmptyCorpusError(f"{source.place} has a header but no row")
    return Rows(texts, None if group is None else labels, None if prompt is None else prompts.texts())


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


def _collect(records: Iterable[tuple[int, Any]], place: str, columns: Columns) -> Rows:
    """Return the rows of `records`, pairs of a number (for messages, after `place`) and a JSON value."""
    labels: list[Any] = []
    prompts = TextPacker()

    def read() -> Iterator[str]:
        is_first = True
        key: str | None = None  # of the text in an object
        for number, record in records:
            is_object = isinstance(record, dict)
            if is_first and is_object:
                key = columns.text
                if key is None:
                    key = choose_text_column(list(record), columns, f"{place} {number}")
            is_first = False
            if is_object != (key is not None):
                expected = "a string" if key is None else "an object"
                raise InputError(f"{place} {number}: must be {expected} like those before, got {_kind(record)}")
            text = record if key is None else record[key] if key in record else _value(record, key, place, number)
            yield _string(text, "the value" if key is None else f"'{key}'", place, number)
            if key is None:
                continue
            if columns.group is not None:
                label = _value(record, columns.group, place, number)
                if label is None or isinstance(label, list | dict):
                    raise InputError(f"{place} {number}: '{columns.group}' must name a group, got {_kind(label)}")
                labels.append(label)
            if columns.prompt is not None:
                prompt = _value(record, columns.prompt, place, number)
                prompts.add((_string(prompt, f"'{columns.prompt}'", place, number),))

    texts = PackedTexts.of(read())
    if not texts:
        raise EmptyCorpusError(f"{place.rpartition(' ')[0]} holds no text")
    return Rows(texts, labels or None, prompts.texts() or None)


def _string(value: Any, subject: str, place: str, number: int) -> str:
    """Return `value` after checking that it is a string of characters."""
    if not isinstance(value, str):
        raise InputError(f"{place} {number}: {subject} must be a string, got {_kind(value)}")
    if not value.isascii():
        _check_characters(value, place, number)
    return value


def _check_characters(text: str, place: str, number: int) -> None:
    """Raise for an escaped lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(text[error.start]):04x}"
        raise InputError(
            f"{place} {number} holds a lone surrogate ({code}), which is not a character: write the character itself"
        ) from None


def _value(record: Mapping[str, Any], column: str, place: str, number: int) -> Any:
    """Return the value of `column`: a key of exactly this name, or nested keys joined by dots."""
    if column in record:
        return record[column]
    value: Any = record
    for key in column.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return record[choose_column(_paths(record), column, f"{place} {number}")]
        value = value[key]
    return value


def _paths(record: Mapping[str, Any], prefix: str = "") -> Sequence[str]:
    """Return the dotted names of all values in `record` that are not objects."""
    paths: list[str] = []
    for key, value in record.items():
        is_inner = isinstance(value, Mapping) and prefix.count(".") < _MAX_LEVELS
        paths += _paths(value, f"{prefix}{key}.") if is_inner else [prefix + key]
    return paths


def _kind(value: Any) -> str:
    """Return the JSON type of a value, for messages."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names[type(value)]


def choose_text_column(columns: Sequence[str], wanted: Columns, place: str) -> str:
    """Return the column of the texts; by default `choose_column` chooses it besides those of groups and prompts."""
    if wanted.text is None and (others := [name for name in columns if name not in wanted]):
        with suppress(InputError):
            return choose_column(others, None, place)
    return choose_column(columns, wanted.text, place)


def choose_column(columns: Sequence[str], column: str | None, place: str) -> str:
    """Return `column`, by default the only column, or the only one called text, sentence or content."""
    if column is not None:
        if column in columns:
            return column
        raise InputError(f"{place} has no column '{column}'; it has: {listed_columns(columns)}")
    candidates = columns if len(columns) == 1 else [name for name in columns if name in _USUAL_COLUMNS]
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(f"{place}: which column holds the texts? Name it with --column; it has: {listed_columns(columns)}")


def listed_columns(columns: Sequence[str]) -> str:
    """Return the names of the columns for a message, the first twelve of many."""
    more = f" and {len(columns) - _MAX_LISTED} more" if len(columns) > _MAX_LISTED else ""
    return ", ".join(columns[:_MAX_LISTED]) + more if columns else "none"
