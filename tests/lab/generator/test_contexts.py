"""Contexts: their file, their categories, their numbers; reviews are left out as asked."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay_lab.generator.contexts import (
    OTHER,
    context_numbers,
    context_places,
    contexts_text,
    learn_attributes,
    n_contexts,
    read_contexts,
    read_reviews,
    review_contexts,
    with_contexts,
)


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
        (b"a\tb\n1\n", "line 2: 1 fields, but the first line has 2"),
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


Row = tuple[str, str, str]  # text, product, user


def _file(path: Path, rows: list[Row]) -> Path:
    names = ("reviewText", "asin", "reviewerID")
    lines = [json.dumps({**dict(zip(names, row, strict=True)), "overall": 5.0}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.feature("JJ-01")
def test_rare_products_inactive_users_and_long_reviews_by_hand(tmp_path: Path) -> None:
    rows = [
        ("Good  Book", "b1", "ann"),
        ("bad book", "b1", "bob"),
        ("good lamp", "b2", "ann"),
        ("bad lamp", "b2", "bob"),
        ("a lamp that is far too long", "b2", "cat"),
        ("fine pen", "b3", "cat"),  # the pen is rare once cat is inactive, and cat because one review is long
        ("nice pen", "b3", "ann"),
    ]
    file = _file(tmp_path / "reviews.jsonl", rows)
    everything = read_reviews(file)
    assert everything.texts[0] == "good book"
    assert len(everything.texts) == 7
    assert set(everything.left_out.values()) == {0}
    short = read_reviews(file, max_words=2)
    assert short.left_out == {"long review": 1, "rare product": 0, "inactive user": 0}
    both = read_reviews(file, max_words=2, min_product=2, min_user=2)
    assert both.texts == ["good book", "bad book", "good lamp", "bad lamp"]
    assert both.contexts == {"product": ["b1", "b1", "b2", "b2"], "user": ["ann", "bob", "ann", "bob"]}
    assert both.left_out == {"long review": 1, "rare product": 1, "inactive user": 1}
    assert read_reviews(file, min_product=3).texts == [text.lower() for text, product, _ in rows if product == "b2"]
    attributes = learn_attributes(both.contexts)
    corpus = with_contexts(corpora_from_texts({"real": both.texts})["real"], both.contexts, attributes)
    assert corpus.columns["contexts/user"].tolist() == [1, 2, 1, 2]


@pytest.mark.feature("JJ-01")
def test_what_is_kept_is_the_largest_part_where_all_are_frequent(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"review {n}", f"p{product}", f"u{user}")
        for n, (product, user) in enumerate(zip(rng.geometric(0.05, 600), rng.geometric(0.03, 600), strict=True))
    ]
    kept = read_reviews(_file(tmp_path / "reviews.jsonl", rows), min_product=8, min_user=5)
    assert 0 < len(kept.texts) < 600 - 50
    assert min(Counter(kept.contexts["product"]).values()) >= 8
    assert min(Counter(kept.contexts["user"]).values()) >= 5
    assert len(kept.texts) + sum(kept.left_out.values()) == 600
    left = [row for row in rows if row[0] not in set(kept.texts)]
    while left:  # in any other order, one by one, all that was left out falls: none could have stayed
        inside = [row for row in rows if row[0] in set(kept.texts)] + left
        products, users = (Counter(row[side] for row in inside) for side in (1, 2))
        row = next(row for row in reversed(left) if products[row[1]] < 8 or users[row[2]] < 5)
        left.remove(row)


def test_a_table_with_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("body,item,who\nFine .,a,x\nBad .,b,x\n", encoding="utf-8")
    reviews = read_reviews(path, column="body", product_column="item", user_column="who", min_user=2)
    assert reviews.texts == ["fine .", "bad ."]
    with pytest.raises(InputError, match="no column 'reviewText'; it has: body, item, who"):
        read_reviews(path)
    with pytest.raises(OptionError, match="min_user must be at least 1, got 0"):
        read_reviews(path, min_user=0)
    with pytest.raises(EmptyCorpusError, match="no review of 2 is kept \\(0 long review, 2 rare product, 0 inactive"):
        read_reviews(path, column="body", product_column="item", user_column="who", min_product=2)
