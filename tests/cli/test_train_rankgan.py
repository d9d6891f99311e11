"""The command ``train rankgan``: what it makes, what it refuses, and that it goes on where it was stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from textassay_lab.adversarial.rankgan_training import RankGanTraining
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

RANKGAN = ("train", "rankgan", "--real", "train.txt", "--valid", "real.txt", "--width", 8, "--epochs", 1)
ASKED = (*RANKGAN, "--rounds", 2, "--json", "--workers", 1, "--out")


@pytest.mark.slow
@pytest.mark.feature("JJ-11")
def test_a_training_that_was_stopped_goes_on_to_the_same_model(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(*ASKED, "whole")
    assert whole.status == 0, whole.stderr
    document = json.loads(whole.stdout)
    assert document["model"] == "rankgan(lstm(width=8))"
    rounds = document["history"]["rounds"]
    assert [each["phase"] for each in rounds] == ["discriminator"] * 3 + ["adversarial"] * 2
    assert all(each["values"]["reward"] < 0 for each in rounds[3:])
    made = load_model(folder / "whole").document["training"]["adversarial"]
    assert (made["kind"], made["recipe"]["gamma"], made["recipe"]["references"]) == ("rankgan", 5.0, 16)
    plain = RankGanTraining.round

    def stopped(self: RankGanTraining, phase: str, number: int) -> dict[str, float]:
        if phase == "adversarial" and number == 1:
            raise KeyboardInterrupt
        return plain(self, phase, number)

    with monkeypatch.context() as patch:
        patch.setattr(RankGanTraining, "round", stopped)
        assert run(*ASKED, "out").status == 130
    assert (folder / "out" / "rounds.safetensors").exists()
    assert not (folder / "out" / "config.json").exists()
    again = run(*ASKED, "out")
    assert "going on with rankgan" in again.stderr
    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("whole", "out", "whole/mle")]
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.slow
def test_the_rounds_have_a_learning_rate_of_their_own(folder: Path, run: Run) -> None:
    recipes = []
    for name, asked in (("first", ("--learning-rate", 0.02)), ("rounds", ("--adversarial-learning-rate", 1e-5))):
        assert run(*RANKGAN, *asked, "--rounds", 1, "--workers", 1, "--out", name).status == 0
        made = json.loads((folder / name / "training.json").read_text())
        recipes.append((made["network"]["recipe"]["learning_rate"], made["rounds"]["adversarial_learning_rate"]))
    assert recipes == [(0.02, 0.003), (0.01, 1e-5)]
    before, after = (load_file(folder / name / "model.safetensors") for name in ("rounds/mle", "rounds"))
    moved = max(float(np.abs(after[name] - before[name]).max()) for name in before)
    assert 0 < moved < 2e-5  # Adam's first step is its rate


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, run: Run, refused: Refused) -> None:
    assert "unknown option '--heads'" in refused(*RANKGAN, "--out", "out", "--heads", 2)
    assert "unknown preset of rankgan 'huge'" in refused(*RANKGAN, "--out", "out", "--preset", "huge")
    assert "--rounds must be at least 0, got -1" in refused(*RANKGAN, "--out", "out", "--rounds", -1)
    assert "--adversarial-learning-rate must be above 0, got 0" in refused(
        *RANKGAN, "--out", "out", "--adversarial-learning-rate", 0
    )
    assert not (folder / "out" / "config.json").exists()
