"""Texts with their source: a file, a dataset folder, a folder of files, an address, or a Python object."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from textassay.addresses import is_address, place_of
from textassay.corpus.answers import answer_format
from textassay.corpus.arrow import is_dataset, read_dataset, read_parquet
from textassay.corpus.csv_files import read_csv
from textassay.corpus.json_files import read_inspect_log, read_json, read_json_lines
from textassay.corpus.limits import current_limits, input_limit, input_too_long, text_too_long
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.records import (
    Columns,
    IdColumns,
    Rows,
    choose_column,
    group_number,
    listed_columns,
    read_records,
)
from textassay.corpus.source import (
    COLUMN_SIGN,
    COMPRESSED,
    Source,
    check_exists,
    download,
    io_errors,
    is_url,
    split_column,
)
from textassay.errors import InputError

_N_PROBED = 20  # rows of a table that are read to see which columns hold strings
_TOLD = 1 << 8  # texts of a stream between two messages of progress
_CHECKED = 1 << 9  # items of a list checked and packed at once
_SPLIT = ("DatasetDict", "IterableDatasetDict")
_TO_LIST = ("tolist", "to_list", "to_pylist")  # NumPy and pandas, polars, Arrow

_TABLES: dict[str, Callable[[Source, Columns], Rows]] = {
    ".jsonl": read_json_lines,
    ".json": read_json,
    ".csv": partial(read_csv, delimiter=","),
    ".tsv": partial(read_csv, delimiter="\t"),
}
SUFFIXES = (".txt", *_TABLES, ".parquet")
_LOG = ".eval"  # of inspect_ai; it is compressed already
# fmt: off
_NOT_LINES = frozenset((
    ".7z", ".arrow", ".bin", ".bz2", ".doc", ".docx", ".epub", ".feather", ".h5", ".hdf5", ".htm", ".html", ".ipynb",
    ".md", ".npy", ".npz", ".odt", ".ods", ".orc", ".pdf", ".pickle", ".pkl", ".pptx", ".pt", ".py", ".rst", ".rtf",
    ".sqlite", ".tar", ".tex", ".tgz", ".xls", ".xlsx", ".xml", ".xz", ".yaml", ".yml", ".zip",
))
# fmt: on
_FOLDER_FILES = (".txt", ".md", ".text", ".markdown")  # each of them one text
_N_NAMED = 3  # files of a folder in a message


@dataclass(frozen=True, eq=False)
class TextFile:
    """Texts as they were read.

    Attributes
    ----------
    name
        Their name in messages: the file's, or the caller's.
    texts
        N texts, empty ones included: a `PackedTexts`, whatever sequence it was made from.
    groups
        Group number of each text, shape (N,), from `number_groups`; None without groups.
    path
        The file or folder; None for standard input and for texts from Python.
    prompts
        What each text answers, N texts, whole and as they are: a `PackedTexts`; None without prompts.
    cut_off
        Whether a limit of length ended each text, shape (N,), dtype bool, where the file gives the reason for which a
        model stopped (``finish_reason``); else None.
    ids
        Columns of ids, prompts or documents that nobody named, name to the number of each text's, shape (N,).
    """

    name: str
    texts: Sequence[str]
    groups: npt.NDArray[np.int64] | None = None
    path: Path | None = None
    prompts: Sequence[str] | None = None
    cut_off: npt.NDArray[np.bool_] | None = None
    ids: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Pack texts and prompts; raise `InputError` if one is longer than `InputLimits.max_text`."""
        place = str(self.name if self.path is None else self.path)
        texts = PackedTexts.of(self.texts)
        object.__setattr__(self, "texts", texts)
        _check_lengths(texts, f"{place}: text")
        if self.prompts is not None:
            prompts = PackedTexts.of(self.prompts)
            object.__setattr__(self, "prompts", prompts)
            _check_lengths(prompts, f"{place}: prompt")
            if len(prompts) != len(texts):
                raise InputError(f"{place}: {len(prompts)} prompts for {len(texts)} texts; give each text its prompt")

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self.texts[place]


def _check_lengths(texts: PackedTexts, place: str) -> None:
    """Raise if a text is longer than one may be; `place`: what stands before its number in the message."""
    limit = current_limits().max_text
    for number in np.flatnonzero(texts.lengths > limit).tolist():  # in bytes, which are at least as many
        if len(texts[number]) > limit:
            raise text_too_long(f"{place} {number + 1}", len(texts[number]), limit)


