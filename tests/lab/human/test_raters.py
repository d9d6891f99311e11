"""Raters: by hand, against enumeration, and by simulation."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

from made_up_judgements import from_table, simulate
from textassay.errors import OptionError
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.raters import _chance_of_set, _pattern, summarise_raters

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
    assert (first.rater, first.n, first.mean, first.accuracy) == ("r0", 5, 1.0, 2 / 5)
    assert (second.n, second.mean, second.accuracy) == (4, 0.5, 1 / 2)
    assert (third.mean, third.accuracy) == (0.0, 1 / 2)
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
    assert summarise_raters(parted)[0].mean == 1
    assert not any(rater.flags for rater in summarise_raters(parted))


@pytest.mark.slow
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


def page_of(*answers: str, generator: str = "a", n_real: int = 10) -> Judgements:
    """Return one page judged by one rater for each string of r and f; the first texts are real unless told."""
    n = len(answers[0])
    rows = {
        f"1/{slot}": (None if slot < n_real else generator, [float(given[slot] == "r") for given in answers])
        for slot in range(n)
    }
    return from_table(rows, pages=dict.fromkeys(rows, "1"))


def flags_of(judgements: Judgements, **settings: Any) -> dict[str, tuple[str, ...]]:
    return {one.rater: one.flags for one in summarise_raters(judgements, **settings) if one.flags}


def test_raters_who_all_answer_fake_at_once_are_suspicious_although_none_differs() -> None:
    judgements = page_of("f" * 20, "f" * 20, "f" * 20)
    found = summarise_raters(judgements, seconds={"r0": 0.002, "r1": 0.005, "r2": 0.0})
    assert [one.flags for one in found] == [("too fast", "one answer")] * 3
    assert [one.reasons for one in found] == [
        (f"{seconds} s per text, below the limit of 2 s", "answered fake to all 20 texts, 10 of them real")
        for seconds in ("0.002", "0.005", "0")
    ]


def test_the_shortest_time_is_a_setting() -> None:
    judgements, seconds = page_of("rfrrfrrrffrfffrfrrff"), {"r0": 2.5}
    assert flags_of(judgements, seconds=seconds, min_seconds=2.5) == {}
    assert flags_of(judgements, seconds=seconds, min_seconds=2.6) == {"r0": ("too fast",)}
    assert flags_of(judgements, seconds={"r0": 0.0}, min_seconds=0) == {}
    with pytest.raises(OptionError, match="min_seconds must be at least 0, got -1"):
        summarise_raters(judgements, min_seconds=-1)


def test_one_answer_is_right_where_all_texts_are_generated_and_says_little_on_few() -> None:
    assert flags_of(page_of("f" * 20, n_real=0)) == {}
    assert flags_of(page_of("f" * 8, n_real=4)) == {}
    assert flags_of(page_of("r" * 10, n_real=5)) == {"r0": ("one answer",)}
    ratings = from_table({str(n): ("g", (3.0, n / 2)) for n in range(10)}, scale="number")
    assert flags_of(ratings) == {"r0": ("one answer",)}


def test_failed_checks_are_told() -> None:
    judgements = page_of("rfrrfrrrffrfffrfrrff", "rrrrrrrrrffffffrfffr")
    (first, second) = summarise_raters(judgements, checks={"r0": (1, 3), "r1": (0, 3), "gone": (1, 1)})
    assert (first.flags, first.reasons) == (("failed check",), ("failed 1 of 3 attention checks",))
    assert second.flags == ()


@pytest.mark.parametrize(
    ("answers", "pattern"),
    [
        ("rf" * 10, "real, fake"),
        ("fr" * 5 + "rf" * 5, "fake, real"),  # the attention check stood in the middle
        ("rrf" * 6 + "rr", "real, real, fake"),
        ("ffrr" * 5, "fake, fake, real, real"),
    ],
)
def test_answers_that_repeat_a_pattern_are_suspicious(answers: str, pattern: str) -> None:
    (found,) = summarise_raters(page_of(answers))
    assert found.flags == ("pattern",)
    assert found.reasons == (f"answers repeat '{pattern}' down a page of 20 texts",)


def test_a_pattern_on_each_of_several_pages_and_none_by_chance() -> None:
    rows = {f"{page}/{slot}": (None if slot % 3 else "a", [slot % 2]) for page in range(3) for slot in range(16)}
    assert flags_of(from_table(rows, pages={name: name[0] for name in rows})) == {"r0": ("pattern",)}
    assert flags_of(from_table(rows)) == {"r0": ("pattern",)}  # the same without pages
    rng = np.random.default_rng(0)
    pages = 400
    flagged = sum(
        "pattern" in flags_of(page_of("".join(rng.permutation(list("rf" * 6)).tolist()), n_real=6)).get("r0", ())
        for _ in range(pages)
    )
    assert flagged <= 0.05 * pages


def test_the_chance_of_a_pattern_is_a_bound() -> None:
    # All orders of five real and five fake: how many are at least as regular as an alternation that lost one answer.
    orders = [
        "".join("r" if place in chosen else "f" for place in range(10))
        for chosen in itertools.combinations(range(10), 5)
    ]
    chances = sorted(_pattern(order)[0] for order in orders)
    for rank, chance in enumerate(chances, start=1):
        if chance < 1:
            last = sum(other <= chance for other in chances)
            assert last / len(orders) <= chance, rank


TWIN = "rrfrrrfrrr" + "ffrffrffrf"


def test_two_raters_with_the_same_mistakes_are_suspicious() -> None:
    others = ("rrrfrrrrfr" + "fffrffffrf", "rfrrrrrrrr" + "rfffrfffff")
    found = {one.rater: one for one in summarise_raters(page_of(TWIN, *others, TWIN))}
    assert {name: one.flags for name, one in found.items() if one.flags} == {
        "r0": ("same as another",), "r3": ("same as another",)}  # fmt: skip
    assert re.fullmatch(
        r"same answers as r3 to all 20 texts that both judged, 5 of them mistaken \(p = 0\.00\d+\)",
        found["r0"].reasons[0],
    )


def test_many_copies_are_one_reason_and_do_not_hide_one_another() -> None:
    (first, *_) = summarise_raters(page_of(*[TWIN] * 6))
    assert first.flags == ("same as another",)
    assert first.reasons[0].startswith("same answers as r1, r2, r3 and 2 more to all 20 texts")


def test_raters_who_are_alike_for_a_reason_are_no_twins() -> None:
    perfect = "r" * 10 + "f" * 10
    assert flags_of(page_of(perfect, perfect, perfect)) == {}
    # One generator fools everybody, another nobody: the mistakes of all are the same.
    rows: dict[str, tuple[str | None, list[float]]] = {f"1/{n}": (None, [1.0] * 3) for n in range(10)}
    rows |= {f"1/{n}": ("good" if n < 15 else "bad", [float(n < 15)] * 3) for n in range(10, 20)}
    assert flags_of(from_table(rows, pages=dict.fromkeys(rows, "1"))) == {}
    # Two texts that most are misled by.
    misled = "rrrrrrrrrrfffffffrrf"
    assert flags_of(page_of(misled, misled, "rrfrrrrrrrfffffffrrf", "rrrrrrrrrrfrfffffrrf", misled)) == {}


def test_few_raters_are_twins_by_chance() -> None:
    rng = np.random.default_rng(5)
    n_flagged = 0
    for _ in range(100):
        drawn = simulate(rng, n_pages=2, n_raters=4, generators={"(real)": 1.5, "a": 1.0, "b": -3.0}, spread=1.0)
        many = simulate(rng, n_pages=2, n_raters=4, spread=1.0, per_page=10)
        for one in (drawn, many):
            n_flagged += any("same as another" in flags for flags in flags_of(one).values())
    assert n_flagged <= 10


def test_the_chance_of_a_set_is_that_of_enumeration() -> None:
    odds = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    for size in range(6):
        sets = [np.isin(np.arange(5), chosen) for chosen in itertools.combinations(range(5), size)]
        weights = [float(np.prod(odds[one])) for one in sets]
        for one, weight in zip(sets, weights, strict=True):
            assert _chance_of_set(odds, one) == pytest.approx(weight / sum(weights))
    assert _chance_of_set(np.ones(5000), np.arange(5000) < 2500) == pytest.approx(0.0)
