"""Intervals, bounds and p-values of the Distributional Discrepancy on a language small enough to enumerate.

Sentences are Markov chains of four out of six words: 1,296 sentences with known probabilities. The discrepancy of a
fitted classifier (with its threshold) is then known exactly, and so is the total variation.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Pair, choose_threshold
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.metric.discrepancy import dd, exact_discrepancy
from textassay.resampling.permutation import permutation_p_value
from textassay.resampling.proportions import certified_lower_bound, newcombe_interval

N_WORDS, LENGTH = 6, 4
SPACE = np.array(list(product(range(N_WORDS), repeat=LENGTH)))
TEXTS = [" ".join(f"w{word}" for word in row) for row in SPACE.tolist()]
GRID: dict[Any, tuple[float, ...]] = {"binary": (0.03, 0.3), "tfidf": (1.0, 10.0)}


def distribution(seed: int, concentration: float = 1.0) -> np.ndarray:
    """Return the probability of each sentence of the space under a random Markov chain."""
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.full(N_WORDS, concentration))
    moves = rng.dirichlet(np.full(N_WORDS, concentration), N_WORDS)
    probabilities = start[SPACE[:, 0]]
    for position in range(1, LENGTH):
        probabilities = probabilities * moves[SPACE[:, position - 1], SPACE[:, position]]
    return np.asarray(probabilities / probabilities.sum())


P = distribution(0)
Q = 0.75 * P + 0.25 * distribution(1)


def draw(n: int, probabilities: np.ndarray, rng: np.random.Generator) -> list[str]:
    return [TEXTS[index] for index in rng.choice(len(TEXTS), n, p=probabilities)]


def made(n_real: int, n_generated: int, q: np.ndarray, rng: np.random.Generator) -> dict[str, Corpus]:
    return corpora_from_texts({"real": draw(n_real, P, rng), "generated": draw(n_generated, q, rng), "space": TEXTS})


@dataclass(frozen=True)
class FixedClassifier:
    """Scores of all sentences by one fitted discriminator, and its threshold."""

    scores: np.ndarray
    threshold: float

    @property
    def says_real(self) -> np.ndarray:
        return self.scores > self.threshold

    def discrepancy(self, q: np.ndarray) -> float:
        return float((P - q) @ self.says_real)


def fixed_classifier(q: np.ndarray, seed: int = 0) -> FixedClassifier:
    corpora = made(800, 600, q, np.random.default_rng(seed))
    train = (corpora["real"].take(np.arange(700)), corpora["generated"].take(np.arange(500)))
    valid = (corpora["real"].take(np.arange(700, 800)), corpora["generated"].take(np.arange(500, 600)))
    fitted = LogisticDiscriminator(grid=GRID).fit(train, valid)
    return FixedClassifier(
        fitted.prob_real(corpora["space"]), choose_threshold(*(fitted.prob_real(corpus) for corpus in valid))
    )


@pytest.mark.slow
def test_redraws_of_the_test_part_are_covered_and_the_bound_holds() -> None:
    """Target: the fixed classifier's own discrepancy, by enumeration; 1,000 redraws."""
    classifier = fixed_classifier(Q)
    target = classifier.discrepancy(Q)
    total_variation = exact_discrepancy(dict(enumerate(P)), dict(enumerate(Q)))
    assert 0.05 < target < total_variation
    rng = np.random.default_rng(1)
    n_real, n_generated = 500, 400
    covered = false_bounds = 0
    for _ in range(1000):
        k_real = int(classifier.says_real[rng.choice(len(TEXTS), n_real, p=P)].sum())
        k_generated = int(classifier.says_real[rng.choice(len(TEXTS), n_generated, p=Q)].sum())
        interval = newcombe_interval(k_real, n_real, k_generated, n_generated, level=0.95)
        covered += interval.low <= target <= interval.high
        false_bounds += certified_lower_bound(k_real, n_real, k_generated, n_generated, alpha=0.05) > target
    assert 930 <= covered <= 970
    assert false_bounds <= 66


def test_p_values_of_a_fixed_classifier_are_uniform_under_the_null() -> None:
    classifier = fixed_classifier(P)
    rng = np.random.default_rng(2)
    p_values = [
        permutation_p_value(
            classifier.scores[rng.choice(len(TEXTS), 80, p=P)],
            classifier.scores[rng.choice(len(TEXTS), 60, p=P)],
            rng=rng,
            n_resamples=199,
        )
        for _ in range(500)
    ]
    assert kstest(p_values, "uniform").pvalue > 0.01


