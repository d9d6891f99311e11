"""Intervals and bounds of proportions against published and hand-worked cases, and their coverage."""

import numpy as np
import pytest
from scipy.stats import binom

from textassay.errors import EmptyCorpusError, OptionError
from textassay.resampling.proportion import certified_lower_bound, clopper_pearson, effective_size, newcombe_interval


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2", "low", "high"),
    [
        # Newcombe 1998, table II, method 10.
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (10, 10, 0, 20, 0.6791, 1.0),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_newcombe_gives_the_published_intervals(k1: int, n1: int, k2: int, n2: int, low: float, high: float) -> None:
    interval = newcombe_interval(k1, n1, k2, n2, level=0.95)
    assert interval.low == pytest.approx(low, abs=6e-5)
    assert interval.high == pytest.approx(high, abs=6e-5)
    assert (interval.level, interval.method) == (0.95, "newcombe")


def test_newcombe_takes_fractional_counts_between_whole_ones() -> None:
    lows = [newcombe_interval(count, 100, 20, 100, level=0.95).low for count in (70, 70.5, 71)]
    assert lows[0] < lows[1] < lows[2]


def test_clopper_pearson_inverts_the_binomial_tail() -> None:
    lower = clopper_pearson(7, 10, alpha=0.025, side="lower")
    upper = clopper_pearson(7, 10, alpha=0.025, side="upper")
    assert binom.sf(6, 10, lower) == pytest.approx(0.025)
    assert binom.cdf(7, 10, upper) == pytest.approx(0.025)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 10, alpha=0.05, side="lower") == 0
    assert clopper_pearson(10, 10, alpha=0.05, side="upper") == 1
    assert clopper_pearson(10, 10, alpha=0.05, side="lower") == pytest.approx(0.05**0.1)
    assert clopper_pearson(3, 10, alpha=0.7, side="lower") > 0.3  # a bound that may be wrong more often than not


def test_certified_bound_is_above_that_of_two_limits_and_never_below_zero() -> None:
    two = clopper_pearson(90, 100, alpha=0.025, side="lower") - clopper_pearson(10, 100, alpha=0.025, side="upper")
    assert two + 0.03 < certified_lower_bound(90, 100, 10, 100, alpha=0.05) < 0.8 - 1.64 * np.sqrt(2 * 0.09 / 100)
    assert certified_lower_bound(50, 100, 50, 100, alpha=0.05) == 0
    with pytest.raises(OptionError, match="between 0 and its total"):
        certified_lower_bound(3, 2, 0, 2, alpha=0.05)


def test_effective_size_is_the_count_for_whole_answers_and_more_for_shares() -> None:
    assert effective_size(np.array([0.0, 1.0, 1.0, 0.0, 1.0])) == pytest.approx(5)
    assert effective_size(np.ones(7)) == 7
    shares = np.array([0.5, 1.0, 0.5, 0.0, 1.0])
    size = effective_size(shares)
    assert size > 5
    assert shares.mean() * (1 - shares.mean()) / size == pytest.approx(shares.var() / 5)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_a_level_outside_its_range_is_an_error(level: float) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        newcombe_interval(1, 2, 1, 2, level=level)


def test_impossible_counts_are_errors() -> None:
    with pytest.raises(OptionError, match="between 0 and its total 2, got 3"):
        clopper_pearson(3, 2, alpha=0.05, side="lower")
    with pytest.raises(EmptyCorpusError):
        newcombe_interval(0, 0, 1, 2, level=0.95)


@pytest.mark.slow
def test_newcombe_covers_and_the_bound_holds_for_two_binomials() -> None:
    n_real, n_generated = 400, 300
    p_real, p_generated = 0.62, 0.41
    rng = np.random.default_rng(0)
    reals = rng.binomial(n_real, p_real, 1000)
    generateds = rng.binomial(n_generated, p_generated, 1000)
    covered = false_bounds = 0
    for k_real, k_generated in zip(reals.tolist(), generateds.tolist(), strict=True):
        interval = newcombe_interval(k_real, n_real, k_generated, n_generated, level=0.95)
        covered += interval.low <= p_real - p_generated <= interval.high
        bound = certified_lower_bound(k_real, n_real, k_generated, n_generated, alpha=0.05)
        false_bounds += bound > p_real - p_generated
    assert 930 <= covered <= 970
    assert false_bounds <= 66
