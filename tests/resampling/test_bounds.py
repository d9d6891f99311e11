"""Chosen bounds: seldom wrong with classifiers fixed, better than the usual threshold where that is a poor one."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from textassay.errors import EmptyCorpusError
from textassay.resampling.bounds import BoundRule, choose_bound
from textassay.resampling.proportions import certified_lower_bound

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _shifted(distance: float, offset: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        return (expit(rng.normal(distance / 2 + offset, 1, n)), expit(rng.normal(-distance / 2 + offset, 1, n)))

    return draw


def _spoilt(share: float) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        logits = rng.normal(0, 1, (2, n))
        logits[1, rng.random(n) < share] -= 8
        return expit(logits[0]), expit(logits[1])

    return draw


# Name: scores of both sides, and the total variation between their distributions.
WORLDS: dict[str, tuple[Draw, float]] = {
    "identical": (_shifted(0), 0.0),
    "identical, off the middle": (_shifted(0, 1), 0.0),
    "weak": (_shifted(0.2), 2 * norm.cdf(0.1) - 1),
    "strong": (_shifted(2), 2 * norm.cdf(1) - 1),
    "saturated": (_shifted(7), 2 * norm.cdf(3.5) - 1),
    "a small part": (_spoilt(0.05), 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_with_a_fixed_rule_at_most_66_of_1000_redraws_exceed_the_total_variation(name: str) -> None:
    draw, total_variation = WORLDS[name]
    rng = np.random.default_rng(3)
    valid = draw(rng, 100)
    rule = choose_bound(*valid, n_real=150, n_generated=150, alpha=0.05)
    bounds = [rule.bound(*draw(rng, 150), alpha=0.05).value for _ in range(1000)]
    assert sum(bound > total_variation for bound in bounds) <= 66


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_with_a_rule_chosen_anew_each_time_it_holds_too(name: str) -> None:
    draw, total_variation = WORLDS[name]
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(1000):
        rule = choose_bound(*draw(rng, 50), n_real=60, n_generated=60, alpha=0.05)
        false += rule.bound(*draw(rng, 60), alpha=0.05).value > total_variation
    assert false <= 66


def test_a_small_part_that_differs_is_found_by_a_threshold_of_its_own() -> None:
    rng = np.random.default_rng(5)
    gains, thresholds = [], []
    for _ in range(20):
        valid, test = WORLDS["a small part"][0](rng, 500), WORLDS["a small part"][0](rng, 1000)
        rule = choose_bound(*valid, n_real=1000, n_generated=1000, alpha=0.05)
        thresholds.append(rule.threshold)
        gains.append(rule.bound(*test, alpha=0.05).value - BoundRule(0.5).bound(*test, alpha=0.05).value)
    assert np.median(thresholds) < 0.2
    assert np.mean(gains) > 0.01


def test_scores_off_the_middle_move_the_threshold() -> None:
    rng = np.random.default_rng(6)
    moved = choose_bound(*_shifted(1, 3)(rng, 2000), n_real=4000, n_generated=4000, alpha=0.05)
    assert 0.9 < moved.threshold < 0.99


def test_the_usual_threshold_stays_where_no_other_is_clearly_better() -> None:
    rng = np.random.default_rng(7)
    lost = []
    for _ in range(20):
        valid, test = _shifted(1)(rng, 300), _shifted(1)(rng, 600)
        rule = choose_bound(*valid, n_real=600, n_generated=600, alpha=0.05)
        lost.append(BoundRule(0.5).bound(*test, alpha=0.05).value - rule.bound(*test, alpha=0.05).value)
    assert np.mean(lost) < 0.01
    few = choose_bound(np.full(3, 0.9), np.full(3, 0.1), n_real=5, n_generated=5, alpha=0.05, usual=0.4)
    assert few.threshold == 0.4


def test_the_bound_counts_scores_above_the_threshold() -> None:
    found = BoundRule(0.5).bound(np.array([0.9] * 80 + [0.5] * 20), np.array([0.6] * 10 + [0.2] * 40), alpha=0.1)
    assert found.value == certified_lower_bound(80, 100, 10, 50, alpha=0.1)
    assert (found.kind, found.exact, found.threshold, found.alpha) == ("threshold", True, 0.5, 0.1)


def test_what_cannot_be_is_refused() -> None:
    some, none = np.array([0.5]), np.array([])
    with pytest.raises(EmptyCorpusError, match="at least one score per side"):
        choose_bound(some, none, n_real=1, n_generated=1, alpha=0.05)
    with pytest.raises(EmptyCorpusError):
        BoundRule(0.5).bound(none, some, alpha=0.05)
