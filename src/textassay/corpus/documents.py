"""Parse users' JSON documents with one-line errors.

`json.loads` raises errors of several kinds, such as for thousands of nested brackets or numbers of 5,000 digits;
`parse_json` raises `InputError` for all of them.
"""

import json
from pathlib import Path
from typing import Any

from textassay.corpus.limits import document_limit, input_too_long
from textassay.errors import InputError


def parse_json(text: str | bytes, place: str = "", *, finite: bool = False) -> Any:
    """Return the value of a JSON text; with `finite`, NaN and Infinity, which Python's parser allows, are errors."""
    try:
        return json.loads(text, parse_constant=_reject if finite else None)
    except InputError as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    except (ValueError, RecursionError) as error:
        raise json_error(error, place) from None


def _reject(constant: str) -> None:
    raise InputError(f"{constant} is not a number")


def json_error(error: ValueError | RecursionError, place: str) -> InputError:
    """Return the one-line error for a JSON text at `place` on which `json.loads` raised `error`."""
    before = f"{place}: " if place else ""
    if isinstance(error, RecursionError):
        return InputError(f"{before}the JSON value is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{before}it is not UTF-8 (byte {error.start})")
    if not isinstance(error, json.JSONDecodeError):
        return InputError(f"{before}broken JSON: a number has too many digits")
    line = f"line {error.lineno} " if error.lineno > 1 else ""
    hint = "; a file with one value per line must be called .jsonl" if error.msg == "Extra data" else ""
    return InputError(f"{before}broken JSON at {line}column {error.colno}: {error.msg}{hint}")


def read_document(path: Path, *, max_bytes: int | None = None) -> str:
    """Return the text of a whole file without its byte order mark."""
    limit = document_limit() if max_bytes is None else max_bytes
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise input_too_long(str(path), limit)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start})") from None
