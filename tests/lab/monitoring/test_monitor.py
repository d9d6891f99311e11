import json
import logging
import os
import random
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError
from textassay.metric.base import measure
from textassay.metric.catalog import DEFAULT_METRICS, parse_metrics
from textassay_lab.monitoring.monitor import TextMonitor, own_random_state

REAL = sentences(60, 1)


def draws(n: int, seed: int) -> list[str]:
    return sentences(n, seed, shift=0.4)


def test_readings_have_the_bits_of_measure() -> None:
    """Also for draws with words that the real text does not have, the second time as well as the first."""
    monitor = TextMonitor(REAL, metrics=DEFAULT_METRICS, n=60)
    for step in (1, 2):
        drawn: list[str] = []

        def sample(n: int, seed: int, drawn: list[str] = drawn) -> list[str]:
            drawn += [text if number % 3 else f"{text} w{seed + number}" for number, text in enumerate(draws(n, seed))]
            return drawn

        reading = monitor.measure(sample, step)
        corpora = corpora_from_texts({"real": REAL, "generated": drawn})
        for metric in parse_metrics(None, effort="quick"):
            estimate = measure(metric, corpora["generated"], corpora["real"])
            assert reading.values[metric.name] == estimate.value, metric.name
            interval = estimate.interval
            assert reading.intervals[metric.name] == (None if interval is None else (interval.low, interval.high))
    assert monitor.readings[0].values["dd"] != monitor.readings[1].values["dd"]


def test_more_new_words_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay_lab.monitoring.monitor._ROOM", 3)
    monitor = TextMonitor(REAL, metrics="vocabulary(of=types),lm-score", n=50)
    drawn = [f"{text} w{number}" for number, text in enumerate(draws(50, 0))]
    corpora = corpora_from_texts({"real": monitor._side.real.texts, "generated": drawn})
    for step in (1, 2):
        values = monitor.measure(lambda n, seed: drawn, step).values
        for metric in parse_metrics(monitor.names):
            assert values[metric.name] == measure(metric, corpora["generated"], corpora["real"]).value


def test_the_real_side_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = import_module("textassay.metric.lm_score"), []
    real_side = module._real_side

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return real_side(*arguments)

    monkeypatch.setattr(module, "_real_side", counted)
    monitor = TextMonitor(sentences(120, 1), metrics="lm-score", n=60)
    for step in range(5):
        monitor.measure(draws, step)
    assert len(calls) == 1
    assert monitor.n_real == 60


def test_the_seed_chooses_the_real_sentences() -> None:
    """The same ones each time, so that a resumed run goes on with them; the floor is of others."""
    monitors = [TextMonitor(sentences(200, 1), metrics="lm-score", n=60, seed=seed) for seed in (0, 0, 1)]
    chosen = [monitor._side.real.texts for monitor in monitors]
    assert chosen[0] == chosen[1] != chosen[2]
    values = [monitor.measure(lambda n, seed: draws(n, 0), 1).values for monitor in monitors]
    assert values[0] == values[1] != values[2]
    floors = [monitor.floor.values for monitor in monitors if monitor.floor is not None]
    assert floors[0] == floors[1] != floors[2]


def test_dd_falls_as_the_draws_come_closer_and_the_floor_is_what_real_text_scores() -> None:
    monitor = TextMonitor(sentences(600, 1), n=300)
    for step, shift in enumerate((1.0, 0.5, 0.2)):
        monitor.measure(partial(sentences, shift=shift), step)
    frame = monitor.to_frame().pivot(index="step", columns="metric", values="value")
    assert frame["dd"].is_monotonic_decreasing
    assert frame["lm-score"].is_monotonic_decreasing
    assert monitor.floor is not None
    assert (monitor.floor.values["dd"] or 0) < frame["dd"].min() - 0.1
    assert abs((monitor.floor.values["lm-score"] or 0) - frame["lm-score"].min()) < 0.3
    assert TextMonitor(sentences(599, 1), n=300).floor is None


