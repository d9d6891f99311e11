"""Where work runs: linear algebra keeps to one thread wherever it is asked to, and gives its threads back."""

import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import threadpoolctl

from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import check_device, device, device_name, one_blas_thread, parallel_map, workers

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
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import check_device, device, device_name, one_blas_thread, parallel_map, workers
with one_blas_thread():
    pass
import {library}
with one_blas_thread():
    pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
assert len(pools) > 1 and set(pools) == {{1}}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_device_is_looked_for_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for name in ("auto", "cpu", "cuda", "cuda:0", "cuda:1"):
        check_device(name)
    with pytest.raises(
        OptionError, match=r"^device cuda:2 is not available: PyTorch finds cuda:0, cuda:1.* and always cpu$"
    ):
        check_device("cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in ("cuda", "cuda:99", "mps"):
        with pytest.raises(OptionError, match=f"device {name} is not available: PyTorch finds no GPU, and always cpu"):
            check_device(name)
    for name in ("cuda:", "cuda:1234567", "cuda:\u0661", "gpu", ""):
        with pytest.raises(OptionError, match="device must be auto, cpu, cuda, cuda:N or mps"):
            check_device(name)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"device cuda:0 needs the 'neural' extra"):
        check_device("cuda:0")


def test_a_gpu_that_no_network_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.warns(UserWarning, match="device cuda:0 was not used: no network ran"), device("cuda:0"):
        pass
    with device("cuda:0"), workers(2):
        assert parallel_map(lambda _: device_name(), range(2)) == ["cuda:0"] * 2  # in threads, too
    for name in ("auto", "cpu"):
        with device(name):
            pass


def test_no_machine_has_so_many_threads() -> None:
    for n in (0, 1025, 10**12):
        with pytest.raises(OptionError, match=f"workers must be between 1 and 1024, got {n}"), workers(n):
            pass
