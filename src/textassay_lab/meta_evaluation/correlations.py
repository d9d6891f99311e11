"""Correlations between evaluators at generator level, with p-values, and intervals by resampling generators and texts.

Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945 (tau-b); Spearman, "The proof and
measurement of association between two things", 1904; computed by SciPy. Of the orientation and of the tables: Garbacea,
Carton, Yan, Mei, "Judge the Judges", tables 5, 7, 8; of the intervals: Deutsch, Dror, Roth, "A Statistical Analysis of
Summarization Evaluation Metrics Using Resampling Methods", TACL 2021 (BOOT-BOTH, BOOT-INPUTS).
Departs from them: with at most eight items, the p-values of ranks are exact, ties or not, where SciPy uses a normal or
Student's distribution (which gives a perfect Spearman correlation of five items a p-value of 0, not of 1/60);
generators wrote different texts, so texts are resampled within each generator, the same for all evaluators; a generator
drawn twice brings the same texts twice.
"""

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, check_range, unknown_name
from textassay.metric.base import check_level
from textassay.resampling.multiplicity import benjamini_hochberg, holm
from textassay.seeding import stream
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.rank_agreement import tau_b

FloatArray = npt.NDArray[np.float64]
CorrelationKind = Literal["kendall", "spearman", "pearson"]

MAX_EXACT = 8  # items: all 40,320 orders of eight are enumerated


@dataclass(frozen=True)
class Correlation:
    """A correlation."""

    value: float  # In [-1, 1]; NaN where a side is constant or there are fewer than two items
    p: float  # Two-sided, of independence; NaN where `value` is
    n: int  # Items
    kind: CorrelationKind  # "kendall" (tau-b), "spearman" or "pearson"
    # "exact" (all orders), "normal" or "t" (which for Pearson is exact where both sides are normal)
    p_method: Literal["exact", "normal", "t"]


def correlation(x: npt.ArrayLike, y: npt.ArrayLike, kind: CorrelationKind = "kendall") -> Correlation:
    """Return the correlation of `x` and `y` with its two-sided p-value.

    `x`, `y`: equally many finite numbers, shapes (n,).

    tau-b is (concordant - discordant pairs) / sqrt(pairs not tied in x * pairs not tied in y).
    """
    if kind not in get_args(CorrelationKind):
        raise unknown_name("correlation", kind, get_args(CorrelationKind))
    first, second = (np.asarray(side, dtype=np.float64) for side in (x, y))
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError(f"a correlation needs two lists of one length, got shapes {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a correlation needs finite numbers, got NaN or infinity")
    n = len(first)
    if n < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        reason = f"there are {n:,} items" if n < 2 else "one side is constant"
        warnings.warn(f"the {kind} correlation is undefined: {reason}", RuntimeWarning, stacklevel=2)
        return Correlation(math.nan, math.nan, n, kind, "exact")
    if kind == "pearson":
        linear = stats.pearsonr(first, second)
        return Correlation(float(linear.statistic), float(linear.pvalue), n, kind, "t")
    ranks = stats.rankdata(first), stats.rankdata(second)
    if kind == "kendall":
        result = stats.kendalltau(*ranks)
        p_method: Literal["exact", "normal", "t"] = "exact" if _scipy_is_exact(*ranks) else "normal"
    else:
        result, p_method = stats.spearmanr(*ranks), "t"
    p = float(result.pvalue)
    if n <= MAX_EXACT:
        p, p_method = _exact_p(*ranks, kind), "exact"
    return Correlation(float(result.statistic), p, n, kind, p_method)


