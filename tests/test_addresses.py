"""Files at addresses: read as files are, in parts, with the same limits and with errors of one line."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import s3_server
from textassay.addresses import is_address
from textassay.corpus.limits import input_limits
from textassay.corpus.number_files import read_features, read_side_columns
from textassay.corpus.source import Source
from textassay.corpus.texts import as_texts, read_texts
from textassay.errors import InputError, MissingExtraError
from textassay_lab.generator.contexts import read_contexts

fsspec = pytest.importorskip("fsspec")

TEXTS = ("one two", "", "drei é", "four")
LINES = "".join(f"{text}\n" for text in TEXTS).encode()


def _parquet() -> bytes:
    stream = io.BytesIO()
    parquet.write_table(pa.table({"text": TEXTS, "g": [1, 1, 2, 2]}), stream)
    return stream.getvalue()


def _zst(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


CONTENTS = {
    "a.txt": LINES,
    "a.de": LINES,
    "a.txt.gz": gzip.compress(LINES),
    "a.txt.zst": _zst(LINES),
    "a.jsonl": "".join(json.dumps({"text": text, "g": 1}) + "\n" for text in TEXTS).encode(),
    "a.json.zst": _zst(json.dumps(TEXTS).encode()),
    "a.csv": b"text,g\n" + "".join(f'"{text}",1\n' for text in TEXTS).encode(),
    "a.parquet": _parquet(),
    "a.parquet.gz": gzip.compress(_parquet()),
    "a.parquet.zst": _zst(_parquet()),
}


@pytest.fixture
def memory() -> Iterator[str]:
    """Return the address of an empty folder in memory."""
    yield "memory://corpus"
    fsspec.filesystem("memory").rm("/corpus", recursive=True)


def _put(folder: str, name: str, content: bytes) -> str:
    system, path = fsspec.core.url_to_fs(f"{folder}/{name}")
    system.pipe_file(path, content)
    return f"{folder}/{name}"


@pytest.mark.parametrize("name", CONTENTS)
def test_every_kind_of_file_is_read_at_an_address_as_on_disk(name: str, memory: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(CONTENTS[name])
    address = _put(memory, name, CONTENTS[name])
    group_column = "g" if "json.zst" not in name and ".txt" not in name and ".de" not in name else None
    here, there = (read_texts(place, group_column=group_column) for place in (path, address))
    assert tuple(here.texts) == tuple(there.texts) == TEXTS
    assert there.name == name
    assert there.path is None
    if group_column is not None:
        assert here.groups is not None
        assert there.groups is not None
        assert here.groups.tolist() == there.groups.tolist()
    assert tuple(as_texts(address, "name").texts) == TEXTS
    assert tuple(read_texts(f"file://{path}").texts) == TEXTS


def test_numbers_and_contexts_are_read_at_an_address(memory: str) -> None:
    vectors = np.arange(6.0).reshape(3, 2)
    stream = io.BytesIO()
    np.save(stream, vectors)
    assert read_features(_put(memory, "a.npy", stream.getvalue())).tolist() == vectors.tolist()
    numbers = _put(memory, "a.txt", b"1\n2\n3\n")
    generated, real = read_side_columns(numbers, n_generated=1, n_real=2)
    assert (generated.tolist(), real.tolist()) == ([3], [1, 2])
    assert read_contexts(_put(memory, "a.tsv", b"mood\nglad\nsad\n")) == {"mood": ["glad", "sad"]}


def test_what_is_an_address() -> None:
    assert all(map(is_address, ("s3://bucket/a", "gs://bucket/a", "memory://a", "file:///a", "S3://b/a")))
    assert not any(map(is_address, ("a.txt", "C:\\a", "c://a", "https://a.b/c", "http://a", "-", "a b://c", 3, None)))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://corpus/none.txt", "memory://corpus/none.txt cannot be read: there is no such file or bucket"),
        ("nonsense://a/b.txt", "nonsense://a/b.txt cannot be read: fsspec does not know nonsense:// addresses"),
        ("memory://corpus/a.docx", "memory://corpus/a.docx: unknown kind of file (suffix '.docx')"),
        ("file:///none/at/all.txt", "no file /none/at/all.txt: there is no folder /none/at"),
    ],
)
def test_what_cannot_be_read_is_one_line(address: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_texts(address)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(MissingExtraError, match=r"s3:// needs the 'remote' extra: pip install 'textassay\[remote\]'"):
        read_texts("s3://bucket/a.txt")


def test_limits_hold_at_an_address(memory: str) -> None:
    plain = _put(memory, "a.txt", b"word " * 10_000)
    bomb = _put(memory, "b.txt.zst", _zst(b"word\n" * 1_000_000))
    for address in (plain, bomb):
        with input_limits(max_input="20kB"), pytest.raises(InputError, match=r"holds .*more than 20 kB, the limit"):
            read_texts(address)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_that_are_none_or_cut_off(ending: str, tmp_path: Path) -> None:
    kind = {".gz": "gzip", ".zst": "zstd"}[ending]
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(CONTENTS[path.name][:-9])
    with pytest.raises(InputError, match=f"{ending} ends too early: the {kind} file is cut off; copy or download it"):
        read_texts(path)
    path.write_bytes(LINES)
    with pytest.raises(InputError, match=f"{ending} is not a valid {kind} file"):
        read_texts(path)
    latin = tmp_path / f"b.txt{ending}"
    latin.write_bytes(gzip.compress(b"\xe4") if ending == ".gz" else _zst(b"\xe4"))
    with pytest.raises(InputError, match=r"iconv -f WINDOWS-1252 -t UTF-8 < b\.txt > utf8-b\.txt"):
        read_texts(latin)


def test_a_text_is_not_kept_twice_and_read_in_parts(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address = _put(memory, "a.txt", b"one two three\n" * 200_000)
    from textassay import addresses

    monkeypatch.setattr(addresses, "_BLOCK", 1 << 16)
    sizes = [len(block) for block in Source(address).text_blocks()]
    assert sum(sizes) == 14 * 200_000


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[s3_server.Store]:
    pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'textassay[remote]'")
    with s3_server.serve() as (store, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        fsspec.filesystem("s3").clear_instance_cache()
        yield store
        fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.slow
def test_objects_of_s3_are_read_though_every_third_request_fails(s3: s3_server.Store) -> None:
    s3.fails = lambda number, request: number % 3 == 0
    for name, content in CONTENTS.items():
        s3.objects[f"texts/{name}"] = content
        assert tuple(read_texts(f"s3://bucket/texts/{name}").texts) == TEXTS
    large = b"one two three four\n" * 1_500_000  # more than is asked for at once
    s3.objects["large.txt"] = large
    assert len(read_texts("s3://bucket/large.txt").texts) == 1_500_000
    assert sum(request == "GET large.txt" for request in s3.requests) >= 3


@pytest.mark.slow
def test_errors_of_s3_are_one_line(s3: s3_server.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def message(address: str) -> str:
        with pytest.raises(InputError) as caught:
            read_texts(address)
        return str(caught.value)

    for address in ("s3://bucket/none.txt", "s3://none/a.txt"):
        assert message(address) == f"{address} cannot be read: there is no such file or bucket"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    fsspec.filesystem("s3").clear_instance_cache()
    assert "no answer (" in message("s3://bucket/a.txt")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", "/nowhere")
    fsspec.filesystem("s3").clear_instance_cache()
    assert "no credentials; set AWS_ACCESS_KEY_ID" in message("s3://bucket/a.txt")
