"""The command ``train seqgan``: what it makes, what it says and refuses, and that it goes on where it was stopped."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

SEQGAN = ("train", "seqgan", "--real", "train.txt", "--valid", "real.txt", "--width", 8, "--epochs", 1, "--workers", 1)
LSTM = ("train", "lstm", "--preset", "tiny", "--real", "train.txt", "--valid", "real.txt", "--workers", 1)


def _weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.feature("JJ-10")
def test_it_is_trained_kept_told_and_mle_seqgan_is_what_no_rounds_give(folder: Path, run: Run) -> None:
    done = run(*SEQGAN, "--rounds", 2, "--monitor", "length", "--monitor-sentences", 50, "--out", "out")
    assert done.status == 0, done.stderr
    told = " ".join(done.stdout.split())
    for part in ("seqgan(lstm(width=8))", "300 sentences", "after round 5 of 5, the last", "reward", "variety",
                 "discriminator", "adversarial", "Monitors", "real text"):  # fmt: skip
        assert part in told, part
    document = json.loads((folder / "out" / "history.json").read_text())
    assert [each["phase"] for each in document["history"]["rounds"]] == ["discriminator"] * 3 + ["adversarial"] * 2
    assert [each["step"] for each in document["history"]["readings"]] == [3, 4, 5]
    names = {path.name for path in (folder / "out").iterdir()}
    assert {"mle", "monitor.jsonl", "training.html", "model.safetensors"} <= names
    figures = {path.name for path in (folder / "out" / "figures").iterdir()}
    assert {"monitor-length.svg", "rounds-reward.svg"} <= figures
    assert not {"checkpoint.safetensors", "rounds.safetensors"} & names
    saved = load_model(folder / "out")
    assert saved.document["training"]["adversarial"]["rounds"] == 5
    again = run(*SEQGAN, "--rounds", 2, "--monitor", "length", "--monitor-sentences", 50, "--out", "out")
    assert "fully trained: nothing was changed" in again.stderr
    assert again.stdout == done.stdout
    assert run(*SEQGAN, "--rounds", 0, "--out", "mle").status == 0
    assert _weights(folder / "mle") == _weights(folder / "out" / "mle") != _weights(folder / "out")
    assert b"started with other settings" in run(*SEQGAN, "--rounds", 1, "--out", "out").stderr.encode()


def test_one_long_sentence_is_told_since_roll_outs_may_be_as_long(folder: Path, run: Run) -> None:
    (folder / "long.txt").write_text((folder / "train.txt").read_text() + " ".join(["the"] * 201) + "\n")
    asked = ("--rounds", 0, "--width", 4, "--epochs", 1, "--workers", 1, "--out")
    done = run("train", "seqgan", "--real", "long.txt", "--valid", "real.txt", *asked, "long")
    assert "a sentence has 201 tokens, which makes roll-outs slow: use --max-tokens N" in done.stderr
    short = run("train", "seqgan", "--real", "train.txt", "--valid", "real.txt", *asked, "short")
    assert "roll-outs" not in short.stderr


@pytest.mark.slow
def test_an_oracle_says_how_good_the_draws_are(folder: Path, run: Run) -> None:
    assert run("sample", "random-lstm", "-n", 120, "--out", "oracle.txt").status == 0
    asked = ("train", "seqgan", "--real", "oracle.txt", "--oracle", "random-lstm", "--width", 4, "--epochs", 1)
    done = run(*asked, "--rounds", 1, "--keep", "best", "--json", "--workers", 1, "--out", "out")
    assert done.status == 0, done.stderr
    document = json.loads(done.stdout)
    said = document["history"]["validations"]
    assert [each["step"] for each in said] == [3, 4]
    best = min(said, key=lambda each: each["values"]["oracle_nll_per_token"])
    assert (document["keep"], document["history"]["kept"]) == ("oracle_nll_per_token", best["step"])
    assert document["n_types"] == 5004
    model = load_model(folder / "out").model
    assert set(model.sample(20, seed=1).lengths.tolist()) == {20}


def test_what_makes_no_sense_is_refused_in_a_line(folder: Path, run: Run, refused: Refused) -> None:
    asked = ("train", "seqgan", "--real", "train.txt", "--valid", "real.txt", "--out", "out")
    assert "--rounds must be at least 0, got -1" in refused(*asked, "--rounds", -1)
    assert "--keep must be last or best, got 'first'" in refused(*asked, "--keep", "first")
    assert "unknown option '--heads'" in refused(*asked, "--heads", 2)
    assert "unknown preset of seqgan 'huge'" in refused(*asked, "--preset", "huge")
    assert "--width must be at least 1, got 0" in refused(*asked, "--width", 0)
    assert "--oracle must be random-lstm" in refused(*asked, "--oracle", "pretrained:gpt2")
    assert "sets vocabulary and length" in refused(*asked, "--oracle", "random-lstm", "--length", 20)
    assert "sentences do not have 3 tokens, the first is sentence" in refused(*asked, "--length", 3)
    assert "unknown option '--rounds'" in refused(*LSTM, "--rounds", 3, "--out", "out")
    assert "unknown option '--oracle'" in refused(
        "train", "translation", "--real", "train.txt", "--source", "real.txt", "--out", "out", "--oracle", "random-lstm"
    )
    assert not (folder / "out" / "config.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("file", ["checkpoint.safetensors", "rounds.safetensors"])
def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path, file: str) -> None:
    (tmp_path / "text.txt").write_text("\n".join(sentences(600, 7)), encoding="utf-8")
    asked = ("--real", "text.txt", "--width", "16", "--rounds", "3", "--workers", "1")
    command = [sys.executable, "-m", "textassay", "train", "seqgan", *asked, "--out"]
    subprocess.run([*command, "whole"], cwd=tmp_path, capture_output=True, check=True)
    out = tmp_path / "stopped"
    with subprocess.Popen([*command, "stopped"], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (out / file).exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not (out / "config.json").exists(), "it was killed too late to test anything"
    done = subprocess.run([*command, "stopped"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "going on with seqgan" in done.stderr
    assert _weights(out) == _weights(tmp_path / "whole")
    assert _weights(out / "mle") == _weights(tmp_path / "whole" / "mle")
    histories = [(folder / "history.json").read_text() for folder in (out, tmp_path / "whole")]
    assert histories[0] == histories[1]
