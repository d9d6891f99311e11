"""Pairs of generators: calls by hand, accuracies with ties, p-values by permutation, soft accuracy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from textassay.errors import InputError
from textassay.resampling.multiplicity import holm
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.pairwise import (
    calls,
    pair_p_values,
    pairwise_accuracy,
    separation,
    soft_pairwise_accuracy,
)


def _known(name: str, values: list[float]) -> Evaluation:
    return Evaluation(name, "higher", tuple("abcdef"[: len(values)]), np.array(values))


def _of_texts(name: str, means: list[float], *, seed: int, n: int = 30, spread: float = 1.0) -> Evaluation:
    rng = np.random.default_rng(seed)
    texts = {g: m + spread * rng.normal(size=n) for g, m in zip("abcdef", means, strict=False)}
    return Evaluation(name, "higher", tuple(texts), np.array([t.mean() for t in texts.values()]), texts)


def test_calls_by_hand() -> None:
    found = calls(_known("gold", [3.0, 1.0, 1.0]), _known("m", [2.0, 2.0, 5.0]))
    assert [(c.better, c.worse, c.gold_difference, c.difference, c.verdict) for c in found] == [
        ("a", "b", 2.0, 0.0, "tie"),
        ("a", "c", 2.0, -3.0, "wrong"),
    ]
    assert all(call.gold_separates() for call in found)  # a known order is sure of itself


def test_accuracy_counts_ties_on_both_sides() -> None:
    gold = _known("gold", [3.0, 1.0, 1.0, 0.0])  # five ordered pairs and a tie
    assert pairwise_accuracy(gold, _known("m", [9.0, 5.0, 5.0, 1.0])) == 1.0
    assert pairwise_accuracy(gold, _known("m", [9.0, 5.0, 4.9, 1.0])) == pytest.approx(5 / 6)
    assert pairwise_accuracy(gold, _known("m", [9.0, 5.0, 4.9, 1.0]), epsilon=0.2) == 1.0
    assert pairwise_accuracy(gold, _known("m", [1.0, 1.0, 1.0, 1.0])) == pytest.approx(1 / 6)


def test_separation_is_welchs_test() -> None:
    found = _of_texts("m", [0.0, 0.5, 1.0], seed=0)
    p = separation(found)
    assert p is not None
    assert found.texts is not None
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    peer = [stats.ttest_ind(found.texts[x], found.texts[y], equal_var=False).pvalue for x, y in pairs]
    assert [p[0, 1], p[0, 2], p[1, 2]] == pytest.approx(holm(np.array(peer)))
    assert separation(_known("m", [1.0, 2.0])) is None


@pytest.mark.parametrize("aligned", [False, True])
def test_p_values_are_those_of_a_permutation_test(aligned: bool) -> None:
    found = _of_texts("m", [0.0, 0.3], seed=1)
    p = pair_p_values([found], aligned=aligned, n_resamples=4000)[0]
    assert found.texts is not None
    peer = stats.permutation_test(
        (found.texts["a"], found.texts["b"]), lambda x, y: x.mean() - y.mean(), n_resamples=4000, alternative="greater",
        permutation_type="samples" if aligned else "independent", vectorized=False, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert p[0, 1] == pytest.approx(peer.pvalue, abs=0.03)
    assert p[0, 1] + p[1, 0] == pytest.approx(1)
    assert p[0, 0] == 0.5


def test_unequal_numbers_of_texts_are_dealt_out_as_they_are() -> None:
    rng = np.random.default_rng(3)
    texts = {"a": 0.4 + rng.normal(size=40), "b": rng.normal(size=10)}
    found = Evaluation("m", "higher", ("a", "b"), np.array([x.mean() for x in texts.values()]), texts)
    peer = stats.permutation_test(
        tuple(texts.values()), lambda x, y: x.mean() - y.mean(), n_resamples=4000, alternative="greater",
        permutation_type="independent", vectorized=False, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert pair_p_values([found], n_resamples=4000)[0, 0, 1] == pytest.approx(peer.pvalue, abs=0.03)


def test_a_draw_that_equals_what_was_seen_counts_half() -> None:
    texts = {"a": np.ones(6), "b": np.ones(6)}  # whatever is dealt out, the difference is 0
    found = Evaluation("m", "higher", ("a", "b"), np.ones(2), texts)
    assert pair_p_values([found], n_resamples=99)[0, 0, 1] == 0.5


def test_p_values_of_equal_generators_are_uniform() -> None:
    p = [pair_p_values([_of_texts("m", [0.0, 0.0], seed=s)], n_resamples=200, seed=s)[0, 0, 1] for s in range(300)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_soft_accuracy_by_hand() -> None:
    gold = np.array([[0.5, 0.1, 0.0], [0.9, 0.5, 0.5], [1.0, 0.5, 0.5]])
    metric = np.array([[0.5, 0.3, 1.0], [0.7, 0.5, 0.4], [0.0, 0.6, 0.5]])
    assert soft_pairwise_accuracy(gold, metric) == pytest.approx((0.8 + 0.0 + 0.9) / 3)
    assert soft_pairwise_accuracy(gold, gold) == 1.0
    silent = np.full((3, 3), 0.5)
    assert soft_pairwise_accuracy(gold, silent) >= 0.5
    assert np.isnan(soft_pairwise_accuracy(gold, np.full((3, 3), np.nan)))


def test_evaluators_with_other_numbers_of_texts_and_none() -> None:
    few, many = (
        replace(_of_texts(name, [0.0, 2.0], seed=n, n=n), texts=None) for name, n in (("few", 10), ("many", 50))
    )
    p = pair_p_values([few, _known("none", [0.0, 1.0]), many], n_resamples=300)
    assert np.isnan(p[1]).all()
    assert p[0, 0, 1] > 0.99
    assert p[2, 0, 1] > 0.99
    assert np.array_equal(p[2], pair_p_values([many], n_resamples=300)[0])


def test_aligned_texts_need_one_for_each_input() -> None:
    texts = {"a": np.arange(3.0), "b": np.arange(4.0)}
    uneven = Evaluation("m", "higher", ("a", "b"), np.array([1.0, 1.5]), texts)
    with pytest.raises(InputError, match="one text for each input"):
        pair_p_values([uneven], aligned=True)