def _exact_p(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> float:
    """Return the share of all orders of `second` whose correlation with `first` is at least as far from 0."""
    covariances, p_values = _null_distribution(tuple(np.sort(first).tolist()), tuple(np.sort(second).tolist()), kind)
    return float(p_values[np.searchsorted(covariances, abs(_covariance(first, second, kind)) - 1e-6)])


def _covariance(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> float:
    """Return the covariance of ranks (of signs of pairs for Kendall), which orders them as the correlation does."""
    if kind == "spearman":
        return float((first - first.mean()) @ (second - second.mean()))
    signs = [np.sign(ranks[:, None] - ranks) for ranks in (first, second)]
    return float(np.triu(signs[0] * signs[1], 1).sum())


@cache
def _null_distribution(
    first: tuple[float, ...], second: tuple[float, ...], kind: CorrelationKind
) -> tuple[FloatArray, FloatArray]:
    """Return the absolute covariances of all orders of two lists of ranks, ascending, and the p-value of each.

    They depend on the ranks only through ties, so they are computed once for each pattern of ties.
    """
    ranks, orders = (np.asarray(first), np.asarray(second)), _orders(len(first))
    if kind == "spearman":
        covariances = (ranks[1] - ranks[1].mean())[orders] @ (ranks[0] - ranks[0].mean())
    else:
        signs = np.sign(ranks[1][:, None] - ranks[1])
        covariances = np.zeros(len(orders))
        for one, other in itertools.combinations(range(len(first)), 2):
            covariances += np.sign(ranks[0][one] - ranks[0][other]) * signs[orders[:, one], orders[:, other]]
    absolute, counts = np.unique(np.abs(covariances).round(6), return_counts=True)
    return absolute, counts[::-1].cumsum()[::-1] / len(orders)


@cache
def _orders(n: int) -> npt.NDArray[np.int64]:
    """Return all orders of n items, the given one first, shape (n!, n)."""
    return np.array(list(itertools.permutations(range(n))))


def _scipy_is_exact(first: FloatArray, second: FloatArray) -> bool:
    """Return whether SciPy computes Kendall's p exactly: no ties, and few items or (almost) all pairs of one kind."""
    n = len(first)
    if len(np.unique(first)) < n or len(np.unique(second)) < n:
        return False
    ordered = second[np.argsort(first)]
    discordant = int(np.count_nonzero(np.triu(ordered[:, None] > ordered, 1)))
    return n <= 33 or min(discordant, n * (n - 1) // 2 - discordant) <= 1


IntArray = npt.NDArray[np.int64]

_BLOCK = 1 << 22  # counts held at once


@dataclass(frozen=True)
class Agreement:
    """Agreement of an evaluator's order of generators with a gold order: ratings, or a known order."""

    # Their names
    gold: str
    evaluator: str
    kind: CorrelationKind  # "kendall" (tau-b), "spearman" or "pearson", of values turned so that higher is better
    value: float  # In [-1, 1]; NaN where a side is constant
    # Two-sided, of independence: the value's own, and Holm's over all evaluators beside this gold and kind
    p: float
    p_adjusted: float
    # Percentile interval over other generators and other texts (BOOT-BOTH)
    low: float
    high: float
    # The same over other texts of these generators (BOOT-INPUTS)
    low_texts: float
    high_texts: float
    level: float  # Of both intervals
    n: int  # Generators
    p_method: str  # How p was computed; see `textassay_lab.meta_evaluation.correlations`


@dataclass(frozen=True, eq=False)
class CorrelationMatrix:
    """Correlations of E evaluators with one another."""

    kind: CorrelationKind  # Of the correlations
    names: tuple[str, ...]  # Of the evaluators
    # Shapes (E, E), symmetric: correlations (1 on the diagonal), two-sided p-values (0 there), and those adjusted by
    # Benjamini and Hochberg over all pairs. NaN where a side is constant.
    values: FloatArray
    p: FloatArray
    p_adjusted: FloatArray


def correlation_matrix(evaluations: Sequence[Evaluation], kind: CorrelationKind = "kendall") -> CorrelationMatrix:
    """Return the correlations of all evaluators with one another, each turned so that higher is better."""
    check_together(evaluations)
    n = len(evaluations)
    values, p = np.eye(n), np.zeros((n, n))
    first, second = np.triu_indices(n, 1)
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        pair = _correlation(evaluations[i].goodness, evaluations[j].goodness, kind)
        values[i, j] = values[j, i] = pair[0]
        p[i, j] = p[j, i] = pair[1]
    adjusted = np.zeros((n, n))
    adjusted[first, second] = benjamini_hochberg(p[first, second])
    return CorrelationMatrix(kind, tuple(e.name for e in evaluations), values, p, adjusted + adjusted.T)


def agreements(
    gold: Evaluation,
    evaluations: Sequence[Evaluation],
    kinds: Sequence[CorrelationKind] = ("kendall", "spearman", "pearson"),
    *,
    level: float = 0.95,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> tuple[Agreement, ...]:
    """Return the agreement of each evaluator with `gold`, kind by kind."""
    all_evaluations = [gold, *evaluations]
    check_together(all_evaluations)
    check_level(level)
    check_range("n_resamples", n_resamples, 1)
    goodness = draw_goodness(all_evaluations, n_resamples=n_resamples, seed=seed)
    picks = draw_generators(len(gold.generators), n_resamples=n_resamples, seed=seed)
    both = np.take_along_axis(goodness, np.broadcast_to(picks, goodness.shape), axis=2)
    results = []
    for kind in kinds:
        points = [_correlation(gold.goodness, evaluation.goodness, kind) for evaluation in evaluations]
        adjusted = holm(np.array([p for _, p, _ in points])) if points else np.zeros(0)
        for place, (evaluation, (value, p, p_method)) in enumerate(zip(evaluations, points, strict=True)):
            low, high = percentile_interval(row_correlations(both[0], both[place + 1], kind), level)
            of_texts = percentile_interval(row_correlations(goodness[0], goodness[place + 1], kind), level)
            results.append(
                Agreement(
                    gold.name, evaluation.name, kind, value, p, float(adjusted[place]), low, high, *of_texts,
                    level=level, n=len(gold.generators), p_method=p_method,
                )
            )  # fmt: skip
    return tuple(results)


def check_together(evaluations: Sequence[Evaluation]) -> None:
    """Raise unless all evaluations have distinct names and the same two or more generators in the same order.

    Those with scores of texts must have equally many.
    """
    names = [evaluation.name for evaluation in evaluations]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two evaluations are called '{name}': give each its own name")
    for evaluation in evaluations:
        if evaluation.generators != evaluations[0].generators:
            raise InputError(f"{evaluation.name} and {names[0]} must have the same generators in the same order")
    if evaluations and len(evaluations[0].generators) < 2:
        raise InputError(f"a correlation needs at least 2 generators, got {len(evaluations[0].generators)}")
    sizes: dict[str, tuple[int, str]] = {}
    for evaluation in evaluations:
        for generator, array in (evaluation.texts or {}).items():
            n, name = sizes.setdefault(generator, (len(array), evaluation.name))
            if len(array) != n:
                raise InputError(
                    f"evaluators must judge the same texts of {generator}: {evaluation.name} has {len(array)}, "
                    f"{name} has {n}"
                )


def draw_goodness(evaluations: Sequence[Evaluation], *, n_resamples: int, seed: int) -> FloatArray:
    """Return goodness over resampled texts, shape (E, n_resamples, G).

    Evaluators with equally many terms share their draws; those with another number saw other texts. One without terms
    keeps its values.
    """
    generators = evaluations[0].generators
    values = np.repeat(np.array([e.values for e in evaluations])[:, None], n_resamples, axis=1)
    for column, generator in enumerate(generators):
        by_size: dict[int, dict[int, FloatArray]] = {}
        for place, evaluation in enumerate(evaluations):
            if evaluation.terms is not None and len(evaluation.terms[generator]):
                terms = evaluation.terms[generator]
                by_size.setdefault(len(terms), {})[place] = terms - terms.mean()
        for n_texts, rows in by_size.items():
            start = 0
            for counts in text_draws(generator, n_texts, n_resamples=n_resamples, seed=seed):
                stop = start + len(counts)
                values[list(rows), start:stop, column] += np.array(list(rows.values())) @ counts.T / n_texts
                start = stop
    return np.array([evaluation.turned(drawn) for evaluation, drawn in zip(evaluations, values, strict=True)])


def text_draws(generator: str, n_texts: int, *, n_resamples: int, seed: int) -> list[FloatArray]:
    """Return how often each text of a generator is drawn, in blocks of resamples, shapes (b, n_texts)."""
    rng = stream(seed, "meta-evaluation", "texts", generator, n_texts)
    rows = max(1, _BLOCK // max(1, n_texts))
    blocks = []
    for start in range(0, n_resamples, rows):
        n = min(rows, n_resamples - start)
        picks = rng.integers(n_texts, size=(n, n_texts)) + n_texts * np.arange(n)[:, None]
        blocks.append(np.bincount(picks.ravel(), minlength=n * n_texts).reshape(n, n_texts).astype(np.float64))
    return blocks


def draw_generators(n: int, *, n_resamples: int, seed: int) -> IntArray:
    """Return places of generators drawn with replacement, shape (n_resamples, n)."""
    return stream(seed, "meta-evaluation", "generators").integers(n, size=(n_resamples, n))


def row_correlations(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> FloatArray:
    """Return the correlation of each row, shape (D,); NaN where a side is constant.

    `first`, `second`: shapes (D, n), or (1, n) for one that stands against every row of the other.
    """
    if kind == "kendall":
        return tau_b(first, second)
    if kind == "spearman":
        first, second = (stats.rankdata(side, axis=1) for side in (first, second))
    elif kind != "pearson":
        raise unknown_name("correlation", kind, ("kendall", "spearman", "pearson"))
    centred = [side - side.mean(axis=1, keepdims=True) for side in (first, second)]
    norms = [np.sqrt((side**2).sum(axis=1)) for side in centred]
    scale = [1e-13 * np.abs(side).max(axis=1, initial=0.0) for side in (first, second)]
    norms = [np.where(norm > tiny, norm, np.nan) for norm, tiny in zip(norms, scale, strict=True)]
    correlations = (centred[0] * centred[1]).sum(axis=1) / (norms[0] * norms[1])
    return np.asarray(np.clip(correlations, -1.0, 1.0), dtype=np.float64)


def percentile_interval(draws: FloatArray, level: float) -> tuple[float, float]:
    """Return the percentile interval of the draws that are defined; NaN where none is."""
    defined = draws[~np.isnan(draws)]
    if defined.size == 0:
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _correlation(first: FloatArray, second: FloatArray, kind: CorrelationKind) -> tuple[float, float, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an evaluator that calls all generators equal has NaN
        result = correlation(first, second, kind)
    return result.value, result.p, result.p_method
