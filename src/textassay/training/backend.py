"""Where PyTorch computes, and with how many threads.

PyTorch sums in another order when it uses another number of threads, so one seed would give other weights on another
machine. Networks of this package train single-threaded, side by side: the folds of a cross-fit share the processors.
"""

import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from textassay.errors import MissingExtraError, OptionError
from textassay.execution import allowed_workers, device_name

if TYPE_CHECKING:
    import torch


def require_neural(feature: str) -> None:
    """Raise unless what the extra ``neural`` brings is installed; `feature` says what needs it. Loads nothing."""
    if any(importlib.util.find_spec(package) is None for package in ("torch", "safetensors")):
        raise MissingExtraError(feature, "neural")


def training_device() -> "torch.device":
    """Return the device that `textassay.execution.device` named; for ``auto`` a GPU where there is one."""
    import torch

    name = device_name()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:  # a launcher started several processes: each has its GPU
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the second is raised where PyTorch was built without CUDA
        reason = str(error).splitlines()[0]
        raise OptionError(f"device '{name}' cannot be used: {reason}; auto and cpu always can") from None
    return device


def bfloat16_is_native(device: "torch.device") -> bool:
    """Return whether `device` multiplies bfloat16 itself: then it is faster than float32, else mostly slower.

    On a CPU AMX, AVX512-BF16 or the bf16 of ARM, as PyTorch finds them; False where it cannot tell.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    if hasattr(torch.cpu, "get_capabilities"):
        found = torch.cpu.get_capabilities()
        return any(found.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # of older versions of PyTorch
    return any(getattr(torch.cpu, name, bool)() for name in names)


def chosen_precision(precision: str, device: "torch.device") -> str:
    """Return ``float32`` or ``bfloat16``: `precision`, or what ``auto`` is on `device`."""
    if precision != "auto":
        return precision
    return "bfloat16" if bfloat16_is_native(device) else "float32"


_LOCK = threading.Lock()
_INSIDE = threading.local()  # how many threads the innermost block of this thread allows
_lent = {"blocks": 0, "threads": 0}  # threads that are in blocks now, and the setting to give back


def single_threaded() -> AbstractContextManager[None]:
    """Let PyTorch use one thread for what this thread computes inside the ``with`` block."""
    return _at_most(1)


def threads() -> AbstractContextManager[None]:
    """Let PyTorch use as many threads as `textassay.execution.workers` allows here: one inside `parallel_map`.

    Another number of threads sums in another order: the last bits of weights may differ. Inside a `single_threaded`
    block it stays at one.
    """
    return _at_most(allowed_workers())


@contextmanager
def _at_most(n_threads: int) -> Iterator[None]:
    """Let PyTorch use `n_threads` threads, or as few as a block around this one allows.

    Its setting is one of a thread, but a thread that is new to PyTorch takes that of whoever set it last: so the first
    block to begin remembers it, and each that ends gives it back.
    """
    import torch

    outer = getattr(_INSIDE, "threads", None)
    if outer is not None and outer <= n_threads:
        yield
        return
    with _LOCK:
        if outer is None:
            if _lent["blocks"] == 0:
                _lent["threads"] = torch.get_num_threads()
            _lent["blocks"] += 1
        torch.set_num_threads(n_threads)
    _INSIDE.threads = n_threads
    try:
        yield
    finally:
        _INSIDE.threads = outer
        with _LOCK:
            if outer is None:
                _lent["blocks"] -= 1
            torch.set_num_threads(_lent["threads"] if outer is None else outer)
