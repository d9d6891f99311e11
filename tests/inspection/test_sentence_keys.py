"""Sentence keys: equal for equal tokens only; repeats at any size without drawing."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.inspection.sentence_keys import expected_repeats, n_distinct, occurs_elsewhere, occurs_in, sentence_keys


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=5), min_size=1, max_size=30))
def test_keys_are_equal_exactly_where_tokens_are(sentences: list[list[str]]) -> None:
    keys = sentence_keys(Corpus.from_texts([" ".join(tokens) for tokens in sentences]))
    for first, second in itertools.combinations(range(len(sentences)), 2):
        assert (keys[first] == keys[second]) == (sentences[first] == sentences[second])


def test_keys_compare_between_corpora_of_any_length() -> None:
    corpora = corpora_from_texts({"a": ["x y", "", "z"], "b": ["z", "y x", "x  y", "x y " + "z " * 1000]})
    a, b = sentence_keys(corpora["a"]), sentence_keys(corpora["b"])
    assert occurs_in(a, b).tolist() == [True, False, True]
    assert occurs_in(b, a).tolist() == [True, False, True, False]


def test_keys_of_many_sentences_differ() -> None:
    texts = [f"{a} {b} {c}" for a in range(60) for b in range(60) for c in range(60)]
    assert n_distinct(sentence_keys(Corpus.from_texts(texts))) == len(texts)


def test_counting() -> None:
    keys = np.array([5, 1, 5, 2, 5], dtype=np.uint64)
    assert n_distinct(keys) == 3
    assert n_distinct(keys[:0]) == 0
    assert occurs_elsewhere(keys).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("n_drawn", [1, 2, 3, 4, 5, 6])
def test_expected_repeats_are_the_mean_over_all_draws(n_drawn: int) -> None:
    keys = np.array([5, 1, 5, 2, 5, 1], dtype=np.uint64)
    draws = [1 - len(set(draw)) / n_drawn for draw in itertools.combinations(keys.tolist(), n_drawn)]
    assert expected_repeats(keys, n_drawn) == pytest.approx(np.mean(draws), abs=1e-12)
