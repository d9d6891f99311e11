"""Files that stand whole under their names or not at all, and what killed runs left of them."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".tmp"
_QUIET_SECONDS = 10  # a file that is being written changes more often, whoever writes it, on whatever machine
_ABANDONED_SECONDS = 24 * 3600  # after which the number of a process may belong to another one


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write; it stands at `path` when all is written, or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_SUFFIX}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove what runs that are no more left half-written in `folder`; what others write there now is left alone."""
    for draft in folder.glob(f".*{_SUFFIX}"):
        process = draft.name.split(".")[-3]
        with suppress(OSError):
            age = time.time() - draft.stat().st_mtime
            is_dead = process.isdecimal() and not is_running(int(process))
            if (is_dead and age > _QUIET_SECONDS) or age > _ABANDONED_SECONDS:
                draft.unlink()


def is_running(process: int) -> bool:
    """Return whether a process of this number runs on this machine; True where that cannot be asked."""
    if os.name == "nt":  # where signal 0 is not a question
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
