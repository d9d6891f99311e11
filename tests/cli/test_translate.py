"""The commands ``train translation`` and ``translate``: what they make, say and refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.text_form import TextForm

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

Run = Callable[..., Any]
Refused = Callable[..., str]

WORDS = ["rot", "haus", "baum", "hund", "katze", "geht", "steht", "alt"]
TRAIN = ("train", "translation", "--preset", "tiny", "--source", "a.de", "--real", "a.en", "--workers", 1)
VALID = ("--valid-source", "b.de", "--valid", "b.en")


@pytest.fixture
def pairs(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    for name, n in (("a", 120), ("b", 30)):
        lines = [rng.choice(WORDS, size=rng.integers(4, 8)).tolist() for _ in range(n)]
        (folder / f"{name}.de").write_text("".join(f"{' '.join(words)}\n" for words in lines))
        turned = ["".join(f"{word.upper()} " for word in words[::-1]).strip() for words in lines]
        (folder / f"{name}.en").write_text("".join(f"{text}\n" for text in turned))
    return folder


@pytest.fixture
def trained(pairs: Path, run: Run) -> Path:
    assert run(*TRAIN, *VALID, "--byte-pairs", 300, "--hold-back", 20, "--epochs", 2, "--out", "out").status == 0
    return pairs


@pytest.mark.feature("EB-36")
def test_pairs_are_held_back_and_kept_beside_the_model(pairs: Path, run: Run) -> None:
    done = run(*TRAIN, *VALID, "--byte-pairs", 300, "--hold-back", 20, "--epochs", 1, "--out", "out")
    assert done.status == 0
    told = " ".join(done.stdout.split())
    for part in ("translation(width=32, layers=1+1)", "100 sentences", "304 types", "Validated with: 30", "kept"):
        assert part.replace(":", "") in told.replace(":", "")
    assert "20 of 120 pairs are held back" in done.stderr
    held = [
        [json.loads(line)["text"] for line in (pairs / "out" / f"held-back-{side}.jsonl").read_text().splitlines()]
        for side in ("source", "real")
    ]
    every = list(zip(*((pairs / f"a.{side}").read_text().splitlines() for side in ("de", "en")), strict=True))
    out = list(zip(*held, strict=True))
    assert len(out) == 20
    assert all(pair in every for pair in out)
    document = json.loads((pairs / "out" / "config.json").read_text())["textassay"]
    trained = document["training"]["train"]
    assert trained["sentences"] == 100
    form = TextForm.from_dict(document["form"])
    others = [real for source, real in every if (source, real) not in out]
    assert trained["fingerprint"] == form.corpus(others).fingerprint, "what is held back is not trained on"
    translated = run("translate", "out", "out/held-back-source.jsonl", "--real", "out/held-back-real.jsonl")
    assert (translated.status, len(translated.stdout.splitlines())) == (0, 20)


def test_again_changes_nothing_and_other_settings_are_refused(trained: Path, run: Run, refused: Refused) -> None:
    again = (*TRAIN, *VALID, "--byte-pairs", 300, "--hold-back", 20, "--out", "out")
    assert "fully trained: nothing was changed" in run(*again, "--epochs", 2).stderr
    assert "started with other settings (epochs 2, now 3)" in refused(*again, "--epochs", 3, "--quiet")


def test_translations_are_lines_and_are_scored(trained: Path, run: Run) -> None:
    done = run("translate", "out", "b.de", "--real", "b.en", "--beam", 3, "--workers", 1)
    assert (done.status, len(done.stdout.splitlines())) == (0, 30)
    assert "BLEU " in done.stderr
    assert "case:lc|tok:13a" in done.stderr
    written = run("translate", "out", "b.de", "--beam", 3, "--out", "b.txt", "--workers", 1)
    assert (trained / "b.txt").read_text() == done.stdout
    assert written.stdout == ""
    document = json.loads(run("translate", "out", "b.de", "--real", "b.en", "--beam", 3, "--json").stdout)
    assert [row["translation"] for row in document["translations"]] == done.stdout.splitlines()
    assert 0 <= document["bleu"]["value"] <= 1
    some = run("translate", "out", "a.de", "-n", 2)
    assert len(some.stdout.splitlines()) == 2


@pytest.mark.feature("EB-31")
def test_forced_beginnings_stand_side_by_side_and_are_not_scored(trained: Path, run: Run) -> None:
    asked = ("translate", "out", "b.de", "--real", "b.en", "-n", 4, "--beam", 2)
    done = run(*asked, "--prefix-mode", "normal,data3,unrel3,rand3")
    assert done.status == 0
    for mode in ("NORMAL", "DATA3", "UNREL3", "RAND3"):
        assert done.stdout.count(mode) == (6 if mode != "NORMAL" else 5)  # once or twice in the notes
    assert "In brackets: what was forced. DATA3, UNREL3, RAND3 are not scored" in " ".join(done.stdout.split())
    document = json.loads(run(*asked, "--prefix-mode", "data3,unrel3,rand3", "--json").stdout)
    assert document["bleu"] is None
    assert "not scored" in document["note"]
    for row in document["translations"]:
        assert row["source"] in (trained / "b.de").read_text().splitlines()[:4], "the source is as it was"
        assert row["translation"].startswith(row["forced"])
        assert f"[{row['forced']}]" in done.stdout or row["mode"] == "rand3"
        assert row["reference"].startswith(row["forced"]) == (row["mode"] == "data3")
    plain = run(*asked, "--prefix-mode", "data3", "--out", "c.txt")
    assert "BLEU" not in plain.stderr


def test_a_translation_model_is_refused_where_there_is_no_source(trained: Path, refused: Refused) -> None:
    for command in (("sample", "out", "-n", 3), ("likelihood", "out", "b.en")):
        assert "needs a source for each text: set context or source, or use 'translate'" in refused(*command)


def test_bad_input(trained: Path, run: Run, refused: Refused) -> None:
    (trained / "short.en").write_text("A B\n")
    out = ("--out", "other")
    assert "missing option '--source'" in refused("train", "translation", "--real", "a.en", *out)
    asked = ("train", "translation", "--source", "a.de", "--real")
    assert "a.de and short.en must say the same, but they have 120 and 1 texts" in refused(*asked, "short.en", *out)
    assert "contain the same texts" in refused(*asked, "a.de", *out)
    assert "unknown option '--max-tokens'" in refused(*asked, "a.en", "--max-tokens", 9, *out)
    assert "--valid and --valid-source are needed together" in refused(*asked, "a.en", "--valid", "b.en", *out)
    assert "of 120 pairs, 119 cannot be held out" in refused(*asked, "a.en", "--hold-back", 119, *out)
    assert "unknown option '--source'" in refused("train", "ngram", "--real", "a.en", "--source", "a.de", *out)
    assert not (trained / "other").exists()
    assert "unknown prefix mode 'data4'" in refused("translate", "out", "b.de", "--prefix-mode", "data4")
    assert "needs --real FILE" in refused("translate", "out", "b.de", "--prefix-mode", "rand3")
    assert "they have 1 and 30 lines" in refused("translate", "out", "b.de", "--real", "short.en")
    assert "--beam must be at least 1, got 0" in refused("translate", "out", "b.de", "--beam", 0)
    assert run("train", "ngram", "--real", "a.en", "--valid", "b.en", "--out", "counted").status == 0
    assert "is no translation model: give a folder written by 'train translation'" in refused(
        "translate", "counted", "b.de"
    )
