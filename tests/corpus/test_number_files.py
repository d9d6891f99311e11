"""Files of numbers: what they may be, and one line for everything they may not be."""

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.number_files import read_features, read_side_columns
from textassay.errors import InputError

REAL, GENERATED = [-1.5, -2.0, -3.25], [-4.0, -0.5]


@pytest.mark.parametrize("name", ["a.npz", "a.json", "a.npy", "a.txt", "a.csv", "a.txt.gz"])
def test_every_kind_of_file_gives_the_same_numbers(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = "".join(f"{number}\n" for number in REAL + GENERATED)
    if name == "a.npz":
        np.savez(path, real=np.array(REAL), generated=np.array(GENERATED, dtype=np.float32))
    elif name == "a.npy":
        np.save(path, np.array(REAL + GENERATED))
    elif name == "a.json":
        path.write_text(json.dumps({"real": REAL, "generated": GENERATED, "model": "lstm"}), encoding="utf-8")
    elif name == "a.txt.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines, encoding="utf-8")
    generated, real = read_side_columns(path, n_generated=2, n_real=3)
    assert real.tolist() == REAL
    assert generated.tolist() == GENERATED


def test_features_are_mapped_into_memory_or_taken_from_an_archive(tmp_path: Path) -> None:
    vectors = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", vectors)
    np.savez(tmp_path / "a.npz", vectors=vectors)
    mapped = read_features(tmp_path / "a.npy")
    assert isinstance(mapped, np.memmap)
    assert mapped.tolist() == read_features(tmp_path / "a.npz").tolist() == vectors.tolist()


def _saved(array: Any, **arrays: Any) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        if arrays:
            np.savez(path, **arrays)
        else:
            np.save(path, array, allow_pickle=True)

    return save


def _written(content: bytes | str) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(content if isinstance(content, bytes) else content.encode()))


def void(_: object) -> None:
    """Return nothing, whatever came."""


BAD_FEATURES = [
    ("gone.npy", void, "no file .*gone.npy"),
    ("a.npy", lambda path: path.mkdir(), "is a folder"),
    ("a.txt", _written("1 2\n"), r"features must be a .npy file"),
    ("a.npy", _written(b""), "is not a .npy file of numbers"),
    ("a.npy", _written(b"\x00\x01\xff garbage" * 20), "is not a .npy file of numbers"),
    ("a.npy", _written(pickle.dumps({"a": 1})), "is not a .npy file of numbers"),
    ("a.npy", _saved(np.array([{}, None], dtype=object)), "objects instead of numbers"),
    ("a.npy", _saved(np.full((2, 3), b"abcd")), r"must contain real numbers, got the type \|S4"),
    ("a.npy", _saved(np.ones(3)), r"must have one row per text, shape \(N, d\), got shape \(3,\)"),
    ("a.npz", _written(b"PK\x03\x04 cut off"), "is not a .npz file of numbers"),
    ("a.npz", _written(b"not a zip"), "is not a .npz file of numbers"),
    ("a.npz", _saved(None, one=np.ones((2, 2)), two=np.ones((2, 2))), "must contain one array, got 2: one, two"),
]


@pytest.mark.parametrize(("name", "make", "message"), BAD_FEATURES)
def test_features_that_cannot_be_read(tmp_path: Path, name: str, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        read_features(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_damaged_headers_found_by_fuzzing(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.ones((3, 4)))
    np.save(tmp_path / "a.npy", np.ones((3, 4)))
    archive, array = ((tmp_path / name).read_bytes() for name in ("a.npz", "a.npy"))
    damaged: list[bytes] = [array.replace(b"'shape': (3", b"'shape':(((")]
    for offset, value in ((10, 99), (8, 1), (6, 99)):  # way of compressing, encrypted, version needed
        content = bytearray(archive)
        content[archive.index(b"PK\1\2") + offset] = value
        damaged.append(bytes(content))
    for each in damaged:
        path = tmp_path / ("b.npz" if each[:2] == b"PK" else "b.npy")
        path.write_bytes(each)
        with pytest.raises(InputError, match="file of numbers"):
            read_features(path)


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((100, 8)))
    whole = (tmp_path / "a.npy").read_bytes()
    for kept in (len(whole) - 8, 100, 20, 5):
        (tmp_path / "a.npy").write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"is not a \.npy file of numbers"):
            read_features(tmp_path / "a.npy")


BAD_SIDES = [
    ("gone.txt", void, "no file .*gone.txt"),
    ("a.txt", lambda path: path.mkdir(), "is a folder"),
    ("a.dat", _written("1\n"), r"unknown kind of file \(suffix '.dat'\); valid: .npz, .json"),
    ("a.txt", _written(""), "is empty"),
    ("a.txt", _written("-1\n-2\n"), "must hold 5 numbers, first those of the 3 real texts.* got 2"),
    ("a.txt", _written("-1\n-2\nthree\n"), "line 3: must contain one number, got 'three'"),
    ("a.csv", _written("log_prob\n-1\n"), "line 1: must contain one number, got 'log_prob'; the file has no header"),
    ("a.txt", _written("-1\n\n-2\n"), "line 2: must contain one number, got an empty line"),
    ("a.txt", _written(b"\x00\x01\x02" * 9), "is a binary file"),
    ("a.txt", _written(b"-1\n\xff\n"), "is not UTF-8: byte 0xFF in line 2"),
    ("a.npy", _saved(np.ones((5, 1))), r"must hold 5 numbers.* got shape \(5, 1\)"),
    ("a.npz", _saved(None, real=np.ones(3)), r"'generated' is missing \(it contains real\)"),
    ("a.npz", _saved(None, real=np.ones(4), generated=np.ones(2)), "'real' must be a list of 3 numbers.* got 4"),
    ("a.json", _written('{"real": [1,'), "line 1, column 13: broken JSON"),
    ("a.json", _written("[1, 2]"), "must hold .* got a list"),
    ("a.json", _written('{"real": 1, "generated": [1, 2]}'), "'real' must be a list of 3 numbers.* got a int"),
    ("a.json", _written('{"real": [1, null, 3], "generated": [1, 2]}'), "number 2 is null"),
    ("a.json", _written('{"real": [1, "2", 3], "generated": [1, 2]}'), 'number 2 is "2"'),
    ("a.json", _written(f'{{"real": [1, {"9" * 400}, 3], "generated": [1, 2]}}'), "one is too large"),
]


@pytest.mark.parametrize(("name", "make", "message"), BAD_SIDES)
def test_numbers_that_cannot_be_read(tmp_path: Path, name: str, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        read_side_columns(tmp_path / name, n_generated=2, n_real=3)
    assert "\n" not in str(caught.value)
