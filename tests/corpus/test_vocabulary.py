"""Vocabularies: fixed special ids, unknown tokens, most frequent first."""

import pickle

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import EOS, PAD, SOS, SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import OptionError


@pytest.mark.feature("A-01")
def test_ids_zero_to_three_are_fixed_and_unknown_tokens_are_unk() -> None:
    vocabulary = Vocabulary(["b", "a", "b", "<eos>"])
    assert (PAD, EOS, SOS, UNK) == (0, 1, 2, 3)
    assert vocabulary.tokens == ("<pad>", "<eos>", "<sos>", "<unk>", "b", "a")
    assert vocabulary.encode(["a", "missing", "<pad>"]).tolist() == [5, UNK, PAD]
    assert vocabulary.decode([5, 3, 4]) == ["a", "<unk>", "b"]
    assert len(vocabulary) == 6
    assert "a" in vocabulary
    assert "missing" not in vocabulary


def test_a_negative_id_is_an_error_rather_than_the_last_token() -> None:
    with pytest.raises(OptionError, match="at least 0, got -1"):
        Vocabulary(["a"]).decode([-1])


def test_build_takes_the_most_frequent_first_and_ties_by_appearance_in_that_corpus() -> None:
    corpora = corpora_from_texts({"other": ["z y x w"], "train": ["w x y x <unk> z", "w v"]})
    assert Vocabulary.build(corpora["train"]).tokens[4:] == ("w", "x", "y", "z", "v")
    assert Vocabulary.build(corpora["train"], max_size=3).tokens[4:] == ("w", "x", "y")
    assert Vocabulary.build(corpora["train"], min_count=2).tokens[4:] == ("w", "x")
    assert Vocabulary.build(corpora["train"], max_size=0).tokens == SPECIAL_TOKENS


@pytest.mark.parametrize("settings", [{"max_size": -1}, {"min_count": 0}])
def test_build_checks_its_settings(settings: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="must be at least"):
        Vocabulary.build(Corpus.from_texts(["a"]), **settings)


@pytest.mark.feature("A-01")
def test_a_fixed_vocabulary_makes_unk_and_its_rate_is_reported() -> None:
    vocabulary = Vocabulary.build(Corpus.from_texts(["a b a"]))
    corpus = Corpus.from_texts(["a c <unk> b", "d b b a"], vocabulary=vocabulary)
    assert corpus.vocabulary is vocabulary
    assert corpus.sentence(0) == ["a", "<unk>", "<unk>", "b"]
    assert corpus.unk_rate == 3 / 8


def test_the_unk_rate_of_no_token_is_nan_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="no token"):
        assert np.isnan(Corpus.from_texts([""]).unk_rate)


def test_pickling_keeps_tokens_and_hashes() -> None:
    vocabulary = Corpus.from_texts(["caf\u00e9 a"]).vocabulary
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.tokens == vocabulary.tokens
    assert np.array_equal(copy.hashes, vocabulary.hashes)
    assert len(copy) == len(vocabulary) == 6


def test_hashes_are_fnv_1a() -> None:
    """Published test vectors: "a" is af63dc4c8601ec8c and "foobar" is 85944171f73967e8."""
    assert [hex(key) for key in Vocabulary(["a", "foobar"]).hashes[4:]] == ["0xaf63dc4c8601ec8c", "0x85944171f73967e8"]
