"""Errors become a line and a status, in one place."""

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.cli import main as main_module
from textassay.cli.main import all_commands
from textassay.cli.messages import report_error
from textassay.errors import OptionError
from textassay_lab.cli.commands import HUMAN, MODELS, STUDY

COMMAND = [sys.executable, "-m", "textassay"]


def _raise(error: BaseException) -> Callable[[list[str]], int]:
    def run(_: list[str]) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (OptionError("order must be at least 1,\ngot 0"), 2, "error: order must be at least 1, got 0"),
        (KeyboardInterrupt(), 130, "interrupted; run the same command again (with --out it resumes where it stopped)"),
        (OSError(28, "No space left on device"), 2, "error: no space left on device"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "error: x.csv: permission denied"),
        (MemoryError("Unable to allocate 9 GiB"), 1, "error: out of memory (Unable to allocate 9 GiB); use fewer"),
        (RuntimeError("CUDA out of memory.\nMore"), 1, "error: out of memory (CUDA out of memory.); use fewer"),
        (ZeroDivisionError("by zero"), 70, "error: ZeroDivisionError: by zero; this is a bug, please report it"),
    ],
)
def test_an_error_is_one_line(
    error: BaseException,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(main_module, "_run", _raise(error))
    handler = signal.getsignal(signal.SIGINT)
    try:
        assert main_module.main([]) == status
    finally:
        signal.signal(signal.SIGINT, handler)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"textassay: {line}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_module, "_run", _raise(ZeroDivisionError("by zero")))
    if how == "environment":
        monkeypatch.setenv("TEXTASSAY_DEBUG", "1")
    assert main_module.main(["--debug"] if how == "option" else []) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_warning_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(_: list[str]) -> int:
        warnings.simplefilter("always")
        warnings.warn("no sentence has 4 tokens", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(main_module, "_run", run)
    assert main_module.main([]) == 0
    assert capsys.readouterr().err == "textassay: warning: no sentence has 4 tokens\n"


def test_help_and_version_answer_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["compare", "--help"]):
        assert main_module.main(arguments) == 0
        assert "compare" in capsys.readouterr().out
    assert main_module.main(["version"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("textassay ")
    assert main_module.main(["--version"]) == 0
    assert capsys.readouterr().out == said


def test_the_list_of_commands_has_their_own_help() -> None:
    import typer

    listed, whole = (typer.main.get_command(main_module.make_app(listed=listed)) for listed in (True, False))
    assert {name: command.help for name, command in listed.commands.items()} == {  # type: ignore[attr-defined]
        name: command.help
        for name, command in whole.commands.items()  # type: ignore[attr-defined]
    }


def test_every_option_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    group: Any = typer.main.get_command(main_module.make_app())
    page = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    for command in group.commands.values():
        assert f"`textassay {command.name}`" in page
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"
            if command.name == "compare" and parameter.name not in ("generators", "help"):
                assert f"| `{parameter.opts[0]}" in page


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_closed_pipe_is_quiet() -> None:
    done = subprocess.run(
        f"{sys.executable} -m textassay compare --help | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "textassay: error: no space left on device\n"


def _heed_interrupts() -> None:
    """Undo what a shell does to commands in the background: their children ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupted_comparison_resumes(folder: Path, run: Callable[..., Any]) -> None:
    command = ["compare", "--real", "real.txt", "lstm.txt", "--metrics", "length,dd", "--out", "report", "--quiet"]
    process = subprocess.Popen(
        [*COMMAND, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,
    )
    estimates = folder / "report" / "estimates"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not list(estimates.glob("*.npz")):
        time.sleep(0.005)
    assert process.poll() is None, "it was done before it could be interrupted"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert said.startswith("textassay: interrupted; run the same command again")
    assert said.count("\n") == 1
    assert not (folder / "report" / "report.html").exists()
    others = [path for path in (folder / "report").rglob("*") if path.is_file() and path.parent != estimates]
    assert others == []
    assert {path.suffix for path in estimates.iterdir()} <= {".npz", ".json"}  # estimates and explanations, no drafts
    kept = {path: path.stat().st_mtime_ns for path in estimates.glob("*.npz")}
    assert kept
    resumed = run(*command)
    assert resumed.status == 0
    assert (folder / "report" / "report.html").exists()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "it computed again what it had kept"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_is_one_line_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, status: int, word: str
) -> None:
    def stopped(_: list[str]) -> int:
        signal.raise_signal(number)
        return 0

    monkeypatch.setattr(main_module, "_run", stopped)
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert main_module.main([]) == status
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert (
        capsys.readouterr().err
        == f"textassay: {word}; run the same command again (with --out it resumes where it stopped)\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_disk_that_fills_up_is_one_line_and_leaves_no_half_report(folder: Path) -> None:
    """Once while estimates are written, once while the report is."""
    code = (
        "import resource, sys; import textassay.cli.compare; from textassay.cli.main import main\n"
        "sys.dont_write_bytecode = True\n"  # Python keeps half a module where the disk is full, and fails on it later
        "for limit in (2_000, 20_000):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 20_000))\n"
        "    command = ['compare', '--real', 'real.txt', 'lstm.txt', '--metrics', 'length,distinct-n', '--quiet']\n"
        "    assert main([*command, '--out', f'out/{limit}']) == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert done.stdout.count("lstm scores") == 2
    told = done.stderr.splitlines()
    assert told[0].startswith("textassay: warning: cannot write to out/2000/estimates: ")
    assert all(line.endswith("not saved: free disk space and run the same command again") for line in told[1:])
    assert len(told) == 3
    left = [path for path in (folder / "out").rglob("*") if path.is_file()]
    assert {path.suffix for path in left} <= {".npz", ".json"}, "only whole estimates and explanations may stay"


def test_an_interruption_that_compiled_code_wrapped_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KeyboardInterrupt()
    before = signal.getsignal(signal.SIGINT)
    try:
        assert report_error(wrapped) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err.startswith("textassay: interrupted")
    assert report_error(SystemError("another")) == 70


HEAVY = {"matplotlib", "pandas", "scipy.stats", "sklearn", "statsmodels", "torch"}
NOT_FOR_HELP = {"jinja2", "joblib", "numpy", "pydantic", "scipy", "yaml", *HEAVY}


def _modules_of(*arguments: str, status: int = 0) -> set[str]:
    """Return the modules that a command has loaded when it is done."""
    code = (
        "import sys; from textassay.cli.main import main\n"
        f"status = main({list(arguments)!r})\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == status, done
    return set(done.stderr.split())


@pytest.mark.usefixtures("folder")
def test_a_metric_that_counts_loads_no_library_that_others_need() -> None:
    loaded = _modules_of(
        "compare", "--real", "real.txt", "lstm.txt", "--metrics", "self-bleu(order=5)", "--json", "--quiet"
    )
    assert "textassay.corpus.kernels" in loaded
    assert not loaded & {*HEAVY, "jinja2", "joblib", "pydantic", "rich", "scipy.sparse"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        (0, ("--help",)),
        (0, ("compare", "--help")),
        (2, ("compare", "--rael", "real.txt", "lstm.txt")),
        (2, ("compare", "--real", "gone.txt", "lstm.txt")),
        (2, ("compare", "--real", "real.txt", "lstm.txt", "--folds", "0")),
        (2, ("train", "lstm", "--rael", "real.txt", "--out", "model")),
        (2, ("train", "lstm", "--real", "gone.txt", "--out", "model")),
        (2, ("train", "translation", "--real", "real.txt", "--source", "gone.txt", "--out", "model")),
    ],
)
def test_help_and_mistakes_do_not_wait_for_libraries(status: int, arguments: tuple[str, ...]) -> None:
    assert not _modules_of(*arguments, status=status) & (NOT_FOR_HELP - {"pydantic"})


def test_help_of_every_command_loads_what_shows_it_and_no_more() -> None:
    names = [name for commands in all_commands().values() for name in commands]
    inner = {"human": HUMAN.commands, "study": STUDY.commands, "train": MODELS}
    asked = [(), *((name,) for name in names), *((group, name) for group in inner for name in inner[group])]
    code = (
        "import contextlib, io, sys; from textassay.cli.main import main\n"
        f"for words in {asked!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
        "        assert main([*words, '--help']) == 0\n"
        "    assert ' '.join(words) in shown.getvalue()\n"
        f"    heavy = sys.modules.keys() & {NOT_FOR_HELP!r}\n"
        "    assert not heavy, (words, heavy)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("words", "answer"), [("textassay comp", "compare"), ("textassay compare --met", "--metrics")])
def test_the_shell_completes_commands_and_options(words: str, answer: str) -> None:
    asked = {"_TEXTASSAY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=True, env={**os.environ, **asked})
    assert done.stdout.split() == [answer]


def test_completion_is_installed_by_options_that_help_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_module.main(["--help"]) == 0
    assert "completion" not in capsys.readouterr().out
    asked = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*COMMAND, "--show-completion", "bash"], capture_output=True, text=True, check=True, env={**os.environ, **asked}
    )
    assert "_TEXTASSAY_COMPLETE" in done.stdout
