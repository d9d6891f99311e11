"""Results at an address: put there as they are written, fetched by the next run, never lost where a store fails."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import matplotlib
import pytest

import s3_server
import textassay
from textassay import storage
from textassay.cli.main import main
from textassay.corpus import array_files
from textassay.errors import MissingExtraError, NotPutError, OutputError
from textassay.storage import atomic_write, host_name, output_folder, with_addresses, write_file, write_files

fsspec = pytest.importorskip("fsspec")
REAL = [
    f"the {a} {b} was {c}" for a in ("food", "room", "wine") for b in ("here", "there") for c in ("good", "bad", "cold")
]
MADE = [f"the {a} {a} was {c} {c}" for a in ("food", "room", "wine") for c in ("good", "bad", "cold", "fine")]
ADDRESS = "memory://results/of/a"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which folders stand for addresses."""
    monkeypatch.setenv("MPLCONFIGDIR", matplotlib.get_cachedir())  # its list of fonts is long to make
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "textassay" / "out"


@pytest.fixture(autouse=True)
def memory() -> Iterator[Any]:
    """Return the file system in memory, empty."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def _there(system: Any) -> dict[str, bytes]:
    root = "/results/of/a/"
    return {path.removeprefix(root): system.cat_file(path) for path in system.find(root)}


def _left(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_a_path_is_itself(tmp_path: Path) -> None:
    for place in (tmp_path, str(tmp_path), f"file://{tmp_path}"):
        with output_folder(place) as folder:
            assert folder == tmp_path


def test_files_are_there_as_soon_as_they_are_written(memory: Any, cache: Path) -> None:
    with output_folder(ADDRESS) as folder:
        write_files(folder, {"a.txt": "1", "deep/b.txt": "2", "old.svg": "3"})
        with atomic_write(folder / "deep" / "c.npz") as file:
            file.write(b"4")
            assert "deep/c.npz" not in _there(memory)
        assert _there(memory) == {"a.txt": b"1", "deep/b.txt": b"2", "old.svg": b"3", "deep/c.npz": b"4"}
        write_files(folder, {"a.txt": "5"}, stale=("*.svg",))
        assert _there(memory) == {"a.txt": b"5", "deep/b.txt": b"2", "deep/c.npz": b"4"}
        (folder / "by-others.txt").write_text("6")
        (folder / "deep" / "c.npz").unlink()
        assert with_addresses(f"wrote {folder}/a.txt") == f"wrote {ADDRESS}/a.txt"
    assert _there(memory) == {"a.txt": b"5", "deep/b.txt": b"2", "by-others.txt": b"6"}
    assert _left(cache) == []
    with output_folder(f"{ADDRESS}/") as folder:
        assert (folder / "deep" / "b.txt").read_text() == "2"
        assert {path.name for path in folder.iterdir()} == {"a.txt", "deep", "by-others.txt"}


def test_encoded_texts_stay_here(memory: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe_file("/results/of/a/encoded-texts/old/bytes.npy", b"1")
    with output_folder(ADDRESS) as folder:
        assert list(folder.iterdir()) == []
        write_files(folder / "encoded-texts" / "new", {"bytes.npy": "2", "checksums.json": "3"})
        write_file(folder / "encoded-texts" / "one.npy", "4")
        write_file(folder / "estimates" / "one.npz", "5")
    assert _there(memory) == {"encoded-texts/old/bytes.npy": b"1", "estimates/one.npz": b"5"}
    assert _left(cache) == []
    monkeypatch.setattr(array_files, "MAX_IN_MEMORY", 100)
    textassay.compare({"made": MADE}, REAL, metrics=["length"], out=ADDRESS)
    assert {name.split("/")[0] for name in _there(memory)} == {"encoded-texts", "estimates"}
    assert [name for name in _there(memory) if name.startswith("encoded-texts/")] == ["encoded-texts/old/bytes.npy"]


def test_one_file_is_fetched_and_put_alone(memory: Any) -> None:
    memory.pipe_file("/results/of/a/large.bin", b"1")
    memory.pipe_file("/results/of/a/mine.csv", b"2")
    with output_folder(ADDRESS, file="mine.csv") as folder:
        assert [path.name for path in folder.iterdir()] == ["mine.csv"]
        write_file(folder / "mine.csv", "3")
    assert _there(memory) == {"large.bin": b"1", "mine.csv": b"3"}


def test_a_file_that_another_run_removes_while_it_is_fetched(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "old.svg"):
        memory.pipe_file(f"/results/of/a/{name}", b"1")
    get = type(memory).get

    def remove_and_get(this: Any, *arguments: Any, **settings: Any) -> Any:
        if memory.exists("/results/of/a/old.svg"):
            memory.rm_file("/results/of/a/old.svg")
        return get(this, *arguments, **settings)

    monkeypatch.setattr(type(memory), "get", remove_and_get)
    with output_folder(ADDRESS) as folder:
        assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_a_run_that_ends_later_leaves_the_files_of_the_last_report(memory: Any) -> None:
    memory.pipe_file("/results/of/a/old.svg", b"0")
    with output_folder(ADDRESS) as first, output_folder(ADDRESS) as second:
        write_files(second, {"report.html": "1"}, stale=("*.svg",))
        write_files(first, {"report.html": "2"}, stale=("*.svg",))
        assert _there(memory) == {"report.html": b"2"}
        write_files(second, {"report.html": "3", "old.svg": "3"}, stale=("*.svg",))
    assert _there(memory) == {"report.html": b"3", "old.svg": b"3"}


class _Refusing:
    """Lets a store refuse what is put after the first `n` files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
        self.n = n
        system = type(fsspec.filesystem("memory"))
        put = system.put_file

        def put_file(this: Any, *arguments: Any, **settings: Any) -> Any:
            self.n -= 1
            if self.n < 0:
                raise OSError(errno.EIO, "An internal error occurred.")
            return put(this, *arguments, **settings)

        monkeypatch.setattr(system, "put_file", put_file)


