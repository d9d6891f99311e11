"""What dd says of equal and of unequal generators at any ratio of real to generated text, and with text to learn from.

`benchmarks/ratios.py` measures the same with more draws.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.metric.discrepancy import dd
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AtTemperature
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair

DRAWS = 40
CHANCE = 0.001  # that a test fails though all is well

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize(
        ("n_real", "n_generated", "n_fit_real", "n_trained_on"),
        [
            pytest.param(300, 300, 0, 0, id="1:1"),
            pytest.param(200, 1000, 0, 0, id="1:5"),
            pytest.param(60, 3000, 0, 0, id="1:50"),
            pytest.param(1000, 200, 0, 0, id="5:1"),
            pytest.param(200, 1000, 800, 600, id="1:5, fit_real and trained_on"),
        ],
    ),
]


@cache
def _pair(order: int, temperature: float) -> KnownTruthPair:
    real = NgramModel(order, max_length=500).fit(Corpus.from_texts(docstring_sentences()[:20_000]))
    return KnownTruthPair("pair", "", "", real, real if temperature == 1 else AtTemperature(real, temperature))


def _drawn(pair: KnownTruthPair, n_real: int, n_generated: int, n_fit_real: int, n_trained_on: int) -> Any:
    """Return values, both ends of intervals, bounds and p-values of many draws."""
    rows = []
    for seed in range(DRAWS):
        real, generated = pair.sample(n_real, n_generated=n_generated, seed=seed)
        more = {
            **({"fit_real": pair.more_real(n_fit_real, seed=seed)} if n_fit_real else {}),
            **({"trained_on": pair.more_real(n_trained_on, seed=DRAWS + seed)} if n_trained_on else {}),
        }
        estimate = dd(generated, real, effort="quick", seed=seed, **more)
        assert estimate.interval is not None
        bound = estimate.details["certified_bound"]["value"]
        rows.append((estimate.value, estimate.interval.low, estimate.interval.high, bound, estimate.details["p_value"]))
    return np.array(rows).T


def _most(share: float) -> float:
    return float(stats.binom.ppf(1 - CHANCE, DRAWS, share))


def test_equal_generators_have_no_discrepancy(
    n_real: int, n_generated: int, n_fit_real: int, n_trained_on: int
) -> None:
    values, lows, highs, bounds, p_values = _drawn(_pair(3, 1.0), n_real, n_generated, n_fit_real, n_trained_on)
    assert abs(values.mean()) < 3.5 * values.std(ddof=1) / DRAWS**0.5
    assert np.sum((lows > 0) | (highs < 0)) <= _most(0.05)
    assert np.sum(bounds > 0) <= _most(0.05)
    assert stats.kstest(p_values, "uniform").pvalue > CHANCE


def test_bounds_of_unequal_generators_stay_below_the_truth(
    n_real: int, n_generated: int, n_fit_real: int, n_trained_on: int
) -> None:
    for order in (1, 3):
        pair = _pair(order, 0.8)
        truth = pair.truth(20_000, seed=0)
        values, lows, _, bounds, _ = _drawn(pair, n_real, n_generated, n_fit_real, n_trained_on)
        assert values.mean() < truth.interval.high
        assert np.sum(lows > truth.interval.high) <= _most(0.025)
        assert np.sum(bounds > truth.interval.high) <= _most(0.05)
        assert (bounds > 0).mean() > 0.5
