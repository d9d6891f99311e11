"""The folder that ``train --out`` names: what was begun there with other settings stays as it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.corpus.text_form import TextForm
from textassay.errors import InputError
from textassay.ngram.model import NgramModel
from textassay.storage import write_files
from textassay_lab.cli.train import Train
from textassay_lab.cli.trained_folder import CHECKPOINT, CONFIG, HISTORY, ROUNDS_CHECKPOINT, SETTINGS, finished
from textassay_lab.generator.saved import save_model


@pytest.mark.parametrize("begun", [CHECKPOINT, ROUNDS_CHECKPOINT, CONFIG])
def test_what_was_begun_with_other_settings_is_refused_and_says_which(tmp_path: Path, begun: str) -> None:
    (tmp_path / SETTINGS).write_text(json.dumps({"seed": 0, "rounds": {"learning_rate": 0.5}, "max-epochs": None}))
    (tmp_path / begun).touch()
    now = {"seed": 0, "rounds": {"learning_rate": 0.1}, "max-epochs": 2}
    with pytest.raises(
        InputError, match=r"was started with other settings \(learning-rate 0.5, now 0.1, epochs the default, now 2\): "
    ):
        finished(tmp_path, now, str, options={"rounds": "rounds", "max_epochs": "epochs"})


def test_settings_without_anything_learnt_hold_nobody_back(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text('{"seed": 0}')
    assert finished(tmp_path, {"seed": 1}, str) is None


@pytest.mark.parametrize("left", [CHECKPOINT, ROUNDS_CHECKPOINT])
def test_what_a_run_killed_at_its_very_end_left_is_cleared(tmp_path: Path, left: str) -> None:
    form = TextForm.learn(["a b", "b c"])
    model = NgramModel(2).fit(form.corpus(["a b", "b c"]))
    write_files(tmp_path, {SETTINGS: "{}", HISTORY: "history"})
    save_model(model, tmp_path, form=form)
    (tmp_path / left).touch()
    assert finished(tmp_path, {}, str) == "history"
    assert not (tmp_path / left).exists()


def test_a_folder_that_was_removed_meanwhile_does_not_count_as_finished(
    folder: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "text.txt").write_text("a b c\nb c d\nc d e\n" * 10)
    command = ("train", "ngram", "--real", "text.txt", "--out", "out")
    saved = Train.keep_model

    def removed(self: Train, *arguments: Any, **options: Any) -> None:
        shutil.rmtree("out")
        saved(self, *arguments, **options)

    monkeypatch.setattr(Train, "keep_model", removed)
    outcome = run(*command)
    assert outcome.status == 2
    assert "files of out were removed during the run: run the same command again" in outcome.stderr
    monkeypatch.setattr(Train, "keep_model", saved)
    assert run(*command).status == 0
