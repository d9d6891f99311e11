"""Contexts: their file, their categories, their numbers."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.contexts import (
    OTHER,
    context_numbers,
    context_places,
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
    contexts = {"sentiment": ["1", "0", "", 'a "b"'], "word": ["food", "a b", "food", "tab\t, line\nend"]}
    for of in (contexts, {"alone": ["", "x", ""]}):
        (tmp_path / "contexts.tsv").write_text(contexts_text(of), encoding="utf-8")
        assert read_contexts(tmp_path / "contexts.tsv") == of


def test_tables_are_read_as_those_of_text_are(tmp_path: Path) -> None:
    told = {"sentiment": ["1", "0"], "word": ["food", "a, b"]}
    (tmp_path / "bom.tsv").write_bytes(b"\xef\xbb\xbfsentiment\tword\r\n1\tfood\r\n0\ta, b\r\n")  # as spreadsheets do
    (tmp_path / "commas.csv").write_text('sentiment,word\n1,food\n0,"a, b"\n')
    (tmp_path / "packed.tsv.gz").write_bytes(gzip.compress(b"sentiment\tword\n1\tfood\n0\ta, b\n"))
    (tmp_path / "any").write_text("sentiment\tword\n1\tfood\n0\ta, b\n")
    for name in ("bom.tsv", "commas.csv", "packed.tsv.gz", "any"):
        assert read_contexts(tmp_path / name) == told, name


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"\n", "must name"),
        (b"a\ta\n1\t2\n", "each once"),
        (b"a\tb\n1\n", "line 2: 1 fields, but the header has 2"),
        (b"a,b\n1,2\n", "the only column is 'a,b'; fields must be separated by tabs"),
        (b"a\nna\xefve\n", "is not UTF-8: byte 0xEF in line 2"),
        (b"a\n\0\n", "is a binary file"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "contexts.tsv").write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_contexts(tmp_path / "contexts.tsv")
    with pytest.raises(InputError, match=r"none.tsv cannot be read: No such file"):
        read_contexts(tmp_path / "none.tsv")
    with pytest.raises(InputError, match=r"must be a .tsv or .csv table, got contexts.jsonl"):
        read_contexts(Path("contexts.jsonl"))


def test_contexts_of_reviews_by_hand() -> None:
    texts = ["the food was great !", "i the and", "so 10 very fresh rolls and more and more here today"]
    assert review_contexts(texts, ["1", "0", "1"], bounds=(3, 5)) == {
        "sentiment": ["1", "0", "1"],
        "length": ["to 5", "to 3", "longer"],
        "word": ["food", "none", "fresh"],
    }
    with pytest.raises(InputError, match="3 texts, but 1 labels"):
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
    places = context_places(context_numbers(corpus, attributes), attributes)
    assert {name: found.tolist() for name, found in places.items()} == {"x": [1, 0, 1], "y": [2, 1, 0]}


def test_missing_and_wrong_contexts_are_refused() -> None:
    corpus, attributes = Corpus.from_texts(["one", "two"]), {"x": [OTHER, "a"]}
    with pytest.raises(InputError, match="no contexts"):
        context_numbers(corpus, attributes)
    with pytest.raises(InputError, match="lack 'x'"):
        with_contexts(corpus, {"y": ["a", "a"]}, attributes)
    with pytest.raises(InputError, match="2 texts, but contexts of 1"):
        with_contexts(corpus, {"x": ["a"]}, attributes)
    known = with_contexts(corpus, {"x": ["a", "b"]}, {"x": [OTHER, "b", "a"]})
    with pytest.raises(InputError, match="must be from 0 to 1"):
        context_numbers(known, attributes)
    with pytest.raises(OptionError, match="too many"):
        n_contexts({str(k): ["a"] * 100 for k in range(1000)})
