"""Metrics that take a drawn part of large texts."""

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError
from textassay.metric.base import Shared, declare_metric
from textassay.metric.catalog import CATALOG, drawn_where_large, parse_metric, parse_metrics
from textassay.metric.precision_recall import precision
from textassay.seeding import stream

DRAW = [
    *("precision", "coverage", "mmd", "fed", "mauve", "lm-score", "compression-ratio"),
    *("rouge", "bleu-nearest", "cider"),
]
RANDOM = np.random.default_rng(0)
REAL = [" ".join(RANDOM.choice(list("abcdefgh"), 6)) for _ in range(300)]
GENERATED = [" ".join(RANDOM.choice(list("abcdefgh"), 5)) for _ in range(200)]


def drawn(texts: list[str], side: str, n: int, seed: int) -> list[str]:
    return [texts[place] for place in np.sort(stream(seed, "texts", side).permutation(len(texts))[:n])]


@pytest.mark.parametrize("name", DRAW)
def test_the_value_is_that_of_the_drawn_texts(name: str) -> None:
    corpora = corpora_from_texts({"generated": GENERATED, "real": REAL})
    sample = corpora_from_texts({"generated": drawn(GENERATED, "generated", 50, 3), "real": drawn(REAL, "real", 50, 3)})
    found = parse_metric(f"{name}(texts=50)").estimate(corpora["generated"], corpora["real"], seed=3)
    expected = parse_metric(name).estimate(sample["generated"], sample["real"], seed=3)
    assert found.value == expected.value
    assert found.interval == expected.interval
    assert found.sizes["n_generated"] == found.sizes["n_real"] == 50
    assert "texts=50" in found.metric
    assert "texts=50" in str(found.signature)


def test_no_more_texts_than_there_are() -> None:
    whole, same = (precision(GENERATED, REAL, texts=texts) for texts in (None, 1000))
    assert same.value == whole.value
    assert same.sizes == whole.sizes


def test_another_seed_draws_other_texts() -> None:
    assert len({ta.fed(GENERATED, REAL, texts=50, seed=seed).value for seed in range(3)}) == 3


def test_nothing_of_a_drawn_part_is_kept_longer_than_its_text() -> None:
    corpora = corpora_from_texts({"generated": GENERATED, "real": REAL})
    shared = Shared()
    with shared.used():
        parse_metric("precision(texts=50)").estimate(corpora["generated"], corpora["real"])
    assert len(shared._entries) > 3
    shared.forget(corpora["generated"])
    shared.forget(corpora["real"])
    assert shared._entries == {}


def test_a_comparison_of_large_texts_says_what_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    @declare_metric("mean-words", most=100)
    def mean_words(generated: Corpus, real: Corpus) -> float:
        return float(generated.lengths.mean())

    monkeypatch.setattr("textassay.comparison.run.default_metrics", lambda available, **_: ["mean-words"])
    comparison = ta.compare({"model": GENERATED}, REAL, explain=False)
    assert comparison.metrics == ("mean-words(texts=100)",)
    [row] = [each for each in comparison.results if each.generator == "model"]
    assert row.estimate is not None
    assert row.estimate.sizes["n_generated"] == 100
    named = ta.compare({"model": GENERATED}, REAL, metrics=["mean-words"], explain=False)
    assert named.metrics == ("mean-words",)


def test_which_metrics_can() -> None:
    names = {name for name in CATALOG if "texts" in CATALOG[name].parameters}
    quick = {"bleu", "self-bleu", "length", "vocabulary", "distinct-n", "zipf", "dd"}
    assert {*DRAW, "recall", "density", "meteor", "reverse-lm-score"} <= names
    assert not quick & names


@pytest.mark.parametrize("spelling", ["precision(texts=1)", "precision(texts=many)", "length(texts=3)"])
def test_what_cannot_be(spelling: str) -> None:
    with pytest.raises(OptionError, match="texts"):
        parse_metric(spelling)


def test_default_metrics_that_would_take_too_long_say_how_many_they_take() -> None:
    metrics = parse_metrics(["dd", "precision", "mauve", "rouge", "recall(texts=70)"])
    assert drawn_where_large(metrics, 120_000) == metrics
    names = [metric.name for metric in drawn_where_large(metrics, 120_001)]
    assert names == ["dd", "precision(texts=120000)", "mauve(texts=120000)", "rouge(kind=l)", "recall(texts=70)"]