@dataclass
class Recorder:
    """The logistic discriminator, which tells a list what it thinks of every sentence of the space."""

    space: Corpus
    opinions: list[np.ndarray] = field(default_factory=list)
    name: str = "recorder"
    features: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    fitted: LogisticDiscriminator | None = None

    def __deepcopy__(self, memo: object) -> "Recorder":
        return Recorder(self.space, self.opinions)

    def fit(self, train: Pair, valid: Pair) -> "Recorder":
        self.fitted = LogisticDiscriminator(grid=GRID).fit(train, valid)
        self.opinions.append(self.fitted.prob_real(self.space))
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        assert self.fitted is not None
        return self.fitted.prob_real(corpus)


def mean_discrepancy(corpora: dict[str, Corpus], q: np.ndarray, folds: int, seed: int) -> float:
    """Return the target of a cross-fitted interval: the mean over its classifiers of what each would find."""
    recorder = Recorder(corpora["space"])
    fit = cross_fit(recorder, corpora["real"], corpora["generated"], folds=folds, seed=seed)
    classifiers = [
        FixedClassifier(scores, fold.threshold) for scores, fold in zip(recorder.opinions, fit.folds, strict=True)
    ]
    return float(np.mean([classifier.discrepancy(q) for classifier in classifiers]))


def cross_fitted_runs(
    n_runs: int, n_real: int, n_generated: int, q: np.ndarray, folds: int = 5
) -> dict[str, np.ndarray]:
    """Return what whole runs, each on new text, give."""
    rows = []
    for run in range(n_runs):
        corpora = made(n_real, n_generated, q, np.random.default_rng(1000 + run))
        estimate = dd(corpora["generated"], corpora["real"], folds=folds, discriminator=Quick(), seed=run)
        assert estimate.interval is not None
        rows.append(
            {
                "value": estimate.value,
                "low": estimate.interval.low,
                "high": estimate.interval.high,
                "se": estimate.details["se_sampling"],
                "p": estimate.details["p_value"],
                "bound": estimate.details["certified_bound"]["value"],
                "target": mean_discrepancy(corpora, q, folds, run),
            }
        )
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


class Quick(LogisticDiscriminator):
    """The logistic discriminator with a small grid."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "grid": GRID})


def check_runs(runs: dict[str, np.ndarray], q: np.ndarray, *, low: float) -> None:
    covered = np.mean((runs["low"] <= runs["target"]) & (runs["target"] <= runs["high"]))
    assert covered >= low
    total_variation = exact_discrepancy(dict(enumerate(P)), dict(enumerate(q)))
    assert np.mean(runs["bound"] > total_variation) <= 0.066
    assert np.all(runs["target"] <= total_variation)


@pytest.mark.slow
@pytest.mark.feature("DD-08")
def test_cross_fitted_intervals_and_the_null_on_a_few_runs() -> None:
    runs = cross_fitted_runs(40, 150, 120, Q)
    check_runs(runs, Q, low=0.85)
    null = cross_fitted_runs(40, 150, 120, P)
    assert np.all(null["target"] == pytest.approx(0))
    assert np.mean(np.abs(null["value"]) <= 3 * null["se"]) >= 0.97


@pytest.mark.slow
def test_cross_fitted_intervals_cover_the_mean_over_their_classifiers() -> None:
    check_runs(cross_fitted_runs(300, 200, 150, Q), Q, low=0.92)


@pytest.mark.slow
@pytest.mark.feature("DD-08")
def test_equal_distributions_are_within_two_standard_errors_of_zero_in_95_percent() -> None:
    null = cross_fitted_runs(400, 200, 150, P)
    assert np.mean(np.abs(null["value"]) <= 2 * null["se"]) >= 0.93
    assert kstest(null["p"], "uniform").pvalue > 0.01
    assert np.mean(null["bound"] > 0) <= 0.066


@pytest.mark.slow
def test_differences_of_equal_generators_are_found_significant_as_often_as_they_should() -> None:
    """By the evidence, as a comparison does; with terms of plain variance one in ten would be."""
    n = 250
    ratios = []
    for run in range(250):
        rng = np.random.default_rng(9000 + run)
        corpora = corpora_from_texts({"real": draw(n, P, rng), "a": draw(n, Q, rng), "b": draw(n, Q, rng)})
        first, second = (
            dd(corpora[name], corpora["real"], discriminator=Quick(), seed=run, independent=True) for name in "ab"
        )
        variance = 0.0
        for estimate in (first, second):
            assert estimate.evidence is not None
            assert estimate.evidence.generated_terms is not None
            variance += estimate.evidence.generated_terms.var(ddof=1) / n
        variance += (first.evidence.real_terms - second.evidence.real_terms).var(ddof=1) / n  # type: ignore[union-attr,operator]
        ratios.append((first.value - second.value) / np.sqrt(variance))
    assert 0.92 <= np.mean(np.abs(ratios) < 1.96) <= 0.98
