"""Distributional Discrepancy (dd): how much better than chance a classifier tells real from generated sentences.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1) and (6).
Departs from it: the classifier is a logistic regression over n-grams unless another is asked for; every sentence is
tested once, by cross-fitting, instead of a tenth; the number has an interval, a certified bound and a p-value. What a
classifier finds is, in expectation, at most the total variation (1), so the largest of several is nearest the truth.

One cross-fitting partition is the default: on captions, news and reviews another partition moves the value by a third
to a half of the sampling standard error, so that averaging over several would cost their number in time for an error
that is at best a tenth smaller; `repeats` asks for them all the same.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Discriminator, SklearnDiscriminator, balanced_cross_entropy
from textassay.discriminator.cross_fitting import CrossFit, ThresholdRule, cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import OptionError, unknown_name
from textassay.estimate import Better, Estimate, Evidence, Interval
from textassay.metric.base import check_corpora, check_range, make_signature, measure
from textassay.resampling.jackknife import cluster_terms, terms_interval
from textassay.resampling.permutation import permutation_p_value
from textassay.resampling.proportion import certified_lower_bound, effective_size, newcombe_interval
from textassay.seeding import stream

__all__ = ["DistributionalDiscrepancy", "dd", "exact_discrepancy"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

DISCRIMINATORS = {"logistic": LogisticDiscriminator}
N_PERMUTATIONS = 999
N_BINS = 40
SENTENCES_PER_FOLD = 10  # at least so many a side
_CERTIFYING_FOLD = 0  # named before anything is measured: bound and p-value rest on it alone


def dd(
    generated: Corpus,
    real: Corpus,
    *,
    discriminator: str | Discriminator | Any = "logistic",
    folds: int = 5,
    repeats: int = 1,
    threshold: ThresholdRule = "validation",
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the Distributional Discrepancy of `generated` from `real`.

    Parameters
    ----------
    generated, real
        At least 10 sentences a fold (50 for one split), sharing a vocabulary; sizes may differ, nothing is dropped.
        Sentences of one group (`Corpus.groups`) stay together; equal numbers mean the same group on both sides.
    discriminator
        ``"logistic"``, an object with `fit` and `prob_real`, or a scikit-learn classifier over texts.
    folds
        Cross-fitting folds; 1 tests a tenth of each side once.
    repeats
        Cross-fitting partitions to average over, at least 1; with one fold, 1.
    threshold
        ``"validation"``: one half, or another threshold that is clearly better on validation text; ``"half"``: 1/2.
    level
        Of the interval and the certified bound, in (0, 1).
    seed
        Decides the partitions.

    Returns
    -------
    Estimate
        Twice the balanced accuracy on text the classifier did not see, less one: in [-1, 1], lower is closer, 0 for
        equal distributions (slightly negative is noise), 1 for what can always be told apart. The interval is for the
        mean over the fitted classifiers; total variation is at least that mean. Details: `certified_bound` (total
        variation is at least `value` with probability `level`; none where sentences come in groups), `p_value`
        (permutation of the scores of fold 0), `dd_distinct_texts` (every text weighs once a side), `se_sampling`
        (which sentences were tested), `sd_classifiers` (between the classifiers of folds), `sd_seeds` (between
        repeats) and `se_total`, `fold_values`, `thresholds`, `chosen`, `dd_validation`, `auc`, `cross_entropy`,
        `score_histogram` and others. Evidence: the share of classifiers that judge a sentence rightly (with groups, a
        term a group), and its probability of being real.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has too few sentences, or groups.
    OptionError
        If a setting is out of range.

    Notes
    -----
    With t the threshold of the classifier that did not see x and D(x) its score,
    ``dd = mean over real of [D(x) > t] + mean over generated of [D(x) <= t] - 1``, equation (6). The intervals are
    Newcombe's for a difference of independent proportions; with groups, Student's over groups.
    """
    metric = DistributionalDiscrepancy(discriminator, folds, repeats, threshold, level)
    return measure(metric, generated, real, seed=seed)


