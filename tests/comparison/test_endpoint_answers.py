"""Endpoints in a comparison of answers: they answer the prompts of the real text, and what came is kept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import endpoint_server as faults
import textassay as ta
from endpoint_server import KEY, MODEL, Endpoint, serving
from made_up import sentences
from textassay.cli.main import main
from textassay.errors import OptionError

REAL = sentences(50, 1)
ASKED = [f"question {number // 2} ?" for number in range(50)]  # two real answers to each


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.01)
    with serving() as running:
        yield running


def test_an_endpoint_answers_the_prompts_of_the_real_text(server: Endpoint) -> None:
    name = f"openai:{MODEL}@{server.url}"
    comparison = ta.compare({"api": name}, REAL, prompts={"real": ASKED}, metrics=["conditional-dd"])
    estimate = comparison.result("api", "conditional-dd").estimate
    assert estimate is not None
    assert estimate.sizes["n_prompts"] == 25
    assert estimate.details["answers_per_prompt"] == {"real": 2, "generated": 2}
    assert len(server.bodies) == 50
    asked = {body["messages"][-1]["content"] for body in server.bodies}
    assert asked == set(ASKED)
    assert any("50 answers" in warning for warning in comparison.warnings)


def test_the_command_goes_on_where_the_endpoint_died(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"prompt": prompt, "text": text}) + "\n" for prompt, text in zip(ASKED, REAL, strict=True)]
    Path("real.jsonl").write_text("".join(rows))
    command = ["compare", f"api=openai:{MODEL}@{server.url}?retries=1", "--real", "real.jsonl", "--prompt-column"]
    command += ["prompt", "--column", "text", "--metrics", "length", "--out", "out"]
    server.faults = [None] * 30
    server.always = faults.hung_up
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "api: 50 requests, about " in told
    assert "api: 30 of 50 answers are there, stored on disk: the same command resumes from there" in told
    server.always = None
    server.bodies.clear()
    assert main(command) == 0
    assert len(server.bodies) == 20
    written = "".join(path.read_text(errors="replace") for path in Path("out").rglob("*") if path.is_file())
    assert KEY not in written + told + capsys.readouterr().out


def test_an_endpoint_with_a_prompt_of_its_own_is_no_answer(server: Endpoint) -> None:
    name = f"openai:{MODEL}@{server.url}?prompt=Write."
    with pytest.raises(OptionError, match="api is a generator that does not see the prompts"):
        ta.compare({"api": name}, REAL, prompts=ASKED, metrics=["length"])


def test_without_prompts_it_must_be_told_what_to_answer(server: Endpoint) -> None:
    with pytest.raises(OptionError, match="give a prompt: '"):
        ta.compare({"api": f"openai:{MODEL}@{server.url}"}, REAL, metrics=["length"])
