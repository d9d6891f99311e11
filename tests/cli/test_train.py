"""The command ``train``: what it makes, what it says, what it refuses, and that it goes on where it was stopped."""

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences
from textassay.report.text import slug
from textassay_lab.generator.saved import load_model
from textassay_lab.monitoring.monitor import TextMonitor

Run = Callable[..., Any]
Refused = Callable[..., str]

NGRAM = ("train", "ngram", "--real", "train.txt", "--valid", "real.txt")
LSTM = ("train", "lstm", "--preset", "tiny", "--real", "train.txt", "--valid", "real.txt", "--workers", 1)


def _document(folder: Path, name: str = "out") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / name / "history.json").read_text())
    return document


def test_a_network_is_trained_kept_and_told(folder: Path, run: Run) -> None:
    done = run(*LSTM, "--out", "out", "--epochs", 4)
    assert done.status == 0
    told = " ".join(done.stdout.split())
    for part in ("lstm(width=32)", "13,195 parameters", "75 types (whitespace)", "300 sentences", "0.00 % unknown",
                 "device", "precision float32", "threads", "kept"):  # fmt: skip
        assert part in told
    assert "training lstm(width=32) on 300 sentences" in done.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "config.json", "figures", "history.json", "model.safetensors", "training.html", "training.json", "training.md",
    ]  # fmt: skip
    assert [path.name for path in (folder / "out" / "figures").iterdir()] == ["learning-curve.svg"]
    document = _document(folder)
    perplexities = [epoch["valid_perplexity"] for epoch in document["epochs"]]
    assert len(perplexities) == 4
    assert perplexities[-1] < 0.9 * perplexities[0]
    assert document["kept_epoch"] == 1 + int(np.argmin(perplexities))
    saved = load_model(folder / "out")
    corpus = saved.form.corpus((folder / "real.txt").read_text().splitlines())
    cost = -saved.model.log_prob(corpus).sum() / (len(corpus.tokens) + len(corpus))
    assert math.exp(cost) == pytest.approx(min(perplexities), rel=1e-4), "the kept epoch is the one that was saved"


def test_again_changes_nothing_and_tells_the_same(folder: Path, run: Run) -> None:
    first = run(*LSTM, "--out", "out", "--epochs", 1)
    before = {path: path.stat().st_mtime_ns for path in (folder / "out").iterdir()}
    again = run(*LSTM, "--out", "out", "--epochs", 1)
    assert again.status == 0
    assert again.stdout == first.stdout
    assert "fully trained: nothing was changed" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in (folder / "out").iterdir()} == before


def test_other_settings_are_refused(folder: Path, run: Run, refused: Refused) -> None:
    assert run(*NGRAM, "--order", 2, "--out", "out").status == 0
    assert "started with other settings (order 2, now 3): choose" in refused(*NGRAM, "--order", 3, "--out", "out")
    assert "(order 2, now the default)" in refused(*NGRAM, "--out", "out")
    other = ("train", "ngram", "--order", 2, "--real", "lstm.txt", "--valid", "real.txt")
    assert "another real text, another vocabulary" in refused(*other, "--out", "out")


def test_a_damaged_model_is_not_called_done(folder: Path, run: Run, refused: Refused) -> None:
    assert run(*NGRAM, "--out", "out").status == 0
    numbers = folder / "out" / "model.safetensors"
    numbers.write_bytes(numbers.read_bytes()[:-1])
    assert "model.safetensors is truncated or damaged" in refused(*NGRAM, "--out", "out")


def test_a_model_that_came_otherwise_is_left_alone(folder: Path, run: Run, refused: Refused) -> None:
    assert run(*NGRAM, "--out", "out").status == 0
    (folder / "out" / "training.json").unlink()
    assert "contains a model that was not trained there" in refused(*NGRAM, "--out", "out")


def test_the_training_text_under_another_name_validates_nothing(folder: Path, refused: Refused) -> None:
    (folder / "copy.txt").write_bytes((folder / "train.txt").read_bytes())
    message = refused("train", "ngram", "--real", "train.txt", "--valid", "copy.txt", "--out", "out")
    assert (
        message
        == "copy.txt contains the same texts as train.txt: give validation text that is not in the training text"
    )


