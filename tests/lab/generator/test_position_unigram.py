"""The position-unigram model: probabilities that sum to one, draws that follow them, and a hand-worked case."""

import numpy as np
import pytest

from tabled import all_sentences, corpus_of, draws_fit
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay_lab.generator.position_unigram_model import PositionUnigram

TRAIN = corpus_of(["a b", "b a a", "b", "a b b", "a", ""] * 3)


@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
def test_probabilities_of_all_sentences_sum_to_one(strength: float) -> None:
    model = PositionUnigram(strength=strength).fit(TRAIN)
    everything = all_sentences(("a", "b", "<unk>"), 3)
    assert np.exp(model.log_prob(everything)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.feature("EB-35")
def test_a_probability_by_hand() -> None:
    model = PositionUnigram(strength=2.0).fit(corpus_of(["a b", "a"]))
    # Lengths 0, 1, 2 were counted 0, 1, 1 times; each gets a third more, out of 3.
    length = (1 + 1 / 3) / 3
    # The types are <unk>, a and b; a is 2 of 3 tokens, b 1 of 3.
    share_a, share_b = (2 + 1 / 3) / 4, (1 + 1 / 3) / 4
    first, second = (2 + 2 * share_a) / 4, (1 + 2 * share_b) / 3
    scores = np.exp(model.log_prob(corpus_of(["a b", "a", "", "a b a"])))
    assert scores == pytest.approx([length * first * second, length * first, 1 / 9, 0.0])


def test_draws_follow_the_probabilities() -> None:
    assert draws_fit(PositionUnigram(strength=1.0).fit(TRAIN))


@pytest.mark.feature("EB-35")
def test_tokens_add_up_to_sentences_and_follow_their_prefixes() -> None:
    model = PositionUnigram(strength=1.0).fit(TRAIN)
    corpus = corpus_of(["a b", "", "b b b", "a b a a", "a <unk>"])
    tokens = model.token_log_probs(corpus)
    np.testing.assert_allclose(np.add.reduceat(tokens, corpus.offsets[:-1] + np.arange(5)), model.log_prob(corpus))
    assert np.isfinite(tokens[:11]).all()
    assert tokens[11:13] == pytest.approx([-np.inf] * 2)  # a fourth token, and the end after it, never come
    following = model.next_log_probs(corpus_of(["", "a", "b", "a b", "a b b"]))
    np.testing.assert_allclose(np.exp(following).sum(axis=1), 1)
    np.testing.assert_array_equal(following[1], following[2])
    assert following[[0, 1, 3], [*TRAIN.vocabulary.encode(["a", "b"]), 1]] == pytest.approx(tokens[:3])
    assert following[4, 1] == 0
    assert np.isnan(model.next_log_probs(corpus_of(["a b b a"]))).all()


def test_seeds_do_as_promised() -> None:
    model = PositionUnigram().fit(TRAIN)
    sample = model.sample(300, seed=7)
    assert sample.texts == model.sample(300, seed=7).texts
    assert sample.texts[:20] == model.sample(20, seed=7).texts
    assert sample.texts != model.sample(300, seed=8).texts
    assert sample.vocabulary is TRAIN.vocabulary


def test_refusals() -> None:
    with pytest.raises(InputError, match="is not fitted: call fit first"):
        PositionUnigram().sample(1, seed=0)
    with pytest.raises(EmptyCorpusError, match="the training corpus has no sentence"):
        PositionUnigram().fit(corpus_of([]))
    with pytest.raises(OptionError, match="strength must be above 0, got 0"):
        PositionUnigram(strength=0)
    model = PositionUnigram().fit(TRAIN)
    with pytest.raises(OptionError, match=r"supports temperature 1 only, got 0\.5"):
        model.sample(1, seed=0, temperature=0.5)
    with pytest.raises(OptionError, match="takes no prefix"):
        model.sample(1, seed=0, prefix=TRAIN)
