"""The folder that ``train --out`` names: what was begun there with other settings stays as it is."""

import json
from pathlib import Path

import pytest

from textassay.cli.trained_folder import CHECKPOINT, MODEL, ROUNDS, SETTINGS, finished
from textassay.errors import InputError


@pytest.mark.parametrize("begun", [CHECKPOINT, ROUNDS, MODEL])
def test_what_was_begun_with_other_settings_is_refused_and_says_which(tmp_path: Path, begun: str) -> None:
    (tmp_path / SETTINGS).write_text(json.dumps({"seed": 0, "rounds": {"learning_rate": 0.5}, "max-epochs": None}))
    (tmp_path / begun).touch()
    now = {"seed": 0, "rounds": {"learning_rate": 0.1}, "learning-rate": 0.1, "max-epochs": 2}  # as options, too
    with pytest.raises(
        InputError, match=r"was begun with other settings \(learning-rate 0.5, now 0.1, epochs the default, now 2\): "
    ):
        finished(tmp_path, now, str, options={("training", "max_epochs"): "epochs"})


def test_settings_without_anything_learnt_hold_nobody_back(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text('{"seed": 0}')
    assert finished(tmp_path, {"seed": 1}, str) is None
