"""The demo: what it writes and says, and that it hands on to the comparison."""

from pathlib import Path

import pytest

from textassay.cli.compare import Compare
from textassay.cli.demo import Demo, demo_texts
from textassay.cli.main import main
from textassay.errors import InputError

SENTENCES = [
    f"{verb} the {noun} of number {number} ."
    for number in range(40)
    for verb, noun in (("Return", "value"), ("Read", "line"), ("Close", "file"), ("Raise", "error"))
]
NAMES = ["unigram", "trigram", "5-gram", "shuffled", "copier"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Compare]:
    """Return what the comparison is asked for, which is not run."""
    options: list[Compare] = []

    def record(given: Compare) -> int:
        options.append(given)
        return 0

    monkeypatch.setattr("textassay.corpus.docstrings.docstring_sentences", lambda: SENTENCES)
    monkeypatch.setattr(Compare, "run", record)
    return options


def test_texts_are_two_halves_and_as_many_generated() -> None:
    texts = demo_texts(SENTENCES, seed=0)
    assert list(texts) == ["train", "real", *NAMES]
    assert sorted(texts["train"] + texts["real"]) == sorted(SENTENCES)
    assert {name: len(sentences) for name, sentences in texts.items()} == dict.fromkeys(texts, 80)
    assert len(set(texts["copier"])) <= 50
    assert set(texts["copier"]) <= set(texts["train"])
    assert {tuple(sorted(text.split())) for text in texts["shuffled"]} <= {
        tuple(sorted(text.split())) for text in texts["train"]
    }
    assert demo_texts(SENTENCES, seed=0) == texts
    assert demo_texts(SENTENCES, seed=1)["train"] != texts["train"]


def test_fewer_real_sentences_and_as_few_generated_from_the_same_training_text() -> None:
    every, few = demo_texts(SENTENCES, seed=0), demo_texts(SENTENCES, seed=0, n=30)
    assert few["train"] == every["train"]
    assert [text for text in every["real"] if text in set(few["real"])] == few["real"]
    assert {name: len(few[name]) for name in ("real", *NAMES)} == dict.fromkeys(("real", *NAMES), 30)
    assert demo_texts(SENTENCES, seed=0, n=1000) == every


def test_files_command_and_comparison(asked: list[Compare], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "report"
    assert Demo(out=out, seed=3).run() == 0
    texts = demo_texts(SENTENCES, seed=3)
    assert sorted(path.name for path in (out / "texts").iterdir()) == sorted(f"{name}.txt" for name in texts)
    for name, sentences in texts.items():
        assert (out / "texts" / f"{name}.txt").read_text("utf-8").split("\n") == [*sentences, ""]
    (options,) = asked
    files = {name: str(out / "texts" / f"{name}.txt") for name in texts}
    assert (options.real, options.train) == (files.pop("real"), files.pop("train"))
    generators = [f"{name}={file}" for name, file in files.items()]
    assert (options.generators, options.out, options.seed) == (generators, out, 3)
    printed = capsys.readouterr()
    assert printed.out == ""
    command = next(line for line in printed.err.splitlines() if line.startswith("  textassay compare"))
    assert command.split() == [
        *["textassay", "compare", "--real", options.real, "--train", options.train],
        *generators,
        *["--out", str(out), "--seed", "3"],
    ]


def test_quiet_and_refusals(asked: list[Compare], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Demo(out=tmp_path, quiet=True).run() == 0
    assert capsys.readouterr().err == ""
    for option, value, allowed in (("--seed", "-1", "at least 0"), ("--sentences", "99", "at least 100")):
        assert main(["demo", "--out", str(tmp_path), option, value]) == 2
        assert capsys.readouterr().err == f"textassay: error: {option} must be {allowed}, got {value}\n"


def test_a_folder_of_another_seed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"seed": 4}')
    with pytest.raises(InputError, match="seed 4, now 0"):
        Demo(out=tmp_path, quiet=True).run()
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_the_option_reaches_the_texts(asked: list[Compare], tmp_path: Path) -> None:
    assert Demo(out=tmp_path, sentences=100, quiet=True).run() == 0
    assert len(Path(asked[0].real).read_text("utf-8").splitlines()) == 80  # all there are
    more = [f"{text} again ." for text in SENTENCES] + SENTENCES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textassay.corpus.docstrings.docstring_sentences", lambda: more)
        assert Demo(out=tmp_path, sentences=100, quiet=True).run() == 0
    for file in (asked[1].real, *(one.partition("=")[2] for one in asked[1].generators or ())):
        assert len(Path(file).read_text("utf-8").splitlines()) == 100
