"""PyTorch's device, precision and number of threads.

PyTorch's order of summation depends on the number of threads, so one seed would give different weights on different
machines. Small networks therefore train single-threaded, and the folds of a cross-fit run in parallel.
"""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import allowed_workers, device_name

if TYPE_CHECKING:
    import torch


def require_neural(feature: str) -> None:
    """Raise unless the packages of the extra ``neural`` are installed; `feature` needs them. Imports nothing."""
    if any(importlib.util.find_spec(package) is None for package in ("torch", "safetensors")):
        raise MissingExtraError(feature, "neural")


def training_device() -> "torch.device":
    """Return the device set by `textassay.execution.threads.device`; ``auto`` is a GPU if there is one."""
    import torch

    name = device_name()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the second is raised by builds without CUDA
        reason = str(error).splitlines()[0]
        raise OptionError(f"device '{name}' cannot be used: {reason}; auto and cpu always can") from None
    return device


def bfloat16_is_native(device: "torch.device") -> bool:
    """Return whether `device` has native bfloat16 arithmetic, without which it is mostly slower than float32.

    On CPUs: AMX, AVX512-BF16 or ARM's bf16, as detected by PyTorch; False if it cannot tell.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    if hasattr(torch.cpu, "get_capabilities"):
        capabilities = torch.cpu.get_capabilities()
        return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # of older versions of PyTorch
    return any(getattr(torch.cpu, name, bool)() for name in names)


def chosen_precision(precision: str, device: "torch.device") -> str:
    """Return `precision`, with ``auto`` resolved for `device`: ``float32`` or ``bfloat16``."""
    if precision != "auto":
        return precision
    return "bfloat16" if bfloat16_is_native(device) else "float32"


_LOCK = threading.Lock()
_INSIDE = threading.local()  # the limit of the innermost block of this thread
_saved = {"blocks": 0, "threads": 0}  # number of Python threads inside blocks, and the setting to restore


def single_threaded() -> AbstractContextManager[None]:
    """Limit PyTorch to one thread inside the ``with`` block, for the calling thread."""
    return _limit_threads(1)


def threads() -> AbstractContextManager[None]:
    """Limit PyTorch to as many threads as `textassay.execution.threads.workers` allows: one inside `parallel_map`.

    The last bits of weights depend on the number of threads. Inside a `single_threaded` block it stays at one.
    """
    return _limit_threads(allowed_workers())


@contextmanager
def _limit_threads(n_threads: int) -> Iterator[None]:
    """Limit PyTorch to `n_threads` threads, or to the lower limit of an enclosing block.

    The setting belongs to a thread, but a new thread inherits the one set last. So the first block saves the setting,
    and each block restores it.
    """
    import torch

    outer = getattr(_INSIDE, "threads", None)
    if outer is not None and outer <= n_threads:
        yield
        return
    with _LOCK:
        if outer is None:
            if _saved["blocks"] == 0:
                _saved["threads"] = torch.get_num_threads()
            _saved["blocks"] += 1
        torch.set_num_threads(n_threads)
    _INSIDE.threads = n_threads
    try:
        yield
    finally:
        _INSIDE.threads = outer
        with _LOCK:
            if outer is None:
                _saved["blocks"] -= 1
            torch.set_num_threads(_saved["threads"] if outer is None else outer)
