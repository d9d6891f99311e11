"""Progress: now and then a line where there is no terminal, a bar where there is one, nothing when quiet."""

import time

import pytest

from textassay.cli import messages
from textassay.cli.messages import show_progress


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(quiet=True) as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_lines_are_sparse(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr("textassay.cli.messages.time.monotonic", lambda: clock)
    with show_progress(quiet=False) as progress:
        assert progress is not None
        for done in range(1, 101):
            clock += 0.25
            progress("dd of lstm", done, 100)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "textassay: 40 of 100 done, dd of lstm",
        "textassay: 80 of 100 done, dd of lstm",
    ]


def test_a_long_run_tells_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr("textassay.cli.messages.time.monotonic", lambda: clock)
    with show_progress(quiet=False) as progress:
        assert progress is not None
        for done in range(4):
            progress("adversarial, round 1", done, 40)
            clock += 11
        progress("epoch 1 of 2: loss 1.2, 3 min 0 s left at most", 4, 40)
    assert capsys.readouterr().err.splitlines() == [
        "textassay: 1 of 40 done, adversarial, round 1, about 7 min 9 s left",
        "textassay: 2 of 40 done, adversarial, round 1, about 6 min 58 s left",
        "textassay: 3 of 40 done, adversarial, round 1, about 6 min 47 s left",
        "textassay: 4 of 40 done, epoch 1 of 2: loss 1.2, 3 min 0 s left at most",
    ]


def test_a_long_step_is_not_silent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_SECONDS_OF_SILENCE", 0.2)
    monkeypatch.setattr(messages, "_SECONDS_BETWEEN_LOOKS", 0.01)
    with show_progress(quiet=False) as progress:
        assert progress is not None
        progress("dd of lstm", 0, 12)
        time.sleep(0.5)
    before = capsys.readouterr().err.splitlines()
    assert 1 <= len(before) <= 3
    assert set(before) == {"textassay: 0 of 12 done, dd of lstm"}
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with show_progress(quiet=False) as progress:
        assert progress is not None
        progress("dd of lstm", 3, 4)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "3/4" in printed.err
