"""Which of two evaluators agrees better: published Williams cases, exact swaps, uniform p-values under each null."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from textassay.errors import InputError, OptionError
from textassay_lab.meta_evaluation.correlations import CorrelationKind, correlation
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.significance import Swap, compare_correlations, williams_p


@pytest.mark.parametrize(
    ("first", "second", "between", "n", "p"),
    [
        (0.3, 0.4, 0.5, 100, 0.2843),  # Silver, Hittner, May, Applied Psychological Measurement 30, 2006: t = -1.0767
        (0.5447, 0.8, 0.0729, 70, 0.0065),  # cocor 1.1 prints t = -2.8114
    ],
)
def test_williams_on_published_cases(first: float, second: float, between: float, n: int, p: float) -> None:
    assert williams_p(first, second, between, n) == pytest.approx(p, abs=5e-5)
    assert williams_p(second, first, between, n) == pytest.approx(williams_p(first, second, between, n))


def test_williams_at_its_edges() -> None:
    assert williams_p(0.5, 0.5, 0.2, 10) == 1.0
    assert math.isnan(williams_p(0.5, 0.4, 0.2, 3))
    assert math.isnan(williams_p(math.nan, 0.4, 0.2, 10))
    with pytest.raises(InputError, match="no three variables"):
        williams_p(0.99, -0.99, 0.9, 10)


def test_williams_is_uniform_where_correlations_are_equal() -> None:
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(np.array([[1, 0.6, 0.6], [0.6, 1, 0.4], [0.6, 0.4, 1]]))
    p_values = []
    for _ in range(1500):
        table = np.asarray(np.corrcoef(root @ rng.normal(size=(3, 12))))
        p_values.append(williams_p(table[0, 1], table[0, 2], table[1, 2], 12))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def _known(name: str, values: np.ndarray) -> Evaluation:
    return Evaluation(name, "higher", tuple(f"g{i}" for i in range(len(values))), np.asarray(values, dtype=np.float64))


def test_swaps_of_generators_are_all_looked_at() -> None:
    rng = np.random.default_rng(4)
    gold, one, other = (_known(name, rng.normal(size=5)) for name in ("gold", "one", "other"))
    found = compare_correlations(gold, [one, other])[0]
    x, y = ((e.values - e.values.mean()) / e.values.std() for e in (one, other))

    def gap(swap: tuple[int, ...]) -> float:
        sides = [np.where(swap, b, a) for a, b in ((x, y), (y, x))]
        taus = [correlation(side, gold.values, "kendall").value for side in sides]
        return taus[0] - taus[1]

    gaps = np.abs([gap(swap) for swap in itertools.product((0, 1), repeat=5)])
    assert found.p == pytest.approx(np.mean(gaps >= abs(gap((0,) * 5)) - 1e-12))
    assert found.difference == pytest.approx(gap((0,) * 5))


def test_an_evaluator_is_as_good_as_its_multiple() -> None:
    rng = np.random.default_rng(5)
    gold, one = _known("gold", rng.normal(size=8)), rng.normal(size=8)
    kinds: tuple[CorrelationKind, ...] = ("kendall", "spearman", "pearson")
    for kind in kinds:
        found = compare_correlations(gold, [_known("one", one), _known("other", 3 * one + 1)], kind)[0]
        assert found.difference == pytest.approx(0, abs=1e-12)
        assert found.p == 1.0


def test_swapping_generators_is_uniform_where_evaluators_are_exchangeable() -> None:
    """Both evaluators err alike, each with errors of its own that texts do not explain."""
    p_values = []
    for world in range(300):
        rng = np.random.default_rng(world)
        gold = rng.normal(size=9)
        one, other = (gold + rng.normal(size=9) for _ in range(2))
        made = [_known("one", one), _known("other", other)]
        p_values.append(compare_correlations(_known("gold", gold), made, "pearson")[0].p)
    below = [np.mean(np.array(p_values) <= level) for level in (0.05, 0.2, 0.5)]
    assert below == pytest.approx([0.05, 0.2, 0.5], abs=0.07)
    assert below[0] <= 0.08


def _of_texts(name: str, texts: np.ndarray) -> Evaluation:
    names = tuple(f"g{i}" for i in range(len(texts)))
    return Evaluation(name, "higher", names, texts.mean(axis=1), dict(zip(names, texts, strict=True)))


def test_swapping_texts_is_uniform_where_single_texts_are_exchangeable() -> None:
    """PERM-BOTH's null: the two evaluators measure the same, each with errors of its own on every text."""
    p_values = []
    for world in range(200):
        rng = np.random.default_rng(world)
        gold = rng.normal(size=8)
        quality = gold + 0.7 * rng.normal(size=8)
        one, other = (quality[:, None] + 2 * rng.normal(size=(8, 20)) for _ in range(2))
        found = compare_correlations(
            _known("gold", gold), [_of_texts("one", one), _of_texts("other", other)], "pearson",
            swap="texts", n_resamples=199, seed=world,
        )[0]  # fmt: skip
        p_values.append(found.p)
    below = [np.mean(np.array(p_values) <= level) for level in (0.05, 0.2, 0.5)]
    assert below == pytest.approx([0.05, 0.2, 0.5], abs=0.08)
    assert below[0] <= 0.09


def test_swapping_texts_takes_the_generators_for_all_there_are() -> None:
    """Lasting errors of each evaluator on each generator are differences to it, and luck to swaps of generators."""
    counts = {"texts": 0, "generators": 0}
    for world in range(40):
        rng = np.random.default_rng(world)
        gold = rng.normal(size=8)
        made = [
            _of_texts(name, (gold + rng.normal(size=8))[:, None] + 0.2 * rng.normal(size=(8, 30)))
            for name in ("one", "other")
        ]
        swaps: tuple[Swap, ...] = ("texts", "generators")
        for swap in swaps:
            found = compare_correlations(_known("gold", gold), made, "pearson", swap=swap, n_resamples=99)[0]
            counts[swap] += found.p <= 0.05
    assert counts["texts"] > 25
    assert counts["generators"] <= 6


def test_texts_of_others_cannot_be_swapped() -> None:
    rng = np.random.default_rng(6)
    gold = _known("gold", np.arange(4.0))
    one, other = _of_texts("one", rng.normal(size=(4, 5))), _known("other", np.arange(4.0))
    assert math.isnan(compare_correlations(gold, [one, other], swap="texts", n_resamples=10)[0].p)


def test_many_generators_are_sampled() -> None:
    rng = np.random.default_rng(7)
    gold, one, other = (_known(name, rng.normal(size=20)) for name in ("gold", "one", "other"))
    p = compare_correlations(gold, [one, other], n_resamples=199)[0].p
    assert p * 200 == pytest.approx(round(p * 200))
    assert p == compare_correlations(gold, [one, other], n_resamples=199)[0].p


def test_an_unknown_swap_is_named() -> None:
    one = _known("one", np.arange(4.0))
    with pytest.raises(OptionError, match="swap 'words'"):
        compare_correlations(one, [], swap="words")  # type: ignore[arg-type]
