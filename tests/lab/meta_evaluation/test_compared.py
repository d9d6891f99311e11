"""From comparisons to evaluations: closer is measured from the floor, scores of texts go the way of the values."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from textassay.comparison.comparison import Comparison
from textassay.comparison.run import compare
from textassay_lab.meta_evaluation.judge import evaluations_of

NAMES = ("a", "b", "c")
METRICS = ["length", "bleu(order=2)", "self-bleu(order=2)"]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Return a comparison of generators that repeat themselves more and more, the last much more than real text."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{place}" for place in range(30)])

    def texts(power: float) -> list[str]:
        weights = np.arange(1.0, 31) ** power
        return [" ".join(rng.choice(words, 8, p=weights / weights.sum())) for _ in range(60)]

    real = texts(1.0)
    generated = dict(zip(NAMES, map(texts, (0.0, 1.0, 3.0)), strict=True))
    return compare(generated, real, metrics=METRICS, explain=False)


def test_closer_is_the_difference_from_what_real_text_scores_at_that_size(comparison: Comparison) -> None:
    found, left_out = evaluations_of(comparison)
    assert (len(found), left_out) == (3, {})
    own = next(one for one in found if one.name == "self-bleu(order=2)")
    assert own.better == "closer"
    for name, value, good in zip(own.generators, own.values, own.goodness, strict=True):
        result = comparison.result(name, own.name)
        assert result.matched is not None
        assert result.floor is not None
        assert value == pytest.approx(result.matched.value - result.floor.value)
        assert good == pytest.approx(-abs(value))
    assert own.order[0] == "b"  # not the one that repeats itself least
    assert own.goodness_terms is not None


def test_generators_may_be_chosen_and_ordered(comparison: Comparison) -> None:
    found, _ = evaluations_of(comparison, generators=("c", "a"))
    assert {one.generators for one in found} == {("c", "a")}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_beside_kept_results_go_the_way_of_the_values(comparison: Comparison, sign: float) -> None:
    kept = replace(
        comparison,
        results=tuple(
            replace(one, estimate=None if one.estimate is None else replace(one.estimate, evidence=None))
            for one in comparison.results
        ),
    )
    values = {name: comparison.result(name, "bleu(order=2)").estimate for name in NAMES}
    scores = {
        (name, "bleu(order=2)"): sign * (float(value) + np.linspace(-0.1, 0.1, 60))
        for name, value in values.items()
        if value is not None
    }
    bleu = next(one for one in evaluations_of(kept, scores=scores)[0] if one.name == "bleu(order=2)")
    assert bleu.text_goodness is not None
    means = [bleu.text_goodness[name].mean() for name in bleu.order]
    assert all(better > worse for better, worse in pairwise(means))
    unlike = {key: array - array.mean() for key, array in scores.items()}  # means that say nothing: scores are left
    assert next(one for one in evaluations_of(kept, scores=unlike)[0] if one.name == bleu.name).texts is None
