"""Sample sizes of human studies: against a textbook, statsmodels, and simulated raters."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.power import normal_sample_size_one_tail

from textassay.errors import OptionError
from textassay_lab.human.power import (
    design_effect,
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
    settings = {"judges": 5, "effect": 1.6}
    n = texts_to_separate(0.5, 0.6, power=0.9, **settings)  # type: ignore[arg-type]
    assert power_to_separate(n, 0.5, 0.6, **settings) >= 0.9 > power_to_separate(n - 1, 0.5, 0.6, **settings)  # type: ignore[arg-type]
    n = texts_to_detect(0.6, power=0.9, **settings)  # type: ignore[arg-type]
    assert power_to_detect(n, 0.6, **settings) >= 0.9 > power_to_detect(n - 1, 0.6, **settings)  # type: ignore[arg-type]


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
    told = design_effect(
        judges=5,
        text_correlation=float(np.mean(text_correlation)),
        texts_per_rater=6,
        rater_correlation=float(np.mean(rater_correlation)),
    )
    assert told > 1.8
    assert seen == pytest.approx(told, rel=0.1)


def test_the_design_effect_of_a_judge_and_a_text_each_is_one() -> None:
    assert design_effect(judges=1, text_correlation=0.5, rater_correlation=0.5) == 1
    assert design_effect(judges=3, text_correlation=0.5) == 2  # alike by a half: three say as much as one and a half
    assert design_effect(judges=1, texts_per_rater=5, rater_correlation=0.25) == 2


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
        design_effect(judges=0)
    with pytest.raises(OptionError, match="text_correlation"):
        design_effect(judges=2, text_correlation=-0.1)
    with pytest.raises(OptionError, match="effect must be at least 1"):
        power_to_detect(10, 0.6, effect=0.5)
