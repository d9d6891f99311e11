"""Atomic writing of files, and removal of the drafts that killed runs left."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".tmp"
_QUIET_SECONDS = 10  # a file that is being written, also on another machine, changes more often
_ABANDONED_SECONDS = 24 * 3600  # after which a process id may have been reused


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft to write; it becomes `path` when the block ends without an error."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_SUFFIX}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def remove_stale_drafts(folder: Path) -> None:
    """Remove drafts in `folder` whose processes have ended, but none that is being written."""
    for draft in folder.glob(f".*{_SUFFIX}"):
        process = draft.name.split(".")[-3]
        with suppress(OSError):
            age = time.time() - draft.stat().st_mtime
            is_dead = process.isdecimal() and not is_running(int(process))
            if (is_dead and age > _QUIET_SECONDS) or age > _ABANDONED_SECONDS:
                draft.unlink()


def is_running(process: int) -> bool:
    """Return whether a process of this id runs on this machine; True where that cannot be known."""
    if os.name == "nt":  # signal 0 does not test a process there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
