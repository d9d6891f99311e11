"""Correlations of evaluators: against row-by-row ones, intervals that cover, the same draws for all."""

import numpy as np
import pytest

from textassay.errors import InputError
from textassay.resampling.multiplicity import benjamini_hochberg, holm
from textassay_lab.meta_evaluation.correlations import (
    CorrelationKind,
    agreements,
    correlation,
    correlation_matrix,
    draw_generators,
    draw_goodness,
    percentile_interval,
    row_correlations,
    text_draws,
)
from textassay_lab.meta_evaluation.evaluation import Evaluation

KINDS: tuple[CorrelationKind, ...] = ("kendall", "spearman", "pearson")


def made_up(
    name: str, means: np.ndarray, rng: np.random.Generator, *, n_texts: int = 40, noise: float = 1.0
) -> Evaluation:
    """Return an evaluator that measures `means` on texts of its own."""
    names = tuple(f"g{place}" for place in range(len(means)))
    texts = {g: m + noise * rng.normal(size=n_texts) for g, m in zip(names, means, strict=True)}
    return Evaluation(name, "higher", names, np.array([t.mean() for t in texts.values()]), texts)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_correlations_one_by_one(kind: CorrelationKind) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (40, 7)).astype(float), rng.integers(0, 5, (40, 7)).astype(float)
    x[3] = 2.0
    found = row_correlations(x, y, kind)
    for row, value in enumerate(found):
        if np.ptp(x[row]) == 0 or np.ptp(y[row]) == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(correlation(x[row], y[row], kind).value, abs=1e-12)
    assert row_correlations(x, y[:1], kind)[5] == pytest.approx(correlation(x[5], y[0], kind).value, abs=1e-12)


def test_the_matrix_holds_every_pair_once() -> None:
    rng = np.random.default_rng(1)
    evaluations = [made_up(name, rng.normal(size=9), rng) for name in "abcd"]
    for kind in KINDS:
        matrix = correlation_matrix(evaluations, kind)
        assert np.array_equal(matrix.values, matrix.values.T)
        one = correlation(evaluations[1].goodness, evaluations[3].goodness, kind)
        assert (matrix.values[1, 3], matrix.p[1, 3]) == (one.value, one.p)
        pairs = np.triu_indices(4, 1)
        assert matrix.p_adjusted[pairs] == pytest.approx(benjamini_hochberg(matrix.p[pairs]))


def test_false_discoveries_by_hand() -> None:
    # Sorted: .01 * 4 / 1, .02 * 4 / 2, .03 * 4 / 3, .4 * 4 / 4.
    found = benjamini_hochberg(np.array([0.03, np.nan, 0.01, 0.4, 0.02]))
    assert found == pytest.approx([0.04, np.nan, 0.04, 0.4, 0.04], nan_ok=True)


def test_holm_runs_over_the_evaluators_of_a_gold() -> None:
    rng = np.random.default_rng(2)
    gold = made_up("gold", np.arange(10.0), rng)
    others = [
        made_up(name, np.arange(10.0) * scale, rng, noise=9.0) for name, scale in (("a", 1), ("b", 0.2), ("c", 0))
    ]
    found = agreements(gold, others, ("kendall",), n_resamples=50)
    assert [one.p_adjusted for one in found] == pytest.approx(holm(np.array([one.p for one in found])))
    assert [one.evaluator for one in found] == ["a", "b", "c"]


def test_draws_of_texts_are_those_of_a_plain_bootstrap_and_shared() -> None:
    rng = np.random.default_rng(3)
    one, other = made_up("one", np.arange(3.0), rng), made_up("other", np.zeros(3), rng)
    drawn = draw_goodness([one, other], n_resamples=7, seed=5)
    assert one.texts is not None
    assert other.texts is not None
    for place, name in enumerate(one.generators):
        counts = np.concatenate(text_draws(name, 40, n_resamples=7, seed=5))
        assert counts.sum(axis=1).tolist() == [40] * 7
        assert drawn[0, :, place] == pytest.approx(counts @ one.texts[name] / 40)
        assert drawn[1, :, place] == pytest.approx(counts @ other.texts[name] / 40)
    alone = draw_goodness([other], n_resamples=7, seed=5)
    assert alone[0] == pytest.approx(drawn[1], abs=1e-12)


def test_an_evaluator_without_terms_keeps_its_values() -> None:
    known = Evaluation("known", "closer", ("a", "b"), np.array([1.0, 4.0]), floor=3.0)
    assert (draw_goodness([known], n_resamples=4, seed=0)[0] == [-2.0, -1.0]).all()


def test_draws_do_not_depend_on_how_many_are_made() -> None:
    few, many = draw_generators(5, n_resamples=10, seed=1), draw_generators(5, n_resamples=20, seed=1)
    assert np.array_equal(few, many[:10])


