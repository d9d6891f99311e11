"""Settings out of range are refused by name; none is no setting; neither NaN nor infinity is in any range."""

from dataclasses import dataclass

import numpy as np
import pytest

from textassay.errors import InputError, OptionError, check_positive, check_range, is_out_of_memory


@dataclass
class _Settings:
    n: int | None = 2
    rate: float | None = 0.5


def test_settings_in_range_pass_and_none_is_no_setting() -> None:
    for settings in (_Settings(), _Settings(None, None)):
        check_positive(settings, ("n", "rate"))


def test_a_value_is_in_range_up_to_both_ends_and_none_is_no_value() -> None:
    for value in (1, 2.5, 3, None):
        check_range("--n", value, 1, 3)
    check_range("--n", 10**9, 1)
    for value in (0, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(OptionError, match=f"^--n must be at least 1, got {value}$"):
            check_range("--n", value, 1)
    for value in (0, 4, float("nan"), float("inf")):
        with pytest.raises(OptionError, match=f"^--n must be between 1 and 3, got {value}$"):
            check_range("--n", value, 1, 3)


@pytest.mark.parametrize("rate", [-0.1, 0.0, float("inf"), float("nan")])
def test_what_must_be_above_0_is_finite(rate: float) -> None:
    with pytest.raises(OptionError, match=f"rate must be above 0, got {rate}"):
        check_positive(_Settings(rate=rate), ("n", "rate"))


def test_a_message_is_one_line_whatever_a_file_brings_in() -> None:
    assert str(InputError("no column 'a\nb\u2028c'")) == "no column 'a b c'"


def test_what_says_that_memory_is_used_up() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**61, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)
    with pytest.raises(MemoryError) as caught_too:
        np.empty(2**61, dtype=np.uint8)
    assert is_out_of_memory(caught_too.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("out of memory"))
