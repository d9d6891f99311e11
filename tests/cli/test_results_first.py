"""Results are printed, then saved, whatever becomes of the streams, the disk and the figures."""

import contextlib
import errno
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.errors import OutputError

Run = Callable[..., Any]
Refused = Callable[..., str]
COMPARE = ("compare", "--real", "real.txt", "lstm.txt", "--metrics", "length", "--no-explain", "--quiet")
TEXTASSAY = f"'{sys.executable}' -m textassay"


def _shell(command: str) -> "subprocess.CompletedProcess[str]":
    started = ["bash", "-c", command.replace("textassay ", f"{TEXTASSAY} ", 1)]
    return subprocess.run(started, capture_output=True, text=True, check=False)


def _compare(more: str) -> "subprocess.CompletedProcess[str]":
    return _shell(f"textassay {' '.join(COMPARE)} {more}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_lose_nothing(closed: str) -> None:
    done = _compare(f"--out report {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("report/results.json").read_text(encoding="utf-8").startswith("{")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("condition", "status"), [("length>99", 0), ("length<99", 1)])
def test_a_pipe_that_closes_leaves_a_gate_its_status(condition: str, status: int) -> None:
    for form in ("", "--all", "--json") if status else ("",):
        done = _compare(f"{form} --fail-if '{condition}' --out report | true; exit ${{PIPESTATUS[0]}}")
        assert done.returncode == status, done.stderr
        assert ("--fail-if" in done.stderr) == bool(status)
    assert Path("report/report.html").exists()


@pytest.mark.parametrize("words", ["--help", "compare --help", "study list"])
def test_what_nobody_reads_on_is_no_failure_of_a_gate(words: str) -> None:
    done = _shell(f"textassay {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_printed_is_saved() -> None:
    done = _compare("--out report >/dev/full")
    assert (done.returncode, done.stderr) == (2, "textassay: error: no space left on device\n")
    assert Path("report/report.html").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", ["0", "-5", "wide"])
def test_a_width_that_shows_nothing_is_not_taken(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert "by length" in run(*COMPARE).stdout


def _full(folder: Path, *_: Any, **__: Any) -> None:
    raise OutputError(f"cannot write to {folder}: no space left on device")


def test_a_disk_that_is_full_at_the_end_loses_nothing(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from textassay.comparison import document

    write, there = document.write_report, str(folder / "report")

    def write_elsewhere(comparison: Any, out: Path, **more: Any) -> Any:
        return _full(out) if str(out) == there else write(comparison, out, **more)

    monkeypatch.setattr(document, "write_report", write_elsewhere)
    done = run(*COMPARE, "--out", there)
    assert done.status == 2
    assert "by length" in done.stdout
    told = re.search(
        r"no space left on device; the results were printed, and the files are in (\S+): move", done.stderr
    )
    assert told is not None
    assert (Path(told[1]) / "report.html").exists()
    monkeypatch.setattr(document, "write_report", lambda made, out, **more: _full(out))
    done = run(*COMPARE, "--out", there)
    assert done.stderr.endswith(
        "the results were printed, but not saved: free disk space and run the same command again\n"
    )
    assert "by length" in done.stdout


@pytest.mark.filterwarnings("default")  # or it is an error here, and a line for users
@pytest.mark.usefixtures("folder")
def test_a_disk_that_is_full_in_the_middle_loses_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("textassay.comparison.measure.np.savez", full)
    done = run(*COMPARE, "--out", "report")
    assert done.status == 0
    assert "by length" in done.stdout
    told = "No space left on device; choose another --out; the run continues, but its results are not stored there"
    assert done.stderr.count(told) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_that_a_library_swallows_is_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    def draw(*_: Any, **__: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        raise ValueError("Invalid bounding box")

    monkeypatch.setattr("textassay.comparison.document.write_report", draw)
    done = run(*COMPARE, "--out", "report")
    assert done.status == status
    assert re.fullmatch(r"textassay: (interrupted|terminated); run the same command again .*\n", done.stderr)
    assert "by length" in done.stdout


@pytest.mark.usefixtures("folder")
def test_a_fault_of_the_program_has_a_status_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("textassay.comparison.run.compare_texts", fails)
    done = run(*COMPARE, "--fail-if", "length>99")
    assert done.status == 70
    assert "ZeroDivisionError: oh; this is a bug, please report it" in done.stderr


def test_an_empty_place_is_refused(refused: Refused) -> None:
    assert refused(*COMPARE, "--out", "") == "--out is empty: give a path, or leave it out"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("fail-if:\n", "c.yaml: 'fail-if' has no value: give one, or leave the key out"),
        ("fail-if: []\n", "c.yaml: 'fail-if' has no value: give one, or leave the key out"),
        ("seed: 1\nlevel: 0.9\nseed: 2\n", "c.yaml, line 1: the YAML has the key 'seed' 2 times"),
    ],
)
def test_a_config_drops_nothing(folder: Path, refused: Refused, config: str, message: str) -> None:
    (folder / "c.yaml").write_text(config, encoding="utf-8")
    assert refused(*COMPARE, "--config", "c.yaml") == message
