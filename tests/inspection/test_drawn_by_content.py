"""Texts drawn by content: partners together, not more than wanted; what a draw shows of a large sample."""

import numpy as np
import pytest

from layouts import chains, layout
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError
from textassay.inspection import dependence, within
from textassay.inspection.dependence import examine, neighbours_of
from textassay.inspection.drawn_by_content import drawn_by_content


def sides_of(generated: list[str], real: list[str]) -> list[Corpus]:
    return [*corpora_from_texts({"generated": generated, "real": real}).values()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take 600 texts a side for many."""
    for module in (within, dependence):
        monkeypatch.setattr(module, "MOST_EXAMINED", 600)


def test_equal_texts_are_drawn_together_and_alike_ones_mostly() -> None:
    rng = np.random.default_rng(0)
    texts = chains(3000, rng)
    words = sorted({word for text in texts for word in text.split()})
    alike = [
        " ".join(str(rng.choice(words)) if rng.random() < 0.2 else word for word in text.split()) for text in texts
    ]
    sides = sides_of(texts + texts[:100], alike)
    drawn = drawn_by_content(sides, 1000)
    assert 800 <= sum(map(len, drawn)) <= 1000
    once = set(drawn[0].texts) & set(texts[:100])
    assert once
    assert all(list(drawn[0].texts).count(text) == 2 for text in once)
    partners = dict(zip(texts, alike, strict=True))
    there = set(drawn[1].texts)
    assert np.mean([partners[text] in there for text in drawn[0].texts]) > 0.5  # a draw by rows: 1 of 6


def test_few_texts_are_all_taken() -> None:
    sides = sides_of(["a b", "", "c"], ["a b"])
    assert all(one is other for one, other in zip(drawn_by_content(sides, 4), sides, strict=True))


def test_what_all_texts_share_does_not_draw_them_at_once() -> None:
    numbers = np.random.default_rng(0).integers(10**6, size=(4000, 2)).tolist()
    sides = sides_of([f"once upon a time {one} and {other}" for one, other in numbers], [""] * 10)
    assert 300 <= len(drawn_by_content(sides, 400)[0]) <= 400


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["beginnings, shuffled", "paraphrases, in order", "writers, in order"])
def test_a_draw_says_that_texts_are_dependent_and_the_whole_what_belongs_together(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = layout(name, 1500, 0)
    sides = sides_of(list(pair.generated), list(pair.real))
    found = examine(*sides)
    for module in (within, dependence):
        monkeypatch.setattr(module, "MOST_EXAMINED", 10_000)
    whole = examine(*sides)
    assert found.kinds == whole.kinds != ()
    assert found.groups is not None
    assert whole.groups is not None
    assert all(np.array_equal(one, other) for one, other in zip(found.groups, whole.groups, strict=True))
    assert found.test.n_pairs < whole.test.n_pairs


@pytest.mark.usefixtures("small")
def test_a_draw_leaves_independent_texts_alone() -> None:
    for seed in range(10):
        pair = layout("same source", 1500, seed)
        assert examine(*sides_of(list(pair.generated), list(pair.real))).kinds == ()


@pytest.mark.usefixtures("small")
def test_too_many_dependent_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(within, "MOST_GROUPED", 2000)
    pair = layout("beginnings, shuffled", 1500, 0)
    with pytest.raises(InputError, match="3,000 are too many to find their groups"):
        examine(*sides_of(list(pair.generated), list(pair.real)))


@pytest.mark.usefixtures("small")
def test_many_texts_to_learn_from_are_left_out_where_they_are_near() -> None:
    pair, other = layout("beginnings, shuffled", 1500, 0), layout("same source", 1500, 1)
    corpora = [
        *corpora_from_texts(
            {"more": pair.generated, "alone": other.generated, "generated": other.real, "real": pair.real}
        ).values()
    ]
    near = neighbours_of(corpora[0], *corpora[2:])
    assert near is not None
    assert len(near) > 1000
    assert neighbours_of(corpora[1], *corpora[2:]) is None
