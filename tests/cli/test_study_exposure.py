"""The command ``study exposure-bias``: what it refuses, and one text alone."""

import json
from pathlib import Path

import pytest

from made_up import sentences
from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER, TEXTS
from textassay_lab.papers.paper import Contest, Network

NAME = ("study", "exposure-bias")


@pytest.fixture(autouse=True)
def texts(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Write reviews, and make the tiny scale smaller."""
    small = Network("tiny", {"max_epochs": 1, "width": 8})
    micro = EXPOSURE_PAPER.scales["tiny"].but(
        lstm=small, lstm_32=small, n_random=40, n_sequences=20,
        n_damaged=10, n_compared=10, n_fresh=20, rankgan=Contest("tiny", {}, {"rounds": 1, "pretraining_rounds": 0}),
        runs=2, bleu_runs=2, n_bleu=dict.fromkeys(TEXTS, 20), precision="float32",
    )  # fmt: skip
    monkeypatch.setitem(EXPOSURE_PAPER.scales, "tiny", micro)
    words = " ".join(sentences(300, 1)).split()
    (folder / "data" / "yelp").mkdir(parents=True)
    lines = [" ".join(words[12 * k : 12 * (k + 1)]) for k in range(120)]
    (folder / "data" / "yelp" / "train.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "missing option '--data'"),
        (("--data", "nowhere"), "no folder nowhere: --data names one that holds wikitext2"),
        (("--data", "data/yelp"), "data/yelp has none of the folders wikitext2, emnlp_news, yelp, multi30k"),
        (("--data", "data", "--real", "x.txt"), "unknown option '--real'"),
        (("--data", "data", "--judgements", "x.csv"), "unknown option '--judgements'"),
        (("--data", "data", "--only", "ebc"), "unknown stage 'ebc'"),
        (("--data", "data", "--scale", "huge"), "unknown scale 'huge'"),
        (("--data", "data", "--seeds", "0"), "--seeds must be between 1 and 10000, got 0"),
    ],
)
def test_mistakes_are_one_line(run, options: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    outcome = run(*NAME, "--out", "out", "--quiet", *options)
    assert outcome.status == 2
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""


def test_the_folder_of_texts_is_of_this_study_alone(run) -> None:  # type: ignore[no-untyped-def]
    outcome = run("study", "dd-real", "--data", "data", "--out", "out")
    assert outcome.status == 2
    assert "unknown option '--data'" in outcome.stderr


@pytest.mark.slow
def test_what_is_there_is_measured_and_the_rest_is_said(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    first = run(*NAME, "--data", "data", "--out", "out", "--json")
    assert first.status == 0, first
    assert "data has no folder wikitext2, emnlp_news, multi30k: results that need it are left out" in first.stderr
    document = json.loads(first.stdout)
    verdicts = {one["id"]: one["verdict"] for one in document["findings"] if one["about"].startswith("ours")}
    assert verdicts["B11"] == "holds"
    assert verdicts["B7"] == verdicts["B8"] == verdicts["D4"] == "not measured"
    assert verdicts["B8, RankGAN"] != "not measured"
    assert any("wikitext2 was not found: results that need it" in note for note in document["notes"])
    assert (folder / "out" / "study.md").stat().st_size > 0
    again = run(*NAME, "--data", "data", "--out", "out", "--json")
    assert "0 stages computed" in again.stderr
    assert json.loads(again.stdout) == document
