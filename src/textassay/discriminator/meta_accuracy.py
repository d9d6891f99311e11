"""How often a discriminative evaluator is right: of each generator's texts, of real ones, of all; tables of several.

Of one generator it is the share of its texts that are called generated: the lower, the better the generator. Over all
generators texts count alike, so that one with fewer weighs less; "all" is the mean of real and generated.

Sources: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", tables 3 and 4 (their layout); Wilson, "Probable inference, the law of succession, and statistical
inference", JASA 22, 1927; Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
Medicine 27, 2008 (the interval of "all" from those of its two halves).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from statsmodels.stats.proportion import proportion_confint

from textassay.display import Displayed
from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Estimate, Evidence, Interval, Signature

if TYPE_CHECKING:
    import pandas as pd


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Kind = Literal["meta", "individual"]

ALL, REAL, GENERATED = "(all)", "(real)", "(generated)"


@dataclass(frozen=True)
class Accuracy:
    """Share of right answers, of how many texts, of which so many differ; the interval is clustered by text."""

    value: float
    interval: Interval
    n_texts: int
    n_distinct: int


@dataclass(frozen=True, eq=False, kw_only=True)
class MetaEvaluation(Displayed):
    """What one discriminative evaluator says of all texts."""

    name: str  # Of the discriminator, such as ``svm``
    kind: Kind  # ``meta``: one judge of all generators; ``individual``: one for each
    # Probability of being real of each real text, by a judge that saw neither it nor an equal text; one row a judge,
    # shape (1, n_real), or (n_generators, n_real) where judges are individual
    real_scores: FloatArray
    # Generator to the same of its texts, shape (N,), by the judge that is asked about it
    generated_scores: Mapping[str, FloatArray]
    # Equal numbers mean equal texts, shapes (n_real,) and, by generator, (N,)
    real_clusters: IntArray
    generated_clusters: Mapping[str, IntArray]
    # Texts of each generator that stand, equal, in the training or validation text; 0 under cross-fitting
    n_seen: Mapping[str, int]
    level: float  # Of the intervals
    inflation: float  # What plain variances are multiplied by: judges of several folds depend on one another
    signature: Signature  # Every setting that can change the numbers
    chosen: tuple[Mapping[str, Any], ...] = ()  # What each fitted judge chose, and of which generator and fold it is
    seconds: float = 0.0  # Wall time of all fits, summed

    by_generator: Mapping[str, Accuracy] = field(init=False)
    real: Accuracy = field(init=False)
    generated: Accuracy = field(init=False)
    all: Accuracy = field(init=False)

    def __post_init__(self) -> None:
        right = {name: (scores <= 0.5).astype(np.float64) for name, scores in self.generated_scores.items()}
        clusters = self.generated_clusters
        found = {name: _accuracy(right[name], clusters[name], self.level, self.inflation) for name in right}
        real = _accuracy((self.real_scores > 0.5).mean(axis=0), self.real_clusters, self.level, self.inflation)
        pooled = [np.concatenate([arrays[name] for name in right]) for arrays in (right, clusters)]
        generated = _accuracy(pooled[0], pooled[1].astype(np.int64), self.level, self.inflation)
        _, value = overall_accuracy(
            {name: one.value for name, one in found.items()},
            {name: one.n_texts for name, one in found.items()},
            real.value,
        )
        distinct = len(np.union1d(pooled[1], self.real_clusters))
        together = Accuracy(value, _mean_interval(real, generated), real.n_texts + generated.n_texts, distinct)
        for name, one in (("by_generator", found), ("real", real), ("generated", generated), ("all", together)):
            object.__setattr__(self, name, one)

    @property
    def generators(self) -> tuple[str, ...]:
        """Names of the generators, in order."""
        return tuple(self.generated_scores)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a generator, then all, real and generated texts, as fractions; see `Accuracy`."""
        import pandas as pd

        rows = {**self.by_generator, ALL: self.all, REAL: self.real, GENERATED: self.generated}
        return pd.DataFrame.from_dict(
            {
                name: [one.value, one.interval.low, one.interval.high, one.n_texts, one.n_distinct]
                for name, one in rows.items()
            },
            orient="index",
            columns=["accuracy", "low", "high", "n_texts", "n_distinct"],
        ).astype({"n_texts": int, "n_distinct": int})

    def to_estimates(self) -> dict[str, Estimate]:
        """Return the accuracy on each generator's texts as an estimate, lower is better.

        Its terms are 1 where a text was called generated; its scores are the probabilities of being generated.
        """
        return {
            name: Estimate(
                metric=f"{self.name}-{self.kind}",
                value=one.value,
                interval=one.interval,
                unit="fraction",
                better="lower",
                sizes={"n_generated": one.n_texts, "n_distinct": one.n_distinct, "n_real": self.real.n_texts},
                signature=self.signature,
                details={"n_seen": self.n_seen[name]},
                evidence=Evidence(
                    None, (self.generated_scores[name] <= 0.5).astype(np.float64), None, 1 - self.generated_scores[name]
                ),
            )
            for name, one in self.by_generator.items()
        }


