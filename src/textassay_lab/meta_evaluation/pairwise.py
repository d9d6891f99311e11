"""Pairs of generators: which an evaluator orders as the gold does, which it gets wrong, and how significantly.

Source: Deutsch, Foster, Freitag, "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration", EMNLP 2023 (pairwise accuracy with ties); Thompson, Mathur, Deutsch, Khayrallah, "Improving Statistical
Significance in Human Evaluation of Automatic Metrics via Soft Pairwise Accuracy", WMT 2024.
Departs from them: unless `aligned`, generators wrote different texts, so the texts of two generators are pooled and
permuted, where the second swaps the two outputs for one input; draws equal to the observed difference count half, so
that the p-values of both orders of a pair add up to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, check_range
from textassay.resampling.multiplicity import holm
from textassay.seeding import stream
from textassay_lab.meta_evaluation.correlations import check_together
from textassay_lab.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]

_BLOCK = 1 << 22  # labels held at once
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairCall:
    """An evaluator's order of two generators that the gold does not call equal."""

    # Their names
    gold: str
    evaluator: str
    # The two generators, by the gold's values
    better: str
    worse: str
    # Goodness of `better` minus that of `worse`, by the gold (above 0) and by the evaluator (below 0: it is wrong)
    gold_difference: float
    difference: float
    # Two-sided p-values of these differences, adjusted by Holm's method over all pairs; None without terms of texts (a
    # known order has no error)
    gold_p: float | None
    p: float | None
    verdict: str  # "right", "wrong" or "tie"

    def gold_separates(self, alpha: float = 0.05) -> bool:
        """Return whether the gold separates the two at `alpha`."""
        return self.gold_p is None or self.gold_p < alpha


def calls(gold: Evaluation, evaluation: Evaluation) -> tuple[PairCall, ...]:
    """Return the evaluator's order of every pair that `gold` does not call equal, the largest gold difference first."""
    check_together([gold, evaluation])
    gold_p, own_p = separation(gold), separation(evaluation)
    gold_values, values = gold.goodness, evaluation.goodness
    pair_calls = []
    for i, j in zip(*np.triu_indices(len(values), 1), strict=True):
        if gold_values[i] == gold_values[j]:
            continue
        best, other = (i, j) if gold_values[i] > gold_values[j] else (j, i)
        difference = float(values[best] - values[other])
        pair_calls.append(
            PairCall(
                gold=gold.name,
                evaluator=evaluation.name,
                better=gold.generators[best],
                worse=gold.generators[other],
                gold_difference=float(gold_values[best] - gold_values[other]),
                difference=difference,
                gold_p=None if gold_p is None else float(gold_p[i, j]),
                p=None if own_p is None else float(own_p[i, j]),
                verdict="right" if difference > 0 else "wrong" if difference < 0 else "tie",
            )
        )
    return tuple(sorted(pair_calls, key=lambda call: -call.gold_difference))


def pairwise_accuracy(gold: Evaluation, evaluation: Evaluation, *, epsilon: float = 0.0) -> float:
    """Return the share of pairs of generators that both order the same way, or that both call equal."""
    check_together([gold, evaluation])
    check_range("epsilon", epsilon, 0)
    one, other = np.triu_indices(len(gold.generators), 1)
    signs = np.sign(gold.goodness[one] - gold.goodness[other])
    differences = evaluation.goodness[one] - evaluation.goodness[other]
    evaluator_signs = np.where(np.abs(differences) <= epsilon, 0.0, np.sign(differences))
    return float(np.mean(signs == evaluator_signs))


def separation(evaluation: Evaluation) -> FloatArray | None:
    """Return two-sided p-values of all differences between generators, adjusted by Holm's method, shape (G, G).

    Welch's test on the terms of the texts, with the real text fixed; 1 on the diagonal. None without terms.
    """
    terms = evaluation.goodness_terms
    if terms is None:
        return None
    n = len(evaluation.generators)
    sizes = np.array([len(row) for row in terms.values()])
    own = np.array([row.var(ddof=1) / len(row) if len(row) > 1 else np.nan for row in terms.values()])
    one, other = np.triu_indices(n, 1)
    differences = np.abs(evaluation.goodness[one] - evaluation.goodness[other])
    variances = own[one] + own[other]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variances**2 / (own[one] ** 2 / (sizes[one] - 1) + own[other] ** 2 / (sizes[other] - 1))
        p = 2 * stats.t.sf(differences / np.sqrt(variances), freedom)
    p = np.where(variances == 0, np.where(differences == 0, 1.0, 0.0), p)
    p_matrix = np.zeros((n, n))
    p_matrix[one, other] = holm(p)
    return np.asarray(p_matrix + p_matrix.T + np.eye(n), dtype=np.float64)