def test_without_valid_the_last_tenth_is_held_out(folder: Path, run: Run) -> None:
    done = run("train", "ngram", "--real", "train.txt", "--out", "out", "--json")
    assert "no --valid: the last 30 of train.txt, a tenth, are held out" in done.stderr
    document = json.loads(done.stdout)
    assert [document[side]["n_sentences"] for side in ("train", "valid")] == [270, 30]


@pytest.mark.filterwarnings("default:.*were cut at 8 tokens:UserWarning")
def test_long_sentences_are_left_out_and_counted(folder: Path, run: Run, refused: Refused) -> None:
    lines = (folder / "train.txt").read_text().splitlines()
    n_long = sum(len(line.split()) > 8 for line in lines)
    done = run(*NGRAM, "--max-tokens", 8, "--out", "out")
    assert 0 < n_long < 300
    assert f"{n_long} sentences of train.txt have more than 8 tokens, and are left out" in done.stderr
    assert _document(folder)["train"]["n_sentences"] == 300 - n_long
    assert _document(folder)["train"]["n_left_out"] == n_long
    sample = run("sample", "out", "-n", 50)
    assert max(len(line.split()) for line in sample.stdout.splitlines()) == 8
    assert "were cut at 8 tokens" in sample.stderr
    message = refused(*NGRAM, "--max-tokens", 1, "--out", "other")
    assert "no sentence remains of train.txt: all 300 have more than --max-tokens 1 tokens" in message


def test_fractions_are_nested_and_share_the_vocabulary(folder: Path, run: Run) -> None:
    found = []
    for fraction, n in ((0.2, 60), (0.501, 151), (1, 300)):
        assert run(*NGRAM, "--fraction", fraction, "--out", f"of-{n}").status == 0
        assert _document(folder, f"of-{n}")["train"]["n_sentences"] == n
        found.append(load_model(folder / f"of-{n}").form.hash)
    assert len(set(found)) == 1


def test_unknown_words_are_counted(folder: Path, run: Run) -> None:
    done = run(*NGRAM, "--vocabulary-size", 10, "--out", "out", "--json")
    document = json.loads(done.stdout)
    assert document["n_types"] == 14
    words = [word for line in (folder / "real.txt").read_text().splitlines() for word in line.split()]
    known = set(load_model(folder / "out").form.vocabulary.tokens)
    assert document["valid"]["unknown_share"] == pytest.approx(np.mean([word not in known for word in words]))


@pytest.mark.parametrize("how", [("--byte-pairs", 300), ("--tokenizer", "chars"), ("--lowercase",)])
def test_other_forms_of_text(folder: Path, run: Run, how: tuple[Any, ...]) -> None:
    assert run(*NGRAM, *how, "--out", "out").status == 0
    done = run("sample", "out", "-n", 20)
    assert len(done.stdout.splitlines()) == 20
    assert " " in done.stdout
    assert "\u0120" not in done.stdout, "byte pairs are text again"


