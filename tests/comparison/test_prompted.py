"""A comparison of answers to prompts: metric, floor, pairs, and what cannot go with it."""

import json
from pathlib import Path

import numpy as np
import pytest

from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.document import comparison_document
from textassay.comparison.run import compare
from textassay.corpus.split import halves_within
from textassay.errors import OptionError
from textassay.report.files import document_files

WORDS = [f"w{number}" for number in range(200)]


def answered(right: float, n_prompts: int, n_answers: int, seed: int) -> tuple[list[str], list[str]]:
    """Return answers, `right` of which take up their prompt's words, the others another prompt's; and the prompts."""
    rng = np.random.default_rng(seed)
    prompts = np.random.default_rng(0).choice(200, (n_prompts, 5))
    texts, asked = [], []
    for number, prompt in enumerate(prompts):
        for _ in range(n_answers):
            source = prompt if rng.random() < right else rng.choice(200, 5)
            words = np.where(rng.random(8) < 0.6, rng.choice(source, 8), rng.choice(200, 8))
            texts.append(" ".join(WORDS[word] for word in words))
            asked.append(" ".join(WORDS[word] for word in prompt) + f" ? {number}")
    return texts, asked


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    sides = {"real": answered(1, 50, 2, 1), "good": answered(0.8, 50, 2, 2), "bad": answered(0.1, 50, 2, 3)}
    return compare(
        {name: sides[name][0] for name in ("good", "bad")},
        sides["real"][0],
        prompts={name: asked for name, (_, asked) in sides.items()},
        metrics=["conditional-dd", "length"],
        effort="quick",
    )


def test_the_order_is_found(comparison: Comparison) -> None:
    assert comparison.headline == "conditional-dd"
    assert comparison.order() == ("good", "bad")
    good, bad = (comparison.result(name, "conditional-dd").estimate for name in ("good", "bad"))
    assert good is not None
    assert bad is not None
    assert good.value + 0.3 < bad.value


def test_pairs_are_over_prompts(comparison: Comparison) -> None:
    (pair,) = (pair for pair in comparison.pairs if pair.metric == "conditional-dd")
    assert pair.p is not None
    assert pair.p < 0.001
    assert pair.difference is not None


def test_the_floor_is_real_answers_against_others_to_the_same_prompts(comparison: Comparison) -> None:
    floor = comparison.result(FLOOR, "conditional-dd").estimate
    assert floor is not None
    assert floor.interval is not None
    assert floor.sizes["n_prompts"] == 50
    assert comparison.floor_groups == {"n_groups": 50, "n_shared": 50}
    assert floor.interval.low < 0 < floor.interval.high


def test_one_real_answer_a_prompt_leaves_no_floor() -> None:
    real, asked = answered(1, 40, 1, 1)
    found = compare({"bad": answered(0, 40, 1, 2)[0]}, real, prompts=asked, metrics=["conditional-dd"])
    floor = found.result(FLOOR, "conditional-dd")
    assert floor.estimate is None
    assert found.floor_groups == {"n_groups": 40, "n_shared": 0}
    assert floor.error is not None
    assert "every prompt has one real answer" in floor.error
    assert found.result("bad", "conditional-dd").estimate is not None


def test_the_report_says_what_gives_answers_away(comparison: Comparison) -> None:
    pages = document_files(comparison_document(comparison))
    text = json.dumps({name: str(page) for name, page in pages.items()})
    assert "What the judge goes by" in text
    assert "Prompts that give it away most" in text


def test_halves_of_groups() -> None:
    groups = np.repeat([7, 3, 9], [4, 1, 3])
    first, second = halves_within(groups, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(8))
    counts = [np.bincount(groups[half], minlength=10)[[7, 3, 9]] for half in (first, second)]
    assert counts[0][0] == counts[1][0] == 2
    assert abs(counts[0][2] - counts[1][2]) == 1


def test_halves_of_groups_have_as_many_texts_and_odd_ones_fall_into_either() -> None:
    alone = np.arange(500)
    firsts = [halves_within(alone, np.random.default_rng(seed))[0] for seed in range(200)]
    assert {len(first) for first in firsts} == {250}
    how_often = np.bincount(np.concatenate(firsts), minlength=500)
    assert abs(how_often - 100).max() < 5 * np.sqrt(200 / 4)
    odd = np.repeat(np.arange(21), 3)
    assert [len(half) for half in halves_within(odd, np.random.default_rng(0))] == [32, 31]


def test_what_cannot_go_with_prompts(tmp_path: Path) -> None:
    real, asked = answered(1, 30, 1, 1)
    with pytest.raises(OptionError, match="--fit-real cannot be combined with prompts"):
        compare({"bad": real[::-1]}, real, prompts=asked, fit_real=["a b c"] * 30, metrics=["length"])
    with pytest.raises(OptionError, match="does not see the prompts"):
        compare({"bad": "command:yes"}, real, prompts={"real": asked}, metrics=["length"])
