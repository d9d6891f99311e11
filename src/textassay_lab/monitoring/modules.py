"""PyTorch models during training: evaluation mode while sampling."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textassay.errors import OptionError


@contextmanager
def drawing_from(model: Any) -> Iterator[None]:
    """Switch dropout and gradients of a PyTorch module off; restore the mode of every submodule afterwards."""
    import torch

    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def check_whole(model: Any) -> None:
    """Raise `OptionError` if no process holds all weights (FSDP, tensor parallelism, ZeRO 3): one alone would hang."""
    names = {type(module).__name__ for module in model.modules()}
    marks = ("placements", "ds_id")  # of DTensor and of DeepSpeed
    marked = any(hasattr(weight, mark) for weight in model.parameters() for mark in marks)
    if marked or "FullyShardedDataParallel" in names:
        raise OptionError("a monitor needs all weights in one process, and they are spread over processes")
