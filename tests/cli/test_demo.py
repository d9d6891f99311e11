"""The demo: what it writes and says, and that it hands on to the comparison."""

from inspect import signature
from pathlib import Path

import pytest

from textassay.cli import demo
from textassay.cli.compare import CompareOptions
from textassay.cli.demo import DemoOptions, demo_texts, run_demo
from textassay.cli.main import _demo_command
from textassay.errors import InputError, OptionError

SENTENCES = [
    f"{verb} the {noun} of number {number} ."
    for number in range(40)
    for verb, noun in (("Return", "value"), ("Read", "line"), ("Close", "file"), ("Raise", "error"))
]
NAMES = ["unigram", "trigram", "5-gram", "shuffled", "copier"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[CompareOptions]:
    """Return what the comparison is asked for, which is not run."""
    options: list[CompareOptions] = []

    def record(given: CompareOptions) -> int:
        options.append(given)
        return 0

    monkeypatch.setattr(demo, "docstring_sentences", lambda: SENTENCES)
    monkeypatch.setattr(demo, "run_compare", record)
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


def test_files_command_and_comparison(
    asked: list[CompareOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "report"
    assert run_demo(DemoOptions(out=out, seed=3)) == 0
    texts = demo_texts(SENTENCES, seed=3)
    assert sorted(path.name for path in (out / "texts").iterdir()) == sorted(f"{name}.txt" for name in texts)
    for name, sentences in texts.items():
        assert (out / "texts" / f"{name}.txt").read_text("utf-8").split("\n") == [*sentences, ""]
    (options,) = asked
    files = {name: str(out / "texts" / f"{name}.txt") for name in texts}
    assert (options.real, options.train) == (files.pop("real"), files.pop("train"))
    assert (options.generators, options.out, options.seed) == (files, out, 3)
    printed = capsys.readouterr()
    assert printed.out == ""
    command = next(line for line in printed.err.splitlines() if line.startswith("  textassay compare"))
    assert command.split() == [
        *["textassay", "compare", "--real", options.real, "--train", options.train],
        *[f"{name}={file}" for name, file in files.items()],
        *["--out", str(out), "--seed", "3"],
    ]


def test_quiet_and_refusals(asked: list[CompareOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_demo(DemoOptions(out=tmp_path, quiet=True)) == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(OptionError, match="--seed must be at least 0, got -1"):
        run_demo(DemoOptions(out=tmp_path, seed=-1))
    with pytest.raises(OptionError, match="--sentences must be at least 100, got 99"):
        run_demo(DemoOptions(out=tmp_path, sentences=99))


def test_a_folder_of_another_seed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"seed": 4}')
    with pytest.raises(InputError, match="seed 4, now 0"):
        run_demo(DemoOptions(out=tmp_path, quiet=True))
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_the_option_reaches_the_texts(asked: list[CompareOptions], tmp_path: Path) -> None:
    assert signature(_demo_command).parameters["sentences"].default == DemoOptions().sentences
    assert run_demo(DemoOptions(out=tmp_path, sentences=100, quiet=True)) == 0
    assert len(Path(asked[0].real).read_text("utf-8").splitlines()) == 80  # all there are
    more = [f"{text} again ." for text in SENTENCES] + SENTENCES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "docstring_sentences", lambda: more)
        assert run_demo(DemoOptions(out=tmp_path, sentences=100, quiet=True)) == 0
    for file in (asked[1].real, *asked[1].generators.values()):
        assert len(Path(file).read_text("utf-8").splitlines()) == 100
