"""The command ``sample``: sentences alone on standard output, the same for the same seed, whole files or none."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edited_models import model_document, write_model_document
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.mark.parametrize("name", ["ngram", "lstm", "chars"])
def test_sentences_alone_on_standard_output(models: Path, run: Run, name: str) -> None:
    done = run("sample", models / name, "-n", 20)
    assert (done.status, done.stderr) == (0, "")
    saved = load_model(models / name)
    assert done.stdout == "".join(f"{text}\n" for text in saved.model.sample(20, seed=0).texts)
    assert len(done.stdout.splitlines()) == 20


@pytest.mark.parametrize("name", ["ngram", "lstm"])
def test_a_seed_gives_the_same_sentences_whatever_the_workers(models: Path, run: Run, name: str) -> None:
    first = run("sample", models / name, "-n", 600, "--seed", 3, "--workers", 1).stdout
    assert run("sample", models / name, "-n", 600, "--seed", 3, "--workers", 2).stdout == first
    assert run("sample", models / name, "-n", 600, "--seed", 4).stdout != first
    assert run("sample", models / name, "-n", 10, "--seed", 3).stdout == "".join(first.splitlines(keepends=True)[:10])


def test_greedy_draws_one_sentence(models: Path, run: Run) -> None:
    greedy = run("sample", models / "lstm", "-n", 10, "--top-k", 1).stdout.splitlines()
    assert len(set(greedy)) == 1
    assert run("sample", models / "lstm", "-n", 2, "--top-p", 1e-9).stdout.splitlines() == greedy[:2]
    assert run("sample", models / "lstm", "-n", 2, "--temperature", 1e-3).stdout.splitlines() == greedy[:2]


def test_files_are_whole(folder: Path, models: Path, run: Run) -> None:
    told = run("sample", models / "ngram", "-n", 30)
    for file in ("new/out.txt", "new/out.jsonl"):
        done = run("sample", models / "ngram", "-n", 30, "--out", file)
        assert done.stdout == ""
        assert f"wrote 30 sentences to {file}" in done.stderr
    lines = (folder / "new" / "out.jsonl").read_text().splitlines()
    assert (folder / "new" / "out.txt").read_text() == told.stdout
    assert [json.loads(line)["text"] for line in lines] == told.stdout.splitlines()
    assert not list((folder / "new").glob(".*"))


def test_prefixes(folder: Path, models: Path, run: Run) -> None:
    vocabulary = load_model(models / "ngram").form.vocabulary.tokens
    first, second = vocabulary[4], vocabulary[5]
    done = run("sample", models / "ngram", "-n", 5, "--prefix", f"{first} {second}")
    assert all(line.startswith(f"{first} {second}") for line in done.stdout.splitlines())
    (folder / "prefixes.txt").write_text(f"{first}\n{second}\n")
    done = run("sample", models / "lstm", "--prefixes", "prefixes.txt")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [first, second]
    done = run("sample", models / "lstm", "-n", 1, "--prefix", f"zebra {first}")
    assert "reads these words of the prefix as <unk>: zebra" in done.stderr
    assert done.stdout.startswith(f"<unk> {first}")


def test_sentences_with_line_breaks_become_json_lines(folder: Path, run: Run, refused: Refused) -> None:
    (folder / "text.jsonl").write_text('{"text": "a\\nb"}\n' * 40)
    made = run("train", "ngram", "--tokenizer", "chars", "--real", "text.jsonl", "--out", "model", "--quiet")
    assert made.status == 0
    message = refused("sample", "model", "-n", 9)
    assert "of 9 sentences contain line breaks" in message
    assert "use --out FILE.jsonl to keep the line breaks" in message
    assert run("sample", "model", "-n", 9, "--out", "out.jsonl").status == 0
    drawn = (folder / "out.jsonl").read_text()
    assert len(drawn.splitlines()) == 9
    for out, instead in (("drawn.txt", "drawn.jsonl"), ("out.txt", "out-2.jsonl")):
        done = run("sample", "model", "-n", 9, "--out", out, "--quiet")
        assert (done.status, done.stdout) == (0, "")
        assert f"all 9 are in {instead} instead of {out}" in done.stderr
        assert done.stderr.count("\n") == 1
        assert (folder / instead).read_text() == drawn
        assert not (folder / out).exists()
    assert (folder / "out.jsonl").read_text() == drawn, "a file that was there stays"


def test_the_output_of_a_command(folder: Path, run: Run, refused: Refused) -> None:
    command = f"{sys.executable} -c \"print('seed', {{seed}}, sep=' ', end=chr(10) * 1); print('b')\""
    done = run("sample", f"command:{command}", "-n", 2, "--seed", 7)
    assert done.stdout == "seed 7\nb\n"
    assert "printed 2 of 3 sentences" in refused("sample", f"command:{command}", "-n", 3)
    assert "it ended with status 3" in refused("sample", "command:exit 3", "-n", 1)
    assert "a command controls its own sampling" in refused("sample", f"command:{command}", "-n", 2, "--top-k", 2)
    assert "command of an external generator is empty" in refused("sample", "command:", "-n", 1)


def test_everything_can_stand_in_a_config_file(folder: Path, models: Path, run: Run) -> None:
    (folder / "sample.yaml").write_text("sentences: 3\nseed: 5\ntemperature: 0.5\n")
    done = run("sample", models / "ngram", "--config", "sample.yaml")
    assert done.stdout == run("sample", models / "ngram", "-n", 3, "--seed", 5, "--temperature", 0.5).stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("ngram",), "the number of sentences is missing: add -n N"),
        (("ngram", "-n", "0"), "--sentences must be at least 1, got 0"),
        (("ngram", "-n", "x"), "invalid value for '-n'"),
        (("ngram", "-n", "1", "--temperature", "0"), "--temperature must be above 0, got 0"),
        (("ngram", "-n", "1", "--temperature", "nan"), "--temperature must be above 0, got nan"),
        (("lstm", "-n", "1", "--top-p", "0"), "--top-p must be above 0 and at most 1, got 0"),
        (("lstm", "-n", "1", "--top-p", "1.5"), "--top-p must be above 0 and at most 1, got 1.5"),
        (("lstm", "-n", "1", "--top-k", "0"), "--top-k must be at least 1, got 0"),
        (("lstm", "-n", "1", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("lstm", "-n", "1", "--precision", "int8"), "--precision must be float32 or bfloat16, got 'int8'"),
        (("ngram", "-n", "1", "--precision", "bfloat16"), "leave --precision out"),
        (("ngram", "-n", "1", "--top-k", "3"), "ngram(order=2) takes no top_k"),
        (("ngram", "-n", "1", "--out", "out.csv"), "--out must end in .txt or .jsonl, got out.csv"),
        (("ngram", "-n", "1", "--prefix", "a", "--prefixes", "b"), "--prefix and --prefixes cannot be combined"),
        (("ngram", "-n", "1", "--prefixes", "gone.txt"), "gone.txt"),
        (("ngram", "-n", "2", "--prefixes", "real.txt"), "real.txt has 300 lines: give 1, or as many as -n, 2"),
        (("lstm", "-n", "1", "--device", "tpu"), "device must be auto, cpu, cuda"),
        (("nothing", "-n", "1"), "no folder"),
        (("train.txt", "-n", "1"), "is a file: name the folder"),
        ((".", "-n", "1"), "it has no config.json"),
    ],
)
def test_mistakes(models: Path, refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    name, *rest = arguments
    assert line in refused("sample", models / name, *rest)


def test_a_folder_that_cannot_be_written_into(models: Path, refused: Refused) -> None:
    assert "cannot write into real.txt" in refused("sample", models / "ngram", "-n", 1, "--out", "real.txt/out.txt")


def _broken(models: Path, folder: Path, name: str = "lstm") -> Path:
    copy = folder / "broken"
    copy.mkdir()
    for file in ("config.json", "model.safetensors"):
        (copy / file).write_bytes((models / name / file).read_bytes())
    return copy


def _change(folder: Path, key: str, value: Any) -> None:
    document = model_document(folder)
    document[key] = value(document[key]) if callable(value) else value
    write_model_document(folder, document)


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99), "truncated or damaged"),
        (lambda folder: (folder / "model.safetensors").unlink(), "No such file"),
        (lambda folder: (folder / "config.json").write_text('{"format"'), "truncated or damaged"),
        (lambda folder: (folder / "config.json").write_bytes(b"\x00\xff" * 50), "truncated or damaged"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "does not describe a model of textassay"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (lambda folder: _change(folder, "format", 99), "of another version of textassay: train it again"),
        (lambda folder: _change(folder, "kind", "gru"), "unknown generator 'gru'"),
        (lambda folder: _change(folder, "vocabulary", "0" * 32), "vocabulary"),
        (lambda folder: _change(folder, "form", lambda form: {**form, "tokens": form["tokens"][1:]}), "hash"),
        (lambda folder: _change(folder, "settings", lambda settings: {**settings, "width": 64}), "must have shape"),
        (lambda folder: _change(folder, "settings", lambda settings: {**settings, "wdth": 64}), "unknown setting"),
    ],
)
def test_a_model_that_is_damaged(
    models: Path, folder: Path, refused: Refused, damage: Callable[[Path], object], line: str
) -> None:
    broken = _broken(models, folder)
    damage(broken)
    for command in (("sample", broken, "-n", 1), ("likelihood", broken, "real.txt"),
                    ("discrepancy", models / "ngram", broken)):  # fmt: skip
        assert line in refused(*command)