def accuracy_table(evaluations: Sequence[MetaEvaluation]) -> "pd.DataFrame":
    """Return the layout of table 4: a column an evaluator, a row a generator, then all, real and generated; fractions.

    Raises
    ------
    OptionError
        If there is none, two have one name and kind, or the generators differ.
    """
    import pandas as pd

    names = [f"{one.name} ({one.kind})" for one in evaluations]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"a table needs evaluators, each once, got {', '.join(names) or 'none'}")
    if any(one.generators != evaluations[0].generators for one in evaluations):
        raise OptionError("the evaluators judged different generators, or in another order")
    return pd.DataFrame({name: one.to_frame()["accuracy"] for name, one in zip(names, evaluations, strict=True)})


def overall_accuracy(by_generator: Mapping[str, float], n_texts: Mapping[str, int], real: float) -> tuple[float, float]:
    """Return the accuracy on all generated texts, generators weighing as many texts as they have, and on all texts."""
    generated = float(
        np.average([by_generator[name] for name in by_generator], weights=[n_texts[g] for g in by_generator])
    )
    return generated, (real + generated) / 2


def clustered_interval(correct: FloatArray, clusters: IntArray, *, level: float, inflation: float = 1.0) -> Interval:
    """Return Wilson's interval of a share for as many independent texts as vary like these clusters.

    `correct`: 1 for right, 0 for wrong, or a share between, shape (N,), at least one; `clusters`: equal numbers mean
    equal texts, shape (N,).

    In [0, 1]. Where all are right, or all wrong, clusters count as if each gave one answer.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    n = len(correct)
    if n == 0:
        raise EmptyCorpusError("an accuracy needs at least one text")
    share = float(np.mean(correct))
    _, members, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    residuals = np.bincount(members.reshape(-1), weights=correct - share)
    variance = float(np.sum(residuals**2)) / n**2 * len(sizes) / max(1, len(sizes) - 1)
    copies = n**2 / float(np.sum(sizes.astype(np.float64) ** 2))
    size = (share * (1 - share) / variance if variance > 0 and 0 < share < 1 else copies) / inflation
    low, high = proportion_confint(share * size, size, alpha=1 - level, method="wilson")
    return Interval(max(0.0, float(low)), min(1.0, float(high)), level, "wilson clustered by text")


def _accuracy(correct: FloatArray, clusters: IntArray, level: float, inflation: float) -> Accuracy:
    interval = clustered_interval(correct, clusters, level=level, inflation=inflation)
    return Accuracy(float(np.mean(correct)), interval, len(correct), len(np.unique(clusters)))


def _mean_interval(first: Accuracy, second: Accuracy) -> Interval:
    """Return the interval of the mean of two independent shares from theirs."""
    below, above = (
        math.hypot(*(one.value - one.interval.low for one in (first, second))) / 2,
        math.hypot(*(one.interval.high - one.value for one in (first, second))) / 2,
    )
    value = (first.value + second.value) / 2
    return Interval(
        max(0.0, value - below), min(1.0, value + above), first.interval.level, "from both sides' intervals"
    )