def test_monitors_read_while_it_trains(folder: Path, run: Run) -> None:
    done = run(*LSTM, "--out", "out", "--epochs", 1, "--monitor", "length,vocabulary", "--monitor-steps", 4,
               "--monitor-sentences", 60)  # fmt: skip
    assert done.status == 0, done.stderr
    readings = _document(folder)["readings"]
    assert [reading["step"] for reading in readings] == [4, 8, 10]
    assert all(reading["values"] for reading in readings)
    assert "Monitors" in done.stdout
    assert (folder / "out" / "monitor.jsonl").exists()
    floor = _document(folder)["monitored"]["floor"]
    valid = load_model(folder / "out").form.corpus((folder / "real.txt").read_text().splitlines())
    expected = TextMonitor(valid, metrics="length,vocabulary", n=60).floor
    assert expected is not None
    assert floor == {f"textassay/{name}": value for name, value in expected.values.items()}
    assert _document(folder)["monitored"]["n_real"] == 60
    assert "real text" in done.stdout
    assert "60 sentences a reading, measured against 60 real ones" in done.stdout
    assert "--monitor:" not in done.stderr
    for name in floor:
        figure = folder / "out" / "figures" / f"monitor-{slug(name.removeprefix('textassay/'))}.svg"
        assert "real text" in figure.read_text()
    assert f"{len(floor) + 1} figures in figures" in done.stderr
    again = run(*LSTM, "--out", "out", "--epochs", 1)
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    ("n", "line"),
    [
        (200, "--monitor: what real text scores is not told, which takes 400 validation sentences, there are 300"),
        (301, "--monitor: 301 sentences are drawn and measured against 300; what real text scores is not told"),
    ],
)
def test_too_little_real_text_for_a_monitor_is_told(folder: Path, run: Run, n: int, line: str) -> None:
    done = run(*LSTM, "--out", "out", "--epochs", 1, "--monitor", "length", "--monitor-sentences", n)
    assert done.status == 0
    assert line in done.stderr
    assert f"{n} sentences a reading, measured against {min(n, 300)} real ones" in done.stdout
    assert "real text  " not in done.stdout
    assert _document(folder)["monitored"]["floor"] == {}


def test_a_model_can_be_read_by_whom_other_files_can(folder: Path, run: Run) -> None:
    assert run(*NGRAM, "--out", "out").status == 0
    assert (folder / "out" / "config.json").stat().st_mode == (folder / "out" / "history.json").stat().st_mode


