"""The exact bound of a sum of two shares: by enumeration it errs no more often than it says, and hardly less often."""

import itertools
import time

import numpy as np
import pytest
from scipy.stats import binom, norm

from textassay.resampling.proportion import clopper_pearson
from textassay.resampling.two_proportions import sum_lower_bound


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
