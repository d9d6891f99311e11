"""The command ``train wgan``: it trains, goes on, draws; what has no likelihood says so; running text in windows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Refused = Callable[..., str]

WGAN = ("train", "wgan", "--real", "train.txt", "--width", 4, "--batch-size", 4, "--rounds", 1, "--workers", 1)
RUNNING = ("--tokenizer", "chars", "--window", 3)


@pytest.mark.feature("LM-10")
def test_it_trains_on_running_text_draws_and_has_no_likelihood(folder: Path, run: Run, refused: Refused) -> None:
    (folder / "running.txt").write_text("the cat sat on the mat and the dog saw it " * 30)
    asked = ("train", "wgan", "--real", "running.txt", *WGAN[4:], *RUNNING)
    done = run(*asked, "--monitor", "length", "--monitor-sentences", 20, "--json", "--out", "out")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["model"] == "wgan(noise-gru(width=4, length=3, noise=10, ends=False))"
    assert [each["values"]["length"] for each in told["history"]["rounds"]] == [1, 2, 3]
    assert told["train"]["n_sentences"] == 378  # of 3 characters, in nine tenths of 1,260
    assert not (folder / "out" / "rounds.safetensors").exists()
    drawn = run("sample", "out", "-n", 5, "--out", "drawn.jsonl")
    assert drawn.status == 0, drawn.stderr
    lines = (folder / "drawn.jsonl").read_text().splitlines()
    assert len(lines) == 5
    again = run(*asked, "--monitor", "length", "--monitor-sentences", 20, "--json", "--out", "out")
    assert "fully trained: nothing was changed" in again.stderr
    for command in (("likelihood", "out", "train.txt"), ("discrepancy", "out", "out")):
        assert "without likelihood (noise-gru(width=4" in refused(*command)


@pytest.mark.slow
def test_sentences_end_where_no_length_is_asked_for(folder: Path, run: Run) -> None:
    done = run(*WGAN, "--out", "out")
    assert done.status == 0, done.stderr
    assert "noise-gru(width=4, length=7, noise=10)" in " ".join(done.stdout.split())
    assert "sentences have more than 7 tokens: only their beginning is learnt" in done.stderr


def test_what_it_does_not_have_is_refused(refused: Refused) -> None:
    assert "unknown option '--layers'" in refused(*WGAN, "--layers", 2, "--out", "out")
    assert "unknown preset of wgan 'huge'" in refused(*WGAN, "--preset", "huge", "--out", "out")
    assert "unknown option '--oracle'" in refused(*WGAN, "--oracle", "random-lstm", "--out", "out")
    assert "--width must be at least 1, got 0" in refused(*WGAN, "--width", 0, "--out", "out")
    assert "leave --length out" in refused(*WGAN, "--window", 3, "--length", 3, "--out", "out")
    asked = (*WGAN, "--tokenizer", "chars", "--length", 5000, "--out", "out")
    assert "no sentence has 5000 tokens" in refused(*asked, "--quiet")
    assert "rounds must be at least 1, got 0" in refused(*WGAN, "--rounds", 0, "--out", "out")


def test_only_what_changed_is_told(folder: Path, run: Run, refused: Refused) -> None:
    assert run(*WGAN, "--length", 2, "--quiet", "--out", "out").status == 0
    line = refused(*WGAN, "--length", 2, "--rounds", 2, "--quiet", "--out", "out")
    assert line == "out was started with other settings (rounds 1, now 2): choose another --out"
