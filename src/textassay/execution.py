"""Where work runs: in this process, over as many threads as the user allows, networks on the device of their choice.

The heavy parts (n-gram kernels and the logistic solver, both compiled) release the interpreter lock, so threads use all
cores without copying a corpus. `workers` sets how many; joblib's own `parallel_config` reaches the same place.
"""

import importlib.util
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from textassay.errors import MissingExtraError, OptionError, check_range

if TYPE_CHECKING:
    import threadpoolctl


MAX_WORKERS = 1024  # threads that are started, whatever the machine has

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_BLAS_LOCK = threading.Lock()
_blas_limits: dict[str, Any] = {"blocks": 0}  # how many blocks run now, and the setting to give back


@dataclass
class _Device:
    """The device that was named for networks, and whether one has asked for it."""

    name: str
    asked: bool = False


_WORKERS: ContextVar[int] = ContextVar("workers", default=1)  # where joblib is not loaded
_DEVICE: ContextVar[_Device | None] = ContextVar("device", default=None)


def default_workers() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(n_workers: int) -> Iterator[None]:
    """Let `parallel_map` use `n_workers` threads, from 1 to `MAX_WORKERS`, inside the ``with`` block."""
    check_range("workers", n_workers, 1, MAX_WORKERS)
    joblib = sys.modules.get("joblib")  # takes as long to load as a metric to compute
    token = _WORKERS.set(n_workers)
    try:
        with nullcontext() if joblib is None else joblib.parallel_config(backend="threading", n_jobs=n_workers):
            yield
    finally:
        _WORKERS.reset(token)


def allowed_workers() -> int:
    """Return the number of threads that `workers` allows here, one without it and in the threads of `parallel_map`.

    What joblib's `parallel_config` allows counts, too.
    """
    joblib = sys.modules.get("joblib")
    told = 1 if joblib is None else joblib.effective_n_jobs(None)
    return _WORKERS.get() if told == 1 else int(told)


def check_device(name: str) -> None:
    """Raise unless networks can run on a device of this name here."""
    if re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]{1,6})?", name) is None:
        raise OptionError(f"device must be auto, cpu, cuda, cuda:N or mps, got '{name}'")
    if name in ("auto", "cpu"):
        return
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError(f"device {name}", "neural")
    import torch

    n_gpus = torch.cuda.device_count()
    found = [f"cuda:{number}" for number in range(n_gpus)]
    found += ["mps"] if torch.backends.mps.is_available() else []
    if name not in found and not (name == "cuda" and n_gpus):
        raise OptionError(f"device {name} is not there: PyTorch finds {', '.join(found) or 'no GPU'}, and always cpu")


@contextmanager
def device(name: str) -> Iterator[None]:
    """Let networks run on the device `name` inside the ``with`` block.

    `name`: ``auto`` (a GPU where there is one), ``cpu``, or what PyTorch calls a device, such as ``cuda:1``.
    """
    check_device(name)
    chosen = _Device(name)
    token = _DEVICE.set(chosen)
    try:
        yield
    finally:
        _DEVICE.reset(token)
    if name not in ("auto", "cpu") and not chosen.asked:
        warnings.warn(f"device {name} was not used: no network ran", stacklevel=3)


def device_name() -> str:
    """Return the name that `device` gave, for a network to run there; ``auto`` without one."""
    chosen = _DEVICE.get()
    if chosen is None:
        return "auto"
    chosen.asked = True
    return chosen.name


def parallel_map(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``[function(item) for item in items]``, computed by the threads that `workers` allows (one without it).

    A plain pool of threads starts within a millisecond, where joblib's own takes fifteen: as long as a whole metric.
    Inside one of its threads another call runs in that thread.
    """
    tasks = list(items)
    n_threads = min(len(tasks), allowed_workers())
    if n_threads <= 1:
        return [function(task) for task in tasks]
    pool = ThreadPoolExecutor(n_threads)
    try:
        contexts = [copy_context() for _ in tasks]  # what `device` and others like it set holds there, too
        for context in contexts:
            context.run(_WORKERS.set, 1)
        return list(pool.map(lambda context, task: context.run(function, task), contexts, tasks))
    finally:
        pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C, what has not begun is not begun


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra in the thread that calls it, inside the ``with`` block.

    The threads of `parallel_map` then do not compete with those of the linear algebra, and sums have the same bits on
    machines with different numbers of processors. For most libraries the setting is one of the process: the first of
    several blocks that run at the same time makes it, the last gives it back. For those built on OpenMP it is one of
    the thread, so each block makes its own.
    """
    with _BLAS_LOCK:
        _take_control()
        of_process, of_thread = _blas()
        if _blas_limits["blocks"] == 0:
            _blas_limits["limit"] = of_process.limit(limits=1)
        _blas_limits["blocks"] += 1
        own_limit = of_thread.limit(limits=1)
    try:
        yield
    finally:
        with _BLAS_LOCK:
            _take_control()
            own_limit.restore_original_limits()
            _blas_limits["blocks"] -= 1
            if _blas_limits["blocks"] == 0:
                _blas_limits.pop("limit").restore_original_limits()


def _take_control() -> None:
    """Let this thread limit the linear algebra.

    Since version 3.8 threadpoolctl ignores, without a word, all threads but the first that ever set a limit. Blocks are
    counted under a lock here, so that no two threads set anything at the same time.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _blas() -> "tuple[threadpoolctl.ThreadpoolController, threadpoolctl.ThreadpoolController]":
    """Return what controls the libraries loaded by now; any module that was imported since may have brought one."""
    return _blas_among(len(sys.modules))


@lru_cache(maxsize=1)
def _blas_among(n_modules: int) -> "tuple[threadpoolctl.ThreadpoolController, threadpoolctl.ThreadpoolController]":
    """Return what controls libraries with one setting for the process, and what those with one for each thread.

    Finding them takes longer than a small metric.
    """
    import threadpoolctl

    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    of_thread = blas.select(threading_layer="openmp")
    of_process = blas.select(filepath=[path for path in _paths(blas) if path not in _paths(of_thread)])
    return of_process, of_thread


def _paths(controller: "threadpoolctl.ThreadpoolController") -> list[str]:
    return [library["filepath"] for library in controller.info()]
