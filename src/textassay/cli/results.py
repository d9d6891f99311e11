"""What commands do with a result: print its document or its values, write its files, and name them."""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.cli.messages import drop_output, print_json, print_line
from textassay.errors import OutputError

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
    """Print a result, then write it: its values as ``STEM.json``, its document, and the files `others`."""
    text = json.dumps(values, indent=1, allow_nan=False) + "\n"
    contents = {**(others or {}), f"{stem}.json": text}
    with then(lambda: save_result(out, document, stem, contents, quiet=quiet)):
        print_result(document, values, as_json=as_json, brief=brief)


@contextmanager
def then(save: Callable[[], object]) -> Iterator[None]:
    """Print inside the ``with`` block, then save, also where nothing can be printed, which is raised at the end."""
    problem: OSError | None = None
    try:
        with printing():
            yield
    except OSError as error:
        problem = error
        drop_output()
    save()
    if problem is not None:
        raise problem


@contextmanager
def printing() -> Iterator[None]:
    """Print inside the ``with`` block; that nobody reads on, as after ``| head``, is no mistake."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the latter is Rich's way to tell of the former
        drop_output()


def save_or_keep(write: Callable[[Path], object], out: Path) -> None:
    """Let `write` write results, which were printed, into `out`; else into a new folder, which the error names."""
    try:
        write(out)
    except OutputError as error:
        kept = Path(tempfile.mkdtemp(prefix="textassay-"))
        try:
            write(kept)
        except (OutputError, OSError):
            shutil.rmtree(kept, ignore_errors=True)
            raise OutputError(
                f"{error}; the results were printed, but not saved: free disk space and run the same command again"
            ) from error
        raise OutputError(f"{error}; the results were printed, and the files are in {kept}: move them") from error


def print_result(document: "Document", values: Mapping[str, Any], *, as_json: bool, brief: bool = False) -> None:
    """Print a result on standard output: `values` as one JSON document, or its document for people to read.

    With `brief`, what is marked as extra stands in files alone.
    """
    with printing():
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

    files = {**contents, **document_files(document, stem=stem)}
    save_or_keep(lambda folder: write_files(folder, files), out)
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
