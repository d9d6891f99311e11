"""Number of threads, and the device of networks.

The compiled parts (n-gram kernels and the logistic solver) release the interpreter lock, so threads use all cores
without copying a corpus. `workers` sets how many; joblib's own `parallel_config` has the same effect.
"""

import importlib.util
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from textassay.errors import MissingExtraError, OptionError, check_range

if TYPE_CHECKING:
    import threadpoolctl


MAX_WORKERS = 1024  # threads, on any machine

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_BLAS_LOCK = threading.Lock()
_blas_limits: dict[str, Any] = {"blocks": 0}  # how many blocks are open, and the limit to restore after the last


@dataclass
class _Device:
    """The device chosen for networks, and whether a network has used it."""

    name: str
    used: bool = False


WORKERS: ContextVar[int] = ContextVar("workers", default=1)  # where joblib is not loaded
CLUSTER: ContextVar[Any] = ContextVar("cluster", default=None)  # what takes the tasks of `map_tasks`; here without one
DEVICE: ContextVar[_Device | None] = ContextVar("device", default=None)


def on_cluster() -> bool:
    """Return whether tasks run on a cluster, whose machines need not share files."""
    return CLUSTER.get() is not None


def default_workers() -> int:
    """Return the number of processors this process may use; for a task on a cluster, which has many tasks, one."""
    if on_cluster():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(n_workers: int) -> Iterator[None]:
    """Let `parallel_map` use `n_workers` threads, from 1 to `MAX_WORKERS`, inside the ``with`` block."""
    check_range("workers", n_workers, 1, MAX_WORKERS)
    joblib = sys.modules.get("joblib")  # takes as long to load as a metric to compute
    token = WORKERS.set(n_workers)
    try:
        with nullcontext() if joblib is None else joblib.parallel_config(backend="threading", n_jobs=n_workers):
            yield
    finally:
        WORKERS.reset(token)


def allowed_workers() -> int:
    """Return the number of threads that `workers` allows here, one without it and in the threads of `parallel_map`.

    What joblib's `parallel_config` allows counts, too.
    """
    joblib = sys.modules.get("joblib")
    told = 1 if joblib is None else joblib.effective_n_jobs(None)
    return WORKERS.get() if told == 1 else int(told)


def check_device(name: str) -> None:
    """Raise unless networks can run on the device `name` of this machine."""
    if re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]{1,6})?", name) is None:
        raise OptionError(f"device must be auto, cpu, cuda, cuda:N or mps, got '{name}'")
    if name in ("auto", "cpu"):
        return
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError(f"device {name}", "neural")
    import torch

    n_gpus = torch.cuda.device_count()
    gpus = [f"cuda:{number}" for number in range(n_gpus)]
    gpus += ["mps"] if torch.backends.mps.is_available() else []
    if name not in gpus and not (name == "cuda" and n_gpus):
        raise OptionError(
            f"device {name} is not available: PyTorch finds {', '.join(gpus) or 'no GPU'}, and always cpu"
        )


@contextmanager
def device(name: str) -> Iterator[None]:
    """Let networks run on the device `name` inside the ``with`` block.

    `name`: ``auto`` (a GPU if there is one), ``cpu``, or a name of PyTorch such as ``cuda:1``.
    """
    check_device(name)
    chosen = _Device(name)
    token = DEVICE.set(chosen)
    try:
        yield
    finally:
        DEVICE.reset(token)
    if name not in ("auto", "cpu") and not chosen.used:
        warnings.warn(f"device {name} was not used: no network ran", stacklevel=3)


def device_name() -> str:
    """Return the device set by `device`, ``auto`` by default, and record that a network used it."""
    chosen = DEVICE.get()
    if chosen is None:
        return "auto"
    chosen.used = True
    return chosen.name


