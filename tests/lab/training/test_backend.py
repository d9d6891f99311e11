"""Where networks run: the device, threads, what happens without PyTorch."""

import importlib.util
import threading
from typing import Any

import pytest

from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import device, parallel_map, workers
from textassay_lab.training.backend import (
    bfloat16_is_native,
    chosen_precision,
    require_neural,
    single_threaded,
    threads,
    training_device,
)


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
    with (
        pytest.raises(OptionError, match=r"cuda:77 is not available: PyTorch finds .*, and always cpu"),
        device("cuda:77"),
    ):
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


def test_as_many_threads_as_workers_but_one_beside_others_and_never_more_than_a_block_around_allows() -> None:
    torch = pytest.importorskip("torch")
    found = torch.get_num_threads()

    def inside(_: int) -> int:
        with threads():
            return int(torch.get_num_threads())

    torch.set_num_threads(3)
    try:
        assert inside(0) == 1  # without `workers` one, as `parallel_map` has it
        with workers(2):
            assert inside(0) == 2
            assert parallel_map(inside, range(2)) == [1, 1]
            with single_threaded():
                assert inside(0) == 1
            with threads():
                with single_threaded():
                    assert torch.get_num_threads() == 1
                assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(found)


@pytest.mark.parametrize(
    ("found", "native"),
    [
        ({"amx_bf16": True}, True),
        ({"avx512_bf16": True, "amx_bf16": False}, True),
        ({"bf16": True, "neon": True}, True),
        ({"avx512_f": True, "avx2": True}, False),
        ({}, False),
    ],
)
def test_auto_precision_follows_the_processor(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, bool], native: bool
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    cpu = torch.device("cpu")
    assert bfloat16_is_native(cpu) == native
    assert chosen_precision("auto", cpu) == ("bfloat16" if native else "float32")
    assert [chosen_precision(name, cpu) for name in ("float32", "bfloat16")] == ["float32", "bfloat16"]
    assert not bfloat16_is_native(torch.device("mps"))


def test_an_older_pytorch_is_asked_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    assert bfloat16_is_native(torch.device("cpu"))
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    assert not bfloat16_is_native(torch.device("cpu"))
