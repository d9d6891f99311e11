"""Tasks without a cluster: one after another, or by threads, as they end."""

import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from textassay.errors import MissingExtraError, OptionError
from textassay.execution.cluster import cluster
from textassay.execution.tasks import map_in_order, map_tasks, stream_tasks
from textassay.execution.threads import parallel_map, recorded_warnings, workers


def test_one_task_after_another_each_when_the_last_is_dealt_with() -> None:
    steps: list[str] = []

    def items() -> Iterator[int]:
        for item in range(3):
            steps.append(f"item {item}")
            yield item

    for item, outcome in map_tasks(lambda item: item**2, items(), tell=lambda item: steps.append(f"tell {item}")):
        steps.append(f"{item} squared is {outcome}")
    assert steps == [f"{what} {item}" if what != "square" else f"{item} squared is {item**2}"
                     for item in range(3) for what in ("item", "tell", "square")]  # fmt: skip


def test_outcomes_of_a_task_are_dealt_with_as_they_come() -> None:
    steps: list[str] = []

    def halves(item: str) -> Iterator[str]:
        for half in ("first", "second"):
            steps.append(f"{half} half of {item} is made")
            yield half

    for item, half in stream_tasks(halves, ["a", "b"]):
        steps.append(f"{half} half of {item} is kept")
    assert steps == [f"{half} half of {item} is {what}"
                     for item in "ab" for half in ("first", "second") for what in ("made", "kept")]  # fmt: skip


@pytest.mark.parametrize("n_workers", [1, 3])
def test_threads_take_tasks_and_leave_none_out(n_workers: int) -> None:
    def task(item: int) -> tuple[int, str]:
        return item**2, threading.current_thread().name

    with workers(n_workers):
        outcomes = dict(map_tasks(task, range(50), threads=True))
        assert map_in_order(lambda item: item**2, range(50)) == [item**2 for item in range(50)]
    assert {item: outcome for item, (outcome, _) in outcomes.items()} == {item: item**2 for item in range(50)}
    here = threading.current_thread().name
    assert (here in {name for _, name in outcomes.values()}) == (n_workers == 1)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_an_error_ends_it_and_tasks_that_wait_are_dropped(n_workers: int) -> None:
    begun: list[int] = []

    def task(item: int) -> None:
        begun.append(item)
        if item == 2:
            raise ValueError("two")

    with workers(n_workers), pytest.raises(ValueError, match="two"):
        list(map_tasks(task, range(1000), threads=True))
    assert len(begun) < 20


def test_a_cluster_that_nobody_serves_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, shutdown=lambda: None))
    with socket.socket() as unheard:  # bound, and not listening
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            with (
                pytest.raises(OptionError, match=f"no Ray cluster answers at {address}: connection refused"),
                cluster(address),
            ):
                pass


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r"^a cluster needs the 'ray' extra: pip install"
    with pytest.raises(MissingExtraError, match=said), cluster("auto"):
        pass
    with cluster(None):  # no cluster needs none
        assert list(map_tasks(str, [1])) == [(1, "1")]


def test_threads_without_a_task_work_for_those_that_go_on() -> None:
    """Of two tasks on two threads, one ends at once: its thread then works on parts of the other one."""

    def task(n_parts: int) -> set[str]:
        def part(number: int) -> str:
            time.sleep(0.02)
            return threading.current_thread().name

        return set(parallel_map(part, range(n_parts)))

    with workers(2):
        assert {n: len(names) for n, names in map_tasks(task, [1, 30], threads=True)} == {1: 1, 30: 2}
        assert [len(names) for names in parallel_map(task, [1, 30])] == [1, 2]


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_error_of_a_part_is_that_of_the_task(n_workers: int) -> None:
    def part(number: int) -> int:
        return 1 // (number - 3)

    with workers(n_workers), pytest.raises(ZeroDivisionError):
        list(map_tasks(lambda item: parallel_map(part, range(5)), range(1), threads=True))


def test_streams_of_threads_come_in_order_and_end_with_an_error() -> None:
    def outcomes(item: int) -> Iterator[int]:
        yield from range(item)
        if item == 4:
            raise ValueError("four")

    found: dict[int, list[int]] = {}
    with workers(2):
        for item, outcome in stream_tasks(outcomes, range(4), threads=True):
            found.setdefault(item, []).append(outcome)
        assert found == {1: [0], 2: [0, 1], 3: [0, 1, 2]}
        with pytest.raises(ValueError, match="four"):
            list(stream_tasks(outcomes, range(5), threads=True))


def test_warnings_belong_to_the_task_that_gave_them() -> None:
    together = threading.Barrier(2, timeout=20)

    def task(item: int) -> list[str]:
        with recorded_warnings() as record:
            together.wait()
            parallel_map(lambda part: warnings.warn(f"{item}.{part}", UserWarning, stacklevel=1), range(3))
            together.wait()
        return sorted(map(str, record))

    with workers(2):
        assert dict(map_tasks(task, range(2), threads=True)) == {0: ["0.0", "0.1", "0.2"], 1: ["1.0", "1.1", "1.2"]}
    with pytest.warns(UserWarning, match="after"):
        warnings.warn("after", UserWarning, stacklevel=1)


def test_no_more_threads_run_than_are_allowed() -> None:
    lock = threading.Lock()
    running = [0, 0]  # now, at most

    def part(place: int) -> int:
        with lock:
            running[0] += 1
            running[1] = max(running)
        time.sleep(0.001)
        with lock:
            running[0] -= 1
        return place**2

    def item(number: int) -> list[int]:
        return parallel_map(part, range(number))

    with workers(3):
        assert parallel_map(item, range(20)) == [[place**2 for place in range(number)] for number in range(20)]
        assert dict(map_tasks(item, range(20), threads=True)) == {
            n: [place**2 for place in range(n)] for n in range(20)
        }
    assert running[1] <= 3
    with workers(2), pytest.raises(ZeroDivisionError):
        parallel_map(lambda number: 1 // (number - 3), range(50))
