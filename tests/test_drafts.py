"""Files are there whole or not at all; what dead runs left is removed, what living ones write is not."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from textassay.storage import atomic_write, host_name, is_running, remove_stale_drafts


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _fill_the_disk(file: BinaryIO) -> None:
    file.write(b"half")
    raise OSError("the disk is full")


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    with pytest.raises(OSError, match="full"), atomic_write(path) as file:
        _fill_the_disk(file)
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="asks for processes as POSIX does")
def test_what_dead_runs_left_is_removed_and_what_others_write_is_not(tmp_path: Path) -> None:
    dead, now = dead_process(), time.time()
    assert is_running(os.getpid())
    assert not is_running(dead)
    files = {
        f".a.npz.{host_name()}.{dead}.0a.tmp": (0, False),
        f".b.npz.elsewhere.{dead}.0a.tmp": (60, True),  # another machine may be writing it
        f".c.npz.{host_name()}.{os.getpid()}.0a.tmp": (60, True),
        f".d.npz.elsewhere.{os.getpid()}.0a.tmp": (2 * 24 * 3600, False),
        f".e.npz.{host_name()}.{os.getppid()}.0a.tmp": (60, True),
        "mine.tmp": (10**6, True),
        "a.npz": (10**6, True),
    }
    for name, (age, _) in files.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))
    remove_stale_drafts(tmp_path)
    there = {name for name in files if (tmp_path / name).exists()}
    assert there == {name for name, (_, stays) in files.items() if stays}