def read_texts(
    source: str | os.PathLike[str],
    *,
    column: str | None = None,
    group_column: str | None = None,
    prompt_column: str | None = None,
) -> TextFile:
    r"""Return all texts of a file, in order.

    Parameters
    ----------
    source
        A path ending in .txt (one text per line; only ``\n`` and ``\r\n`` end a line; an empty line is an empty
        text), .jsonl, .json, .csv, .tsv, .parquet, .eval (a log of inspect_ai), or any of these and .gz or .zst; a pipe
        (read as .txt); ``-`` for standard input (.txt); a Hugging Face dataset saved to disk; a folder of .txt or .md
        files, each of which is one text; an http(s) address, which is downloaded into the
        user's cache; any other address that fsspec knows, such as ``s3://bucket/real.txt``, which is not kept. A file
        with another ending (``valid.de``, ``hypotheses``) is read as .txt, unless the ending belongs to a document,
        table, archive or program (.docx, .xlsx, .html, .zip, ...).
    column
        The column of the texts, or the path to it (``a.b``, ``choices[0].text``); ``FILE::COLUMN`` as `source` says
        the same. By default the answers in a chat, in a response of an endpoint or in a log of an evaluation; else the
        only column, or the only one called text, sentence or content. Ignored for files without columns (.txt, JSON
        strings).
    group_column
        The column that names the group (document, author, ...) of each text. Ignored likewise.
    prompt_column
        The column of the prompt that each text answers, a string or a list of messages. By default the prompt in a
        chat, a response of an endpoint or a log of an evaluation. Ignored likewise.

    Raises
    ------
    InputError
        If the file is missing, of unknown kind, not UTF-8, broken or without such a column, or a text, group or prompt
        is null, or a text or prompt not a string; one line with file, position and remedy.
    EmptyCorpusError
        If it holds no text.
    MissingExtraError
        If it needs pyarrow (.parquet, .zst, dataset folders), or an address fsspec, and that is not installed.
    """
    if source == "-":
        return _read_lines(Source(None))
    source, named = split_column(source)
    if named is not None:
        read = read_texts(source, column=named, group_column=group_column, prompt_column=prompt_column)
        return replace(read, name=f"{read.name}{COLUMN_SIGN}{named}")
    if is_url(source):
        return read_texts(download(str(source)), column=column, group_column=group_column, prompt_column=prompt_column)
    columns = Columns(column, group_column, prompt_column)
    place = place_of(source)
    check_exists(place)
    if isinstance(place, Path) and place.is_dir():
        if not is_dataset(place):
            return TextFile(place.name, read_text_folder(place), path=place)
        return _text_file(place.name, place, read_dataset(place, columns))
    file = Source(place)
    if isinstance(place, Path) and not place.is_file():  # a pipe, such as the shell's <(...)
        return _read_lines(file)
    kind = _kind(file)
    if kind == ".txt":
        return _read_lines(file)
    reader = {".parquet": read_parquet, _LOG: read_inspect_log, **_TABLES}[kind]
    return _text_file(file.name, file.path, reader(file, columns))


def _read_lines(source: Source) -> TextFile:
    packer = TextPacker()
    for block in source.text_blocks(max_line=current_limits().max_text):
        packer.add_lines(block)
    return TextFile(source.name, packer.texts(), path=source.path)


def _text_file(name: str, path: Path | None, rows: Rows) -> TextFile:
    groups = None if rows.labels is None else number_groups(rows.labels, f"{path or name} groups")
    return TextFile(name, rows.texts, groups, path, rows.prompts, rows.cut_off, rows.ids)


def _kind(file: Source) -> str:
    """Return which of `SUFFIXES` the file has; ``.txt`` for others that are not known, such as ``.de``."""
    if file.kind in (*SUFFIXES, _LOG):
        return file.kind
    if file.kind in _NOT_LINES:
        raise InputError(
            f"{file.place}: unknown kind of file (suffix '{file.kind}'); valid: {', '.join(SUFFIXES)}, each also "
            f"with {' or '.join(COMPRESSED)}; and {_LOG}"
        )
    return ".txt"


