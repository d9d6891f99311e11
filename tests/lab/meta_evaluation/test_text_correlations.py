"""Correlations of single texts: against SciPy group by group, p-values under the null, intervals."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from textassay.errors import InputError, OptionError
from textassay_lab.meta_evaluation.correlations import CorrelationKind
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.text_correlations import text_correlation

KINDS: tuple[CorrelationKind, ...] = ("kendall", "spearman", "pearson")
SCIPY: dict[str, Any] = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}


def _pair(seed: int, *, sizes: tuple[int, ...] = (20, 30, 25), slope: float = 0.6) -> tuple[Evaluation, Evaluation]:
    rng = np.random.default_rng(seed)
    names = tuple(f"g{i}" for i in range(len(sizes)))
    gold = {g: rng.integers(0, 6, n) / 5 + place for place, (g, n) in enumerate(zip(names, sizes, strict=True))}
    other = {g: slope * texts + 0.4 * rng.normal(size=len(texts)) for g, texts in gold.items()}
    return tuple(  # type: ignore[return-value]
        Evaluation(name, "higher", names, np.array([t.mean() for t in texts.values()]), texts)
        for name, texts in (("gold", gold), ("m", other))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_scipys(kind: CorrelationKind) -> None:
    gold, other = _pair(0)
    assert gold.texts is not None
    assert other.texts is not None
    within = text_correlation(gold, other, kind, n_resamples=0)
    pooled = text_correlation(gold, other, kind, "no grouping", n_resamples=0)
    assert within is not None
    assert pooled is not None
    peers = [SCIPY[kind](gold.texts[g], other.texts[g]).statistic for g in gold.generators]
    assert within.value == pytest.approx(np.mean(peers))
    together = [np.concatenate(list(side.texts.values())) for side in (gold, other) if side.texts is not None]
    assert pooled.value == pytest.approx(SCIPY[kind](*together).statistic)
    assert (within.n_texts, within.n_groups, pooled.n_groups) == (75, 3, 1)
    if kind == "kendall":  # the variance with ties is SciPy's
        assert pooled.p == pytest.approx(stats.kendalltau(*together, method="asymptotic").pvalue, rel=1e-6)


def test_ties_on_both_sides_count_in_the_variance() -> None:
    rng = np.random.default_rng(0)
    sides = [{"a": rng.integers(0, 3, 25).astype(float), "b": rng.integers(0, 3, 20).astype(float)} for _ in range(2)]
    gold, other = (
        Evaluation(name, "higher", ("a", "b"), np.zeros(2), texts)
        for name, texts in zip(("gold", "m"), sides, strict=True)
    )
    pooled = text_correlation(gold, other, "kendall", "no grouping", n_resamples=0)
    assert pooled is not None
    peer = stats.kendalltau(*(np.concatenate(list(texts.values())) for texts in sides), method="asymptotic")
    assert pooled.p == pytest.approx(peer.pvalue, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_other_generators_change_what_is_pooled(kind: CorrelationKind) -> None:
    """Equal texts within a generator: only the draw of generators can move the correlation of all texts."""
    rng = np.random.default_rng(1)
    names = tuple(f"g{i}" for i in range(8))
    gold, other = (
        Evaluation(name, "higher", names, means, {g: np.full(5, mean) for g, mean in zip(names, means, strict=True)})
        for name, means in (("gold", np.arange(8.0)), ("m", np.arange(8.0) + 2 * rng.normal(size=8)))
    )
    found = text_correlation(gold, other, kind, "no grouping", n_resamples=100)
    assert found is not None
    assert found.high - found.low > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_p_values_within_generators_are_uniform_where_texts_say_nothing(kind: CorrelationKind) -> None:
    p = []
    for seed in range(120):
        gold, other = _pair(seed, slope=0.0)
        found = text_correlation(gold, other, kind, n_resamples=0)
        assert found is not None
        p.append(found.p)
    assert stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_draws_without_repeats_give_the_value(kind: CorrelationKind) -> None:
    """Weights of one each are the sample itself: the weighted sums are then the plain correlations."""
    from textassay_lab.meta_evaluation.text_correlations import _weighted

    gold, other = _pair(3)
    assert gold.texts is not None
    assert other.texts is not None
    group = np.array([gold.texts["g1"], other.texts["g1"]])
    weights = np.array([np.ones(30), np.r_[np.zeros(10), np.ones(20)], np.r_[2.0, np.zeros(28), 1.0]])
    found = _weighted(group, kind)(weights)
    assert found[0] == pytest.approx(SCIPY[kind](*group).statistic)
    assert found[1] == pytest.approx(SCIPY[kind](*group[:, 10:]).statistic)
    twice = np.array([group[:, 0], group[:, 0], group[:, 29]]).T
    assert found[2] == pytest.approx(SCIPY[kind](*twice).statistic)


@pytest.mark.parametrize("grouping", ["group by generator", "no grouping"])
def test_intervals_lie_around_the_value(grouping: str) -> None:
    gold, other = _pair(1, sizes=(60,) * 8)
    for kind in KINDS:
        found = text_correlation(gold, other, kind, grouping, n_resamples=200)  # type: ignore[arg-type]
        again = text_correlation(gold, other, kind, grouping, n_resamples=200)  # type: ignore[arg-type]
        assert found is not None
        assert found == again
        assert found.low < found.high < found.low + 0.6
        assert grouping == "no grouping" or found.low < found.value < found.high


@pytest.mark.slow
def test_intervals_within_generators_cover() -> None:
    hits, truth = 0, 0.5
    for seed in range(150):
        rng = np.random.default_rng(seed)
        names = tuple(f"g{i}" for i in range(10))
        gold = {g: rng.normal(size=40) for g in names}
        other = {g: truth * t + np.sqrt(1 - truth**2) * rng.normal(size=40) for g, t in gold.items()}
        made = [
            Evaluation(n, "higher", names, np.array([x.mean() for x in t.values()]), t)
            for n, t in (("gold", gold), ("m", other))
        ]
        found = text_correlation(made[0], made[1], "pearson", n_resamples=300, seed=seed)
        assert found is not None
        hits += found.low <= truth <= found.high
    assert hits / 150 >= 0.88


def test_items_are_columns() -> None:
    gold, other = _pair(2, sizes=(12, 12, 12, 12))
    found = text_correlation(gold, other, "pearson", "group by item", n_resamples=100)
    assert found is not None
    assert gold.texts is not None
    assert other.texts is not None
    columns = [np.array([side[g] for g in gold.generators]).T for side in (gold.texts, other.texts)]
    peers = [stats.pearsonr(x, y).statistic for x, y in zip(*columns, strict=True)]
    assert found.value == pytest.approx(np.mean(peers))
    assert found.low < found.value < found.high
    gold_of_others, other_of_others = _pair(0)
    with pytest.raises(InputError, match="one text for each input"):
        text_correlation(gold_of_others, other_of_others, "pearson", "group by item")


def test_constant_generators_and_missing_scores_are_counted() -> None:
    texts = {"a": np.array([1.0, 1.0, 1.0]), "b": np.array([1.0, 2.0, np.nan, 3.0])}
    theirs = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 4.0, 9.0, 6.0])}
    gold = Evaluation("gold", "higher", ("a", "b"), np.array([1.0, 2.0]), texts)
    other = Evaluation("m", "lower", ("a", "b"), np.array([2.0, 5.0]), theirs)
    found = text_correlation(gold, other, "spearman", n_resamples=0)
    assert found is not None
    assert found.value == pytest.approx(-1.0)
    assert (found.n_texts, found.n_groups, found.n_undefined) == (6, 1, 1)
    assert np.isnan(found.low)


def test_without_scores_there_is_nothing() -> None:
    gold, other = _pair(0)
    bare = Evaluation("bare", "higher", gold.generators, gold.values)
    assert text_correlation(gold, bare) is None
    with pytest.raises(OptionError, match="grouping 'by page'"):
        text_correlation(gold, other, "kendall", "by page")  # type: ignore[arg-type]
