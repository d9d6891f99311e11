"""Closed vocabularies and cut sentences: probabilities are those of what is drawn."""

from itertools import pairwise

import numpy as np
import pytest

from tabled import all_sentences, corpus_of, draws_fit
from textassay.corpus.encoding import Vocabulary
from textassay.errors import OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AsDrawn

TEXT = corpus_of(["a b a", "b a", "a a b b a", "b", "a b"] * 3)
EVERYTHING = all_sentences(("a", "b", "x", "<unk>"), 4)


@pytest.fixture
def model() -> NgramModel:
    return NgramModel(2, max_length=4).fit(TEXT)


@pytest.mark.parametrize("max_length", [None, 4, 3, 1])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_probabilities_of_what_can_be_drawn_sum_to_one(
    model: NgramModel, max_length: int | None, temperature: float
) -> None:
    drawn = AsDrawn(model, TEXT.vocabulary, temperature=temperature, max_length=max_length)
    assert np.exp(drawn.log_prob(EVERYTHING)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("max_length", [4, 2])
def test_draws_are_as_frequent_as_the_probabilities_say(model: NgramModel, max_length: int) -> None:
    assert draws_fit(AsDrawn(model, TEXT.vocabulary, temperature=0.8, max_length=max_length))


def test_a_foreign_word_is_never_drawn_but_unk_is(model: NgramModel) -> None:
    drawn = AsDrawn(model, TEXT.vocabulary)
    scores = drawn.log_prob(corpus_of(["a x", "a <unk>", "a b", ""]))
    assert np.isneginf(scores[0])
    assert np.isfinite(scores[1:]).all()
    plain = model.log_prob(corpus_of(["a x", "a <unk>", "a b", ""]))
    assert plain[0] == plain[1], "the model itself takes the word for <unk>"
    assert scores[1:].tolist() == plain[1:].tolist()


def test_samples_are_cut_and_nothing_is_said(model: NgramModel) -> None:
    whole = AsDrawn(model, TEXT.vocabulary).sample(200, seed=1)
    cut = AsDrawn(model, TEXT.vocabulary, max_length=2).sample(200, seed=1)
    assert whole.lengths.max() == 4
    for index, (start, stop) in enumerate(pairwise(cut.offsets.tolist())):
        assert cut.tokens[start:stop].tolist() == whole.vocabulary.encode(whole.sentence(index)[:2]).tolist()


def test_settings_out_of_range(model: NgramModel) -> None:
    with pytest.raises(OptionError, match="at most 4, the model's own, got 5"):
        AsDrawn(model, TEXT.vocabulary, max_length=5)
    with pytest.raises(OptionError, match="temperature must be above 0, got 0"):
        AsDrawn(model, Vocabulary(), temperature=0)
