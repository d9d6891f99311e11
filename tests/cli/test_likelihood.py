"""The command ``likelihood``: its numbers, and the file that ``compare`` takes."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.number_files import read_side_columns
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.mark.parametrize("name", ["ngram", "lstm", "chars"])
def test_numbers(folder: Path, models: Path, run: Run, name: str) -> None:
    found = json.loads(run("likelihood", models / name, "real.txt", "--json").stdout)["texts"]["real.txt"]
    lines = (folder / "real.txt").read_text().splitlines()
    saved = load_model(models / name)
    corpus = saved.form.corpus(lines)
    total = -saved.model.log_prob(corpus).sum()
    assert found["n_sentences"] == 300
    assert found["nll_per_sentence"]["value"] == pytest.approx(total / 300)
    assert found["perplexity"]["value"] == pytest.approx(math.exp(total / (len(corpus.tokens) + 300)))
    assert found["bits_per_token"]["value"] == pytest.approx(math.log2(found["perplexity"]["value"]))
    characters = sum(map(len, lines)) + 300
    assert found["bits_per_character"]["value"] == pytest.approx(total / math.log(2) / characters)
    for quantity in ("perplexity", "bits_per_token", "bits_per_character", "nll_per_sentence"):
        assert found[quantity]["low"] < found[quantity]["value"] < found[quantity]["high"]


def test_the_validation_perplexity_of_training_is_found_again(models: Path, run: Run) -> None:
    trained = json.loads((models / "lstm" / "history.json").read_text())["valid_perplexity"]
    found = json.loads(run("likelihood", models / "lstm", models / "valid.txt", "--json").stdout)["texts"]
    assert next(iter(found.values()))["perplexity"]["value"] == pytest.approx(trained, rel=1e-5)


def test_table(folder: Path, models: Path, run: Run) -> None:
    done = run("likelihood", models / "ngram", "real.txt", "--real", "train.txt")
    told = " ".join(done.stdout.split())
    assert re.search(r"real.txt has perplexity \S+ \[\S+, \S+\] per token under ngram\(order=2\)", told)
    assert "train.txt has perplexity" in told
    for part in ("perplexity, per token", "bits per character", "0.00 % of tokens unknown", "300 sentences"):
        assert part in told
    assert "<unk>" not in told


def test_unknown_words_and_other_temperatures(folder: Path, models: Path, run: Run) -> None:
    (folder / "text.txt").write_text("zebra .\nokapi .\n")
    told = run("likelihood", models / "ngram", "text.txt").stdout
    assert "50.00 % of tokens unknown" in " ".join(told.split())
    assert "no value here compares" in " ".join(told.split())
    plain, cold = (
        json.loads(run("likelihood", models / "lstm", "real.txt", "--temperature", t, "--json").stdout)
        for t in (1, 0.7)
    )
    corpus = load_model(models / "lstm").form.corpus((folder / "real.txt").read_text().splitlines())
    expected = -load_model(models / "lstm").model.log_prob(corpus, temperature=0.7).mean()
    assert cold["texts"]["real.txt"]["nll_per_sentence"]["value"] == pytest.approx(expected)
    assert plain["temperature"] == 1


@pytest.mark.parametrize("file", ["lp.npz", "lp.npy"])
def test_what_is_written_is_what_compare_takes(folder: Path, models: Path, run: Run, file: str) -> None:
    assert run("sample", models / "ngram", "-n", 300, "--out", "drawn.txt").status == 0
    done = run("likelihood", models / "ngram", "drawn.txt", "--real", "real.txt", "--out", file)
    assert f"--log-probs drawn={file}" in done.stderr
    generated, real = read_side_columns(folder / file, n_generated=300, n_real=300)
    saved = load_model(models / "ngram")
    for side, name in ((real, "real"), (generated, "drawn")):
        corpus = saved.form.corpus((folder / f"{name}.txt").read_text().splitlines())
        assert np.array_equal(side, saved.model.log_prob(corpus))
    command = done.stderr.split("next: textassay ")[1].split()
    compared = run(*command, "--metrics", "lm-score(model=self)", "--json", "--no-explain", "--quiet")
    assert compared.status == 0, compared.stderr
    results = json.loads(compared.stdout)["results"]
    value = next(row["value"] for row in results if row["generator"] == "drawn")
    corpus = saved.form.corpus((folder / "drawn.txt").read_text().splitlines())
    assert value == pytest.approx(-generated.sum() / (len(corpus.tokens) + 300))


def test_one_sentence_has_values_without_intervals(folder: Path, models: Path, run: Run) -> None:
    (folder / "one.txt").write_text("a b .\n")
    found = json.loads(run("likelihood", models / "ngram", "one.txt", "--json").stdout)["texts"]["one.txt"]
    assert found["perplexity"]["value"] > 1
    assert found["perplexity"]["low"] is None
    assert run("likelihood", models / "ngram", "one.txt").status == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("ngram", "gone.txt"), "gone.txt"),
        (("ngram", "blank.txt"), "blank.txt is empty: all of its 2 lines are blank"),
        (("ngram", "binary.txt"), "binary"),
        (("ngram", "reserved.txt"), "sentence 2 holds the special token '<eos>'"),
        (("gpt2", "long.txt"), "sentence 2"),
        (("ngram", "real.txt", "--real", "real.txt"), "--real and the text are the same file, real.txt: give the"),
        (("ngram", "real.txt", "--real", "./real.txt"), "--real and the text are the same file, real.txt: give the"),
        (("ngram", "copy.txt", "--real", "real.txt"), "copy.txt contains the same sentences as real.txt: give the"),
        (("ngram", "-", "--real", "-"), "standard input can be read only once"),
        (("ngram", "real.txt", "--out", "lp.npz"), "a .npz file contains both sides: add --real FILE"),
        (("ngram", "real.txt", "--out", "lp.txt"), "--out must end in .npz or .npy, got lp.txt"),
        (("ngram", "real.txt", "--out", "real.txt/lp.npy"), "cannot write into real.txt"),
        (("ngram", "real.txt", "--level", "1"), "level must be between 0 and 1"),
        (("ngram", "real.txt", "--temperature", "-1"), "--temperature must be above 0, got -1"),
        (("nothing", "real.txt"), "no folder"),
    ],
)
def test_mistakes(folder: Path, models: Path, refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    (folder / "blank.txt").write_text("\n \n")
    (folder / "copy.txt").write_bytes((folder / "real.txt").read_bytes())
    (folder / "binary.txt").write_bytes(b"\x00\x01PK\x00\xff" * 99)
    (folder / "reserved.txt").write_text("a b\na <eos> b\n")
    (folder / "long.txt").write_text("a\n" + "a " * 500 + "\n")
    name, *rest = arguments
    assert line in refused("likelihood", models / name, *rest)


def test_a_command_has_no_probabilities(refused: Refused) -> None:
    assert "use a command only with 'sample'" in refused("likelihood", "command:cat", "real.txt")
