"""The command ``train rankgan``: what it makes, what it refuses, and that it goes on where it was stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.adversarial.rankgan import RankGan
from textassay.model_store.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

RANKGAN = ("train", "rankgan", "--real", "train.txt", "--valid", "real.txt", "--width", 8, "--epochs", 1)
ASKED = (*RANKGAN, "--rounds", 2, "--json", "--workers", 1, "--out")


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
    assert (made["kind"], made["recipe"]["gamma"], made["recipe"]["n_references"]) == ("rankgan", 5.0, 16)
    plain = RankGan.round

    def stopped(self: RankGan, phase: str, number: int) -> dict[str, float]:
        if phase == "adversarial" and number == 1:
            raise KeyboardInterrupt
        return plain(self, phase, number)

    with monkeypatch.context() as patch:
        patch.setattr(RankGan, "round", stopped)
        assert run(*ASKED, "out").status == 130
    assert (folder / "out" / "rounds.safetensors").exists()
    assert not (folder / "out" / "model.json").exists()
    again = run(*ASKED, "out")
    assert "going on with rankgan" in again.stderr
    weights = [(folder / name / "model.safetensors").read_bytes() for name in ("whole", "out", "whole/mle")]
    assert weights[0] == weights[1] != weights[2]


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, run: Run, refused: Refused) -> None:
    assert "rankgan has no --heads" in refused(*RANKGAN, "--out", "out", "--heads", 2)
    assert "unknown preset of rankgan 'huge'" in refused(*RANKGAN, "--out", "out", "--preset", "huge")
    assert "--rounds must be at least 0, got -1" in refused(*RANKGAN, "--out", "out", "--rounds", -1)
    assert not (folder / "out" / "model.json").exists()
