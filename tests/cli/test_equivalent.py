"""``textassay compare --equivalent``: exit status, JUnit, Markdown, the file of options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Run = Callable[..., Any]
QUICK = ("compare", "--real", "real.txt", "--metrics", "dd,length", "--effort", "quick", "--no-explain", "--quiet")
LIKE, FAR = "like=train.txt", "far=lstm.txt"


@pytest.mark.usefixtures("folder")
def test_the_exit_status_is_that_of_the_verdicts(run: Run) -> None:
    assert run(*QUICK, LIKE, "--equivalent", 0.15).status == 0
    outcome = run(*QUICK, LIKE, "--equivalent", 0.02)
    assert outcome.status == 3
    assert outcome.stderr == "textassay: --equivalent: INCONCLUSIVE like (dd)\n"
    outcome = run(
        *QUICK, LIKE, FAR, "--equivalent", "dd=0.15,length=0.2", "--junit", "new/verdicts.xml", "--summary", "s.md"
    )
    assert outcome.status == 1
    assert "Within the margin of real text?" in outcome.stdout
    assert "FAIL far (dd)" in outcome.stderr
    suites = ElementTree.parse("new/verdicts.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("4", "1")
    assert "| far | FAIL | dd " in Path("s.md").read_text(encoding="utf-8")
    assert run(*QUICK, LIKE, "--equivalent", 0.02, "--fail-if", "dd<1").status == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("margin", ["0.15", "'dd=0.15'", "{dd: 0.15, length: 0.9}"])
def test_a_file_of_options_may_have_margins(run: Run, margin: str) -> None:
    Path("c.yaml").write_text(f"generators: {{like: train.txt}}\nequivalent: {margin}\n", encoding="utf-8")
    outcome = run(*QUICK, "--config", "c.yaml")
    assert outcome.status == 0, outcome
    assert "PASS     dd " in outcome.stdout


def test_what_cannot_be_tested_is_refused_before_anything_is_measured(refused: Callable[..., str]) -> None:
    assert "bleu(order=5), which is not among the metrics" in refused(*QUICK, LIKE, "--equivalent", "bleu=0.1")
    assert "the margin of dd must be a number above 0" in refused(*QUICK, LIKE, "--equivalent", "-0.1")
    assert "cannot read --equivalent 'much'" in refused(*QUICK, LIKE, "--equivalent", "much")
    Path("file").write_text("", encoding="utf-8")
    message = refused(*QUICK, LIKE, "--equivalent", "0.1", "--junit", "file/verdicts.xml")
    assert "cannot write into file: not a directory; choose another --junit" in message
    assert "add --equivalent 0.1" in refused(*QUICK, LIKE, "--junit", "verdicts.xml")
