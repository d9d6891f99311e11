"""What a text costs: values by hand, intervals that cover."""

import math

import numpy as np
import pytest

from tabled import Tabled, corpus_of
from textassay.corpus.encoding import Vocabulary
from textassay.errors import EmptyCorpusError, OptionError
from textassay_lab.generator.text_likelihood import text_likelihood

VOCABULARY = Vocabulary(["aa", "b"])


def test_values_by_hand() -> None:
    model = Tabled({"aa b": 1 / 4, "b": 1 / 8}, VOCABULARY)
    corpus = corpus_of(["aa b", "b", "b"]).with_vocabulary(VOCABULARY)
    found = text_likelihood(model, corpus)
    assert (found.n_sentences, found.n_tokens, found.n_characters) == (3, 4, 6)
    assert found.bits_per_token.value == pytest.approx((2 + 3 + 3) / (4 + 3))
    assert found.bits_per_character.value == pytest.approx((2 + 3 + 3) / (6 + 3))
    assert found.nll_per_sentence.value == pytest.approx(8 * math.log(2) / 3)
    assert found.perplexity.value == pytest.approx(2 ** (8 / 7))
    assert found.unknown_share == 0


def test_characters_are_those_that_were_read_whatever_is_unknown() -> None:
    corpus = corpus_of(["aa zebra"]).with_vocabulary(VOCABULARY)
    found = text_likelihood(Tabled({"aa zebra": 1 / 2}, VOCABULARY), corpus)
    assert (found.n_characters, found.unknown_share) == (8, 0.5)
    assert found.bits_per_character.value == pytest.approx(1 / 9)


def test_one_sentence_has_no_interval() -> None:
    found = text_likelihood(Tabled({"b": 0.5}, VOCABULARY), corpus_of(["b"]))
    assert found.perplexity.interval is None
    assert found.perplexity.to_dict() == {"value": pytest.approx(math.sqrt(2)), "low": None, "high": None}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_impossible_sentence_is_counted_and_makes_no_number() -> None:
    found = text_likelihood(Tabled({"b": 0.5}, VOCABULARY), corpus_of(["b", "aa"]))
    assert found.n_impossible == 1
    assert found.perplexity.value == math.inf
    assert found.to_dict()["perplexity"] == {"value": None, "low": None, "high": None}


def test_interval_covers_the_ratio() -> None:
    """Sentences of very different lengths and costs: the interval holds the true cost of a token as often as said."""
    table = {"b": 0.5, "aa b b": 0.3, "aa aa aa aa b b b": 0.2}
    model = Tabled({"b": 0.4, "aa b b": 0.1, "aa aa aa aa b b b": 1e-5}, VOCABULARY, drawn_by=table)
    costs = sum(share * -math.log(model.table[text]) for text, share in table.items())
    truth = costs / sum(share * (len(text.split()) + 1) for text, share in table.items())
    hits = 0
    for seed in range(300):
        found = text_likelihood(model, model.sample(60, seed=seed), level=0.9).nll_per_token.interval
        assert found is not None
        hits += found.low <= truth <= found.high
    assert abs(hits / 300 - 0.9) < 3 * math.sqrt(0.09 / 300)


def test_bad_input() -> None:
    model = Tabled({"b": 0.5}, VOCABULARY)
    with pytest.raises(EmptyCorpusError):
        text_likelihood(model, corpus_of(["b"]).take(np.arange(0)))
    with pytest.raises(OptionError, match="level must be between 0 and 1, got 1"):
        text_likelihood(model, corpus_of(["b"]), level=1)
