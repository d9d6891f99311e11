"""``textassay compare --summary``: what goes to a pull request's page."""

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
    assert "the file must end in .md, got lstm=lstm.txt" in message
