"""Sampling error of a discrepancy: correct and wrong answers, their variance, the interval.

Cross-fitting makes sentences of different folds depend on each other, since each was test text of one classifier and
training text of the other: what the pair adds to the value is counted twice, and a plain interval is too narrow. Where
the classifier found nothing but noise and the effect of one sentence on another is mutual, the variance of a sum of
scores is twice the plain one (a degenerate U-statistic). Answers are signs of scores, and signs of jointly normal
scores correlate 2/pi times as much where they correlate little: 1 + 2/pi = 1.64 times. Simulated with five folds,
equal distributions: 1.6 times for the logistic regression, 1.5 (text) to 1.7 (a language of six words) for the stack;
1.2 to 1.5 times for unequal ones. With ten folds the classifiers of a small language are nearly the same one and flip
together: 1.7 to 2.2 times. So the variance is taken times 1.64, and times 2 with more than five folds and for averages
over partitions, which leave the mutual part alone. Then 95 % intervals cover 93 to 97 %.

A classifier that gives most texts the same score makes one guess about all of them. The variance is therefore at least
that of guessing on the texts with the same score (`blindness`); this matters only where these are more than half.

Source: Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS 2020 (the plain
variance, which is right for large samples where classifiers hardly depend on single sentences).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from textassay.corpus.corpus import Corpus
from textassay.estimate import Estimate, Interval
from textassay.metric.blindness import alike_share, guessing_variance
from textassay.resampling.jackknife import Terms, independent_samples, terms_interval, text_terms
from textassay.resampling.proportions import effective_size, newcombe_interval

if TYPE_CHECKING:
    from textassay.discriminator.cross_fitting import CrossFit  # loads the classifiers

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ONE_SPLIT, _FEW_FOLDS, _MANY = 1.0, 1.64, 2.0
_FEW = 5  # folds


def variance_factor(folds: int, repeats: int = 1) -> float:
    """Return the factor of the plain variance of a discrepancy: 1, 1.64 or 2."""
    return _ONE_SPLIT if folds == 1 else _FEW_FOLDS if repeats == 1 and folds <= _FEW else _MANY


def at_least_guessing(interval: Interval, value: float, variance: float) -> Interval:
    """Return `interval`, widened to the one that follows from `variance` alone if that is wider."""
    if variance == 0:
        return interval
    margin = -float(ndtri((1 - interval.level) / 2)) * math.sqrt(variance)
    low, high = max(-1.0, min(interval.low, value - margin)), min(1.0, max(interval.high, value + margin))
    if (low, high) == (interval.low, interval.high):
        return interval
    return Interval(low, high, interval.level, f"{interval.method}, no shorter than guessing on texts scored alike")


def interval_at(estimate: Estimate, level: float) -> Interval | None:
    """Return the interval of a measured dd at another level, from its evidence; None where it is not Newcombe's."""
    settings, evidence = estimate.signature.settings, estimate.evidence
    if evidence is None or not settings.get("ci", "").startswith("newcombe"):
        return None
    real, generated = evidence.real_terms, evidence.generated_terms
    if real is None or generated is None:
        return None
    factor = variance_factor(int(settings["folds"]), int(settings["repeats"]))
    n_real, n_generated = _counted(real, factor), _counted(generated, factor)
    shares = np.clip([real.mean(), generated.mean()], 0, 1).tolist()  # spread terms have the mean but for rounding
    return newcombe_interval(shares[0] * n_real, n_real, (1 - shares[1]) * n_generated, n_generated, level=level)


def _counted(terms: FloatArray, factor: float) -> float:
    """Return the number of independent answers with the variance of the mean of these spread ones."""
    share, variance = float(terms.mean()), float(np.var(terms))
    return len(terms) * share * (1 - share) / variance if variance > 0 else len(terms) / factor


