"""The examples run as their first lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

from made_up import sentences

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_ngram_generators_write_as_many_sentences_as_asked_for(tmp_path: Path) -> None:
    train = tmp_path / "train.txt"
    train.write_text("\n".join(sentences(200, 0)) + "\n", encoding="utf-8")
    command = [sys.executable, str(EXAMPLES / "ngram_generators.py"), str(train), str(tmp_path / "samples"), "-n", "30"]
    subprocess.run(command, check=True, capture_output=True)
    written = {path.stem: path.read_text(encoding="utf-8").split("\n") for path in (tmp_path / "samples").iterdir()}
    assert set(written) == {"unigram", "bigram", "trigram", "5-gram"}
    assert all(len(lines) == 31 for lines in written.values())
    words = {word for text in sentences(200, 0) for word in text.split()}
    assert {word for lines in written.values() for line in lines for word in line.split()} <= words


def test_monitored_training_reads_after_each_epoch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for number, name in enumerate(("train.txt", "valid.txt")):
        (tmp_path / name).write_text("\n".join(sentences(200, number)) + "\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("train.txt", "valid.txt", "watched")]
    command = [sys.executable, str(EXAMPLES / "monitored_training.py"), *files, "-n", "60", "--preset", "tiny"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "dd over the steps of a training" in told
    names = {"monitor.jsonl", "monitor-dd.svg", "monitor-lm-score.svg", "monitor-self-bleu-order-4.svg"}
    assert {path.name for path in (tmp_path / "watched").iterdir()} == names
    assert len((tmp_path / "watched" / "monitor.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 3
