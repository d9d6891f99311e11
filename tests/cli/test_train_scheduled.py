"""``textassay train scheduled-sampling``: as a newcomer does it, refusals, and going on after a stop."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay_lab.generator.saved import load_model
from textassay_lab.generator.scheduled_sampling_model import ScheduledSamplingModel

pytest.importorskip("torch")

Run = Callable[..., Any]

ASKED = (
    "train",
    "scheduled-sampling",
    "--preset",
    "tiny",
    "--real",
    "train.txt",
    "--valid",
    "real.txt",
    "--workers",
    1,
)


@pytest.mark.feature("JJ-04")
def test_train_sample_and_score(folder: Path, run: Run) -> None:
    mixing = "linear(k=1,c=0.05,least=0.5)"
    done = run(*ASKED, "--out", "out", "--epochs", 2, "--sampling-schedule", mixing, "--json")
    assert done.status == 0, done.stderr
    name = "scheduled-sampling(width=32, mixing=linear(k=1.0,c=0.05,least=0.5))"
    assert f"training {name} on 300 sentences" in done.stderr
    epochs = json.loads(done.stdout)["epochs"]
    assert epochs[1]["valid_perplexity"] < epochs[0]["valid_perplexity"]
    model = load_model(folder / "out").model
    assert isinstance(model, ScheduledSamplingModel)
    assert (model.name, model.schedule.prob_true(5)) == (name, 0.75)
    assert len(run("sample", "out", "-n", 20).stdout.splitlines()) == 20
    assert run("likelihood", "out", "real.txt").status == 0
    again = run(*ASKED, "--out", "out", "--epochs", 2, "--sampling-schedule", mixing)
    assert "fully trained: nothing was changed" in again.stderr


def test_what_is_wrong_is_one_line(refused: Callable[..., str]) -> None:
    assert "unknown schedule 'lin'" in refused(*ASKED, "--out", "no", "--sampling-schedule", "lin(k=1,c=1)")
    assert "the schedule linear needs c" in refused(*ASKED, "--out", "no", "--sampling-schedule", "linear(k=1)")
    lstm = ("train", "lstm", *ASKED[2:], "--out", "no")
    assert "unknown option '--sampling-schedule'" in refused(*lstm, "--sampling-schedule", "constant(k=1)")
    assert "unknown option '--greedy'" in refused(*lstm, "--greedy")


def test_a_stopped_training_goes_on_to_the_same_weights(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*ASKED, "--out", "whole", "--sampling-schedule", "exponential(k=0.95)", "--greedy").status == 0

    def stop(*arguments: object) -> None:
        if (folder / "stopped" / "checkpoint.safetensors").exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("textassay_lab.cli.train._show_step", stop)
        stopped = run(*ASKED, "--out", "stopped", "--sampling-schedule", "exponential(k=0.95)", "--greedy")
    assert stopped.status == 130
    assert not (folder / "stopped" / "config.json").exists()
    done = run(*ASKED, "--out", "stopped", "--sampling-schedule", "exponential(k=0.95)", "--greedy")
    assert "going on with scheduled-sampling(width=32" in done.stderr
    assert (folder / "stopped/model.safetensors").read_bytes() == (folder / "whole/model.safetensors").read_bytes()
