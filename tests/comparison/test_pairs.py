"""Differences between generators: the arithmetic by hand, and p-values that are uniform under the null."""

import math

import numpy as np
import pytest
from scipy import stats

from textassay.comparison.comparison import FLOOR, PairDifference, Result
from textassay.comparison.pairs import pair_differences, rank_intervals
from textassay.estimate import Better, Estimate, Evidence, Signature


def make_result(
    name: str,
    value: float,
    *,
    real: list[float] | None = None,
    generated: list[float] | None = None,
    better: Better = "lower",
    floor: "Result | None" = None,
) -> Result:
    estimate = Estimate(
        metric="toy",
        value=value,
        interval=None,
        unit="fraction",
        better=better,
        sizes={},
        signature=Signature({}),
        evidence=Evidence(
            None if real is None else np.array(real, dtype=float),
            None if generated is None else np.array(generated, dtype=float),
        ),
    )
    if floor is None:
        return Result(name, "toy", better, estimate)
    return Result(name, "toy", better, estimate, estimate, floor.estimate)


def test_difference_pairs_the_real_sentences() -> None:
    # Real terms differ by (1, 0, 1, 0): variance 1/3 over 4 = 1/12. Generated: var(0,1)=1/2 over 2 = 1/4 each.
    a = make_result("a", 0.9, real=[1, 1, 1, 0], generated=[0, 1])
    b = make_result("b", 0.4, real=[0, 1, 0, 0], generated=[1, 0])
    (pair,) = pair_differences([a, b], level=0.95)
    variance = 1 / 12 + 1 / 4 + 1 / 4
    freedom = variance**2 / ((1 / 12) ** 2 / 3 + (1 / 4) ** 2 + (1 / 4) ** 2)
    margin = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert pair.difference == pytest.approx(0.5)
    assert pair.low == pytest.approx(0.5 - margin)
    assert pair.high == pytest.approx(0.5 + margin)
    assert pair.p == pytest.approx(2 * stats.t.sf(0.5 / math.sqrt(variance), freedom))


def test_equal_real_terms_cancel() -> None:
    a = make_result("a", 0.5, real=[1, 0, 1], generated=[0, 1, 1])
    b = make_result("b", 0.5, real=[1, 0, 1], generated=[0, 1, 1])
    alone = make_result("c", 0.5, generated=[0, 1, 1])
    (with_real,) = pair_differences([a, b], level=0.95)
    (without,) = pair_differences([alone, alone], level=0.95)
    assert with_real.high is not None
    assert without.high is not None
    # The shared real text adds a zero variance; its degrees of freedom do not matter.
    assert with_real.high == pytest.approx(without.high)
    assert with_real.p == pytest.approx(1.0)


def test_closer_compares_distances_to_the_floor() -> None:
    floor = make_result(FLOOR, 0.5, generated=[0.4, 0.6], better="closer")
    below = make_result("below", 0.4, generated=[0.3, 0.5], better="closer", floor=floor)
    above = make_result("above", 0.7, generated=[0.7, 0.7], better="closer", floor=floor)
    (pair,) = pair_differences([below, above], level=0.95)
    assert pair.difference == pytest.approx(0.1 - 0.2)
    # The distances have opposite signs, so the floor's own noise counts twice over: terms 2 * (0.4, 0.6).
    variance = np.var([0.3, 0.5], ddof=1) / 2 + np.var([0.8, 1.2], ddof=1) / 2
    freedom = variance**2 / ((np.var([0.3, 0.5], ddof=1) / 2) ** 2 / 1 + (np.var([0.8, 1.2], ddof=1) / 2) ** 2 / 1)
    assert pair.low is not None
    assert pair.low == pytest.approx(-0.1 - stats.t.ppf(0.975, freedom) * math.sqrt(variance))


