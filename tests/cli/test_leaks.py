"""``textassay leaks`` on small files: what it prints, writes and returns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Refused = Callable[..., str]
TEXTS = ("leaks", "--train", "train.txt", "--real", "real.txt")


@pytest.fixture(autouse=True)
def texts(folder: Path) -> None:
    """Let one generator repeat its training text, one address in it."""
    train = (folder / "train.txt").read_text(encoding="utf-8").splitlines()
    secret = "the key of our house is with anna@example.org until the end of next week ."
    copied = [*train[:150], *(folder / "trigram.txt").read_text(encoding="utf-8").splitlines()[:149], secret]
    for name, lines in {"train": [*train, secret], "copier": copied}.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_a_leak_is_status_1_and_what_cannot_be_told_status_3(run: Run) -> None:
    found = run(*TEXTS, "copier=copier.txt", "trigram=trigram.txt")
    assert found.status == 1, found.stderr
    assert "copier repeats more of the training text than fresh real text does" in found.stdout
    assert "trigram: inconclusive: no excess was found" in found.stdout
    alone = run(*TEXTS, "trigram=trigram.txt")
    assert alone.status == 3
    assert len(alone.stdout.splitlines()) <= 20


def test_personal_data_is_masked_everywhere_unless_it_is_asked_for(run: Run, folder: Path) -> None:
    found = run(*TEXTS, "copier=copier.txt", "--out", "r", "--json")
    written = {path.name: path.read_text(encoding="utf-8") for path in (folder / "r").glob("leaks.*")}
    assert set(written) == {"leaks.csv", "leaks.html", "leaks.json", "leaks.md", "leaks.tex"}
    assert json.loads(found.stdout) == json.loads(written["leaks.json"])
    everything = "".join([*written.values(), found.stdout, (folder / "r/passages.csv").read_text(encoding="utf-8")])
    assert "anna@example.org" not in everything
    assert "with [e-mail] until" in written["leaks.html"]
    shown = run(*TEXTS, "copier=copier.txt", "--show-personal", "--json")
    assert "with anna@example.org until" in shown.stdout


def test_canaries(run: Run, folder: Path) -> None:
    (folder / "canaries.txt").write_text(
        "the key of our house is with anna@example.org\nnobody wrote this ever\n", encoding="utf-8"
    )
    found = run(*TEXTS, "copier=copier.txt", "--canaries", "canaries.txt", "--json")
    (one,) = json.loads(found.stdout)["generators"]
    assert (one["canaries"]["n_whole"], json.loads(found.stdout)["canaries_in_train"]) == (1, 1)
    assert one["canaries"]["p_value"] is None
    assert one["canaries"]["canaries"][0]["text"] == "the key of our house is with [e-mail]"


def test_refusals(refused: Refused) -> None:
    assert "give real text that was held out of training" in refused(
        "leaks", "--train", "real.txt", "--real", "real.txt", "lstm.txt"
    )
    assert "no generated text is given" in refused(*TEXTS)
    assert "level must be" in refused(*TEXTS, "lstm.txt", "--level", "2")
    assert "give both, or leave the controls out" in refused(*TEXTS, "lstm.txt", "--canary-controls", "trigram.txt")