def pair_p_values(
    evaluations: Sequence[Evaluation], *, aligned: bool = False, n_resamples: int = 1_000, seed: int = 0
) -> FloatArray:
    """Return one-sided p-values that the row's generator is no better than the column's, shape (E, G, G).

    In (0, 1), 0.5 on the diagonal; p[i, j] + p[j, i] is 1. NaN for an evaluator without terms.
    """
    check_together(evaluations)
    check_range("n_resamples", n_resamples, 1)
    names = evaluations[0].generators
    p = np.full((len(evaluations), len(names), len(names)), np.nan)
    by_sizes: dict[tuple[int, ...], list[int]] = {}
    for place, evaluation in enumerate(evaluations):
        if evaluation.terms is not None:
            by_sizes.setdefault(tuple(map(len, evaluation.terms.values())), []).append(place)
    for sizes, places in by_sizes.items():
        if aligned and len(set(sizes)) > 1:
            raise InputError("aligned texts: every generator must have one text for each input, got different numbers")
        of_all = [terms for place in places if (terms := evaluations[place].goodness_terms) is not None]
        texts = [np.array([terms[name] for terms in of_all]) for name in names]
        p[places] = _p_values(texts, aligned=aligned, n_resamples=n_resamples, seed=seed)
    return p


def soft_pairwise_accuracy(gold: FloatArray, evaluator: FloatArray) -> float:
    """Return the mean over pairs of generators of 1 - |difference of the two one-sided p-values|, in [0, 1].

    `gold`, `evaluator`: from `pair_p_values`, shape (G, G). 1 where both have the same p-value for every pair, 0 where
    both are certain of opposite orders; an undecided evaluator (p of 0.5) gets at least 0.5. NaN without p-values.
    """
    one, other = np.triu_indices(len(gold), 1)
    return float(np.mean(1 - np.abs(gold[one, other] - evaluator[one, other]))) if len(one) else math.nan


def _p_values(texts: Sequence[FloatArray], *, aligned: bool, n_resamples: int, seed: int) -> FloatArray:
    """Return the p-values of evaluators that saw the same texts, from G arrays of shape (n_evaluators, n_texts)."""
    p = np.full((len(texts[0]), len(texts), len(texts)), 0.5)
    weights: dict[tuple[int, ...], FloatArray] = {}
    for i, first in enumerate(texts):
        for j in range(i + 1, len(texts)):
            second = texts[j]
            sizes = (first.shape[1],) if aligned else (first.shape[1], second.shape[1])
            if sizes not in weights:  # one at a time: they may be large
                weights = {sizes: _weights(sizes, n_resamples, seed)}
            pooled = first - second if aligned else np.concatenate([first, second], axis=1)
            drawn = pooled @ weights[sizes].T
            observed = (first.mean(axis=1) - second.mean(axis=1))[:, None]
            tiny = _ROUNDING * np.maximum(1.0, np.abs(observed))
            above = (drawn > observed + tiny).sum(axis=1) + 0.5 * (np.abs(drawn - observed) <= tiny).sum(axis=1)
            p[:, i, j] = (above + 0.5) / (n_resamples + 1)
            p[:, j, i] = 1 - p[:, i, j]
    return p


def _weights(sizes: tuple[int, ...], n_resamples: int, seed: int) -> FloatArray:
    """Return the weights of the texts of both that give a difference of means, (n_resamples, n_texts).

    With one size (aligned texts): signs of swaps divided by the number of inputs.
    """
    rng = stream(seed, "meta-evaluation", "pairs", *sizes)
    if len(sizes) == 1:
        return np.where(rng.random((n_resamples, sizes[0])) < 0.5, -1.0, 1.0) / sizes[0]
    total = sum(sizes)
    weights = np.empty((n_resamples, total))
    rows = max(1, _BLOCK // total)
    for start in range(0, n_resamples, rows):
        keys = rng.random((min(rows, n_resamples - start), total))
        in_first = np.argsort(keys, axis=1) < sizes[0]
        weights[start : start + len(in_first)] = np.where(in_first, 1 / sizes[0], -1 / sizes[1])
    return weights
