"""Writing files: a reader never finds one half-written, whatever stops the run that writes it.

`write_files` writes a set of files all or none; `atomic_write` gives one file to write in parts. Drafts stand in the
folder itself, under names that begin with a dot, and drafts of runs that died are cleared away. No lock of the file
system is needed, so that several machines may write into a folder that they share (NFS).

What is written to a folder of `output_folder` is put at its address, too.
"""

import atexit
import errno
import hashlib
import os
import secrets
import shutil
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from pathlib import Path, PurePosixPath
from threading import Event, Thread
from typing import Any, BinaryIO, TypeVar, cast

from textassay.addresses import address_errors, file_system, place_of
from textassay.errors import NotPutError, OutputError, TextassayError

ENCODED_TEXTS = "encoded-texts"  # folder among results that stays on this machine: it may be many GB

_STAGING = ".writing-"
_LOCK = ".lock"
_LOCK_SECONDS = 60
_LOCK_PAUSE = 0.01
_TAKE_OVER_SECONDS = 1  # longer than a store takes to write the name of another run that takes over the same lock
_SUFFIX = ".tmp"
_ABANDONED_SECONDS = 24 * 3600  # after which the number of a process may belong to another one

_RETRY_SECONDS = 60  # after which a store that failed is asked again

Function = TypeVar("Function", bound=Callable[..., Any])
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
                _put(folder, list(contents), stale)
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


