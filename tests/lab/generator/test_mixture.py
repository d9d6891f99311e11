"""Probabilities of a mixture are weighted sums, its draws follow them, and no two of its parts share draws."""

import numpy as np
import pytest

from tabled import Tabled, all_sentences, corpus_of, draws_fit, toy
from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.scored import Mixture

TRAIN = corpus_of(["a b", "b a a", "b", "a b b", "a", ""] * 3)


def test_probabilities_of_all_sentences_sum_to_one() -> None:
    halves = [PositionUnigram().fit(TRAIN.take(np.arange(k, len(TRAIN), 2))) for k in (0, 1)]
    everything = all_sentences(("a", "b", "<unk>"), 3)
    assert np.exp(Mixture(halves, [0.3, 0.7]).log_prob(everything)).sum() == pytest.approx(1, abs=1e-12)


def test_a_probability_is_the_weighted_sum() -> None:
    p, q = toy({"A A": 1.0})
    scores = Mixture([p, q], [0.4, 0.6]).log_prob(corpus_of(["A A", "A B", "C"]))
    assert np.exp(scores) == pytest.approx([0.4 * 0.25 + 0.6, 0.4 * 0.25, 0.0])
    assert np.exp(Mixture([p, q], [0.0, 1.0]).log_prob(corpus_of(["A B"]))).tolist() == [0.0]


def test_draws_follow_the_probabilities() -> None:
    ngrams = [NgramModel(order).fit(TRAIN) for order in (1, 3)]
    assert draws_fit(Mixture(ngrams, [0.25, 0.75]))
    assert draws_fit(Mixture([ngrams[0], Mixture(ngrams, [0.5, 0.5])], [0.4, 0.6]))


def test_seeds_do_as_promised() -> None:
    ngram = NgramModel(2).fit(TRAIN)
    mixture = Mixture([ngram, PositionUnigram().fit(TRAIN)], [0.5, 0.5])
    sample = mixture.sample(300, seed=7)
    assert sample.texts == mixture.sample(300, seed=7).texts
    assert sample.texts[:20] == mixture.sample(20, seed=7).texts
    assert sample.texts != mixture.sample(300, seed=8).texts


def test_parts_draw_sentences_of_their_own() -> None:
    """The same generator, alone or in two places, with one seed: else a comparison would see its own training text."""
    train = corpus_of([f"w{i} w{(7 * i) % 50} w{(3 * i) % 50} w{(11 * i) % 50}" for i in range(50)])
    ngram = NgramModel(1).fit(train)
    alone = set(ngram.sample(200, seed=3).texts)
    mixed = Mixture([ngram, ngram], [0.5, 0.5]).sample(200, seed=3)
    long = [text for text in mixed.texts if len(text.split()) > 3]
    assert len(long) > 50
    assert len(set(long)) == len(long)
    assert not set(long) & alone


def test_a_part_without_weight_is_never_drawn() -> None:
    p, q = toy({"B A": 1.0})
    assert set(Mixture([p, q, p], [0.0, 1.0, 0.0]).sample(100, seed=0).texts) == {"B A"}
    ten = [Tabled({"A": 1.0}, p.vocabulary)] * 10
    assert len(Mixture(ten, [0.1] * 10).sample(500, seed=0)) == 500


def test_refusals() -> None:
    p, q = toy()
    with pytest.raises(OptionError, match="one weight a generator, got 2 and 1"):
        Mixture([p, q], [1.0])
    with pytest.raises(OptionError, match=r"at least 0 and sum to 1, got 0\.5, 0\.6"):
        Mixture([p, q], [0.5, 0.6])
    with pytest.raises(OptionError, match="at least 0 and sum to 1"):
        Mixture([p, q], [-0.5, 1.5])
    with pytest.raises(OptionError, match="n must be at least 1, got 0"):
        Mixture([p], [1.0]).sample(0, seed=0)
    with pytest.raises(OptionError, match="seed must be at least 0, got -1"):
        Mixture([p], [1.0]).sample(1, seed=-1)
    other = Tabled(p.table, Vocabulary(["B", "A"]))
    with pytest.raises(InputError, match="must have one vocabulary"):
        Mixture([p, other], [0.5, 0.5]).sample(100, seed=0)
