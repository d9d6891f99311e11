"""Read texts, groups and prompts from Parquet files and from Hugging Face datasets saved to disk; needs pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from textassay.corpus.answers import FORMAT_KEYS
from textassay.corpus.documents import parse_json, read_document
from textassay.corpus.limits import MIN_LINE_BYTES, document_limit, input_limit, input_too_long
from textassay.corpus.packed_texts import Bytes, IntArray, TextPacker
from textassay.corpus.records import Columns, IdColumns, Rows, choose_column, choose_text_column, read_records
from textassay.corpus.source import Source, check_exists, io_errors
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError

_BLOCK = 1 << 23  # bytes decompressed at once
_ROWS = 1 << 13  # rows read at once: a small file can repeat one stored value in all of them
_MOST_TIMES = 10_000  # a group of rows that says it is so many times as large as its file is damaged
_MAGIC = b"PAR1"
_STATE, _SPLITS = "state.json", "dataset_dict.json"


def read_parquet(source: Source, columns: Columns) -> Rows:
    """Return the rows of a Parquet file, compressed or not; only the columns needed are read."""
    arrow = _arrow("reading Parquet files")
    from pyarrow import parquet

    place = source.place
    with io_errors(place):
        packed = arrow.BufferReader(_decompressed(source)) if source.compression else None
        try:
            with parquet.ParquetFile(packed or source.path or source.open_as_it_is()) as file:
                names = list(_leaves(arrow, file.schema_arrow))
                if _holds_answers(arrow, file.schema_arrow, columns):
                    limit = input_limit(source.size or 0)
                    _check_sizes(file.metadata, file.schema_arrow.names, place, limit, source.size)
                    batches = file.iter_batches(batch_size=_ROWS)
                    return read_records(_records(batches, place, limit), f"{place} row", columns)
                wanted = _wanted(names, columns, place)
                ids = IdColumns((name for name in file.schema_arrow.names if name != wanted.text), wanted)
                outer = [name.split(".")[0] for name in wanted if name is not None]
                outer += [name for name in file.schema_arrow.names if ids.has(name)]
                limit = input_limit(source.size or 0)
                _check_sizes(file.metadata, outer, place, limit, source.size)
                batches = file.iter_batches(batch_size=_ROWS, columns=outer)
                return _collect(arrow, batches, wanted, ids, place, limit)
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{place} is not a valid Parquet file: {_first_line(error)}") from None


def is_dataset(folder: Path) -> bool:
    """Return whether `folder` holds a saved dataset or a saved dict of splits."""
    return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()


def read_dataset(folder: Path, columns: Columns) -> Rows:
    """Return the rows of a dataset folder, whose ``state.json`` lists its Arrow files; columns as for Parquet."""
    if (folder / _SPLITS).is_file():
        splits = _files(folder, _json(folder / _SPLITS).get("splits", []), _SPLITS)
        raise InputError(f"{folder} holds several splits; name one: {', '.join(map(str, splits))}")
    state = _json(folder / _STATE)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputError(f"{folder} holds a selection of rows; save it again after flatten_indices()")
    arrow = _arrow("reading dataset folders")
    entries = state.get("_data_files", [])
    if isinstance(entries, list):
        entries = [entry.get("filename") if isinstance(entry, dict) else entry for entry in entries]
    files = _files(folder, entries, _STATE)
    for file in files:
        check_exists(file)
    if not files:
        raise EmptyCorpusError(f"{folder} lists no data file")

    def batches() -> Iterator[Any]:
        for file in files:
            with io_errors(str(file)), arrow.memory_map(str(file)) as mapped, arrow.ipc.open_stream(mapped) as stream:
                yield from stream

    try:
        with io_errors(str(files[0])), arrow.memory_map(str(files[0])) as mapped:
            schema = arrow.ipc.open_stream(mapped).schema
        names = list(_leaves(arrow, schema))
        limit = input_limit(sum(file.stat().st_size for file in files))
        if _holds_answers(arrow, schema, columns):
            return read_records(_records(batches(), str(folder), limit), f"{folder} row", columns)
        wanted = _wanted(names, columns, str(folder))
        ids = IdColumns((name for name in schema.names if name != wanted.text), wanted)
        return _collect(arrow, batches(), wanted, ids, str(folder), limit)
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{folder} holds a file that is not a valid Arrow stream: {_first_line(error)}") from None


def _files(folder: Path, names: Any, document: str) -> list[Path]:
    """Return the files and folders that a document of `folder` lists."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{folder / document} is broken: it must list names of files")
    return [folder / name for name in names]