def append_file(path: Path, text: str) -> None:
    """Append to a file that others append to as well, such as the summary of a job; it is made if it is absent."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"cannot write to {path}: {error.strerror or error}") from error


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield the path of a draft, which becomes `path`, flushed to disk, when the block ends without an error."""
    draft = path.with_name(f".{path.name}.{host_name()}.{os.getpid()}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        _put(path.parent, [path.name])
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _put(folder: Path, names: Sequence[str], stale: Sequence[str] = ()) -> None:
    """Put files that were written at their addresses, if they have any, and remove those that are `stale` there."""
    for copy in _COPIES:
        if folder.is_relative_to(copy.folder):
            inside = folder.relative_to(copy.folder)
            copy.put([str(inside / name) for name in names], [str(inside / pattern) for pattern in stale])


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft to write; it becomes `path` when the block ends without an error."""
    with draft_of(path) as draft, draft.open("xb") as file:
        yield file


def checksum(*contents: bytes) -> str:
    """Return a hash by which a reader finds that a saved file is damaged."""
    return hashlib.sha256(b"".join(contents)).hexdigest()


def remove_stale_drafts(folder: Path) -> None:
    """Remove drafts in `folder` whose processes on this machine have ended, and any that is older than a day."""
    for draft in folder.glob(f".*.*.*.*{_SUFFIX}"):
        host, process = draft.name.split(".")[-4:-2]
        with suppress(OSError):
            is_dead = host == host_name() and process.isdecimal() and not is_running(int(process))
            if is_dead or time.time() - draft.stat().st_mtime > _ABANDONED_SECONDS:
                draft.unlink()


_ADDED_TO: set[Path] = set()  # files that this process holds


@contextmanager
def one_run_at_a_time(path: Path) -> Iterator[None]:
    """Let one run at a time add to the file `path` inside the ``with`` block; others wait, and say so once.

    It ends with the run that holds it, however that ends. Where the file system has no locks, nobody waits.
    """
    if path in _ADDED_TO:
        yield
        return
    file = _locked(path)
    _ADDED_TO.add(path)
    try:
        yield
    finally:
        _ADDED_TO.discard(path)
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
        file.close()


def _locked(path: Path) -> BinaryIO:
    """Return `path`, opened and locked, where there are locks."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return path.open("ab")
    has_waited = False
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab")
        except OSError as error:
            raise OutputError(f"cannot write to {path}: {error.strerror or error}; choose another --out") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:  # not removed meanwhile
                return file
        except BlockingIOError:
            if not has_waited:
                warnings.warn(f"another run is writing to {path}; waiting for its results", stacklevel=3)
            has_waited = True
            time.sleep(_LOCK_PAUSE)
        except OSError:
            return file
        except BaseException:
            file.close()
            raise
        file.close()


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


class _WorkingCopy:
    """A folder on this machine that stands for one at an address."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address.rstrip("/"), folder
        self._system, root = file_system(self.address)
        self._root = root.rstrip("/")
        self._there: dict[str, tuple[int, int]] = {}  # files that are the same there: size and time of change here
        self._wait_until = 0.0

    def fetch(self, only: str | None) -> None:
        """Bring what is there: all files, or the one called `only`; check that files can be put."""
        with address_errors(self.address, writing=True):
            probe = f"{self._root}/.writing-{secrets.token_hex(4)}"
            self._system.pipe_file(probe, b"")
            with suppress(Exception):  # some may write and not delete
                self._system.rm_file(probe)
        with address_errors(self.address):
            names = self._names(only)
            while not self._get(names):  # another run has removed a file meanwhile
                before, names = names, self._names(only)
                if names == before:
                    raise FileNotFoundError
        self._there = {name: _identity(self.folder / name) for name in names}

    def _get(self, names: Sequence[str]) -> bool:
        """Copy these files to this machine; return whether they were all there."""
        copies = [self.folder / name for name in names]
        for copy in copies:
            copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if names:
                self._system.get([f"{self._root}/{name}" for name in names], list(map(str, copies)))
        except FileNotFoundError:
            for copy in copies:
                copy.unlink(missing_ok=True)
            return False
        return True

    def _names(self, only: str | None = None) -> list[str]:
        """Return the names of all files there, or the one called `only` if it is there."""
        self._system.invalidate_cache()
        if only is not None:
            return [only] if self._system.exists(f"{self._root}/{only}") else []
        with suppress(FileNotFoundError):
            return [name for path in self._system.find(self._root) if _is_put(name := path[len(self._root) + 1 :])]
        return []

    def put(self, names: Sequence[str], stale: Sequence[str]) -> None:
        """Put these files and remove others there that match `stale`; what fails is left to the end."""
        names = list(filter(_is_put, names))
        if not (names or stale) or time.monotonic() < self._wait_until:
            return
        try:
            with self._only_writer() if len(names) > 1 else nullcontext():
                self._remove(stale, but=names)
                for name in names:
                    self._put_one(name)
        except TextassayError:
            self._wait_until = time.monotonic() + _RETRY_SECONDS

    def put_all(self) -> None:
        """Put whatever is not the same there, and remove there what is gone here."""
        here = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        here = {name for name in here if _is_put(name)}
        names = sorted(name for name in here if self._there.get(name) != _identity(self.folder / name))
        with self._only_writer() if len(names) > 1 else nullcontext():
            for name in [*names, *(self._there.keys() - here)]:
                self._put_one(name)

    def _remove(self, patterns: Sequence[str], *, but: Sequence[str]) -> None:
        """Remove what matches the patterns there, such as figures that another run has put there."""
        with address_errors(self.address, writing=True):
            for name in self._names() if patterns else []:
                if name not in but and any(_matches(name, pattern) for pattern in patterns):
                    self._system.rm_file(f"{self._root}/{name}")
        for name in [name for name in self._there if name not in but]:
            if any(_matches(name, pattern) for pattern in patterns):
                del self._there[name]  # whoever puts one there from now on is a later run

    @contextmanager
    def _only_writer(self) -> Iterator[None]:
        """Let one run at a time put files that belong together, where the store can tell which was first."""
        lock, owner = f"{self._root}/{_LOCK}", f"{host_name()}-{os.getpid()}-{secrets.token_hex(4)}"

        def take() -> bool:
            try:
                self._system.pipe_file(lock, owner.encode(), mode="create")
            except OSError as error:
                if not isinstance(error, FileExistsError) and "condition" not in str(error).lower():  # as S3 says it
                    raise
                return False
            return True

        def holder() -> str:
            with suppress(FileNotFoundError):
                return str(self._system.cat_file(lock).decode())
            return ""

        def take_over(_: str) -> None:  # of several runs, the one that writes last has it
            self._system.pipe_file(lock, owner.encode())
            time.sleep(_TAKE_OVER_SECONDS)

        with address_errors(self.address, writing=True):
            _take_lock(owner, take=take, holder=holder, take_over=take_over)
        ended = Event()

        def show_life() -> None:  # large files take minutes to put
            number = 0
            while not ended.wait(_LOCK_SECONDS / 3):
                number += 1
                with suppress(Exception):
                    if holder().startswith(owner):
                        self._system.pipe_file(lock, f"{owner}+{number}".encode())

        thread = Thread(target=show_life, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            with suppress(Exception):
                if holder().startswith(owner):
                    self._system.rm_file(lock)

    def _put_one(self, name: str) -> None:
        path, place = self.folder / name, f"{self._root}/{name}"
        if not path.exists():
            if self._there.pop(name, None) is not None:
                with address_errors(f"{self.address}/{name}", writing=True), suppress(FileNotFoundError):
                    self._system.rm_file(place)
            return
        identity = _identity(path)
        if self._there.get(name) != identity:
            with address_errors(f"{self.address}/{name}", writing=True):
                self._system.put_file(str(path), place)
            self._there[name] = identity


_COPIES: list[_WorkingCopy] = []  # of the folders that are open
_ADDRESSES: dict[str, str] = {}  # of all folders that stood for one


@contextmanager
def output_folder(address: str | os.PathLike[str], *, file: str | None = None, keep: bool = False) -> Iterator[Path]:
    """Yield the folder to write results into: `address` itself if it is a path, else a folder that stands for it.

    What is at the address is fetched first; each file is put there when it is written, and at the end whatever is not
    there yet. If that fails, a `NotPutError` names the folder, which then stays; a run that was killed leaves its own,
    too, and the next run with this address takes it over. With `file`, all of this is about one file only. With
    `keep`, the folder stays to the end of the process, for results that read from it.
    """
    place = place_of(address)
    if isinstance(place, Path):
        yield place
        return
    import pooch

    runs = Path(pooch.os_cache("textassay")) / "out" / hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:16]
    folder = runs / f"{host_name()}-{os.getpid()}-{secrets.token_hex(4)}"
    copy = _WorkingCopy(place, folder)
    folder.mkdir(parents=True)
    try:
        _take_over(runs, folder)
        copy.fetch(file)
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # but for what was taken over
        raise
    _COPIES.append(copy)
    _ADDRESSES[str(folder)] = copy.address
    failed = True
    try:
        yield folder
        failed = False
    finally:
        _COPIES.remove(copy)
        try:
            copy.put_all()
            if keep:
                atexit.register(shutil.rmtree, folder, ignore_errors=True)
            else:
                shutil.rmtree(folder, ignore_errors=True)
        except TextassayError as error:
            del _ADDRESSES[str(folder)]
            message = f"{error}; all files are in {folder}, and the same command resumes from there"
            if not failed:
                raise NotPutError(message) from error
            warnings.warn(message, stacklevel=2)  # what failed first has an error of its own


def _take_over(runs: Path, folder: Path) -> None:
    """Move into `folder` what runs left behind that ended before all their files were put."""
    for left in runs.iterdir():
        if not _is_dead(left.name):
            continue
        taken = folder / ".taken"
        with suppress(OSError):  # another run may be quicker
            left.rename(taken)
            for path in taken.rglob("*"):
                name = str(path.relative_to(taken))
                if path.is_file() and _is_kept(name):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    path.replace(folder / name)
            shutil.rmtree(taken)


def _is_kept(name: str) -> bool:
    """Return whether a file is a result, and not a draft."""
    return name != "" and not name.endswith(_SUFFIX) and not any(part.startswith(".") for part in name.split("/"))


def _is_put(name: str) -> bool:
    """Return whether a file has its place at the address, too."""
    return _is_kept(name) and not name.startswith(f"{ENCODED_TEXTS}/")


def _matches(name: str, pattern: str) -> bool:
    return name.count("/") == pattern.count("/") and PurePosixPath(name).match(pattern)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def with_output_folder(function: Function) -> Function:
    """Let a function that has a keyword `out` work in the folder that `output_folder` gives for it."""

    @wraps(function)
    def call(*arguments: Any, out: str | os.PathLike[str] | None = None, **settings: Any) -> Any:
        with nullcontext() if out is None else output_folder(out, keep=True) as folder:
            return function(*arguments, out=folder, **settings)

    return cast(Function, call)


def with_addresses(text: object) -> str:
    """Return a text with the folders of `output_folder` called by their addresses, for people to read."""
    text = str(text)
    for folder, address in _ADDRESSES.items():
        text = text.replace(folder, address)
    return text


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
    """Let one run at a time move its files into `folder`, without a lock of the file system, which NFS may lack.

    The lock is a folder that holds one file, named after its owner; to take it is to rename a folder, which succeeds
    only where none with a file is in the way. A lock is taken over by removing the file of an owner that is dead, or
    that has held it, unchanged, for a minute of our time.
    """
    lock, owner = folder / _LOCK, f"{host_name()}-{os.getpid()}-{secrets.token_hex(4)}"
    mine = folder / f"{_LOCK}-{owner}"
    mine.mkdir()
    (mine / owner).touch()
    try:
        _take_lock(
            owner,
            take=lambda: _renamed(mine, lock),
            holder=lambda: next((path.name for path in _entries(lock)), ""),
            take_over=lambda name: (lock / name).unlink(missing_ok=True),
        )
        yield
    finally:
        for place in (lock, mine):
            with suppress(OSError):
                (place / owner).unlink()
                place.rmdir()


def _take_lock(
    owner: str, *, take: Callable[[], bool], holder: Callable[[], str], take_over: Callable[[str], object]
) -> None:
    """Wait until the lock is ours; `take_over` from a holder that is dead or has not changed for a minute."""
    last, since = "", time.monotonic()
    while not take():
        now = holder()
        if now == owner:  # the answer was lost, or it was taken over
            return
        if now != last:
            last, since = now, time.monotonic()
        if now and (_is_dead(now) or time.monotonic() - since > _LOCK_SECONDS):
            take_over(now)
        else:
            time.sleep(_LOCK_PAUSE)


def _renamed(folder: Path, target: Path) -> bool:
    """Rename a folder, unless there is another one with files."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        if folder.exists():
            raise
    return True  # NFS may say of what it has done that there is nothing to do


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _is_dead(owner: str) -> bool:
    """Return whether a process of this machine, named as ``HOST-PROCESS-RANDOM``, runs no more."""
    host, process = owner.rpartition("-")[0].rpartition("-")[::2]
    return host == host_name() and process.isdecimal() and not is_running(int(process))


def _clear_abandoned(folder: Path) -> None:
    """Remove what runs on this machine that are no more left behind, and what is older than a day."""
    for prefix in (_STAGING, f"{_LOCK}-"):
        for left in folder.glob(f"{prefix}*"):
            with suppress(OSError):
                old = time.time() - left.stat().st_mtime > _ABANDONED_SECONDS
                if old or _is_dead(left.name.removeprefix(prefix)):
                    shutil.rmtree(left, ignore_errors=True)
