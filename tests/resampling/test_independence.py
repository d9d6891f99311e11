"""Fisher's test and the likelihood ratio of many 2x2 tables against SciPy's of one, and the level under the null."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact

from textassay.resampling.independence import fisher_p_values, signed_likelihood_ratios

N_FIRST, N_SECOND = 40, 65
TABLES = [(0, 0), (0, 9), (9, 0), (3, 5), (20, 10), (40, 65), (40, 3), (12, 21)]
FIRST, SECOND = (np.array(side) for side in zip(*TABLES, strict=True))


def test_p_values_are_twice_the_smaller_tail_of_fishers_test() -> None:
    found = fisher_p_values(FIRST, N_FIRST, SECOND, N_SECOND)
    for p, (a, b) in zip(found, TABLES, strict=True):
        table = np.array([[a, N_FIRST - a], [b, N_SECOND - b]])
        tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
        assert p == pytest.approx(min(1, 2 * min(tails)), rel=1e-9)


def test_p_values_hold_their_level_for_rare_traits() -> None:
    rng = np.random.default_rng(0)
    p = fisher_p_values(rng.binomial(300, 0.02, 20_000), 300, rng.binomial(500, 0.02, 20_000), 500)
    for alpha in (0.2, 0.05, 0.01):
        assert np.mean(p <= alpha) <= alpha + 3 * np.sqrt(alpha / 20_000)
    assert np.mean(p <= 0.2) > 0.05  # not simply 1


def test_likelihood_ratios_are_scipys_with_the_sign_of_the_difference() -> None:
    found = signed_likelihood_ratios(FIRST, N_FIRST, SECOND, N_SECOND)
    for ratio, (a, b) in zip(found, TABLES, strict=True):
        assert np.sign(ratio) == np.sign(a / N_FIRST - b / N_SECOND)
        if 0 < a + b < N_FIRST + N_SECOND:
            table = [[a, N_FIRST - a], [b, N_SECOND - b]]
            assert abs(ratio) == pytest.approx(chi2_contingency(table, correction=False, lambda_=0).statistic)
        else:
            assert ratio == 0


def test_an_empty_sample_says_nothing() -> None:
    assert signed_likelihood_ratios([0, 3], [0, 5], [4, 0], [9, 0]).tolist() == [0, 0]
