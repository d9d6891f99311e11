"""The examples run as their first lines say."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import textassay as ta
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
    assert "monitor-dd.svg: dd" in told
    names = {"monitor.jsonl", "monitor-dd.svg", "monitor-lm-score.svg", "monitor-self-bleu-order-4.svg"}
    assert {path.name for path in (tmp_path / "watched").iterdir()} == names
    assert len((tmp_path / "watched" / "monitor.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + 3


class _Run:
    """A run of a tracker, and a stand-in for its library: keeps what is logged."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.kept: dict[str, Any] = {}
        self.summary = self.kept  # of W&B

    def __enter__(self) -> "_Run":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def log_param(self, key: str, value: object) -> None:
        self.kept[key] = value

    add_scalar = add_text = log_param

    def log_metrics(self, values: dict[str, float]) -> None:
        self.kept |= values

    log = log_metrics

    def log_dict(self, document: dict[str, Any], name: str) -> None:
        self.kept[name] = document


@pytest.mark.parametrize(
    ("example", "library", "start", "value", "whole"),
    [
        ("log_to_mlflow.py", "mlflow", "start_run", "bleu-order-2-/lstm.value", "textassay.json"),
        ("log_to_tensorboard.py", "tensorboardX", "SummaryWriter", "bleu(order=2)/lstm.value", "textassay"),
        ("log_to_wandb.py", "wandb", "init", "bleu(order=2)/lstm.value", "textassay"),
    ],
)
def test_results_go_to_the_run_of_a_tracker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str, library: str, start: str, value: str, whole: str
) -> None:
    run = _Run()
    module: Any = ModuleType(library)
    setattr(module, start, lambda *_, **__: run)
    module.log_metrics, module.log_param, module.log_dict = run.log_metrics, run.log_param, run.log_dict  # of MLflow
    module.Table = lambda columns, rows: [dict(zip(columns, row, strict=True)) for row in rows]  # of W&B
    monkeypatch.setitem(sys.modules, library, module)
    real, lstm = tmp_path / "real.txt", tmp_path / "lstm.txt"
    for number, file in enumerate((real, lstm)):
        file.write_text("".join(f"{text}\n" for text in sentences(60, number)), encoding="utf-8")
    files = [str(file) for file in (real, lstm)]
    folder = [str(tmp_path / "run")] if library == "tensorboardX" else []
    _run(monkeypatch, example, *folder, *files, "--metrics", "length", "bleu(order=2)")
    estimate = (
        ta.compare({"lstm": files[1]}, files[0], metrics=["length", "bleu(order=2)"])
        .result("lstm", "bleu(order=2)")
        .estimate
    )
    assert estimate is not None
    assert estimate.interval is not None
    ends = {"value": estimate.value, "low": estimate.interval.low, "high": estimate.interval.high}
    assert {name: run.kept[value.replace("value", name)] for name in ends} == ends
    assert "metric:bleu(order=2)" in str(run.kept[whole])


@pytest.mark.filterwarnings("default")  # of what runs notebooks
def test_the_notebook_shows_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(module)
    from notebook import executed, kept, shown

    monkeypatch.chdir(tmp_path)
    before, now = shown(kept()), shown(executed())
    assert len(now) == 6
    assert re.match(r"near is closest to the real text by dd: 0\.\d+ \[", now[0])
    assert "<svg" in now[2]
    assert [_masked(text) for text in now] == [_masked(text) for text in before]  # else run tests/support/notebook.py


def _masked(text: str) -> str:
    """Return a text without what machines and versions may differ in: the digits, and the drawing's own names."""
    return "a drawing" if "<svg" in text else re.sub(r"[-+\d.,]+|[ \n]+|─+", " ", text)
