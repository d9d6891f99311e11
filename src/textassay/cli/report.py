"""``textassay report``: draw the report of a finished comparison again, from its ``results.json``."""

import json
from pathlib import Path

from rich.console import Console

from textassay.cli.options import check_writable
from textassay.comparison.comparison import Comparison
from textassay.errors import InputError
from textassay.report.document import write_report
from textassay.report.text import render

__all__ = ["run_report"]


def run_report(folder: Path) -> int:
    """Write the files of `folder` again from its ``results.json``, print the table, and return 0."""
    comparison = _load(folder / "results.json")
    check_writable(folder)
    write_report(comparison, folder, texts=None)
    render(comparison, Console())
    return 0


def _load(path: Path) -> Comparison:
    try:
        return Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}; name a folder that "
            "'textassay compare --out' wrote"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} holds no comparison ({detail}): run 'textassay compare --out' again") from None
