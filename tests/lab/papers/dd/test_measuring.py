"""Costs under a model and the exact discrepancy, of sentences that were cut, by hand and by enumeration."""

import numpy as np
import pytest

from tabled import all_sentences, corpus_of
from textassay.errors import InputError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AsDrawn
from textassay_lab.papers.dd.experiment import exact_estimate, model_cost

TEXT = corpus_of(["a b a", "b a", "a a b", "b", "a b", ""] * 3)
OTHER = corpus_of(["a b", "a b b", "b b a", "a", "a a a"] * 3)
LONGEST = 3


def fitted(order: int = 2) -> NgramModel:
    return NgramModel(order, max_length=LONGEST).fit(TEXT)


def test_the_cost_of_a_token_counts_ends_only_where_they_were_drawn() -> None:
    model, scored = fitted(), corpus_of(["a b a", "b", "", "b b"])
    tokens = model.token_log_probs(scored)  # (a b a .) (b .) (.) (b b .)
    by_hand = -(tokens.sum() - tokens[3]) / (3 + 2 + 1 + 3)
    for scores_real in (True, False):
        found = model_cost("m", model, scored, TEXT, longest=LONGEST, scores_real=scores_real, seed=0)
        assert found.value == pytest.approx(by_hand, abs=1e-12)
        assert found.sizes == {"n_real": 4, "n_generated": 18, "n_tokens": 9} if scores_real else {
            "n_real": 18, "n_generated": 4, "n_tokens": 9
        }  # fmt: skip
        assert found.evidence is not None
        terms = found.evidence.real_terms if scores_real else found.evidence.generated_terms
        assert terms is not None
        assert terms.mean() == pytest.approx(by_hand, abs=1e-12)


def test_the_cost_of_what_a_model_draws_is_its_entropy() -> None:
    model = fitted()
    space = all_sentences(("a", "b", "<unk>"), LONGEST)
    scores = AsDrawn(model, TEXT.vocabulary).log_prob(space)
    counted = np.minimum(space.lengths + 1, LONGEST)
    expected = -(np.exp(scores) * scores).sum() / (np.exp(scores) * counted).sum()
    drawn = AsDrawn(model, TEXT.vocabulary).sample(20_000, seed=1)
    found = model_cost("m", model, drawn, TEXT, longest=LONGEST, scores_real=False, seed=0)
    assert found.interval is not None
    assert found.value == pytest.approx(expected, abs=found.interval.high - found.interval.low)


def test_what_cannot_be_drawn_has_no_cost() -> None:
    longer = corpus_of(["a b", "a b a b"])
    with pytest.raises(InputError, match="gives a sentence probability 0"):
        model_cost("m", fitted(), longer, TEXT, longest=LONGEST, scores_real=True, seed=0)


def test_the_exact_discrepancy_is_that_of_enumeration_and_says_where_it_is_not() -> None:
    models = fitted(), NgramModel(1, max_length=LONGEST).fit(OTHER)
    draws = [
        AsDrawn(model, TEXT.vocabulary).sample(10_000, seed=seed).with_vocabulary(TEXT.vocabulary)
        for seed, model in enumerate(models)
    ]
    space = all_sentences(("a", "b", "<unk>"), LONGEST)
    first, second = (np.exp(AsDrawn(model, TEXT.vocabulary).log_prob(space)) for model in models)
    found, truth = exact_estimate(*models, *draws, longest=LONGEST, seed=0)
    assert found.interval is not None
    assert found.value == pytest.approx(np.abs(first - second).sum() / 2, abs=found.interval.high - found.interval.low)
    assert found.value == truth.value
    assert found.evidence is not None
    terms = [found.evidence.real_terms, found.evidence.generated_terms]
    assert [np.mean(side) for side in terms if side is not None] == pytest.approx([found.value] * 2, abs=1e-12)
    variance = sum(float(np.var(side, ddof=1)) / len(side) for side in terms if side is not None)
    assert 2 * 1.959964 * np.sqrt(variance) == pytest.approx(found.interval.high - found.interval.low, rel=1e-6)
    with pytest.warns(UserWarning, match="estimators are .* standard errors apart"):
        exact_estimate(*models[::-1], *draws, longest=LONGEST, seed=0)