def as_texts(source: Any, name: str, *, progress: Callable[[str, int, int], None] | None = None) -> TextFile:
    """Return the texts of a path, an address or a Python object; the strings are shared, not copied.

    `source`: what `read_texts` reads, an iterable of str or of rows (objects, as in a streamed dataset), an array or
    column (with ``tolist``, ``to_list`` or ``to_pylist``), a table (with ``column_names`` or ``columns``, indexed by
    name: of pandas, polars, pyarrow or datasets), a `Corpus` or a `TextFile`. `progress` is told how many texts of an
    iterable were read.
    """
    if isinstance(source, TextFile):
        return source
    from textassay.corpus.corpus import Corpus  # which is made of texts

    if isinstance(source, Corpus):
        return TextFile(name, source.texts, source.groups)
    if isinstance(source, PackedTexts):
        return TextFile(name, source)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        return read_texts(source)
    if isinstance(source, str | bytes):
        raise InputError(f"{name}: expected many texts, got one {type(source).__name__}; put it in a list")
    if isinstance(source, Mapping):
        splits = f": {', '.join(map(str, source))}" if type(source).__name__ in _SPLIT else ""
        raise InputError(
            f"{name}: expected an iterable of str, got a {type(source).__name__}; take one of its values{splits}"
        )
    columns = _columns(source)
    if columns is not None:
        records = _answers(source, columns, name)
        if records is not None:
            return _text_file(name, None, read_records(records, f"{name} row", Columns()))
        chosen = _text_column(source, columns, name)
        ids = IdColumns((column for column in columns if column != chosen), Columns())
        if ids:
            names = [column for column in columns if ids.has(column)]
            for row in zip(*(map(_plain, _items(source[columns[column]], name)) for column in names), strict=True):
                ids.add(dict(zip(names, row, strict=True)))
        texts = _strings(source[columns[chosen]], name)
        return TextFile(name, texts, ids=ids.numbers(len(texts)))
    is_in_rows = hasattr(source, "column_names") and not hasattr(source, "__len__")  # its `to_list` needs it in memory
    items = iter(source if is_in_rows else _items(source, name))
    first = next(items, None)
    rest = items if first is None else chain((first,), items)
    rest = rest if progress is None else _told(rest, f"reading {name}", progress)
    if isinstance(first, Mapping):
        return _text_file(name, None, read_records(enumerate(map(_plain, rest), start=1), f"{name} row", Columns()))
    return TextFile(name, _strings(rest, name))


def is_stream(source: Any) -> bool:
    """Return whether texts or rows come one by one, nobody knows how many: a streamed dataset, a generator."""
    return isinstance(source, Iterable) and not hasattr(source, "__len__")


def _told(items: Iterable[Any], label: str, progress: Callable[[str, int, int], None]) -> Iterator[Any]:
    """Yield `items`, and tell now and then how many there were."""
    for number, item in enumerate(items):
        if number % _TOLD == 0:
            progress(f"{label}, {number:,} texts so far", 0, 1)
        yield item


def _is_path(text: str) -> bool:
    """Return whether a string is meant as a path or an address, and not as a text."""
    if "\n" in text or "\0" in text:
        return False
    text = str(split_column(text)[0])
    return is_url(text) or is_address(text) or _is_text_file(text) or os.path.exists(text)  # noqa: PTH110


def _is_text_file(name: str) -> bool:
    name = name.lower()
    return name.endswith(_LOG) or any(name.removesuffix(ending).endswith(SUFFIXES) for ending in COMPRESSED)


def _columns(source: Any) -> dict[str, Any] | None:
    """Return the columns of a table, name to its own label; None for anything else."""
    if not hasattr(source, "__len__"):
        return None  # a stream of rows, or a query
    names = getattr(source, "column_names", getattr(source, "columns", None))
    if names is None or callable(names) or isinstance(names, Mapping) or not hasattr(source, "__getitem__"):
        return None
    return {str(label): label for label in names}


def _answers(source: Any, columns: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]] | None:
    """Return the numbered rows of a table that holds conversations or responses; None where a column holds texts."""
    if len(source) == 0:
        return None
    rows = source[:1]
    first = {column: _plain(next(iter(_items(rows[label], name)))) for column, label in columns.items()}
    cell = None
    with suppress(InputError):
        cell = first[choose_column([*columns], None, name)]
    if not isinstance(cell, list) and (isinstance(cell, str) or answer_format(first, None) is None):
        return None
    lists = [map(_plain, _items(source[label], name)) for label in columns.values()]
    return enumerate((dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)), start=1)


