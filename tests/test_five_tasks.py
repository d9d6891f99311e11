"""Five tasks of a new user, in Python and on the command line, each in at most five lines."""

import io
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

from made_up import sentences, shuffled
from textassay.cli.main import main

COMPARE_TWO_LISTS = """
import textassay as ta
comparison = ta.compare(generated={"one": one, "other": other}, real=real, metrics=["dd", "length"])
print(comparison)
"""
COMPARE_TWO_LISTS_SHELL = """
textassay compare one=one.txt other=other.txt --real real.txt --metrics dd,length
"""
ONE_BLEU = """
import textassay as ta
print(ta.bleu(one, real, order=4))
"""
ONE_BLEU_SHELL = """
textassay compare one=one.txt --real real.txt --metrics 'bleu(order=4)' --json
"""
TRAIN_AND_COMPARE = """
import textassay as ta
lstm = ta.generators.Lstm(preset="tiny", layers=1).fit(train)
comparison = ta.compare(generated={"lstm": lstm.sample(200, seed=0)}, real=real, metrics=["length"])
print(comparison)
"""
TRAIN_AND_COMPARE_SHELL = """
textassay train lstm --real train.txt --preset tiny --layers 1 --out model --quiet
textassay sample model -n 200 --seed 0 --out lstm.txt
textassay compare lstm=lstm.txt --real real.txt --metrics length
"""
CLASSIFY = """
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
import textassay as ta
pipeline = make_pipeline(ta.discriminators.Logistic())
print(cross_val_score(pipeline, [*real, *one], [True] * len(real) + [False] * len(one), cv=3))
"""
CLASSIFY_SHELL = """
textassay explain one=one.txt --real real.txt --effort quick
"""
REPORT_FROM_A_TABLE = """
import textassay as ta
comparison = ta.compare(generated={"one": table["one"]}, real=table["real"], metrics=["length"])
ta.write_report(comparison, "report")
"""
REPORT_FROM_A_TABLE_SHELL = """
textassay compare one=one.csv --real real.csv --column text --metrics length --out report
"""

PYTHON = [COMPARE_TWO_LISTS, ONE_BLEU, TRAIN_AND_COMPARE, CLASSIFY, REPORT_FROM_A_TABLE]
SHELL = [
    COMPARE_TWO_LISTS_SHELL,
    ONE_BLEU_SHELL,
    TRAIN_AND_COMPARE_SHELL,
    CLASSIFY_SHELL,
    REPORT_FROM_A_TABLE_SHELL,
]
TASKS = ["compare two lists", "one BLEU", "train, sample, compare", "a discriminator", "a report from a table"]
pytestmark = pytest.mark.filterwarnings("ignore:.*samples were cut at")


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return lists of texts, in whose folder of files the commands run."""
    lists = {"real": sentences(100, 1), "one": sentences(100, 2, shift=0.3), "train": sentences(100, 3)}
    lists["other"] = shuffled(sentences(100, 4), 0)
    for name, lines in lists.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        pd.DataFrame({"text": lines}).to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return lists


def _lines(code: str) -> list[str]:
    return code.strip().splitlines()


@pytest.mark.parametrize("code", PYTHON, ids=TASKS)
def test_in_python(code: str, texts: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert len(_lines(code)) <= 5
    exec(compile(code, "task", "exec"), {**texts, "table": pd.DataFrame(texts)})
    assert capsys.readouterr().out or Path("report/results.json").exists()


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize("code", SHELL, ids=TASKS)
def test_on_the_command_line(code: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_lines(code)) <= 5
    for line in _lines(code):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        program, *arguments = shlex.split(line)
        assert (program, main(arguments)) == ("textassay", 0)
    assert capsys.readouterr().out or Path("report/results.json").exists()
