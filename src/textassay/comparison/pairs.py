"""Differences between generators with intervals and p-values, and ranks as intervals.

Both generators are measured against the same real text, so the real terms of their evidence are paired: the variance of
a difference is ``var(real_a - real_b) / n_real + var(generated_a) / n_a + var(generated_b) / n_b``. For metrics where
"closer to real text" is better, the difference is that of the two distances to the floor at the same sample size, whose
noise is included. Intervals are Student's with Welch-Satterthwaite degrees of freedom. Where texts come in groups, the
unit is what the groups of both generators connect, on whatever side it has texts.

A difference says that this metric separates one generator from real text more easily than the other at this sample
size: it compares what was detected.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from textassay.comparison.caveats import MOST_CLUSTERS, N_CLUSTERS
from textassay.comparison.comparison import PairDifference, Rank, Result
from textassay.estimate import Estimate
from textassay.inspection.dependence import UNKNOWN
from textassay.inspection.grouping import connected
from textassay.resampling.jackknife import GroupedTerms, Terms, independent_samples
from textassay.resampling.multiplicity import holm

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Sample:
    """Terms of some texts, and how the task that measured them groups these texts."""

    terms: FloatArray  # One a text or jackknife group
    groups: Mapping[str, IntArray] = field(default_factory=dict)  # Task to group numbers, of single texts
    jackknifed: IntArray | None = None  # The groups that jackknife groups keep whole

    def plus(self, sign: float, other: "_Sample | None") -> "_Sample | None":
        """Return the sum of terms of the same texts; None where terms are not of the same units."""
        if other is None:
            return replace(self, terms=sign * self.terms)
        ours, theirs = self.jackknifed, other.jackknifed
        alike = ours is theirs or (ours is not None and theirs is not None and np.array_equal(ours, theirs))
        if len(self.terms) != len(other.terms) or not alike:
            return None
        return _Sample(other.terms + sign * self.terms, {**other.groups, **self.groups}, self.jackknifed)


@dataclass(frozen=True)
class Measured:
    """A value or a difference, its standard error, and the degrees of freedom of Student's distribution."""

    value: float
    error: float
    freedom: float

    def half_width(self, level: float) -> float:
        """Return how far the one-sided limit at `level` is from the value."""
        return float(stdtrit(self.freedom, level)) * self.error if self.error > 0 else 0.0


@dataclass(frozen=True)
class _Terms:
    """A value that is a sum of means of samples; texts of one name are the same."""

    value: float
    samples: tuple[tuple[str, _Sample], ...]


def pair_differences(results: Sequence[Result], *, level: float) -> list[PairDifference]:
    """Return the difference of every pair of generators under one metric, adjusted together by Holm's method."""
    terms = {result.generator: _terms(result) for result in results}
    pairs = []
    for first, second in itertools.combinations(results, 2):
        a, b = terms[first.generator], terms[second.generator]
        names = (first.metric, first.generator, second.generator)
        if a is None or b is None or not _comparable(first, second):
            pairs.append(PairDifference(*names, None, None, None, None, None))
        else:
            found = _difference(a, b)
            margin, p = found.half_width((1 + level) / 2), _p_value(found)
            low, high = found.value - margin, found.value + margin
            pairs.append(PairDifference(*names, found.value, low, high, p, None))
    known = [pair.p for pair in pairs if pair.p is not None]
    adjusted = iter(holm(np.array(known)).tolist() if known else [])
    return [pair if pair.p is None else replace(pair, p_adjusted=next(adjusted)) for pair in pairs]


def rank_intervals(results: Sequence[Result], pairs: Sequence[PairDifference], *, level: float) -> list[Rank]:
    """Return the rank interval of every generator under one metric; none where the metric has no direction.

    It runs from 1 + the number of significantly better generators to n - the number of significantly worse ones, among
    the n generators that have a value. A generator that cannot be compared with any other has no rank, nor has one
    whose texts depend on each other in unknown groups.
    """
    if not results or results[0].better == "neither":
        return []
    sign = 1.0 if results[0].better == "higher" else -1.0
    compared = {name for pair in pairs if pair.difference is not None for name in (pair.a, pair.b)}
    able = [
        result.generator
        for result in results
        if result.estimate is not None
        and math.isfinite(result.estimate.value)
        and (result.generator in compared or not compared)
        and result.estimate.signature.settings.get("units") != UNKNOWN
    ]
    better = dict.fromkeys(able, 0)
    worse = dict.fromkeys(able, 0)
    for pair in pairs:
        if pair.p_adjusted is None or pair.difference is None or pair.p_adjusted >= 1 - level:
            continue
        winner, loser = (pair.a, pair.b) if sign * pair.difference > 0 else (pair.b, pair.a)
        better[loser] += 1
        worse[winner] += 1
    return [Rank(name, results[0].metric, 1 + better[name], len(able) - worse[name]) for name in able]


