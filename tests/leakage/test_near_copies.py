"""Near copies against all pairs, and what one changed token in ten costs: nothing is missed, and nothing is added."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.leakage import near_copies as room
from textassay.leakage.near_copies import SHORTEST, allowed_edits, near_copies

IntArray = npt.NDArray[np.int64]


def distance(one: list[str], other: list[str]) -> int:
    """Return the edit distance by the table that every textbook has."""
    row = list(range(len(other) + 1))
    for i, token in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, counterpart in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (token != counterpart))
    return row[-1]


def nearest_of_all(corpus: Corpus, train: Corpus) -> IntArray:
    """Return the distance of the nearest training text that is near enough, -1 where there is none."""
    best = np.full(len(corpus), -1)
    for place, other in product(range(len(corpus)), range(len(train))):
        one, two = corpus.sentence(place), train.sentence(other)
        n_edits = distance(one, two)
        if len(one) >= SHORTEST and n_edits <= int(allowed_edits(np.array(max(len(one), len(two))))):
            best[place] = n_edits if best[place] < 0 else min(best[place], n_edits)
    return best


def changed(tokens: list[str], n_edits: int, rng: np.random.Generator) -> list[str]:
    """Return tokens of which so many are substituted, inserted or deleted at random."""
    tokens = list(tokens)
    for _ in range(n_edits):
        place, kind = int(rng.integers(len(tokens))), rng.integers(3)
        tokens[place : place + int(kind != 1)] = [] if kind == 2 else [f"new{rng.integers(5)}"]
    return tokens


@pytest.mark.parametrize("n_types", [3, 40])
def test_what_all_pairs_give(n_types: int) -> None:
    rng = np.random.default_rng(n_types)
    drawn = [[f"t{k}" for k in rng.integers(n_types, size=rng.integers(0, 45))] for _ in range(60)]
    copies = [changed(drawn[k], int(rng.integers(0, 6)), rng) for k in rng.integers(60, size=80) if len(drawn[k]) > 6]
    corpora = corpora_from_texts({"copies": [" ".join(each) for each in copies], "train": [*map(" ".join, drawn)]})
    found = near_copies(corpora["copies"], corpora["train"])
    assert found.is_complete.all()
    np.testing.assert_array_equal(found.distances, nearest_of_all(corpora["copies"], corpora["train"]))
    for place in np.flatnonzero(found.texts >= 0).tolist():
        pair = corpora["copies"].sentence(place), corpora["train"].sentence(int(found.texts[place]))
        assert distance(*pair) == found.distances[place]


@pytest.mark.parametrize("length", [8, 9, 14, 15, 25, 60, 250])
def test_one_token_in_ten_is_always_found(length: int) -> None:
    rng = np.random.default_rng(length)
    train = [[f"t{k}" for k in rng.integers(2000, size=length)] for _ in range(50)]
    copies = [changed(text, max(1, (length + 5) // 10), rng) for text in train]
    corpora = corpora_from_texts({"copies": [*map(" ".join, copies)], "train": [*map(" ".join, train)]})
    found = near_copies(corpora["copies"], corpora["train"])
    long = corpora["copies"].lengths >= SHORTEST
    np.testing.assert_array_equal(found.texts[long], np.arange(50)[long])


def test_parts_that_all_share_are_passed_by() -> None:
    """Of a template, what fills it is looked up."""
    train = [f"our dear friend of old w{k} v{k} x{k} y{k}" for k in range(5000)]
    corpora = corpora_from_texts({"copies": ["our dear friend of old w7 v7 x7 y8", "our dear friend of old a b c d"],
                                  "train": train})  # fmt: skip
    found = near_copies(corpora["copies"], corpora["train"])
    assert found.is_complete.all()
    assert found.texts.tolist() == [7, -1]


def test_where_all_parts_are_frequent_the_search_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    drawn = [" ".join(f"t{k}" for k in rng.integers(2, size=20)) for _ in range(3000)]
    corpora = corpora_from_texts({"copies": drawn[:20], "train": drawn[20:]})
    whole = near_copies(corpora["copies"], corpora["train"])
    assert whole.is_complete.all()
    assert (whole.texts < 0).any()
    monkeypatch.setattr(room, "_MOST_CANDIDATES", 1)
    found = near_copies(corpora["copies"], corpora["train"])
    assert not found.is_complete[found.texts < 0].any()
