"""The commands ``train cot`` and ``train scratchgan``: what they make, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay_lab.generator.saved import load_model

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


def test_a_collapse_is_told_with_the_rounds_that_led_to_it(folder: Path, run: Run) -> None:
    asked = ("train", "cot", *ASKED, "--rounds", 9, "--learning-rate", 100, "--out", "out")
    done = run(*asked)
    assert done.status == 0, done.stderr
    assert "warning: training ended before all rounds: " in done.stderr
    assert "after round 0 of 3, before all" in " ".join(done.stdout.split())
    history = json.loads((folder / "out" / "history.json").read_text())["history"]
    assert "the generator collapses: variety is" in history["stopped"]
    assert (history["kept"], [each["number"] for each in history["rounds"]]) == (0, [1, 2, 3])
    assert all(each["values"]["variety"] < 0.05 for each in history["rounds"])
    ending = load_model(folder / "out").document["training"]["adversarial"]
    assert (ending["kept"], ending["rounds"], ending["stopped"]) == (0, 3, history["stopped"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("but 1 2 3\npen 4 x 5\n", "line 2: the vector of 'pen' is not all numbers"),
        ("but 1 2 3\npen 4 inf 5\n", "line 2: the vector of 'pen' is not finite"),
        ("but 1 2 3\npen 4 5\n", "line 2: 2 numbers, but the vectors before have 3"),
        ("nowhere 1 2 3\n", "contains vectors for none of the"),
    ],
)
def test_word_vectors_are_read_before_anything_is_written(
    folder: Path, refused: Refused, lines: str, message: str
) -> None:
    (folder / "vectors.txt").write_text(lines)
    assert message in refused("train", "scratchgan", *ASKED, "--vectors", "vectors.txt", "--out", "out")
    assert not (folder / "out").exists()


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, refused: Refused) -> None:
    cot, scratchgan = (("train", name, *ASKED, "--out", "out") for name in ("cot", "scratchgan"))
    assert "unknown option '--vectors'" in refused(*cot, "--vectors", "vectors.txt")
    assert "unknown option '--epochs'" in refused(*cot, "--epochs", 2)
    assert "unknown preset of scratchgan 'huge'" in refused(*scratchgan, "--preset", "huge")
    assert "cannot read the word vectors" in refused(*scratchgan, "--vectors", "vectors.txt")
    assert "--oracle must be random-lstm" in refused(*scratchgan, "--oracle", "pretrained:gpt2")
    assert "sentences do not have 3 tokens" in refused(*cot, "--length", 3)
