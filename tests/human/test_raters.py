"""Raters: by hand, against enumeration, and by simulation."""

import itertools
import math

import numpy as np
import pytest

from made_up_judgements import from_table, simulate
from textassay.human.judgements import Judgements
from textassay.human.raters import summarise_raters

SMALL = from_table(
    {
        "p": (None, (1, 1, 0)),
        "q": (None, (1, 0, 0)),
        "s": ("a", (1, 0, 0)),
        "t": ("a", (1, 1, 0)),
        "u": ("a", (1, None, None)),
    }
)


def test_shares_by_hand() -> None:
    first, second, third = summarise_raters(SMALL)
    assert (first.rater, first.n, first.share_real, first.accuracy) == ("r0", 5, 1.0, 2 / 5)
    assert (second.n, second.share_real, second.accuracy) == (4, 0.5, 1 / 2)
    assert (third.share_real, third.accuracy) == (0.0, 1 / 2)
    assert first.agreement == 0.0  # the others: p tied, q fake, s fake, t tied, u nobody
    assert math.isnan(second.agreement)  # the others are tied on each
    assert math.isnan(summarise_raters(from_table({"a": ("g", (1,))}))[0].agreement)


def test_the_p_value_is_that_of_dealing_votes_out_again() -> None:
    # All ways to deal the votes of each text out among its raters, each text by itself.
    right = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=float)  # p, q real; s, t generated
    ways = list(itertools.product(*[list(itertools.permutations(row)) for row in right]))
    for rater, found in enumerate(summarise_raters(SMALL)):
        own = right[:, rater].sum()
        below = np.mean([sum(row[rater] for row in way) <= own for way in ways])
        assert found.p_value == pytest.approx(below)


def test_suspicious_raters_are_flagged_and_others_are_not() -> None:
    rng = np.random.default_rng(1)
    odds = {"(real)": 1.5, "a": -1.5}
    drawn = simulate(rng, n_pages=20, n_raters=5, generators=odds, spread=0.3, per_page=10)
    value = drawn.value.copy()
    right = np.where(drawn.is_real[drawn.item], 1.0, 0.0)
    value[drawn.rater == 7] = 1.0
    value[drawn.rater == 12] = 1 - right[drawn.rater == 12]
    changed = Judgements(drawn.items, drawn.raters, drawn.item, drawn.rater, value, drawn.scale)
    seconds = {name: 10.0 + number % 5 for number, name in enumerate(drawn.raters)} | {"w30": 0.5}
    flags = {rater.rater: rater.flags for rater in summarise_raters(changed, seconds=seconds) if rater.flags}
    assert flags == {"w7": ("one answer",), "w12": ("below others",), "w30": ("too fast",)}


def test_one_answer_is_suspicious_only_where_others_differ() -> None:
    alike = from_table({str(text): ("g", (1, 1, 1)) for text in range(30)})
    assert not any(rater.flags for rater in summarise_raters(alike))
    # One of 20 raters gives one answer on five texts, which others are parted on: 1/32 by itself, as one of 20 nothing.
    rng = np.random.default_rng(0)
    votes = [rng.permutation([1.0] * 9 + [0.0] * 10) for _ in range(5)]
    parted = from_table({str(text): ("g", (1.0, *row.tolist())) for text, row in enumerate(votes)})
    assert summarise_raters(parted)[0].share_real == 1
    assert not any(rater.flags for rater in summarise_raters(parted))


def test_p_values_are_valid_where_all_raters_are_alike() -> None:
    rng = np.random.default_rng(2)
    p_values, any_flag = [], 0
    for _ in range(60):
        drawn = simulate(rng, n_pages=10, n_raters=5, spread=0.0, per_page=8)
        found = summarise_raters(drawn)
        p_values += [rater.p_value for rater in found]
        any_flag += any(rater.flags for rater in found)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(np.array(p_values) <= level) <= level + 0.01
    assert np.mean(np.array(p_values) <= 0.5) > 0.3  # and it has power
    assert any_flag <= 8


def test_ratings_have_a_correlation_with_the_others() -> None:
    rows = {str(n): ("g", (float(n), n + 0.5, 5.0 - n)) for n in range(4)}
    found = summarise_raters(from_table(rows, scale="number"))
    assert found[2].agreement == pytest.approx(-1.0)
    assert math.isnan(found[0].accuracy)
    assert not any(rater.flags for rater in found)
