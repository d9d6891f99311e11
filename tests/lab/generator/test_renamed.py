"""Renamed words: the same probabilities under other names, and none for words without one."""

import numpy as np
import pytest

from tabled import Tabled, all_sentences, corpus_of, draws_fit
from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.scored import Renamed

TRAIN = corpus_of(["a b", "b a a", "b", "a b b", "a", ""] * 3)


def test_probabilities_are_those_of_the_words_without_the_suffix() -> None:
    model = PositionUnigram().fit(TRAIN)
    renamed = Renamed(model, TRAIN.vocabulary, "~")
    plain, other = (all_sentences(words, 3) for words in (("a", "b", "<unk>"), ("a~", "b~", "<unk>~")))
    np.testing.assert_array_equal(renamed.log_prob(other), model.log_prob(plain))
    assert np.exp(renamed.log_prob(other)).sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(renamed.log_prob(corpus_of(["a", "a~ b", "c~", "<unk>"]))).tolist() == [0, 0, 0, 0]
    assert renamed.log_prob(corpus_of([])).shape == (0,)


def test_draws_are_those_of_the_generator_with_the_suffix() -> None:
    model = NgramModel(2).fit(TRAIN)
    renamed = Renamed(model, TRAIN.vocabulary, "~")
    drawn, own = renamed.sample(300, seed=4), model.sample(300, seed=4)
    assert drawn.texts == [" ".join(f"{word}~" for word in text.split()) for text in own.texts]
    assert [" ".join(drawn.sentence(i)) for i in range(300)] == list(drawn.texts)
    assert draws_fit(renamed)


def test_refusals() -> None:
    vocabulary = Vocabulary(["a", "a~"])
    model = Tabled({"a": 1.0}, vocabulary)
    with pytest.raises(OptionError, match="suffix '~' makes 'a~', which is a word already"):
        Renamed(model, vocabulary, "~")
    for suffix in ("", " x"):
        with pytest.raises(OptionError, match="suffix must have at least 1 character and no space"):
            Renamed(model, vocabulary, suffix)
    with pytest.raises(InputError, match="has another vocabulary"):
        Renamed(model, Vocabulary(["a"]), "~").sample(1, seed=0)
