"""Endpoints on the command line: what is drawn and told, what a killed run leaves, and mistakes in one line."""

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

import endpoint_server as faults
from endpoint_server import KEY, MODEL, Endpoint, serving

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.01)
    with serving() as running:
        yield running


def _name(server: Endpoint, more: str = "prompt=Write a review.") -> str:
    return f"openai:{MODEL}@{server.url}?{more}"


def test_sample_draws_from_an_endpoint(folder: Path, server: Endpoint, run: Run) -> None:
    done = run("sample", _name(server, "prompt=a&max_tokens=9"), "-n", 5, "--seed", 2)
    assert done.status == 0
    assert len(done.stdout.splitlines()) == 5
    told = done.stderr.splitlines()
    assert "5 requests, about 9 prompt tokens each, 45 together, and at most 45 tokens of answers" in told[0]
    assert f"5 answers of {MODEL}@{server.url} in 5 requests, " in told[1]
    assert "; 5 prompt and" in told[1]
    (folder / "prompts.txt").write_text("one\ntwo\n")
    file = folder / "answers.jsonl"
    done = run("sample", _name(server, "prompts=prompts.txt"), "--out", "answers.jsonl", "--temperature", 0.5)
    assert "wrote 2 sentences to answers.jsonl" in done.stderr
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["prompt"], row["finish_reason"]) for row in rows] == [("one", "stop"), ("two", "stop")]
    assert server.bodies[-1]["temperature"] == 0.5
    n_asked = len(server.bodies)
    more = run("sample", _name(server, "prompts=prompts.txt"), "--out", "answers.jsonl", "--temperature", 0.5, "-n", 4)
    assert len(server.bodies) == n_asked + 2
    assert [json.loads(line) for line in file.read_text().splitlines()][:2] == rows
    assert KEY not in done.stdout + done.stderr + more.stderr


def test_what_a_killed_run_was_answered_is_not_asked_for_again(folder: Path, server: Endpoint, run: Run) -> None:
    server.delay = lambda number: 0.0 if number < 12 else 30.0
    command = ["sample", _name(server, "prompt=a&concurrency=3"), "-n", "20", "--out", "drawn.jsonl"]
    process = subprocess.Popen([sys.executable, "-m", "textassay", *command], stderr=subprocess.PIPE, env=os.environ)
    kept = folder / "drawn.jsonl.answers"
    deadline = time.monotonic() + 30
    while sum(len(path.read_bytes().splitlines()) for path in kept.glob("*")) < 12 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert process.stderr is not None
    assert KEY.encode() not in process.stderr.read()
    process.stderr.close()
    server.delay = lambda number: 0.0
    server.bodies.clear()
    assert run(*command).status == 0
    assert len(server.bodies) == 8
    resumed = (folder / "drawn.jsonl").read_text()
    (folder / "drawn.jsonl").unlink()
    whole = run("sample", _name(server, "prompt=a&concurrency=1"), "-n", "20", "--out", "anew.jsonl")
    assert whole.status == 0
    assert (folder / "anew.jsonl").read_text() == resumed
    assert not [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_standard_output_has_what_came_before_an_endpoint_died(server: Endpoint, run: Run) -> None:
    server.faults = [None] * 3
    server.always = faults.status(500)
    done = run("sample", _name(server, "prompt=a&retries=0&concurrency=1"), "-n", 9)
    assert (done.status, len(done.stdout.splitlines())) == (2, 3)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("textassay: error: 3 of 9 answers are there; ")
    assert last.endswith("with --out FILE answers are stored, and the same command resumes")


def test_compare_tells_before_and_after_what_an_endpoint_takes(folder: Path, server: Endpoint, run: Run) -> None:
    (folder / "real.txt").write_text("".join(f"this is line {number} of it .\n" for number in range(40)))
    name = _name(server, "prompt=Write a review.&max_tokens=50&input_price=1&output_price=2")
    words = ["compare", "--real", "real.txt", f"api={name}", "--metrics", "length", "--no-explain"]
    done = run(*words, "--out", "out", "--json")
    assert done.status == 0
    said = (
        "api: 40 requests, about 12 prompt tokens each, 480 together, and at most 2,000 tokens of answers; 0.00448 at "
        "most, at the given prices; stored answers are not requested again"
    )
    assert said in done.stderr
    (draw,) = json.loads(done.stdout)["draws"]
    assert draw["note"].startswith(f"40 answers of {MODEL}@{server.url} in 40 requests, ")
    assert draw["source"] == name
    assert len(server.bodies) == 40
    assert KEY not in done.stdout + done.stderr
    assert not [path for path in (folder / "out").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_mistakes_are_one_line(folder: Path, server: Endpoint, refused: Refused) -> None:
    assert "add -n N" in refused("sample", _name(server))
    assert "an endpoint does not support --prefix" in refused("sample", _name(server), "-n", 1, "--top-k", 3)
    (folder / "real.txt").write_text("a b\n" * 4)
    assert "has no probabilities" in refused("likelihood", _name(server), "real.txt")
    server.key = "another"
    assert "the key in OPENAI_API_KEY is refused" in refused("sample", _name(server), "-n", 1, "--quiet")


def test_a_traceback_holds_no_key(server: Endpoint, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-wrong-0123456789", "sk-in-two\nlines-0123456789", "sk-ключ-0123456789"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        done = run("--debug", "sample", _name(server), "-n", 1)
        assert done.status == 2
        assert "Traceback" in done.stderr
        assert "0123456789" not in done.stdout + done.stderr
