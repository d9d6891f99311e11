"""``--prior`` with the commands that measure dd: recorded where it is used, refused where it cannot be."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Refused = Callable[..., str]
pytestmark = pytest.mark.usefixtures("folder")
with_extra = pytest.mark.skipif(
    find_spec("wordsegment") is None or find_spec("wordfreq") is None, reason="needs the extra prior"
)
PRIOR = ("--prior", "english")
TEXTS = ("--real", "real.txt", "lstm.txt")


def _document(run: Run, *arguments: object) -> dict[str, Any]:
    outcome = run(*arguments, "--json", "--quiet")
    assert outcome.status == 0, outcome.stderr
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


@with_extra
def test_explain_plan_and_compare_have_one_value_with_it(run: Run) -> None:
    explained = _document(run, "explain", *TEXTS, "--effort", "quick", *PRIOR)
    planned = _document(run, "plan", *TEXTS, "--effort", "quick", *PRIOR)
    compared = _document(run, "compare", *TEXTS, "--effort", "quick", *PRIOR, "--metrics", "dd", "--no-explain")
    (result,) = (each for each in compared["results"] if each["generator"] == "lstm")
    (pilot,) = planned["pilot"]["generators"]
    assert explained["explanations"][0]["value"] == pilot["value"] == result["value"]
    assert explained["prior"] == planned["pilot"]["prior"] == "english"
    assert "with the prior english" in " ".join(planned["assumptions"])
    assert "prior" not in _document(run, "explain", *TEXTS, "--effort", "quick")


@with_extra
def test_an_explanation_that_is_kept_without_it_is_not_used(run: Run, folder: Path) -> None:
    arguments = ("explain", *TEXTS, "--effort", "quick", "--out", "r")
    without = _document(run, *arguments)
    assert _document(run, *arguments, *PRIOR)["explanations"] != without["explanations"]
    assert json.loads((folder / "r" / "explain.json").read_text(encoding="utf-8"))["prior"] == "english"


@with_extra
def test_a_pilot_in_a_folder_has_that_of_its_comparison(run: Run) -> None:
    run("compare", *TEXTS, "--effort", "quick", *PRIOR, "--metrics", "dd", "--no-explain", "--out", "pilot", "--quiet")
    assert _document(run, "plan", "--pilot", "pilot")["pilot"]["prior"] == "english"


@with_extra
def test_bench_gives_it_to_estimators_that_can_use_it(run: Run) -> None:
    worlds = ("--worlds", "growth-4", "--sentences", "100", "--truth", "200")
    found = _document(run, "bench", "real.txt", *worlds, "--estimators", "plain,quick", *PRIOR)
    assert {cell["estimator"]: cell["prior"] for cell in found["cells"]} == {"plain": None, "quick": "english"}
    assert found["prior"] == "english"
    without = _document(run, "bench", "real.txt", *worlds, "--estimators", "plain,quick")
    values = [{cell["estimator"]: cell["value"] for cell in one["cells"]} for one in (found, without)]
    assert values[0]["plain"] == values[1]["plain"]
    assert values[0]["quick"] != values[1]["quick"]
    page = " ".join(run("bench", "real.txt", *worlds, "--estimators", "quick", *PRIOR, "--quiet").stdout.split())
    assert "english, for dd" in page


@pytest.mark.parametrize("command", [("explain", *TEXTS), ("plan", *TEXTS), ("bench", "real.txt")])
def test_unknown_ones_and_a_missing_extra_are_refused(
    command: tuple[str, ...], refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = () if command[0] == "plan" else ("--out", "r")
    assert "unknown prior 'klingon'" in refused(*command, "--prior", "klingon", *out)
    monkeypatch.setattr("textassay.prior.catalog.find_spec", lambda _: None)
    assert "a prior of English needs the 'prior' extra" in refused(*command, *PRIOR, *out)
    assert not Path("r").exists()


@with_extra
def test_it_is_refused_where_nothing_could_use_it(refused: Refused) -> None:
    assert "--prior needs a pilot with texts" in refused("plan", *PRIOR)
    assert "prior is for dd of quick, default, max and stack" in refused(
        "bench", "real.txt", "--estimators", "plain,bleu", *PRIOR
    )