def parallel_map(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``[function(item) for item in items]``, computed by as many threads as `workers` allows (default one).

    This thread is one of them. Nested calls run in the thread they are made from, and in those that have nothing to do.
    """
    tasks = list(items)
    if len(tasks) <= 1:
        return [function(task) for task in tasks]
    n_threads = allowed_workers()
    if n_threads > 1:
        idle = IdleThreads(n_threads - 1)
        token = IDLE.set(idle)
        try:
            with workers(1):
                return _with_idle_threads(function, tasks, idle)
        finally:
            IDLE.reset(token)
    present = IDLE.get()
    return [function(task) for task in tasks] if present is None else _with_idle_threads(function, tasks, present)


class Stopped(BaseException):
    """Nobody waits for this task any more."""


class IdleThreads:
    """How many threads have no task: the parts of tasks that go on may use them."""

    def __init__(self, n: int = 0) -> None:
        self._n = n
        self._lock = threading.Lock()
        self.stopped = False

    def add(self, n: int) -> None:
        """Let `n` more be used."""
        with self._lock:
            self._n += n

    def take(self) -> bool:
        """Return whether there was one, which is then used."""
        with self._lock:
            there = self._n > 0
            self._n -= there
        return there

    def check(self) -> None:
        """Raise where tasks are to end, after an error or Ctrl-C."""
        if self.stopped:
            raise Stopped


IDLE: ContextVar[IdleThreads | None] = ContextVar("idle", default=None)


def _with_idle_threads(function: Callable[[Item], Outcome], tasks: list[Item], idle: IdleThreads) -> list[Outcome]:
    """Return the outcomes, computed by this thread and those that are or become idle."""
    outcomes: dict[int, Outcome] = {}
    errors: list[BaseException] = []
    waiting = list(range(len(tasks) - 1, -1, -1))
    lock = threading.Lock()

    def do_next() -> bool:
        with lock:
            place = waiting.pop() if waiting and not errors else None
        if place is None:
            return False
        try:
            idle.check()
            outcomes[place] = function(tasks[place])
        except BaseException as error:
            errors.append(error)
        return True

    def help_out(context: Context) -> None:
        try:
            while context.run(do_next):
                pass
        finally:
            idle.add(1)

    helpers = []
    goes_on = True
    try:
        while goes_on:
            while len(waiting) > 1 and not errors and idle.take():
                # a copy, so that `device` and the like hold in the thread, too
                helpers.append(threading.Thread(target=help_out, args=(copy_context(),)))
                helpers[-1].start()
            goes_on = do_next()
        for helper in helpers:
            helper.join()
    except BaseException as error:  # Ctrl-C: tasks that wait are dropped
        errors.append(error)
        raise
    if errors:
        raise errors[0]
    return [outcomes[place] for place in range(len(tasks))]


_RECORD: ContextVar[list[Warning] | None] = ContextVar("recorded warnings", default=None)
_RECORDING_LOCK = threading.Lock()
_recording: dict[str, Any] = {"blocks": 0}  # how many blocks are open, and what to restore after the last


@contextmanager
def recorded_warnings() -> Iterator[list[Warning]]:
    """Record every warning of this thread, and of those that work for it, inside the ``with`` block.

    `warnings.catch_warnings` records those of all threads together.
    """
    with _RECORDING_LOCK:
        if _recording["blocks"] == 0:
            _recording["filters"] = warnings.catch_warnings()
            _recording["filters"].__enter__()
            warnings.simplefilter("always")
            warnings.showwarning = partial(_record, warnings.showwarning)
        _recording["blocks"] += 1
    record: list[Warning] = []
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)
        with _RECORDING_LOCK:
            _recording["blocks"] -= 1
            if _recording["blocks"] == 0:
                _recording.pop("filters").__exit__(None, None, None)


def _record(show: Callable[..., None], message: Warning, *others: Any) -> None:
    record = _RECORD.get()
    if record is None:
        show(message, *others)
    else:
        record.append(message)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra (BLAS) to one thread inside the ``with`` block.

    The threads of `parallel_map` then do not compete with those of BLAS, and sums have the same bits on any number of
    processors. Most libraries have one limit for the process: the first of several concurrent blocks sets it, the last
    restores it. Those built on OpenMP have a limit for each thread, which each block sets and restores.
    """
    with _BLAS_LOCK:
        _claim_control()
        of_process, of_thread = _blas_among(len(sys.modules))  # later imports may load more
        if _blas_limits["blocks"] == 0:
            _blas_limits["limit"] = of_process.limit(limits=1)
        _blas_limits["blocks"] += 1
        own_limit = of_thread.limit(limits=1)
    try:
        yield
    finally:
        with _BLAS_LOCK:
            _claim_control()
            own_limit.restore_original_limits()
            _blas_limits["blocks"] -= 1
            if _blas_limits["blocks"] == 0:
                _blas_limits.pop("limit").restore_original_limits()


def _claim_control() -> None:
    """Let this thread set BLAS limits.

    Since version 3.8 threadpoolctl silently ignores every thread but the first that set a limit. Here a lock makes sure
    that no two threads set one at the same time.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@lru_cache(maxsize=1)
def _blas_among(n_modules: int) -> "tuple[threadpoolctl.ThreadpoolController, threadpoolctl.ThreadpoolController]":
    """Return the controllers of libraries with a limit for the process, and of those with one for each thread.

    Cached, because the search takes longer than a small metric.
    """
    import threadpoolctl

    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    of_thread = blas.select(threading_layer="openmp")
    of_process = blas.select(filepath=[path for path in _paths(blas) if path not in _paths(of_thread)])
    return of_process, of_thread


def _paths(controller: "threadpoolctl.ThreadpoolController") -> list[str]:
    return [library["filepath"] for library in controller.info()]
