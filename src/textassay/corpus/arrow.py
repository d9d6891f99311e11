"""Read the records of Parquet and Arrow files, and of Hugging Face datasets saved to disk; needs pyarrow."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from textassay.corpus.documents import parse_json, read_document
from textassay.corpus.limits import MIN_LINE_BYTES, document_limit, input_limit, input_too_long
from textassay.corpus.paths import Columns
from textassay.corpus.records import USUAL_COLUMNS, is_source_or_id
from textassay.corpus.source import Source, check_exists, io_errors
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError

Records = Iterator[tuple[int, Any]]

_BLOCK = 1 << 23  # bytes decompressed at once
_ROWS = 1 << 13  # rows read at once: a small file can repeat one stored value in all of them
_MOST_TIMES = 10_000  # a group of rows that says it is so many times as large as its file is damaged
_MAGIC, _ARROW = b"PAR1", b"ARROW1"
_OF_KINDS = ("messages", "conversations", "choices", "filtered_resps", "response")  # what answers come with
_STATE, _SPLITS = "state.json", "dataset_dict.json"


def parquet_records(source: Source, columns: Columns) -> Records:
    """Yield the rows of a Parquet file, compressed or not; only the columns needed are read."""
    arrow = _arrow("reading Parquet files")
    from pyarrow import parquet

    place = source.place
    with io_errors(place):
        packed = arrow.BufferReader(_decompressed(source)) if source.compression else None
        try:
            with parquet.ParquetFile(packed or source.path or source.open_as_it_is()) as file:
                names = _needed(arrow, file.schema_arrow, columns, place)
                limit = input_limit(source.size or 0)
                _check_sizes(file.metadata, names, place, limit, source.size)
                yield from _records(file.iter_batches(batch_size=_ROWS, columns=names), place, limit)
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{place} is not a valid Parquet file: {_first_line(error)}") from None


def arrow_records(source: Source, columns: Columns) -> Records:
    """Yield the rows of an Arrow file or stream."""
    if source.path is None or source.compression:
        raise InputError(f"{source.place}: an Arrow file must be local and uncompressed: copy or unpack it first")
    return _of_streams([source.path], source.place, columns)


def is_dataset(folder: Path) -> bool:
    """Return whether `folder` holds a saved dataset or a saved dict of splits."""
    return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()


def dataset_records(folder: Path, columns: Columns) -> Records:
    """Yield the rows of a dataset folder, whose ``state.json`` lists its Arrow files."""
    if (folder / _SPLITS).is_file():
        splits = _files(folder, _json(folder / _SPLITS).get("splits", []), _SPLITS)
        raise InputError(f"{folder} contains several splits; name one: {', '.join(map(str, splits))}")
    state = _json(folder / _STATE)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputError(f"{folder} is a selection of rows; save it again after flatten_indices()")
    _arrow("reading dataset folders")
    entries = state.get("_data_files", [])
    if isinstance(entries, list):
        entries = [entry.get("filename") if isinstance(entry, dict) else entry for entry in entries]
    files = _files(folder, entries, _STATE)
    for file in files:
        check_exists(file)
    if not files:
        raise EmptyCorpusError(f"{folder} lists no data file")
    return _of_streams(files, str(folder), columns)


def _of_streams(files: Sequence[Path], place: str, columns: Columns) -> Records:
    arrow = _arrow("reading Arrow files")

    def batches() -> Iterator[Any]:
        for file in files:
            with io_errors(str(file)), arrow.memory_map(str(file)) as mapped:
                is_file = mapped.read(len(_ARROW)) == _ARROW
                mapped.seek(0)
                with (arrow.ipc.open_file if is_file else arrow.ipc.open_stream)(mapped) as stream:
                    read = map(stream.get_batch, range(stream.num_record_batches)) if is_file else stream
                    needed: list[str] | None = None
                    for batch in read:
                        needed = needed or _needed(arrow, batch.schema, columns, place)
                        yield batch.select(needed)

    try:
        yield from _records(batches(), place, input_limit(sum(file.stat().st_size for file in files)))
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{place} contains a file that is not a valid Arrow stream: {_first_line(error)}") from None


def _files(folder: Path, names: Any, document: str) -> list[Path]:
    """Return the files and folders that a document of `folder` lists."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{folder / document} is damaged: it must list file names")
    return [folder / name for name in names]


def _needed(arrow: Any, schema: Any, columns: Columns, place: str) -> list[str]:
    """Return the columns that are read: all but long lists and texts that nobody named, where a text is named."""
    names = list(schema.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{place} has two columns called '{twice}': rename or remove one of them")
    is_plain = columns.text is not None or any(name in names for name in USUAL_COLUMNS)
    if not is_plain or any(name in names for name in _OF_KINDS):
        return names
    wanted = {re.split(r"[.\[]", name)[0].casefold() for name in columns.named} | {*USUAL_COLUMNS}
    small = (arrow.types.is_integer, arrow.types.is_boolean, arrow.types.is_dictionary)
    return [
        name for name in names
        if name in columns.named or name.casefold() in wanted or is_source_or_id(name)
        or any(is_kind(schema.field(name).type) for is_kind in small)
    ]  # fmt: skip


def _records(batches: Iterator[Any], place: str, limit: int) -> Iterator[tuple[int, Any]]:
    n_rows = n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_bytes += max(batch.nbytes, MIN_LINE_BYTES * batch.num_rows)
        if n_bytes > limit:
            raise input_too_long(place, limit)
        yield from enumerate(batch.to_pylist(), start=n_rows + 1)
        n_rows += batch.num_rows


def _decompressed(source: Source) -> bytearray:
    """Return the content of a compressed Parquet file; stop at the first block if it is not Parquet."""
    limit = document_limit()
    content = bytearray()
    with source.open() as stream:
        while block := stream.read(_BLOCK):
            content += block
            if not content.startswith(_MAGIC):
                raise InputError(
                    f"{source.place} is not a valid Parquet file: it does not begin with {_MAGIC.decode()}"
                )
            if len(content) > limit:
                raise input_too_long(source.place, limit)
    return content


def _check_sizes(metadata: Any, columns: Sequence[str], place: str, limit: int, size: int | None) -> None:
    """Raise if the metadata say that `columns` hold more than may be read, or the file many times its `size`."""
    n_bytes = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        if row_group.total_byte_size <= limit // metadata.num_row_groups:
            continue  # nor are columns looked at, which ends the process where their sizes are damaged
        if size is not None and row_group.total_byte_size > _MOST_TIMES * size:
            raise input_too_long(place, limit)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            if column.path_in_schema.split(".")[0] in columns:
                n_bytes += column.total_uncompressed_size
    if n_bytes > limit or metadata.num_rows * MIN_LINE_BYTES > limit:
        raise input_too_long(place, limit)


def _arrow(feature: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise MissingExtraError(feature, "parquet") from None
    return pyarrow


def _json(path: Path) -> dict[str, Any]:
    with io_errors(str(path)):
        try:
            value = parse_json(read_document(path))
        except ValueError as error:
            raise InputError(f"{path} is broken: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is damaged: it must contain a JSON object")
    return value


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
