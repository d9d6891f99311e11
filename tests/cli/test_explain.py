"""``textassay explain`` and ``textassay plan`` on small files."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Refused = Callable[..., str]
pytestmark = pytest.mark.usefixtures("folder")


def _document(run: Run, *arguments: object) -> dict[str, Any]:
    outcome = run(*arguments, "--json")
    assert outcome.status == 0, outcome.stderr
    assert outcome.stderr == ""
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


def test_explain_prints_every_generator(run: Run) -> None:
    outcome = run("explain", "--real", "real.txt", "lstm.txt", "other=trigram.txt", "--top", "3", "--effort", "quick")
    assert outcome.status == 0
    assert "What gives lstm away: dd" in outcome.stdout
    assert "What gives other away: dd" in outcome.stdout
    assert outcome.stderr == ""


def test_explain_gives_the_numbers_of_compare(run: Run) -> None:
    arguments = ("--real", "real.txt", "lstm.txt", "--seed", "3", "--folds", "2")
    explained = _document(run, "explain", *arguments)
    compared = _document(run, "compare", *arguments, "--metrics", "dd")
    assert explained["explanations"] == compared["explanations"]
    assert explained["explanations"][0]["value"] == compared["results"][1]["value"]
    assert explained["real"] == compared["real"]
    assert (explained["seed"], explained["folds"], explained["level"]) == (3, 2, 0.95)


def test_explain_writes_and_resumes(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("explain", "--real", "real.txt", "lstm.txt", "--effort", "quick", "--out", "r")
    first = run(*arguments)
    assert first.status == 0
    assert "explain.txt" in first.stderr
    assert "What gives lstm away" in (folder / "r/explain.txt").read_text(encoding="utf-8")
    written = json.loads((folder / "r/explain.json").read_text(encoding="utf-8"))
    assert {path.name for path in (folder / "r").iterdir()} == {
        "explain.txt", "explain.json", "explain.md", "explain.html", "figures", "estimates"
    }  # fmt: skip
    monkeypatch.setattr(
        import_module("textassay.comparison.explain"), "judge", lambda *_, **__: pytest.fail("computed again")
    )
    assert run(*arguments, "--quiet").stdout == first.stdout
    assert _document(run, *arguments, "--quiet") == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lstm.txt", "--top", "-1"], "--top must be at least 0, got -1"),
        (["lstm.txt", "--level", "1"], "level must be between 0 and 1, got 1.0"),
        (["lstm.txt", "--folds", "0"], "--folds must be at least 1, got 0"),
        (["lstm.txt", "--tokenizer", "word"], "unknown tokenizer 'word'"),
        (["real.txt"], "--real and real are the same file"),
        (["lstm.txt", "--folds", "40"], "dd needs at least 400 texts a side"),
        (["lstm.txt", "--group-column", "doc"], "none of the files has columns"),
        ([], "no generated text is given"),
    ],
)
def test_mistakes_with_explain(refused: Refused, arguments: list[str], message: str) -> None:
    assert message in refused("explain", "--real", "real.txt", *arguments)


def test_plan_without_anything(run: Run) -> None:
    outcome = run("plan")
    assert outcome.status == 0
    assert "dd within ±0.01, 95 % interval" in outcome.stdout
    assert "31,494" in outcome.stdout
    assert "Assumed" in outcome.stdout


def test_plan_writes_its_report(run: Run, folder: Path) -> None:
    outcome = run("plan", "--margin", "0.05", "--out", "planned", "--json")
    assert json.loads((folder / "planned" / "plan.json").read_text()) == json.loads(outcome.stdout)
    assert {"plan.md", "plan.html"} <= {path.name for path in (folder / "planned").iterdir()}
    assert "wrote plan.json" in outcome.stderr
    assert run("plan", "--out", "planned", "--quiet").stderr == ""


def test_plan_answers_what_is_asked(run: Run) -> None:
    found = _document(run, "plan", "--margin", "0.05", "--margin", "0.02", "--separate", "0.1", "--dd", "0.4")
    asked = [(requirement["question"], requirement["size"]) for requirement in found["requirements"]]
    assert asked == [("margin", 0.05), ("margin", 0.02), ("separate", 0.1)]
    assert found["pilot"] is None


@pytest.mark.slow
def test_plan_from_texts_and_from_a_folder(run: Run) -> None:
    texts = ("--real", "real.txt", "lstm.txt", "trigram.txt")
    assert run("compare", *texts, "--metrics", "dd", "--out", "r", "--quiet").status == 0
    measured = _document(run, "plan", *texts, "--margin", "0.1")
    read = _document(run, "plan", "--pilot", "r", "--margin", "0.1")
    assert read["requirements"] == measured["requirements"]
    for one, other in zip(read["pilot"]["generators"], measured["pilot"]["generators"], strict=True):
        more = [(each.pop("side"), each.pop("half_width_doubled")) for each in one.pop("more")]
        assert more == [(each["side"], each["half_width_doubled"]) for each in other.pop("more")]  # no rise of files
        assert one == other
    assert "still rising?" in run("plan", "--pilot", "r").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--margin", "2"], "margin must be between 0 and 1, got 2.0"),
        (["--power", "0"], "power must be between 0 and 1, got 0.0"),
        (["--dd", "1"], "dd must be at least 0 and below 1, got 1.0"),
        (["--real", "real.txt"], "a pilot needs real and generated text"),
        (["lstm.txt"], "a pilot needs real and generated text"),
        (["--pilot", "nowhere"], "does not exist"),
        (["--pilot", "r", "--real", "real.txt", "lstm.txt"], "cannot be combined"),
    ],
)
def test_mistakes_with_plan(refused: Refused, arguments: list[str], message: str) -> None:
    assert message in refused("plan", *arguments)