def test_closer_on_one_side_cancels_the_floor() -> None:
    lows = []
    for noise in ([0.0, 1.0], [0.5, 0.5]):
        floor = make_result(FLOOR, 0.5, generated=noise, better="closer")
        results = [
            make_result("a", 0.7, generated=[0.6, 0.8], better="closer", floor=floor),
            make_result("b", 0.8, generated=[0.7, 0.9], better="closer", floor=floor),
        ]
        (pair,) = pair_differences(results, level=0.95)
        lows.append(pair.low)
    assert lows[0] == pytest.approx(lows[1])


def test_no_noise_and_no_difference_is_no_evidence() -> None:
    same = make_result("a", 1.0, generated=[1, 1])
    (pair,) = pair_differences([same, make_result("b", 1.0, generated=[1, 1])], level=0.95)
    assert (pair.difference, pair.p) == (0.0, 1.0)
    (pair,) = pair_differences([same, make_result("b", 0.0, generated=[0, 0])], level=0.95)
    assert (pair.difference, pair.p) == (1.0, 0.0)


def test_values_without_terms_give_empty_pairs() -> None:
    """A value whose noise is unknown (text of one document, say) is not one without noise."""
    (pair,) = pair_differences([make_result("a", 1.0), make_result("b", 0.0)], level=0.95)
    assert (pair.difference, pair.p, pair.p_adjusted) == (None, None, None)


def test_missing_and_undefined_values_give_empty_pairs_and_holm_skips_them() -> None:
    rng = np.random.default_rng(0)
    results = [
        make_result(name, value, generated=list(rng.normal(value, 1, 400))) for name, value in (("a", 0.0), ("b", 1.0))
    ]
    missing = Result("c", "toy", "lower", None, error="too few sentences")
    undefined = make_result("d", math.nan, generated=[1, 2])
    pairs = pair_differences([*results, missing, undefined], level=0.95)
    assert len(pairs) == 6
    known = [pair for pair in pairs if pair.p is not None]
    assert [(pair.a, pair.b) for pair in known] == [("a", "b")]
    assert known[0].p_adjusted == known[0].p
    ranks = rank_intervals([*results, missing, undefined], pairs, level=0.95)
    assert [(rank.generator, rank.low, rank.high) for rank in ranks] == [("a", 1, 1), ("b", 2, 2)]


@pytest.mark.parametrize(("better", "best"), [("lower", "a"), ("higher", "c")])
def test_rank_intervals_count_significant_wins(better: Better, best: str) -> None:
    results = [
        make_result(name, value, generated=[0, 1], better=better)
        for name, value in zip("abc", (0.1, 0.2, 0.9), strict=True)
    ]
    pairs = [
        PairDifference("toy", "a", "b", -0.1, -0.3, 0.1, 0.3, 0.3),
        PairDifference("toy", "a", "c", -0.8, -0.9, -0.7, 0.001, 0.003),
        PairDifference("toy", "b", "c", -0.7, -0.8, -0.6, 0.001, 0.003),
    ]
    ranks = {rank.generator: (rank.low, rank.high) for rank in rank_intervals(results, pairs, level=0.95)}
    if best == "a":
        assert ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    else:
        assert ranks == {"a": (2, 3), "b": (2, 3), "c": (1, 1)}


def test_metrics_without_direction_have_no_ranks() -> None:
    assert rank_intervals([make_result("a", 0.0, better="neither")], [], level=0.95) == []


def test_p_values_are_uniform_under_the_null_with_shared_real_text(monkeypatch: pytest.MonkeyPatch) -> None:
    # One pair needs no adjustment, and the adjustment takes longer than the rest.
    monkeypatch.setattr("textassay.comparison.pairs.holm", lambda p_values: p_values)
    rng = np.random.default_rng(1)
    p_values: list[float] = []
    for _ in range(1000):
        shared = rng.normal(size=200)
        results = []
        for name in "ab":
            real = shared + rng.normal(scale=0.5, size=200)
            generated = rng.normal(size=150)
            results.append(
                make_result(name, float(real.mean() + generated.mean()), real=list(real), generated=list(generated))
            )
        (pair,) = pair_differences(results, level=0.95)
        assert pair.p is not None
        p_values.append(pair.p)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
