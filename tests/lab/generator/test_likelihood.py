"""Cross-entropy, perplexity and bits against arithmetic, and the choice of an order."""

import math

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError
from textassay.ngram.kneser_ney import LeaveOutModels, choose_order, count_ngrams, sentence_nll
from textassay.ngram.language_model import Likelihood, bits, likelihood, n_characters, perplexity
from textassay.ngram.model import NgramModel


def _uniform() -> NgramModel:
    """Return a model in which 25 letters, <unk> and the end of the sentence are equally likely at every place."""
    letters = [chr(ord("a") + number) for number in range(25)]
    corpus = corpora_from_texts({"train": ["".join(letters)]}, tokenizer="chars")["train"]
    model = NgramModel(1).fit(corpus)
    model.model.probs[1:] = 1 / 27
    return model


@pytest.mark.feature("A-06")
def test_uniform_over_27_is_log2_27_bits() -> None:
    model = _uniform()
    corpus = corpora_from_texts({"text": ["abcabc", "xyz?"]}, tokenizer="chars")["text"]
    found = likelihood(model, corpus, ends=False)
    assert (found.n_tokens, found.n_characters) == (10, 10)
    assert round(found.bits_per_token, 4) == round(found.bits_per_character, 4) == 4.7549
    assert found.bits_per_character == pytest.approx(math.log2(27), abs=1e-12)
    assert found.perplexity == pytest.approx(2**found.bits_per_token, rel=1e-12)
    assert found.perplexity == pytest.approx(27, rel=1e-12)
    with_ends = likelihood(model, corpus)
    assert (with_ends.n_tokens, with_ends.n_characters) == (12, 12)
    assert with_ends.nll_per_token == pytest.approx(math.log(27), abs=1e-12)


@pytest.mark.feature("A-06")
def test_words_count_their_characters() -> None:
    corpora = corpora_from_texts({"train": ["a bcd", "a a"] * 3, "text": ["bcd  a", "", "a zz a"]})
    assert n_characters(corpora["text"]) == 5 + 1 + 0 + 1 + 6 + 1
    assert n_characters(corpora["text"], ends=False) == 11
    model = NgramModel(2).fit(corpora["train"])
    found = likelihood(model, corpora["text"])
    total = model.log_prob(corpora["text"]).sum()
    assert found.log_prob == pytest.approx(total)
    assert found.nll_per_token == pytest.approx(-total / 8)
    assert found.bits_per_token == pytest.approx(-total / 8 / math.log(2))
    assert found.bits_per_character == pytest.approx(-total / 14 / math.log(2))
    assert found.perplexity == pytest.approx(math.exp(-total / 8))
    without_ends = likelihood(model, corpora["text"], ends=False)
    inside = [True, True, False, False, True, True, True, False]  # "bcd a", its end, that of "", "a zz a", its end
    assert without_ends.log_prob == pytest.approx(model.token_log_probs(corpora["text"])[inside].sum())
    assert (without_ends.n_tokens, without_ends.n_characters) == (5, 11)


def test_extremes() -> None:
    assert perplexity(0.0) == 1
    assert perplexity(1e6) == math.inf
    assert bits(math.log(8)) == pytest.approx(3)
    assert Likelihood(-math.inf, 3, 9).perplexity == math.inf
    corpora = corpora_from_texts({"train": ["a b", "a"], "empty": [], "blank": [""]})
    model = NgramModel(1).fit(corpora["train"])
    with pytest.raises(EmptyCorpusError, match="no sentence"):
        likelihood(model, corpora["empty"])
    with pytest.raises(EmptyCorpusError, match="no token"):
        likelihood(model, corpora["blank"], ends=False)
    assert likelihood(model, corpora["blank"]).n_tokens == 1


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    return corpora_from_texts({"train": sentences(300, 1), "valid": sentences(60, 2)})


def test_the_order_is_the_one_with_the_lowest_cross_entropy(corpora: dict[str, Corpus]) -> None:
    train, valid = corpora["train"], corpora["valid"]
    counts = count_ngrams(train.tokens, train.offsets, order=4, n_types=len(train.vocabulary))
    found = choose_order(counts, valid)
    expected = {order: likelihood(NgramModel(order).fit(train), valid).nll_per_token for order in range(1, 5)}
    assert found.nll_per_token == pytest.approx(expected, abs=1e-12)
    assert found.order == min(expected, key=lambda order: expected[order]) == 2  # the language is a bigram language
    with pytest.raises(EmptyCorpusError, match="validation text"):
        choose_order(counts, valid.take(np.array([], dtype=np.int64)))


@pytest.mark.parametrize("own_valid", [False, True])
def test_models_without_a_group_are_those_fitted_without_it(corpora: dict[str, Corpus], own_valid: bool) -> None:
    train, text = corpora["train"], corpora["valid"]
    groups = np.random.default_rng(0).integers(0, 12, len(train))
    models = LeaveOutModels.fit(train, groups, valid=text if own_valid else None)
    order = models.choice.order

    def nll(without: int | None, scored: Corpus) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        kept = train if without is None else train.take(np.flatnonzero(groups != without))
        return -NgramModel(order).fit(kept).log_prob(scored)

    assert models.nll(text) == pytest.approx(nll(None, text), abs=1e-10)
    assert models.nll_without(text) == pytest.approx([nll(group, text).sum() for group in range(12)], abs=1e-9)
    held_out = models.nll_held_out()
    for group in range(12):
        own = np.flatnonzero(groups == group)
        assert held_out[own] == pytest.approx(nll(group, train.take(own)), abs=1e-10)
    if not own_valid:
        kept = train.take(np.flatnonzero(groups != 0))
        valid = train.take(np.flatnonzero(groups == 0))
        expected = {order: likelihood(NgramModel(order).fit(kept), valid).nll_per_token for order in range(1, 6)}
        assert models.choice.nll_per_token == pytest.approx(expected, abs=1e-12)


def test_sentence_nll_sums_within_sentences() -> None:
    assert sentence_nll(np.array([-1.0, -2.0, -4.0]), np.array([0, 2, 3])).tolist() == [3.0, 4.0]
