"""Settings out of range are refused by name; none is no setting; neither NaN nor infinity is in any range."""

from dataclasses import dataclass

import pytest

from textassay.errors import InputError, OptionError, check_positive, check_range


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
