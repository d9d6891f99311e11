"""Chinese on the command line: letters are taken and said; white space that was named is obeyed with a warning."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unspaced import LATIN, chains, sentences, words

Run = Callable[..., Any]
N = 120
SHOWN = pytest.mark.filterwarnings("always::textassay.corpus.tokenizer.SpacingWarning", "always:dd says little")
COMPARE = ("compare", "--real", "real.txt", "a.txt", "--effort", "quick", "--no-explain", "--quiet", "--metrics")


@pytest.fixture
def chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two different processes of Chinese characters, and English."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "real": chains(N, seed=1),
        "a": chains(N, seed=2, shift=0.4),
        "english": sentences(words(LATIN, 100, 2, 9), " ", N),
    }
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def values(document: dict[str, Any], generator: str) -> list[tuple[Any, ...]]:
    return [
        (result["metric"], result["value"], result["low"], result["high"], result["matched_value"], result["signature"])
        for result in document["results"]
        if result["generator"] == generator
    ]


@pytest.mark.usefixtures("chinese")
def test_letters_are_taken_and_said_and_no_company_changes_that(run: Run) -> None:
    alone = json.loads(run(*COMPARE, "dd,bleu", "--json").stdout)
    dd = alone["results"][1]
    assert dd["low"] > 0.1
    assert "tok:mixed" in dd["signature"]
    assert "characters" in {finding["kind"] for finding in alone["findings"]}
    beside = json.loads(run(*COMPARE, "dd,bleu", "english.txt", "--json").stdout)
    assert values(beside, "a") == values(alone, "a")
    text = run(*COMPARE, "bleu")
    assert "The real text has no spaces between words: tokens are single letters." in joined(text.stdout)
    assert text.stderr == ""


@pytest.mark.usefixtures("chinese")
def test_white_space_that_was_named_is_obeyed_and_nothing_is_concluded_from_it(run: Run) -> None:
    outcome = run(*COMPARE, "dd", "--tokenizer", "whitespace")
    text = joined(outcome.stdout)
    assert outcome.status == 0
    assert "unspaced text: (real)" in text
    assert "dd leaves open whether a differs from real text. a: 100 % of the texts of both sides share no" in text
    whole = joined(run(*COMPARE, "dd", "--tokenizer", "whitespace", "--all").stdout)
    assert "(real): 120 of 120 texts (100.0 %) have no spaces between words" in whole
    assert "whitespace splits at spaces: these numbers cannot show differences inside a sentence or phrase" in whole
    assert "Not distinguished from real text" not in text
    document = json.loads(run(*COMPARE, "dd", "--tokenizer", "whitespace", "--json").stdout)
    dd = document["results"][1]
    assert dd["low"] == pytest.approx(-dd["high"])
    assert dd["high"] > 0.1
    assert any("dd is of little use here" in warning for warning in document["warnings"])


@pytest.mark.usefixtures("chinese")
def test_a_generator_with_spaces_beside_real_text_without_is_warned_of(run: Run) -> None:
    text = joined(run("inspect", "--real", "real.txt", "english.txt").stdout)
    assert "warning english: Spaces between words differ: 0 of 120 generated" in text
    text = joined(run("inspect", "--real", "english.txt", "real.txt").stdout)
    assert "warning real: Spaces between words differ: 120 of 120 generated" in text


@SHOWN
@pytest.mark.usefixtures("chinese")
def test_commands_without_findings_say_it_in_a_line(run: Run) -> None:
    outcome = run("explain", "--real", "real.txt", "a.txt", "--effort", "quick", "--json", "--quiet")
    assert json.loads(outcome.stdout)["tokenizer"] == "mixed"
    assert outcome.stderr == (
        "textassay: warning: 120 of 120 texts have no spaces between words: tokens are single letters there, words "
        "elsewhere (--tokenizer mixed)\n"
    )
    options = ("--metrics", "length", "--draws", 2, "--damages", "truncate", "--quiet")
    outcome = run("stress", "--real", "real.txt", *options)
    assert "tokens are single letters" in outcome.stderr


@SHOWN
@pytest.mark.usefixtures("chinese")
def test_explain_concludes_nothing_from_a_judge_that_sees_nothing(run: Run) -> None:
    outcome = run("explain", "--real", "real.txt", "a.txt", "--effort", "quick", "--tokenizer", "whitespace", "--quiet")
    text = joined(outcome.stdout)
    assert "Not clear at this size." in text
    assert "Levelled off" not in text
    assert "use --tokenizer mixed" in outcome.stderr


def joined(page: str) -> str:
    return " ".join(page.split())
