"""Comparisons that draw from an endpoint: what is kept, how they go on, what they tell."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import endpoint_server as faults
import textassay as ta
from endpoint_server import KEY, MODEL, Endpoint, serving
from made_up import sentences
from textassay.comparison.document import comparison_document
from textassay.comparison.sources import is_source, names_model
from textassay.errors import InputError

REAL = sentences(60, 1)
LENGTH: dict[str, Any] = {"metrics": ["length"], "explain": False, "workers": 1}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.01)
    with serving() as running:
        yield running


def _name(server: Endpoint, more: str = "prompt=Write a review.") -> str:
    return f"openai:{MODEL}@{server.url}?retries=1&{more}"


def _drawn(comparison: ta.Comparison) -> list[str]:
    assert comparison.texts is not None
    return list(comparison.texts["api"])


def test_an_endpoint_that_dies_in_a_comparison_loses_nothing(server: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "one"}\n{"prompt": "two"}\n')
    name = _name(server, f"prompts={file}&max_tokens=9")
    assert names_model(name)
    assert is_source(name)
    out = tmp_path / "out"
    server.faults = [None] * 40
    server.always = faults.hung_up
    with pytest.raises(InputError) as raised:
        ta.compare({"api": name}, REAL, out=out, **LENGTH)
    told = "api: 40 of 60 answers are there, stored on disk: the same command resumes from there; "
    assert str(raised.value) == f"{told}{MODEL}@{server.url}: closed the connection, 2 times"
    server.always = None
    server.bodies.clear()
    comparison = ta.compare({"api": name}, REAL, out=out, **LENGTH)
    drawn = _drawn(comparison)
    assert len(server.bodies) == 20
    again = ta.compare({"api": name}, REAL, out=out, **LENGTH)
    assert len(server.bodies) == 20
    assert _drawn(again) == drawn
    more = ta.compare({"api": name}, REAL, out=out, draw=30, **LENGTH)
    assert _drawn(more) == drawn[:30]
    assert len(server.bodies) == 20
    (draw,) = comparison.draws
    rows = [json.loads(line) for line in (out / str(draw.file)).read_text().splitlines()]
    assert [row["prompt"] for row in rows] == ["one", "two"] * 30
    assert [row["text"] for row in rows] == drawn
    assert draw.source == name
    assert "60 answers of" in str(draw.note)
    assert "endpoints may ignore a seed" in str(draw.note)
    assert type(draw).from_dict(draw.to_dict()) == draw
    comparison.save(out)
    page = ta.write_report(comparison, out)
    assert page
    written = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(written) > 5
    assert not [path for path, content in written.items() if KEY.encode() in content]
    assert any(b"endpoints may ignore a seed" in content for content in written.values())


def test_without_a_folder_the_error_says_how_to_keep_answers(server: Endpoint) -> None:
    server.faults = [None] * 7
    server.always = faults.status(500)
    with pytest.raises(InputError, match=r"^api: 7 of 60 answers are there; .*; with --out they are stored"):
        ta.compare({"api": _name(server, "prompt=a&concurrency=1")}, REAL, **LENGTH)


def test_cut_answers_are_warned_of(server: Endpoint) -> None:
    def cut(document: dict[str, Any]) -> dict[str, Any]:
        document["choices"][0]["finish_reason"] = "length"
        return document

    server.change = cut
    generator = ta.generators.Endpoint(MODEL, url=server.url, prompt="a", max_tokens=5)
    comparison = ta.compare({"api": generator}, REAL, **LENGTH)
    cut_off = "api: 60 of 60 answers are truncated at max_tokens (finish reason length): increase max_tokens"
    assert cut_off in comparison.warnings
    page = " ".join(str(comparison_document(comparison)).split())
    assert "60 answers of" in page
    assert "Answers of an endpoint are the same only with the same --out, where they are kept." in page
    assert not comparison.draws[0].log_probs
