"""Small files of text, and the command run in this process."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from made_up import sentences, shuffled
from textassay.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit status."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder: real text, training text, and text of two generators, 300 sentences each."""
    texts = {
        "real": sentences(300, 1),
        "train": sentences(300, 2),
        "trigram": sentences(300, 3, shift=0.3),
        "lstm": shuffled(sentences(300, 4), 0),
    }
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return the function that runs ``textassay`` with the arguments it is given."""
    # However slow the machine is, no line of progress comes between.
    monkeypatch.setattr("textassay.cli.messages._SECONDS_BETWEEN_LINES", math.inf)

    def run_command(*arguments: object) -> Outcome:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Outcome(status, printed.out, printed.err)

    return run_command


@pytest.fixture
def refused(folder: Path, run: Command) -> Callable[..., str]:
    """Return the function that runs a command that must be refused, and gives the one line that says why."""

    def run_refused(*arguments: object) -> str:
        before = sorted(folder.rglob("*"))
        outcome = run(*arguments)
        assert outcome.status == 2, outcome
        assert outcome.stdout == ""
        assert sorted(folder.rglob("*")) == before, "something was written"
        line = outcome.stderr.removesuffix("\n")
        assert "\n" not in line, outcome.stderr
        assert line.startswith("textassay: error: ")
        return line.removeprefix("textassay: error: ")

    return run_refused


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ``ngram``, ``lstm``, ``chars`` and ``gpt2``, as ``textassay train`` made them."""
    root = tmp_path_factory.mktemp("models")
    for name, seed in (("train", 2), ("valid", 5)):
        text = "".join(f"{line}\n" for line in sentences(300, seed))
        (root / f"{name}.txt").write_text(text, encoding="utf-8")
    texts = ("--real", root / "train.txt", "--valid", root / "valid.txt", "--quiet", "--json", "--workers", 1)
    made = {
        "ngram": ("ngram", "--order", 2),
        "lstm": ("lstm", "--preset", "tiny"),
        "chars": ("ngram", "--tokenizer", "chars", "--order", 4),
        "gpt2": ("gpt2", "--preset", "tiny", "--epochs", 1),
    }
    for name, arguments in made.items():
        command = ["train", *arguments, *texts, "--out", root / name]
        assert main([str(argument) for argument in command]) == 0
    return root
