"""Parquet files and dataset folders: nested columns, groups, nulls, and what is broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from textassay.corpus.texts import read_texts
from textassay.errors import EmptyCorpusError, InputError

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

_LEAVE = "; fill it in, or leave such rows out by FILE::%s[%s!=null]"


def write_parquet(path: Path, **columns: Any) -> Path:
    parquet.write_table(arrow.table(columns), path)
    return path


def save_dataset(folder: Path, parts: list[Any], **state: Any) -> Path:
    """Write what a dataset saved to disk consists of: Arrow streams and the file that lists them."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05d}-of-{len(parts):05d}.arrow" for number in range(len(parts))]
    for name, table in zip(names, parts, strict=True):
        with arrow.OSFile(str(folder / name), "wb") as sink, arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    state = {"_data_files": [{"filename": name} for name in names], "_format_type": None, **state}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def message_of(path: Path, **columns: str) -> str:
    with pytest.raises(InputError) as caught:
        read_texts(path, **columns)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_every_type_of_string_is_read(tmp_path: Path, kind: str) -> None:
    array = arrow.array(["a", "b", "a"])
    column = array.dictionary_encode() if kind == "dictionary" else array.cast(kind)
    assert read_texts(write_parquet(tmp_path / "f.parquet", text=column)).texts == ("a", "b", "a")


def test_nested_columns_and_groups(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "f.parquet", a=[{"b": "x", "c": 1}, {"b": "y", "c": 2}], doc=[8, 3])
    file = read_texts(path, column="a.b", group_column="doc")
    assert file.texts == ("x", "y")
    assert file.groups is not None
    assert file.groups[0] != file.groups[1]
    assert message_of(path, column="a.x").endswith("has no column 'a.x'; it has: a.b, a.c, doc")


def test_nulls_and_other_types_are_errors(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "f.parquet", text=["a", "b", None], n=[1, 2, 3])
    assert message_of(path) == f"{path} row 3: 'text' must be a string, got null{_LEAVE % ('text', 'text')}"
    assert message_of(path, column="n") == f"{path} row 1: 'n' must be a string, got a number"
    nested = write_parquet(tmp_path / "g.parquet", a=arrow.array([{"b": "x"}, None]))
    assert (
        message_of(nested, column="a.b") == f"{nested} row 2: 'a.b' must be a string, got null{_LEAVE % ('a.b', 'a.b')}"
    )


def test_broken_and_empty_files(tmp_path: Path) -> None:
    broken = tmp_path / "f.parquet"
    broken.write_bytes(b"PAR1 no parquet")
    assert "is not a valid Parquet file" in message_of(broken)
    broken.write_bytes(b"")
    assert "is not a valid Parquet file" in message_of(broken)
    with pytest.raises(EmptyCorpusError, match="contains no text"):
        read_texts(write_parquet(tmp_path / "g.parquet", text=arrow.array([], arrow.string())))
    (tmp_path / "h.parquet.gz").write_bytes(b"plain")
    assert "not a valid gzip file" in message_of(tmp_path / "h.parquet.gz")


def test_a_dataset_folder_is_read_part_by_part(tmp_path: Path) -> None:
    parts = [arrow.table({"text": ["a", "b", "c"], "doc": [1, 1, 2]}), arrow.table({"text": ["d"], "doc": [2]})]
    folder = save_dataset(tmp_path / "saved", parts)
    file = read_texts(folder, group_column="doc")
    assert (file.texts, file.name, file.path) == (("a", "b", "c", "d"), "saved", folder)
    assert file.groups is not None
    assert file.groups[0] == file.groups[1] != file.groups[2] == file.groups[3]


def test_a_dict_of_splits_names_them(tmp_path: Path) -> None:
    save_dataset(tmp_path / "saved" / "train", [arrow.table({"text": ["a"]})])
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert message_of(tmp_path / "saved") == (
        f"{tmp_path / 'saved'} contains several splits; name one: {tmp_path / 'saved' / 'train'}, "
        f"{tmp_path / 'saved' / 'test'}"
    )
    assert read_texts(tmp_path / "saved" / "train").texts == ("a",)


def test_damaged_files_found_by_fuzzing(tmp_path: Path) -> None:
    """Offsets beyond the end, half a character, names that are none: what they cost was the process."""
    path = write_parquet(tmp_path / "a.parquet", text=["aaaa", "bbbb", "cc\u00e9c"])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\xc3\xa9", b"\xc3\xc3"))
    assert "is not a valid Parquet file" in message_of(path)
    folder = save_dataset(tmp_path / "dataset", [arrow.table({"text": ["aaaa", "bbbb", "cccc"]})])
    (stream,) = folder.glob("*.arrow")
    whole = stream.read_bytes()
    offsets = b"\4\0\0\0\x08\0\0\0"
    assert offsets in whole
    for damaged in (
        whole.replace(offsets, b"\4\0\0\0\xff\xff\xff\x7f"),
        whole.replace(offsets, b"\4\0\0\0\xff\0\0\xf0"),
    ):
        stream.unlink()
        stream.write_bytes(damaged)
        assert "is not a valid Arrow stream" in message_of(folder)
    for files in ('{"a": 1}', "[1]", '[{"name": "a"}]', "3"):
        (folder / "state.json").write_text(f'{{"_data_files": {files}}}')
        assert "must list file names" in message_of(folder)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "\\ud800"}]}')
    assert "no file" in message_of(folder)


def test_broken_dataset_folders(tmp_path: Path) -> None:
    table = arrow.table({"text": ["a"]})
    selected = save_dataset(tmp_path / "selected", [table], _indices_data_files=[{"filename": "indices.arrow"}])
    assert "save it again after flatten_indices()" in message_of(selected)
    missing = save_dataset(tmp_path / "missing", [table])
    (missing / "data-00000-of-00001.arrow").unlink()
    assert "no file" in message_of(missing)
    broken = save_dataset(tmp_path / "broken", [table])
    (broken / "data-00000-of-00001.arrow").write_bytes(b"no arrow at all here")
    assert "not a valid Arrow stream" in message_of(broken)
    state = save_dataset(tmp_path / "state", [table])
    (state / "state.json").write_text("{")
    assert "state.json is broken" in message_of(state)
    (state / "state.json").write_text("[]")
    assert "it must contain a JSON object" in message_of(state)
    (state / "state.json").write_text("{}")
    assert "lists no data file" in message_of(state)


def test_arrow_files_and_streams_by_any_name(tmp_path: Path) -> None:
    table = arrow.table({"text": ["a", "b"], "model": ["x", "y"]})
    with arrow.ipc.new_file(tmp_path / "f.feather", table.schema) as file:
        file.write_table(table)
    with arrow.ipc.new_stream(tmp_path / "s.arrow", table.schema) as stream:
        stream.write_table(table)
    for name in ("f.feather", "s.arrow"):
        assert read_texts(tmp_path / name).texts == ("a", "b")
        assert read_texts(f"{tmp_path / name}::text[model=y]").texts == ("b",)
    (tmp_path / "cut.arrow").write_bytes((tmp_path / "s.arrow").read_bytes()[:40])
    assert "not a valid Arrow stream" in message_of(tmp_path / "cut.arrow")
