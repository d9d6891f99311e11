"""Bounds of bounded means: false as rarely as promised, tight, and right about what they are given."""

import math

import numpy as np
import pytest

from textassay.resampling.betting import BoundedMean

SETTINGS = [  # prompts and answers a side
    (50, 1),
    (50, 20),
    (200, 5),
    (2000, 1),
]


def differences(n: int, n_answers: int, truth: float, rng: np.random.Generator) -> np.ndarray:
    """Return differences of shares of answers called real, where every prompt's own mean is another."""
    share = rng.beta(1, (1 - truth) / truth, n) if truth else np.zeros(n)
    own, others = (rng.binomial(n_answers, (1 + sign * share) / 2) / n_answers for sign in (1, -1))
    return np.asarray(own - others)


def false_share(n_runs: int, n: int, n_answers: int, truth: float) -> float:
    rng = np.random.default_rng([n, n_answers, n_runs])
    false = 0
    for _ in range(n_runs):
        values = differences(n, n_answers, truth, rng)
        false += BoundedMean(np.array_split(values, 3), alpha=0.05, rng=rng).lower_bound > truth
    return false / n_runs


def test_a_bound_by_hand() -> None:
    # The stake on a value of 1 is at most 0.75 / (1 + m), so the capital is 1 + 0.75 (1 - m) / (1 + m): 2 at m = -1/7.
    bets = BoundedMean([[1.0]], alpha=0.5, rng=np.random.default_rng(0))
    assert bets.lower_bound == pytest.approx(-1 / 7, abs=1e-6)
    assert bets.e_value == pytest.approx(1.75)


def test_bounds_are_false_no_more_often_than_promised() -> None:
    assert false_share(200, 50, 5, 0.2) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_answers"), SETTINGS)
@pytest.mark.parametrize("truth", [0.0, 0.1, 0.5, 0.9])
def test_of_a_thousand_bounds_fewer_than_a_twentieth_are_false(n: int, n_answers: int, truth: float) -> None:
    assert false_share(1000, n, n_answers, truth) < 0.05


def test_values_that_learn_from_earlier_ones_are_covered() -> None:
    """Each value's mean depends on those before it, but is at most 0.3."""
    rng = np.random.default_rng(5)
    false = 0
    for _ in range(200):
        values: list[float] = []
        for _ in range(60):
            mean = 0.3 if not values or np.mean(values) < 0.3 else 0.1
            values.append(float(rng.choice([-1.0, 1.0], p=[(1 - mean) / 2, (1 + mean) / 2])))
        false += BoundedMean([[value] for value in values], alpha=0.05, rng=rng).lower_bound > 0.3
    assert false <= 10


def test_the_bound_comes_near_the_mean_of_many_values() -> None:
    values = differences(2000, 5, 0.7, np.random.default_rng(1))
    bound = BoundedMean([values], alpha=0.05, rng=np.random.default_rng(0)).lower_bound
    assert values.mean() - 0.03 < bound < values.mean()


def test_evidence_grows_with_the_mean() -> None:
    rng = np.random.default_rng(2)
    few, many = (BoundedMean([differences(n, 2, 0.3, rng)], alpha=0.05, rng=rng).e_value for n in (20, 200))
    assert many > max(20.0, few)
    assert math.isfinite(BoundedMean([np.ones(5000)], alpha=0.05, rng=rng).e_value)


def test_equal_values() -> None:
    rng = np.random.default_rng(0)
    assert BoundedMean([np.full(30, -1.0)], alpha=0.05, rng=rng).lower_bound == -1
    assert BoundedMean([np.zeros(500)], alpha=0.05, rng=rng).lower_bound == pytest.approx(-0.02, abs=0.02)


def test_the_order_of_values_hardly_matters() -> None:
    values = differences(100, 5, 0.4, np.random.default_rng(3))
    bounds = [BoundedMean([values], alpha=0.05, rng=np.random.default_rng(seed)).lower_bound for seed in range(5)]
    assert np.ptp(bounds) < 0.05
