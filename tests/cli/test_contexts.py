"""The commands ``train`` and ``sample`` for generators that answer to contexts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.cli.model_names import CONTEXTUAL
from textassay.model_store.context_presets import CONTEXT_PRESETS
from textassay.model_store.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]

pytest.importorskip("torch")


@pytest.fixture
def reviews(folder: Path) -> Path:
    """Return a folder with 400 reviews that say what their context says, and the contexts."""
    rng = np.random.default_rng(0)
    moods = rng.integers(2, size=400)
    words = np.array([["bad", "awful"], ["good", "lovely"]])
    lines = [" ".join(words[mood, rng.integers(2, size=rng.geometric(0.3))]) for mood in moods]
    (folder / "reviews.txt").write_text("".join(f"{line}\n" for line in lines))
    (folder / "reviews.tsv").write_text("mood\tplace\n" + "".join(f"{'-+'[mood]}\there\n" for mood in moods))
    return folder


def asked(model: str, *more: object) -> tuple[object, ...]:
    named = ("--real", "reviews.txt", "--contexts", "reviews.tsv", "--out", "out")
    return ("train", model, "--preset", "tiny", "--workers", 1, *named, *more)


def test_all_that_answer_to_contexts_can_be_trained() -> None:
    assert sorted(CONTEXT_PRESETS) == sorted(CONTEXTUAL)


@pytest.mark.feature("JJ-05", "JJ-06", "JJ-07")
@pytest.mark.parametrize("model", CONTEXTUAL)
def test_trained_from_the_command_line_it_says_what_it_is_asked(reviews: Path, run: Run, model: str) -> None:
    done = run(*asked(model, "--epochs", 8))
    assert done.status == 0
    assert f"{model}(width=32, contexts=mood+place)" in " ".join(done.stdout.split())
    assert "trained to the end: nothing was changed" in run(*asked(model, "--epochs", 8)).stderr
    (reviews / "asked.tsv").write_text("place\tmood\nhere\t+\n")
    sample = run("sample", "out", "-n", 50, "--contexts", "asked.tsv")
    words = sample.stdout.split()
    assert len(sample.stdout.splitlines()) == 50
    assert np.mean([word in ("good", "lovely") for word in words]) > 0.9
    (reviews / "asked.tsv").write_text("mood\tplace\n-\there\n" * 1 + "-\tnobody knows\n" * 4)
    assert len(run("sample", "out", "--contexts", "asked.tsv").stdout.splitlines()) == 5
    assert len(run("sample", "out", "-n", 3).stdout.splitlines()) == 3


def test_contexts_stay_with_their_sentences(reviews: Path, run: Run) -> None:
    lines = (reviews / "reviews.txt").read_text().splitlines()
    assert run(*asked("c2s", "--max-tokens", 3, "--fraction", 0.5, "--epochs", 1)).status == 0
    record = json.loads((reviews / "out" / "model.json").read_text())["training"]
    first = [line for line in lines[:180] if len(line.split()) <= 3]
    positive = sum(line.split()[0] in ("good", "lovely") for line in first)
    assert sorted(record["contexts"]["counts"]) == sorted((positive, len(first) - positive))


def test_other_contexts_are_another_training(reviews: Path, run: Run, refused: Refused) -> None:
    assert run(*asked("c2s", "--epochs", 1)).status == 0
    table = (reviews / "reviews.tsv").read_text()
    (reviews / "reviews.tsv").write_text(table.replace("\there", "\tthere"))
    assert "other contexts" in refused(*asked("c2s", "--epochs", 1, "--quiet"))


def test_rare_contexts_are_one(reviews: Path, run: Run) -> None:
    lines = (reviews / "reviews.tsv").read_text().splitlines()
    (reviews / "reviews.tsv").write_text("\n".join([*lines[:5], "?\there", *lines[6:]]) + "\n")
    assert run(*asked("c2s", "--epochs", 1, "--context-count", 2)).status == 0
    assert len(load_model(reviews / "out").model.attributes["mood"]) == 3  # type: ignore[attr-defined]


def test_what_does_not_fit_is_refused(reviews: Path, run: Run, refused: Refused) -> None:
    assert "c2s answers to contexts: name with --contexts" in refused(
        "train", "c2s", "--real", "reviews.txt", "--out", "o"
    )
    assert "lstm has no --contexts" in refused(*asked("lstm"))
    assert "--valid and --valid-contexts belong together" in refused(*asked("c2s", "--valid", "real.txt"))
    assert "c2s has no --window" in refused(*asked("c2s", "--window", 5))
    assert "--context-count must be at least 1" in refused(*asked("c2s", "--context-count", 0))
    table = (reviews / "reviews.tsv").read_text()
    (reviews / "reviews.tsv").write_text(table + "+\there\n")
    assert "contexts of 401 sentences below its first line, but there are 400" in refused(*asked("c2s", "--quiet"))
    (reviews / "reviews.tsv").write_text(table)
    assert run(*asked("c2s", "--epochs", 1)).status == 0
    assert "has 400 contexts: give 1, or as many as -n" in refused(
        "sample", "out", "-n", 3, "--contexts", "reviews.tsv"
    )
    assert "the sentences have no contexts" in refused("likelihood", "out", "reviews.txt")
    assert run("train", "ngram", "--real", "reviews.txt", "--out", "n").status == 0
    assert "answers to no contexts" in refused("sample", "n", "-n", 3, "--contexts", "reviews.tsv")
