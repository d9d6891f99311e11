"""The discrepancy of two models against enumeration, with words of one only and sentences that are cut."""

import numpy as np
import pytest

from tabled import all_sentences, corpus_of
from textassay.errors import OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AsDrawn
from textassay_lab.meta_evaluation.model_discrepancy import ModelDiscrepancy, exact_model_discrepancy, model_discrepancy

FIRST = corpus_of(["a b a", "b a c", "a a b", "b", "a c"] * 2)
SECOND = corpus_of(["a b", "d a", "b b a", "a", "a a a"] * 2)
EVERYTHING = all_sentences(("a", "b", "c", "d", "<unk>"), 3)


def _found(temperatures: tuple[float, float] = (1.0, 1.0), seed: int = 0, n: int = 20_000) -> ModelDiscrepancy:
    p, q = NgramModel(2, max_length=4).fit(FIRST), NgramModel(1, max_length=3).fit(SECOND)
    return model_discrepancy(p, q, (FIRST.vocabulary, SECOND.vocabulary), n=n, temperatures=temperatures, seed=seed)


def _enumerated(temperatures: tuple[float, float]) -> float:
    p, q = NgramModel(2, max_length=4).fit(FIRST), NgramModel(1, max_length=3).fit(SECOND)
    scores = [
        np.exp(AsDrawn(model, text.vocabulary, temperature=temperature, max_length=3).log_prob(EVERYTHING))
        for model, text, temperature in zip((p, q), (FIRST, SECOND), temperatures, strict=True)
    ]
    assert [score.sum() for score in scores] == pytest.approx([1, 1], abs=1e-12)
    return float(np.abs(scores[0] - scores[1]).sum() / 2)


@pytest.mark.feature("DD-02")
@pytest.mark.feature("DD-03")
@pytest.mark.parametrize("temperatures", [(1.0, 1.0), (0.6, 1.0)])
def test_all_estimators_agree_with_enumeration(temperatures: tuple[float, float]) -> None:
    truth = _enumerated(temperatures)
    found = _found(temperatures)
    assert found.max_length == 3
    assert found.agrees
    for value, interval in (
        (found.truth.value, found.truth.interval),
        (found.truth.ratio, found.truth.ratio_interval),
        (found.truth.sign, found.truth.sign_interval),
    ):
        assert abs(value - truth) < 2 * (interval.high - interval.low)  # four standard errors
    widths = [
        interval.high - interval.low
        for interval in (found.truth.interval, found.truth.ratio_interval, found.truth.sign_interval)
    ]
    assert widths[0] <= widths[1] < widths[2]


@pytest.mark.feature("DD-01")
def test_the_exact_value_is_that_of_enumeration() -> None:
    p, q = NgramModel(2, max_length=4).fit(FIRST), NgramModel(1, max_length=3).fit(SECOND)
    vocabularies = FIRST.vocabulary, SECOND.vocabulary
    exact = exact_model_discrepancy(p, q, vocabularies, tokenizer="words")
    assert exact == pytest.approx(_enumerated((1.0, 1.0)), abs=1e-12)


def test_words_of_one_side_are_never_drawn_by_the_other() -> None:
    found = _found()
    scores = np.exp(
        AsDrawn(NgramModel(2, max_length=4).fit(FIRST), FIRST.vocabulary, max_length=3).log_prob(EVERYTHING)
    )
    foreign = np.array(["c" in text for text in EVERYTHING.texts])
    assert found.p.foreign_share == pytest.approx(scores[foreign].sum(), abs=0.015)
    cut = np.array([len(text.split()) == 3 for text in EVERYTHING.texts])
    assert found.p.cut_share == pytest.approx(scores[cut].sum(), abs=0.015)


@pytest.mark.feature("DD-02")
def test_symmetric() -> None:
    p, q = NgramModel(2, max_length=3).fit(FIRST), NgramModel(1, max_length=3).fit(SECOND)
    words = (FIRST.vocabulary, SECOND.vocabulary)
    there = model_discrepancy(p, q, words, n=20_000).truth
    back = model_discrepancy(q, p, words[::-1], n=20_000).truth
    assert there.value == pytest.approx(back.value, abs=there.interval.high - there.interval.low)


def test_one_model_twice_is_no_distance_and_draws_twice() -> None:
    p = NgramModel(2, max_length=5).fit(FIRST)
    found = model_discrepancy(p, p, (FIRST.vocabulary, FIRST.vocabulary), n=2_000)
    assert found.truth.value == 0
    assert found.truth.interval.low <= 0 <= found.truth.interval.high
    assert found.agrees
    assert found.p.cut_share != found.q.cut_share, "both sides drew the same sentences"


def test_too_few() -> None:
    with pytest.raises(OptionError, match="n must be at least 2, got 1"):
        _found(n=1)
