"""The command ``exposure``: tables, files, what is kept, and mistakes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences

Run = Callable[..., Any]
Refused = Callable[..., str]

FEW = ("--samples", 60, "--runs", 2, "--quiet")


@pytest.fixture(scope="session")
def oracle(models: Path) -> Path:
    """Return the folder of an oracle with the vocabulary of ``ngram``, in the folder of models."""
    from textassay.cli.main import main

    text = "".join(f"{line}\n" for line in sentences(300, 6))
    (models / "of-oracle.txt").write_text(text, encoding="utf-8")
    command = ("train", "ngram", "--order", 3, "--like", models / "ngram", "--real", models / "of-oracle.txt",
               "--valid", models / "valid.txt", "--out", models / "oracle", "--quiet", "--json")  # fmt: skip
    assert main([str(part) for part in command]) == 0
    return models / "oracle"


def test_without_an_oracle(folder: Path, models: Path, run: Run) -> None:
    done = run("exposure", models / "ngram", "--real", "real.txt", *FEW, "--lengths", "2,4")
    assert done.status == 0
    told = " ".join(done.stdout.split())
    assert "Model ngram(order=2)" in told
    assert "EB-bleu 2 runs of 60 continuations against 60 references." in told
    assert "C-bleu(shuffled)" in told
    assert "EB-C" not in told
    assert "In brackets: the prefix." in told
    assert "Rule: there is exposure bias if the 95 % interval of the ratio" in told
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["ngram", "lstm", "chars", "gpt2"])
def test_every_model_and_its_own_default_lengths(folder: Path, models: Path, run: Run, name: str) -> None:
    done = run("exposure", models / name, "--real", "real.txt", *FEW, "--prefixes", "model,random", "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["text"]["n_left"][str(found["text"]["sentence_length"])] >= 150
    assert set(found["eb_bleu"]) == {"model", "random"}
    assert all(value > 0 for value in found["eb_bleu"]["model"]["values"])
    assert found["eb_bleu"]["model"]["n_sentences"] == 60
    assert found["eb_c"] == {}
    again = json.loads(
        run(
            "exposure", models / name, "--real", "real.txt", *FEW, "--prefixes", "model", "--json", "--workers", 1
        ).stdout
    )
    assert again["eb_bleu"]["model"] == found["eb_bleu"]["model"]


def test_with_an_oracle_all_files(folder: Path, models: Path, oracle: Path, run: Run) -> None:
    arguments = ("exposure", models / "ngram", "--real", "real.txt", "--oracle", oracle, *FEW, "--lengths", "1,3")
    kinds = "data,model,corrupted:0.5"
    done = run(*arguments, "--prefixes", kinds, "--out", "out")
    assert done.status == 0, done.stderr
    told = " ".join(done.stdout.split())
    for part in ("EB-C by total variation (tv)", "CGD(corrupted:0.5)", "Excess accumulated error",
                 "Perplexity of the text", "EB-C against ngram(order=3): 2 runs of 60 sequences"):  # fmt: skip
        assert part in told
    found = json.loads((folder / "out" / "exposure.json").read_text())
    rate = found["eb_c"]["js"]["model"]
    cgd = found["cgd"]["js"]
    for ratios, above, below in zip(rate["runs"], cgd["model"]["runs"], cgd["data"]["runs"], strict=True):
        assert ratios == pytest.approx([top / bottom for top, bottom in zip(above, below, strict=True)])
    with (folder / "out" / "exposure.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["measure"] for row in rows} == {
        "C-bleu",
        "EB-bleu",
        "CGD",
        "EB-C",
        "excess error",
        "perplexity of the model",
        "perplexity of the oracle",
    }
    row = next(
        r for r in rows if (r["measure"], r["prefixes"], r["distance"], r["length"]) == ("EB-C", "model", "js", "3")
    )
    assert float(row["value"]) == rate["values"][1]
    assert float(row["low"]) == rate["intervals"][1]["low"]
    markdown = (folder / "out" / "exposure.md").read_text()
    figures = sorted(path.name for path in (folder / "out" / "figures").iterdir())
    assert figures == ["cgd-greedy.svg", "cgd-js.svg", "cgd-tv.svg", "eb-bleu.svg", "eb-c.svg", "excess-error.svg"]
    assert all(f"(figures/{name})" in markdown for name in figures)
    assert "| length | C-bleu(data) | C-bleu(model) | EB-bleu | 95 % |" in markdown
    assert r"\[" in markdown.split("Texts after prefixes")[1]


def test_what_is_kept_is_not_measured_again(
    folder: Path, models: Path, oracle: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["exposure", models / "ngram", "--real", "real.txt", "--oracle", oracle, *FEW]
    arguments += ["--lengths", "2", "--json", "--out", "out"]
    first = run(*arguments)
    n_kept = len(list((folder / "out" / "values").iterdir()))
    assert n_kept == 2 * 2 * 3

    def never(*args: Any, **settings: Any) -> None:
        raise AssertionError("measured again")

    with monkeypatch.context() as patched:
        for name in ("measure_bleu_run", "measure_run"):
            patched.setattr(f"textassay_lab.exposure.exposure_bias.{name}", never)
        assert run(*arguments).stdout == first.stdout
        damaged = next((folder / "out" / "values").iterdir())
        damaged.write_text("{")
        assert run(*arguments).status == 70
    assert run(*arguments).stdout == first.stdout
    (folder / "real.txt").write_text("".join(f"{line}\n" for line in sentences(300, 9)))
    other = json.loads(run(*arguments).stdout)
    assert other["eb_bleu"] != json.loads(first.stdout)["eb_bleu"]
    assert other["eb_c"] == json.loads(first.stdout)["eb_c"]  # both sides are drawn by models
    assert len(list((folder / "out" / "values").iterdir())) == n_kept + 6


def test_blocks_of_running_text(folder: Path, models: Path, run: Run) -> None:
    done = run("exposure", models / "ngram", "--real", "real.txt", *FEW, "--blocks", "--json")
    found = json.loads(done.stdout)
    n_tokens = sum(len(line.split()) for line in (folder / "real.txt").read_text().splitlines())
    assert found["text"]["lengths"] == [5, 10, 15, 20, 25, 30]
    assert found["text"]["n_sentences"] == n_tokens // 50


def test_a_model_against_itself(folder: Path, models: Path, run: Run) -> None:
    done = run("exposure", models / "ngram", "--real", "real.txt", "--oracle", models / "ngram", *FEW)
    assert done.status == 0
    assert "EB-C is undefined" in done.stdout
    assert "n/a" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("ngram", "--real", "gone.txt"), "gone.txt"),
        (("ngram", "--real", "blank.txt"), "blank.txt is empty: all of its 2 lines are blank"),
        (("ngram", "--real", "binary.txt"), "binary"),
        (("ngram", "--real", "reserved.txt"), "sentence 2 holds the special token '<eos>'"),
        (("ngram", "--real", "foreign.txt"), "all tokens of foreign.txt are unknown to"),
        (("ngram", "--real", "one.txt"), "one.txt is one sentence, of 4 tokens: at least 2 are needed"),
        (("nothing", "--real", "real.txt"), "no folder"),
        (("ngram", "--real", "seen.txt"), "seen.txt is what"),
        (("ngram", "--real", "more.txt"), "the first 300 of 301 sentences of more.txt are what"),
        (("ngram", "--real", "real.txt", "--lengths", "90"), "0 of 300 sentences are long enough for prefixes of 90"),
        (("ngram", "--real", "real.txt", "--lengths", "6", "--sentence-length", "7"), "leave 1 after a prefix of 6"),
        (("ngram", "--real", "real.txt", "--lengths", "2,x"), "cannot read --lengths '2,x': write whole numbers"),
        (("ngram", "--real", "real.txt", "--lengths", "0"), "at least 1 token, got 0"),
        (("ngram", "--real", "real.txt", "--prefixes", "data"), "has no kind to compare prefixes of the data with"),
        (("ngram", "--real", "real.txt", "--prefixes", "modle"), "did you mean model?"),
        (("ngram", "--real", "real.txt", "--prefixes", "corrupted:2"), "the corruption rate must be in [0, 1], got 2"),
        (("ngram", "--real", "real.txt", "--distances", "tvd"), "unknown distance 'tvd': did you mean tv?"),
        (("ngram", "--real", "real.txt", "--ends", "cut"), "unknown treatment of ends 'cut'"),
        (("ngram", "--real", "real.txt", "--samples", "0"), "--samples must be at least 1, got 0"),
        (("ngram", "--real", "real.txt", "--runs", "0"), "--runs must be at least 1, got 0"),
        (("ngram", "--real", "real.txt", "--level", "1"), "level must be between 0 and 1"),
        (("ngram", "--real", "real.txt", "--blocks", "--sentence-length", "9999"), "no block of 9999"),
        (("ngram", "--real", "real.txt", "--oracle", "CHARS"), "have different vocabularies, of"),
        (("ngram", "--real", "real.txt", "--precision", "bfloat16"), "leave --precision out"),
        (("gpt2", "--real", "long.txt", "--sentence-length", "400"), "reads at most"),
        (("ngram", "--real", "real.txt", "--out", "real.txt"), "cannot write into real.txt"),
    ],
)
def test_mistakes(folder: Path, models: Path, refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    (folder / "blank.txt").write_text("\n \n")
    (folder / "binary.txt").write_bytes(b"\x00\x01PK\x00\xff" * 99)
    (folder / "foreign.txt").write_text("Ein Haus am See\nZwei Hunde und ein Baum\n" * 9)
    (folder / "one.txt").write_text(" ".join(sentences(1, 1)[0].split()[:4]) + "\n")
    (folder / "reserved.txt").write_text("a b\na <eos> b\n")
    (folder / "long.txt").write_text(f"{' '.join(sentences(150, 8))}\n" * 2)
    seen = (models / "train.txt").read_text()
    (folder / "seen.txt").write_text(seen)
    (folder / "more.txt").write_text(seen + "a b c .\n")
    name, *rest = arguments
    given = [str(models / "chars") if part == "CHARS" else part for part in rest]
    assert line in refused("exposure", models / name, *given, "--quiet")


@pytest.mark.filterwarnings("default:.*decided when the training")
def test_text_that_chose_when_training_stopped_is_said(folder: Path, models: Path, run: Run) -> None:
    arguments = (
        "--samples",
        40,
        "--runs",
        1,
        "--lengths",
        2,
        "--show",
        0,
        "--quiet",
    )  # warnings are shown all the same
    done = run("exposure", models / "lstm", "--real", models / "valid.txt", *arguments)
    assert done.status == 0
    assert "decided when the training of" in done.stderr


@pytest.mark.feature("EB-32")
def test_a_translation_model_is_refused(folder: Path, models: Path, run: Run, refused: Refused) -> None:
    lines = (folder / "real.txt").read_text().splitlines()[:40]
    (folder / "source.txt").write_text("".join(f"{line[::-1]}\n" for line in lines))
    (folder / "target.txt").write_text("".join(f"{line}\n" for line in lines))
    arguments = ["train", "translation", "--preset", "tiny", "--epochs", 1, "--byte-pairs", 300, "--quiet"]
    trained = run(*arguments, "--source", "source.txt", "--real", "target.txt", "--out", "translator")
    assert trained.status == 0, trained.stderr
    told = refused("exposure", "translator", "--real", "real.txt")
    assert "EB-bleu is not defined for" in told
    assert "textassay translate --prefix-mode" in told
