"""E-values: fair bets by enumeration, few false alarms however one stops, and power near that of a fixed test."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit

from textassay.errors import EmptyCorpusError, InputError
from textassay.resampling.e_value import EProcess, e_value
from textassay.resampling.permutation import permutation_p_value


@pytest.mark.parametrize(("n_real", "n_generated"), [(1, 1), (2, 2), (1, 4), (4, 2), (2, 3)])
def test_the_mean_over_all_orders_is_one(n_real: int, n_generated: int) -> None:
    scores = np.array([0.999, 0.7, 0.31, 0.02, 1.0, 0.0])[: n_real + n_generated]
    values = [
        EProcess().update([scores[i] for i in order[:n_real]], [scores[i] for i in order[n_real:]])
        for order in itertools.permutations(range(len(scores)))
    ]
    assert np.mean(values) == pytest.approx(1)
    assert max(values) > 1.2


def test_one_pair_worked_out_by_hand() -> None:
    odds = {0.8: 4.0, 0.5: 1.0}
    payoffs = [2 * odds[0.8] ** scale / (odds[0.8] ** scale + 1) for scale in (0.125, 0.5, 1, 2, 4)]
    expected = np.mean([1 + share * (payoff - 1) for payoff in payoffs for share in (0.5, 0.99)])
    assert EProcess().update([0.8], [0.5]) == pytest.approx(expected)


def test_stakes_are_kept_apart_over_batches() -> None:
    process = EProcess()
    assert (process.e, process.p_value) == (1, 1)
    once = process.update([0.9], [0.2])
    twice = process.update([0.8, 0.4], [0.3, 0.3])
    assert twice == pytest.approx(EProcess().update([0.9, 0.8, 0.4], [0.2, 0.3, 0.3]))
    assert once < twice
    assert (process.n_real, process.n_generated) == (3, 3)
    assert process.log_e == pytest.approx(math.log(process.e))
    process.update([0.1] * 20, [0.9] * 20)
    assert process.e < 0.1
    assert process.p_value == pytest.approx(1 / twice)  # the largest counts


def test_unequal_sides_take_part_whole() -> None:
    base = EProcess().update([0.9, 0.8], [0.2, 0.3, 0.4, 0.5, 0.1])
    for place in range(5):
        generated = [0.2, 0.3, 0.4, 0.5, 0.1]
        generated[place] = 0.05
        assert EProcess().update([0.9, 0.8], generated) > base
    assert EProcess().update([0.6], [0.3] * 50) > EProcess().update([0.6], [0.3])


class _Adversary:
    """Watches the evidence and the text: learns anew from all batches, and takes larger ones when it is ahead."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seen: list[np.ndarray] = [np.zeros(4), np.zeros(4)]

    def largest(self, n_batches: int) -> float:
        process = EProcess()
        largest = 1.0
        for _ in range(n_batches):
            n_real, n_generated = (3, 5) if process.e > 1 else (9, 2)
            words = [self._rng.integers(0, 4, n) for n in (n_real, n_generated)]
            counts = np.array(self._seen) + 1
            odds = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
            largest = max(largest, process.update(*(expit(3 * odds[side]) for side in words)))
            for seen, side in zip(self._seen, words, strict=True):
                seen += np.bincount(side, minlength=4)
        assert process.p_value == pytest.approx(1 / largest)
        return largest


@pytest.mark.parametrize("n_runs", [100, pytest.param(250, marks=pytest.mark.slow)])
def test_who_learns_and_stops_at_will_is_seldom_right_by_luck(n_runs: int) -> None:
    largest = np.array([_Adversary(seed).largest(25) for seed in range(n_runs)])
    for alpha in (0.05, 0.2):
        assert np.mean(largest >= 1 / alpha) <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / n_runs)
    assert largest.mean() > 1.05  # it does try


@pytest.mark.parametrize(("partial", "scale"), [(0.0, 1.0), (3.0, 1.0), (-1.0, 8.0)])
@pytest.mark.parametrize("n_runs", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_a_partial_or_boastful_classifier_gains_nothing_where_nothing_differs(
    partial: float, scale: float, n_runs: int
) -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(n_runs):
        process = EProcess()
        for _ in range(15):
            process.update(*(expit(partial + scale * rng.normal(size=n)) for n in (4, 7)))
        hits += process.p_value <= 0.05
    assert hits <= n_runs * 0.05


def test_power_is_that_of_a_permutation_test_with_twice_to_thrice_less_text() -> None:
    rng = np.random.default_rng(9)

    def share_found(distance: float, n: int) -> tuple[float, float]:
        found = np.zeros(2)
        for _ in range(100):
            real, generated = rng.normal(distance / 2, 1, n), rng.normal(-distance / 2, 1, n)
            e = e_value(expit(distance * real), expit(distance * generated), rng=rng)
            found += (e >= 20, permutation_p_value(real, generated, rng=rng, n_resamples=199) <= 0.05)
        return found[0] / 100, found[1] / 100

    by_e, by_permutation = share_found(0.3, 400)
    assert by_permutation > 0.97
    assert by_e > 0.75
    third = share_found(0.3, 130)[1]
    assert by_e > third - 0.1


def test_a_finished_test_is_no_larger_than_it_may_be() -> None:
    rng = np.random.default_rng(10)
    values = np.array([e_value(expit(rng.normal(size=30)), expit(rng.normal(size=50)), rng=rng) for _ in range(1000)])
    assert np.mean(values >= 20) <= 0.02
    assert 0.8 < values.mean() < 1.2


def test_what_is_told_apart_for_certain_stays_a_number() -> None:
    process = EProcess()
    assert process.update(np.ones(3000), np.zeros(3000)) == pytest.approx(1e300)
    assert process.log_e > 2000
    assert process.p_value == pytest.approx(1e-300)
    assert e_value(np.ones(3000), np.zeros(3000), rng=np.random.default_rng(0)) == pytest.approx(1e300)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(EmptyCorpusError, match="at least one generated score"):
        EProcess().update([0.5], [])
    with pytest.raises(InputError, match="between 0 and 1"):
        EProcess().update([1.5], [0.5])
    with pytest.raises(InputError, match="between 0 and 1"):
        EProcess().update([float("nan")], [0.5])
