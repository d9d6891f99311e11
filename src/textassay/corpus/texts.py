"""Texts of any source: a file, a dataset folder, a folder of files, an address, or a Python object."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from textassay.addresses import is_address, place_of
from textassay.corpus.arrow import arrow_records, dataset_records, is_dataset, parquet_records
from textassay.corpus.formats import SUFFIXES, form_of, inspect_records, records_of
from textassay.corpus.limits import current_limits, input_limit, input_too_long
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.paths import COLUMN_SIGN, Columns, split_column
from textassay.corpus.records import read_records
from textassay.corpus.source import COMPRESSED, Source, check_exists, download, io_errors, is_url
from textassay.corpus.text_file import Note, TextFile, is_missing, number_groups
from textassay.errors import InputError

_TOLD = 1 << 8  # texts of a stream between two messages of progress
_CHECKED = 1 << 9  # items of a list checked and packed at once
_ROWS = 1 << 13  # rows of a table taken at once
_SPLIT = ("DatasetDict", "IterableDatasetDict")
_TABLE, _ROWS_OF = "table['{}']", "[row['{}'] for row in rows]"  # how Python names a column
_TO_LIST = ("tolist", "to_list", "to_pylist")  # NumPy and pandas, polars, Arrow
_FOLDER_FILES = (".txt", ".md", ".text", ".markdown")  # each of them one text
_N_NAMED = 3  # files of a folder in a message


def read_texts(
    source: Any,
    *,
    column: str | None = None,
    group_column: str | None = None,
    prompt_column: str | None = None,
    source_column: str | None = None,
) -> TextFile:
    r"""Return all texts of a file or a Python object, in order.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, an http(s) address, which is downloaded into the user's cache, or any other
        address that fsspec knows, such as ``s3://bucket/real.txt``, which is not kept. What a file is, its content
        says, perhaps compressed as .gz or .zst: lines (one text each; only ``\n`` and ``\r\n`` end one; an empty line
        is an empty text), JSON lines, a JSON document, a table with commas, tabs, semicolons or bars, Parquet, Arrow,
        a log of inspect_ai (.eval). Or a folder: a Hugging Face dataset saved to disk, or .txt and .md files, each of
        which is one text, those of a sub-folder one group. Or a table or a sequence of Python, see `compare`.
    column
        The column of the texts, or the path to it (``a.b``, ``choices[0].text``, ``responses[].text`` for each).
        ``FILE::COLUMN`` as `source` says the same, ``FILE::COLUMN@PROMPT`` names the prompts as well, and
        ``FILE::COLUMN[label=1]`` reads the rows with this label only. By default the answers in a chat, in a response
        of an interface or in a log of an evaluation; else the only column, or the only one called text, sentence or
        content. Without effect, which a note says, for files without columns (lines, JSON strings).
    group_column
        The column that names the group (document, author, ...) of each text. Ignored likewise.
    prompt_column
        The column of the prompt that each text answers, a string or a list of messages. By default the prompt in a
        chat, a response of an interface or a log of an evaluation. Ignored likewise.
    source_column
        The column that says who wrote each text; see `TextFile.by_source`.

    Raises
    ------
    InputError
        If the file is missing, of unknown kind, not UTF-8, broken or without such a column, or a text, group or prompt
        is null, or a text or prompt not a string; one line with file, position and remedy.
    EmptyCorpusError
        If it contains no text.
    MissingExtraError
        If it needs pyarrow (Parquet, .zst, dataset folders), or an address fsspec, and that is not installed.
    """
    columns = Columns(column, group_column, prompt_column, source_column)
    if not isinstance(source, str | os.PathLike):
        return as_texts(source, "texts", columns=columns)
    read = _read(source, columns)
    if read.has_columns or not columns.named:
        return read
    note = f"{read.name} contains only texts, without a column {', '.join(columns.named)}."
    return replace(
        read, notes=(*read.notes, Note("no-columns", note, "Nothing to do, if another file has the column.", len(read)))
    )


def _read(source: str | os.PathLike[str], columns: Columns) -> TextFile:
    if source == "-":
        return _read_file(Source(None), columns)
    file, choice = split_column(source)
    if choice is not None:
        read = _read(file, columns.with_choice(choice))
        if not read.has_columns:
            raise InputError(f"{file} contains only texts, without columns: leave {COLUMN_SIGN}{choice} out")
        return replace(read, name=f"{read.name}{COLUMN_SIGN}{choice}")
    if is_url(source):
        return _read(download(str(source)), columns)
    place = place_of(source)
    check_exists(place)
    if isinstance(place, Path) and place.is_dir():
        if not is_dataset(place):
            return read_text_folder(place)
        records = dataset_records(place, columns)
        return read_records(records, f"{place} row", columns, name=place.name, path=place, form="dataset")
    return _read_file(Source(place), columns)


def _read_file(source: Source, columns: Columns) -> TextFile:
    form = form_of(source)
    if form == "lines":
        packer = TextPacker()
        for block in source.text_blocks(max_line=current_limits().max_text):
            packer.add_lines(block)
        return TextFile(source.name, packer.texts(), path=source.path, form=form, has_columns=False)
    if form in ("Parquet", "Arrow"):
        reader = parquet_records if form == "Parquet" else arrow_records
        records, one = reader(source, columns), "row"
    elif form == "log":
        records, one = inspect_records(source), "sample"
    else:
        records, one, columns = records_of(source, form, columns)
    return read_records(records, f"{source.place} {one}", columns, name=source.name, path=source.path, form=form)


def as_texts(
    source: Any,
    name: str,
    *,
    columns: Columns = Columns(),  # noqa: B008  (it is frozen)
    progress: Callable[[str, int, int], None] | None = None,
) -> TextFile:
    """Return the texts of a path, an address or a Python object.

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
        return _read(source, columns)
    if isinstance(source, str | bytes):
        raise InputError(f"{name}: expected many texts, got one {type(source).__name__}; put it in a list")
    if isinstance(source, Mapping):
        splits = f": {', '.join(map(str, source))}" if type(source).__name__ in _SPLIT else ""
        raise InputError(
            f"{name}: expected an iterable of str, got a {type(source).__name__}; take one of its values{splits}"
        )
    if is_table(source):
        return read_records(_rows(source, name), f"{name} row", columns, name=name, form="table", example=_TABLE)
    is_in_rows = hasattr(source, "column_names") and not hasattr(source, "__len__")  # its `to_list` needs it in memory
    items = iter(source if is_in_rows else _items(source, name))
    first = next(items, None)
    rest = items if first is None else chain((first,), items)
    rest = rest if progress is None else _with_progress(rest, f"reading {name}", progress)
    if isinstance(first, Mapping):
        rows = enumerate(map(_plain, rest), start=1)
        return read_records(rows, f"{name} row", columns, name=name, form="rows", example=_ROWS_OF)
    return TextFile(name, _strings(rest, name), form="list")


