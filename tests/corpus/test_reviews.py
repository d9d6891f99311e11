"""Reviews are left out by length, product and user, and nothing is left out unasked."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.contexts import learn_attributes, with_contexts
from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.reviews import read_reviews
from textassay.errors import EmptyCorpusError, InputError, OptionError

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
