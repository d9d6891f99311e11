"""Proportions: intervals, the exact bound and tests of many traits, against published cases, enumeration and SciPy."""

import itertools
import time

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency, fisher_exact, norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from textassay.errors import EmptyCorpusError, OptionError
from textassay.resampling.proportions import (
    certified_lower_bound,
    clopper_pearson,
    effective_size,
    fisher_p_values,
    newcombe_interval,
    signed_likelihood_ratios,
    sum_lower_bound,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2", "low", "high"),
    [
        # Newcombe 1998, table II, method 10.
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (10, 10, 0, 20, 0.6791, 1.0),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_newcombe_gives_the_published_intervals(k1: int, n1: int, k2: int, n2: int, low: float, high: float) -> None:
    interval = newcombe_interval(k1, n1, k2, n2, level=0.95)
    assert interval.low == pytest.approx(low, abs=6e-5)
    assert interval.high == pytest.approx(high, abs=6e-5)
    assert (interval.level, interval.method) == (0.95, "newcombe")


def test_newcombe_takes_fractional_counts_between_whole_ones() -> None:
    lows = [newcombe_interval(count, 100, 20, 100, level=0.95).low for count in (70, 70.5, 71)]
    assert lows[0] < lows[1] < lows[2]


def test_clopper_pearson_inverts_the_binomial_tail() -> None:
    lower = clopper_pearson(7, 10, alpha=0.025, side="lower")
    upper = clopper_pearson(7, 10, alpha=0.025, side="upper")
    assert binom.sf(6, 10, lower) == pytest.approx(0.025)
    assert binom.cdf(7, 10, upper) == pytest.approx(0.025)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 10, alpha=0.05, side="lower") == 0
    assert clopper_pearson(10, 10, alpha=0.05, side="upper") == 1
    assert clopper_pearson(10, 10, alpha=0.05, side="lower") == pytest.approx(0.05**0.1)
    assert clopper_pearson(3, 10, alpha=0.7, side="lower") > 0.3  # a bound that may be wrong more often than not


def test_certified_bound_is_above_that_of_two_limits_and_never_below_zero() -> None:
    two = clopper_pearson(90, 100, alpha=0.025, side="lower") - clopper_pearson(10, 100, alpha=0.025, side="upper")
    assert two + 0.03 < certified_lower_bound(90, 100, 10, 100, alpha=0.05) < 0.8 - 1.64 * np.sqrt(2 * 0.09 / 100)
    assert certified_lower_bound(50, 100, 50, 100, alpha=0.05) == 0
    with pytest.raises(OptionError, match="between 0 and its total"):
        certified_lower_bound(3, 2, 0, 2, alpha=0.05)


def test_effective_size_is_the_count_for_whole_answers_and_more_for_shares() -> None:
    assert effective_size(np.array([0.0, 1.0, 1.0, 0.0, 1.0])) == pytest.approx(5)
    assert effective_size(np.ones(7)) == 7
    shares = np.array([0.5, 1.0, 0.5, 0.0, 1.0])
    size = effective_size(shares)
    assert size > 5
    assert shares.mean() * (1 - shares.mean()) / size == pytest.approx(shares.var() / 5)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_a_level_outside_its_range_is_an_error(level: float) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        newcombe_interval(1, 2, 1, 2, level=level)


def test_impossible_counts_are_errors() -> None:
    with pytest.raises(OptionError, match="between 0 and its total 2, got 3"):
        clopper_pearson(3, 2, alpha=0.05, side="lower")
    with pytest.raises(EmptyCorpusError):
        newcombe_interval(0, 0, 1, 2, level=0.95)


@pytest.mark.slow
def test_newcombe_covers_and_the_bound_holds_for_two_binomials() -> None:
    n_real, n_generated = 400, 300
    p_real, p_generated = 0.62, 0.41
    rng = np.random.default_rng(0)
    reals = rng.binomial(n_real, p_real, 1000)
    generateds = rng.binomial(n_generated, p_generated, 1000)
    covered = false_bounds = 0
    for k_real, k_generated in zip(reals.tolist(), generateds.tolist(), strict=True):
        interval = newcombe_interval(k_real, n_real, k_generated, n_generated, level=0.95)
        covered += interval.low <= p_real - p_generated <= interval.high
        bound = certified_lower_bound(k_real, n_real, k_generated, n_generated, alpha=0.05)
        false_bounds += bound > p_real - p_generated
    assert 930 <= covered <= 970
    assert false_bounds <= 66


@pytest.mark.parametrize(("n_a", "n_b", "alpha"), [(9, 9, 0.05), (12, 5, 0.1), (3, 14, 0.05), (1, 1, 0.05)])
def test_by_enumeration_of_all_results_it_is_too_high_at_most_alpha_often(n_a: int, n_b: int, alpha: float) -> None:
    counts = list(itertools.product(range(n_a + 1), range(n_b + 1)))
    bounds = np.array([sum_lower_bound(a, n_a, b, n_b, alpha=alpha) for a, b in counts])
    worst = 0.0
    for share_a, share_b in itertools.product(np.linspace(0, 1, 41), repeat=2):
        likely = np.outer(binom.pmf(range(n_a + 1), n_a, share_a), binom.pmf(range(n_b + 1), n_b, share_b)).ravel()
        worst = max(worst, float(likely[bounds > max(1.0, share_a + share_b) + 1e-12].sum()))
    assert worst <= alpha
    assert worst > 0.3 * alpha or n_a == 1  # few results leave little choice of error rates


@pytest.mark.parametrize(
    ("count_a", "n_a", "count_b", "n_b"),
    [(60, 100, 60, 100), (600, 1000, 700, 1000), (990, 1000, 60, 1000), (50, 1000, 1000, 1000), (450, 800, 30, 40)],
)
def test_the_margin_is_shorter_than_that_of_two_limits_and_near_the_normal_one(
    count_a: int, n_a: int, count_b: int, n_b: int
) -> None:
    bound = sum_lower_bound(count_a, n_a, count_b, n_b, alpha=0.05)
    two = sum(clopper_pearson(k, n, alpha=0.025, side="lower") for k, n in ((count_a, n_a), (count_b, n_b)))
    shares = count_a / n_a, count_b / n_b
    error = np.sqrt(sum(share * (1 - share) / n for share, n in zip(shares, (n_a, n_b), strict=True)))
    assert max(1.0, two) <= bound < sum(shares)
    assert sum(shares) - bound < 1.25 * norm.isf(0.05) * error or bound == 1


def test_all_answers_right_has_a_bound_worked_out_by_hand() -> None:
    # All of n and n right has probability (a b)^n; for a sum s it is largest at a = b = s / 2.
    for n in (10, 500):
        bound = sum_lower_bound(n, n, n, n, alpha=0.05)
        assert bound == pytest.approx(2 * (0.05 * 0.98) ** (1 / (2 * n)), abs=0.05 / n)
        assert bound < 2 * 0.05 ** (1 / (2 * n))


def test_sides_can_be_exchanged() -> None:
    assert sum_lower_bound(70, 90, 40, 50, alpha=0.05) == pytest.approx(
        sum_lower_bound(40, 50, 70, 90, alpha=0.05), abs=2e-3
    )


def test_nothing_found_is_a_bound_of_one() -> None:
    assert sum_lower_bound(0, 10, 10, 10, alpha=0.05) == 1
    assert sum_lower_bound(30, 50, 21, 50, alpha=0.05) == 1


def test_many_sentences_take_a_moment() -> None:
    sum_lower_bound(5, 10, 9, 10, alpha=0.05)  # compiles
    start = time.process_time()
    bound = sum_lower_bound(120_000, 200_000, 110_000, 200_000, alpha=0.05)
    assert time.process_time() - start < 2
    assert bound == pytest.approx(1.15 - norm.isf(0.05) * np.sqrt(2 * 0.245 / 200_000), abs=2e-4)


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


def test_intervals_are_those_of_statsmodels_for_fractions_of_counts_too() -> None:
    rng = np.random.default_rng(0)
    for level in (0.8, 0.95, 0.999):
        for _ in range(50):
            n, other = rng.uniform(2, 500, 2)
            counts = n * rng.choice([0, 1, rng.random()]), other * rng.choice([0, 1, rng.random()])
            found = newcombe_interval(counts[0], n, counts[1], other, level=level)
            peer = confint_proportions_2indep(
                counts[0], n, counts[1], other, method="newcomb", compare="diff", alpha=1 - level
            )
            assert (found.low, found.high) == pytest.approx(np.clip(peer, -1, 1), abs=1e-12)
            wilson = proportion_confint(counts[0], n, alpha=1 - level, method="wilson")
            assert wilson_interval(counts[0] / n, n, level=level) == pytest.approx(wilson, abs=1e-12)
