"""Read texts from a file, standard input, a dataset folder or an address."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textassay.corpus.arrow import is_dataset, read_dataset, read_parquet
from textassay.corpus.download import download, is_url
from textassay.corpus.limits import current_limits
from textassay.corpus.source import Source, check_exists
from textassay.corpus.tables import Rows, read_csv, read_json, read_json_lines
from textassay.corpus.texts import TextFile, number_groups
from textassay.errors import InputError

_TABLES: dict[str, Callable[[Source, str | None, str | None], Rows]] = {
    ".jsonl": read_json_lines,
    ".json": read_json,
    ".csv": partial(read_csv, delimiter=","),
    ".tsv": partial(read_csv, delimiter="\t"),
}
SUFFIXES = (".txt", *_TABLES, ".parquet")
# fmt: off
_NOT_LINES = frozenset((
    ".7z", ".arrow", ".bin", ".bz2", ".doc", ".docx", ".epub", ".feather", ".h5", ".hdf5", ".htm", ".html", ".ipynb",
    ".md", ".npy", ".npz", ".odt", ".ods", ".orc", ".pdf", ".pickle", ".pkl", ".pptx", ".pt", ".py", ".rst", ".rtf",
    ".sqlite", ".tar", ".tex", ".tgz", ".xls", ".xlsx", ".xml", ".xz", ".yaml", ".yml", ".zip", ".zst",
))
# fmt: on


def read_texts(
    source: str | os.PathLike[str], *, column: str | None = None, group_column: str | None = None
) -> TextFile:
    r"""Return all texts of a file, in order.

    Parameters
    ----------
    source
        A path ending in .txt (one text per line; only ``\n`` and ``\r\n`` end a line; an empty line is an empty
        text), .jsonl, .json, .csv, .tsv, .parquet, or any of these and .gz; a pipe (read as .txt); ``-`` for standard
        input (.txt); a Hugging Face dataset saved to disk; an http(s) address, which is downloaded into the user's
        cache. A file with another ending (``valid.de``, ``hypotheses``) is read as .txt, unless the ending belongs to
        a document, table, archive or program (.docx, .xlsx, .html, .zip, ...).
    column
        The column of the texts, dotted for nested ones (``a.b``). By default the only column, or the only one called
        text, sentence or content. Ignored for files without columns (.txt, JSON strings).
    group_column
        The column that names the group (document, author, ...) of each text. Ignored likewise.

    Raises
    ------
    InputError
        If the file is missing, of unknown kind, not UTF-8, broken or without such a column, or a text is null or not a
        string; one line with file, position and remedy.
    EmptyCorpusError
        If it holds no text.
    MissingExtraError
        If it needs pyarrow (.parquet, dataset folders) and that is not installed.
    """
    if source == "-":
        return _read_lines(Source(None))
    if is_url(source):
        return read_texts(download(str(source)), column=column, group_column=group_column)
    path = Path(source)
    check_exists(path)
    if path.is_dir():
        if not is_dataset(path):
            raise InputError(f"{path} is a folder, but not a saved dataset; give a file{_inside(path)}")
        return _text_file(path, *read_dataset(path, column, group_column))
    if not path.is_file():  # a pipe, such as the shell's <(...)
        return _read_lines(Source(path))
    kind = _kind(path)
    if kind == ".txt":
        return _read_lines(Source(path))
    if kind == ".parquet":
        return _text_file(path, *read_parquet(path, column, group_column))
    return _text_file(path, *_TABLES[kind](Source(path), column, group_column))


def _read_lines(source: Source) -> TextFile:
    return TextFile(source.name, tuple(source.lines(max_line=current_limits().max_text)), path=source.path)


def _text_file(path: Path, texts: list[str], labels: list[Any] | None) -> TextFile:
    groups = None if labels is None else number_groups(labels, f"{path} groups")
    return TextFile(path.name, tuple(texts), groups, path)


def _kind(path: Path) -> str:
    """Return which of `SUFFIXES` the file has; ``.txt`` for others that are not known, such as ``.de``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    if suffixes[-1:] and suffixes[-1] in SUFFIXES:
        return suffixes[-1]
    if suffixes[-1:] and suffixes[-1] in _NOT_LINES:
        raise InputError(
            f"{path}: unknown kind of file (suffix '{suffixes[-1]}'); valid: {', '.join(SUFFIXES)}, each also with .gz"
        )
    return ".txt"


def _inside(folder: Path) -> str:
    """Return a hint with up to three readable files in `folder`."""
    try:
        names = sorted(
            path.name for path in folder.iterdir() if path.name.lower().removesuffix(".gz").endswith(SUFFIXES)
        )
    except OSError:
        names = []
    more = ", ..." if len(names) > 3 else ""
    return f": {', '.join(names[:3])}{more}" if names else ""
