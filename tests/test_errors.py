"""Settings out of range are refused by name; none is no setting; neither NaN nor infinity is in any range."""

from dataclasses import dataclass

import pytest

from textassay.errors import InputError, OptionError, check_least, check_positive, check_range, check_share


@dataclass
class _Settings:
    n: int | None = 2
    rate: float | None = 0.5


def test_settings_in_range_pass_and_none_is_no_setting() -> None:
    for settings in (_Settings(), _Settings(None, None)):
        check_least(settings, ("n",), 2)
        check_positive(settings, ("n", "rate"))
        check_share(settings, ("rate",))
    check_share(_Settings(rate=0.0), ("rate",))


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


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_share_is_below_1(rate: float) -> None:
    with pytest.raises(OptionError, match=f"rate must be at least 0 and below 1, got {rate}"):
        check_share(_Settings(rate=rate), ("rate",))


@pytest.mark.parametrize("rate", [0.4, float("inf"), float("nan")])
def test_what_has_a_least_is_finite(rate: float) -> None:
    with pytest.raises(OptionError, match=f"rate must be at least 0.5, got {rate}"):
        check_least(_Settings(rate=rate), ("rate",), 0.5)


def test_a_message_is_one_line_whatever_a_file_brings_in() -> None:
    assert str(InputError("no column 'a\nb\u2028c'")) == "no column 'a b c'"
