"""``textassay audit``: the reference, looks, exit status, what a killed run leaves, and mistakes in one line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from endpoint_server import KEY, MODEL, Endpoint, serving

Run = Callable[..., Any]
Refused = Callable[..., str]
pytestmark = pytest.mark.usefixtures("small")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.audit.run.N_RESAMPLES", 999)
    monkeypatch.setattr("textassay.audit.run._FEWEST_FOR_DD", 10_000)


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (folder / "prompts.txt").write_text("".join(f"prompt {number}\n" for number in range(12)), encoding="utf-8")
    with serving() as running:
        yield running


def start(server: Endpoint, *more: object, settings: str = "") -> tuple[object, ...]:
    model = f"openai:{MODEL}@{server.url}{settings}"
    return ("audit", "start", "--model", model, "--prompts", "prompts.txt", "--samples", 6, "--out", "a", *more)


def changed(document: dict[str, Any]) -> dict[str, Any]:
    document["choices"][0]["message"]["content"] = "well , " + document["choices"][0]["message"]["content"]
    return document


def test_a_model_that_stays_and_then_changes(server: Endpoint, run: Run) -> None:
    assert run(*start(server)).status == 0
    assert len(server.bodies) == 12 * 6
    for number in range(1, 3):
        outcome = run("audit", "check", "a", "--samples", 3)
        assert outcome.status == 0, outcome
        assert len(server.bodies) == 12 * (6 + 3 * number)
    assert "36 requests" in outcome.stderr
    assert len({(body["messages"][0]["content"], body["seed"]) for body in server.bodies}) == len(server.bodies)
    server.change = changed
    outcome = run("audit", "check", "a", "--samples", 3, "--looks", 5, "--json")
    assert outcome.status == 1
    found = json.loads(outcome.stdout)
    assert found["since"] in (2, 3)  # an estimate
    assert len(found["looks"]) in (3, 4)
    assert found["requests"] == len(server.bodies)
    assert any(one["new"].startswith("well , ") for one in found["prompts"])
    again = run("audit", "check", "a", "--out", "page")
    assert (again.status, len(server.bodies)) == (1, found["requests"])
    assert "Changed since look" in again.stdout
    assert "Start a new audit to go on" in again.stdout
    assert len(again.stdout.splitlines()) <= 26
    assert "well , " in Path("page/audit.html").read_text(encoding="utf-8")
    assert KEY not in "".join(path.read_text() for path in Path("a").rglob("*") if path.is_file())


def _n_kept() -> int:
    return sum(len(path.read_bytes().splitlines()) for path in Path("a").glob("answers/*"))


@pytest.mark.parametrize("command", ["start", "check"])
def test_what_a_killed_run_was_answered_is_not_asked_for_again(server: Endpoint, run: Run, command: str) -> None:
    arguments = start(server) if command == "start" else ("audit", "check", "a", "--samples", 6)
    if command == "check":
        assert run(*start(server)).status == 0
    n_before = len(server.bodies)
    server.delay = lambda number: 0.0 if number < n_before + 30 else 30.0
    line = [sys.executable, "-m", "textassay", *map(str, arguments)]
    process = subprocess.Popen(line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=os.environ)
    deadline = time.monotonic() + 60
    while _n_kept() < n_before + 30 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    server.delay = lambda number: 0.0
    answered = server.bodies[: n_before + 30]
    del server.bodies[n_before + 30 :]  # what was under way had no answer
    assert run(*arguments).status == 0
    assert len(server.bodies) == n_before + 72
    assert server.bodies[: n_before + 30] == answered
    assert len({(body["messages"][0]["content"], body["seed"]) for body in server.bodies}) == len(server.bodies)


def test_a_look_that_the_budget_does_not_allow_is_not_begun(server: Endpoint, run: Run) -> None:
    assert run(*start(server, "--budget", 100)).status == 0
    assert run("audit", "check", "a", "--samples", 2).status == 0
    outcome = run("audit", "check", "a", "--samples", 2)
    assert (outcome.status, len(server.bodies)) == (3, 96)
    assert "Inconclusive: a look takes 24 requests, and 96 of 100 are spent" in " ".join(outcome.stdout.split())
    assert run("audit", "check", "a", "--samples", 2, "--budget", 200).status == 0


def test_undecided_prompts_are_chosen_by_answers_that_are_not_used_again(server: Endpoint, run: Run) -> None:
    def decided(document: dict[str, Any]) -> dict[str, Any]:
        if server.bodies[-1]["messages"][0]["content"] != "prompt 7":
            document["choices"][0]["message"]["content"] = "yes"
        return document

    server.change = decided
    assert run(*start(server, "--choose", 1, settings="?concurrency=1")).status == 0
    assert json.loads(Path("a/audit.json").read_text())["prompts"] == ["prompt 7"]
    assert len(server.bodies) == 12 * 4 + 6
    assert json.loads(run("audit", "check", "a", "--json").stdout)["requests"] == len(server.bodies) == 59


def test_log_probabilities_of_the_first_token(server: Endpoint, run: Run) -> None:
    shift = 0.0

    def told(document: dict[str, Any]) -> dict[str, Any]:
        rows = [{"token": f"t{k}", "logprob": -1.0 - k + shift} for k in range(3)]
        document["choices"][0] |= {"message": {"content": "yes"}, "logprobs": {"content": [{"top_logprobs": rows}]}}
        return document

    assert "returns no token log-probabilities" in run(*start(server, "--log-probs")).stderr
    server.change = told
    model = f"openai:{MODEL}@{server.url}?temperature=0"
    named = ("--model", model, "--prompts", "prompts.txt", "--samples", 3, "--out", "b", "--log-probs")
    assert run("audit", "start", *named).status == 0
    assert (server.bodies[-1]["top_logprobs"], server.bodies[-1]["max_tokens"]) == (20, 1)
    assert run("audit", "check", "b", "--samples", 1).status == 0
    shift = 0.01
    outcome = run("audit", "check", "b", "--samples", 1)
    assert outcome.status == 1
    assert "moved by 0.01 nats" in outcome.stdout


@pytest.mark.filterwarnings("always::textassay.errors.FindingWarning")
def test_audits_of_texts(folder: Path, run: Run, refused: Refused) -> None:
    def write(name: str, texts: Callable[[int, int], str], n: int) -> None:
        rows = [{"prompt": f"p{k}", "text": texts(k, i)} for k in range(10) for i in range(n)]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    write("reference.jsonl", lambda k, i: f"word{k} and number {i % 4}", 8)
    write("same.jsonl", lambda k, i: f"word{k} and number {i % 4}", 4)
    write("other.jsonl", lambda k, i: f"now word{k} but letter {i % 4}", 4)
    assert run("audit", "start", "--texts", "reference.jsonl", "--out", "a").status == 0
    assert run("audit", "check", "a").status == 3  # nothing was looked at
    assert run("audit", "check", "a", "--texts", "same.jsonl").status == 0
    assert "tested before" in refused("audit", "check", "a", "--texts", "same.jsonl")
    assert run("audit", "check", "a", "--texts", "other.jsonl").status == 1
    write("strange.jsonl", lambda k, i: f"{i}", 1)
    Path("strange.jsonl").write_text('{"prompt": "q", "text": "t"}\n')
    assert run("audit", "start", "--texts", "reference.jsonl", "--out", "c").status == 0
    Path("more.jsonl").write_text(Path("same.jsonl").read_text() + '{"prompt": "q", "text": "t"}\n')
    assert "1 prompts are not in the reference" in run("audit", "check", "c", "--texts", "more.jsonl").stderr
    assert "none of these answers has a prompt of the reference" in refused(
        "audit", "check", "c", "--texts", "strange.jsonl"
    )


@pytest.mark.filterwarnings("always::textassay.errors.FindingWarning")
def test_mistakes_are_one_line(server: Endpoint, run: Run, refused: Refused) -> None:
    assert "contains no audit: start one with" in refused("audit", "check", "nowhere")
    assert "give --model and --prompts" in refused("audit", "start", "--out", "a")
    assert "--model needs --prompts" in refused("audit", "start", "--out", "a", "--model", f"openai:m@{server.url}")
    assert "must be an endpoint" in refused("audit", "start", "--out", "a", "--model", "m", "--prompts", "prompts.txt")
    assert "the reference needs 72 requests" in refused(*start(server, "--budget", 50))
    assert not server.bodies
    with Path("prompts.txt").open("a", encoding="utf-8") as file:
        file.write("prompt 1\n\n")
    outcome = run(*start(server))
    assert (outcome.status, len(server.bodies)) == (0, 72)
    assert "2 prompts are blank or repeated" in outcome.stderr
    assert "already contains an audit" in refused(*start(server))
    Path("a/audit.json").write_text("{")
    assert "is damaged" in refused("audit", "check", "a")
