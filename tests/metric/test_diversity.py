"""Distinct-n by hand; its jackknife against computing everything anew without each group."""

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError
from textassay.metric.catalog import parse_metric
from textassay.metric.diversity import distinct_n
from textassay.resampling.jackknife import assign_groups
from textassay.seeding import stream

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=7).map(" ".join), min_size=1, max_size=8)


def _corpora(texts: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": texts, "real": ["r s"]})
    return corpora["generated"], corpora["real"]


def _by_hand(texts: list[str], order: int) -> float:
    ngrams = [
        tuple(text.split()[start : start + order]) for text in texts for start in range(len(text.split()) - order + 1)
    ]
    return len(set(ngrams)) / len(ngrams) if ngrams else math.nan


def test_hand_worked_case() -> None:
    generated, real = _corpora(["a b a b", "a b", "c"])
    estimate = distinct_n(generated, real, order=2)
    assert estimate.value == 2 / 4
    assert estimate.details == {"n_distinct": 2, "n_ngrams": 4}
    assert distinct_n(generated, real, order=1).value == 3 / 7
    assert distinct_n(generated, real, order=4).value == 1.0


@given(texts=TEXTS.filter(lambda texts: any(len(text.split()) >= 2 for text in texts)), seed=st.integers(0, 3))
def test_values_are_those_by_hand_in_any_order(texts: list[str], seed: int) -> None:
    generated, real = _corpora(texts)
    shuffled = generated.take(np.random.default_rng(seed).permutation(len(texts)))
    for order in (1, 2):
        value = distinct_n(generated, real, order=order).value
        assert value == _by_hand(texts, order)
        assert 0 < value <= 1
        assert distinct_n(shuffled, real, order=order).value == value


def test_repeating_a_corpus_halves_it() -> None:
    texts = ["a b c", "d e f"]
    once, twice = (distinct_n(*_corpora(texts * times), order=2).value for times in (1, 2))
    assert (once, twice) == (1.0, 0.5)


def test_jackknife_is_the_value_without_each_group() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(0, 15, size=rng.integers(0, 6)))) for _ in range(200)]
    generated, real = _corpora(texts)
    groups = assign_groups(len(texts), stream(0, "groups", "generated"))
    for order in (1, 2, 3):
        estimate = distinct_n(generated, real, order=order)
        assert estimate.evidence is not None
        assert estimate.evidence.real_terms is None
        assert estimate.evidence.generated_terms is not None
        without = [
            _by_hand([text for text, own in zip(texts, groups, strict=True) if own != group], order)
            for group in range(50)
        ]
        pseudo = 50 * estimate.value - 49 * np.array(without)
        terms = estimate.evidence.generated_terms
        np.testing.assert_allclose(terms - terms.mean(), pseudo - pseudo.mean(), atol=1e-9)


def test_intervals_cover_what_the_sample_size_expects() -> None:
    rng = np.random.default_rng(5)
    weights = 1 / np.arange(1, 201)
    words = np.array([f"w{number}" for number in range(200)])
    estimates = [
        distinct_n(*_corpora([" ".join(row) for row in rng.choice(words, size=(200, 6), p=weights / weights.sum())]))
        for _ in range(100)
    ]
    values = np.array([estimate.value for estimate in estimates])
    intervals = [estimate.interval for estimate in estimates if estimate.interval is not None]
    assert len(intervals) == 100
    # wide rather than narrow: see the notes of `distinct_n`
    assert np.mean([interval.low <= values.mean() <= interval.high for interval in intervals]) >= 0.93
    half_width = np.mean([interval.high - interval.low for interval in intervals]) / 2
    assert 0.95 < half_width / (2 * values.std(ddof=1)) < 1.6


def test_undefined_is_nan_with_a_warning() -> None:
    generated, real = _corpora(["a b", ""])
    with pytest.warns(RuntimeWarning, match="distinct-n\\(order=3\\) is undefined: no generated sentence has 3 tokens"):
        estimate = distinct_n(generated, real, order=3)
    assert math.isnan(estimate.value)
    assert estimate.interval is None
    assert estimate.evidence is None


def test_what_an_estimate_says() -> None:
    generated, real = _corpora(["a b", "c"])
    estimate = distinct_n(generated, real, order=1, seed=4)
    assert estimate.metric == "distinct-n(order=1)"
    assert parse_metric("distinct-n").name == "distinct-n(order=2)"
    assert (estimate.better, estimate.unit) == ("closer", "fraction")
    assert estimate.sizes == {"n_generated": 2, "n_real": 1, "n_ngrams": 3}
    assert str(estimate.signature).startswith("metric:distinct-n(order=1)|per:n-gram|groups:2|tok:whitespace|n:2+1|")


def test_small_and_wrong_input() -> None:
    one, real = _corpora(["a b c"])
    assert distinct_n(one, real).interval is None
    with pytest.raises(EmptyCorpusError, match="the generated corpus has no text"):
        distinct_n(one.take(np.array([], dtype=np.int64)), real)
    with pytest.raises(OptionError, match="order must be at least 1, got 0"):
        distinct_n(one, real, order=0)


# Distinct n-grams, n = 1, 2, 3, of the reviews that people judged: 150 a generator, 1,800 real ones.
JUDGED_REVIEWS = {
    "WordRNN10": (0.2231, 0.7136, 0.9264),
    "WordRNN07": (0.1296, 0.4467, 0.7049),
    "WordRNN05": (0.0990, 0.3140, 0.5168),
    "GoogleLM": (0.2373, 0.6763, 0.8838),
    "AttentionAC": (0.1151, 0.4625, 0.7270),
    "NoAttentionAC": (0.0124, 0.0332, 0.0667),
    "SkipConnectionsAC": (0.0991, 0.3039, 0.5083),
    "MLESeqGAN": (0.2719, 0.7905, 0.9705),
    "SS": (0.2440, 0.7555, 0.9606),
    "SeqGAN": (0.2418, 0.7497, 0.9461),
    "RankGAN": (0.2303, 0.7643, 0.9654),
    "LeakGAN": (0.3576, 0.8105, 0.9424),
    "Real": (0.0814, 0.4835, 0.8141),
}


@pytest.mark.feature("JJ-34")
def test_lexical_diversity_of_the_judged_reviews(data_dir: Path) -> None:
    """White-space tokens, n-grams inside a review, repeated reviews included; attention checks left out."""
    reviews: dict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    with (data_dir / "amt_reviews" / "batch_results.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for item in range(21):
                if item != int(row["Input.gotcha_locs"]):
                    maker = row[f"Input.review_{item}_student_model"]
                    reviews[maker][row["HITId"], item] = row[f"Input.review_{item}_text"]
    assert {maker: len(texts) for maker, texts in reviews.items()} == {
        maker: 1800 if maker == "Real" else 150 for maker in JUDGED_REVIEWS
    }
    corpora = corpora_from_texts({maker: list(texts.values()) for maker, texts in reviews.items()})
    for maker, expected in JUDGED_REVIEWS.items():
        for order, value in enumerate(expected, start=1):
            measured = distinct_n(corpora[maker], corpora["Real"], order=order).value
            assert measured == pytest.approx(value, abs=5.01e-5), (maker, order)
