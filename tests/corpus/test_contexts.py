"""Contexts: their file, their categories, their numbers."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.contexts import (
    OTHER,
    context_numbers,
    contexts_text,
    learn_attributes,
    n_contexts,
    read_contexts,
    review_contexts,
    with_contexts,
)
from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError


def test_a_file_reads_as_it_was_written(tmp_path: Path) -> None:
    contexts = {"sentiment": ["1", "0", ""], "word": ["food", "a b", "food"]}
    (tmp_path / "contexts.tsv").write_text(contexts_text(contexts), encoding="utf-8")
    assert read_contexts(tmp_path / "contexts.tsv") == contexts


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "must name"), ("a\ta\n1\t2\n", "each once"), ("a\tb\n1\n", "line 2 of .* has 1 columns, .* names 2")],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "contexts.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_contexts(tmp_path / "contexts.tsv")
    with pytest.raises(InputError, match="cannot read"):
        read_contexts(tmp_path / "none.tsv")


def test_what_a_table_could_not_hold_is_not_written() -> None:
    with pytest.raises(InputError, match="tabs"):
        contexts_text({"word": ["a\tb"]})


def test_contexts_of_reviews_by_hand() -> None:
    texts = ["the food was great !", "i the and", "so 10 very fresh rolls and more and more here today"]
    assert review_contexts(texts, ["1", "0", "1"], bounds=(3, 5)) == {
        "sentiment": ["1", "0", "1"],
        "length": ["to 5", "to 3", "longer"],
        "word": ["food", "none", "fresh"],
    }
    with pytest.raises(InputError, match="3 sentences, but 1 labels"):
        review_contexts(texts, ["1"])


def test_rare_categories_are_others() -> None:
    assert learn_attributes({"word": ["b", "a", "a", "c", "b", "a"]}, min_count=2) == {"word": [OTHER, "a", "b"]}


def test_numbers_name_combinations_and_follow_their_sentences() -> None:
    attributes = {"x": [OTHER, "a", "d"], "y": [OTHER, "b", "c"]}
    assert n_contexts(attributes) == 9
    contexts = {"x": ["a", "z", "a"], "y": ["c", "b", "z"]}
    corpus = with_contexts(Corpus.from_texts(["one", "two", "three"]), contexts, attributes)
    assert context_numbers(corpus, attributes).tolist() == [1 + 3 * 2, 0 + 3 * 1, 1]
    assert context_numbers(corpus.take(np.array([2, 0])), attributes).tolist() == [1, 7]


def test_missing_and_wrong_contexts_are_refused() -> None:
    corpus, attributes = Corpus.from_texts(["one", "two"]), {"x": [OTHER, "a"]}
    with pytest.raises(InputError, match="no contexts"):
        context_numbers(corpus, attributes)
    with pytest.raises(InputError, match="lack 'x'"):
        with_contexts(corpus, {"y": ["a", "a"]}, attributes)
    with pytest.raises(InputError, match="2 sentences, but contexts of 1"):
        with_contexts(corpus, {"x": ["a"]}, attributes)
    known = with_contexts(corpus, {"x": ["a", "b"]}, {"x": [OTHER, "b", "a"]})
    with pytest.raises(InputError, match="places among its 2"):
        context_numbers(known, attributes)
    with pytest.raises(OptionError, match="too many"):
        n_contexts({str(k): ["a"] * 100 for k in range(10)})
