"""The Zipf exponent of simulated power laws, worked by hand, and against a grid search."""

import math

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.metric.zipf import zipf, zipf_exponent


def _draw(exponent: float, n_words: int, n_tokens: int, seed: int) -> Corpus:
    """Return sentences of ten words drawn from a power law."""
    weights = np.arange(1, n_words + 1) ** -exponent
    words = np.random.default_rng(seed).choice(n_words, size=n_tokens, p=weights / weights.sum())
    return Corpus.from_texts([" ".join(f"w{word}" for word in row) for row in words.reshape(-1, 10)])


@pytest.mark.parametrize("exponent", [0.7, 1.0, 1.2, 1.5])
@pytest.mark.parametrize("n_words", [3000, 60_000])
def test_a_power_law_is_found(exponent: float, n_words: int) -> None:
    corpus = _draw(exponent, n_words, 30_000, seed=1)
    estimate = zipf(corpus, corpus)
    assert estimate.value == pytest.approx(exponent, abs=0.04)


def test_the_likelihood_has_its_maximum_there() -> None:
    counts = np.array([50, 31, 18, 12, 12, 10])
    ranks = np.arange(1, 7)

    def log_likelihood(exponent: float) -> float:
        weights = ranks**-exponent
        return float(counts @ np.log(weights / weights.sum()))

    grid = np.linspace(0, 3, 30_001)
    best = grid[np.argmax([log_likelihood(exponent) for exponent in grid])]
    assert zipf_exponent(counts[::-1], 6) == pytest.approx(best, abs=1e-4)


def test_two_words_by_hand() -> None:
    """The first of two ranks has probability 1 / (1 + 2^-s): three quarters where 2^s = 3."""
    assert zipf_exponent(np.array([10, 30]), 2) == pytest.approx(math.log2(3), abs=1e-9)
    assert zipf_exponent(np.array([30, 10, 7]), 2) == pytest.approx(math.log2(3), abs=1e-9), "the third is no rank"
    assert zipf_exponent(np.array([20, 20]), 2) == 0
    assert math.isnan(zipf_exponent(np.array([30]), 5))
    assert math.isnan(zipf_exponent(np.array([30, 0]), 5))


def test_details_compare_with_real_text() -> None:
    texts = {"real": ["a b"] * 30 + ["a"] * 30, "generated": ["a b"] * 10 + ["a"] * 20, "rare": ["a b c"] * 3}
    corpora = corpora_from_texts(texts)
    estimate = zipf(corpora["generated"], corpora["real"])
    assert estimate.value == pytest.approx(math.log2(30 / 10))
    assert estimate.details["real_exponent"] == pytest.approx(math.log2(60 / 30))
    assert estimate.details["distance"] == pytest.approx(math.log2(3) - 1)
    assert (estimate.details["n_ranks"], estimate.details["n_real_ranks"]) == (2, 2)
    with pytest.warns(RuntimeWarning, match="fewer than two words occur 10 times"):
        undefined = zipf(corpora["rare"], corpora["real"])
    assert math.isnan(undefined.value)
    assert undefined.interval is None


def test_the_interval_covers_the_mean_over_samples() -> None:
    estimates = []
    for seed in range(60):
        corpus = _draw(1.1, 500, 4000, seed)
        estimates.append(zipf(corpus, corpus))
    mean = np.mean([estimate.value for estimate in estimates])
    covered = [
        estimate.interval.low <= mean <= estimate.interval.high
        for estimate in estimates
        if estimate.interval is not None
    ]
    assert len(covered) == 60
    assert np.mean(covered) >= 0.88


def test_the_interval_covers_where_the_exponent_depends_on_the_number_of_words() -> None:
    """Templates, no power law: with the number of ranks taken as fixed, 62 of 100 intervals missed the mean."""
    weights = 1 / np.arange(1, 201)
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(100):
        slots = rng.choice(200, size=(400, 2), p=weights / weights.sum())
        corpus = Corpus.from_texts([f"we saw a w{first} near the w{second} ." for first, second in slots.tolist()])
        estimate = zipf(corpus, corpus)
        assert estimate.interval is not None
        rows.append((estimate.interval.low, estimate.value, estimate.interval.high))
    low, value, high = np.array(rows).T
    assert np.mean((low > value.mean()) | (high < value.mean())) <= 0.07
