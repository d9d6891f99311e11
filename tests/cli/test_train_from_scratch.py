"""The commands ``train cot`` and ``train scratchgan``: what they make, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.model_store.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

ASKED = ("--real", "train.txt", "--valid", "real.txt", "--width", 4, "--batch-size", 4, "--rounds", 1, "--workers", 1)


@pytest.mark.parametrize(("name", "loss"), [("cot", "mediator_loss"), ("scratchgan", "judge_loss")])
def test_it_is_trained_kept_and_told(name: str, loss: str, folder: Path, run: Run) -> None:
    given = () if name == "cot" else ("--vectors", "vectors.txt")
    (folder / "vectors.txt").write_text("but 1 2 3\npen 4 6 5\ncat 0 1 2\n")
    done = run("train", name, *ASKED, *given, "--json", "--out", "out")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    kind = "lstm(width=4)" if name == "cot" else "tied-lstm(width=4, dimension=16, fixed=3)"
    assert told["model"] == f"{name}({kind})"
    assert {loss, "generator_loss", "variety"} <= set(told["history"]["rounds"][0]["values"])
    assert [each["step"] for each in told["history"]["validations"]] == [0, 1]
    saved = load_model(folder / "out")
    assert saved.document["training"]["adversarial"]["kind"] == name
    assert "nothing was changed" in run("train", name, *ASKED, *given, "--out", "out").stderr
    assert run("likelihood", "out", "real.txt").status == 0


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, refused: Refused) -> None:
    cot, scratchgan = (("train", name, *ASKED, "--out", "out") for name in ("cot", "scratchgan"))
    assert "cot has no --vectors" in refused(*cot, "--vectors", "vectors.txt")
    assert "cot has no --epochs" in refused(*cot, "--epochs", 2)
    assert "unknown preset of scratchgan 'huge'" in refused(*scratchgan, "--preset", "huge")
    assert "cannot read the word vectors" in refused(*scratchgan, "--vectors", "vectors.txt")
    assert "--oracle must be random-lstm" in refused(*scratchgan, "--oracle", "pretrained:gpt2")
    assert "sentences do not have 3 tokens" in refused(*cot, "--length", 3)
