"""Tasks without a cluster: one after another, or by threads, as they end."""

import sys
import threading
from collections.abc import Iterator

import pytest

from textassay.errors import MissingExtraError
from textassay.execution import cluster, map_in_order, map_tasks, stream_tasks, workers


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


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r"^a cluster needs the 'ray' extra: in the clone, pip install"
    with pytest.raises(MissingExtraError, match=said), cluster("auto"):
        pass
    with cluster(None):  # no cluster needs none
        assert list(map_tasks(str, [1])) == [(1, "1")]
