"""The interval of a mean over trainings, and how much more data would decide a finding."""

import math
from functools import partial

import numpy as np
import pytest

from textassay_lab.papers.findings import Condition, check_conditions, mean_interval, verdict_of_chances, what_settles


@pytest.mark.parametrize(("n", "shared", "own"), [(2, 0.0, 1.0), (3, 2.0, 1.0), (3, 0.5, 0.0), (5, 1.0, 3.0)])
def test_the_interval_of_a_mean_over_trainings_covers_the_truth(n: int, shared: float, own: float) -> None:
    """Values vary by training (deviation 3), by their own texts, and together by the text that all share."""
    rng = np.random.default_rng(0)
    values = 3 * rng.normal(size=(1000, n)) + own * rng.normal(size=(1000, n)) + shared * rng.normal(size=(1000, 1))
    covered = [one.low <= 0 <= one.high for one in (mean_interval(row, shared, own_error=own) for row in values)]
    assert 0.94 <= np.mean(covered) <= 0.995


def test_what_would_settle_a_normal_condition_is_the_square_of_its_quantile() -> None:
    one = Condition("c", 1.0, 1.0, math.inf, lower=0.0)
    times, verdict = what_settles(lambda times: check_conditions([one.with_more(times)], 0.95)[0])
    assert verdict == "holds"
    assert times is not None
    assert 1.96**2 <= times <= 1.1 * 1.96**2


def test_more_trainings_also_give_more_degrees_of_freedom() -> None:
    """Three trainings with a mean of 1 and a deviation of 1: by hand, six have an interval above 0, five do not."""
    one = Condition("c", 1.0, 1 / math.sqrt(3), 2.0, lower=0.0)
    assert one.with_more(5 / 3).interval(0.95)[0] == pytest.approx(1 - 2.7764 / math.sqrt(5), abs=1e-4)
    times, verdict = what_settles(lambda times: check_conditions([one.with_more(times)], 0.95)[0])
    assert verdict == "holds"
    assert times is not None
    assert 5 < 3 * times <= 1.1 * 6.5


def test_what_would_settle_chances_moves_their_quantiles_by_the_root() -> None:
    times, verdict = what_settles(partial(verdict_of_chances, [0.1587], 0.95))  # a quantile of -1
    assert verdict == "holds"
    assert times is not None
    assert 1.645**2 <= times <= 1.1 * 1.645**2
    assert what_settles(partial(verdict_of_chances, [0.5], 0.95)) == (None, "not separated at this size")
    assert what_settles(partial(verdict_of_chances, [0.9], 0.95))[1] == "does not hold"
