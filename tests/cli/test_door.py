"""What is checked at the door of every command: devices that are not there, absurd numbers, edited models."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from edited_models import model_document, write_model_document
from textassay.cli.main import make_app
from textassay.errors import InputError
from textassay_lab.cli.trained_folder import CHECKPOINT, MONITOR, SETTINGS, begun

Refused = Callable[..., str]

COMMANDS: dict[str, tuple[str, ...]] = {
    "approximate": ("gone", "real.txt"),
    "bench": ("real.txt",),
    "compare": ("--real", "real.txt", "lstm.txt"),
    "discrepancy": ("gone", "gone"),
    "explain": ("--real", "real.txt", "lstm.txt"),
    "exposure": ("gone", "--real", "real.txt"),
    "judge": ("--real", "real.txt", "lstm.txt", "trigram.txt", "--gold", "lstm>trigram"),
    "leaks": ("--train", "train.txt", "--real", "real.txt", "lstm.txt"),
    "likelihood": ("gone", "real.txt"),
    "plan": ("--margin", "0.1"),
    "sample": ("gone", "-n", "2"),
    "share": ("--real", "real.txt", "lstm.txt"),
    "stress": ("--real", "real.txt"),
    "study": ("dd-real", "--out", "out"),
    "train": ("lstm", "--real", "real.txt", "--out", "out"),
    "translate": ("gone", "real.txt"),
}


def with_option(option: str) -> list[str]:
    commands: dict[str, Any] = typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]
    return sorted(
        name
        for name, command in commands.items()
        if any(option in getattr(parameter, "opts", ()) for parameter in command.params)
    )


@pytest.mark.parametrize("command", with_option("--device"))
def test_a_device_that_is_not_there(refused: Refused, command: str) -> None:
    """Before any file or model is looked for, also where no network would run."""
    pytest.importorskip("torch")
    told = refused(command, *COMMANDS[command], "--device", "cuda:99")
    assert told.startswith("device cuda:99 is not available: PyTorch finds ")


@pytest.mark.parametrize("command", with_option("--workers"))
def test_more_threads_than_any_machine_has(refused: Refused, command: str) -> None:
    assert "workers must be between 1 and 1024, got 1000000000" in refused(
        command, *COMMANDS[command], "--workers", 1_000_000_000
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("bench", "real.txt", "--seeds", "0-999999999999"), "--seeds names 1,000,000,000,000 seeds"),
        (("study", "dd-real", "--out", "out", "--seeds", 10**12), "--seeds must be between 1 and 10000"),
        (("train", "ngram", "--real", "real.txt", "--out", "out", "--order", 10**6), "order must be between 1 and 100"),
        (("train", "lstm", "--real", "real.txt", "--out", "out", "--layers", 10**7), "layers must be between 1 and"),
        (("train", "gpt2", "--real", "real.txt", "--out", "out", "--layers", 10**7), "layers must be between 1 and"),
    ],
)
def test_numbers_that_would_never_end(refused: Refused, arguments: tuple[object, ...], expected: str) -> None:
    assert expected in refused(*arguments)


@pytest.mark.parametrize("command", ["approximate", "discrepancy", "exposure", "likelihood", "sample"])
def test_a_model_that_was_edited(refused: Refused, folder: Path, models: Path, command: str) -> None:
    for name, settings in (("ngram", {"order": 10**6}), ("lstm", {"layers": 10**7})):
        edited = Path(shutil.copytree(models / name, folder / name))
        document = model_document(edited)
        document["settings"] |= settings
        write_model_document(edited, document)
        arguments = (name, models / name) if command == "discrepancy" else (name, *COMMANDS[command][1:])
        assert f"{name} contains no usable model: {next(iter(settings))} must be" in refused(command, *arguments)


def test_a_training_that_is_refused_leaves_its_folder_as_it_was(refused: Refused, folder: Path) -> None:
    """Out of memory, once the folder was begun."""
    pytest.importorskip("torch")
    asked = ("train", "lstm", "--real", "real.txt", "--preset", "tiny", "--width", 10**12, "--quiet")
    assert "out of memory" in refused(*asked, "--out", "deep/out")
    (folder / "deep" / "out").mkdir(parents=True)
    (folder / "deep" / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "deep" / "out" / SETTINGS).write_text('{"seed": 7}', encoding="utf-8")
    assert "out of memory" in refused(*asked, "--out", "deep/out")
    assert (folder / "deep" / "out" / SETTINGS).read_text("utf-8") == '{"seed": 7}'


def test_what_a_training_began_stays_where_it_can_be_gone_on_with(tmp_path: Path) -> None:
    def fails(error: type[BaseException], *names: str) -> list[str]:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)

        def train() -> None:
            for name in names:
                (tmp_path / "out" / name).touch()
            raise error

        with pytest.raises(error), begun(tmp_path / "out", {SETTINGS: "{}"}):
            train()
        return sorted(path.name for path in tmp_path.glob("out/*"))

    assert fails(InputError) == []
    assert not (tmp_path / "out").exists()
    assert fails(InputError, MONITOR) == []
    assert fails(InputError, "other") == ["other"]
    assert fails(InputError, CHECKPOINT, MONITOR) == sorted([CHECKPOINT, MONITOR, SETTINGS])
    assert fails(KeyboardInterrupt) == [SETTINGS]
    with begun(tmp_path / "out", {SETTINGS: "{}"}):
        pass
    assert (tmp_path / "out" / SETTINGS).exists()
