"""What commands do with a result: print its document or its values, write its files, and name them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.cli.messages import not_saved, print_json, print_line

if TYPE_CHECKING:
    from textassay.report.document import Document
    from textassay.storage import Content

_FIGURES = "figures/"


def print_and_save(
    document: "Document",
    values: Mapping[str, Any],
    stem: str,
    *,
    out: Path | None,
    others: "Mapping[str, Content] | None" = None,
    as_json: bool,
    quiet: bool = False,
    brief: bool = False,
) -> None:
    """Print a result and write it: its values as ``STEM.json``, its document, and the files `others`."""
    print_result(document, values, as_json=as_json, brief=brief)
    text = json.dumps(values, indent=1, allow_nan=False) + "\n"
    save_result(out, document, stem, {**(others or {}), f"{stem}.json": text}, quiet=quiet)


def print_result(document: "Document", values: Mapping[str, Any], *, as_json: bool, brief: bool = False) -> None:
    """Print a result on standard output: `values` as one JSON document, or its document for people to read.

    With `brief`, what is marked as extra stands in files alone.
    """
    if as_json:
        print_json(values)
        return
    from rich.console import Console

    from textassay.report.terminal import print_document

    print_document(document, Console(), everything=not brief)


def save_result(
    out: Path | None, document: "Document", stem: str, contents: "Mapping[str, Content]", *, quiet: bool = False
) -> None:
    """Write `contents` and the files of a document, ``STEM.md``, ``STEM.html`` and so on, into `out`, if given."""
    if out is None:
        return
    from textassay.report.files import document_files
    from textassay.storage import write_files

    with not_saved():
        files = {**contents, **document_files(document, stem=stem)}
        write_files(out, files)
    if not quiet:
        print_line(f"wrote {file_names(files)} to {out}")


def file_names(names: Iterable[str]) -> str:
    """Return the names of files in words, figures as their number."""
    names = list(names)
    n_figures = sum(name.startswith(_FIGURES) for name in names)
    shown = [name for name in names if not name.startswith(_FIGURES)]
    if n_figures:
        shown.append(f"{n_figures} figure{'s' * (n_figures > 1)} in {_FIGURES[:-1]}")
    return ", ".join(shown)
