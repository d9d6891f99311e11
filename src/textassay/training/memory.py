"""Out of memory: notice it, and find the batch size that would have fitted.

A GPU says that its memory is full. A CPU's allocator says so only for what no machine has; short of that the operating
system may promise memory that is not there and end the process without a word.
"""

import gc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from textassay.errors import OptionError
from textassay.training.backend import chosen_precision
from textassay.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Batch = TypeVar("Batch")
Outcome = TypeVar("Outcome")

_KEPT = "checkpoints are kept, but belong to the batch size they were made with"
_SAYINGS = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether `error` says that memory is used up: NumPy's, PyTorch's on a GPU, or that of its CPU allocator."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(saying in str(error).lower() for saying in _SAYINGS)


def largest_batch(fits: Callable[[int], bool], start: int) -> int:
    """Return `start`, at least 1, halved until it fits."""
    n_sentences = start
    while not fits(n_sentences):
        if n_sentences == 1:
            raise OptionError("not even a batch of 1 sentence fits into memory: take a smaller model or shorter text")
        n_sentences //= 2
    return n_sentences


def step_fits(
    weights: Mapping[str, "Tensor"],
    batch: Batch,
    *,
    loss: Callable[[Batch, "torch.Generator"], "Tensor"],
    recipe: Recipe,
) -> bool:
    """Return whether memory suffices for a step with `batch`, forwards and backwards, and all that training keeps.

    `batch` should be the largest of its number of sentences, those with the most tokens. Weights stay as they are;
    whatever the step took is free again.
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
    _give_back()  # here nothing of the step is held any more
    return fits


def _try_step(
    weights: Mapping[str, "Tensor"], batch: Batch, loss: Callable[[Batch, "torch.Generator"], "Tensor"], recipe: Recipe
) -> None:
    """Take all the memory that training takes at its fullest: in a step, and where an epoch ends."""
    import torch

    device = next(iter(weights.values())).device
    precision = chosen_precision(recipe.precision, device)
    n_copies = 4 if recipe.averaging else 3  # Adam's moments, the best weights, their mean
    kept = [torch.zeros_like(weight) for weight in weights.values() for _ in range(n_copies)]
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        value = loss(batch, torch.Generator(device).manual_seed(0))
    value.backward()  # type: ignore[no-untyped-call]
    del value
    kept += [torch.zeros_like(weight) for weight in weights.values()]  # new best weights, beside those before


def with_memory_explained(run: Callable[[], Outcome], *, batch_size: int, fits: Callable[[int], bool]) -> Outcome:
    """Return ``run()``; where its memory does not suffice, raise one line that says which batch size would fit."""
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    _give_back()  # here the error is gone, and with it what its frames held
    if batch_size == 1:
        raise OptionError("out of memory with batch_size 1: take a smaller model or shorter text")
    if fits(batch_size):
        raise OptionError(
            f"out of memory with batch_size {batch_size}, though a step on the longest sentences fits alone: free "
            f"memory that others take, or try {batch_size // 2}; {_KEPT}"
        )
    tried = batch_size // 2
    while not fits(tried):
        if tried == 1:
            raise OptionError(
                f"out of memory with batch_size {batch_size}, and with all that were tried instead, down to 1: "
                "free memory that others take, or take a smaller model or shorter text"
            )
        tried //= 2
    raise OptionError(
        f"out of memory with batch_size {batch_size}: {tried} fits, checked on the longest sentences; {_KEPT}"
    )


def _give_back() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
