"""Texts that people disagree on, and texts that mislead them."""

from pathlib import Path

import pytest

from made_up_judgements import from_table
from textassay.errors import OptionError
from textassay_lab.human.analysis import judged_texts, most_disputed, most_misleading
from textassay_lab.human.mechanical_turk import read_mechanical_turk

SMALL = from_table(
    {
        "p": (None, (1, 1, 1, 1)),
        "q": (None, (0, 0, 1, 0)),
        "r": (None, (0, None, None, None)),
        "s": ("a", (1, 1, 1, 0)),
        "t": ("a", (1, 1, 0, 0)),
        "u": ("a", (0, 0, 1, 1)),
        "v": ("b", (1, 1, 1, 1)),
        "w": ("b", (None, None, None, None)),
    }
)


def test_agreement_is_the_share_of_agreeing_pairs() -> None:
    found = {text.id: text for text in judged_texts(SMALL) if text is not None}
    assert found["s"].agreement == pytest.approx(3 / 6)
    assert found["t"].agreement == pytest.approx(2 / 6)
    assert found["p"].agreement == 1.0
    assert "w" not in found
    assert (found["q"].n, found["q"].mean) == (4, 0.25)


def test_disputed_texts_come_first_and_ties_are_counted() -> None:
    found = {one.generator: one for one in most_disputed(SMALL, k=1)}
    assert [text.id for text in found["a"].texts] == ["t"]
    assert found["a"].n_alike == 2
    assert [text.id for text in found[None].texts] == ["q"]
    assert [text.id for text in found["b"].texts] == ["v"]
    assert most_disputed(SMALL, votes=3) == ()
    with pytest.raises(OptionError, match="at least 1"):
        most_disputed(SMALL, k=0)


def test_misleading_texts_are_those_most_got_wrong() -> None:
    generated, real = most_misleading(SMALL, k=5)
    assert [text.id for text in generated] == ["v", "s"]  # half and half is not most
    assert [text.id for text in real] == ["r", "q"]


def test_of_equally_misleading_texts_the_one_that_more_judged_comes_first() -> None:
    few_then_many = from_table({"few": ("g", (1, 1, None, None)), "many": ("g", (1, 1, 1, 1))})
    assert [text.id for text in most_misleading(few_then_many)[0]] == ["many", "few"]


def test_of_ratings_the_variance_counts() -> None:
    ratings = from_table({"a": ("g", (1, 5)), "b": ("g", (3, 4)), "c": (None, (2, 2))}, scale="number")
    assert [text.id for text in most_disputed(ratings)[0].texts] == ["a", "b"]
    generated, real = most_misleading(ratings)
    assert [text.id for text in generated] == ["b", "a"]
    assert [text.id for text in real] == ["c"]


@pytest.mark.feature("JJ-38")
def test_four_texts_of_each_generator_of_the_published_judgements(data_dir: Path) -> None:
    judgements = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv")
    found = most_disputed(judgements, k=4, votes=5)
    assert [one.generator for one in found] == [*judgements.generators, None]
    votes = judgements.votes()
    places = {item.id: place for place, item in enumerate(judgements.items)}
    for one in found:
        assert len(one.texts) == 4
        assert one.n_alike >= 4
        own = [row for item, row in zip(judgements.items, votes, strict=True) if item.generator == one.generator]
        assert one.n_alike == sum(row.sum() == 5 and row.min() == 2 for row in own)
        for text in one.texts:
            assert sorted(votes[places[text.id]]) == [2, 3]
            assert text.text
