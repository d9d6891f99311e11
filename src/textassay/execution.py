"""Where work runs: in this process, over as many threads as the user allows, networks on the device of their choice.

The heavy parts (n-gram kernels and the logistic solver, both compiled) release the interpreter lock, so threads use all
cores without copying a corpus. `workers` sets how many; joblib's own `parallel_config` reaches the same place.
"""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import Any, TypeVar

import joblib
import threadpoolctl

from textassay.errors import OptionError

__all__ = ["check_device", "default_workers", "device", "device_name", "one_blas_thread", "parallel_map", "workers"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_BLAS_LOCK = threading.Lock()
_blas_limits: dict[str, Any] = {"blocks": 0}  # how many blocks run now, and the setting to give back
_DEVICE: ContextVar[str] = ContextVar("device", default="auto")


def default_workers() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def workers(n_workers: int) -> Iterator[None]:
    """Let `parallel_map` use `n_workers` threads, at least 1, inside the ``with`` block."""
    if n_workers < 1:
        raise OptionError(f"workers must be at least 1, got {n_workers}")
    with joblib.parallel_config(backend="threading", n_jobs=n_workers):
        yield


def check_device(name: str) -> None:
    """Raise unless `name` can be a device's; whether there is one is seen where a network first runs."""
    if re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name) is None:
        raise OptionError(f"device must be auto, cpu, cuda, cuda:N or mps, got '{name}'")


@contextmanager
def device(name: str) -> Iterator[None]:
    """Let networks run on the device `name` inside the ``with`` block.

    Parameters
    ----------
    name
        ``auto`` (a GPU where there is one), ``cpu``, or what PyTorch calls a device, such as ``cuda:1``.
    """
    check_device(name)
    token = _DEVICE.set(name)
    try:
        yield
    finally:
        _DEVICE.reset(token)


def device_name() -> str:
    """Return the name that `device` gave; ``auto`` without one."""
    return _DEVICE.get()


def parallel_map(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``[function(item) for item in items]``, computed by the threads that `workers` allows (one without it).

    A plain pool of threads starts within a millisecond, where joblib's own takes fifteen: as long as a whole metric.
    Inside one of its threads another call runs in that thread.
    """
    tasks = list(items)
    n_threads = min(len(tasks), joblib.effective_n_jobs(None))
    if n_threads <= 1:
        return [function(task) for task in tasks]
    pool = ThreadPoolExecutor(n_threads)
    try:
        contexts = [copy_context() for _ in tasks]  # what `device` and others like it set holds there, too
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
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _blas() -> tuple[threadpoolctl.ThreadpoolController, threadpoolctl.ThreadpoolController]:
    """Return what controls the libraries loaded by now; any module that was imported since may have brought one."""
    return _blas_among(len(sys.modules))


@lru_cache(maxsize=1)
def _blas_among(n_modules: int) -> tuple[threadpoolctl.ThreadpoolController, threadpoolctl.ThreadpoolController]:
    """Return what controls libraries with one setting for the process, and what those with one for each thread.

    Finding them takes longer than a small metric.
    """
    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    of_thread = blas.select(threading_layer="openmp")
    of_process = blas.select(filepath=[path for path in _paths(blas) if path not in _paths(of_thread)])
    return of_process, of_thread


def _paths(controller: threadpoolctl.ThreadpoolController) -> list[str]:
    return [library["filepath"] for library in controller.info()]
