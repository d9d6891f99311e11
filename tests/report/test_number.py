"""Numbers for people: decimals follow uncertainty, nothing undefined looks like a number."""

import math

import pytest

from textassay.estimate import Estimate, Interval, Signature
from textassay.report.text import (
    counted,
    decimals,
    interval,
    is_one_sided,
    level,
    number,
    p_value,
    shown_p,
    value_and_half_width,
)


def _estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate("m", value, Interval(low, high, 0.95, "t"), "fraction", "lower", {}, Signature({"metric": "m"}))


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (0.321, 0.012, 3),
        (0.321, 0.0004, 4),
        (0.321, None, 3),
        (0.321, 0.0, 3),
        (0.321, math.nan, 3),
        (45.2, 1.0, 2),
        (123.4, 12.0, 1),
        (12345.0, 3.0, 0),
        (0.5, 1e-12, 6),
    ],
)
def test_decimals_show_one_digit_of_the_uncertainty(value: float, half_width: float | None, expected: int) -> None:
    assert decimals(value, half_width) == expected


def test_number_has_no_negative_zero_and_no_nan() -> None:
    assert number(-0.0001, 3) == "0.000"
    assert number(-0.0001, 3, sign=True) == "0.000"
    assert number(-0.01, 3) == "-0.010"
    assert number(0.01, 3, sign=True) == "+0.010"
    assert number(1234.5, 1) == "1,234.5"
    assert number(-1.5e12, 3) == "-1.50e+12"
    assert number(3.02e200, 3, sign=True) == "+3.02e+200"
    assert [number(value, 3) for value in (math.nan, math.inf, None)] == ["n/a"] * 3


def test_half_width_is_the_longer_arm_but_of_a_one_sided_interval() -> None:
    assert value_and_half_width(_estimate(0.5, 0.48, 0.51), 3) == ("0.500", "±0.020")
    assert value_and_half_width(_estimate(1.0, 0.9, 1.0), 3) == ("1.000", "[0.900, 1.000]")
    assert value_and_half_width(_estimate(0.0, 0.0, 0.1), 3) == ("0.000", "[0.000, 0.100]")
    assert value_and_half_width(_estimate(0.5, 0.49999, 0.50001), 3) == ("0.500", "±<0.001")
    assert value_and_half_width(_estimate(0.5, 0.5, 0.5), 3) == ("0.500", "±0.000")


def test_a_p_value_at_the_floor_of_its_permutations_is_an_upper_bound() -> None:
    assert shown_p({"p_value": 0.001, "n_permutations": 999}) == "<=0.001"
    assert shown_p({"p_value": 0.01, "n_permutations": 99}) == "<=0.01"
    assert shown_p({"p_value": 0.002, "n_permutations": 999}) == "0.002"
    assert shown_p({"p_value": 0.0004}) == "<0.001"
    assert shown_p({}) == ""


def test_p_values_intervals_and_levels() -> None:
    assert [p_value(p) for p in (0.0, 0.0009, 0.001, 0.0321, 0.5, None)] == [
        "<0.001",
        "<0.001",
        "0.001",
        "0.032",
        "0.50",
        "n/a",
    ]
    assert interval(Interval(-0.00001, 0.1, 0.95, "t"), 3) == "[0.000, 0.100]"
    assert interval(None, 3) == ""
    assert [level(share) for share in (0.95, 0.999, 0.9)] == ["95 %", "99.9 %", "90 %"]


def test_nouns_agree_with_their_number() -> None:
    assert [counted(n, "page") for n in (0, 1, 1200)] == ["0 pages", "1 page", "1,200 pages"]


def test_an_interval_on_one_side_of_its_value_is_written_whole() -> None:
    assert is_one_sided(1.1, 0.0)  # a correlation of 1
    assert is_one_sided(0.01, 0.5)
    assert not is_one_sided(0.2, 0.25)
    assert not is_one_sided(0.0, 0.0)
    assert not is_one_sided(0.0, 1e-16)  # rounding, not an interval
