"""tau-b of a metric with a gold order: against SciPy, its distribution against redraws of a known world, intervals."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Estimate, Evidence, Interval, Signature
from textassay_lab.meta_evaluation.rank_agreement import (
    MetricValues,
    agreement,
    differences,
    gold_by_volume,
    pooled,
    tau_b,
)

NAMES = tuple("abcdef")
TRUE = np.array([0.30, 0.28, 0.27, 0.22, 0.20, 0.19])  # lower is better; in the order of the gold, but for noise
GOLD = gold_by_volume({name: place for place, name in enumerate(NAMES)})
N_REAL, N_OWN = 400, 300


def _estimate(value: float, real: npt.NDArray[np.float64], own: npt.NDArray[np.float64]) -> Estimate:
    return Estimate("m", value, Interval(0, 1, 0.95, "none"), "", "lower", {}, Signature({}), {}, Evidence(real, own))


def _world(rng: np.random.Generator) -> dict[str, Estimate]:
    """Return estimates of six generators on one draw of real text, which all of them share for the most part."""
    text = rng.normal(size=N_REAL)
    found = {}
    for name, true in zip(NAMES, TRUE, strict=True):
        real = true / 2 + 0.6 * text + 0.1 * rng.normal(size=N_REAL)
        own = true / 2 + 0.2 * rng.normal(size=N_OWN)
        found[name] = _estimate(float(real.mean() + own.mean()), real, own)
    return found


@pytest.mark.feature("A-10")
@pytest.mark.parametrize("ties", [False, True])
def test_tau_b_is_that_of_scipy(ties: bool) -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(50, 7)) for _ in range(2))
    if ties:
        first, second = np.round(first), np.round(second)
    expected = [stats.kendalltau(x, y).statistic for x, y in zip(first, second, strict=True)]
    assert tau_b(first, second) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(tau_b(np.ones((1, 4)), np.arange(4.0)[None])[0])


def test_the_distribution_is_that_of_new_test_texts() -> None:
    rng = np.random.default_rng(1)
    redrawn = np.array([[estimate.value for estimate in _world(rng).values()] for _ in range(3000)])
    taus = tau_b(-redrawn, GOLD.values[None])
    world = MetricValues.of_estimates(_world(rng), name="m")
    true = MetricValues(world.metric, world.better, world.generators, TRUE, world.shared, world.own)
    found = agreement([true], [GOLD], group="6", n_draws=20_000)
    brute = {value: np.mean(np.isclose(taus, value)) for value in found.values}
    assert sum(brute.values()) == pytest.approx(1)
    assert 0.5 * sum(abs(share - brute[value]) for value, share in zip(found.values, found.shares, strict=True)) < 0.05
    assert found.mean == pytest.approx(taus.mean(), abs=0.02)
    # What the real text brings is common to all: as if each had it by itself, the order would be far less sure.
    apart = MetricValues("m", "lower", NAMES, TRUE, np.zeros((6, 6)), np.diag(world.covariance))
    assert agreement([apart], [GOLD], group="6").mean < taus.mean() - 0.1


@pytest.mark.slow
def test_intervals_hold_the_true_tau() -> None:
    rng = np.random.default_rng(2)
    inside = []
    for _ in range(100):
        found = agreement([MetricValues.of_estimates(_world(rng), name="m")], [GOLD], group="6", n_draws=500)
        assert found.low is not None
        assert found.high is not None
        inside.append(found.low <= 1.0 <= found.high)
    assert np.mean(inside) > 0.9


@pytest.mark.parametrize("n_worlds", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_simultaneous_intervals_hold_together_as_often_as_they_say(n_worlds: int) -> None:
    rng = np.random.default_rng(3)
    contrasts = np.eye(6)[:-1] - np.eye(6)[1:]
    truth, hold, alone = contrasts @ TRUE, [], []
    for _ in range(n_worlds):
        world = MetricValues.of_estimates(_world(rng), name="m")
        rows = differences(world.values, world.covariance, contrasts)
        inside = (rows[:, 1] <= truth) & (truth <= rows[:, 2])
        hold.append(inside.all())
        alone.append(inside[0])
    assert abs(np.mean(hold) - 0.95) <= 2.4 * math.sqrt(0.95 * 0.05 / n_worlds)
    assert np.mean(alone) > np.mean(hold)


def test_neighbours_are_those_of_the_gold_and_turned() -> None:
    values = MetricValues.exact("m", "lower", {"a": 0.1, "b": 0.3, "c": 0.2})
    gold = MetricValues(
        "gold", "higher", ("a", "b", "c"), np.array([3.0, 2.0, 1.9]), np.zeros((3, 3)), np.full(3, 0.04)
    )
    found = agreement([values], [gold], group="3")
    assert found.value == pytest.approx(1 / 3)
    by = {(pair.by, pair.better, pair.worse): pair for pair in found.neighbours}
    assert set(by) == {(who, *pair) for who in ("gold", "m") for pair in (("a", "b"), ("b", "c"))}
    assert by["m", "a", "b"].difference == pytest.approx(0.2)
    assert by["m", "b", "c"].difference == pytest.approx(-0.1)
    assert by["m", "b", "c"].separated
    assert by["gold", "a", "b"].separated
    assert not by["gold", "b", "c"].separated
    c_before_b = stats.norm.sf(0.1 / np.sqrt(0.08))  # in the gold, as m has it
    assert found.share_at_least(1.0) == pytest.approx(c_before_b, abs=0.02)
    assert found.mean == pytest.approx(1 / 3 + 2 / 3 * c_before_b, abs=0.02)


def test_training_seeds_are_drawn_with_their_gold() -> None:
    up = MetricValues.exact("m", "higher", {"a": 1, "b": 2, "c": 3})
    runs = [up, MetricValues.exact("m", "higher", {"a": 3, "b": 2, "c": 1})]
    alike = agreement(runs, runs, group="3")
    assert alike.by_seed == (1.0, 1.0)
    assert alike.values == (1.0,)
    fixed = agreement(runs, [up], group="3")
    assert fixed.by_seed == (1.0, -1.0)
    assert fixed.value is None  # the means are equal
    # a and c are 1 or 3 each, b always 2: four orders, equally often.
    orders = [(a, 2, c) for a in (1, 3) for c in (1, 3)]
    expected = np.nan_to_num(tau_b(np.array(orders, dtype=float), np.array([[1.0, 2, 3]]))).mean()
    assert fixed.mean == pytest.approx(expected, abs=0.03)


def test_the_error_of_a_mean_over_seeds_keeps_what_they_share() -> None:
    rng = np.random.default_rng(4)
    means, told = [], []
    for _ in range(2000):
        common = rng.normal()
        runs = [
            MetricValues("m", "lower", ("a", "b"), common + rng.normal(size=2) * 2, np.ones((2, 2)), np.full(2, 1.0))
            for _ in range(5)
        ]
        mean = pooled(runs)
        means.append(mean.values)
        told.append(mean.covariance)
    assert np.mean(told, axis=0) == pytest.approx(np.cov(np.array(means).T), abs=0.12)


def test_the_same_draws_every_time_and_clear_errors() -> None:
    world = MetricValues.of_estimates(_world(np.random.default_rng(5)), name="m")
    assert agreement([world], [GOLD], group="6") == agreement([world], [GOLD], group="6")
    with pytest.raises(InputError, match="at least 2 generators, got 1"):
        agreement([world.select("a")], [GOLD.select("a")], group="1")
    with pytest.raises(InputError, match="same generators"):
        agreement([world.select("ab")], [GOLD], group="2")
    with pytest.raises(InputError, match="3 training seeds, got 2"):
        agreement([world] * 3, [GOLD] * 2, group="6")
