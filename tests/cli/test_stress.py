"""The command ``stress``: tables, files, resuming, and mistakes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences

Run = Callable[..., Any]
Refused = Callable[..., str]

SMALL = ("--real", "real.txt", "--sentences", 70, "--draws", 4, "--strengths", "0.2,0.8")
METRICS = ("--metrics", "bleu(order=2),distinct-n(order=2),length")


def test_tables_and_files(folder: Path, run: Run) -> None:
    done = run("stress", *SMALL, *METRICS, "--other", "lstm.txt", "--out", "out")
    assert done.status == 0
    for told in (
        "Response of each metric to each kind of damage",
        "70 texts a part, 4 random draws",
        "bleu(order=2) ↑",
    ):
        assert told in done.stdout
    assert "nothing Sentences are replaced by other real ones: no damage" in " ".join(done.stdout.split())
    assert "lowercase" in done.stdout.split("Left out")[1]
    assert (
        "wrote stress.json, stress.csv, stress.md, stress.html, stress.tex, 2 figures in figures to out" in done.stderr
    )
    document = json.loads((folder / "out" / "stress.json").read_text())
    curves = {(curve["metric"], curve["damage"]): curve for curve in document["curves"]}
    assert len(curves) == 3 * 19
    assert curves["length", "drop-words"]["verdict"] == "sees"
    assert curves["length", "swap-neighbours"]["verdict"] == "blind"
    assert curves["bleu(order=2)", "copy-reference"]["verdict"] == "misled"
    with (folder / "out" / "stress.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 19 * 2
    row = next(r for r in rows if (r["metric"], r["damage"], r["strength"]) == ("length", "drop-words", "0.8"))
    assert float(row["effect"]) == curves["length", "drop-words"]["effects"][1]
    assert float(row["effect"]) / float(row["noise"]) == pytest.approx(float(row["effect_in_standard_errors"]))
    markdown = (folder / "out" / "stress.md").read_text()
    assert "| metric | nothing | drop-words |" in markdown
    assert "WRONG" in next(line for line in markdown.splitlines() if line.startswith("| bleu(order=2) ↑ |"))
    for name in ("stress-map.svg", "stress-curves.svg"):
        svg = (folder / "out" / "figures" / name).read_text()
        assert "drop-words" in svg
        assert f"](figures/{name})" in markdown
    assert not list((folder / "out").glob(".*"))


def test_the_same_again_gives_the_same_and_json_stands_alone(folder: Path, run: Run) -> None:
    few = ("--damages", "truncate,collapse", "--metrics", "length", "--json", "--quiet", "--out", "out")
    first = run("stress", *SMALL, *few)
    kept = {path: path.stat().st_mtime_ns for path in (folder / "out" / "values").iterdir()}
    assert len(kept) == 4 * (1 + 2 * 2)
    second = run("stress", *SMALL, *few)
    assert (first.stderr, first.stdout) == ("", second.stdout)
    assert {path: path.stat().st_mtime_ns for path in (folder / "out" / "values").iterdir()} == kept
    assert json.loads(first.stdout)["damages"].keys() == {"truncate", "collapse"}


def test_narrow_terminals_have_several_tables(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "45")
    damages = "drop-words,repeat-words,truncate,collapse,duplicate,nothing"
    done = run("stress", *SMALL, "--metrics", "length", "--damages", damages)
    assert done.status == 0
    assert max(map(len, done.stdout.splitlines())) <= 45
    assert "…" not in done.stdout
    heads = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  metric  ")]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == damages.split(",")


def test_characters_are_read_as_asked(folder: Path, run: Run) -> None:
    texts = [text.capitalize() for text in sentences(200, 1)]
    (folder / "upper.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    small = ("stress", "--real", "upper.txt", "--metrics", "distinct-n(order=1)", "--json", "--quiet", "--draws", 2)
    assert "lowercase" in json.loads(run(*small).stdout)["damages"]
    assert "lowercase" in json.loads(run(*small, "--lowercase").stdout)["left_out"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--strengths", "0.1,x"), "cannot read --strengths '0.1,x': write numbers, such as 0.1,0.2,0.4,0.8"),
        (("--strengths", "1.5"), "strengths must be above 0 and at most 1, got 1.5"),
        (("--damages", "drop"), "unknown damage 'drop': did you mean drop-words"),
        (("--damages", "other-text"), "other-text: there is no text 'other'"),
        (("--metrics", "blue"), "unknown metric 'blue'"),
        (("--metrics", "huse"), "huse has no value on undamaged text"),
        (("--draws", 1), "draws must be at least 2, got 1"),
        (("--sentences", 200), "the real text must have at least 400 sentences, 2 parts of 200, got 300"),
        (("--effort", "much"), "unknown effort 'much'"),
        (("--other", "real.txt"), "--real and --other are the same file, real.txt: give other text for it"),
        (("--train", "none.txt"), "none.txt"),
        (("--workers", 0), "--workers must be between 1 and 1024, got 0"),
    ],
)
def test_mistakes(refused: Refused, arguments: tuple[object, ...], line: str) -> None:
    assert line in refused("stress", "--real", "real.txt", *arguments)