def test_what_cannot_be_put_stays_here_and_the_next_run_puts_it(
    memory: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _Refusing(monkeypatch, 1)
    with pytest.raises(NotPutError) as caught, output_folder(ADDRESS) as folder:
        write_files(folder, {"a.txt": "1", "b.txt": "2", "c.txt": "3"})
    message = (
        f"{ADDRESS}/b.txt cannot be written: An internal error occurred. (OSError); all files are in {folder}, and "
    )
    assert str(caught.value) == f"{message}the same command resumes from there"
    assert with_addresses(caught.value) == str(caught.value)
    assert _there(memory) == {"a.txt": b"1"}
    assert {path.name for path in folder.iterdir()} == {"a.txt", "b.txt", "c.txt"}
    store.n = 99
    monkeypatch.setattr(storage, "is_running", lambda process: False)
    with output_folder(ADDRESS) as folder:
        assert (folder / "c.txt").read_text() == "3"
    assert _there(memory) == {"a.txt": b"1", "b.txt": b"2", "c.txt": b"3"}
    assert _left(cache) == []


def test_a_store_that_fails_for_a_while_delays_what_is_put(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _Refusing(monkeypatch, 0)
    with output_folder(ADDRESS) as folder:
        write_file(folder / "a.txt", "1")
        assert _there(memory) == {}
        store.n = 99
        write_file(folder / "b.txt", "2")
        assert _there(memory) == {}  # it is left alone for a minute
    assert _there(memory) == {"a.txt": b"1", "b.txt": b"2"}


def test_an_error_of_the_run_is_the_one_that_is_raised(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        with output_folder(ADDRESS) as folder:
            (folder / name).write_text("1")
            raise KeyError("mine")

    with pytest.raises(KeyError):
        fail("a.txt")
    assert _there(memory) == {"a.txt": b"1"}
    _Refusing(monkeypatch, 0)
    with pytest.warns(UserWarning, match="all files are in"), pytest.raises(KeyError):
        fail("b.txt")


def test_an_address_that_cannot_be_written_to_is_refused_first(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Access Denied")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", refuse)
    with pytest.raises(OutputError, match="cannot be written: access is denied"), output_folder(ADDRESS):
        raise AssertionError
    assert list(cache.glob("*/*")) == []


def test_compare_and_save_at_an_address(memory: Any) -> None:
    comparison = textassay.compare({"made": MADE}, REAL, metrics=["length"], out=ADDRESS)
    kept = _there(memory)
    assert all(name.startswith("estimates/") for name in kept)
    assert kept
    comparison.save(ADDRESS)
    assert {"results.json", "report.html"} <= set(_there(memory))
    measured = textassay.compare({"made": MADE}, REAL, metrics=["length"], out=ADDRESS)
    assert measured.to_dict() == comparison.to_dict()
    assert {name: content for name, content in _there(memory).items() if name in kept} == kept


def test_commands_take_addresses_for_paths(memory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory.pipe_file("/texts/real.txt", "".join(f"{text}\n" for text in REAL).encode())
    memory.pipe_file("/texts/made.txt", "".join(f"{text}\n" for text in MADE).encode())
    memory.pipe_file("/texts/options.yaml", b"metrics: length\n")
    words = ["compare", "--config", "memory://texts/options.yaml", "--real", "memory://texts/real.txt"]
    words += ["--quiet", "memory://texts/made.txt", "--out", ADDRESS]
    assert main(words) == 0
    assert f"{ADDRESS}/report.html" in capsys.readouterr().out
    results = json.loads(_there(memory)["results.json"])
    assert {result["generator"] for result in results["results"]} == {"(real)", "made"}
    before = _there(memory)
    assert main(words) == 0
    assert _there(memory) == before
    assert main(["report", ADDRESS]) == 0
    assert f"{ADDRESS}/report.html" in capsys.readouterr().out
    # a file, and a folder that is only read
    assert main(["train", "ngram", "--real", "memory://texts/real.txt", "--out", "memory://model", "--quiet"]) == 0
    assert memory.exists("/model")
    assert main(["plan", "--pilot", ADDRESS, "--margin", "0.1"]) == 2
    assert "the comparison has no value of dd" in capsys.readouterr().err
    assert _there(memory).keys() == before.keys()


def test_a_put_that_fails_is_one_line_and_status_1(
    memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, texts in (("real", REAL), ("made", MADE)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    _Refusing(monkeypatch, 0)
    words = ["compare", "--real", str(tmp_path / "real.txt"), str(tmp_path / "made.txt"), "--metrics", "length"]
    assert main([*words, "--quiet", "--out", ADDRESS]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    folder = Path(line.partition("all files are in ")[2].partition(", and the same command resumes from there")[0])
    assert (folder / "results.json").is_file()


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(MissingExtraError, match="'remote' extra"), output_folder("s3://bucket/a"):
        raise AssertionError


@pytest.fixture
def s3() -> Iterator[tuple[s3_server.Store, dict[str, str]]]:
    pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'textassay[remote]'")
    with s3_server.serve() as served:
        served[0].objects["texts/real.txt"] = "".join(f"{text}\n" for text in REAL).encode()
        served[0].objects["texts/made.txt"] = "".join(f"{text}\n" for text in MADE).encode()
        yield served


@pytest.mark.slow
def test_s3_takes_what_is_put_though_every_third_request_fails(
    s3: tuple[s3_server.Store, dict[str, str]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, environment = s3
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    store.fails = lambda number, request: number % 3 == 0
    store.objects["out/figures/of-others.svg"] = b"0"
    for content in ("1", "2"):
        with output_folder("s3://bucket/out") as folder:
            write_files(folder, {f"{name}.txt": content for name in "abc"}, stale=("figures/*.svg",))
    store.fails = lambda number, request: False
    put = {key.removeprefix("out/"): value for key, value in store.objects.items() if key.startswith("out/")}
    assert put == {f"{name}.txt": b"2" for name in "abc"}
    assert _left(cache) == []
    # the lock of a run that is dead
    store.objects["out/.lock"] = f"{host_name()}-{_dead()}-00".encode()
    with output_folder("s3://bucket/out") as folder:
        write_files(folder, {"a.txt": "3", "b.txt": "3"})
    assert store.objects["out/a.txt"] == b"3"
    assert "out/.lock" not in store.objects


def _writers_at_once(n: int, seconds: float) -> list[int]:
    """Return how many hold the lock whenever one of `n` has taken it, which keeps it for so many seconds."""
    inside: list[int] = []
    most: list[int] = []

    def write(number: int) -> None:
        with storage._WorkingCopy("s3://bucket/out", Path())._only_writer():
            inside.append(number)
            most.append(len(inside))
            time.sleep(seconds)
            inside.remove(number)

    threads = [Thread(target=write, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


def test_of_runs_that_find_the_lock_of_a_dead_one_at_once_one_has_it(
    s3: tuple[s3_server.Store, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, environment = s3
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    store.objects["out/.lock"] = f"{host_name()}-{_dead()}-00".encode()
    assert _writers_at_once(3, 0.2) == [1, 1, 1]
    assert "out/.lock" not in store.objects


@pytest.mark.slow
def test_a_run_that_writes_for_long_keeps_its_lock(
    s3: tuple[s3_server.Store, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, environment = s3
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3").clear_instance_cache()
    monkeypatch.setattr(storage, "_LOCK_SECONDS", 2)
    assert _writers_at_once(2, 3) == [1, 1]
    assert "out/.lock" not in store.objects
    store.objects["out/.lock"] = b"another-machine-12-00"  # that shows no life
    assert _writers_at_once(1, 0) == [1]


def _dead() -> int:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    return int(done.stdout)


COMPARE = ["compare", "--metrics", "length,distinct-n", "--real", "s3://bucket/texts/real.txt", "--quiet", "--json"]
COMPARE += ["made=s3://bucket/texts/made.txt", "--out", "s3://bucket/out"]


def _start(environment: dict[str, str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "textassay", *COMPARE]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_s3_that_fails_every_third_request_and_a_run_that_is_killed(
    s3: tuple[s3_server.Store, dict[str, str]], cache: Path
) -> None:
    store, environment = s3
    killed: list[int] = []

    def fails(number: int, request: str) -> bool:
        if len(killed) == 1 and sum(key.startswith("out/estimates") for key in store.objects) == 2:
            os.kill(killed[0], signal.SIGKILL)
            killed.append(0)
        return number % 3 == 0

    store.fails = fails
    first = _start(environment)
    killed.append(first.pid)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    kept = {key: content for key, content in store.objects.items() if key.startswith("out/")}
    assert 2 <= len(kept) <= 3
    second = _start(environment)
    printed, errors = second.communicate()
    assert (second.returncode, errors) == (0, "")
    assert kept.items() <= store.objects.items()  # what was measured is not measured again
    assert json.loads(store.objects["out/results.json"]) == json.loads(printed)
    assert not [key for key in store.objects if "/." in key]
    assert _left(cache) == []
    store.fails = lambda number, request: False
    n_requests = len(store.requests)
    third = _start(environment)
    assert third.communicate() == (printed, "")
    again = store.requests[n_requests:]
    assert not [request for request in again if request.startswith("PUT out/estimates")]
