"""Where work runs: in this process, over as many threads as the user allows.

The heavy parts (compiled n-gram kernels, liblinear) release the interpreter lock, so threads use all cores without
copying a corpus. `workers` sets how many; joblib's own `parallel_config` reaches the same place.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from textassay.errors import OptionError

__all__ = ["default_workers", "parallel_map", "single_threaded_blas", "workers"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


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


def parallel_map(function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
    """Return ``[function(item) for item in items]``, computed by the threads that `workers` allows (one without it)."""
    return list(joblib.Parallel(require="sharedmem")(joblib.delayed(function)(item) for item in items))


_blas_lock = threading.Lock()
_blas_limits: list[Any] = []
_n_blas_users = 0


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Let linear algebra use one thread inside the ``with`` block, in whatever thread.

    Sums over several threads are added in another order, so that a result would depend on how many there are; and
    fits that run side by side would fight over them. Blocks may overlap: the limit stands until the last has ended.
    """
    global _n_blas_users
    with _blas_lock:
        _n_blas_users += 1
        if _n_blas_users == 1:
            _blas_limits.append(threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _blas_lock:
            _n_blas_users -= 1
            if _n_blas_users == 0:
                _blas_limits.pop().restore_original_limits()
