"""Comparisons of texts that depend on real ones: what comes first, what is not valid, what differs."""

import json
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from layouts import chains, layout
from textassay.comparison.comparison import Comparison, PairDifference
from textassay.comparison.run import compare

N = 200
Sides = tuple[list[str], dict[str, list[str]]]  # real text, and that of each generator


def begun(beginning: str, rest: str, tail: str = "") -> str:
    """Return half of a text, half of another, and up to four words that real text never has."""
    words, others = beginning.split(), rest.split()
    foreign = [f"q{word}q" for word in tail.split()[:4]]
    return " ".join([*words[: (len(words) + 1) // 2], *others[len(others) // 2 :], *foreign])


def continuations(n: int, seed: int, *, share: float = 1.0, shift: int = 0) -> Sides:
    """Return real text and one model's: two samples that go on from the real beginnings, and one from others.

    A `share` of generated texts ends in words of its own. What goes on from row r stands in row r + `shift`; shuffled
    where that is 0.
    """
    rng = np.random.default_rng(seed)
    texts = chains(9 * n, rng)
    parts = [texts[part * n : (part + 1) * n] for part in range(9)]

    def drawn(beginnings: list[str], rests: list[str], tails: list[str]) -> list[str]:
        own = (rng.random(n) < share).tolist()
        rows = list(zip(beginnings, rests, tails, own, strict=True))
        made = [begun(beginning, rest, tail if ends else "") for beginning, rest, tail, ends in rows]
        return [made[row] for row in (rng.permutation(n) if shift == 0 else np.arange(n) - shift).tolist()]

    generated = {
        "same": drawn(parts[0], parts[2], parts[6]),
        "again": drawn(parts[0], parts[3], parts[7]),
        "other": drawn(parts[4], parts[5], parts[8]),
    }
    return list(map(begun, parts[0], parts[1])), generated


def answers(n: int, seed: int) -> Sides:
    """Return two real answers and two of each of two generators to each question, which all of them repeat."""
    rng = np.random.default_rng(seed)
    texts = chains(6 * n, rng)
    parts = [texts[part * n : (part + 1) * n] for part in range(6)]
    questions = [question for question in parts[0][: n // 2] for _ in range(2)]
    written = [
        list(map(begun, questions, parts[1])),
        list(map(begun, questions, parts[2], parts[4])),
        list(map(begun, questions, parts[3], parts[5])),
    ]
    real, one, other = ([side[row] for row in rng.permutation(n).tolist()] for side in written)
    return real, {"same": one, "again": other}


def compared(sides: Sides, names: tuple[str, ...], metrics: list[str], *, independent: bool = False) -> Comparison:
    real, generated = sides
    chosen = {name: generated[name] for name in names}
    return compare(chosen, real, metrics=metrics, effort="quick", explain=False, independent=independent)


@cache
def not_told() -> Comparison:
    """Return what is said of text whose partners groups do not hold, and of independent text."""
    pair = layout("windows in turn, shuffled", 2 * N, 1)
    generated = {"partners": pair.generated, "apart": layout("windows in turn, shuffled", 2 * N, 7).generated}
    return compare(generated, pair.real, metrics=["dd", "length"], effort="quick", explain=True)


def test_it_is_the_first_thing_said() -> None:
    real, generated = continuations(N, 0)
    comparison = compared((real, generated), ("same", "other"), ["dd", "length"])
    first = comparison.to_dict()["findings"][0]
    assert (first["kind"], first["severity"], first["generator"]) == ("dependent-texts", "warning", "same")
    assert [finding.generator for finding in comparison.findings if finding.kind == "dependent-texts"] == ["same"]
    assert len(first["pairs"]) == 3
    for one, other in first["pairs"]:
        assert one in generated["same"]
        assert other in real
        assert one.split()[0] == other.split()[0]
    kept = Comparison.from_dict(json.loads(json.dumps(comparison.to_dict())))
    assert kept.findings == comparison.findings
    for metric in ("dd", "length"):
        signatures = [comparison.result(name, metric).estimate for name in ("same", "other")]
        assert [one is not None and "units" in one.signature.settings for one in signatures] == [True, False]
    title, answer, *_ = comparison.to_markdown().split("\n\n")
    assert title.startswith("# ")
    assert "dependent texts (same)" in answer
    assert "groups of nearest neighbours (same)" in comparison.to_markdown()


def test_what_cannot_be_told_has_no_value_no_difference_and_no_rank() -> None:
    comparison = not_told()
    result = comparison.result("partners", "dd")
    assert result.error is not None
    assert result.error.startswith("not valid: texts depend on each other")
    assert result.estimate is None
    assert "| partners | not valid |" in comparison.to_markdown()
    assert comparison.verdict("partners", "dd") in ("unknown", None)
    assert {rank.generator for rank in comparison.ranks} == {"apart"}
    assert {rank.metric for rank in comparison.ranks} == {"dd", "length"}
    for pair in comparison.pairs:
        assert (pair.difference, pair.low, pair.high, pair.p, pair.p_adjusted) == (None,) * 5
    other = comparison.result("partners", "length").estimate
    assert other is not None
    assert math.isfinite(other.value)
    assert other.interval is None
    apart = comparison.result("apart", "dd").estimate
    assert apart is not None
    assert apart.interval is not None
    assert "partners" not in [explanation.generator for explanation in comparison.explanations]


def test_texts_said_to_be_independent_are_not_looked_at() -> None:
    comparison = compared(continuations(N, 0), ("same", "other"), ["dd"], independent=True)
    assert not any(finding.kind == "dependent-texts" for finding in comparison.findings)
    assert comparison.to_dict()["settings"]["independent"]


def dd_of(comparison: Comparison, name: str) -> float:
    estimate = comparison.result(name, "dd").estimate
    assert estimate is not None
    return estimate.value


@pytest.mark.parametrize("shift", [0, 1], ids=["shuffled", "in order"])
def test_one_model_is_no_better_where_it_goes_on_from_real_beginnings(shift: int) -> None:
    sides = continuations(300, 1, share=0.4, shift=shift)
    comparison = compared(sides, ("same", "other"), ["dd"])
    assert abs(dd_of(comparison, "same") - dd_of(comparison, "other")) < 0.2
    assert comparison.separated("dd") == ()
    assert {(rank.low, rank.high) for rank in comparison.ranks} == {(1, 2)}
    blind = compared(sides, ("same", "other"), ["dd"], independent=True)  # the control
    assert dd_of(blind, "same") - dd_of(blind, "other") > 0.3
    assert len(blind.separated("dd")) == 1


N_DRAWS = 200
# How much too wide intervals may be. Real text in other groups for each generator is taken for two samples of it: of
# bleu, that is most of the variance.
WIDEST = {"length": 1.5, "bleu(order=1)": 2.6}


def differences(
    draw: Callable[[int, int], Sides], names: tuple[str, str], metrics: list[str], n_draws: int
) -> dict[str, list[PairDifference]]:
    """Return the difference of two generators by each metric, over draws."""
    found: dict[str, list[PairDifference]] = {}
    for seed in range(n_draws):
        for pair in compared(draw(N, 1000 + seed), names, metrics).pairs:
            found.setdefault(pair.metric, []).append(pair)
    return found


def check_coverage(pairs: list[PairDifference], *, widest: float) -> None:
    """Raise unless 95 % intervals of no difference hold 0 often enough, and are no more than so much too wide."""
    known = [pair for pair in pairs if pair.difference is not None]
    assert len(known) > 0.9 * len(pairs)
    ends = np.array([(pair.difference, pair.low, pair.high) for pair in known], dtype=float)
    n_missed = int(np.count_nonzero((ends[:, 1] > 0) | (ends[:, 2] < 0)))
    assert n_missed <= binom.isf(1e-3, len(known), 0.05)
    spread = float(ends[:, 0].std(ddof=1))
    margin = float((ends[:, 2] - ends[:, 1]).mean() / 2)
    assert 0.9 < margin / (1.97 * spread) < widest


@pytest.mark.slow
@pytest.mark.parametrize("draw", [continuations, answers], ids=["continuations", "answers"])
def test_differences_of_generators_that_share_groups_with_real_text(draw: Callable[[int, int], Sides]) -> None:
    """Both have texts in the groups of the same real texts, so that neither is independent of the other."""
    found = differences(draw, ("same", "again"), ["length", "bleu(order=1)"], N_DRAWS)
    for metric, pairs in found.items():
        check_coverage(pairs, widest=WIDEST[metric])


@pytest.mark.slow
@pytest.mark.parametrize("names", [("same", "again"), ("same", "other")])
def test_differences_by_dd_of_generators_that_share_groups_with_real_text(names: tuple[str, str]) -> None:
    def draw(n: int, seed: int) -> Sides:
        return continuations(n + n // 2, seed, share=0.4)

    check_coverage(differences(draw, names, ["dd"], 60)["dd"], widest=1.5)
