"""Sample sizes: by hand, the smallest that suffice, and the power of the tests that are really made."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from textassay.comparison.comparison import Result
from textassay.comparison.pairs import pair_differences
from textassay.errors import OptionError
from textassay.estimate import Estimate, Evidence, Signature
from textassay.resampling.power import sentences_for_margin, sentences_to_detect, sentences_to_separate
from textassay.resampling.proportions import newcombe_interval

N_RUNS = 1500
NOISE = 3 * math.sqrt(0.8 * 0.2 / N_RUNS)


def test_sizes_by_hand() -> None:
    z = norm.ppf(0.975) + norm.ppf(0.8)
    assert sentences_to_separate(
        0.1, discrepancy=0.0, correlation=0.0, level=0.95, power=0.8, variance_factor=1.5
    ) == math.ceil(1.5 * (z / 0.1) ** 2 * (1 / 2 + (1 - 0.01) / 2))
    spread = math.sqrt(1 / 2) * norm.ppf(0.975) + math.sqrt((1 - 0.04) / 2) * norm.ppf(0.9)
    assert sentences_to_detect(0.2, level=0.95, power=0.9, variance_factor=1.0) == math.ceil((spread / 0.2) ** 2)


@pytest.mark.parametrize("factor", [1.0, 1.5])
@pytest.mark.parametrize(("margin", "shares"), [(0.02, (0.5, 0.5)), (0.05, (0.9, 0.7)), (0.1, (1.0, 1.0))])
def test_a_margin_is_reached_by_the_smallest_size(margin: float, shares: tuple[float, float], factor: float) -> None:
    def arm(n: int) -> float:
        counted = n / factor
        interval = newcombe_interval(shares[0] * counted, counted, (1 - shares[1]) * counted, counted, level=0.95)
        return max(sum(shares) - 1 - interval.low, interval.high - sum(shares) + 1)

    n = sentences_for_margin(
        margin, share_real=shares[0], share_generated=shares[1], level=0.95, variance_factor=factor
    )
    assert arm(n) <= margin < arm(n - 1)


@pytest.mark.parametrize("d", [0.03, 0.1, 0.3, 0.7])
def test_the_interval_lies_above_zero_with_the_power_asked_for(d: float) -> None:
    n = sentences_to_detect(d, level=0.95, power=0.8, variance_factor=1.0)
    counts = np.random.default_rng(0).binomial(n, (1 + d) / 2, (N_RUNS, 2)).tolist()
    above = [newcombe_interval(real, n, n - generated, n, level=0.95).low > 0 for real, generated in counts]
    # Where a few sentences are enough, power jumps by whole sentences.
    assert np.mean(above) == pytest.approx(0.8, abs=NOISE + (0.05 if n < 50 else 0))


@pytest.mark.parametrize(("dd", "difference", "correlation"), [(0.0, 0.1, 0.0), (0.3, 0.1, 0.5), (0.8, 0.05, 0.3)])
@pytest.mark.parametrize("n_runs", [400, pytest.param(N_RUNS, marks=pytest.mark.slow)])
def test_two_generators_are_told_apart_with_the_power_asked_for(
    dd: float, difference: float, correlation: float, n_runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textassay.comparison.pairs.holm", lambda p: p)  # one pair: nothing to adjust, but slowly
    n = sentences_to_separate(
        difference, discrepancy=dd, correlation=correlation, level=0.95, power=0.8, variance_factor=1.0
    )
    shares = [(1 + value) / 2 for value in (dd, dd + difference)]
    both = shares[0] * shares[1] + correlation * math.sqrt(math.prod(share * (1 - share) for share in shares))
    outcomes = [both, shares[0] - both, shares[1] - both]
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(n_runs):
        real = rng.choice(4, n, p=[*outcomes, 1 - sum(outcomes)])
        rights = [(real == 0) | (real == 1), (real == 0) | (real == 2)]
        results = [
            _result(name, right.astype(np.float64), (rng.random(n) < share).astype(np.float64))
            for name, right, share in zip("ab", rights, shares, strict=True)
        ]
        p = pair_differences(results, level=0.95)[0].p
        assert p is not None
        found += p < 0.05
    assert found / n_runs == pytest.approx(0.8, abs=NOISE * math.sqrt(N_RUNS / n_runs))


def _result(name: str, real: np.ndarray, generated: np.ndarray) -> Result:
    value = float(real.mean() + generated.mean() - 1)
    evidence = Evidence(real, generated)
    estimate = Estimate("dd", value, None, "fraction", "lower", {}, Signature({}), evidence=evidence)
    return Result(name, "dd", "lower", estimate)


def test_a_correlation_saves_sentences_and_rarer_effects_cost_more() -> None:
    def size(difference: float, correlation: float) -> int:
        return sentences_to_separate(
            difference, discrepancy=0.2, correlation=correlation, level=0.95, power=0.8, variance_factor=1.5
        )

    assert size(0.05, 0.5) < size(0.05, 0.0) < size(0.025, 0.0)
    assert size(0.025, 0.0) == pytest.approx(4 * size(0.05, 0.0), rel=0.05)


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(OptionError, match="margin must be between 0 and 1, got 1"):
        sentences_for_margin(1.0, share_real=0.5, share_generated=0.5, level=0.95, variance_factor=1.0)
    with pytest.raises(OptionError, match="margin must be larger"):
        sentences_for_margin(1e-9, share_real=0.5, share_generated=0.5, level=0.95, variance_factor=1.0)
    with pytest.raises(OptionError, match="more than 1e"):
        sentences_to_detect(1e-9, level=0.95, power=0.8, variance_factor=1.0)
    with pytest.raises(OptionError, match="power must be between 0 and 1"):
        sentences_to_detect(0.1, level=0.95, power=1.0, variance_factor=1.0)
    with pytest.raises(OptionError, match=r"dd must be between 0 and 0\.5"):
        sentences_to_separate(0.5, discrepancy=0.6, correlation=0, level=0.95, power=0.8, variance_factor=1.0)
    with pytest.raises(OptionError, match="correlation must be between"):
        sentences_to_separate(0.5, discrepancy=0.1, correlation=2, level=0.95, power=0.8, variance_factor=1.0)
