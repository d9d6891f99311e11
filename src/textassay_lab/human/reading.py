"""Read CSV, TSV and JSON files of studies and results, with line numbers for messages."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textassay.corpus.csv_files import csv_rows, plain_cell
from textassay.corpus.documents import parse_json
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
    _, header = next(csv_rows(Source(path), delimiter=_delimiter(path)), (0, []))
    return tuple(map(plain_cell, header))


def read_table(path: Path, required: Sequence[str]) -> list[TableRow]:
    """Return the rows of a .csv or .tsv file with a header, gzipped or not."""
    rows = csv_rows(Source(path), delimiter=_delimiter(path))
    _, names = next(rows, (0, []))
    header = list(map(plain_cell, names))
    missing = [name for name in required if name not in header]
    if missing:
        names_listed = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
        raise InputError(f"{path} has no column '{missing[0]}'; it has: {names_listed or 'none'}")
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path} has two columns called '{twice}': rename or remove one of them")
    table = [
        TableRow(f"{path} line {line}", dict(zip(header, map(plain_cell, row), strict=True))) for line, row in rows
    ]
    if not table:
        raise EmptyCorpusError(f"{path} has a header but no row")
    return table


def _delimiter(path: Path) -> str:
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


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
        raise InputError(f"{place} holds a lone surrogate (\\ud800 to \\udfff), which is not a character") from None
