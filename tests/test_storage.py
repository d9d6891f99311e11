"""Writing files: all or none, whatever stops it; stale files go, those of others stay; no draft is left behind."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier, Thread, Timer
from typing import Any, BinaryIO

import pytest

from textassay import storage
from textassay.errors import OutputError
from textassay.storage import (
    Content,
    atomic_write,
    host_name,
    is_running,
    one_run_at_a_time,
    remove_stale_drafts,
    write_file,
    write_files,
)

FULL = OSError(errno.ENOSPC, "No space left on device")


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _dead() -> int:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    return int(done.stdout)


def test_writes_text_bytes_and_what_writes_itself(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    contents: dict[str, Content] = {
        "a.txt": "é\udc80",
        "b/c.bin": b"\0\1",
        "b/d/e.txt": lambda file: file.write(b"parts"),
    }
    paths = write_files(out, contents)
    assert paths == [out / name for name in contents]
    assert _contents(out) == {"a.txt": "é\\udc80".encode(), "b/c.bin": b"\0\1", "b/d/e.txt": b"parts"}
    assert {path.name for path in out.iterdir()} == {"a.txt", "b"}
    write_file(out / "a.txt", "again")
    assert (out / "a.txt").read_text() == "again"


def test_stale_files_go_and_others_stay(tmp_path: Path) -> None:
    write_files(tmp_path, {"figures/a.svg": "a", "figures/b.svg": "b", "old.tex": "t", "figures/mine.png": "m"})
    write_files(tmp_path, {"figures/b.svg": "new"}, stale=("figures/*.svg", "*.tex", "absent/*"))
    assert _contents(tmp_path) == {"figures/b.svg": b"new", "figures/mine.png": b"m"}


@pytest.mark.parametrize("n_moves", range(6))
def test_failure_while_moving_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_moves: int
) -> None:
    out = tmp_path / "out"
    write_files(out, {"a": "1", "b": "1", "c/d": "1", "stale.x": "1", "mine": "1"})
    before = _contents(out)
    moved = 0

    def failing(real: Any) -> Any:
        def call(self: Path, *arguments: Any, **options: Any) -> Any:
            nonlocal moved
            if "old" not in self.parts and (".writing" in str(self) or self.suffix == ".x"):
                if moved == n_moves:
                    raise FULL
                moved += 1
            return real(self, *arguments, **options)

        return call

    monkeypatch.setattr(Path, "replace", failing(Path.replace))
    monkeypatch.setattr(Path, "unlink", failing(Path.unlink))
    contents = {"a": "2", "b": "2", "c/d": "2", "new/e": "2", "f": "2"}
    with pytest.raises(OutputError, match="No space left on device; choose another folder") as caught:
        write_files(out, contents, stale=("*.x",))
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert _contents(out) == before
    assert {path.name for path in out.iterdir()} == {"a", "b", "c", "mine", "stale.x"}


def test_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def fails(file: Any) -> None:
        file.write(b"half")
        raise FULL

    with pytest.raises(OutputError, match="No space left"):
        write_files(tmp_path / "out", {"a": "1", "b": fails})
    assert list(tmp_path.iterdir()) == []

    def errs(_: Any) -> None:
        raise KeyError("not ours")

    with pytest.raises(KeyError):
        write_files(tmp_path, {"a": "1", "b": errs})
    assert list(tmp_path.iterdir()) == []


def test_a_file_or_a_read_only_folder_in_the_way_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot write to .*out: File exists; choose another folder"):
        write_files(tmp_path / "out", {"a": "1"})
    real = Path.mkdir

    def mkdir(self: Path, *arguments: Any, **options: Any) -> None:
        if ".writing" in str(self):
            raise PermissionError(errno.EACCES, "Permission denied")
        real(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)  # the owner of the machine may write anywhere, whatever the mode
    with pytest.raises(OutputError, match="Permission denied; choose another folder"):
        write_files(tmp_path / "fresh", {"a": "1"})
    assert not (tmp_path / "fresh").exists()


def test_a_run_that_is_killed_leaves_the_files_and_the_next_one_clears_up(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "1", "b": "1"})
    code = (
        "import sys, time; from pathlib import Path; from textassay.storage import write_files\n"
        "def slow(file):\n file.write(b'half'); file.flush(); print('there', flush=True); time.sleep(60)\n"
        "write_files(Path(sys.argv[1]), {'a': '2', 'b': slow})"
    )
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "there\n"
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert {name: text for name, text in _contents(tmp_path).items() if ".writing" not in name} == {
        "a": b"1",
        "b": b"1",
    }
    assert list(tmp_path.glob(".writing*"))
    write_files(tmp_path, {"c": "3"})
    assert _contents(tmp_path) == {"a": b"1", "b": b"1", "c": b"3"}


def test_drafts_of_dead_runs_are_removed_and_of_living_ones_kept(tmp_path: Path) -> None:
    host = host_name()
    abandoned = tmp_path / f".writing-{host}-{_dead()}-00"
    living = tmp_path / f".writing-{host}-{os.getppid()}-00"
    elsewhere = tmp_path / ".writing-some-other-host-1-00"
    old = tmp_path / ".writing-some-other-host-2-00"
    for folder in (abandoned, living, elsewhere, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    write_files(tmp_path, {"a": "1"})
    assert {path.name for path in tmp_path.glob(".writing*")} == {living.name, elsewhere.name}


def test_two_writers_leave_the_files_of_one_of_them(tmp_path: Path) -> None:
    """In the same folder at the same time, many times over: the files that stand there belong together."""
    names = [f"{k}.txt" for k in range(8)]
    start = Barrier(2)
    mixed: list[set[bytes]] = []

    def write(who: str) -> None:
        for _ in range(20):
            start.wait()
            write_files(tmp_path, dict.fromkeys(names, who))
            start.wait()
            if who == "one":
                mixed.append(set(_contents(tmp_path).values()))

    threads = [Thread(target=write, args=(who,)) for who in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mixed) == 20
    assert {len(contents) for contents in mixed} == {1}
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_two_processes_leave_the_files_of_one_of_them_without_locks_of_the_file_system(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from textassay.storage import write_files; sys.modules['fcntl'] = None\n"
        "out, who = Path(sys.argv[1]), sys.argv[2]; print('ready', flush=True); input()\n"
        "for k in range(20): write_files(out / str(k), dict.fromkeys('abcdefgh', who), stale=('*.svg',))"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who in ("one", "two")
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("\n")
        run.stdin.flush()
    for run in runs:
        run.communicate()
        assert run.returncode == 0
    for k in range(20):
        contents = _contents(tmp_path / str(k))
        assert set(contents) == set("abcdefgh")
        assert len(set(contents.values())) == 1


def test_a_lock_of_a_dead_run_or_one_that_does_not_move_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".lock").mkdir()
    (tmp_path / ".lock" / f"{host_name()}-{_dead()}-00").touch()
    begin = time.monotonic()
    write_files(tmp_path, {"a": "1"})
    assert time.monotonic() - begin < storage._LOCK_SECONDS / 2
    monkeypatch.setattr(storage, "_LOCK_SECONDS", 0.3)
    (tmp_path / ".lock").mkdir()
    (tmp_path / ".lock" / "some-other-host-1-00").touch()
    begin = time.monotonic()
    write_files(tmp_path, {"b": "1"})
    assert time.monotonic() - begin > 0.3
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


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
    dead, now = _dead(), time.time()
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


def _add(path: Path, content: bytes) -> None:
    with one_run_at_a_time(path), one_run_at_a_time(path):  # the second time, it has it already
        path.write_bytes(content)


def test_one_run_at_a_time_adds_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers"
    code = (
        "import sys, time; from pathlib import Path; from textassay.storage import one_run_at_a_time\n"
        f"with one_run_at_a_time(Path({str(path)!r})):\n"
        "    print('in', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        Timer(0.3, other.kill).start()  # whatever ends it
        with pytest.warns(UserWarning, match="another run is writing to .*; waiting for it"):
            _add(path, b"more")
        assert other.wait() != 0
        other.communicate()
    assert path.read_bytes() == b"more"
    path.write_bytes(b"")
    with one_run_at_a_time(path):
        pass
    assert not path.exists()  # nothing came
