"""Differences between generators with intervals and p-values, and ranks as intervals.

Both generators are measured against the same real text, so the real terms of their evidence are paired: the variance of
a difference is ``var(real_a - real_b) / n_real + var(generated_a) / n_a + var(generated_b) / n_b``. For metrics where
"closer to real text" is better, the difference is that of the two distances to the floor at the same sample size, whose
noise is included. Intervals are Student's with Welch-Satterthwaite degrees of freedom.

A difference says that this metric separates one generator from real text more easily than the other at this sample
size: it compares what was detected.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from textassay.comparison.caveats import MOST_CLUSTERS, N_CLUSTERS
from textassay.comparison.comparison import PairDifference, Rank, Result
from textassay.estimate import Estimate
from textassay.resampling import holm

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Terms:
    """A value that is a sum of means of independent samples, each an array of terms."""

    value: float
    samples: tuple[tuple[str, FloatArray], ...]


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
            pairs.append(PairDifference(*names, *_difference(a, b, level), None))
    known = [pair.p for pair in pairs if pair.p is not None]
    adjusted = iter(holm(np.array(known)).tolist() if known else [])
    return [pair if pair.p is None else replace(pair, p_adjusted=next(adjusted)) for pair in pairs]


def rank_intervals(results: Sequence[Result], pairs: Sequence[PairDifference], *, level: float) -> list[Rank]:
    """Return the rank interval of every generator under one metric; none where the metric has no direction.

    It runs from 1 + the number of significantly better generators to n - the number of significantly worse ones, among
    the n generators that have a value. A generator that cannot be compared with any other has no rank.
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
        return _estimate_terms(result.estimate, sign=1.0, side="a")
    if result.matched is None or result.floor is None:
        return None
    sign = 1.0 if result.matched.value >= result.floor.value else -1.0
    own = _estimate_terms(result.matched, sign=sign, side="a")
    base = _estimate_terms(result.floor, sign=-sign, side=f"floor of {result.floor.sizes.get('n_generated')}")
    if own is None or base is None:
        return None
    return _Terms(own.value + base.value, own.samples + base.samples)


def _estimate_terms(estimate: Estimate | None, *, sign: float, side: str) -> _Terms | None:
    """Return `sign` times the estimate, as terms of the real text and of `side`; None where it has no terms."""
    if estimate is None or estimate.evidence is None or not math.isfinite(estimate.value):
        return None
    evidence = estimate.evidence
    samples = []
    if evidence.real_terms is not None:
        samples.append(("real", sign * evidence.real_terms))
    if evidence.generated_terms is not None:
        samples.append((side, sign * evidence.generated_terms))
    return _Terms(sign * estimate.value, tuple(samples)) if samples else None


def _difference(a: _Terms, b: _Terms, level: float) -> tuple[float, float, float, float]:
    """Return difference, low, high and two-sided p-value."""
    samples: dict[str, FloatArray] = {}
    for sign, terms in ((1.0, a), (-1.0, b)):
        for name, values in terms.samples:
            key = ("b" if sign < 0 else "a") if name == "a" else name
            samples[key] = samples.get(key, np.zeros(1)) + sign * values
    variances = np.array([np.var(values, ddof=1) / len(values) for values in samples.values()])
    freedom = np.array([len(values) - 1 for values in samples.values()])
    difference, variance = a.value - b.value, float(variances.sum())
    if variance == 0:
        return difference, difference, difference, 1.0 if difference == 0 else 0.0
    error = math.sqrt(variance)
    df = variance**2 / float((variances**2 / freedom).sum())
    margin = float(stdtrit(df, (1 + level) / 2)) * error
    return difference, difference - margin, difference + margin, float(2 * stdtr(df, -abs(difference) / error))
