"""A JSON file as one document, with its characters checked."""

import json
from pathlib import Path
from typing import Any

from textassay.corpus import Source, parse_json
from textassay.errors import InputError


def read_json_document(path: Path) -> Any:
    """Return what the file holds."""
    text = Source(path).text()
    try:
        document = parse_json(text)
    except InputError:
        raise InputError(f"{path} is not a JSON document, or is damaged") from None
    check_characters(str(path), document)
    return document


def check_characters(place: str, document: Any) -> None:
    """Raise where an escape in what was read at `place` stands for half a character, which no file can hold."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(f"{place} holds a lone surrogate (\\ud800 to \\udfff), which is not a character") from None
