"""Evidence of a change: never too often where there is none, soon where there is one, and since when."""

import numpy as np
import pytest
from scipy.integrate import quad

from textassay.resampling.change import change_evidence, start_shares, steps


def test_bets_are_fair_on_uniform_p_values() -> None:
    step = float(steps(1)[0])
    parts = [quad(lambda p: change_evidence([p]).e, a, b, limit=500)[0] for a, b in ((0.0, step), (step, 1.0))]
    assert sum(parts) == pytest.approx(1, abs=1e-3)


def test_false_alarms_over_a_thousand_looks_are_at_most_one_in_twenty() -> None:
    rng = np.random.default_rng(0)
    alarms = [change_evidence((rng.integers(1, 10_001, 1000) / 10_000).tolist()).largest >= 20 for _ in range(100)]
    assert np.mean(alarms) <= 0.05


@pytest.mark.parametrize("n_before", [0, 1, 9])
def test_one_look_decides_at_its_step(n_before: int) -> None:
    step = float(steps(n_before + 1)[-1])
    assert change_evidence([*[0.8] * n_before, step]).e >= 20
    assert change_evidence([*[0.8] * n_before, step * 1.01]).e < 20
    assert steps(1000).sum() <= 0.025


@pytest.mark.parametrize("n_before", [0, 30, 365])
def test_a_late_change_is_found_and_dated(n_before: int) -> None:
    found = change_evidence([*[0.5] * n_before, *[1e-4] * 3])
    assert found.largest >= 20
    assert found.since == n_before


def test_weak_evidence_adds_up() -> None:
    assert change_evidence([0.02] * 2).e < 20 < change_evidence([0.02] * 6).e


def test_the_largest_evidence_stays_when_later_looks_show_nothing() -> None:
    found = change_evidence([1e-4, *[1.0] * 50])
    assert found.largest > found.e
    assert found.largest >= 20


def test_shares_sum_to_one() -> None:
    assert 0.94 < start_shares(1000).sum() < 1
    assert change_evidence([]).since is None
