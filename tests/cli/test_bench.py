"""The command ``bench``, with small worlds."""

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from tabled import toy
from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay_lab.cli.bench import parse_seeds
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair

Run = Callable[..., Any]
Refused = Callable[..., str]

SMALL = ("--sentences", 60, "--truth", 300, "--estimators", "plain,bleu(order=2)", "--worlds", "growth-4,identical-2")


def test_tables_and_files(folder: Path, run: Run) -> None:
    done = run("bench", "train.txt", *SMALL, "--sentences", 80, "--seeds", "0,100-101", "--out", "out")
    assert done.status == 0
    assert "train (300 texts)" in done.stdout
    assert "Seeds 0 (for development only: do not report them), 100-101 (for tests)" in " ".join(done.stdout.split())
    for told in ("plain", "bleu(order=2)", "growth-4-0.2", "identical-2", "share", "within 2", "World by world, 80"):
        assert told in done.stdout
    assert "wrote bench.json, bench.csv, bench.md, bench.html, bench.tex, 1 figure in figures to out" in done.stderr
    document = json.loads((folder / "out" / "bench.json").read_text())
    assert len(document["cells"]) == 3 * 5 * 2 * 2
    assert (document["seeds"], document["sizes"]) == ([0, 100, 101], [60, 80])
    assert {row["estimator"] for row in document["summary"]} == {"plain", "bleu(order=2)"}
    assert document["nulls"][0]["estimator"] == "plain"
    with (folder / "out" / "bench.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["truth"]) for row in rows] == [cell["truth"] for cell in document["cells"]]
    assert (folder / "out" / "figures" / "bench.svg").read_text().startswith("<?xml")
    assert not list((folder / "out").glob(".*"))


def test_json_alone_on_standard_output(folder: Path, run: Run) -> None:
    done = run("bench", "a=train.txt", "b=real.txt", *SMALL, "--json", "--quiet")
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["corpora"] == {"a": 300, "b": 300}
    assert document["seeds"] == [100]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--seeds", "x"), "cannot read --seeds 'x': write numbers and ranges, such as 100-104,200"),
        (("--seeds", "5-3"), "the range 5-3 ends before it begins"),
        (("--estimators", "plain,logistik"), "unknown metric 'logistik'"),
        (("--worlds", "grow"), "unknown world 'grow': did you mean"),
        (("--worlds", ""), "--worlds is empty: name at least one world"),
        (("--sentences", "10"), "--sentences must be at least 50, got 10"),
        (("--truth", "1"), "--truth must be at least 2, got 1"),
        (("--generated", "10"), "--generated must be at least 50, got 10"),
        (("--fit-real", "-1"), "--fit-real must be at least 0, got -1"),
        (("--estimators", "plain+train"), "plain does not learn from the text that a generator was trained on: +train"),
        (("--estimators", "bleu+train"), "bleu does not learn from the text that a generator was trained on: +train"),
        (("--estimators", "quick+train+train"), "estimator quick+train+train has +train twice"),
        (("--level", "1"), "level must be between 0 and 1, got 1.0"),
    ],
)
def test_mistakes(refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    assert line in refused("bench", "train.txt", *arguments)


def test_blank_text_is_refused(folder: Path, refused: Refused) -> None:
    (folder / "blank.txt").write_text("\n \n" * 30)
    assert "blank.txt is empty: all of its 60 lines are blank" in refused("bench", "blank.txt", *SMALL)


def test_text_of_one_sentence_is_measured(folder: Path, run: Run) -> None:
    (folder / "one.txt").write_text("the same again .\n" * 60)
    assert run("bench", "one.txt", *SMALL, "--json", "--quiet").status == 0


def test_worlds_of_networks_join_where_asked_for(
    folder: Path, run: Run, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(corpus: Corpus, seed: int, *, network: str) -> list[KnownTruthPair]:
        return [KnownTruthPair(f"{network}-{name}", network, network, *toy()) for name in ("narrow", "wide")]

    monkeypatch.setattr(import_module("textassay_lab.meta_evaluation.bench"), "neural_pairs", made)
    rest = ("--sentences", 60, "--truth", 300, "--estimators", "plain", "--quiet")
    for asked, names in (
        ("lstm,identical-2", ["identical-2", "lstm-narrow", "lstm-wide"]),
        ("lstm-wide", ["lstm-wide"]),
        ("gpt2-wide,lstm-narrow", ["lstm-narrow", "gpt2-wide"]),
    ):
        cells = json.loads(run("bench", "train.txt", "--worlds", asked, *rest, "--json").stdout)["cells"]
        assert [cell["world"] for cell in cells] == names
    assert "unknown world 'lstm-x'" in refused("bench", "train.txt", "--worlds", "lstm-x", *rest)


def test_more_text_and_other_knowledge_are_told(folder: Path, run: Run) -> None:
    more = ("--generated", 120, "--fit-real", 90, "--truth", 300, "--worlds", "learnt-3-0.5,disjoint", "--out", "out")
    done = run("bench", "train.txt", "--sentences", 60, *more, "--estimators", "quick,quick+train+log-probs")
    said = " ".join(done.stdout.split())
    for told in (
        "60 real and 120 generated texts",
        "More real texts to learn from 90, for dd",
        "Not measured with +train disjoint: no training text is known",
    ):
        assert told in said
    document = json.loads((folder / "out" / "bench.json").read_text())
    assert (document["sizes"], document["n_generated"], document["n_fit_real"]) == ([60], 120, 90)
    assert [(cell["world"], cell["estimator"]) for cell in document["cells"]] == [
        ("learnt-3-0.5", "quick"),
        ("learnt-3-0.5", "quick+train+log-probs"),
        ("disjoint", "quick"),
    ] or document["untrained"] == ["disjoint"]


def test_seeds() -> None:
    assert parse_seeds("100") == [100]
    assert parse_seeds("3-5, 4,9") == [3, 4, 5, 9]
    for text in ("", "-1", "1-", "1.5"):
        with pytest.raises(OptionError, match="cannot read --seeds"):
            parse_seeds(text)


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(sentences(300, 1)), encoding="utf-8")
    command = [sys.executable, "-m", "textassay", "bench", "text.txt", *map(str, SMALL), "--seeds", "0-9"]
    command += ["--out", "out", "--quiet", "--json"]
    cells = tmp_path / "out" / "cells"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list(cells.glob("*.json"))) < 15:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = {path: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert 15 <= len(kept) < 150
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["cells"]) == 10 * 5 * 2
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())


def test_more_seeds_than_anyone_can_wait_for() -> None:
    for text in ("0-999999999999", "0-4999,10000-99999", f"1-{'9' * 18}"):
        with pytest.raises(OptionError, match=r"--seeds names [0-9,]+ seeds, .*: at most 10,000"):
            parse_seeds(text)
    with pytest.raises(OptionError, match="cannot read --seeds") as caught:
        parse_seeds("9" * 5000)
    assert len(str(caught.value)) < 200
    assert len(parse_seeds("0-9999")) == 10_000
