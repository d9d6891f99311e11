"""Documents of saved models as tests change them: their checksums fit, so that other checks are reached."""

import json
from pathlib import Path
from typing import Any


def model_document(folder: Path) -> dict[str, Any]:
    """Return what is ours of the document in a folder."""
    document: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))["textassay"]
    return document


def write_model_document(folder: Path, document: dict[str, Any]) -> None:
    """Put another document in the place of the one in a folder."""
    from textassay_lab.generator.saved import document_checksum

    path = folder / "config.json"
    config = {**json.loads(path.read_text("utf-8")), "textassay": document}
    config["textassay"] = {**document, "document-checksum": document_checksum(config)}
    path.write_text(json.dumps(config), "utf-8")
