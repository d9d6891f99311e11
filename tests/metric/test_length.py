"""The distance of sentence lengths against SciPy, and its interval in simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textassay.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError
from textassay.metric import length

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


@pytest.mark.parametrize("documents", [False, True])
def test_intervals_cover_a_true_distance(documents: bool) -> None:
    rng = np.random.default_rng(0)
    true = abs(stats.poisson.cdf(np.arange(40), 8) - stats.poisson.cdf(np.arange(40), 10)).max()
    covered = 0
    for _ in range(300):
        # in documents of five sentences, all five have one length
        generated, real = (
            np.repeat(rng.poisson(mean, size=80), 5) if documents else rng.poisson(mean, size=400) for mean in (8, 10)
        )
        interval = length(*_pair(generated.tolist(), real.tolist(), documents)).interval
        assert interval is not None
        covered += interval.low <= true <= interval.high
    assert 0.90 <= covered / 300 <= 0.985


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
