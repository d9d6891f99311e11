"""Read tables and JSON of studies and results, through the door of texts, with line numbers for messages."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textassay.corpus.csv_files import plain_cell
from textassay.corpus.documents import parse_json
from textassay.corpus.formats import form_of, records_of
from textassay.corpus.paths import Columns, all_paths, json_kind, listed, plain_value, values_at
from textassay.corpus.source import Source
from textassay.errors import EmptyCorpusError, InputError


@dataclass(frozen=True)
class TableRow:
    """One row: `place` names the file and its line; `values` has a string for each column."""

    place: str
    values: dict[str, str]


def finite_number(text: str) -> float | None:
    """Return `text` as a finite number in ASCII digits; None if it is not one."""
    if not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of a table, or of the first row of JSON."""
    _, first = next(_rows(path), ("", {}))
    return tuple(map(plain_cell, first))


def read_table(path: Path, required: Sequence[str]) -> list[TableRow]:
    """Return the rows of a table with a header, or of JSON or JSON lines, compressed or not; every cell is a string."""
    rows = list(_rows(path))
    header = list(dict.fromkeys(name for _, row in rows for name in row))
    missing = [name for name in required if name not in header]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'; it has: {listed(header)}")
    table = [
        TableRow(f"{path} {place}", {name: plain_cell(row.get(name, "")) for name in header}) for place, row in rows
    ]
    if not table or not any(table[0].values):
        raise EmptyCorpusError(f"{path} has a header, but no rows")
    return table


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where each row is, and its cells by column; those of nested values by their paths."""
    source = Source(path)
    form = form_of(source)
    if form == "lines":
        raise InputError(f"{path} contains plain lines, not judgements: give a table (.csv) with item, rater and label")
    if not form.startswith("JSON"):
        form = "table"
    records, one, _ = records_of(source, form, Columns(text="text"))
    for number, record in records:
        if not isinstance(record, Mapping):
            raise InputError(f"{path} {one} {number}: a judgement must be an object, got {json_kind(record)}")
        yield f"{one} {number}", {name: _cell(values_at(record, name)[0]) for name in all_paths(record)}


def _cell(value: Any) -> str:
    return "" if value is None else plain_value(value)


def read_json_document(path: Path) -> Any:
    text = Source(path).text()
    try:
        document = parse_json(text)
    except InputError:
        raise InputError(f"{path} is not valid JSON") from None
    check_characters(str(path), document)
    return document


def check_characters(place: str, document: Any) -> None:
    """Raise if `document`, read from `place`, holds an escaped lone surrogate, which cannot be written to a file."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(f"{place} contains a lone surrogate (\\ud800 to \\udfff), which is not a character") from None
