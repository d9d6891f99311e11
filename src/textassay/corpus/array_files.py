"""Large arrays as memory-mapped files: the system reads from disk what is used, and drops it when memory is short.

An array of more than `MAX_IN_MEMORY` bytes becomes a file in a folder of this process, in TMPDIR, else in /var/tmp
(which, unlike /tmp, is never held in memory). A file goes with the last array that uses it, the folder with the
process; folders of processes that were killed are cleared by the next process that makes one. Pickled, such an array is
whole: another process need not share the disk.
"""

import atexit
import mmap
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.corpus.kernels import copy_runs
from textassay.errors import OutputError
from textassay.storage import host_name, is_running

MAX_IN_MEMORY = 1 << 27  # bytes of one array
_WRITTEN = 1 << 23  # bytes appended to a file at once
_PREFIX = "textassay-"

Number = TypeVar("Number", bound=np.generic)

_MAPPED: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class GrowingArray(Generic[Number]):
    """An array that grows at its end: blocks in memory, from `MAX_IN_MEMORY` on a file."""

    def __init__(self, dtype: type[Number]) -> None:
        self._dtype = dtype
        self._blocks: list[npt.NDArray[Number]] = []
        self._n_bytes = 0  # of the blocks
        self._path: Path | None = None

    def append(self, block: npt.NDArray[Number]) -> None:
        """Add the items of `block`, which must not change afterwards."""
        self._blocks.append(block)
        self._n_bytes += block.nbytes
        if self._n_bytes > (MAX_IN_MEMORY if self._path is None else _WRITTEN):
            self._write()

    def array(self) -> npt.NDArray[Number]:
        """Return the whole array, to which nothing more is added."""
        if self._path is None:
            return np.concatenate([np.empty(0, dtype=self._dtype), *self._blocks])
        self._write()
        return _mapped(self._path, self._dtype)

    def _write(self) -> None:
        if self._path is None:
            self._path = _new_path()
        with _open_to_write(self._path) as file:
            for block in self._blocks:
                file.write(np.ascontiguousarray(block).data)
        self._blocks, self._n_bytes = [], 0


def new_array(size: int, dtype: type[Number]) -> npt.NDArray[Number]:
    """Return an array of shape (size,) to be filled, in a file if it is large."""
    n_bytes = size * np.dtype(dtype).itemsize
    if n_bytes <= MAX_IN_MEMORY:
        return np.empty(size, dtype=dtype)
    path = _new_path()
    with _open_to_write(path) as file:
        if hasattr(os, "posix_fallocate"):  # a write to a mapped file that finds the disk full would end the process
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        else:
            file.truncate(n_bytes)
    return _mapped(path, dtype)


def gather(
    array: npt.NDArray[Number], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[Number]:
    """Return the runs of `array` that begin at `starts`, one after another."""
    result = new_array(int(lengths.sum()), array.dtype.type)
    copy_runs(array, starts, lengths, result)
    return result


def known(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a memory-mapped array, whose pages `drop_pages` drops from now on."""
    _MAPPED[id(array)] = array
    return array


def drop_pages() -> None:
    """Let no page of a mapped array count as memory of this process until it is read again: call it between stages.

    What was written stays, in the cache of the file system or on disk.
    """
    if hasattr(mmap, "MADV_DONTNEED"):
        for array in list(_MAPPED.values()):
            array._mmap.madvise(mmap.MADV_DONTNEED)


def read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _mapped(path: Path, dtype: type[Number]) -> npt.NDArray[Number]:
    """Return the array in a file, which goes with it."""
    array = known(np.memmap(path, dtype=dtype, mode="r+"))
    weakref.finalize(array, _remove, path, os.getpid())
    return np.asarray(array)


def _remove(path: Path, process: int) -> None:
    """Remove a file or folder, in the process that made it and not in its forks."""
    if process == os.getpid():
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def _open_to_write(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("ab") as file:
            yield file
    except OSError as error:
        raise OutputError(
            f"cannot write to {path.parent}: {error.strerror or error}; set TMPDIR to a folder with more space"
        ) from error


def _new_path() -> Path:
    return _folder(os.getpid()) / f"{secrets.token_hex(8)}.array"


@cache
def _folder(process: int) -> Path:
    """Return the folder of this process, which is made; those of dead processes on this machine are removed."""
    at = Path(tempfile.gettempdir() if "TMPDIR" in os.environ or not os.access("/var/tmp", os.W_OK) else "/var/tmp")
    for folder in at.glob(f"{_PREFIX}{host_name()}-*-*"):
        of = folder.name.rsplit("-", 2)[1]
        if of.isdecimal() and not is_running(int(of)):
            shutil.rmtree(folder, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{host_name()}-{process}-", dir=at))
    atexit.register(_remove, folder, process)
    return folder