def exact_discrepancy(p: Mapping[Any, float], q: Mapping[Any, float]) -> float:
    """Return the discrepancy (1) of two distributions given in full: half the sum of the absolute differences.

    Parameters
    ----------
    p, q
        Sentence to probability, each at least 0, summing to 1; a sentence that is missing has probability 0.

    Returns
    -------
    float
        In [0, 1]; 0 for equal distributions, 1 for distributions without a common sentence.

    Raises
    ------
    OptionError
        If a probability is negative or they do not sum to 1.
    """
    for name, probabilities in (("p", p), ("q", q)):
        total = math.fsum(probabilities.values())
        if min(probabilities.values(), default=0.0) < 0 or not math.isclose(total, 1.0, abs_tol=1e-9):
            raise OptionError(f"{name} must hold probabilities that sum to 1, got a sum of {total:.12g}")
    differences = (abs(p.get(sentence, 0.0) - q.get(sentence, 0.0)) for sentence in {**p, **q})
    return min(1.0, math.fsum(differences) / 2)


@dataclass(frozen=True)
class _Statistics:
    """What the number is made of: one cross-fit a repeat."""

    real: Corpus
    generated: Corpus
    seed: int
    fits: tuple[CrossFit, ...]
    p_value: float


@dataclass(frozen=True)
class DistributionalDiscrepancy:
    """The metric `dd`; parameters as there."""

    discriminator: str | Discriminator | Any = "logistic"
    folds: int = 5
    repeats: int = 1
    threshold: ThresholdRule = "validation"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("folds", self.folds, 1)
        check_range("repeats", self.repeats, 1, 1 if self.folds == 1 else None)
        if not 0 < self.level < 1:
            raise OptionError(f"level must be between 0 and 1, got {self.level}")
        if self.threshold not in get_args(ThresholdRule):
            raise unknown_name("threshold", str(self.threshold), get_args(ThresholdRule))
        self._judge()

    @property
    def name(self) -> str:
        """``dd``, with the parameters that differ from their defaults."""
        judge = self._judge().name
        settings = {
            "discriminator": (judge, "logistic"),
            "folds": (self.folds, 5),
            "repeats": (self.repeats, 1),
            "threshold": (self.threshold, "validation"),
        }
        changed = [f"{key}={value}" for key, (value, default) in settings.items() if value != default]
        return f"dd({', '.join(changed)})" if changed else "dd"

    @property
    def better(self) -> Better:
        """Lower is closer to real text."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Metrics that differ in their level alone share everything else."""
        return ("dd", self.discriminator, self.folds, self.repeats, self.threshold)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text itself: folds are drawn when the seed is known."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> _Statistics:
        """Return the judgements of all sentences by classifiers that did not see them."""
        at_least = SENTENCES_PER_FOLD * (self.folds if self.folds > 1 else 5)
        check_corpora(generated, state, metric=self.name, at_least=at_least)
        fits = tuple(
            cross_fit(
                self._judge(), state, generated, folds=self.folds, threshold=self.threshold, seed=seed, repeat=repeat
            )
            for repeat in range(self.repeats)
        )
        real, test = (fits[0].real_folds == _CERTIFYING_FOLD, fits[0].generated_folds == _CERTIFYING_FOLD)
        p_value = permutation_p_value(
            fits[0].real_scores[real],
            fits[0].generated_scores[test],
            rng=stream(seed, "dd", "permutation"),
            n_resamples=N_PERMUTATIONS,
            real_groups=None if state.groups is None else state.groups[real],
            generated_groups=None if generated.groups is None else generated.groups[test],
        )
        return _Statistics(state, generated, seed, fits, p_value)

    def estimate(self, statistics: _Statistics) -> Estimate:
        """Return the discrepancy with its interval."""
        fits, real, generated = statistics.fits, statistics.real, statistics.generated
        tested = [fits[0].real_folds >= 0, fits[0].generated_folds >= 0]
        terms = [
            np.mean(side, axis=0)[rows]
            for side, rows in zip(zip(*(fit.correct() for fit in fits), strict=True), tested, strict=True)
        ]
        scores = [
            np.mean([fit.real_scores for fit in fits], axis=0),
            np.mean([fit.generated_scores for fit in fits], axis=0),
        ]
        groups = [
            None if corpus.groups is None else corpus.groups[rows]
            for corpus, rows in zip((real, generated), tested, strict=True)
        ]
        value = float(terms[0].mean() + terms[1].mean() - 1)
        evidence = [cluster_terms(side, units) for side, units in zip(terms, groups, strict=True)]
        judge = self._judge()
        return Estimate(
            metric=self.name,
            value=value,
            interval=self._interval(value, terms, groups),
            unit="fraction",
            better=self.better,
            sizes={
                "n_generated": len(generated),
                "n_real": len(real),
                "n_generated_tested": len(terms[1]),
                "n_real_tested": len(terms[0]),
            },
            signature=make_signature(
                "dd",
                generated,
                real,
                seed=statistics.seed,
                clf=judge.name,
                feats=judge.features,
                folds=self.folds,
                repeats=self.repeats,
                selection="balanced-accuracy",
                threshold=self.threshold,
                ci="newcombe" if all(side is None for side in groups) else "cluster-t",
                split="draw" if all(side is None for side in groups) else "group",
            ),
            details=self._details(statistics, terms, scores, tested, evidence),
            evidence=Evidence(evidence[0], evidence[1], scores[0], scores[1]),
        )

    def _judge(self) -> Discriminator:
        if isinstance(self.discriminator, str):
            if self.discriminator not in DISCRIMINATORS:
                raise unknown_name("discriminator", self.discriminator, DISCRIMINATORS)
            return DISCRIMINATORS[self.discriminator]()
        if isinstance(self.discriminator, Discriminator):
            return self.discriminator
        return SklearnDiscriminator(self.discriminator)

    def _interval(self, value: float, terms: list[FloatArray], groups: list[IntArray | None]) -> Interval | None:
        note = ", approximate under cross-fitting" if self.folds > 1 else ""
        if all(side is None for side in groups):
            sizes = [effective_size(side) for side in terms]
            counts = [float(side.mean()) * size for side, size in zip(terms, sizes, strict=True)]
            interval = newcombe_interval(counts[0], sizes[0], sizes[1] - counts[1], sizes[1], level=self.level)
            return Interval(interval.low, interval.high, self.level, interval.method + note)
        method = f"student over groups{note}"
        real_groups, generated_groups = groups
        shared = (
            real_groups is not None and generated_groups is not None and np.isin(real_groups, generated_groups).any()
        )
        if shared:
            n = len(terms[0]) + len(terms[1])
            parts = np.concatenate([(side - side.mean()) * (n / len(side)) for side in terms])
            samples = [cluster_terms(value + parts, np.concatenate([real_groups, generated_groups]))]
        else:
            samples = [cluster_terms(side, units) for side, units in zip(terms, groups, strict=True)]
        return terms_interval(value, samples, level=self.level, method=method, low=-1, high=1)

    def _details(
        self,
        statistics: _Statistics,
        terms: list[FloatArray],
        scores: list[FloatArray],
        tested: list[npt.NDArray[np.bool_]],
        evidence: list[FloatArray | None],
    ) -> dict[str, Any]:
        fits = statistics.fits
        corpora = (statistics.real, statistics.generated)
        per_fold = [_judge_fold(fit, fold) for fit in fits for fold in range(len(fit.folds))]
        values = np.array([judged.value for judged in per_fold])
        models = [fold for fit in fits for fold in fit.folds]
        variance = sum(float(np.var(side, ddof=1)) / len(side) for side in evidence if side is not None)
        between = _excess_spread(fits)
        seeds = [float(np.mean([np.nanmean(side) for side in fit.correct()]) * 2 - 1) for fit in fits]
        sd_seeds = float(np.std(seeds, ddof=1)) if len(fits) > 1 else None
        extra = sd_seeds**2 / len(fits) if sd_seeds is not None else (between or 0.0) ** 2 / self.folds
        edges = np.linspace(0, 1, N_BINS + 1)
        judged = [side[rows] for side, rows in zip(scores, tested, strict=True)]
        return {
            "accuracy_real": float(terms[0].mean()),
            "accuracy_generated": float(terms[1].mean()),
            "fold_values": values.tolist(),
            "thresholds": [model.threshold for model in models],
            "chosen": [dict(model.chosen) for model in models],
            "dd_validation": float(np.mean([2 * model.valid_accuracy - 1 for model in models])),
            "certified_bound": self._certified_bound(statistics),
            "p_value": statistics.p_value,
            "n_permutations": N_PERMUTATIONS,
            "dd_distinct_texts": sum(
                _mean_over_distinct(corpus, side, rows)
                for corpus, side, rows in zip(corpora, terms, tested, strict=True)
            )
            - 1,
            "se_sampling": math.sqrt(variance),
            "sd_classifiers": between,
            "sd_seeds": sd_seeds,
            "se_total": math.sqrt(variance + extra),
            "mean_score_real": float(judged[0].mean()),
            "mean_score_generated": float(judged[1].mean()),
            "auc": float(np.mean([fold.auc for fold in per_fold])),
            "cross_entropy": float(np.mean([fold.cross_entropy for fold in per_fold])),
            "score_histogram": {
                "edges": edges.tolist(),
                "real": np.histogram(judged[0], edges)[0].tolist(),
                "generated": np.histogram(judged[1], edges)[0].tolist(),
            },
            **{
                key: {"real": getattr(models[0], key)[0], "generated": getattr(models[0], key)[1]}
                for key in ("n_train", "n_valid", "n_test")
            },
        }

    def _certified_bound(self, statistics: _Statistics) -> dict[str, Any]:
        bound: dict[str, Any] = {"value": None, "level": self.level, "fold": _CERTIFYING_FOLD}
        if statistics.real.groups is not None or statistics.generated.groups is not None:
            return {**bound, "reason": "sentences of one group are not independent draws"}
        real, generated = _of_fold(statistics.fits[0], _CERTIFYING_FOLD, statistics.fits[0].correct())
        wrong = len(generated) - int(generated.sum())
        value = certified_lower_bound(int(real.sum()), len(real), wrong, len(generated), alpha=1 - self.level)
        return {**bound, "value": value}


