"""Costs of counts: their bias against exact expectations, second order against simulation, corrections."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.special import exp1

from textassay.errors import OptionError
from textassay_lab.approximation.token_counts import (
    check_floor,
    expected_bias_bits,
    harmonic_bits,
    jackknife_bits,
    plain_bits,
    richardson,
    second_order_bits,
    soft_correction_bits,
)

FLOOR = 1e-20


def expected(values: npt.NDArray[np.float64], p: float) -> float:
    """Return the expectation of a function of a binomial count, given for all counts 0 to n."""
    return float(values @ stats.binom.pmf(np.arange(len(values)), len(values) - 1, p))


@pytest.mark.feature("LM-03")
def test_a_count_of_0_costs_the_floor() -> None:
    assert plain_bits(np.array([0, 1, 2, 4]), 4, floor=FLOOR) == pytest.approx([66.4386, 2, 1, 0], abs=1e-4)


@pytest.mark.parametrize("floor", [0.0, -1.0, 0.6, math.nan])
def test_floors_out_of_range(floor: float) -> None:
    with pytest.raises(OptionError, match="floor must be above 0 and at most 1 / samples"):
        check_floor(floor, 2)


def test_harmonic_by_hand_and_over_all_orders() -> None:
    # two draws, one hit: the first draw is it (0 nats), or the second (1 nat)
    assert harmonic_bits(np.array([1]), 2) * math.log(2) == pytest.approx([0.5])
    # the mean over random orders of the sum of 1/j up to the first hit
    rng = np.random.default_rng(0)
    n, hits = 12, 3
    first = np.array([int(np.flatnonzero(rng.permutation(n) < hits)[0]) for _ in range(20_000)])
    sums = np.concatenate(([0.0], np.cumsum(1 / np.arange(1, n + 1))))[first]
    assert harmonic_bits(np.array([hits]), n)[0] * math.log(2) == pytest.approx(sums.mean(), abs=4 * sums.std() / 141)


@pytest.mark.parametrize("p", [0.001, 0.01, 0.2, 0.9])
@pytest.mark.parametrize("n", [20, 200, 2000])
def test_the_truth_is_between_plain_and_harmonic(p: float, n: int) -> None:
    counts = np.arange(n + 1)
    plain, harmonic = expected(plain_bits(counts, n, floor=FLOOR), p), expected(harmonic_bits(counts, n), p)
    assert harmonic <= -math.log2(p) + 1e-9 < plain + 1e-9
    # what is missing is the tail of the series, about E1(np)
    missing = (-math.log2(p) - harmonic) * math.log(2)
    tail = (1 - p) ** np.arange(n + 1, 200_000) / np.arange(n + 1, 200_000)
    assert missing == pytest.approx(float(tail.sum()), abs=1e-9)
    assert missing <= exp1(n * p) + 1e-9


@pytest.mark.feature("LM-15")
@pytest.mark.parametrize(("p", "n"), [(1 / 27, 2000), (0.3, 200), (0.05, 1000)])
def test_second_order_bias_against_simulation(p: float, n: int) -> None:
    counts = np.random.default_rng(1).binomial(n, p, 400_000)
    bias = plain_bits(counts, n, floor=FLOOR) + math.log2(p)
    error = bias.std() / math.sqrt(len(bias))
    formula = float(second_order_bits(np.array([p]), n)[0])
    assert abs(bias.mean() - formula) < 4 * error + 0.05 * formula
    assert formula > 10 * error  # so that a wrong one would be seen


@pytest.mark.parametrize("n", [20, 300, 5000])
def test_expected_bias_is_the_expectation(n: int) -> None:
    chances = np.array([1e-30, 1e-6, 0.3 / n, 2 / n, 0.01, min(0.99, 49.9 / n), min(0.99, 50.1 / n), 0.3, 0.999, 1.0])
    found = expected_bias_bits(np.log(chances), n, floor=FLOOR)
    for p, bias in zip(chances, found, strict=True):
        exact = expected(plain_bits(np.arange(n + 1), n, floor=FLOOR), p) + math.log2(p)
        assert bias == pytest.approx(exact, abs=2e-5)


def test_second_order_bias_of_the_even_distribution() -> None:
    assert second_order_bits(np.array([1 / 27]), 2000)[0] == pytest.approx(26 / (4000 * math.log(2)))
    assert second_order_bits(np.array([1 / 27]), 2000)[0] == pytest.approx(0.0094, abs=5e-5)


@pytest.mark.parametrize(("n", "p"), [(2000, 1 / 27), (500, 0.3)])
def test_jackknife_and_richardson_take_the_first_order_off(n: int, p: float) -> None:
    def bias(size: int) -> float:
        return expected(plain_bits(np.arange(size + 1), size, floor=FLOOR), p) + math.log2(p)

    left = expected(jackknife_bits(np.arange(n + 1), n, floor=FLOOR), p) + math.log2(p)
    assert abs(left) < 0.1 * bias(n)
    assert abs(float(richardson(np.array(bias(n)), np.array(bias(n // 2))))) < 0.1 * bias(n)


def test_where_p_is_of_the_order_of_1_over_n_only_harmonic_holds() -> None:
    n, p = 2000, 1.5 / 2000
    truth = -math.log2(p)
    counts = np.arange(n + 1)
    assert expected(plain_bits(counts, n, floor=FLOOR), p) > truth + 10
    assert expected(jackknife_bits(counts, n, floor=FLOOR), p) > truth + 10
    halves = expected(plain_bits(np.arange(n // 2 + 1), n // 2, floor=FLOOR), p)
    whole = expected(plain_bits(counts, n, floor=FLOOR), p)
    assert abs(richardson(np.array(whole), np.array(halves)) - truth) > 1
    assert truth - 0.2 < expected(harmonic_bits(counts, n), p) < truth


def test_jackknife_is_that_of_leaving_out_draws() -> None:
    n, hits = 7, 3
    draws = np.array([1] * hits + [0] * (n - hits))
    value = -math.log2(draws.mean())
    left_out = [-math.log2(np.delete(draws, place).mean()) for place in range(n)]
    by_hand = n * value - (n - 1) * float(np.mean(left_out))
    assert jackknife_bits(np.array([hits]), n, floor=FLOOR)[0] == pytest.approx(by_hand)
    assert jackknife_bits(np.array([n, 1, 0]), n, floor=FLOOR) == pytest.approx([0, math.log2(7), -math.log2(FLOOR)])


def test_soft_correction_against_simulation() -> None:
    n, rng = 50, np.random.default_rng(2)
    drawn = rng.beta(2, 6, (40_000, n))
    sums, squares = drawn.sum(axis=1), (drawn**2).sum(axis=1)
    bias = -np.log2(sums / n) + math.log2(0.25)
    corrected = bias - soft_correction_bits(sums, squares, n, floor=FLOOR)
    error = bias.std() / 200
    assert bias.mean() > 6 * error
    assert abs(corrected.mean()) < 4 * error
    assert soft_correction_bits(np.zeros(1), np.zeros(1), n, floor=FLOOR)[0] == 0