def test_corpora_of_a_model_need_no_texts() -> None:
    """Draws tokenised as the real text are taken as they are, over whatever vocabulary; others are tokenised anew."""
    real = Corpus.from_texts(REAL, tokenizer="chars", lowercase=True)
    monitor = TextMonitor(real, metrics="lm-score", n=60)
    texts = draws(60, 3)
    same = Corpus.from_texts(texts, tokenizer="chars", lowercase=True)
    other = Corpus.from_texts([text.upper() for text in texts])
    assert monitor.measure(lambda n, seed: same, 0).values == monitor.measure(lambda n, seed: other, 1).values
    pieces = Corpus.from_texts(REAL, tokenizer=str.split)
    named = TextMonitor(pieces, metrics="length", n=60)
    assert named.measure(lambda n, seed: pieces, 0).values == {"length": 0.0}
    with pytest.raises(InputError, match=r"the real text was tokenised by str\.split, but the sample is plain text"):
        TextMonitor(pieces, metrics="length", n=60).measure(lambda n, seed: REAL, 0)
    given = TextMonitor(pieces, metrics="length", n=60, tokenizer=str.split)
    assert given.measure(lambda n, seed: REAL, 0).values == {"length": 0.0}


DEGENERATE = {
    "all empty": [""] * 60,
    "one sentence": ["the same again"] * 60,
    "one token": ["."] * 60,
    "blank": [" \t"] * 60,
    "one very long": ["a " * 3000] + [""] * 59,
    "reserved words": ["<pad> <eos> <sos> <unk>"] * 60,
    "the real text": REAL,
    "not a word in common": [f"x{number} y{number}" for number in range(60)],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_no_text_stops_a_training(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Every value is a number, or None with the reason; the reason is said once."""
    monitor = TextMonitor(REAL, metrics=DEFAULT_METRICS, n=60)
    with caplog.at_level(logging.WARNING):
        first = monitor.measure(lambda n, seed: DEGENERATE[name], 1)
        n_said = len(caplog.records)
        if name == "all empty":
            monitor.measure(lambda n, seed: DEGENERATE[name], 2)
    assert len(caplog.records) == n_said
    for metric, value in first.values.items():
        assert value is None or np.isfinite(value)
        assert (value is None) <= (metric in first.notes)
    if name in ("one sentence", "not a word in common"):
        assert first.values["dd"] == 1
    if name == "all empty":
        assert first.values["distinct-n(order=1)"] is None
        assert any("distinct-n(order=1) at step 1" in record.getMessage() for record in caplog.records)


def test_a_metric_that_breaks_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*arguments: object, **settings: object) -> None:
        raise ZeroDivisionError("what nobody thought of")

    monitor = TextMonitor(REAL, metrics="length,lm-score", n=60)
    monkeypatch.setattr(import_module("textassay.metric.lm_score"), "cost_of", breaks)
    reading = monitor.measure(draws, 1)
    assert reading.values["lm-score"] is None
    assert reading.values["length"] is not None
    assert reading.notes["lm-score"] == "ZeroDivisionError: what nobody thought of"
    assert "Few texts: 60" in reading.notes["texts"]
    assert reading.logged() == {"textassay/length": reading.values["length"]}


def test_the_first_draw_may_fail_and_no_other() -> None:
    def fails(n: int, seed: int) -> list[str]:
        raise MemoryError("no room")

    monitor = TextMonitor(REAL, metrics="length", n=60)
    with pytest.raises(MemoryError):
        monitor.measure(fails, 0)
    with pytest.raises(InputError, match="must return 60 texts, got 59"):
        monitor.measure(lambda n, seed: REAL[:-1], 0)
    assert monitor.to_frame().empty
    monitor.measure(draws, 1)
    assert monitor.measure(fails, 2).notes == {"draw": "MemoryError: no room"}
    assert monitor.measure(lambda n, seed: [*REAL[:-1], 7], 3).values == {"length": None}  # type: ignore[list-item]
    assert [reading.step for reading in monitor.readings] == [1, 2, 3]
    assert np.isnan(monitor.to_frame()["value"]).tolist() == [False, True, True]


def test_draws_differ_each_step_and_random_state_stays() -> None:
    torch = pytest.importorskip("torch")

    def from_global_state(n: int, seed: int) -> list[str]:
        words = [str(random.random()), str(np.random.random()), str(torch.rand(1).item())]  # noqa: NPY002
        drawn.append(words)
        return REAL

    drawn: list[list[str]] = []
    monitor = TextMonitor(REAL, metrics="length", n=60)
    states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()  # type: ignore[index] # noqa: NPY002
    for step in (1, 2, 1):
        monitor.measure(from_global_state, step)
    assert random.getstate() == states[0]
    assert np.array_equal(np.random.get_state()[1], states[1])  # type: ignore[index] # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), states[2])
    assert drawn[0] == drawn[2]
    assert not set(drawn[0]) & set(drawn[1])
    with pytest.raises(ValueError, match="no number"), own_random_state(0):
        torch.manual_seed("no number")
    assert torch.equal(torch.get_rng_state(), states[2])


def test_readings_are_kept_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "monitor.jsonl"
    monitor = TextMonitor(REAL, n=60, keep=path)
    assert not path.exists()
    for step in (100, 200, 300):
        monitor.measure(draws, step)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])  # as if it had been killed while it wrote
    again = TextMonitor(REAL, n=60, keep=path)
    assert again.readings == monitor.readings[:2]
    again.measure(lambda n, seed: [""] * n, 200)  # back at an earlier checkpoint: the later reading of a step counts
    again.measure(draws, 300)
    assert TextMonitor(REAL, n=60, keep=path).readings == again.readings
    assert again.readings[::2] == monitor.readings[::2]
    assert again.readings[1].values["dd"] == 1
    assert all(json.loads(line) for line in path.read_text().splitlines())
    for settings, message in (
        ({"seed": 1}, "with different settings \\(seed\\): delete the file, or use another folder"),
        ({"metrics": "dd"}, "different settings \\(metrics\\)"),
        ({"effort": "default"}, r"different settings \(effort\)"),
    ):
        with pytest.raises(InputError, match=message):
            TextMonitor(REAL, keep=path, **{"n": 60, **settings})  # type: ignore[arg-type]
    for number, content in enumerate(("hello", "hello\n", '{"format": "other"}\n', '["list"]\n{}\n')):
        (tmp_path / f"{number}").write_text(content)
        with pytest.raises(InputError, match="is not a file of monitor readings"):
            TextMonitor(REAL, n=60, keep=tmp_path / f"{number}")
        assert (tmp_path / f"{number}").read_text() == content
    path.write_bytes(whole[:30])
    assert TextMonitor(REAL, n=60, keep=path).measure(draws, 100) == monitor.readings[0]
    assert path.read_bytes().count(b"\n") == 2


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    monitor = TextMonitor(REAL, metrics="length", n=60, keep=tmp_path / "file" / "monitor.jsonl")
    for step in (1, 2):
        monitor.measure(draws, step)
    assert len(monitor.readings) == 2
    assert sum("cannot write the readings" in record.getMessage() for record in caplog.records) == 1


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from made_up import sentences
from textassay_lab.monitoring.monitor import TextMonitor
monitor = TextMonitor(sentences(20, 1), metrics="length", n=20, keep=sys.argv[1])
for step in range(10**6):
    monitor.measure(lambda n, seed: sentences(n, 1), step)
    print(step, flush=True)
"""


def test_what_was_said_to_be_read_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "monitor.jsonl"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parents[2] / "support")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(30)]
    os.kill(process.pid, signal.SIGKILL)
    said += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.stdout.close()
    process.wait()
    kept = TextMonitor(sentences(20, 1), metrics="length", n=20, keep=path).readings
    assert len(kept) - len(said) in (0, 1)
    assert kept[-1].values == {"length": 0.0}


def test_doors() -> None:
    with pytest.raises(EmptyCorpusError, match="needs at least one real text, got none"):
        TextMonitor([])
    with pytest.raises(TooFewSentencesError, match=r"dd needs at least 50 texts a side"):
        TextMonitor(REAL, n=49)
    with pytest.raises(TooFewSentencesError, match=r"dd needs at least 50 texts a side"):
        TextMonitor(REAL[:40], n=60)
    with pytest.raises(OptionError, match="unknown metric 'dx'"):
        TextMonitor(REAL, metrics="dx")
    with pytest.raises(OptionError, match="memorization needs train, which a monitor does not have"):
        TextMonitor(REAL, metrics=["memorization"])
    with pytest.raises(OptionError, match="n must be at least 1, got 0"):
        TextMonitor(REAL, n=0)
    with pytest.raises(OptionError, match="step must be at least 0, got -1"):
        TextMonitor(REAL, metrics="length", n=60).measure(draws, -1)
