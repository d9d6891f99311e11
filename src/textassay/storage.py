"""Writing files: a reader never finds one half-written, whatever stops the run that writes it.

`write_files` writes a set of files all or none; `atomic_write` gives one file to write in parts. Drafts stand in the
folder itself, under names that begin with a dot, and drafts of runs that died are cleared away.
"""

import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from textassay.errors import OutputError

_STAGING = ".writing-"
_SUFFIX = ".tmp"
_ABANDONED_SECONDS = 24 * 3600  # after which the number of a process may belong to another one

Content = str | bytes | Callable[[BinaryIO], object]


def write_files(folder: Path, contents: Mapping[str, Content], *, stale: Sequence[str] = ()) -> list[Path]:
    """Write files into `folder`, which is made, all of them or none; return their paths.

    `contents`: name, which may have folders in it, to text, bytes, or a function that writes to a file. `stale`:
    patterns of files of earlier runs, which are removed where they are not written anew. If anything fails, the folder
    is as it was before. One process at a time moves its files into place.
    """
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(folder)
        staging = folder / f"{_STAGING}{host_name()}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            for name, content in contents.items():
                _write(staging / "new" / name, content)
            with _only_writer(folder):
                _move_into_place(staging, folder, list(contents), stale)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        if not existed:
            with suppress(OSError):
                folder.rmdir()
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}; choose another folder") from error
    return [folder / name for name in contents]


def write_file(path: Path, content: Content) -> Path:
    """Write one file, whole or not at all, over what is there; return its path."""
    return write_files(path.parent, {path.name: content})[0]


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield the path of a draft, which becomes `path`, flushed to disk, when the block ends without an error."""
    draft = path.with_name(f".{path.name}.{host_name()}.{os.getpid()}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft to write; it becomes `path` when the block ends without an error."""
    with draft_of(path) as draft, draft.open("xb") as file:
        yield file


def remove_stale_drafts(folder: Path) -> None:
    """Remove drafts in `folder` whose processes on this machine have ended, and any that is older than a day."""
    for draft in folder.glob(f".*.*.*.*{_SUFFIX}"):
        host, process = draft.name.split(".")[-4:-2]
        with suppress(OSError):
            is_dead = host == host_name() and process.isdecimal() and not is_running(int(process))
            if is_dead or time.time() - draft.stat().st_mtime > _ABANDONED_SECONDS:
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


def host_name() -> str:
    """Return the name of this machine, as names of drafts hold it: ``.FILE.HOST.PROCESS.RANDOM.tmp``."""
    return socket.gethostname().replace(".", "-")


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


def _move_into_place(staging: Path, folder: Path, names: Sequence[str], stale: Sequence[str]) -> None:
    """Replace the files of `folder` by those in `staging`, or leave all as they were."""
    old = {str(path.relative_to(folder)) for pattern in stale for path in folder.glob(pattern)} - set(names)
    made = [parent for parent in dict.fromkeys((folder / name).parent for name in names) if not parent.exists()]
    for parent in made:
        parent.mkdir(parents=True, exist_ok=True)
    for name in (*names, *old):
        if (folder / name).exists():
            (staging / "old" / name).parent.mkdir(parents=True, exist_ok=True)
            _keep(folder / name, staging / "old" / name)
    done: list[str] = []
    try:
        for name in names:
            (staging / "new" / name).replace(folder / name)
            done.append(name)
        for name in sorted(old):
            (folder / name).unlink()
            done.append(name)
    except BaseException:
        for name in done:
            if (staging / "old" / name).exists():
                (staging / "old" / name).replace(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        for parent in reversed(made):
            with suppress(OSError):
                parent.rmdir()
        raise


def _keep(path: Path, copy: Path) -> None:
    """Keep the content of `path` under a second name, without copying where the file system can."""
    try:
        os.link(path, copy)
    except (OSError, NotImplementedError):
        shutil.copy2(path, copy)


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Let one run at a time move its files into `folder`, where the system can lock a folder."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _clear_abandoned(folder: Path) -> None:
    """Remove the staging folders of runs on this machine that are no more, and of any run after a day."""
    for staging in folder.glob(f"{_STAGING}*"):
        host, _, process = staging.name.removeprefix(_STAGING).rpartition("-")[0].rpartition("-")
        with suppress(OSError):
            old = time.time() - staging.stat().st_mtime > _ABANDONED_SECONDS
            if old or (host == host_name() and process.isdigit() and not is_running(int(process))):
                shutil.rmtree(staging, ignore_errors=True)
