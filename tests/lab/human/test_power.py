"""Sample sizes of human studies: against a textbook, statsmodels, and simulated raters."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.power import normal_sample_size_one_tail

from textassay.errors import OptionError
from textassay_lab.human.clusters import clustered_means
from textassay_lab.human.power import (
    Design,
    power_to_detect,
    power_to_separate,
    shared_correlation,
    texts_to_detect,
    texts_to_separate,
)


@pytest.mark.feature("JJ-23")
def test_the_worked_example_of_fleiss() -> None:
    # Fleiss, Levin, Paik, chapter 4: proportions .60 and .70, significance .01, power .95: 827 with their correction
    n = texts_to_separate(0.6, 0.7, level=0.99, power=0.95)
    assert n == 808
    assert n / 4 * (1 + math.sqrt(1 + 4 / (n * 0.1))) ** 2 == pytest.approx(827, abs=1)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.6), (0.2, 0.35), (0.9, 0.7)])
def test_the_pooled_test_of_two_proportions_has_the_power_asked_for(a: float, b: float) -> None:
    n = texts_to_separate(a, b)
    counts = np.arange(n + 1)
    first, second = counts[:, None] / n, counts[None, :] / n
    pooled = (first + second) / 2
    rejected = np.abs(first - second) > norm.isf(0.025) * np.sqrt(2 * pooled * (1 - pooled) / n)
    power = binom.pmf(counts, n, a) @ rejected @ binom.pmf(counts, n, b)
    assert power == pytest.approx(0.8, abs=0.012)
    assert power_to_separate(n, a, b) == pytest.approx(0.8, abs=0.01)


def test_one_proportion_as_statsmodels_has_it() -> None:
    theirs = normal_sample_size_one_tail(0.1, 0.9, 0.025, std_null=0.5, std_alternative=math.sqrt(0.24))
    assert texts_to_detect(0.6, power=0.9) == math.ceil(theirs)
    assert texts_to_detect(0.4, power=0.9) == math.ceil(theirs)


@pytest.mark.feature("JJ-23")
def test_settings_that_give_the_111_texts_a_generator_of_the_published_study() -> None:
    # The paper names neither effect nor power. These give its number at significance .05, two-sided; docs say so.
    assert texts_to_separate(0.4, 0.6, power=0.85) == 111
    cohens_h = (norm.isf(0.025) + norm.isf(0.2)) / math.sqrt(111)
    assert cohens_h == pytest.approx(0.266, abs=5e-4)
    assert power_to_detect(111, 0.632) == pytest.approx(0.8, abs=0.005)
    assert power_to_separate(111, 0.5, 0.684) == pytest.approx(0.8, abs=0.005)


def test_power_is_the_inverse_of_the_size() -> None:
    for design in (Design(5, 0.15), Design(5, 0.1, 8, 0.05), Design(3, 0.1, 200, 0.01)):
        n = texts_to_separate(0.5, 0.6, power=0.9, design=design)
        assert power_to_separate(n, 0.5, 0.6, design=design) >= 0.9 > power_to_separate(n - 1, 0.5, 0.6, design=design)
        n = texts_to_detect(0.6, power=0.9, design=design)
        assert power_to_detect(n, 0.6, design=design) >= 0.9 > power_to_detect(n - 1, 0.6, design=design)


@pytest.mark.parametrize("n_raters", [3, 5, 10])
def test_the_power_of_few_raters_is_what_their_analysis_has(n_raters: int) -> None:
    """All judge all 60 texts of two generators; a rater likes one of them more than the other by 10 points or so."""
    rng = np.random.default_rng(n_raters)
    n, text_spread, liking = 60, 0.15, 0.07
    accuracies, seen, n_runs = (0.5, 0.7), 0, 200
    for _ in range(n_runs):
        chance = np.array(accuracies)[:, None, None] + text_spread * rng.choice([-1, 1], (2, 1, n))
        chance = chance + liking * rng.choice([-1, 1], (2, n_raters, 1))
        right = (rng.random((2, n_raters, n)) < chance).astype(float)
        generator, rater, text = np.indices(right.shape)
        found = clustered_means(right.ravel(), generator.ravel(), (text + n * generator).ravel(), rater.ravel())
        seen += found.difference(0, 1, level=0.95, shares=True).p_value < 0.05
    variance = float(np.mean([share * (1 - share) for share in accuracies]))
    design = Design(n_raters, text_spread**2 / variance, n, liking**2 / variance)
    assert seen / n_runs == pytest.approx(power_to_separate(n, *accuracies, design=design), abs=0.1)
    assert design.raters(n) == n_raters


def test_who_judges_alone_stands_for_nobody_else() -> None:
    assert power_to_detect(50, 0.9, design=Design(1, 0, 50, 0.1)) == 0
    assert power_to_detect(50, 0.9, design=Design(1, 0, 50)) == power_to_detect(50, 0.9)  # if all judge alike


def _judgements(rng: np.random.Generator, n_texts: int, judges: int, per_rater: int) -> tuple[np.ndarray, ...]:
    """Return right or wrong of raters who judge `per_rater` texts each, with texts and raters that differ; p is 0.6."""
    n_pages = n_texts // per_rater
    text = np.repeat(np.arange(n_texts), judges)
    rater = (np.arange(n_texts) // per_rater)[:, None] * judges + np.arange(judges)
    chance = rng.beta(3, 2, n_texts)[:, None]  # mean 0.6
    lean = rng.choice([-0.15, 0.15], n_pages * judges)[rater]
    right = rng.random((n_texts, judges)) < np.clip(chance + lean, 0, 1)
    return right.ravel().astype(np.float64), text, rater.ravel()


@pytest.mark.feature("JJ-23")
def test_the_design_effect_is_what_simulated_raters_show() -> None:
    rng = np.random.default_rng(0)
    means, within = [], []
    text_correlation, rater_correlation = [], []
    for _ in range(1500):
        right, text, rater = _judgements(rng, 60, 5, 6)
        means.append(right.mean())
        within.append(right.var())
        one = np.zeros(len(right), dtype=np.int64)
        text_correlation.append(shared_correlation(right, one, text))
        rater_correlation.append(shared_correlation(right, one, rater))
    # deviations from a sample's own mean are a little too small: the reverse correction is below a hundredth here
    seen = np.var(means) / (np.mean(within) / (60 * 5))
    told = Design(5, float(np.mean(text_correlation)), 6, float(np.mean(rater_correlation))).effect()
    assert told > 1.8
    assert seen == pytest.approx(told, rel=0.1)


def test_the_design_effect_of_a_judge_and_a_text_each_is_one() -> None:
    assert Design(1, text_correlation=0.5, rater_correlation=0.5).effect() == 1
    assert Design(3, text_correlation=0.5).effect() == 2  # alike by a half: three say as much as one and a half
    assert Design(texts_per_rater=5, rater_correlation=0.25).effect() == 2
    assert Design(texts_per_rater=5, rater_correlation=0.25).effect(texts=3) == 1.5  # there are no more to judge


def test_correlations_by_hand_and_where_there_are_none() -> None:
    values = np.array([1.0, 1, 0, 0, 1, 0])
    strata = np.array([0, 0, 0, 0, 1, 1])
    # deviations are a half each; pairs: (+ +), (- -) and, in the other stratum, (+ -)
    assert shared_correlation(values, strata, np.array([0, 0, 1, 1, 2, 2])) == pytest.approx(1 / 3)
    assert math.isnan(shared_correlation(values, strata, np.arange(6)))
    assert math.isnan(shared_correlation(np.ones(4), np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)))


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="must differ"):
        texts_to_separate(0.5, 0.5)
    with pytest.raises(OptionError, match="accuracy must be between 0 and 1, got 1"):
        texts_to_detect(1)
    with pytest.raises(OptionError, match="takes more than"):
        texts_to_detect(0.5 + 1e-9)
    with pytest.raises(OptionError, match="judges must be at least 1"):
        Design(0)
    with pytest.raises(OptionError, match="text_correlation"):
        Design(2, text_correlation=-0.1)
    with pytest.raises(OptionError, match="texts_per_rater must be at least 1"):
        Design(texts_per_rater=0.5)