@dataclass(frozen=True)
class Answers:
    """Correct answers on the tested texts."""

    # Of real and generated sentences: the share of cross-fits in which each was judged rightly
    terms: tuple[FloatArray, FloatArray]
    groups: tuple[IntArray | None, IntArray | None]  # Group numbers of the same sentences, or none
    factor: float  # Factor of the plain variance
    alike: float = 0.0  # Share of the sentences that the judge scored exactly alike on both sides; see `alike_share`
    # Hexadecimal digits that select the terms of the evidence that stand for lucky guesses, different for each
    # generator
    key: str = "0"

    @classmethod
    def of(cls, fits: "Sequence[CrossFit]", real: Corpus, generated: Corpus) -> "Answers":
        """Return the answers of one or several cross-fits of the same corpora."""
        tested = (fits[0].real_folds >= 0, fits[0].generated_folds >= 0)
        correct = tuple(zip(*(fit.correct() for fit in fits), strict=True))
        terms = [np.mean(side, axis=0)[rows] for side, rows in zip(correct, tested, strict=True)]
        groups = [
            None if corpus.groups is None else corpus.groups[rows]
            for corpus, rows in zip((real, generated), tested, strict=True)
        ]
        alike = [
            alike_share(
                (real.texts, generated.texts),
                (fit.real_scores, fit.generated_scores),
                (fit.real_folds, fit.generated_folds),
            )
            for fit in fits
        ]
        factor = variance_factor(len(fits[0].folds), len(fits))
        share = float(np.mean(alike))
        return cls((terms[0], terms[1]), (groups[0], groups[1]), factor, share, generated.fingerprint if share else "0")

    @property
    def value(self) -> float:
        return float(self.terms[0].mean() + self.terms[1].mean() - 1)

    @property
    def by_group(self) -> bool:
        return any(side is not None for side in self.groups)

    @property
    def evidence(self) -> tuple[Terms | None, Terms | None]:
        """Terms, one a sentence, whose variance is that of the value; None of a side of one group."""
        real, generated = map(self._spread, self.terms)
        extra = self._guessing - _variance(self._samples(real, generated)) if self._guessing else 0.0
        if extra > 0:
            each = math.sqrt(extra / (1 / len(real) + 1 / len(generated)))
            real, generated = _guessed(real, each, self.key, 0), _guessed(generated, each, self.key, 1)
        return self._samples(real, generated)

    @property
    def standard_error(self) -> float:
        """Of the value, by the sampling of the tested sentences."""
        return math.sqrt(_variance(self.evidence))

    def interval(self, level: float) -> Interval | None:
        """Return Newcombe's interval or, with groups, Student's over groups; None where those are too few."""
        note = f", approximate under cross-fitting (variance x {self.factor:g})" if self.factor != 1 else ""
        if not self.by_group:
            sizes = [effective_size(side) / self.factor for side in self.terms]
            counts = [float(side.mean()) * size for side, size in zip(self.terms, sizes, strict=True)]
            interval = newcombe_interval(counts[0], sizes[0], sizes[1] - counts[1], sizes[1], level=level)
            interval = Interval(interval.low, interval.high, level, interval.method + note)
            return at_least_guessing(interval, self.value, self._guessing)
        method = f"student over groups{note}"
        interval_of_groups = terms_interval(self.value, self.evidence, level=level, method=method, low=-1, high=1)
        if interval_of_groups is None:
            return None
        return at_least_guessing(interval_of_groups, self.value, self._guessing)

    @property
    def _guessing(self) -> float:
        """Variance of guessing on the texts with the same score; a group is one guess."""
        sizes = [
            len(side) if units is None else len(np.unique(units))
            for side, units in zip(self.terms, self.groups, strict=True)
        ]
        return self.factor * guessing_variance(self.alike, *sizes)

    def _samples(self, real: FloatArray, generated: FloatArray) -> tuple[Terms | None, Terms | None]:
        return text_terms(real, self.groups[0]), text_terms(generated, self.groups[1])

    def _spread(self, terms: FloatArray) -> FloatArray:
        """Return terms with the same mean whose plain variance is that of the value."""
        mean = terms.mean()
        return np.asarray(mean + math.sqrt(self.factor) * (terms - mean), dtype=np.float64)


def _variance(samples: Iterable[Terms | None]) -> float:
    """Return the variance of a value from samples of its terms; sides without any add nothing."""
    independent = independent_samples(0.0, [sample for sample in samples if sample is not None])
    return sum(float(np.var(sample, ddof=1)) / len(sample) for sample in independent if sample is not None)


def _guessed(terms: FloatArray, each: float, key: str, side: int) -> FloatArray:
    """Return terms with the same mean, half of them moved up by `each` and half down, selected by `key` and `side`."""
    signs = np.tile([-1.0, 1.0], (len(terms) + 1) // 2)[: len(terms)]
    signs[len(terms) // 2 * 2 :] = 0
    return terms + each * np.random.default_rng([int(key[:16], 16), side]).permutation(signs)
