"""Stages that train against a discriminator: what is kept and told, with any start, whole or after an interruption."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from textassay.corpus.text_form import TextForm
from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.leakgan import LeakGan
from textassay_lab.adversarial.leakgan_model import LeakGanModel
from textassay_lab.adversarial.seqgan import SeqGan
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.saved import load_model
from textassay_lab.papers.stages import Stage, Stages, Work
from textassay_lab.papers.training import MODEL, Part, adversarial_stage, as_written, fitted

LINES = [line for line in sentences(200, 1) if len(line.split()) >= 4]
FORM = TextForm.learn(LINES)
TEXT = as_written(FORM.corpus(LINES), FORM, 4)  # of four words each
SMALL = {"width": 8, "goal": 4, "memory": 2, "feature_width": 4, "feature_filters": ((1, 4), (2, 4))}
LEAKGAN = replace(LeakGan.presets["tiny"][1], rounds=3, cycles=1, epochs=1, negatives=20, batch_size=8, roll_outs=1)
SEQGAN = replace(
    SeqGan.presets["tiny"][1],
    rounds=2,
    pretraining_rounds=1,
    negatives=20,
    adversarial_batch_size=8,
    discriminator_filters={1: 4},
)


def leakgan(**more: Any) -> Stage:
    settings = {"network": SMALL, "train": Part(TEXT).settings}
    return adversarial_stage(
        "train", "LeakGAN", "leakgan", SMALL, LEAKGAN, Part(TEXT), FORM, settings=settings, seed=0, longest=4,
        **more,
    )  # fmt: skip


def computed(folder: Path, stage: Stage, tell: Any = None) -> tuple[Path, dict[str, Any]]:
    stages = Stages(folder, tell)
    stages.compute([stage])
    done = stages.done(stage)
    assert done is not None
    return done.folder, done.result


def digest(folder: Path) -> str:
    model: Any = load_model(folder).model
    return str(model.digest)


def test_generators_are_kept_along_the_last_phase_and_its_rounds_are_told(tmp_path: Path) -> None:
    folder, result = computed(tmp_path, leakgan(keep_every=2, folder="last"))
    assert (result["kept"], result["stopped"], list(result["rounds"])) == (3, None, ["1", "2", "3"])
    assert {"reward", "judge_loss", "variety"} <= result["rounds"]["3"].keys()
    assert sorted(path.name for path in folder.iterdir()) == ["0", "2", "3", "last", "stage.json"]
    assert isinstance(load_model(folder / "last").model, LeakGanModel)
    digests = [digest(folder / name) for name in ("0", "2", "3", "last")]
    assert digests[2] == digests[3]
    assert len(set(digests)) == 3
    plain, told = computed(tmp_path / "plain", leakgan())
    assert digest(plain / MODEL) == digests[3], "what is kept along the rounds changes nothing"
    assert told["rounds"] == result["rounds"]


def test_a_killed_training_resumes_and_ends_with_the_same_weights(tmp_path: Path) -> None:
    class KilledError(Exception):
        """Thrown where a run is to end."""

    def kill(label: str, done: int, total: int) -> None:
        if "adversarial, round 2" in label:
            raise KilledError

    whole, result = computed(tmp_path / "whole", leakgan())
    with pytest.raises(KilledError):
        computed(tmp_path / "killed", leakgan(), kill)
    assert list(tmp_path.glob("killed/*/rounds.safetensors"))
    again, told = computed(tmp_path / "killed", leakgan())
    assert not list(tmp_path.glob("killed/*/rounds.safetensors"))
    assert digest(again / MODEL) == digest(whole / MODEL)
    assert told["rounds"] == result["rounds"]


@pytest.mark.parametrize("length", [None, 4])
def test_rounds_after_another_stage_begin_with_its_weights(tmp_path: Path, length: int | None) -> None:
    def learn(work: Work) -> dict[str, Any]:
        model = make_generator("lstm", preset="tiny", width=8, max_epochs=1, max_length=4, seed=1)
        return fitted(work, model, TEXT, TEXT, FORM)

    before = Stage("train", "MLE", {}, learn)
    asked = []

    def watch(work: Work, rounds: Any) -> Any:
        asked.append(rounds.sample(5, seed=0).lengths.tolist())
        return lambda history: {"rounds in all": history.kept}

    stage = adversarial_stage(
        "rounds", "SeqGAN", "seqgan", before, SEQGAN, Part(TEXT), FORM, settings={}, inputs=(before,), seed=0,
        length=length, keep_every=2, watch=watch,
    )  # fmt: skip
    folder, result = computed(tmp_path, stage)
    assert (result["kept"], result["rounds in all"]) == (2, 3)
    stages = Stages(tmp_path)
    done = stages.done(before)
    assert done is not None
    assert digest(folder / "0") == digest(done.folder / MODEL)
    assert digest(folder / "2") == digest(folder / MODEL) != digest(folder / "0")
    model = load_model(folder / MODEL).model
    assert isinstance(model, LstmModel)
    assert model.length == length
    assert model.record["adversarial"]["kept"] == 3
    if length is not None:
        assert asked == [[4] * 5]


def test_a_training_that_collapses_ends_early_and_says_why(tmp_path: Path) -> None:
    network, recipe = CoT.presets["tiny"]
    recipe = replace(recipe, rounds=9, iterations=20, learning_rate=100.0)
    stage = adversarial_stage(
        "train", "CoT", "cot", {**network, "width": 8}, recipe, Part(TEXT), FORM, settings={}, seed=0,
        longest=4,
    )  # fmt: skip
    folder, result = computed(tmp_path, stage)
    assert result["kept"] < 9
    assert "the generator collapses: variety" in result["stopped"]
    assert len(result["rounds"]) == result["kept"]
    assert (folder / MODEL).is_dir()