def _holds_answers(arrow: Any, schema: Any, columns: Columns) -> bool:
    """Return whether the texts are in lists of messages or of choices, or the prompts are."""
    lists = {name for name in schema.names if arrow.types.is_list(schema.field(name).type)}
    named = [name for name in (columns.text, columns.prompt) if name is not None]
    if any(name in lists or "[" in name for name in named):
        return True
    if columns.text is not None:
        return False
    try:
        return choose_text_column(schema.names, columns, "") in lists
    except InputError:
        return any(name in FORMAT_KEYS for name in lists)


def _records(batches: Iterator[Any], place: str, limit: int) -> Iterator[tuple[int, Any]]:
    n_rows = n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_bytes += max(batch.nbytes, MIN_LINE_BYTES * batch.num_rows)
        if n_bytes > limit:
            raise input_too_long(place, limit)
        yield from enumerate(batch.to_pylist(), start=n_rows + 1)
        n_rows += batch.num_rows


def _wanted(names: Sequence[str], columns: Columns, place: str) -> Columns:
    return Columns(
        choose_text_column(names, columns, place),
        *(None if name is None else choose_column(names, name, place) for name in columns[1:]),
    )


def _collect(arrow: Any, batches: Iterator[Any], wanted: Columns, ids: IdColumns, place: str, limit: int) -> Rows:
    assert wanted.text is not None
    texts, prompts = TextPacker(), TextPacker()
    packed = [(wanted.text, texts)] + ([] if wanted.prompt is None else [(wanted.prompt, prompts)])
    labels: list[Any] = []
    n_rows = n_bytes = 0

    def column_of(batch: Any, name: str) -> Any:
        array = _column(batch, name)
        array.validate(full=True)  # that it is UTF-8, and that nothing lies beyond its end
        return array

    def check_no_null(array: Any, name: str) -> None:
        if array.null_count:
            row = n_rows + array.is_null().to_pylist().index(True) + 1
            raise InputError(f"{place} row {row}: '{name}' is null; leave the row out or fill it in")

    for batch in batches:
        read = [name for name in wanted if name is not None]
        n_bytes += sum(max(_column(batch, name).nbytes, MIN_LINE_BYTES * batch.num_rows) for name in read)
        if n_bytes > limit:
            raise input_too_long(place, limit)
        for name, packer in packed:
            array = column_of(batch, name)
            if not _is_text(arrow, array.type):
                raise InputError(f"{place}: column '{name}' must hold strings, got {array.type}")
            check_no_null(array, name)
            packer.add_bytes(*_bytes_of(arrow, array))
        if wanted.group is not None:
            array = column_of(batch, wanted.group)
            check_no_null(array, wanted.group)
            labels += array.to_pylist()
        n_rows += batch.num_rows
        if ids:
            for row in batch.select([name for name in batch.schema.names if ids.has(name)]).to_pylist():
                ids.add(row)
    if n_rows == 0:
        raise EmptyCorpusError(f"{place} has no row")
    of_prompts = None if wanted.prompt is None else prompts.texts()
    return Rows(texts.texts(), None if wanted.group is None else labels, of_prompts, ids=ids.numbers(n_rows))


def _bytes_of(arrow: Any, array: Any) -> tuple[Bytes, IntArray]:
    """Return the bytes of an array of strings, and the number of bytes of each."""
    if arrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array.cast(arrow.large_string())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    return content.copy(), np.diff(bounds)  # its own bytes: the batch goes


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


def _column(batch: Any, name: str) -> Any:
    """Return the array of a column or of a field of a structure."""
    from pyarrow import compute

    if name in batch.schema.names:
        return batch.column(name)
    outer, *inner = name.split(".")
    return compute.struct_field(batch.column(outer), inner)


def _leaves(arrow: Any, fields: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all columns that are not structures."""
    for field in fields:
        if arrow.types.is_struct(field.type):
            yield from _leaves(arrow, field.type, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind) or view(kind))


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
        raise InputError(f"{path} is broken: it must hold a JSON object")
    return value


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
