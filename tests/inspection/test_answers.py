"""Refusals, errors and cut-off answers are found and counted; texts of people are left in peace."""

import json
from pathlib import Path

import numpy as np
import pytest

from textassay.comparison.run import compare
from textassay.corpus.text_file import TextFile
from textassay.corpus.texts import read_texts
from textassay.errors import InputError
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect

PLAIN = [f"I can see {number} dogs, and I'm sorry that they bark." for number in range(400)]
REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I\u2019m sorry, but I can\u2019t assist with that request.",
    "i 'm sorry , but i ca n't provide this",
    "I am sorry, but I cannot fulfill this request.",
    "Sorry, I can't help with that.",
    "Unfortunately, I am unable to provide that.",
    "I apologize, but I will not write this.",
    "I cannot help with that request.",
    "As an AI language model, I have no opinion.",
    " As a large language model I do not eat.",
]
NO_REFUSALS = [
    "I'm sorry, but I can't believe it.",
    "Sorry, we are closed.",
    "I cannot help laughing.",
    "As an aid to memory, write it down.",
    "Unfortunately, I can't swim.",
    "I can't write.",
    "",
    "I",
]
ERRORS = [
    '{"error": {"message": "overloaded"}}',
    "Error code: 429 - {'error': 1}",
    "Traceback (most recent call last):\n  File",
    "Rate limit exceeded, try again",
    "openai.APITimeoutError: Request timed out.",
]

REAL = [f"answer number {n} goes here" for n in range(40)]
MODEL = [f"reply number {n} goes there" for n in range(40)]
ASKED = [f"question {n} ?" for n in range(40)]


def found(generated: list[str], real: list[str]) -> dict[str, Finding]:
    return {one.kind: one for one in inspect({"m": generated}, real) if one.generator == "m"}


@pytest.mark.parametrize(("kind", "texts"), [("refusals", REFUSALS), ("error-messages", ERRORS)])
def test_each_is_found_and_counted(kind: str, texts: list[str]) -> None:
    each = inspect({str(number): [*PLAIN[:30], text] for number, text in enumerate(texts)}, PLAIN[:30])
    counts = {one.generator: one.count_generated for one in each if one.kind == kind}
    assert counts == {str(number): 1 for number in range(len(texts))}
    finding = found([*PLAIN, *texts * 20], PLAIN)[kind]
    assert (finding.severity, finding.count_generated, finding.count_real) == ("warning", 20 * len(texts), 0)
    assert finding.example_generated in [text.strip() for text in texts]


def test_texts_of_people_are_no_refusals() -> None:
    kinds = found([*PLAIN, *NO_REFUSALS], PLAIN)
    assert not {"refusals", "error-messages", "cut-off-answers"} & kinds.keys()


def test_where_real_text_declines_too_it_is_a_note() -> None:
    texts = [*PLAIN, *REFUSALS * 10]
    assert found([*texts[:-1], "A dog."], texts)["refusals"].severity == "note"


def test_cut_off_answers_come_from_their_file(tmp_path: Path) -> None:
    rows = [
        {"choices": [{"message": {"content": text}, "finish_reason": "length" if place < 80 else "stop"}]}
        for place, text in enumerate(PLAIN)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    real = [text.replace("dogs", "cats") for text in PLAIN]
    generated = read_texts(tmp_path / "answers.jsonl")
    (finding,) = (one for one in inspect({"m": generated}, real) if one.kind == "cut-off-answers")
    assert (finding.count_generated, finding.n_generated, finding.severity) == (80, 400, "warning")
    assert finding.message.startswith("Truncated: a length limit ended 80 of 400 generated (20.0 %) and 0 of 400 real")
    few = TextFile("m", PLAIN, cut_off=np.arange(400) < 2)
    notes = {one.kind: one.severity for one in inspect({"m": few}, real)}
    assert notes["cut-off-answers"] == "note"


def _prompt_findings(prompts: dict[str, list[str]], n: int = 40) -> list[tuple[str, str]]:
    comparison = compare({"model": MODEL[:n]}, REAL, prompts=prompts, metrics=["length"])
    return [(one.kind, one.message) for one in comparison.findings if one.kind.startswith("prompts")]


def test_the_same_prompts_need_no_word() -> None:
    assert _prompt_findings({"real": ASKED, "model": ASKED}) == []


def test_prompts_of_one_side() -> None:
    ((kind, message),) = _prompt_findings({"real": ASKED, "model": ASKED[:30]}, n=30)
    assert kind == "prompts-of-one-side"
    assert message.startswith("10 of 40 prompts of the real text have no answer by model, and 0 of its 30")


def test_a_space_more_is_another_prompt_and_is_named() -> None:
    ((_, message),) = _prompt_findings({"real": ASKED, "model": [ASKED[0] + " ", ASKED[1].upper(), *ASKED[2:]]})
    assert "2 of these differ from a real one only by white space, case or character forms" in message


def test_no_prompt_is_shared() -> None:
    with pytest.raises(
        InputError, match=r"none of the 40 prompts of model is among the 40 prompts of the real text; 40 of these"
    ):
        _prompt_findings({"real": ASKED, "model": [f" {prompt}" for prompt in ASKED]})


def test_prompts_that_were_not_used() -> None:
    real = TextFile("real", REAL, prompts=ASKED)
    comparison = compare({"model": MODEL}, real, metrics=["length"])
    (finding,) = (one for one in comparison.findings if one.kind == "prompts-not-used")
    assert finding.severity == "warning"
    assert "since model came without prompts, unlike (real)" in finding.message
