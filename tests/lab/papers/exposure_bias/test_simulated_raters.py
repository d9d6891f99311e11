"""The next-word task of the study, with simulated raters: what they were made with is given back, and only that."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from made_up_exposure import MICRO, write_exposure_texts
from textassay.execution.threads import workers
from textassay_lab.human.next_word_score import NextWordScore
from textassay_lab.human.study import load_study
from textassay_lab.papers.exposure_bias.experiment import read_exposure_texts
from textassay_lab.papers.exposure_bias.measures import SimulatedTask
from textassay_lab.papers.exposure_bias.published import NEXT_WORD, SKILLS, ExposureScale
from textassay_lab.papers.exposure_bias.results import ExposureStudy

Skills = Mapping[str, tuple[tuple[float, float], ...]]
TRANSFORMER, TRANSLATION = NEXT_WORD
# Pages that a hundred raters judge: 1,000 answers of each side at each length
MANY = replace(MICRO, judgements_per_page=100, n_raters=100)
ERROR = 3 * math.sqrt(0.25 / 1000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("next-word")
    write_exposure_texts(folder / "data")
    return folder


def _study(folder: Path, scale: ExposureScale) -> ExposureStudy:
    """Return the study with its next-word task computed; models are trained once for all tests."""
    made = ExposureStudy(read_exposure_texts(folder / "data", scale, seed=0), scale, folder / "out")
    with workers(1):
        made.compute(["next-word"])
    return made


def _given_back(folder: Path, scale: ExposureScale) -> dict[tuple[str, int], SimulatedTask]:
    made = _study(folder, scale)
    return {
        (task, length): SimulatedTask.from_dict(made.outcome(stage))
        for task, stages in made.experiment.next_word.items()
        for length, stage in stages.items()
        if made.outcome(stage) is not None
    }


def _recovered(found: Mapping[tuple[str, int], SimulatedTask], skills: Skills) -> bool:
    """Say whether CGD at each length is that of raters of these skills, within three standard errors."""
    wanted = [1 - rate for task in NEXT_WORD for pair in skills[task] for rate in pair]
    scores = [cgd for one in found.values() for cgd in (one.score.cgd_data, one.score.cgd_model)]
    return all(abs(cgd - known) < ERROR for cgd, known in zip(scores, wanted, strict=True))


@pytest.mark.feature("EB-26", "EB-27", "EB-37")
def test_the_skill_of_raters_is_given_back_at_each_length_and_swapped_skills_are_not(folder: Path) -> None:
    found = _given_back(folder, MANY)
    assert list(found) == [(TRANSFORMER, 10), (TRANSFORMER, 20), (TRANSFORMER, 30)] + [
        (TRANSLATION, length) for length in (1, 2, 3)
    ]
    assert _recovered(found, SKILLS)
    for (task, length), one in found.items():
        place = [length for each, length in found if each == task].index(length)
        assert one.known == tuple(1 - rate for rate in SKILLS[task][place])
        assert (one.score.n_data, one.score.n_model, one.score.n_prefixes) == (1000, 1000, 20)
        assert (one.n_pages, one.score.n_raters) == (2, 100)
        assert 0 <= one.foreseen <= 1
    swapped = {task: tuple((own, data) for data, own in pairs) for task, pairs in SKILLS.items()}
    assert not _recovered(found, swapped)
    mutated = _given_back(folder, replace(MANY, skills=swapped))
    assert _recovered(mutated, swapped)
    assert not _recovered(mutated, SKILLS)


@pytest.mark.feature("EB-27")
def test_raters_without_exposure_bias_give_a_rate_of_one(folder: Path) -> None:
    """Twelve intervals of 95 %: one may miss."""
    missed = 0
    for rate in (0.3, 0.6):
        found = _given_back(folder, replace(MANY, skills=dict.fromkeys(NEXT_WORD, ((rate, rate),))))
        assert len(found) == 6
        for one in found.values():
            assert one.known_eb_c == 1
            assert one.score.eb_c_interval is not None
            assert one.score.eb_c == pytest.approx(1, abs=0.15)
            missed += not one.score.eb_c_interval.low <= 1 <= one.score.eb_c_interval.high
    assert missed <= 1


def test_a_length_that_the_text_does_not_allow_is_left_out_and_said(folder: Path) -> None:
    scale = replace(MICRO, next_word_lengths=(10, 51), translation_lengths=(1, 40))
    made = _study(folder, scale)
    assert list(_given_back(folder, scale)) == [(TRANSFORMER, 10), (TRANSLATION, 1)]
    notes = " ".join(made.warning_notes())
    assert f"{TRANSFORMER}, prefixes of 51 tokens are left out: real text has 0 distinct prefixes" in notes
    assert f"{TRANSLATION}, prefixes of 40 tokens are left out: 0 sources have 40 tokens" in notes


def test_pages_are_kept_for_people_and_an_item_of_each_side_is_shown(folder: Path) -> None:
    made = _study(folder, MICRO)
    for task, stages in made.experiment.next_word.items():
        length, stage = next(iter(stages.items()))
        one = SimulatedTask.from_dict(made.outcome(stage))
        study = load_study(made.stages.folder_of(stage))
        items = {item.text: item for item in study.items}
        lines = [(line.kind, line.prefix + line.continuation) for line in one.items]
        halves = (lines[: len(lines) // 2], lines[len(lines) // 2 :])
        for half, whose in zip(halves, ("the data", "the model"), strict=True):
            shown = dict(half)
            text = shown.get(
                "beginning", f"Source: {shown.get('source')}\nTranslation: {shown.get('partial translation')}"
            )
            assert ("source" in shown) == (task == TRANSLATION)
            item = items[text]
            assert (item.generator is None) == (whose == "the data")
            assert shown["written by (not on the page)"] == whose
            assert [shown[f"answer {k}"] for k in range(6)] == [*item.choices, "none of them"]
        if task == TRANSFORMER:
            assert {len(item.text.split()) for item in study.items} == {length}


def test_scores_survive_their_document(folder: Path) -> None:
    for one in _given_back(folder, MICRO).values():
        assert NextWordScore.from_dict(one.score.to_dict()) == one.score
        assert one.score.spreads is None, "two pages are no five evaluations"
    undefined = replace(one.score, eb_c=math.nan, eb_c_interval=None, spreads=(0.1, 0.1, math.nan))
    again = NextWordScore.from_dict(undefined.to_dict())
    assert math.isnan(again.eb_c)
    assert again.spreads is not None
    assert math.isnan(again.spreads[2])
