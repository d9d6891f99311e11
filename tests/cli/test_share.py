"""``textassay share`` on small files: what it prints, writes and returns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
Refused = Callable[..., str]


def test_a_share_is_bounded_printed_and_written(run: Run, folder: Path) -> None:
    found = run(
        "share", "--real", "real.txt", "lstm=lstm.txt", "--later", "train.txt", "--machine", "trigram.txt",
        "--effort", "quick", "--out", "r",
    )  # fmt: skip
    assert found.status in (1, 3), found.stderr
    assert found.stdout.startswith("lstm: ")
    assert "clean later text" in found.stdout
    values = json.loads((folder / "r/share.json").read_text(encoding="utf-8"))
    (corpus,) = values["corpora"]
    assert corpus["name"] == "lstm"
    assert 0 <= corpus["at_least"] <= corpus["certified"] or corpus["at_least"] <= corpus["low"]
    assert {path.name for path in (folder / "r").iterdir()} >= {"share.html", "share.md", "share.tex", "shares.csv"}


def test_one_text_for_two_roles_is_refused(refused: Refused) -> None:
    told = refused("share", "--real", "real.txt", "lstm.txt", "--later", "real.txt")
    assert "--real and --later are the same file" in told
