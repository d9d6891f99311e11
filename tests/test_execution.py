"""Where work runs: linear algebra keeps to one thread wherever it is asked to, and gives its threads back."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import threadpoolctl

from textassay.execution import one_blas_thread


def n_blas_threads() -> set[int]:
    numpy_is_loaded = np.eye(2) @ np.eye(2)
    assert numpy_is_loaded[0, 0] == 1
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_every_thread_can_limit_the_linear_algebra() -> None:
    """In a process of its own: which libraries other tests have loaded must not matter here."""
    code = "from tests.test_execution import check_every_thread; check_every_thread()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=Path(__file__).parents[1])


def check_every_thread() -> None:
    """Also where another thread, still alive, was the first to do so."""
    before = n_blas_threads()
    if before == {1}:
        return  # the linear algebra has one thread anyway
    with one_blas_thread():
        assert n_blas_threads() == {1}
    assert n_blas_threads() == before
    meeting = Barrier(2)

    def inside(_: int) -> set[int]:
        with one_blas_thread():
            meeting.wait(10)
            return n_blas_threads()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(inside, range(2))) == [{1}, {1}]
    assert n_blas_threads() == before


def test_libraries_that_are_loaded_later_are_limited_too() -> None:
    code = """
import numpy, threadpoolctl
from textassay.execution import one_blas_thread
with one_blas_thread():
    pass
import scipy.linalg
with one_blas_thread():
    assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"} == {1}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
