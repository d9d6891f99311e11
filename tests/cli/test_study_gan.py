"""The command ``study gan-as-lm``: what it refuses, and the whole of it on made-up text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from micro_gan import micro_scale, write_characters
from textassay_lab.papers.gan_as_lm.experiment import GAN_PAPER

NAME = ("study", "gan-as-lm")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "out"), "missing option '--data'"),
        (("--out", "out", "--data", "nowhere"), "nowhere"),
        (("--out", "out", "--data", "."), "lacks valid.txt, test.txt"),
        (("--out", "out", "--data", "real.txt", "--real", "real.txt"), "unknown option '--real'"),
        (("--data", "real.txt"), "missing option '--out'"),
        (("--out", "out", "--data", "real.txt", "--scale", "huge"), "unknown scale 'huge'"),
        (("--out", "out", "--data", "real.txt", "--seeds", "0"), "--seeds must be between 1 and 10000, got 0"),
    ],
)
def test_mistakes_are_one_line(refused: Callable[..., str], arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*NAME, *arguments)


@pytest.mark.slow
def test_the_command_computes_once_and_reports(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(GAN_PAPER.scales, "tiny", micro_scale())
    write_characters(folder / "text")
    command = (*NAME, "--data", "text", "--seeds", "1", "--out", "out", "--workers", "2")
    first = run(*command, "--json")
    assert first.status == 0, first
    document = json.loads(first.stdout)
    assert document["title"] == "Evaluating Text GANs as Language Models"
    assert document["settings"]["runs"] == 1
    second = run(*command)
    assert "0 stages computed" in second.stderr
    assert "G3, LeakGAN" in second.stdout
    assert [path.name for path in folder.glob("out/figures/*.svg")] == ["figure-2-error-against-n.svg"]
    words = {word for word in (folder / "text" / "test.txt").read_text(encoding="utf-8").split() if len(word) > 3}
    documents = "".join(path.read_text() for path in folder.glob("out/stages/*/stage.json"))
    assert not [word for word in words if f'"{word}"' in documents], "text of the corpus is in a stage"
