"""Differences between generators with intervals and p-values, ranks as intervals, and warnings where numbers mislead.

Both generators are measured against the same real text, so the real terms of their evidence are paired: the variance of
a difference is ``var(real_a - real_b) / n_real + var(generated_a) / n_a + var(generated_b) / n_b``. For metrics where
"closer to real text" is better, the difference is that of the two distances to the floor at the same sample size, whose
noise is included. Intervals are Student's with Welch-Satterthwaite degrees of freedom.

A difference says that this metric separates one generator from real text more easily than the other at this sample
size: it compares what was detected.
"""

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from textassay.comparison.comparison import FLOOR, TRAIN, PairDifference, Rank, Result
from textassay.estimate import Estimate
from textassay.inspection import HELDOUT
from textassay.resampling import holm

FloatArray = npt.NDArray[np.float64]

MATCHED = " at the floor's size"  # suffix of the name of a generator measured at that size
_REFERENCES = (FLOOR, HELDOUT, TRAIN)
_N_CLUSTERS = "n_clusters"  # the detail that holds the number of clusters
_MOST_CLUSTERS = 1.1  # largest ratio of numbers of clusters to compare at: mauve of poor text then moves by 6 %
_MUCH = 1.25  # ratio of numbers of texts from which size-sensitive values are not comparable


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
    counts = [one[_N_CLUSTERS] for one in details if _N_CLUSTERS in one]
    return len(counts) < 2 or max(counts) <= _MOST_CLUSTERS * min(counts)


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


def heldout_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric whose p-value separates held-out real text from the real text."""
    messages = []
    for result in results:
        p = None if result.estimate is None else result.estimate.details.get("p_value")
        if result.generator == HELDOUT and p is not None and p < alpha:
            assert result.estimate is not None
            messages.append(
                f"the held-out real text itself differs from the real text "
                f"({result.metric} {result.estimate.value:.2f}, "
                f"p {p:.2g}): no generator can be expected to come closer than that"
            )
    return messages


def train_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric by which the training text is further from the real text than the floor is.

    The p-value must be significant and the interval lie above the floor. Where no metric has a p-value, the first one
    with a direction decides, by its intervals at the floor's size.
    """
    rows = [result for result in results if result.generator == TRAIN and result.better != "neither"]
    tests = [result for result in rows if result.estimate is not None and "p_value" in result.estimate.details]
    apart = (
        [result for result in tests if _is_apart(result, alpha)] if tests else list(filter(_intervals_apart, rows[:1]))
    )
    messages = []
    for result in apart:
        estimate = result.estimate if tests else result.matched
        assert estimate is not None
        p = estimate.details.get("p_value")
        evidence = f"{result.metric} {estimate.value:.2f}" + ("" if p is None else f", p {p:.2g}")
        evidence += "" if result.floor is None else f"; real text against itself {result.floor.value:.2f}"
        messages.append(
            f"the training text itself differs from the real text ({evidence}): no generator that learnt from it can "
            "be expected to come closer than that; compare with real text of the same source as the training text"
        )
    return messages


def _is_apart(result: Result, alpha: float) -> bool:
    estimate, floor = result.estimate, result.floor
    assert estimate is not None
    if not estimate.details["p_value"] < alpha:
        return False
    return floor is None or estimate.interval is None or estimate.interval.low > max(floor.value, 0.0)


def _intervals_apart(result: Result) -> bool:
    intervals = [None if each is None else each.interval for each in (result.matched, result.floor)]
    if intervals[0] is None or intervals[1] is None:
        return False
    return intervals[0].low > intervals[1].high or intervals[0].high < intervals[1].low


def unequal_sizes(results: Sequence[Result], size_sensitive: Collection[str]) -> list[str]:
    """Return a warning where generators have different numbers of texts and metrics depend on that number."""
    known: dict[str, Estimate] = {}
    metrics: dict[str, None] = {}
    for result in results:
        if result.generator in _REFERENCES or result.estimate is None or "n_generated" not in result.estimate.sizes:
            continue
        known.setdefault(result.generator, result.estimate)
        if _N_CLUSTERS in result.estimate.details:
            continue
        if result.metric in size_sensitive and result.better in ("lower", "higher"):
            metrics[result.metric.split("(")[0]] = None
    sizes = {name: estimate.sizes["n_generated"] for name, estimate in known.items()}
    most = max(sizes.values(), default=0)
    fewer = [name for name, size in sizes.items() if size * _MUCH < most]
    if not fewer or not metrics:
        return []
    listed = ", ".join(f"{name} {sizes[name]}" for name in fewer)
    return [
        f"the generators have different numbers of texts ({listed}; the largest {most}), on which {', '.join(metrics)} "
        "depend: do not compare these values with those of the others; give every generator the same number"
    ]


def unlike_clusters(results: Sequence[Result]) -> list[str]:
    """Return a warning for every clustering metric that has far fewer clusters for some generators than for others."""
    messages = []
    for metric in dict.fromkeys(result.metric for result in results):
        counts = {
            result.generator: result.estimate.details[_N_CLUSTERS]
            for result in results
            if result.metric == metric and result.estimate is not None and _N_CLUSTERS in result.estimate.details
            if result.generator not in _REFERENCES
        }
        most = max(counts.values(), default=0)
        fewer = {name: n for name, n in counts.items() if most > _MOST_CLUSTERS * n}
        if fewer:
            listed = ", ".join(f"{name} {n}" for name, n in fewer.items())
            messages.append(
                f"{metric} has fewer clusters for some generators ({listed}; the largest {most}): there is one for "
                "every ten texts of the smaller side, and fewer make the value higher, so these are not compared "
                "with the others; give every generator the same number of texts"
            )
    return messages


def mixed_log_probs(results: Sequence[Result]) -> list[str]:
    """Return a warning for every metric that used log-probabilities of some generators but not of others."""
    messages = []
    for metric in dict.fromkeys(result.metric for result in results):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for result in results:
            if result.metric == metric and result.estimate is not None and result.generator not in _REFERENCES:
                sides["log_probs" in result.estimate.signature.settings].append(result.generator)
        if sides[True] and sides[False]:
            messages.append(
                f"{metric} of {', '.join(sides[True])} was measured with the generator's log-probabilities, "
                f"{metric} of {', '.join(sides[False])} without, which detects less: differences and ranks between the "
                "two mean nothing; give --log-probs for all generators or none"
            )
    return messages


def supported(warnings: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Drop warnings that text is likelier than real text where the intervals overlap."""
    if not warnings:
        return []

    from textassay.metric import LIKELIER

    unsupported = tuple(
        f"{result.metric} of {result.generator}{size}: {LIKELIER}"
        for result in results
        for size in ("", MATCHED)
        if not _is_below_floor(result)
    )
    return [warning for warning in warnings if not warning.startswith(unsupported)]


def _is_below_floor(result: Result) -> bool:
    """Return whether the interval at the floor's size lies below the floor's."""
    if result.matched is None or result.floor is None:
        return False
    own, floor = result.matched.interval, result.floor.interval
    return own is not None and floor is not None and own.high < floor.low
