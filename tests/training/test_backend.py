"""Where networks run: the device, threads, what happens without PyTorch."""

import importlib.util
import threading
from typing import Any

import pytest

from textassay.errors import MissingExtraError, OptionError
from textassay.execution import device, parallel_map, workers
from textassay.training.backend import require_neural, single_threaded, training_device


def test_without_pytorch_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"the thing needs the 'neural' extra: pip install 'textassay\[neural\]"
    ):
        require_neural("the thing")


def test_the_device_is_the_one_asked_for_in_threads_too() -> None:
    pytest.importorskip("torch")
    assert training_device().type in ("cpu", "cuda")
    with device("cpu"), workers(2):
        assert [place.type for place in parallel_map(lambda _: training_device(), range(4))] == ["cpu"] * 4


def test_a_device_that_is_not_there_is_an_error() -> None:
    pytest.importorskip("torch")
    with device("cuda:77"), pytest.raises(OptionError, match=r"device 'cuda:77' cannot be used: .*auto and cpu always"):
        training_device()


@pytest.mark.parametrize("before", [2, 3])
def test_one_thread_inside_as_many_as_before_outside(before: int) -> None:
    torch = pytest.importorskip("torch")
    found = torch.get_num_threads()
    together = threading.Barrier(2)

    def inside(_: int) -> list[Any]:
        with single_threaded():
            together.wait()
            with single_threaded():
                counts = [torch.get_num_threads()]
            together.wait()
            counts.append(torch.get_num_threads())
        return counts

    torch.set_num_threads(before)
    try:
        with workers(2):
            assert parallel_map(inside, range(2)) == [[1, 1], [1, 1]]
        assert torch.get_num_threads() == before
        with workers(2):
            assert parallel_map(lambda _: torch.get_num_threads(), range(2)) == [before, before]
        with pytest.raises(ZeroDivisionError), single_threaded():
            raise ZeroDivisionError
        assert torch.get_num_threads() == before
    finally:
        torch.set_num_threads(found)
