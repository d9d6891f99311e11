"""Tests whether one evaluator agrees better with the gold than another.

There are two null hypotheses. Swapping whole generators tests whether the two would differ on other generators;
swapping single texts tests whether they differ on these generators, and also calls a difference significant that is
specific to them.

Source: Deutsch, Dror, Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods", TACL
2021 (PERM-SYSTEMS, PERM-BOTH); Williams, "The comparison of regression variables", Journal of the Royal Statistical
Society B 21, 1959, as in Steiger, "Tests for comparing elements of a correlation matrix", Psychological Bulletin 87,
1980.
Departs from them: with at most 13 generators all swaps of generators are enumerated, so that p is exact.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, check_range, unknown_name
from textassay.resampling.multiplicity import holm
from textassay.seeding import stream
from textassay_lab.meta_evaluation.correlations import CorrelationKind, check_together, row_correlations
from textassay_lab.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]
Swap = Literal["generators", "texts"]

MOST_FOR_EXACT = 13  # generators: all 4,096 different swaps are enumerated
_BLOCK = 1 << 22  # swaps held at once
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CorrelationDifference:
    """Difference between the agreements of two evaluators with the gold."""

    # Their names
    gold: str
    first: str
    second: str
    kind: CorrelationKind  # Of the correlations
    difference: float  # Correlation of `first` with the gold minus that of `second`; NaN where one is undefined
    # Two-sided p-value of no difference, and adjusted by Holm's method over all pairs; NaN where the test is impossible
    p: float
    p_adjusted: float
    swap: Swap  # What was swapped: "generators" or "texts"
    p_williams: float  # Of Williams' test, for Pearson; NaN for others


def compare_correlations(
    gold: Evaluation,
    evaluations: Sequence[Evaluation],
    kind: CorrelationKind = "kendall",
    *,
    swap: Swap = "generators",
    n_resamples: int = 2_000,
    seed: int = 0,
) -> tuple[CorrelationDifference, ...]:
    """Return the difference of the correlations with `gold` of every pair of evaluators, with its p-value.

    p is the share of swaps whose difference is at least as far from 0; for random swaps ``(count + 1) / (n + 1)``. With
    ``swap="texts"`` it is NaN where one evaluator does not score texts or the two saw different texts.
    """
    if swap not in get_args(Swap):
        raise unknown_name("swap", str(swap), get_args(Swap))
    check_together([gold, *evaluations])
    check_range("n_resamples", n_resamples, 1)
    target = gold.goodness[None]
    points = [float(row_correlations(e.goodness[None], target, kind)[0]) for e in evaluations]
    pairs = list(itertools.combinations(range(len(evaluations)), 2))
    if swap == "generators":
        p_values = _swap_generators(target, evaluations, pairs, kind, n_resamples, seed)
    else:
        p_values = _swap_texts(target, evaluations, pairs, kind, n_resamples, seed)
    adjusted = holm(np.array(p_values))
    differences = []
    for (i, j), p, p_adjusted in zip(pairs, p_values, adjusted.tolist(), strict=True):
        between = math.nan
        if kind == "pearson":
            between = float(row_correlations(evaluations[i].goodness[None], evaluations[j].goodness[None], kind)[0])
        differences.append(
            CorrelationDifference(
                gold=gold.name,
                first=evaluations[i].name,
                second=evaluations[j].name,
                kind=kind,
                difference=points[i] - points[j],
                p=p,
                p_adjusted=p_adjusted,
                swap=swap,
                p_williams=williams_p(points[i], points[j], between, len(gold.generators)),
            )
        )
    return tuple(differences)


def williams_p(first: float, second: float, between: float, n: int) -> float:
    """Return the two-sided p-value of Williams' test that two Pearson correlations with one variable are equal.

    1 where the two are the same variable; NaN with fewer than four items or an undefined correlation.
    """
    if n < 4 or not all(map(math.isfinite, (first, second, between))):
        return math.nan
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    if max(abs(first), abs(second), abs(between)) > 1 + _ROUNDING or determinant < -1e-9:
        raise InputError(f"no three variables have the correlations {first:g}, {second:g} and {between:g}")
    if first == second:
        return 1.0
    mean = (first + second) / 2
    spread = 2 * max(0.0, determinant) * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if spread <= 0:
        return 0.0
    t = (first - second) * math.sqrt((n - 1) * (1 + between) / spread)
    return float(2 * stats.t.sf(abs(t), n - 3))


def _swap_generators(
    target: FloatArray,
    evaluations: Sequence[Evaluation],
    pairs: Sequence[tuple[int, int]],
    kind: CorrelationKind,
    n_resamples: int,
    seed: int,
) -> list[float]:
    n = target.shape[1]
    exact = n <= MOST_FOR_EXACT
    if exact:
        swaps = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1 == 1  # the others mirror them
    else:
        swaps = stream(seed, "meta-evaluation", "swap generators").random((n_resamples, n)) < 0.5
    scaled = [_scaled(evaluation.goodness) for evaluation in evaluations]
    p_values = []
    for i, j in pairs:
        first, second = np.where(swaps, scaled[j], scaled[i]), np.where(swaps, scaled[i], scaled[j])
        p_values.append(_p_value(first, second, scaled[i], scaled[j], target, kind, exact=exact))
    return p_values


def _swap_texts(
    target: FloatArray,
    evaluations: Sequence[Evaluation],
    pairs: Sequence[tuple[int, int]],
    kind: CorrelationKind,
    n_resamples: int,
    seed: int,
) -> list[float]:
    scaled = [None if (terms := e.goodness_terms) is None else _scaled_texts(terms) for e in evaluations]
    means = [None if texts is None else np.array([row.mean() for row in texts]) for texts in scaled]
    # Terms of jackknife groups are not texts: only evaluators that score texts take part.
    sizes = [
        None if texts is None or evaluation.texts is None else [len(row) for row in texts]
        for texts, evaluation in zip(scaled, evaluations, strict=True)
    ]
    same_texts = [(i, j) for i, j in pairs if sizes[i] is not None and sizes[i] == sizes[j]]
    moves = np.zeros((len(same_texts), n_resamples, target.shape[1]))  # changes of the values by swaps
    for column, name in enumerate(evaluations[0].generators):
        by_size: dict[int, dict[int, FloatArray]] = {}
        for place, (i, j) in enumerate(same_texts):
            gap = _row(scaled, j, column) - _row(scaled, i, column)
            by_size.setdefault(len(gap), {})[place] = gap
        for n_texts, gaps in by_size.items():
            rng = stream(seed, "meta-evaluation", "swap texts", name, n_texts)
            rows = max(1, _BLOCK // n_texts)
            for start in range(0, n_resamples, rows):
                swaps = rng.random((min(rows, n_resamples - start), n_texts)) < 0.5
                swapped = np.array(list(gaps.values())) @ swaps.T.astype(np.float64) / n_texts
                moves[list(gaps), start : start + len(swaps), column] = swapped
    p_values = dict.fromkeys(pairs, math.nan)
    for (i, j), move in zip(same_texts, moves, strict=True):
        first, second = means[i], means[j]
        assert first is not None
        assert second is not None
        p_values[i, j] = _p_value(first + move, second - move, first, second, target, kind, exact=False)
    return list(p_values.values())


def _row(scaled: Sequence[list[FloatArray] | None], place: int, column: int) -> FloatArray:
    texts = scaled[place]
    assert texts is not None
    return texts[column]


def _p_value(
    first: FloatArray,
    second: FloatArray,
    observed_first: FloatArray,
    observed_second: FloatArray,
    target: FloatArray,
    kind: CorrelationKind,
    *,
    exact: bool,
) -> float:
    """Return the share of differences at least as large as the observed one; NaN where that is undefined."""
    drawn = np.abs(row_correlations(first, target, kind) - row_correlations(second, target, kind))
    observed = row_correlations(np.array([observed_first, observed_second]), target, kind)
    difference = abs(float(observed[0] - observed[1]))
    if math.isnan(difference):
        return math.nan
    count = int(np.count_nonzero(np.nan_to_num(drawn) >= difference - _ROUNDING))
    return count / len(drawn) if exact else (count + 1) / (len(drawn) + 1)


def _scaled(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (spread or 1.0), dtype=np.float64)


def _scaled_texts(texts: dict[str, FloatArray]) -> list[FloatArray]:
    """Return the terms of all texts, standardised over all of them."""
    pooled = np.concatenate(list(texts.values()))
    spread = float(pooled.std()) or 1.0
    return [np.asarray((row - pooled.mean()) / spread, dtype=np.float64) for row in texts.values()]
