"""Out of memory: noticed, explained, and the batch size that fits."""

import gc
from typing import Any

import numpy as np
import pytest

from textassay.errors import OptionError, is_out_of_memory
from textassay_lab.training.memory import largest_batch, step_fits, with_memory_explained
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode  # noqa: E402


def too_much() -> None:
    torch.empty(2**61, dtype=torch.uint8)


def test_what_says_that_memory_is_used_up() -> None:
    with pytest.raises(RuntimeError) as caught:
        too_much()
    assert is_out_of_memory(caught.value)
    with pytest.raises(MemoryError) as caught_too:
        np.empty(2**61, dtype=np.uint8)
    assert is_out_of_memory(caught_too.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))


@pytest.mark.parametrize(("limit", "start", "found"), [(100, 128, 64), (128, 128, 128), (10, 100, 6), (1, 3, 1)])
def test_the_batch_is_halved_until_it_fits(limit: int, start: int, found: int) -> None:
    assert largest_batch(lambda n: n <= limit, start) == found


def test_where_not_one_sentence_fits_it_says_so() -> None:
    with pytest.raises(OptionError, match="not even a batch of 1 text"):
        largest_batch(lambda n: False, 8)


def test_a_step_is_tried_and_leaves_nothing_behind() -> None:
    weights = {"w": torch.ones(3, requires_grad=True)}

    def loss(n_sentences: int, rng: Any) -> Any:
        if n_sentences > 12:
            too_much()
        return (weights["w"] * torch.rand(n_sentences, 3, generator=rng)).sum()

    def fits(n_sentences: int) -> bool:
        return step_fits(weights, n_sentences, loss=loss, recipe=Recipe(1, averaging=0.5))

    assert largest_batch(fits, 40) == 10
    assert weights["w"].grad is None
    assert weights["w"].tolist() == [1, 1, 1]
    with pytest.raises(ZeroDivisionError):
        step_fits(weights, 1, loss=lambda batch, rng: weights["w"].sum() * (1 // 0), recipe=Recipe(1))
    with pytest.raises(RuntimeError, match="must match"):
        step_fits(weights, 1, loss=lambda batch, rng: weights["w"] + torch.ones(4), recipe=Recipe(1))


def test_the_error_names_the_batch_size_that_would_fit() -> None:
    message = "^out of memory with batch_size 64: 16 fits, checked on the longest texts; checkpoints are kept"
    with pytest.raises(OptionError, match=message) as caught:
        with_memory_explained(too_much, batch_size=64, fits=lambda n: n <= 20)
    assert "\n" not in str(caught.value)
    with pytest.raises(
        OptionError, match=r"with batch_size 64, though a single step .* fits: .*, or try 32; checkpoints"
    ):
        with_memory_explained(too_much, batch_size=64, fits=lambda n: n <= 64)
    tried: list[int] = []
    with pytest.raises(OptionError, match="with batch_size 20, and with every smaller one down to 1: free"):
        with_memory_explained(too_much, batch_size=20, fits=lambda n: bool(tried.append(n)))  # type: ignore[func-returns-value]
    assert tried == [20, 10, 5, 2, 1]
    with pytest.raises(OptionError, match="out of memory with batch_size 1: use a smaller model"):
        with_memory_explained(too_much, batch_size=1, fits=lambda n: True)
    assert with_memory_explained(lambda: 5, batch_size=64, fits=lambda n: False) == 5
    with pytest.raises(ZeroDivisionError):
        with_memory_explained(lambda: 1 / 0, batch_size=64, fits=lambda n: True)


def test_what_was_taken_is_free_before_a_smaller_batch_is_tried() -> None:
    """Otherwise the trial would find too little memory, and name too small a batch."""
    alive = 0

    class Large:
        def __init__(self) -> None:
            nonlocal alive
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def run() -> None:
        kept = Large()
        too_much()
        del kept

    with pytest.raises(OptionError, match="8 fits"):
        with_memory_explained(run, batch_size=16, fits=lambda n: alive == 0 and n < 16)


def test_a_trial_holds_nothing_when_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the copies that stand for what training keeps, nor what the loss had made when it failed."""
    left: list[int] = []

    def count_tensors() -> None:
        found = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor]
        left.append(sum(tensor.shape == (12345,) for tensor in found))

    monkeypatch.setattr("textassay_lab.training.memory._release_memory", count_tensors)
    weights = {"w": torch.ones(12345, requires_grad=True)}

    def loss(fails: bool, rng: Any) -> Any:
        made = weights["w"] * 2
        if fails:
            too_much()
        return made.sum()

    assert not step_fits(weights, True, loss=loss, recipe=Recipe(1, averaging=0.5))
    assert step_fits(weights, False, loss=loss, recipe=Recipe(1))
    assert left == [1, 1]


def test_the_trial_takes_what_the_end_of_an_epoch_takes() -> None:
    """Weights, gradients, two moments, the best weights and new best ones, the running mean: copies of the weights."""
    weights = {"w": torch.ones(1000, requires_grad=True)}
    made = 0

    class Counting(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal made
            made += function is torch.zeros_like
            return function(*args, **(kwargs or {}))

    for averaging, copies in ((0.0, 4), (0.5, 5)):
        made = 0
        with Counting():
            assert step_fits(weights, 1, loss=lambda n, rng: weights["w"].sum(), recipe=Recipe(1, averaging=averaging))
        assert made == copies
