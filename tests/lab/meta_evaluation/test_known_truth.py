"""The truth of known generators: enumeration, estimators that agree, intervals that cover, wrong models caught."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from tabled import TOY_GENERATED, TOY_REAL, Tabled, corpus_of, toy
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.metric.discrepancy import exact_discrepancy
from textassay_lab.meta_evaluation.known_truth import log_ratios, true_discrepancy, truth_from_log_ratios

N = 20_000


def _draws(
    p: Mapping[str, float], q: Mapping[str, float], n: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return log ratios of n sentences from each side of two tables with the same sentences."""
    ratios = np.log(list(p.values())) - np.log(list(q.values()))
    first, second = (ratios[rng.choice(len(table), n, p=list(table.values()))] for table in (p, q))
    return first, second


@pytest.mark.feature("DD-02")
def test_all_estimators_agree_with_enumeration() -> None:
    exact = exact_discrepancy(TOY_REAL, TOY_GENERATED)
    assert exact == pytest.approx(0.56, abs=1e-12)
    p, q = toy()
    truth = true_discrepancy(p, q, p.sample(N, seed=1), q.sample(N, seed=2))
    for value, interval in (
        (truth.value, truth.interval),
        (truth.ratio, truth.ratio_interval),
        (truth.sign, truth.sign_interval),
    ):
        error = (interval.high - interval.low) / 2 / 1.96
        assert abs(value - exact) < 4 * error
        assert 0 < error < 0.01
    assert truth.disagreement < 4
    assert (truth.n_real, truth.n_generated) == (N, N)


@pytest.mark.feature("DD-02")
def test_swapped_sides_give_the_same_value() -> None:
    p, q = toy()
    real, generated = p.sample(500, seed=1), q.sample(500, seed=2)
    one, other = true_discrepancy(p, q, real, generated), true_discrepancy(q, p, generated, real)
    assert (one.value, one.sign, one.ratio) == pytest.approx((other.value, other.sign, other.ratio), abs=1e-12)
    assert one.ratio_real == other.ratio_generated


def test_by_hand() -> None:
    # p / q is 3 and 1 for the two real sentences, 1/3, 1 and 0 for the three generated ones.
    truth = truth_from_log_ratios(np.log([3.0, 1.0]), np.array([-math.log(3), 0.0, -math.inf]))
    assert truth.ratio_real == pytest.approx((2 / 3 + 0) / 2)
    assert truth.ratio_generated == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert truth.ratio == pytest.approx((1 / 3 + 5 / 9) / 2)
    assert truth.sign == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert truth.value == pytest.approx((0.25 + 0.5) / 2)  # tanh(ln 3 / 2) is 1/2


@pytest.mark.feature("DD-03")
@pytest.mark.parametrize("generated", [TOY_GENERATED, {"A A": 0.3, "A B": 0.2, "B A": 0.26, "B B": 0.24}])
def test_ratio_and_mean_over_sides_vary_less_than_the_sign_and_agree_with_it(generated: Mapping[str, float]) -> None:
    rng = np.random.default_rng(0)
    runs = [truth_from_log_ratios(*_draws(TOY_REAL, generated, 200, rng)) for _ in range(500)]
    exact = exact_discrepancy(TOY_REAL, generated)
    spreads = {}
    for name in ("value", "ratio", "sign"):
        values = np.array([getattr(run, name) for run in runs])
        spreads[name] = values.std(ddof=1)
        assert abs(values.mean() - exact) < 4 * spreads[name] / math.sqrt(len(runs))
    assert spreads["value"] <= spreads["ratio"] * 1.05
    assert spreads["ratio"] < spreads["sign"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interval", "ratio_interval", "sign_interval"])
def test_intervals_cover(name: str) -> None:
    rng = np.random.default_rng(1)
    runs = [truth_from_log_ratios(*_draws(TOY_REAL, TOY_GENERATED, 400, rng), level=0.9) for _ in range(1000)]
    inside = sum(getattr(run, name).low <= 0.56 <= getattr(run, name).high for run in runs)
    assert 0.87 <= inside / len(runs) <= 0.93
    assert getattr(runs[0], name).level == 0.9


@pytest.mark.feature("DD-02")
def test_equal_and_disjoint_generators() -> None:
    p, _ = toy()
    same = true_discrepancy(p, p, p.sample(100, seed=1), p.sample(100, seed=2))
    assert (same.value, same.ratio, same.sign, same.disagreement) == (0, 0, 0, 0)
    other = Tabled({"C": 1.0}, p.vocabulary)
    apart = true_discrepancy(p, other, p.sample(100, seed=1), corpus_of(["C"] * 100))
    assert (apart.value, apart.ratio, apart.sign, apart.disagreement) == (1, 1, 1, 0)
    assert (apart.interval.low, apart.interval.high) == (1, 1)


def test_a_log_probability_that_is_not_that_of_the_draws_is_caught() -> None:
    p, q = toy()
    wrong = Tabled({text: 1.3 * share for text, share in q.table.items()}, p.vocabulary, drawn_by=q.table)
    assert true_discrepancy(p, wrong, p.sample(N, seed=1), wrong.sample(N, seed=2)).disagreement > 6


def test_refusals() -> None:
    p, q = toy()
    one = p.sample(1, seed=0)
    with pytest.raises(EmptyCorpusError, match="two sentences a side, got 1 and 1"):
        true_discrepancy(p, q, one, one)
    with pytest.raises(OptionError, match="level must be between 0 and 1, got 1"):
        true_discrepancy(p, q, one, one, level=1)
    with pytest.raises(InputError, match="both give probability 0 to a text"):
        log_ratios(p, q, corpus_of(["C"]))
    with pytest.raises(InputError, match="gives NaN or infinity"):
        log_ratios(Tabled({"A A": math.inf}, p.vocabulary), q, corpus_of(["A A"]))
    with pytest.raises(InputError, match="probability 0 to a text that it drew"):
        truth_from_log_ratios(np.array([-math.inf, 0.0]), np.zeros(2))
