"""Progress by itself: where someone looks on, once it takes long, and gone at the end."""

import io
import sys

import pytest

import textassay as ta
from made_up import sentences
from textassay.execution import progress
from textassay.execution.progress import no_own_progress, shows_progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Notebook(io.StringIO):
    pass


_Notebook.__module__ = "ipykernel.iostream"


@shows_progress
def _work(n: int, *, progress: progress.Progress | None = None) -> int:
    for step in range(n):
        if progress is not None:
            progress(f"step {step}", step, n)
    return n


def _written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, seconds: float = 0.0) -> str:
    monkeypatch.setattr(progress, "_SECONDS_BEFORE", seconds)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    assert _work(3) == 3
    return stream.getvalue()


@pytest.mark.parametrize("stream", [_Terminal, _Notebook])
def test_a_line_is_written_anew_and_goes(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    written = _written(monkeypatch, stream())
    lines = written.split("\r")
    assert lines[1:4] == [f"{step} of 3 done, step {step}" for step in range(3)]
    assert lines[4].isspace()
    assert lines[5] == ""
    assert "\n" not in written


def test_nothing_is_written_where_nobody_looks_or_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _written(monkeypatch, io.StringIO()) == ""
    assert _written(monkeypatch, _Terminal(), seconds=60.0) == ""
    with no_own_progress():
        assert _written(monkeypatch, _Terminal()) == ""


def test_who_asks_is_told_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    told: list[str] = []
    _work(2, progress=lambda label, done, total: told.append(label))
    assert told == ["step 0", "step 1"]
    assert terminal.getvalue() == ""


def test_a_comparison_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    ta.compare(sentences(50, 1), sentences(60, 2), metrics=["length"], explain=False)
    assert "length of generated" in terminal.getvalue()