def _plain(value: Any) -> Any:
    """Return a cell with plain lists and dicts in place of arrays and other mappings."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _text_column(source: Any, columns: Mapping[str, Any], name: str) -> str:
    """Return the column from `choose_column`, or the only one that holds strings."""
    with suppress(InputError):
        return choose_column([*columns], None, name)
    textual = []
    rows = source[:_N_PROBED]
    for column, label in columns.items():
        items = [item for item in _items(rows[label], name) if not _is_missing(item)]
        if items and all(isinstance(item, str) for item in items):
            textual.append(column)
    if len(textual) == 1:
        return textual[0]
    raise InputError(
        f"{name}: which column holds the texts? Give that one, as in table['{next(iter(columns), 'text')}']; it "
        f"has: {listed_columns([*columns])}"
    )


def number_groups(labels: Sequence[Any], place: str) -> npt.NDArray[np.int64]:
    """Return a number for each label, shape (N,): equal for equal labels in all files.

    It is a hash of the label as text (`group_number`), so that a prompt or document in both the real and the generated
    file is one group.
    """
    numbers: dict[str, int] = {}
    result = np.empty(len(labels), dtype=np.int64)
    for position, label in enumerate(labels):
        if _is_missing(label):
            raise InputError(f"{place}[{position}] is missing ({label}); every text needs a group")
        text = str(label)
        if text not in numbers:
            numbers[text] = group_number(text)
        result[position] = numbers[text]
    return result


def _items(source: Any, name: str) -> Iterable[Any]:
    """Return the items of an array or a column in a list; an iterable as it is."""
    for method in _TO_LIST:
        if hasattr(source, method):
            source = getattr(source, method)()
            break
    if isinstance(source, str) or not isinstance(source, Iterable):
        hint = "; give what its collect() returns" if hasattr(source, "collect") else ""
        raise InputError(f"{name}: expected an iterable of str, got {type(source).__name__}{hint}")
    return source


def _strings(source: Any, name: str) -> PackedTexts:
    """Return the items of `source` after checking that each is a str."""
    packer = TextPacker()
    items, n_done = iter(_items(source, name)), 0
    while block := list(islice(items, _CHECKED)):
        packer.add(block if set(map(type, block)) <= {str} else _checked(block, n_done, name))
        n_done += len(block)
    return packer.texts()


def _checked(items: Sequence[Any], n_before: int, name: str) -> list[str]:
    """Return `items`, which follow `n_before` others, as plain strings."""
    for position, item in enumerate(items, start=n_before):
        if _is_missing(item):
            raise InputError(f"{name}[{position}] is missing ({item}); leave it out or fill it in")
        if not isinstance(item, str):
            hint = "; give one of its values, as in [row['text'] for row in rows]" if isinstance(item, Mapping) else ""
            raise InputError(f"{name}[{position}] must be a str, got {type(item).__name__}{hint}")
    return list(map(str, items))


def _is_missing(item: Any) -> bool:
    """Return whether `item` is None, NaN or pandas' NA."""
    return item is None or (isinstance(item, float) and item != item) or type(item).__name__ in ("NAType", "NaTType")


def read_text_folder(folder: Path) -> PackedTexts:
    """Return the text of each file in `folder`, by name, without the line break at its end; hidden files are no texts.

    Raise where there are other things than files of text, or none.
    """
    with io_errors(str(folder)):
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        files = [path for path in inside if path.is_file() and path.suffix.lower() in _FOLDER_FILES]
        others = [path.name + ("/" if path.is_dir() else "") for path in inside if path not in set(files)]
        n_bytes = sum(path.stat().st_size for path in files)
    if others or not files:
        raise InputError(f"{folder} is a folder, but neither {_neither(files, others)}; give a file{_of(inside)}")
    limit = input_limit(n_bytes)
    if n_bytes > limit:
        raise input_too_long(str(folder), limit)
    return PackedTexts.of(map(_text, files))


def _text(path: Path) -> str:
    if path.stat().st_size == 0:
        return ""  # an empty text, which inspection reports
    blocks = Source(path).text_blocks(max_line=current_limits().max_text, by_line=False)
    return "".join(blocks).replace("\r\n", "\n").removesuffix("\n")


def _neither(files: list[Path], others: list[str]) -> str:
    kinds = "a saved dataset nor one of text files alone"
    if not files:
        return kinds
    more = ", ..." if len(others) > _N_NAMED else ""
    return f"{kinds} (beside {len(files)} of them it holds {', '.join(others[:_N_NAMED])}{more})"


def _of(inside: list[Path]) -> str:
    """Return a hint with up to three of the files inside."""
    names = [path.name for path in inside if path.is_file()]
    return f": {', '.join(names[:_N_NAMED])}{', ...' if len(names) > _N_NAMED else ''}" if names else ""
