"""Judgements: what they hold, what they refuse, and parts of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from textassay.errors import InputError
from textassay_lab.human.judgements import Comment, Item, Judgements


def made() -> Judgements:
    """Return five judgements of four items by two raters; the last item has none."""
    items = (
        Item("1/0", "1", "a", None),
        Item("1/1", "1", "b", "lm"),
        Item("2/0", "2", "a", "rnn"),
        Item("2/1", "2", "", "lm"),
    )
    return Judgements(
        items=items,
        raters=("ann", "bob"),
        item=np.array([0, 1, 2, 0, 1]),
        rater=np.array([0, 0, 0, 1, 1]),
        value=np.array([1.0, 0, 1, 0, 0]),
        scale="real-or-fake",
        comments=(Comment("1", "ann", "odd"), Comment("2", "ann", "fine")),
    )


def test_votes_and_sides() -> None:
    judgements = made()
    assert judgements.votes().tolist() == [[1, 1], [2, 0], [0, 1], [0, 0]]
    assert judgements.is_real.tolist() == [True, False, False, False]
    assert judgements.generators == ("lm", "rnn")
    assert len(judgements) == 5
    with pytest.raises(InputError, match="counted as votes, got ratings"):
        replace(judgements, scale="number").votes()


def test_a_part_keeps_its_own_judgements_and_comments() -> None:
    part = made().select(np.array([False, True, False, True]))
    assert [item.id for item in part.items] == ["1/1", "2/1"]
    assert part.item.tolist() == [0, 0]
    assert part.rater.tolist() == [0, 1]
    assert part.raters == ("ann", "bob")
    assert part.votes().tolist() == [[2, 0], [0, 0]]
    assert [comment.text for comment in made().select(np.array([True, False, False, False])).comments] == ["odd"]
    assert len(made().select(np.zeros(4, dtype=bool))) == 0
    with pytest.raises(InputError, match="one value per item: 4"):
        made().select(np.ones(3, dtype=bool))


def test_arrays_cannot_be_changed_and_are_no_views() -> None:
    value = np.array([1.0, 0, 1, 0, 0])
    judgements = replace(made(), value=value)
    value[0] = 0
    assert judgements.value[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        judgements.value[0] = 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": np.array([1.0, 0, 2, 0, 0])}, "must be 1 or 0"),
        ({"value": np.array([1.0, 0, np.nan, 0, 0])}, "finite"),
        ({"value": np.array([1.0])}, "one number per judgement"),
        ({"item": np.array([0, 1, 2, 0, 4])}, "item numbers of judgements must be from 0 to 3"),
        ({"rater": np.array([0, 0, 0, 1, -1])}, "rater numbers"),
        ({"rater": np.array([0, 0, 0, 0, 1])}, "rater ann judged item 1/0 twice"),
        ({"raters": ("ann", "ann")}, "rater ann is listed twice"),
    ],
)
def test_what_is_refused(change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(made(), **change)
