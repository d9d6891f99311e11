"""Where work runs: linear algebra keeps to one thread wherever it is asked to, and gives its threads back."""

import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import threadpoolctl

from textassay.execution import one_blas_thread

EACH_THREAD = "test_every_thread_can_limit_the_linear_algebra"


def n_blas_threads() -> set[int]:
    numpy_is_loaded = np.eye(2) @ np.eye(2)
    assert numpy_is_loaded[0, 0] == 1
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}


def test_every_thread_can_limit_the_linear_algebra() -> None:
    """Also where another thread, still alive, was the first to do so."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert n_blas_threads() == {1}
        assert n_blas_threads() == {2}
        meeting = Barrier(2)

        def inside(_: int) -> set[int]:
            with one_blas_thread():
                meeting.wait(10)
                return n_blas_threads()

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(inside, range(2))) == [{1}, {1}]
        assert n_blas_threads() == {2}


def test_libraries_with_a_setting_for_each_thread_are_limited_in_each() -> None:
    """OpenMP, on which faiss builds its linear algebra, keeps the number of threads by thread."""
    if importlib.util.find_spec("faiss") is None:
        pytest.skip("faiss is not installed")
    code = f"import faiss, runpy; runpy.run_path({__file__!r})[{EACH_THREAD!r}]()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("library", ["scipy.linalg", "faiss"])
def test_libraries_that_are_loaded_later_are_limited_too(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    code = f"""
import numpy, threadpoolctl
from textassay.execution import one_blas_thread
with one_blas_thread():
    pass
import {library}
with one_blas_thread():
    pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
assert len(pools) > 1 and set(pools) == {{1}}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