def is_stream(source: Any) -> bool:
    """Return whether texts or rows come one by one, nobody knows how many: a streamed dataset, a generator."""
    return isinstance(source, Iterable) and not hasattr(source, "__len__")


def is_table(source: Any) -> bool:
    """Return whether `source` has columns by name, and a length: it is no stream of rows, and no query."""
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        return False
    names = getattr(source, "column_names", getattr(source, "columns", None))
    return names is not None and not callable(names) and not isinstance(names, Mapping)


def _rows(source: Any, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a table."""
    labels = list(getattr(source, "column_names", None) or source.columns)
    named = [str(label) for label in labels]
    twice = next((one for one in named if named.count(one) > 1), None)
    if twice is not None:
        raise InputError(f"{name}: two columns are called '{twice}': rename or remove one of them")
    for start in range(0, len(source), _ROWS):
        part = source[start : start + _ROWS]
        read = {str(label): part[label] for label in labels if not isinstance(part, Mapping) or label in part}
        cells = [_items(column, name) for column in read.values()]
        for number, row in enumerate(zip(*cells, strict=True), start=start + 1):
            yield number, {key: _plain(value) for key, value in zip(read, row, strict=True)}


def _with_progress(items: Iterable[Any], label: str, progress: Callable[[str, int, int], None]) -> Iterator[Any]:
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
    return any(name.removesuffix(ending).endswith(SUFFIXES) for ending in COMPRESSED)


def _plain(value: Any) -> Any:
    """Return a cell with plain lists and dicts in place of arrays and other mappings; as None where it is missing."""
    if type(value) in (str, int, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if is_missing(value) else value


def _items(source: Any, name: str) -> Iterable[Any]:
    """Return the items of an array or a column in a list; an iterable as it is."""
    for method in _TO_LIST:
        if hasattr(source, method):
            source = getattr(source, method)()
            break
    if isinstance(source, str) or not isinstance(source, Iterable):
        hint = "; give the result of its collect()" if hasattr(source, "collect") else ""
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
        if is_missing(item):
            raise InputError(f"{name}[{position}] is missing ({item}); leave it out or fill it in")
        if not isinstance(item, str):
            hint = "; give one of its values, as in [row['text'] for row in rows]" if isinstance(item, Mapping) else ""
            raise InputError(f"{name}[{position}] must be a str, got {type(item).__name__}{hint}")
    return list(map(str, items))


def read_text_folder(folder: Path) -> TextFile:
    """Return the text of each file in `folder` and its sub-folders, by name, without the line break at its end.

    The files of a sub-folder are a group, named by its path. Other files are no texts; a note says which.
    """
    with io_errors(str(folder)):
        inside = sorted(path for path in folder.rglob("*") if not _is_hidden(path.relative_to(folder)))
        files = [path for path in inside if path.is_file() and path.suffix.lower() in _FOLDER_FILES]
        others = [str(path.relative_to(folder)) for path in inside if path.is_file() and path not in set(files)]
        n_bytes = sum(path.stat().st_size for path in files)
    if not files:
        hint = f": {', '.join(others[:_N_NAMED])}{', ...' if len(others) > _N_NAMED else ''}" if others else ""
        raise InputError(
            f"{folder} is a folder, but contains neither a saved dataset nor text files; give a file{hint}"
        )
    limit = input_limit(n_bytes)
    if n_bytes > limit:
        raise input_too_long(str(folder), limit)
    labels = [str(path.parent.relative_to(folder)) for path in files]
    groups = number_groups(labels, f"{folder} groups") if len(set(labels)) > 1 else None
    notes = []
    if others:
        named = f"{', '.join(others[:_N_NAMED])}{', ...' if len(others) > _N_NAMED else ''}"
        message = f"{len(others)} files of other kinds are left out: {named}."
        notes.append(Note("files-left-out", message, "If they contain texts, give them separately.", len(others)))
    if groups is not None:
        message = f"The texts of a sub-folder are one group ({len(set(labels))} groups)."
        notes.append(
            Note(
                "groups-of-folders",
                message,
                "If a sub-folder is another generator or the real text, give it separately.",
                len(files),
            )
        )
    texts = PackedTexts.of(map(_text, files))
    return TextFile(
        folder.name, texts, groups, folder, form="folder, one text per file", notes=tuple(notes), has_columns=False
    )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _text(path: Path) -> str:
    if path.stat().st_size == 0:
        return ""  # an empty text, which inspection reports
    blocks = Source(path).text_blocks(max_line=current_limits().max_text, by_line=False)
    return "".join(blocks).replace("\r\n", "\n").removesuffix("\n")
