"""What the sampling of sentences does to a discrepancy: right and wrong answers, their variance, the interval.

Cross-fitting makes sentences of different folds depend on each other, since each was test text of one classifier and
training text of the other: what the pair adds to the value is counted twice, and a plain interval is too narrow. Where
the classifier found nothing but noise and the effect of one sentence on another is mutual the variance is up to twice
the plain one (a degenerate U-statistic); simulated, 1.5 times for equal distributions and 1.2 to 1.5 times otherwise,
with plain 95 % intervals covering 84 to 91 %. So the variance is taken times 1.5 (times 2 for averages over
partitions, which leave the mutual part alone): then they cover 93 to 97 %.

Source: Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS 2020 (the plain
variance, which is right for large samples where classifiers hardly depend on single sentences).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.cross_fitting import CrossFit
from textassay.estimate import Interval
from textassay.resampling.jackknife import cluster_terms, terms_interval
from textassay.resampling.proportion import effective_size, newcombe_interval

__all__ = ["VARIANCE_FACTORS", "Answers", "variance_factor"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

VARIANCE_FACTORS = {"one split": 1.0, "one partition": 1.5, "several partitions": 2.0}


def variance_factor(folds: int, repeats: int = 1) -> float:
    """Return what the plain variance of a discrepancy is multiplied by."""
    return VARIANCE_FACTORS["one split" if folds == 1 else "one partition" if repeats == 1 else "several partitions"]


@dataclass(frozen=True)
class Answers:
    """How often the tested sentences were judged rightly.

    Attributes
    ----------
    terms
        Of real and generated sentences: the share of cross-fits in which each was judged rightly.
    groups
        Group numbers of the same sentences, or none.
    factor
        What the plain variance is multiplied by.
    """

    terms: tuple[FloatArray, FloatArray]
    groups: tuple[IntArray | None, IntArray | None]
    factor: float

    @classmethod
    def of(cls, fits: Sequence[CrossFit], real: Corpus, generated: Corpus) -> "Answers":
        """Return the answers of one or several cross-fits of the same corpora."""
        tested = (fits[0].real_folds >= 0, fits[0].generated_folds >= 0)
        right = tuple(zip(*(fit.correct() for fit in fits), strict=True))
        terms = [np.mean(side, axis=0)[rows] for side, rows in zip(right, tested, strict=True)]
        groups = [
            None if corpus.groups is None else corpus.groups[rows]
            for corpus, rows in zip((real, generated), tested, strict=True)
        ]
        return cls((terms[0], terms[1]), (groups[0], groups[1]), variance_factor(len(fits[0].folds), len(fits)))

    @property
    def value(self) -> float:
        """The discrepancy."""
        return float(self.terms[0].mean() + self.terms[1].mean() - 1)

    @property
    def by_group(self) -> bool:
        """Whether sentences of some side come in groups."""
        return any(side is not None for side in self.groups)

    @property
    def evidence(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Terms, one a sentence or group, whose plain variance is that of the value; None of a side of one group."""
        real, generated = (
            cluster_terms(self._spread(side), units) for side, units in zip(self.terms, self.groups, strict=True)
        )
        return real, generated

    @property
    def standard_error(self) -> float:
        """Of the value, by the sampling of the tested sentences."""
        return math.sqrt(sum(float(np.var(side, ddof=1)) / len(side) for side in self.evidence if side is not None))

    def interval(self, level: float) -> Interval | None:
        """Return Newcombe's interval or, with groups, Student's over groups; None where those are too few."""
        note = f", approximate under cross-fitting (variance x {self.factor:g})" if self.factor != 1 else ""
        if not self.by_group:
            sizes = [effective_size(side) / self.factor for side in self.terms]
            counts = [float(side.mean()) * size for side, size in zip(self.terms, sizes, strict=True)]
            interval = newcombe_interval(counts[0], sizes[0], sizes[1] - counts[1], sizes[1], level=level)
            return Interval(interval.low, interval.high, level, interval.method + note)
        real_groups, generated_groups = self.groups
        samples: Sequence[FloatArray | None] = self.evidence
        if real_groups is not None and generated_groups is not None and np.isin(real_groups, generated_groups).any():
            n = sum(map(len, self.terms))
            parts = np.concatenate([(self._spread(side) - side.mean()) * (n / len(side)) for side in self.terms])
            samples = [cluster_terms(self.value + parts, np.concatenate([real_groups, generated_groups]))]
        return terms_interval(self.value, samples, level=level, method=f"student over groups{note}", low=-1, high=1)

    def _spread(self, terms: FloatArray) -> FloatArray:
        """Return terms with the same mean whose plain variance is that of the value."""
        mean = terms.mean()
        return np.asarray(mean + math.sqrt(self.factor) * (terms - mean), dtype=np.float64)
