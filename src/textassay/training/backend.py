"""Where PyTorch computes, and with how many threads.

PyTorch sums in another order when it uses another number of threads, so one seed would give other weights on another
machine. Networks of this package train single-threaded, side by side: the folds of a cross-fit share the processors.
"""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textassay.errors import MissingExtraError, OptionError
from textassay.execution import device_name

if TYPE_CHECKING:
    import torch

__all__ = ["require_neural", "single_threaded", "training_device"]


def require_neural(feature: str) -> None:
    """Raise unless what the extra ``neural`` brings is installed; `feature` says what needs it. Loads nothing.

    Raises
    ------
    MissingExtraError
        With the command that installs it.
    """
    if any(importlib.util.find_spec(package) is None for package in ("torch", "safetensors")):
        raise MissingExtraError(feature, "neural")


def training_device() -> "torch.device":
    """Return the device that `textassay.execution.device` named; for ``auto`` a GPU where there is one.

    Raises
    ------
    OptionError
        If PyTorch does not know the device, or it is not there.
    """
    import torch

    name = device_name()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the second is raised where PyTorch was built without CUDA
        reason = str(error).splitlines()[0]
        raise OptionError(f"device '{name}' cannot be used: {reason}; auto and cpu always can") from None
    return device


_LOCK = threading.Lock()
_INSIDE = threading.local()  # whether this thread is inside a block
_lent = {"blocks": 0, "threads": 0}  # blocks that run now, and the setting to give back


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let PyTorch use one thread for what this thread computes inside the ``with`` block.

    Its setting is one of a thread, but a thread that is new to PyTorch takes that of whoever set it last: so the first
    block to begin remembers it, and each that ends gives it back.
    """
    import torch

    if getattr(_INSIDE, "block", False):
        yield
        return
    with _LOCK:
        if _lent["blocks"] == 0:
            _lent["threads"] = torch.get_num_threads()
        _lent["blocks"] += 1
        torch.set_num_threads(1)
    _INSIDE.block = True
    try:
        yield
    finally:
        _INSIDE.block = False
        with _LOCK:
            _lent["blocks"] -= 1
            torch.set_num_threads(_lent["threads"])