def test_everything_can_stand_in_a_config_file(folder: Path, run: Run) -> None:
    (folder / "train.yaml").write_text(
        "preset: tiny\nepochs: 1\nreal: train.txt\nvalid: real.txt\nout: out\njson: true\n"
        "workers: 1\nmin-count: 2\nmonitor: [length, vocabulary]\nmonitor-sentences: 60\n"
    )
    document = json.loads(run("train", "lstm", "--config", "train.yaml").stdout)
    assert document["model"] == "lstm(width=32)"
    assert [len(reading["values"]) for reading in document["readings"]] == [2]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("lstmm", "--real", "train.txt", "--out", "o"), "unknown model 'lstmm': did you mean lstm?"),
        (("lstm", "--real", "gone.txt", "--out", "o"), "gone.txt"),
        (("ngram", "--real", "train.txt", "--valid", "train.txt", "--out", "o"), "are the same file, train.txt"),
        (("ngram", "--real", "train.txt", "--out", "o", "--width", "3"), "unknown option '--width'"),
        (("ngram", "--real", "train.txt", "--out", "o", "--epochs", "3"), "unknown option '--epochs'"),
        (("lstm", "--real", "train.txt", "--out", "o", "--order", "3"), "unknown option '--order'"),
        (("lstm", "--real", "train.txt", "--out", "o", "--preset", "big"), "unknown preset of lstm 'big'"),
        (("lstm", "--real", "train.txt", "--out", "o", "--epochs", "0"), "--epochs must be at least 1, got 0"),
        (("lstm", "--real", "train.txt", "--out", "o", "--batch-size", "0"), "--batch-size must be at least 1, got 0"),
        (("lstm", "--real", "train.txt", "--out", "o", "--dropout", "1"), "dropout must be at least 0 and below 1"),
        (("lstm", "--real", "train.txt", "--out", "o", "--precision", "int8"), "precision must be auto, float32 or"),
        (("lstm", "--real", "train.txt", "--out", "o", "--device", "tpu"), "device must be auto, cpu, cuda"),
        (("ngram", "--real", "train.txt", "--out", "o", "--fraction", "0"), "--fraction must be above 0 and at most 1"),
        (("ngram", "--real", "train.txt", "--out", "o", "--tokenizer", "wrds"), "unknown tokenizer 'wrds'"),
        (("ngram", "--real", "train.txt", "--out", "o", "--monitor", "length"), "unknown option '--monitor'"),
        (("lstm", "--real", "train.txt", "--out", "o", "--monitor-steps", "5"), "add it, or leave --monitor-steps out"),
        (("lstm", "--real", "gone.txt", "--out", "o", "--monitor", "lenth"), "unknown metric 'lenth'"),
        (("lstm", "--real", "gone.txt", "--out", "o", "--monitor", "fed,huse"), "huse needs log-probs and ratings"),
        (("lstm", "--real", "gone.txt", "--out", "o", "--monitor", "lm-score(model=self)"), "needs log-probs"),
        (("ngram", "--real", "train.txt", "--out", "o", "--min-count", "0"), "--min-count must be at least 1, got 0"),
        (("ngram", "--real", "train.txt", "--out", "o", "--min-count", "999999"), "no word remains of train.txt"),
        (("ngram", "--real", "train.txt", "--out", "train.txt/x"), "cannot write into train.txt/x: not a directory"),
        (
            ("ngram", "--real", "train.txt", "--out", "o", "--byte-pairs", "300", "--tokenizer", "words"),
            "--byte-pairs and --tokenizer words cannot be combined",
        ),
    ],
)
def test_mistakes(refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    message = refused("train", *arguments, "--quiet")
    assert line in message


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "empty"),
        (b"\n \n", "blank"),
        (b"\x00\x01PK\x00\xff" * 99, "binary"),
        (b"only this .\n", "has one text: to train on it as running text, give a window"),
        (b"a <sos> b\n" * 20, "training sentence 1 holds the special token '<sos>'"),
    ],
)
def test_text_that_cannot_be_trained_on(folder: Path, run: Run, content: bytes, line: str) -> None:
    (folder / "text.txt").write_bytes(content)
    done = run("train", "ngram", "--real", "text.txt", "--out", "out", "--quiet")
    assert (done.status, done.stdout) == (2, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def test_blank_lines_are_told(folder: Path, run: Run) -> None:
    (folder / "text.txt").write_text("a b c\n\nb c d\n" * 20)
    done = run("train", "ngram", "--real", "text.txt", "--out", "out")
    assert "lines of text.txt are blank, and count as empty sentences" in done.stderr


def test_a_monitor_that_wants_more_text_is_refused_before_anything_is_written(folder: Path, refused: Refused) -> None:
    asked = ("--monitor", "dd", "--monitor-sentences", 5, "--out", "out")
    assert "dd needs at least" in refused(*LSTM, *asked)
    assert "dd needs at least" in refused("train", "cot", *LSTM[2:], *asked)
    assert not (folder / "out").exists()


def test_a_loss_that_is_no_number_ends_it_and_another_rate_may_follow(folder: Path, run: Run) -> None:
    wild = run(*LSTM, "--out", "out", "--learning-rate", 1e38, "--quiet")
    assert (wild.status, wild.stdout) == (2, "")
    assert "loss" in wild.stderr
    assert wild.stderr.count("\n") == 1
    assert run(*LSTM, "--out", "out", "--epochs", 1, "--quiet").status == 0, (
        "nothing was kept, so nothing is in the way"
    )


def test_a_perplexity_beyond_all_numbers_ends_it(folder: Path, run: Run) -> None:
    wild = run(*LSTM, "--out", "out", "--learning-rate", 1e6, "--quiet")
    assert (wild.status, wild.stdout) == (2, "")
    assert wild.stderr == (
        "textassay: error: training diverged: the score of epoch 1 is -inf; a lower learning rate may help\n"
    )
    assert not (folder / "out" / "config.json").exists()


def test_a_model_that_is_worse_than_guessing_is_told(folder: Path, run: Run) -> None:
    done = run(*LSTM, "--out", "out", "--learning-rate", 10, "--epochs", 1)
    assert done.status == 0
    n_choices = _document(folder)["n_types"] - 2
    assert _document(folder)["valid_perplexity"] > n_choices
    assert f"warning: the model is worse than guessing: a uniform guess among {n_choices} tokens" in done.stderr
    done = run(*LSTM, "--out", "good", "--epochs", 1)
    assert _document(folder, "good")["valid_perplexity"] < n_choices
    assert "guessing" not in done.stderr


def _little_memory(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let memory run out where more than `most` sentences are trained on at once."""
    from textassay_lab.generator import objective

    plain = objective.mean_loss

    def mean_loss(network: Any, inputs: Any, *rest: Any) -> Any:
        if len(inputs) > most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")
        return plain(network, inputs, *rest)

    monkeypatch.setattr(objective, "mean_loss", mean_loss)


def test_out_of_memory_says_what_to_do(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, models: Path) -> None:
    _little_memory(monkeypatch, 10)
    done = run(*LSTM, "--out", "out", "--epochs", 1, "--quiet")
    assert (done.status, done.stdout) == (2, "")
    assert "out of memory with batch_size 32: try 16 (" in done.stderr
    assert done.stderr.count("\n") == 1
    done = run(*LSTM, "--out", "out", "--batch-size", 8, "--epochs", 1)
    assert done.status == 0


def test_a_transformer_with_memory_is_trained_like_the_others(folder: Path, run: Run, refused: Refused) -> None:
    xl = ("train", "transformer-xl", "--preset", "tiny", "--real", "train.txt", "--valid", "real.txt", "--workers", 1)
    done = run(*xl, "--out", "out", "--epochs", 3, "--segment", 12, "--memory", 20, "--memory-reset-prob", 0.1,
               "--monitor", "length", "--monitor-sentences", 40)  # fmt: skip
    assert done.status == 0, done.stderr
    assert "transformer-xl(width=32, inner=64, layers=2, heads=2, segment=12, memory=20)" in done.stderr
    document = _document(folder)
    assert len(document["readings"]) == 3
    perplexities = [epoch["valid_perplexity"] for epoch in document["epochs"]]
    assert perplexities[-1] < 0.9 * perplexities[0]
    assert len(run("sample", "out", "-n", 20).stdout.splitlines()) == 20
    assert "--memory-reset-prob must be at least 0 and at most 1, got 2" in refused(
        *xl, "--out", "no", "--memory-reset-prob", 2
    )
    assert "unknown option '--memory'" in refused(*LSTM, "--out", "no", "--memory", 2)


def test_a_model_of_samples_takes_the_vocabulary_of_what_drew_them(folder: Path, run: Run, refused: Refused) -> None:
    assert run("sample", "random-lstm:1", "-n", 60, "--out", "drawn.txt").status == 0
    words = set((folder / "drawn.txt").read_text().split())
    like = ("train", "ngram", "--order", 2, "--real", "drawn.txt", "--like", "random-lstm:1")
    assert run(*like, "--out", "out").status == 0
    tokens = load_model(folder / "out").form.vocabulary.tokens
    assert tokens[4:] == tuple(map(str, range(5000)))
    assert words < set(tokens)
    assert run("likelihood", "random-lstm:1", "drawn.txt").status == 0
    message = refused(*like, "--out", "other", "--min-count", 2)
    assert message == "--like MODEL sets tokenizer and vocabulary: leave their options out"
    assert "name the seed of random-lstm as a number" in refused("sample", "random-lstm:x", "-n", 2)
    assert "unknown model 'random-lstm'" in refused("train", "random-lstm", "--real", "drawn.txt", "--out", "other")


def _started(folder: Path, model: str, out: str) -> tuple[list[str], Path]:
    (folder / "text.txt").write_text("\n".join(sentences(3000, 7)), encoding="utf-8")
    command = [sys.executable, "-m", "textassay", "train", model, "--preset", "tiny", "--real", "text.txt"]
    return [*command, "--epochs", "4", "--workers", "1", "--out", out], folder / out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "how"), [("lstm", signal.SIGKILL), ("lstm", signal.SIGINT), ("transformer-xl", signal.SIGKILL)]
)
def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path, model: str, how: signal.Signals) -> None:
    command, whole = _started(tmp_path, model, "whole")
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    command, out = _started(tmp_path, model, "stopped")
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not (out / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        process.send_signal(how)
        _, errors = process.communicate()
    assert not (out / "config.json").exists(), "it was stopped too late to test anything"
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert b"run the same command again" in errors
        assert b"Traceback" not in errors
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"going on with {model}(width=32" in done.stderr
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert not (out / "checkpoint.safetensors").exists()
