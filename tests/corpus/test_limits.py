"""Limits: nothing is read beyond them, however small the file looks, and what is refused says what to do."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from textassay.corpus import source as source_module
from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.limits import InputLimits, current_limits, input_limit, input_limits, parse_size, running_text
from textassay.corpus.number_files import read_features
from textassay.corpus.source import Source
from textassay.corpus.texts import as_texts, read_texts
from textassay.errors import InputError, OptionError
from textassay_lab.generator.running_text import read_running_text


class Endless(io.RawIOBase):
    """A stream without end that counts what was read of it."""

    def __init__(self, block: bytes, start: bytes = b"") -> None:
        self.block, self.start, self.n_read = block, start, 0
        self.all_of_start = start

    def read(self, n: int = -1) -> bytes:
        self.n_read += n
        start, self.start = self.start, b""
        return (start + self.block * (n // len(self.block) + 1))[:n]

    def close(self) -> None:
        """Begin again: it is looked at before it is read."""
        self.start = self.all_of_start


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_BLOCK", 1000)
    monkeypatch.setattr(source_module, "_HEAD", 1000)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("name", "block", "most", "message"),
    [
        ("-", b"\0", 1000, "is a binary file: zero byte in line 1 (byte 0)"),
        ("-", b"a", 500_000, "line 1 has more than the 100 characters allowed for one text"),
        ("-", b"\n", 3000, "lines, each of which counts as 64 bytes"),
        ("-", b"abc " * 50 + b"\n", 102_000, "holds more than 100 kB"),
        (".jsonl", b"a", 500_000, "line 1 has more than the 1,600 characters"),
        (".csv", b"a\n", 500_000, "a field has more than the 1,600 characters"),
        (".csv", b"a", 500_000, "line 1 has more than the 1,600 characters"),
        (".json", b" ", 27_000, "holds more than 25 kB"),
        (".json", b"[[],", 30_000, "holds more than 25 kB"),
    ],
)
def test_a_bomb_is_read_to_the_block_that_shows_it(
    name: str, block: bytes, most: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stream = Endless(block, b'text\n"' if block == b"a\n" else b"")
    path = tmp_path / f"bomb{name}.gz"
    path.touch()
    monkeypatch.setattr("gzip.open", lambda _: stream)
    source = "-" if name == "-" else path
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
        monkeypatch.setattr("sys.stdin", type("", (), {"buffer": stream}))
    with input_limits(max_input=100_000, max_text=100), pytest.raises(InputError) as caught:
        read_texts(source)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert stream.n_read <= most


def test_a_compressed_bomb_takes_little_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"\0" * 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="is a binary file"):
        read_texts(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # KB; it holds 200 MB


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".csv"])
def test_limits_are_inclusive_and_can_be_raised(tmp_path: Path, suffix: str) -> None:
    texts = ["x" * 50, "y"]
    contents = {
        ".txt": "".join(f"{text}\n" for text in texts),
        ".jsonl": "".join(json.dumps(text) + "\n" for text in texts),
        ".csv": "text\n" + "".join(f"{text}\n" for text in texts),
    }
    path = tmp_path / f"f{suffix}"
    path.write_text(contents[suffix], encoding="utf-8")
    n = path.stat().st_size
    with input_limits(max_text=50, max_input=max(n, 3 * 64)):
        assert list(read_texts(path).texts) == texts
    with input_limits(max_text=49), pytest.raises(InputError, match=r"text 1 has 50 characters.*--max-text 50 "):
        read_texts(path)
    with input_limits(max_input=n - 1), pytest.raises(InputError, match=r"holds more than .*--max-input"):
        read_texts(path)


def test_a_long_line_says_which_and_how_long(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("a\n" + "\u00e9" * 9_000_000 + "\nb\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"f\.txt line 2 has 9,000,000 characters, more than the 1,000,000 "):
        read_texts(path)
    with input_limits(max_text=9_000_000):
        assert len(read_texts(path).texts[1]) == 9_000_000


@pytest.mark.parametrize("take", [lambda texts: as_texts(texts, "real"), lambda t: corpora_from_texts({"real": t})])
def test_texts_from_python_have_the_same_limit(take: Callable[[list[str]], object]) -> None:
    with pytest.raises(InputError, match=r"^real: text 2 has 1,000,001 characters, more than the 1,000,000 "):
        take(["a", "b" * 1_000_001])
    with input_limits(max_text=1_000_001):
        take(["a", "b" * 1_000_001])


def test_running_text_may_be_long(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("ab " * 1000, encoding="utf-8")
    with input_limits(max_text=100):
        text = read_running_text(path)
        assert len(text) == 3000
        with pytest.raises(InputError, match="allowed for one text"):
            as_texts([text], "real")
        with running_text():
            assert as_texts([text], "real").texts == (text,)
        with running_text(False), pytest.raises(InputError, match="allowed for one text"):
            as_texts([text], "real")


def test_a_large_file_may_hold_what_text_of_its_size_does_unless_the_limit_was_set() -> None:
    assert input_limit(10) == 4_000_000_000
    assert input_limit(10**10) == 16 * 10**10
    with input_limits(max_input="20GB"):
        assert input_limit(10**10) == 20_000_000_000


def test_limits_end_with_their_block() -> None:
    assert current_limits() == InputLimits(4_000_000_000, 1_000_000)
    with input_limits(max_input="2MB") as limits, input_limits(max_text=5):
        assert limits == InputLimits(2_000_000, 1_000_000)
        assert current_limits() == InputLimits(2_000_000, 5)
    assert current_limits() == InputLimits()


def test_sizes() -> None:
    sizes = {"7": 7, "1k": 1000, "1.5 GB": 1_500_000_000, "2GiB": 2 << 30, " 3mb ": 3_000_000, "4T": 4 * 10**12}
    assert {text: parse_size(text) for text in sizes} == sizes


@pytest.mark.parametrize("text", ["", "x", "-1", "1e9", "1 2", "ib", "5ib", "0", "0.5", "9" * 400, "nan", "inf"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(OptionError, match="--max-input must be"), input_limits(max_input=text):
        pass


def test_parquet_is_refused_by_what_it_says_of_itself(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "f.parquet"
    parquet.write_table(arrow.table({"text": ["word " * 1000 + str(k) for k in range(100)], "n": range(100)}), path)
    assert len(read_texts(path)) == 100
    with input_limits(max_input=100_000), pytest.raises(InputError, match="holds more than 100 kB"):
        read_texts(path)
    # one value, stored once, that stands in every row
    parquet.write_table(arrow.table({"text": ["x" * 1000] * 100_000}), path)
    assert path.stat().st_size < 20_000
    with input_limits(max_input=10_000_000), pytest.raises(InputError, match="holds more than 10 MB"):
        read_texts(path)
    zipped = tmp_path / "f.parquet.gz"
    zipped.write_bytes(gzip.compress(b"no parquet" * 1000))
    with pytest.raises(InputError, match="does not begin with PAR1"):
        read_texts(zipped)
    zipped.write_bytes(gzip.compress(b"PAR1" + b"\0" * 100_000))
    with input_limits(max_input=100_000), pytest.raises(InputError, match="holds more than 25 kB"):
        read_texts(zipped)


def test_arrays_that_say_they_are_larger_than_their_file(tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    np.savez_compressed(path, a=np.zeros((1000, 100)))
    assert read_features(path).shape == (1000, 100)
    with input_limits(max_input=100_000), pytest.raises(InputError, match="holds more than 100 kB"):
        read_features(path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue() + b"\0" * 8)
    with pytest.raises(InputError, match=r"is not a \.npz file of numbers"):
        read_features(path)


def test_a_plain_file_that_is_too_large_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.txt"
    path.write_text("a\n" * 1000, encoding="utf-8")
    monkeypatch.setattr(source_module, "_BLOCK", 0)  # reading would never end
    with input_limits(max_input=1999), pytest.raises(InputError, match="holds more than 2 kB"):
        list(Source(path).lines())


def test_a_group_of_rows_far_larger_than_its_file_is_refused_without_a_look_at_its_columns() -> None:
    """Of damaged files, PyArrow ends the process there."""
    arrow_module = import_module("textassay.corpus.arrow")
    group = SimpleNamespace(total_byte_size=10**12, column=lambda number: pytest.fail("looked at"), num_columns=1)
    metadata = SimpleNamespace(num_row_groups=1, num_rows=3, row_group=lambda number: group)
    with pytest.raises(InputError, match=r"f\.parquet holds more than 4 GB"):
        arrow_module._check_sizes(metadata, ["text"], "f.parquet", 4_000_000_000, 603)


def test_the_limit_that_is_advised_lets_the_file_through(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("word " * 10 + "\n" * 200)
    with input_limits(max_input=1), pytest.raises(InputError) as caught:
        read_texts(path)
    advised = str(caught.value).rpartition(" ")[2]
    assert advised == "1kB"
    with input_limits(max_input=parse_size(advised) * 20):
        assert len(read_texts(path).texts) == 200
