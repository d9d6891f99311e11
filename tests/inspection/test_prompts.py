"""Prompts of one side, prompts that nearly agree, and prompts that were not used are named."""

import pytest

from textassay.comparison.run import compare
from textassay.corpus.texts import TextFile
from textassay.errors import InputError

REAL = [f"answer number {n} goes here" for n in range(40)]
MODEL = [f"reply number {n} goes there" for n in range(40)]
ASKED = [f"question {n} ?" for n in range(40)]


def found(prompts: dict[str, list[str]], n: int = 40) -> list[tuple[str, str]]:
    comparison = compare({"model": MODEL[:n]}, REAL, prompts=prompts, metrics=["length"])
    return [(one.kind, one.message) for one in comparison.findings if one.kind.startswith("prompts")]


def test_the_same_prompts_need_no_word() -> None:
    assert found({"real": ASKED, "model": ASKED}) == []


def test_prompts_of_one_side() -> None:
    ((kind, message),) = found({"real": ASKED, "model": ASKED[:30]}, n=30)
    assert kind == "prompts-of-one-side"
    assert message.startswith("10 of 40 prompts of the real text have no answer by model, and 0 of 30")


def test_a_space_more_is_another_prompt_and_is_named() -> None:
    ((_, message),) = found({"real": ASKED, "model": [ASKED[0] + " ", ASKED[1].upper(), *ASKED[2:]]})
    assert "2 of these differ from a real one by white space, case or the form of characters alone" in message


def test_no_prompt_is_shared() -> None:
    with pytest.raises(InputError, match=r"no prompt of model \(40\) is a prompt of the real text \(40\); 40 of these"):
        found({"real": ASKED, "model": [f" {prompt}" for prompt in ASKED]})


def test_prompts_that_were_not_used() -> None:
    real = TextFile("real", REAL, prompts=ASKED)
    comparison = compare({"model": MODEL}, real, metrics=["length"])
    (finding,) = (one for one in comparison.findings if one.kind == "prompts-not-used")
    assert finding.severity == "warning"
    assert "(real) came with them, model did not" in finding.message
