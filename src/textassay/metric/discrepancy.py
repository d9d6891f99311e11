"""Distributional Discrepancy (dd): how much better than chance a classifier tells real from generated sentences.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1) and (6).
Departs from it: the classifier is a logistic regression over n-grams unless another is asked for; every sentence is
tested once, by cross-fitting, instead of a tenth; the number has an interval, a certified bound and a p-value. What a
classifier finds is, in expectation, at most the total variation (1), so the largest of several is nearest the truth.

One cross-fitting partition is the default. On 2,000 to 10,000 captions or news sentences, another partition moves the
value by 0.35 to 0.7 of the sampling standard error, and the interval of a single one already holds most of that, since
a classifier's whims are part of the answers it counts. Averaging eight partitions shortens the interval by a tenth to
a quarter and takes eight times as long; `repeats` asks for it.

Cross-fitting makes sentences of different folds depend on each other, since each was test text of one classifier and
training text of the other: what the pair adds to the value is counted twice, and a plain interval is too narrow. Where
the classifier found nothing but noise and the effect of one sentence on another is mutual the variance is up to twice
the plain one (a degenerate U-statistic); simulated, 1.5 times for equal distributions and 1.2 to 1.5 times otherwise,
with plain 95 % intervals covering 84 to 91 %. So the variance is taken times 1.5 (times 2 for averages over
partitions, which leave the mutual part alone): then they cover 93 to 97 %.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Discriminator, SklearnDiscriminator
from textassay.discriminator.cnn import PAPER, CnnDiscriminator
from textassay.discriminator.cross_fitting import CrossFit, ThresholdRule, cross_fit
from textassay.discriminator.fold_scores import FoldScore, roc_points, score_folds, spread_between_classifiers
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
Rows = npt.NDArray[np.bool_]

DISCRIMINATORS: Mapping[str, Callable[[], Discriminator]] = {
    "cnn": CnnDiscriminator,
    "cnn-paper": partial(CnnDiscriminator, PAPER),
    "logistic": LogisticDiscriminator,
}
N_PERMUTATIONS = 999
N_BINS = 40
SENTENCES_PER_FOLD = 10  # at least so many a side
VARIANCE_FACTORS = {"one split": 1.0, "one partition": 1.5, "several partitions": 2.0}
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
        ``"logistic"``, ``"cnn"`` (a network; needs the extra ``neural``), ``"cnn-paper"`` (the same, trained as in
        the paper), an object with `fit` and `prob_real`, or a scikit-learn classifier over texts.
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
        repeats) and `se_total` (as if those were independent of the first, so rather too large), `fold_values`,
        `thresholds`, `chosen`, `dd_validation`, `auc`, `cross_entropy`, `roc`, `score_histogram` and others. Evidence:
        whether a sentence was judged rightly (with groups, a term a group), spread around the mean by the root of
        the variance factor, and its probability of being real.

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
    Newcombe's for a difference of independent proportions; with groups, Student's over groups; the variance is taken
    times 1.5 under cross-fitting, times 2 with `repeats`, times 1 for one split.
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
        evidence = [cluster_terms(self._spread(side), units) for side, units in zip(terms, groups, strict=True)]
        details = self._details(statistics, terms, scores, tested)
        judge = self._judge()
        by_group = any(side is not None for side in groups)
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
                ci=f"{'cluster-t' if by_group else 'newcombe'} x{self._variance_factor:g}",
                split="draw" if all(side is None for side in groups) else "group",
            ),
            details={**details, **self._standard_errors(evidence, details)},
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

    @property
    def _variance_factor(self) -> float:
        partitions = "one split" if self.folds == 1 else "one partition" if self.repeats == 1 else "several partitions"
        return VARIANCE_FACTORS[partitions]

    def _spread(self, terms: FloatArray) -> FloatArray:
        """Return terms with the same mean whose plain variance is that of the value."""
        mean = terms.mean()
        return np.asarray(mean + math.sqrt(self._variance_factor) * (terms - mean), dtype=np.float64)

    def _interval(self, value: float, terms: list[FloatArray], groups: list[IntArray | None]) -> Interval | None:
        factor = self._variance_factor
        note = f", approximate under cross-fitting (variance x {factor:g})" if self.folds > 1 else ""
        if all(side is None for side in groups):
            sizes = [effective_size(side) / factor for side in terms]
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
            parts = np.concatenate([(self._spread(side) - side.mean()) * (n / len(side)) for side in terms])
            samples = [cluster_terms(value + parts, np.concatenate([real_groups, generated_groups]))]
        else:
            samples = [cluster_terms(self._spread(side), units) for side, units in zip(terms, groups, strict=True)]
        return terms_interval(value, samples, level=self.level, method=method, low=-1, high=1)

    def _details(
        self, statistics: _Statistics, terms: list[FloatArray], scores: list[FloatArray], tested: list[Rows]
    ) -> dict[str, Any]:
        """Return all details but `se_sampling` and `se_total`, from rightness and scores of the tested sentences."""
        corpora = (statistics.real, statistics.generated)
        fits = [score_folds(fit) for fit in statistics.fits]
        folds = [fold for fit in fits for fold in fit]
        models = [model for fit in statistics.fits for model in fit.folds]
        judged = [side[rows] for side, rows in zip(scores, tested, strict=True)]
        edges = np.linspace(0, 1, N_BINS + 1)
        partitions = [np.mean([np.nanmean(side) for side in fit.correct()]) * 2 - 1 for fit in statistics.fits]
        distinct = [_mean_over_distinct(*side) for side in zip(corpora, terms, tested, strict=True)]
        return {
            "accuracy_real": float(terms[0].mean()),
            "accuracy_generated": float(terms[1].mean()),
            "fold_values": [fold.value for fold in folds],
            "thresholds": [model.threshold for model in models],
            "chosen": [dict(model.chosen) for model in models],
            "dd_validation": float(np.mean([2 * model.valid_accuracy - 1 for model in models])),
            "certified_bound": self._certified_bound(statistics, fits[0][_CERTIFYING_FOLD]),
            "p_value": statistics.p_value,
            "n_permutations": N_PERMUTATIONS,
            "dd_distinct_texts": sum(distinct) - 1,
            "sd_classifiers": spread_between_classifiers(fits),
            "sd_seeds": float(np.std(partitions, ddof=1)) if len(fits) > 1 else None,
            "mean_score_real": float(judged[0].mean()),
            "mean_score_generated": float(judged[1].mean()),
            "auc": float(np.mean([fold.auc for fold in folds])),
            "cross_entropy": float(np.mean([fold.cross_entropy for fold in folds])),
            "roc": roc_points(*judged),
            "score_histogram": {
                "edges": edges.tolist(),
                "real": np.histogram(judged[0], edges)[0].tolist(),
                "generated": np.histogram(judged[1], edges)[0].tolist(),
            },
            **{
                key: dict(zip(("real", "generated"), getattr(models[0], key), strict=True))
                for key in ("n_train", "n_valid", "n_test")
            },
        }

    def _certified_bound(self, statistics: _Statistics, fold: FoldScore) -> dict[str, Any]:
        bound: dict[str, Any] = {"value": None, "level": self.level, "fold": _CERTIFYING_FOLD}
        if statistics.real.groups is not None or statistics.generated.groups is not None:
            return {**bound, "reason": "sentences of one group are not independent draws"}
        counts = (fold.n_real_correct, fold.n_real, fold.n_generated_wrong, fold.n_generated)
        return {**bound, "value": certified_lower_bound(*counts, alpha=1 - self.level)}

    def _standard_errors(self, evidence: list[FloatArray | None], details: Mapping[str, Any]) -> dict[str, float]:
        """Return the sampling standard error, and that together with the spread between classifiers."""
        variance = sum(float(np.var(side, ddof=1)) / len(side) for side in evidence if side is not None)
        if details["sd_seeds"] is None:
            extra = (details["sd_classifiers"] or 0.0) ** 2 / self.folds
        else:
            extra = details["sd_seeds"] ** 2 / self.repeats
        return {"se_sampling": math.sqrt(variance), "se_total": math.sqrt(variance + extra)}


def _mean_over_distinct(corpus: Corpus, terms: FloatArray, tested: Rows) -> float:
    """Return the mean of `terms` over distinct texts; copies of a text share its weight."""
    numbers: dict[str, int] = {}
    members = np.array([numbers.setdefault(corpus.texts[row], len(numbers)) for row in np.flatnonzero(tested).tolist()])
    return float(np.mean(np.bincount(members, weights=terms) / np.bincount(members)))