@dataclass(frozen=True)
class _FoldJudgement:
    """How one classifier did on its test sentences."""

    value: float
    variance: float
    auc: float
    cross_entropy: float


def _of_fold(fit: CrossFit, fold: int, sides: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    return sides[0][fit.real_folds == fold], sides[1][fit.generated_folds == fold]


def _judge_fold(fit: CrossFit, fold: int) -> _FoldJudgement:
    correct = _of_fold(fit, fold, fit.correct())
    real, generated = _of_fold(fit, fold, (fit.real_scores, fit.generated_scores))
    ranks = rankdata(np.concatenate([real, generated]))[: len(real)]
    auc = (ranks.mean() - (len(real) + 1) / 2) / len(generated)
    means = [float(side.mean()) for side in correct]
    variance = sum(mean * (1 - mean) / max(1, len(side) - 1) for mean, side in zip(means, correct, strict=True))
    return _FoldJudgement(sum(means) - 1, variance, float(auc), balanced_cross_entropy(real, generated))


def _excess_spread(fits: tuple[CrossFit, ...]) -> float | None:
    """Return the standard deviation between classifiers: how far folds vary beyond the sampling of their test text."""
    n_folds = len(fits[0].folds)
    if n_folds < 2:
        return None
    excess = []
    for fit in fits:
        folds = [_judge_fold(fit, fold) for fold in range(n_folds)]
        excess.append(np.var([fold.value for fold in folds], ddof=1) - np.mean([fold.variance for fold in folds]))
    return math.sqrt(max(0.0, float(np.mean(excess))))


def _mean_over_distinct(corpus: Corpus, terms: FloatArray, tested: npt.NDArray[np.bool_]) -> float:
    """Return the mean of `terms` over distinct texts; copies of a text share its weight."""
    numbers: dict[str, int] = {}
    members = np.array([numbers.setdefault(corpus.texts[row], len(numbers)) for row in np.flatnonzero(tested).tolist()])
    return float(np.mean(np.bincount(members, weights=terms) / np.bincount(members)))
