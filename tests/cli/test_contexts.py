"""The commands ``train`` and ``sample`` for generators that answer to contexts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay_lab.generator.catalog import LANGUAGE_MODELS, class_of
from textassay_lab.generator.conditional import Conditional
from textassay_lab.generator.conditional_model import ContextModel
from textassay_lab.generator.contexts import read_contexts, with_contexts
from textassay_lab.generator.saved import load_model

Run = Callable[..., Any]
CONTEXTUAL = ("att2seq", "c2s", "gc2s")
Refused = Callable[..., str]

pytest.importorskip("torch")


@pytest.fixture
def reviews(folder: Path) -> Path:
    """Return a folder with 400 reviews that say what their context says, and the contexts."""
    rng = np.random.default_rng(0)
    moods = rng.integers(2, size=400)
    words = np.array([["bad", "awful"], ["good", "lovely"]])
    lines = [" ".join(words[mood, rng.integers(2, size=rng.geometric(0.3))]) for mood in moods]
    (folder / "reviews.txt").write_text("".join(f"{line}\n" for line in lines))
    (folder / "reviews.tsv").write_text("mood\tplace\n" + "".join(f"{'-+'[mood]}\there\n" for mood in moods))
    return folder


def asked(model: str, *more: object) -> tuple[object, ...]:
    named = ("--real", "reviews.txt", "--contexts", "reviews.tsv", "--out", "out")
    return ("train", model, "--preset", "tiny", "--workers", 1, *named, *more)


def test_all_that_answer_to_contexts_can_be_trained() -> None:
    conditional = [name for name in LANGUAGE_MODELS if issubclass(class_of(name), Conditional)]
    assert sorted(conditional) == sorted(CONTEXTUAL)


@pytest.mark.feature("JJ-05", "JJ-06", "JJ-07")
@pytest.mark.parametrize("model", CONTEXTUAL)
def test_trained_from_the_command_line_it_says_what_it_is_asked(reviews: Path, run: Run, model: str) -> None:
    done = run(*asked(model, "--epochs", 8))
    assert done.status == 0
    assert f"{model}(width=32, contexts=mood+place)" in " ".join(done.stdout.split())
    assert "fully trained: nothing was changed" in run(*asked(model, "--epochs", 8)).stderr
    (reviews / "asked.tsv").write_text("place\tmood\nhere\t+\n")
    sample = run("sample", "out", "-n", 50, "--contexts", "asked.tsv")
    words = sample.stdout.split()
    assert len(sample.stdout.splitlines()) == 50
    assert np.mean([word in ("good", "lovely") for word in words]) > 0.9
    (reviews / "asked.tsv").write_text("mood\tplace\n-\there\n" * 1 + "-\tnobody knows\n" * 4)
    assert len(run("sample", "out", "--contexts", "asked.tsv").stdout.splitlines()) == 5
    assert len(run("sample", "out", "-n", 3).stdout.splitlines()) == 3


def test_contexts_stay_with_their_sentences(reviews: Path, run: Run) -> None:
    lines = (reviews / "reviews.txt").read_text().splitlines()
    assert run(*asked("c2s", "--max-tokens", 3, "--fraction", 0.5, "--epochs", 1)).status == 0
    record = json.loads((reviews / "out" / "config.json").read_text())["textassay"]["training"]
    first = [line for line in lines[:180] if len(line.split()) <= 3]
    positive = sum(line.split()[0] in ("good", "lovely") for line in first)
    assert sorted(record["contexts"]["counts"]) == sorted((positive, len(first) - positive))


def test_other_contexts_are_another_training(reviews: Path, run: Run, refused: Refused) -> None:
    assert run(*asked("c2s", "--epochs", 1)).status == 0
    table = (reviews / "reviews.tsv").read_text()
    (reviews / "reviews.tsv").write_text(table.replace("\there", "\tthere"))
    assert "other contexts" in refused(*asked("c2s", "--epochs", 1, "--quiet"))


def test_rare_contexts_are_one(reviews: Path, run: Run) -> None:
    lines = (reviews / "reviews.tsv").read_text().splitlines()
    (reviews / "reviews.tsv").write_text("\n".join([*lines[:5], "?\there", *lines[6:]]) + "\n")
    assert run(*asked("c2s", "--epochs", 1, "--context-count", 2)).status == 0
    assert len(load_model(reviews / "out").model.attributes["mood"]) == 3  # type: ignore[attr-defined]


def test_what_contexts_cannot_teach_is_said(reviews: Path, run: Run) -> None:
    lines = (reviews / "reviews.tsv").read_text().splitlines()
    (reviews / "reviews.tsv").write_text("\n".join([*lines[:-1], "new\there"]) + "\n")  # among those held out
    told = run(*asked("c2s", "--epochs", 1)).stderr
    assert "context 'mood': 2 categories; others occur with 0 of 360 training sentences, and with 1 of 40 valid" in told
    assert "no 'mood' of the training text is rare, so new values cannot be learnt: use --context-count 2" in told
    assert "all training sentences have the same 'place', which is not informative" in told
    (reviews / "asked.tsv").write_text("mood\tplace\n+\there\n?\there\n!\there\n?\there\n")
    told = run("sample", "out", "--contexts", "asked.tsv").stderr
    assert "does not know the 'mood' of 3 of 4 ('?', '!'): the model was not trained on unknown contexts" in told
    assert "'place'" not in told
    (reviews / "reviews.tsv").write_text("\n".join([*lines[:5], "?\there", *lines[6:]]) + "\n")
    told = run(*asked("c2s", "--epochs", 1, "--context-count", 2, "--out", "rare")).stderr
    assert "with 1 of 360 training sentences, and with 0 of 40" in told
    assert "is rare" not in told
    told = run("sample", "rare", "--contexts", "asked.tsv").stderr
    assert "of 3 of 4 ('?', '!'): they count as the rare ones of training" in told


def test_what_does_not_fit_is_refused(reviews: Path, run: Run, refused: Refused) -> None:
    assert "missing option '--contexts'" in refused("train", "c2s", "--real", "reviews.txt", "--out", "o")
    assert "unknown option '--contexts'" in refused(*asked("lstm"))
    assert "--valid and --valid-contexts are needed together" in refused(*asked("c2s", "--valid", "real.txt"))
    assert "unknown option '--window'" in refused(*asked("c2s", "--window", 5))
    assert "--context-count must be at least 1" in refused(*asked("c2s", "--context-count", 0))
    table = (reviews / "reviews.tsv").read_text()
    (reviews / "reviews.tsv").write_text(table + "+\there\n")
    assert "contexts of 401 sentences below its first line, but there are 400" in refused(*asked("c2s", "--quiet"))
    (reviews / "reviews.tsv").write_text(table)
    assert run(*asked("c2s", "--epochs", 1)).status == 0
    assert "has 400 contexts: give 1, or as many as -n" in refused(
        "sample", "out", "-n", 3, "--contexts", "reviews.tsv"
    )
    assert run("train", "ngram", "--real", "reviews.txt", "--out", "n").status == 0
    assert "takes no contexts" in refused("sample", "n", "-n", 3, "--contexts", "reviews.tsv")


def test_likelihood_is_that_beside_the_contexts(reviews: Path, run: Run, refused: Refused) -> None:
    assert run(*asked("c2s", "--epochs", 3)).status == 0
    lines = (reviews / "reviews.txt").read_text().splitlines()
    table = (reviews / "reviews.tsv").read_text().splitlines()
    swapped = [line.translate(str.maketrans("+-", "-+")) for line in table]
    (reviews / "some.txt").write_text("\n".join(lines[:30]))
    (reviews / "some.tsv").write_text("\n".join(table[:31]))
    (reviews / "other.tsv").write_text("\n".join(swapped[:31]))
    scored = ("likelihood", "out", "some.txt")
    told = run(*scored, "--contexts", "some.tsv", "--out", "some.npy", "--json")
    assert told.status == 0, told.stderr
    saved = load_model(reviews / "out")
    assert isinstance(saved.model, ContextModel)
    corpus = with_contexts(saved.form.corpus(lines[:30]), read_contexts(reviews / "some.tsv"), saved.model.attributes)
    assert np.load(reviews / "some.npy") == pytest.approx(saved.model.log_prob(corpus))
    costs = [json.loads(told.stdout)["texts"]["some.txt"]["nll_per_token"]["value"]]
    both = ("--contexts", "other.tsv", "--real", "reviews.txt", "--real-contexts", "reviews.tsv", "--json")
    texts = json.loads(run(*scored, *both).stdout)["texts"]
    costs += [texts[name]["nll_per_token"]["value"] for name in ("some.txt", "reviews.txt")]
    assert costs[1] > costs[0] + 0.5, "the wrong mood costs nothing"
    assert costs[2] == pytest.approx(costs[0], abs=0.2)
    assert "needs a context for every sentence: add --contexts, a table of mood, place" in refused(*scored)
    real = ("--contexts", "some.tsv", "--real", "reviews.txt")
    assert "add --real-contexts, a table of mood, place" in refused(*scored, *real)
    assert "--real-contexts needs --real FILE" in refused(*scored, *real[:2], "--real-contexts", "some.tsv")
    assert "contexts of 400 sentences below its first line, but there are 30" in refused(
        *scored, "--contexts", "reviews.tsv"
    )
    (reviews / "mood.tsv").write_text("mood\n" + "+\n" * 30)
    assert "the contexts lack 'place': they have mood" in refused(*scored, "--contexts", "mood.tsv")
    assert "exposure bias is defined for models of free text, such as lstm" in refused(
        "exposure", "out", "--real", "reviews.txt"
    )
    assert run("train", "ngram", "--real", "reviews.txt", "--out", "n").status == 0
    assert "takes no contexts: leave --contexts out" in refused("likelihood", "n", "some.txt", "--contexts", "some.tsv")


def test_a_table_is_made_of_reviews_and_their_labels(folder: Path, run: Run, refused: Refused) -> None:
    (folder / "told.txt").write_text("the food was good .\nnever again ! 10 minutes of my life\n. . .\n")
    (folder / "labels.txt").write_text("1\n0\n0\n")
    made = "sentiment\tlength\tword\n1\tto 6\tfood\n0\tlonger\tminutes\n0\tto 6\tnone\n"
    command = ("contexts", "told.txt", "--labels", "labels.txt")
    done = run(*command, "--bounds", "6,7")
    assert (done.stdout, done.stderr) == (made, "")
    written = run(*command, "--bounds", "6,7", "--out", "told.tsv")
    assert "wrote 3 contexts to told.tsv" in written.stderr
    assert (folder / "told.tsv").read_text() == made
    rows = ['{"review": "good food", "stars": "5"}', '{"review": "bad", "stars": "1"}']
    (folder / "told.jsonl").write_text("\n".join(rows))
    columns = ("--column", "review", "--label-column", "stars")
    assert run("contexts", "told.jsonl", "--labels", "told.jsonl", *columns).stdout.splitlines() == [
        "sentiment\tlength\tword", "5\tto 6\tgood", "1\tto 6\tbad",
    ]  # fmt: skip
    for bounds in ("9,6", "0,3", "a", ""):
        assert f"rising whole numbers from at least 1, such as 6,9,12, got '{bounds}'" in refused(
            *command, "--bounds", bounds
        )
    (folder / "labels.txt").write_text("1\n0\n")
    assert "labels.txt has 2 labels, but told.txt has 3 sentences" in refused(*command)
    (folder / "labels.txt").write_text("1\n0\na\tb\n")
    assert run(*command, "--out", "told.tsv").status == 0
    assert read_contexts(folder / "told.tsv")["sentiment"] == ["1", "0", "a\tb"]
    assert "standard input can be read only once" in refused("contexts", "-", "--labels", "-")
    assert "no file gone.txt" in refused("contexts", "told.txt", "--labels", "gone.txt")
