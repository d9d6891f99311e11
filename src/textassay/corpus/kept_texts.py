"""Large encoded texts, kept in a folder: the next run maps them instead of encoding the same bytes again.

Ids are in order of first appearance over all sets of texts, so what a set becomes depends on it and on those before it:
its key is a hash of the tokeniser and of the bytes of them all. A run with another generator finds what came before it.
A run whose input is refused leaves nothing behind.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import array_files
from textassay.corpus.packed_texts import PackedTexts
from textassay.errors import OutputError, TextassayError
from textassay.storage import write_files

_FORMAT = 1
_CHECKSUMS = "checksums.json"
_BLOCK = 1 << 24  # bytes of an array read at once
# bytes and bounds of the texts; their tokens and offsets; all distinct tokens so far, as bytes, and where they end
_DTYPES = {"bytes": "u1", "bounds": "i8", "tokens": "i4", "offsets": "i8", "words": "u1", "ends": "i8"}

Arrays = dict[str, npt.NDArray[Any]]
"""The arrays of one set, by their names in `_DTYPES`."""

_FOLDER: ContextVar[Path | None] = ContextVar("kept_texts", default=None)
_NEW: ContextVar[list[Path] | None] = ContextVar("new_kept_texts", default=None)


@contextmanager
def kept_texts(folder: Path | None) -> Iterator[None]:
    """Keep what is encoded in `folder` inside the ``with`` block, where it is large."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


@contextmanager
def no_texts_of_refused_input() -> Iterator[None]:
    """Remove what is kept inside the ``with`` block, and the folders made for it, if the input is refused there."""
    new: list[Path] = []
    token = _NEW.set(new)
    try:
        yield
    except TextassayError as error:
        if not isinstance(error, OutputError):
            for path in sorted(new, key=lambda path: len(path.parts), reverse=True):
                with suppress(OSError):  # others may have put something into a folder
                    path.rmdir() if path.is_dir() else path.unlink()
        raise
    finally:
        _NEW.reset(token)


class KeptTexts:
    """The kept sets of one call of `encode`, which come in their order."""

    def __init__(self, folder: Path, tokenizer: str) -> None:
        self._folder = folder
        self._hash = hashlib.blake2b(f"{_FORMAT} {tokenizer}".encode(), digest_size=16)

    @classmethod
    def of_this_run(cls, tokenizer: str, sets: list[PackedTexts]) -> "KeptTexts | None":
        """Return where this run keeps `sets`; None where it keeps nothing, or they are small."""
        folder = _FOLDER.get()
        is_large = max((len(texts.data) for texts in sets), default=0) > array_files.MAX_IN_MEMORY
        return cls(folder, tokenizer) if folder is not None and is_large else None

    def read(self, texts: PackedTexts) -> Arrays | None:
        """Return what is kept of the next set; None if nothing is, or it is damaged."""
        self._hash.update(len(texts).to_bytes(8, "little"))
        for block in texts.blocks():
            self._hash.update(block.lengths.tobytes())
            self._hash.update(block.data.tobytes())
        try:
            checksums = json.loads((self._entry / _CHECKSUMS).read_text(encoding="utf-8"))
            arrays = {name: self._array(name) for name in _DTYPES}
        except (OSError, ValueError, EOFError, OverflowError):
            return None
        fits = all(array.dtype == _DTYPES[name] and array.ndim == 1 for name, array in arrays.items())
        return arrays if fits and checksums == _checksums(arrays) else None

    def write(self, arrays: Arrays) -> Arrays:
        """Keep the set that was asked for last, unless it is small; return its arrays, mapped."""
        if arrays["bytes"].nbytes <= array_files.MAX_IN_MEMORY:
            return arrays
        files = {f"{name}.npy": partial(_save, array=array) for name, array in arrays.items()}
        places = [self._entry / name for name in (*files, _CHECKSUMS)]
        new = [place for place in (*places, self._entry, *self._entry.parents) if not place.exists()]
        write_files(self._entry, {**files, _CHECKSUMS: json.dumps(_checksums(arrays))})
        if (noted := _NEW.get()) is not None:
            noted += new
        return {name: self._array(name) for name in arrays}

    def _array(self, name: str) -> npt.NDArray[Any]:
        return array_files.read_only(array_files.known(np.load(self._entry / f"{name}.npy", mmap_mode="r")))

    @property
    def _entry(self) -> Path:
        return self._folder / self._hash.hexdigest()


def _save(file: Any, array: npt.NDArray[Any]) -> None:
    np.save(file, array)


def _checksums(arrays: Arrays) -> dict[str, int]:
    return {name: _checksum(array) for name, array in arrays.items()}


def _checksum(array: npt.NDArray[Any]) -> int:
    checksum, step = 0, _BLOCK // array.itemsize
    for start in range(0, len(array), step):
        checksum = zlib.crc32(array[start : start + step].tobytes(), checksum)
    return checksum
