"""Independent pieces of work: done here, in order or by threads, or on a cluster; callers do not know which.

This file knows nothing of a cluster but the methods of `Cluster`; `textassay.execution.cluster` is one.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from textassay.execution.threads import CLUSTER, DEVICE, IDLE, WORKERS, IdleThreads, allowed_workers, parallel_map

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")

SENT_ONCE: list[type] = []
CARRIED: dict[str, ContextVar[Any]] = {DEVICE.name: DEVICE}
OF_TASK: ContextVar["Cluster | None"] = ContextVar("cluster of task", default=None)  # what takes the parts of a task


class Cluster(Protocol):
    """Where else tasks may run."""

    def map(
        self, function: Callable[[Item], Outcome], items: Iterable[Item], tell: Callable[[Item], None]
    ) -> Iterator[tuple[Item, Outcome]]:
        """Do as `map_tasks` does."""
        ...

    def is_idle(self) -> bool:
        """Return whether a processor has nothing to do."""
        ...

    def map_parts(self, function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
        """Do as `map_parts` does."""
        ...


def sent_once(kind: Class) -> Class:
    """Let objects of this class be sent to a cluster once, however many tasks hold them."""
    SENT_ONCE.append(kind)
    return kind


def carried(variable: ContextVar[Value]) -> ContextVar[Value]:
    """Let tasks on a cluster see the value that a variable has where they are handed out."""
    CARRIED[variable.name] = variable
    return variable


def map_tasks(
    function: Callable[[Item], Outcome],
    items: Iterable[Item],
    *,
    tell: Callable[[Item], None] = lambda item: None,
    threads: bool = False,
) -> Iterator[tuple[Item, Outcome]]:
    """Yield each item with ``function(item)``, as they are done.

    On a cluster (see `textassay.execution.cluster`) each item is a task there. Otherwise items are taken one after
    another, each when the one before has been dealt with; or, with `threads`, by as many threads as `workers` allows.

    `function` may hold state, such as a cache: on a cluster, each process has its own, from task to task. `tell` is
    called with an item that is being worked on, whenever that is another one.
    """
    yield from stream_tasks(lambda item: (function(item),), items, tell=tell, threads=threads)


def stream_tasks(
    function: Callable[[Item], Iterable[Outcome]],
    items: Iterable[Item],
    *,
    tell: Callable[[Item], None] = lambda item: None,
    threads: bool = False,
) -> Iterator[tuple[Item, Outcome]]:
    """Yield each item with each of the outcomes that `function` yields for it, in order (see `map_tasks`).

    In one thread, an outcome is dealt with before the next is computed; from a cluster, those of an item come together.
    """
    elsewhere: Cluster | None = CLUSTER.get()
    if elsewhere is not None:
        outcomes = elsewhere.map(lambda item: list(function(item)), items, tell)
        yield from ((item, outcome) for item, of_item in outcomes for outcome in of_item)
        return
    if threads and allowed_workers() > 1:
        yield from _by_threads(function, items, tell)
        return
    for item in items:
        tell(item)
        yield from ((item, outcome) for outcome in function(item))


def map_in_order(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``[function(item) for item in items]``, computed by threads or as tasks on a cluster (see `map_tasks`)."""
    tasks = list(items)
    outcomes = dict(map_tasks(lambda place: function(tasks[place]), range(len(tasks)), threads=True))
    return [outcomes[place] for place in range(len(tasks))]


def map_parts(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return what `parallel_map` returns; of a task on a cluster with idle processors, computed as tasks there.

    A task that has several threads uses these.
    """
    elsewhere = CLUSTER.get() or OF_TASK.get()
    if elsewhere is not None and allowed_workers() == 1 and elsewhere.is_idle():
        return elsewhere.map_parts(function, items)
    return parallel_map(function, items)


def _by_threads(
    function: Callable[[Item], Iterable[Outcome]], items: Iterable[Item], tell: Callable[[Item], None]
) -> Iterator[tuple[Item, Outcome]]:
    outcomes: SimpleQueue[tuple[Item, Outcome] | Future[None]] = SimpleQueue()
    idle = IdleThreads()

    def work(item: Item) -> None:
        WORKERS.set(1)
        IDLE.set(idle)
        tell(item)
        for outcome in function(item):
            outcomes.put((item, outcome))
            idle.check()

    n_threads = allowed_workers()
    pool = ThreadPoolExecutor(n_threads)
    n_running, n_idle = 0, 0
    waiting = iter(items)
    try:
        while True:
            for item in islice(waiting, 2 * n_threads - n_running):
                pool.submit(copy_context().run, work, item).add_done_callback(outcomes.put)
                n_running += 1
            idle.add(max(0, n_threads - n_running) - n_idle)  # fewer than there are threads: there are no more
            n_idle = max(0, n_threads - n_running)
            if n_running == 0:
                return
            one = outcomes.get()
            if isinstance(one, Future):
                n_running -= 1
                one.result()
            else:
                yield one
    finally:  # after an error or Ctrl-C, tasks that wait are dropped, and others end where they come to their next part
        idle.stopped = True
        pool.shutdown(cancel_futures=True)
