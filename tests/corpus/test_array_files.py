"""Arrays in files: the same numbers as in memory, and no file is left behind."""

import gc
import gzip
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st

from textassay.corpus import array_files
from textassay.corpus.array_files import GrowingArray, drop_pages, new_array
from textassay.corpus.corpus import Corpus
from textassay.errors import OutputError


def test_pages_that_were_dropped_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "MAX_IN_MEMORY", 1000)
    array = new_array(1_000_000, np.int32)
    array[:] = np.arange(1_000_000)
    before = _bytes_of_files()
    drop_pages()
    assert _bytes_of_files() < before - 3_000_000
    assert np.array_equal(array, np.arange(1_000_000))


def _bytes_of_files() -> int:
    """Return how much of mapped files the memory of this process holds (Linux)."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssFile")]
    return 1024 * int(line.split()[1])


_MAKE = """
import sys
from textassay.corpus import array_files
from textassay.corpus.array_files import new_array
array_files.MAX_IN_MEMORY = 1000
array = new_array(5000, "i4")
array[:] = 7
print(array.sum(), flush=True)
"""


def _file_of(array: npt.NDArray[Any]) -> "np.memmap[Any, Any] | None":
    """Return the mapped file that `array` is a view of."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return base
        base = base.base
    return None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(array_files, "MAX_IN_MEMORY", 1000)
    array_files._folder.cache_clear()
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@given(blocks=st.lists(numpy_st.arrays(np.int32, st.integers(0, 20)), max_size=8), limit=st.integers(0, 200))
def test_a_growing_array_is_its_blocks_in_order(blocks: list[npt.NDArray[np.int32]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_files, "MAX_IN_MEMORY", limit)
        patch.setattr(array_files, "_WRITTEN", limit // 2)
        growing = GrowingArray(np.int32)
        for block in blocks:
            growing.append(block)
        result = growing.array()
    assert result.dtype == np.int32
    assert result.tolist() == [number for block in blocks for number in block.tolist()]
    assert (_file_of(result) is not None) == (result.nbytes > limit)


def test_a_file_goes_with_the_last_array_that_uses_it(folder: Path) -> None:
    small, large = new_array(10, np.int64), new_array(1000, np.int64)
    assert _file_of(small) is None
    large[:] = np.arange(1000)
    part = large[500:][::2]
    assert len(files(folder)) == 1
    del large
    gc.collect()
    assert len(files(folder)) == 1
    assert part.tolist() == list(range(500, 1000, 2))
    del part
    gc.collect()
    assert files(folder) == []


def test_views_are_pickled_whole(folder: Path) -> None:
    large = new_array(1000, np.int64)
    large[:] = np.arange(1000)
    content = pickle.dumps([large[3:700], large[::2]])
    del large
    gc.collect()
    assert files(folder) == []
    for array, expected in zip(pickle.loads(content), (np.arange(3, 700), np.arange(0, 1000, 2)), strict=True):
        assert np.array_equal(array, expected)


@pytest.mark.parametrize("ending", ["", "raise KeyboardInterrupt", "raise ValueError", "sys.exit(3)"])
def test_nothing_is_left_when_a_process_ends(ending: str, folder: Path) -> None:
    result = subprocess.run([sys.executable, "-c", _MAKE + ending], capture_output=True, text=True, check=False)
    assert result.stdout == "35000\n"
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no kill -9")
def test_what_a_killed_process_left_is_cleared_by_the_next(folder: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _MAKE + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
    assert killed.returncode == -signal.SIGKILL
    assert len(files(folder)) == 1
    kept = new_array(1000, np.int64)
    assert len(files(folder)) == 1
    del kept
    gc.collect()
    assert files(folder) == []


def test_a_full_disk_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(OutputError, match=r"^cannot write to .*: No space left on device; set TMPDIR to a folder"):
        new_array(1000, np.int64)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.json", "a.csv", "a.parquet"])
@pytest.mark.parametrize("limit", [100, 1 << 30])
def test_a_file_gives_the_corpus_of_the_same_list(name: str, limit: int, tmp_path: Path) -> None:
    texts = ["a b", "", "c\u3000d é", "漢字 \U0001f600", *(f"word{number} x" for number in range(2000))]
    path = tmp_path / name
    if name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow")
        importlib.import_module("pyarrow.parquet").write_table(arrow.table({"text": texts}), path)
    else:
        content = {
            "txt": "".join(f"{text}\n" for text in texts),
            "jsonl": "".join(json.dumps({"text": text}) + "\n" for text in texts),
            "json": json.dumps(texts),
            "csv": "text,n\n" + "".join(f"{text},1\n" for text in texts),
        }[name.split(".")[1]].encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    of_list = Corpus.from_texts(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_files, "MAX_IN_MEMORY", limit)
        corpus = Corpus.from_texts(path)
    assert list(corpus.texts) == texts
    assert np.array_equal(corpus.tokens, of_list.tokens)
    assert np.array_equal(corpus.offsets, of_list.offsets)
    assert corpus.fingerprint == of_list.fingerprint
    assert corpus.vocabulary.tokens == of_list.vocabulary.tokens


@pytest.mark.usefixtures("folder")
def test_a_corpus_in_files_is_the_corpus_in_memory() -> None:
    rng = np.random.default_rng(0)
    sentences = [" ".join(f"wörd{number}" for number in rng.integers(0, 300, size)) for size in rng.integers(0, 9, 900)]
    filed = Corpus.from_texts(sentences)
    rows = rng.integers(0, 900, 800)
    parts = [filed, filed.take(rows), Corpus.concatenate([filed, filed.take(rows)])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_files, "MAX_IN_MEMORY", 1 << 30)
        held = Corpus.from_texts(sentences)
        expected = [held, held.take(rows), Corpus.concatenate([held, held.take(rows)])]
    for mine, theirs in zip(parts, expected, strict=True):
        assert _file_of(mine.tokens) is not None
        assert _file_of(theirs.tokens) is None
        assert np.array_equal(mine.tokens, theirs.tokens)
        assert np.array_equal(mine.offsets, theirs.offsets)
        assert mine.texts == theirs.texts
        assert mine.fingerprint == theirs.fingerprint
