"""The option ``--window`` of ``train``: running text for every generator that learns from a text."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay_lab.generator.running_text import cut_windows
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

TRAIN = ("--real", "running.txt", "--tokenizer", "chars", "--workers", 1, "--out", "out")
LSTM = ("train", "lstm", "--preset", "tiny", "--width", 8, "--epochs", 1, *TRAIN)


@pytest.fixture
def running(folder: Path) -> Path:
    """Return the working folder, with one line of running text of 1,800 characters."""
    text = "the cat sat on the mat and the dog saw it all " * 39 + "the ca"
    (folder / "running.txt").write_text(text)
    (folder / "valid.txt").write_text(text[7:])
    return folder


def test_an_lstm_learns_windows_that_never_end(running: Path, run: Run, refused: Refused) -> None:
    done = run(*LSTM, "--window", 10)
    assert done.status == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "lstm(width=8, length=10)" in told
    assert "162 sentences, 1,620 tokens" in told, "nine tenths of the text"
    assert "18 sentences, 180 tokens" in told
    assert "nats); nothing ends" in told
    document = json.loads((running / "out" / "history.json").read_text())
    saved = load_model(running / "out")
    text = (running / "running.txt").read_text()
    scores = saved.model.token_log_probs(cut_windows(saved.form.corpus([text[1620:]]), 10))
    assert document["valid_nll_per_token"] == pytest.approx(-scores.sum() / 180), "no end is counted"
    assert set(saved.model.sample(20, seed=1).lengths.tolist()) == {10}
    again = run(*LSTM, "--window", 10)
    assert "fully trained: nothing was changed" in again.stderr
    assert again.stdout == done.stdout
    assert "window 10, now 12" in refused(*LSTM, "--window", 12, "--quiet")
    assert "score running text with 'approximate --window 10 --mode exact'" in refused(
        "likelihood", "out", "running.txt"
    )
    assert "never ends a sentence: add --window T" in refused("approximate", "out", "real.txt")
    exact = run("approximate", "out", "running.txt", "--window", 10, "--mode", "exact", "--json")
    nats = json.loads(exact.stdout)["exact"]["bits_per_token"]["value"] * math.log(2)
    scores = saved.model.token_log_probs(cut_windows(saved.form.corpus([text]), 10))
    assert nats == pytest.approx(-scores.sum() / 1800)


@pytest.mark.parametrize("model", ["ngram", "gpt2", "transformer-xl", "position-unigram"])
def test_other_models_read_windows_as_sentences(running: Path, run: Run, model: str) -> None:
    small = () if model in ("ngram", "position-unigram") else ("--width", 8, "--epochs", 1)
    done = run("train", model, "--preset", "tiny", *small, *TRAIN, "--window", 10)
    assert done.status == 0, done.stderr
    assert "162 sentences, 1,620 tokens" in " ".join(done.stdout.split())
    measured = run("approximate", "out", "running.txt", "--window", 10, "--mode", "exact", "--json")
    assert 0 < json.loads(measured.stdout)["exact"]["bits_per_character"]["value"] < 6


def test_what_makes_no_sense_is_refused_in_a_line(running: Path, refused: Refused) -> None:
    assert "--window must be at least 1, got 0" in refused(*LSTM, "--window", 0)
    assert "leave --max-tokens out" in refused(*LSTM, "--window", 10, "--max-tokens", 10)
    assert "no window of 5000 tokens" in refused(*LSTM, "--window", 5000, "--quiet")
    assert "at least 2 windows of 1000 tokens" in refused(*LSTM, "--window", 1000, "--valid", "valid.txt", "--quiet")
    assert "running.txt has one text: to train on it as running text, give a window of tokens" in refused(*LSTM)
    assert "unknown option '--window'" in refused(
        "train", "translation", "--real", "train.txt", "--source", "real.txt", "--window", 3, "--out", "out"
    )
