"""Worlds with prompts: exact probabilities, answers that tell nothing alone, and their place in the bench."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay_lab.meta_evaluation.bench import bench, parse_estimators
from textassay_lab.meta_evaluation.prompted_worlds import PROMPTED_NAMES, prompted_worlds


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    rng = np.random.default_rng(0)
    nouns, verbs = [f"noun{n}" for n in range(30)], [f"verb{n}" for n in range(12)]
    made = []
    for _ in range(400):
        first, second, third = rng.choice(nouns, 3)
        begin = f"the {first} {rng.choice(verbs)} the {second}"
        made.append(f"{begin} and {rng.choice(verbs)} a {third} ." if rng.random() < 0.5 else f"{begin} now or then .")
    return made


@pytest.mark.parametrize("name", PROMPTED_NAMES)
def test_probabilities_are_those_of_what_is_drawn(sentences: list[str], name: str) -> None:
    (world,) = prompted_worlds(Corpus.from_texts(sentences), 7, [name])
    truth = world.truth(1500, seed=1)
    assert truth.disagreement < 4
    assert truth.value == (0 if name == "answers-same" else pytest.approx(truth.value, abs=1))


def test_a_truth_by_another_way(sentences: list[str]) -> None:
    """Half of the answers from the right prompt halves the discrepancy of each prompt."""
    whole, half = prompted_worlds(Corpus.from_texts(sentences), 7, ["answers-continued", "answers-half"])
    values = [world.truth(4000, seed=1) for world in (whole, half)]
    assert values[1].value == pytest.approx(values[0].value / 2, abs=0.02)


def test_each_prompt_has_its_answers(sentences: list[str]) -> None:
    (world,) = prompted_worlds(Corpus.from_texts(sentences), 7, ["answers-topic"], n_answers=3)
    drawn = world.answered(60, seed=1, n_generated=100)
    assert len(drawn.prompts) == 20
    assert drawn.real.groups is not None
    assert drawn.generated.groups is not None
    assert np.bincount(drawn.real.groups).tolist() == [3] * 20
    assert np.bincount(drawn.generated.groups).tolist() == [5] * 20
    again = world.answered(60, seed=1, n_generated=100)
    assert again.real.fingerprint == drawn.real.fingerprint


def test_the_bench_measures_conditional_dd_where_there_are_prompts(sentences: list[str]) -> None:
    found = bench(
        {"made": sentences},
        estimators=("quick", "conditional-dd"),
        worlds=["answers-continued", "identical-2"],
        n_sentences=[200],
        n_truth=300,
        n_answers=4,
    )
    cells = {(cell.world, cell.estimator): cell for cell in found.cells}
    assert set(cells) == {
        ("answers-continued", "quick"),
        ("answers-continued", "conditional-dd"),
        ("identical-2", "quick"),
    }
    cell = cells["answers-continued", "conditional-dd"]
    assert cell.value is not None
    assert cell.bound is not None
    assert cell.bound <= cell.truth
    assert not found.untrained


def test_without_worlds_with_prompts_there_is_nothing_to_measure() -> None:
    with pytest.raises(OptionError, match="in worlds with prompts alone"):
        bench({"made": ["a b"] * 30}, estimators=("conditional-dd",), worlds=["identical"])
    with pytest.raises(OptionError, match="answers must be at least 1, got 0"):
        prompted_worlds(Corpus.from_texts(["a b"] * 30), 0, n_answers=0)
    assert parse_estimators(["conditional-dd"])[0].needs_prompts