def _comparable(first: Result, second: Result) -> bool:
    """Return whether two generators have about equally many clusters, if any: with fewer, texts look more alike."""
    details = [{} if result.estimate is None else result.estimate.details for result in (first, second)]
    counts = [one[N_CLUSTERS] for one in details if N_CLUSTERS in one]
    return len(counts) < 2 or max(counts) <= MOST_CLUSTERS * min(counts)


def _terms(result: Result) -> _Terms | None:
    """Return the quantity that generators are compared by: the value, or its distance to the floor for "closer".

    Samples with the same name are shared between generators: the real text, and the floor of one size.
    """
    if result.better != "closer":
        return _estimate_terms(result.estimate, sign=1.0, side="a", task=result.generator)
    if result.matched is None or result.floor is None:
        return None
    sign = 1.0 if result.matched.value >= result.floor.value else -1.0
    floor = f"floor of {result.floor.sizes.get('n_generated')}"
    own = _estimate_terms(result.matched, sign=sign, side="a", task=result.generator)
    base = _estimate_terms(result.floor, sign=-sign, side=floor, task=floor)
    if own is None or base is None:
        return None
    return _Terms(own.value + base.value, own.samples + base.samples)


def _estimate_terms(estimate: Estimate | None, *, sign: float, side: str, task: str) -> _Terms | None:
    """Return `sign` times the estimate, as terms of the real text and of `side`; None where it has no terms."""
    if estimate is None or estimate.evidence is None or not math.isfinite(estimate.value):
        return None
    evidence = estimate.evidence
    samples = []
    for name, terms, of_texts, groups in (
        ("real", evidence.real_terms, evidence.real_text_terms, evidence.real_groups),
        (side, evidence.generated_terms, evidence.generated_text_terms, evidence.generated_groups),
    ):
        if terms is None:
            continue
        if of_texts is not None and groups is not None:
            samples.append((name, _Sample(sign * of_texts, {task: groups})))
        else:
            samples.append((name, _Sample(sign * terms, jackknifed=groups)))
    return _Terms(sign * estimate.value, tuple(samples)) if samples else None


def difference_from_floor(result: Result) -> Measured | None:
    """Return the value at the floor's size less what real text scores there; None where either has no interval."""
    floor = "floor"
    a = _estimate_terms(result.matched, sign=1.0, side="a", task=result.generator)
    b = _estimate_terms(result.floor, sign=1.0, side=floor, task=floor)
    return None if a is None or b is None else _difference(a, b)


def value_of(estimate: Estimate) -> Measured | None:
    """Return the value of an estimate with its error; None where it has no interval."""
    terms = _estimate_terms(estimate, sign=1.0, side="a", task="")
    return None if terms is None else _difference(terms, _Terms(0.0, ()))


def _difference(a: _Terms, b: _Terms) -> Measured:
    samples: dict[str, _Sample] = {}
    for sign, terms in ((1.0, a), (-1.0, b)):
        for name, sample in terms.samples:
            key = ("b" if sign < 0 else "a") if name == "a" else name
            together = sample.plus(sign, samples.get(key))
            if together is None:  # of other units: as if independent
                key, together = f"{key} {len(samples)}", replace(sample, terms=sign * sample.terms)
            samples[key] = together
    independent = [each for each in independent_samples(0.0, _joined(samples.values())) if each is not None]
    variances = np.array([np.var(values, ddof=1) / len(values) for values in independent])
    freedom = np.array([len(values) - 1 for values in independent])
    variance = float(variances.sum())
    df = variance**2 / float((variances**2 / freedom).sum()) if variance > 0 else math.inf
    return Measured(a.value - b.value, math.sqrt(variance), df)


def _p_value(found: Measured) -> float:
    """Return the two-sided p-value of no difference."""
    if found.error == 0:
        return 1.0 if found.value == 0 else 0.0
    return float(2 * stdtr(found.freedom, -abs(found.value) / found.error))


def _joined(samples: Iterable[_Sample]) -> list[Terms]:
    """Return the terms of each sample with one set of groups: what any task groups together is together."""
    samples = list(samples)
    tasks = dict.fromkeys(task for sample in samples for task in sample.groups)
    numbers, n = {}, 0
    for task in tasks:
        of_task = [sample.groups[task] for sample in samples if task in sample.groups]
        names = np.unique(np.concatenate(of_task))
        numbers[task], n = (names, n), n + len(names)
    nodes = [
        [numbers[task][1] + np.searchsorted(numbers[task][0], groups) for task, groups in sample.groups.items()]
        for sample in samples
    ]
    links = [np.stack([own[0], other]) for own in nodes for other in own]
    if not links:
        return [sample.terms for sample in samples]
    groups = connected(links, n)
    return [
        GroupedTerms(sample.terms, groups[own[0]]) if own else sample.terms
        for sample, own in zip(samples, nodes, strict=True)
    ]
