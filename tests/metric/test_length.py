"""The distance of sentence lengths against SciPy, and its interval in simulations."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError
from textassay.metric.length import length

LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=12)


def _pair(generated: list[int], real: list[int], documents: bool = False) -> tuple[Corpus, Corpus]:
    groups = {"generated": np.arange(len(generated)) // 5, "real": np.arange(len(real)) // 5} if documents else None
    corpora = corpora_from_texts(
        {"generated": ["w " * number for number in generated], "real": ["w " * number for number in real]},
        groups=groups,
    )
    return corpora["generated"], corpora["real"]


@given(generated=LENGTHS, real=LENGTHS)
def test_values_are_those_of_scipy(generated: list[int], real: list[int]) -> None:
    estimate = length(*_pair(generated, real))
    assert estimate.value == pytest.approx(stats.ks_2samp(generated, real).statistic, abs=1e-12)
    assert length(*_pair(real, generated)).value == pytest.approx(estimate.value, abs=1e-12)
    if estimate.interval is not None:
        assert 0 <= estimate.interval.low <= estimate.value <= estimate.interval.high <= 1


def test_hand_worked_case() -> None:
    estimate = length(*_pair([1, 2, 2, 5], [2, 5, 6, 6]))
    assert estimate.value == 0.5
    assert estimate.details == {
        "length": 2,
        "generated_share": 0.75,
        "real_share": 0.25,
        "generated_mean": 2.5,
        "real_mean": 4.75,
    }
    assert length(*_pair([1, 4, 4], [4, 1, 4])).value == 0
    assert length(*_pair([1, 2], [3, 4])).value == 1


def test_evidence_adds_up() -> None:
    estimate = length(*_pair([3, 4, 5, 6, 9], [1, 2, 3, 4]))
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is not None
    assert estimate.evidence.generated_terms is not None
    assert estimate.evidence.real_terms.mean() + estimate.evidence.generated_terms.mean() == pytest.approx(
        estimate.value
    )
    assert estimate.evidence.real_terms.shape == (4,)
    assert estimate.evidence.generated_terms.shape == (5,)


def _intervals(draw: Callable[[], Sequence[list[int]]], n_draws: int, documents: bool = False) -> np.ndarray:
    """Return low, value and high of the distance of pairs of lengths, shape (n_draws, 3)."""
    rows = []
    for _ in range(n_draws):
        generated, real = draw()
        estimate = length(*_pair(generated, real, documents), independent=True)
        assert estimate.interval is not None
        rows.append((estimate.interval.low, estimate.value, estimate.interval.high))
    return np.array(rows)


@pytest.mark.parametrize("documents", [False, True])
def test_intervals_cover_a_true_distance(documents: bool) -> None:
    rng = np.random.default_rng(0)
    true = abs(stats.poisson.cdf(np.arange(40), 8) - stats.poisson.cdf(np.arange(40), 10)).max()

    def draw() -> tuple[list[int], list[int]]:
        # in documents of five sentences, all five have one length
        generated, real = (
            np.repeat(rng.poisson(mean, size=80), 5) if documents else rng.poisson(mean, size=400) for mean in (8, 10)
        )
        return generated.tolist(), real.tolist()

    low, value, high = _intervals(draw, 150, documents).T
    assert 0.94 <= np.mean((low <= true) & (true <= high)) <= 0.997
    assert np.mean(high - low) / (2 * 1.96 * value.std()) < 1.35


@pytest.mark.parametrize(("n", "m", "mean", "n_draws"), [(200, 200, 12, 120), (100, 600, 12, 120), (400, 400, 200, 60)])
def test_intervals_hold_0_for_lengths_of_one_distribution(n: int, m: int, mean: int, n_draws: int) -> None:
    """One in twenty may not; where the length of the largest difference was taken as fixed, one in three did not."""
    rng = np.random.default_rng(mean + n)  # of mean 200 there are more lengths than noise is drawn of
    low, _, high = _intervals(lambda: [rng.geometric(1 / mean, size).tolist() for size in (n, m)], n_draws).T
    assert 0.005 <= np.mean(low > 0) <= 0.09
    assert np.mean(high) < 1.8 * np.sqrt(1 / n + 1 / m)


def test_intervals_hold_a_distance_that_two_lengths_share() -> None:
    rng = np.random.default_rng(5)
    true = (stats.norm.cdf(np.arange(60), 20, 7) - stats.norm.cdf(np.arange(60), 20, 8)).max()

    def draw() -> tuple[list[int], list[int]]:  # as many too short as too long
        narrow, wide = (np.maximum(np.ceil(rng.normal(20, sd, 300)), 0).astype(int) for sd in (7, 8))
        return narrow.tolist(), wide.tolist()

    low, _, high = _intervals(draw, 100).T
    assert np.mean((low > true) | (high < true)) <= 0.07


def test_texts_of_a_group_count_once() -> None:
    rng = np.random.default_rng(3)
    sides = [rng.poisson(mean, size=60) for mean in (8, 9)]
    once = length(*_pair(*(side.tolist() for side in sides)), seed=4, independent=True).interval
    groups = {name: np.repeat(np.arange(60), 3) for name in ("generated", "real")}
    texts = {name: ["w " * n for n in np.repeat(side, 3)] for name, side in zip(groups, sides, strict=True)}
    corpora = corpora_from_texts(texts, groups=groups)
    thrice = length(corpora["generated"], corpora["real"], seed=4, independent=True).interval
    swapped = length(corpora["real"], corpora["generated"], seed=4, independent=True).interval
    assert once is not None
    assert thrice is not None
    assert swapped is not None
    for interval in (thrice, swapped):
        assert (interval.low, interval.high) == pytest.approx((once.low, once.high), abs=1e-9)


def test_what_an_estimate_says() -> None:
    estimate = length(*_pair([1, 2], [2, 2, 3]), level=0.8)
    assert estimate.metric == "length"
    assert (estimate.better, estimate.unit) == ("lower", "fraction")
    assert estimate.sizes == {"n_generated": 2, "n_real": 3}
    assert str(estimate.signature).startswith("metric:length|distance:ks|unit:tokens|tok:whitespace|n:2+3|")
    assert estimate.interval is not None
    assert estimate.interval.level == 0.8
    assert length(*_pair([1], [2, 3])).interval is None
    generated, real = _pair([1], [2])
    with pytest.raises(EmptyCorpusError, match="the real corpus has no text"):
        length(generated, real.take(np.array([], dtype=np.int64)))
