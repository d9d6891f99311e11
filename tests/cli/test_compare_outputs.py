"""``textassay compare --summary`` and ``--log``: what goes to a pull request's page and to experiment trackers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
QUICK = ("compare", "--real", "real.txt", "lstm.txt", "--metrics", "length", "--quiet")


@pytest.mark.usefixtures("folder")
def test_a_summary_is_appended_to_its_file_or_to_the_page_of_a_job(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("summary.md").write_text("# Before\n", encoding="utf-8")
    assert run(*QUICK, "--summary", "summary.md", "--fail-if", "length>0").status == 1
    text = Path("summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Before\n### Generated text against real.txt")
    assert "- Fails: 'length&gt;0' holds for lstm" in text
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("job")))
    assert run(*QUICK, "--summary").status == 0
    assert run(*QUICK, "--summary", "--seed", 0).status == 0
    assert Path("job").read_text(encoding="utf-8").count("### Generated text") == 2


def test_a_summary_says_what_it_needs_and_overwrites_no_text(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert "needs GITHUB_STEP_SUMMARY, which GitHub sets: give FILE.md" in refused(*QUICK, "--summary")
    # what follows is taken for the file
    message = refused("compare", "--real", "real.txt", "--summary", "lstm=lstm.txt", "trigram.txt")
    assert "give a file that ends in .md, got lstm=lstm.txt" in message


@pytest.mark.usefixtures("folder")
def test_log_writes_runs_beside_the_report_and_leaves_standard_output_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", Path("mlruns").absolute().as_uri())
    quiet = run(*QUICK, "--json")
    logged = run(*QUICK, "--json", "--log", "mlflow", "--log", "tensorboard:events", "--out", "report")
    assert (logged.status, logged.stdout) == (0, quiet.stdout)
    assert len(list(Path("events/textassay-1").iterdir())) == 1
    (page,) = Path("mlruns").glob("*/*/artifacts/textassay/report.html")
    assert page.read_bytes() == Path("report/report.html").read_bytes()
    value = json.loads(logged.stdout)["results"][1]["value"]
    (kept,) = Path("mlruns").glob("*/*/metrics/length/lstm")
    assert float(kept.read_text(encoding="utf-8").split()[1]) == value


def test_a_tracker_that_cannot_be_used_is_refused_before_anything_is_measured(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "unknown tracker 'mlfow': did you mean mlflow" in refused(*QUICK, "--log", "mlfow")
    monkeypatch.setattr("textassay.tracking.tracker.find_spec", lambda name: None)
    assert refused(*QUICK, "--log", "wandb").endswith("pip install wandb")


@pytest.mark.usefixtures("folder")
def test_a_tracker_that_fails_costs_no_result(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("full").write_text("", encoding="utf-8")
    outcome = run(*QUICK, "--log", "tensorboard:full", "--out", "report")
    assert outcome.status == 1
    assert "lstm" in outcome.stdout
    assert outcome.stderr.startswith("textassay: error: cannot log to tensorboard: ")
    assert outcome.stderr.count("\n") == 1
    assert Path("report/results.json").is_file()
