"""The command ``train leakgan``: what it makes and refuses, going on, characters, its perplexity from draws."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

ASKED = ("--width", 4, "--epochs", 1, "--rounds", 1, "--workers", 1)
LEAKGAN = ("train", "leakgan", "--real", "train.txt", "--valid", "real.txt", *ASKED)


@pytest.mark.feature("JJ-12", "LM-12")
def test_characters_are_learnt_drawn_and_their_perplexity_estimated(folder: Path, run: Run) -> None:
    (folder / "running.txt").write_text("the cat sat on the mat and the dog saw it " * 12)
    running = ("--tokenizer", "chars", "--window", 5)
    asked = ("train", "leakgan", "--real", "running.txt", *running, *ASKED, "--keep", "best", "--json", "--out", "out")
    done = run(*asked)
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["model"] == "leakgan(width=4, goal=16, memory=4, length=5)"
    assert [each["phase"] for each in told["history"]["rounds"]] == ["pretraining"] * 2 + ["adversarial"]
    assert set(told["history"]["rounds"][-1]["values"]) == {"reward", "intrinsic", "judge_loss", "variety"}
    assert told["keep"] == "valid_nll_per_token"
    assert not (folder / "out" / "rounds.safetensors").exists()
    model = load_model(folder / "out").model
    assert set(model.sample(20, seed=1).lengths.tolist()) == {5}
    again = run(*asked)
    assert "fully trained: nothing was changed" in again.stderr
    assert again.stdout == done.stdout
    estimated = run("approximate", "out", "running.txt", "--window", 5, "--samples", 1000, "--json")
    assert estimated.status == 0, estimated.stderr
    found = {
        name: json.loads(estimated.stdout)[name]["bits_per_token"]["value"] for name in ("plain", "corrected", "exact")
    }
    assert found["plain"] > found["exact"]
    assert found["corrected"] == pytest.approx(found["exact"], abs=0.02)


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, refused: Refused) -> None:
    asked = (*LEAKGAN, "--out", "out")
    assert "unknown option '--heads'" in refused(*asked, "--heads", 2)
    assert "unknown option '--oracle'" in refused(*asked, "--oracle", "random-lstm")
    assert "unknown preset of leakgan 'huge'" in refused(*asked, "--preset", "huge")
    assert "--width must be at least 1, got 0" in refused(*asked, "--width", 0)
    assert "sentences do not have 3 tokens, the first is sentence" in refused(*asked, "--length", 3)
    assert not (folder / "out" / "config.json").exists()
