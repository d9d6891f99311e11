"""JSON documents that users give: every fault is one line.

`parse_json` takes the place of `json.loads`, which ends in errors of other kinds for brackets nested by the thousand
and numbers of 5,000 digits. All faults become `InputError`, which is a `ValueError` as `json.JSONDecodeError` is.
"""

import json
from pathlib import Path
from typing import Any

from textassay.corpus.limits import document_limit, long_input
from textassay.errors import InputError


def parse_json(text: str | bytes, place: str = "", *, finite: bool = False) -> Any:
    """Return the value that a JSON text holds.

    `finite`: whether NaN and Infinity, which JSON does not have and Python reads, are faults too.
    """
    try:
        return json.loads(text, parse_constant=_refuse if finite else None)
    except InputError as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    except (ValueError, RecursionError) as error:
        raise json_error(error, place) from None


def _refuse(constant: str) -> None:
    raise InputError(f"{constant} is not a number")


def json_error(error: ValueError | RecursionError, place: str) -> InputError:
    """Return the error for a text at `place` that `json.loads` refused with `error`."""
    before = f"{place}: " if place else ""
    if isinstance(error, RecursionError):
        return InputError(f"{before}the JSON value is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{before}it is not UTF-8 (byte {error.start})")
    if not isinstance(error, json.JSONDecodeError):
        return InputError(f"{before}broken JSON: a number has too many digits")
    line = f"line {error.lineno} " if error.lineno > 1 else ""
    hint = "; a file with one value a line must be called .jsonl" if error.msg == "Extra data" else ""
    return InputError(f"{before}broken JSON at {line}column {error.colno}: {error.msg}{hint}")


def read_document(path: Path, *, max_bytes: int | None = None) -> str:
    """Return the text of a file that is parsed as a whole, without a byte order mark."""
    limit = document_limit() if max_bytes is None else max_bytes
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise long_input(str(path), limit)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start})") from None