def test_percentiles_leave_out_what_is_undefined() -> None:
    draws = np.concatenate([np.arange(101.0), np.full(30, np.nan)])
    assert percentile_interval(draws, 0.9) == pytest.approx((5.0, 95.0))
    assert all(np.isnan(percentile_interval(np.full(3, np.nan), 0.9)))


@pytest.mark.parametrize("kind", KINDS)
def test_other_generators_are_drawn_for_both_sides_at_once(kind: CorrelationKind) -> None:
    """BOOT-BOTH without texts: the interval is that of a plain bootstrap of generators."""
    rng = np.random.default_rng(4)
    names = tuple(f"g{place}" for place in range(9))
    gold, metric = (Evaluation(name, "higher", names, rng.normal(size=9)) for name in ("gold", "metric"))
    one = agreements(gold, [metric], (kind,), n_resamples=200, seed=3)[0]
    values = []
    for picks in draw_generators(9, n_resamples=200, seed=3):
        x, y = gold.values[picks], metric.values[picks]
        values.append(correlation(x, y, kind).value if np.ptp(x) and np.ptp(y) else np.nan)
    assert (one.low, one.high) == pytest.approx(tuple(np.nanquantile(values, [0.025, 0.975])))
    assert one.low < one.value < one.high
    assert (one.low_texts, one.high_texts) == pytest.approx((one.value, one.value))


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_over_texts_hold_what_new_texts_give(kind: CorrelationKind) -> None:
    """BOOT-INPUTS: 95 % of the intervals hold the correlation of these generators' true values."""
    n_worlds, hits = 60, 0
    for world in range(n_worlds):
        rng = np.random.default_rng(world)
        gold_means = rng.normal(size=8)
        means = gold_means + rng.normal(size=8)
        truth = float(row_correlations(gold_means[None], means[None], kind)[0])
        gold, metric = made_up("gold", gold_means, rng, noise=0.5), made_up("metric", means, rng, noise=0.5)
        one = agreements(gold, [metric], (kind,), n_resamples=300, seed=world)[0]
        hits += one.low_texts <= truth <= one.high_texts
    assert hits / n_worlds >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_generators", "rho", "least"), [(5, 0.9, 0.88), (6, 0.6, 0.93), (12, 0.6, 0.94), (30, 0.6, 0.94)]
)
def test_intervals_over_generators_cover_the_population(n_generators: int, rho: float, least: float) -> None:
    """BOOT-BOTH, tau of pairs drawn from a bivariate normal distribution: mostly above 95 %, for texts err twice."""
    n_worlds, hits = 400, 0
    truth = 2 / np.pi * np.arcsin(rho)
    for world in range(n_worlds):
        rng = np.random.default_rng(world)
        gold_means = rng.normal(size=n_generators)
        means = rho * gold_means + np.sqrt(1 - rho**2) * rng.normal(size=n_generators)
        gold, metric = made_up("gold", gold_means, rng, noise=0.5), made_up("metric", means, rng, noise=0.5)
        one = agreements(gold, [metric], ("kendall",), n_resamples=400, seed=world)[0]
        hits += one.low <= truth <= one.high
    assert hits / n_worlds >= least


def test_evaluations_must_go_together() -> None:
    one = Evaluation("one", "higher", ("a", "b"), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="two evaluations are called 'one'"):
        correlation_matrix([one, one])
    with pytest.raises(InputError, match="must have the same generators"):
        correlation_matrix([one, Evaluation("two", "higher", ("b", "a"), np.array([1.0, 2.0]))])
    with pytest.raises(InputError, match="at least 2 generators"):
        correlation_matrix([Evaluation("one", "higher", ("a",), np.array([1.0]))])
    texts = {"a": np.ones(2), "b": np.ones(3)}
    more = {"a": np.ones(3), "b": np.ones(3)}
    with pytest.raises(InputError, match="must judge the same texts of a: three has 3, two has 2"):
        correlation_matrix(
            [one, Evaluation("two", "higher", ("a", "b"), np.array([1.0, 2.0]), texts),
             Evaluation("three", "higher", ("a", "b"), np.array([1.0, 2.0]), more)]
        )  # fmt: skip


def test_a_constant_side_is_undefined_without_noise() -> None:
    flat = Evaluation("flat", "higher", ("a", "b", "c"), np.ones(3))
    rising = Evaluation("rising", "higher", ("a", "b", "c"), np.arange(3.0))
    one = agreements(rising, [flat], n_resamples=20)[0]
    assert all(np.isnan(x) for x in (one.value, one.p, one.p_adjusted, one.low, one.high))
