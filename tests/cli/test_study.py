"""The command ``study``, at a scale smaller than any it has."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from made_up import sentences
from textassay_lab.papers.dd.experiment import DD_PAPER
from textassay_lab.papers.paper import Network

Command = Callable[..., "object"]

MICRO = DD_PAPER.scales["tiny"].but(
    name="micro", n_train=120, n_drawn_train=100, n_valid=12, n_test=30, n_class=40, fractions=(0.5, 1.0),
    networks=dict.fromkeys(("LSTM", "GPT-2"), Network("tiny")), original=Network("tiny"), min_count=1,
)  # fmt: skip


@pytest.fixture(autouse=True)
def micro(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(DD_PAPER.scales, "micro", MICRO)
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in sentences(340, 1)), encoding="utf-8")


def test_list_tells_the_studies_and_the_scales(run) -> None:  # type: ignore[no-untyped-def]
    outcome = run("study", "list")
    assert outcome.status == 0
    assert all(word in outcome.stdout for word in ("dd-real", "dd-synthetic", "tiny", "laptop", "paper"))
    assert json.loads(run("study", "list", "--json").stdout)["scales"] == ["tiny", "laptop", "medium", "paper"]


def test_some_stages_alone_then_nothing_more(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    command = (
        "study",
        "dd-real",
        "--real",
        "text.txt",
        "--scale",
        "micro",
        "--out",
        "out",
        "--only",
        "train",
        "--json",
    )
    first = run(*command)
    assert first.status == 0, first
    assert json.loads(first.stdout)["computed"] == 6
    assert "6 stages computed" in first.stderr
    assert json.loads(run(*command).stdout)["computed"] == 0
    assert json.loads(run(*command, "--seed", "1", "--quiet").stdout)["computed"] == 6
    words = {word for line in sentences(340, 1) for word in line.split() if len(word) > 3}
    documents = "".join(path.read_text() for path in folder.glob("out/stages/*/stage.json"))
    assert not [word for word in words if f'"{word}"' in documents], "text of the corpus is in a stage"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dd-reel",), "unknown study 'dd-reel': did you mean dd-real"),
        (("dd-real", "--out", "out", "--scale", "huge"), "unknown scale 'huge'"),
        (("dd-real", "--real", "text.txt"), "missing option '--out'"),
        (("dd-real", "--real", "real.txt", "--out", "out"), "tiny needs 11500 sentences, the real text has 300"),
        (("dd-real", "--real", "text.txt", "--out", "text.txt"), "cannot write into text.txt"),
        (("dd-real", "--real", "nowhere.txt", "--out", "out"), "no file nowhere.txt"),
        (("dd-real", "--valid", "text.txt", "--out", "out"), "--valid needs --real FILE beside it"),
        (("dd-real", "--real", "text.txt", "--test", "text.txt", "--out", "out"), "are the same file"),
        (("dd-real", "--real", "text.txt", "--out", "out", "--seeds", "0"), "--seeds must be between 1 and 10000"),
        (("dd-real", "--real", "text.txt", "--out", "out", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("dd-real", "--real", "text.txt", "--out", "out", "--workers", "0"), "--workers must be between 1 and 1024"),
        (("dd-real", "--real", "text.txt", "--out", "out", "--device", "tpu"), "device must be"),
        (
            ("dd-real", "--real", "text.txt", "--scale", "micro", "--out", "out", "--only", "trian"),
            "unknown stage 'trian': did you mean train",
        ),
    ],
)
def test_mistakes_are_one_line(refused: Callable[..., str], arguments: tuple[str, ...], message: str) -> None:
    assert message in refused("study", *arguments)


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_goes_on(folder: Path) -> None:
    (folder / "long.txt").write_text("".join(f"{line}\n" for line in sentences(12_000, 1)), encoding="utf-8")
    command = [sys.executable, "-m", "textassay", "study", "dd-real", "--real", "long.txt", "--out", "out"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    while not list(folder.glob("out/stages/train-*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert stderr.splitlines()[-1].startswith("textassay: interrupted; run the same command again")
