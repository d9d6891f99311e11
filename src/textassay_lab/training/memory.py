"""Out of memory: detect it, and find a batch size that fits.

GPUs report that their memory is full. On a CPU only impossible allocations fail; otherwise the operating system may
grant memory that does not exist and later kill the process.
"""

import gc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from textassay.errors import OptionError, is_out_of_memory
from textassay_lab.training.backend import chosen_precision
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Batch = TypeVar("Batch")
Outcome = TypeVar("Outcome")

_KEPT = "checkpoints are kept, but can be resumed only with the same batch size"


def largest_batch(fits: Callable[[int], bool], start: int) -> int:
    """Return `start`, halved until it fits, at least 1."""
    n_sentences = start
    while not fits(n_sentences):
        if n_sentences == 1:
            raise OptionError("not even a batch of 1 text fits into memory: use a smaller model or shorter texts")
        n_sentences //= 2
    return n_sentences


def step_fits(
    weights: Mapping[str, "Tensor"],
    batch: Batch,
    *,
    loss: Callable[[Batch, "torch.Generator"], "Tensor"],
    recipe: Recipe,
) -> bool:
    """Return whether a training step with `batch` fits into memory, together with everything that training keeps.

    `batch` should hold the longest texts. Weights are unchanged and the memory is released.
    """
    try:
        _try_step(weights, batch, loss, recipe)
        fits = True
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        fits = False
    for weight in weights.values():
        weight.grad = None
    _release_memory()  # nothing refers to the step any more
    return fits


def _try_step(
    weights: Mapping[str, "Tensor"], batch: Batch, loss: Callable[[Batch, "torch.Generator"], "Tensor"], recipe: Recipe
) -> None:
    """Allocate the peak memory of training: that of a step, and of the end of an epoch."""
    import torch

    device = next(iter(weights.values())).device
    precision = chosen_precision(recipe.precision, device)
    n_copies = 4 if recipe.averaging else 3  # Adam's moments, the best weights, their mean
    kept = [torch.zeros_like(weight) for weight in weights.values() for _ in range(n_copies)]
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        value = loss(batch, torch.Generator(device).manual_seed(0))
    value.backward()  # type: ignore[no-untyped-call]
    del value
    kept += [torch.zeros_like(weight) for weight in weights.values()]  # new best weights, besides the previous ones


def with_memory_explained(run: Callable[[], Outcome], *, batch_size: int, fits: Callable[[int], bool]) -> Outcome:
    """Return ``run()``; if it runs out of memory, raise one line that names a batch size that fits."""
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    _release_memory()  # the error is gone, and with it what its frames held
    if batch_size == 1:
        raise OptionError("out of memory with batch_size 1: use a smaller model or shorter texts")
    if fits(batch_size):
        raise OptionError(
            f"out of memory with batch_size {batch_size}, though a single step on the longest texts fits: free "
            f"memory that other programs use, or try {batch_size // 2}; {_KEPT}"
        )
    tried = batch_size // 2
    while not fits(tried):
        if tried == 1:
            raise OptionError(
                f"out of memory with batch_size {batch_size}, and with every smaller one down to 1: "
                "free memory that other programs use, or use a smaller model or shorter texts"
            )
        tried //= 2
    raise OptionError(
        f"out of memory with batch_size {batch_size}: {tried} fits, checked on the longest texts; {_KEPT}"
    )


def _release_memory() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
