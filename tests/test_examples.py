"""The examples run as their first lines say."""

import runpy
import sys
from pathlib import Path

import pytest

from made_up import sentences

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def _run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str) -> None:
    """Run an example as a script, in this process: what it imports is imported already."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_ngram_generators_write_as_many_sentences_as_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = tmp_path / "train.txt"
    train.write_text("\n".join(sentences(200, 0)) + "\n", encoding="utf-8")
    _run(monkeypatch, "ngram_generators.py", str(train), str(tmp_path / "samples"), "-n", "30")
    written = {path.stem: path.read_text(encoding="utf-8").split("\n") for path in (tmp_path / "samples").iterdir()}
    assert set(written) == {"unigram", "bigram", "trigram", "5-gram"}
    assert all(len(lines) == 31 for lines in written.values())
    words = {word for text in sentences(200, 0) for word in text.split()}
    assert {word for lines in written.values() for line in lines for word in line.split()} <= words


def test_monitored_training_reads_after_each_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    for number, name in enumerate(("train.txt", "valid.txt")):
        (tmp_path / name).write_text("\n".join(sentences(200, number)) + "\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("train.txt", "valid.txt", "watched")]
    _run(monkeypatch, "monitored_training.py", *files, "-n", "60", "--preset", "tiny")
    told = capsys.readouterr().out
    assert "dd over the steps of a training" in told
    names = {"monitor.jsonl", "monitor-dd.svg", "monitor-lm-score.svg", "monitor-self-bleu-order-4.svg"}
    assert {path.name for path in (tmp_path / "watched").iterdir()} == names
    assert len((tmp_path / "watched" / "monitor.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 3
