"""Read JSON files of studies and results."""

import json
from pathlib import Path
from typing import Any

from textassay.corpus.documents import parse_json
from textassay.corpus.source import Source
from textassay.errors import InputError


def read_json_document(path: Path) -> Any:
    """Return the content of a JSON file."""
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
