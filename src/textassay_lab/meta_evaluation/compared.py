"""Evaluations from a comparison: each metric with a direction is one evaluator of the generators."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.comparison.comparison import Comparison, Result
from textassay.errors import InputError
from textassay.estimate import Estimate
from textassay_lab.meta_evaluation.correlations import row_correlations
from textassay_lab.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]

_CLEAR = 0.5  # correlation of mean scores with values above which the direction of the scores counts as known


def evaluations_of(
    comparison: Comparison,
    *,
    generators: Sequence[str] | None = None,
    scores: Mapping[tuple[str, str], FloatArray] | None = None,
) -> tuple[list[Evaluation], dict[str, str]]:
    """Return the evaluations by a comparison's metrics, and the reasons why other metrics have none.

    `scores`: (generator, metric) to the scores of its texts, for estimates without evidence.
    """
    names = comparison.generators if generators is None else tuple(generators)
    evaluations, left_out = [], {}
    for metric in comparison.metrics:
        results = {name: comparison.result(name, metric) for name in names}
        better = next(iter(results.values())).better
        missing = [(name, r.error or "it has no value") for name, r in results.items() if _estimate(r) is None]
        if better == "neither":
            left_out[metric] = "it has no direction"
        elif missing:
            left_out[metric] = f"no value for {missing[0][0]}: {missing[0][1]}"
        elif better == "closer":
            evaluations.append(_from_floor(metric, results))
        else:
            own = {name: estimate for name, r in results.items() if (estimate := _estimate(r)) is not None}
            evaluations.append(_with_scores(Evaluation.of_estimates(own), scores or {}))
    return evaluations, left_out


def _estimate(result: Result) -> Estimate | None:
    """Return the estimate that generators are compared by, or None."""
    if result.better == "closer":
        has_floor = result.floor is not None and math.isfinite(result.floor.value)
        estimate = result.matched if has_floor else None
    else:
        estimate = result.estimate
    return estimate if estimate is not None and math.isfinite(estimate.value) else None


def _from_floor(metric: str, results: Mapping[str, Result]) -> Evaluation:
    values, terms = [], {}
    for name, result in results.items():
        if result.matched is None or result.floor is None:
            raise InputError(f"{metric} of {name} must have a value at the floor's size, got none")
        values.append(result.matched.value - result.floor.value)
        own = None if result.matched.evidence is None else result.matched.evidence.generated_terms
        if own is not None and len(own) > 1:
            terms[name] = own
    return Evaluation(
        metric,
        "closer",
        tuple(results),
        np.array(values),
        floor=0.0,
        terms=terms if len(terms) == len(results) else None,
    )


def _with_scores(evaluation: Evaluation, scores: Mapping[tuple[str, str], FloatArray]) -> Evaluation:
    """Add scores of texts to an evaluation without any, if all generators have them.

    Their sign is that of the correlation of their means with the values; if that is weak, they are not added.
    """
    own = {name: scores[name, evaluation.name] for name in evaluation.generators if (name, evaluation.name) in scores}
    if evaluation.texts is not None or len(own) < len(evaluation.generators):
        return evaluation
    means = np.array([float(np.nanmean(array)) for array in own.values()])
    correlation = float(row_correlations(means[None], evaluation.values[None], "pearson")[0])
    if not abs(correlation) >= _CLEAR:
        return evaluation
    own = own if correlation > 0 else {name: -array for name, array in own.items()}
    return Evaluation(
        evaluation.name,
        evaluation.better,
        evaluation.generators,
        evaluation.values,
        own,
        evaluation.floor,
        terms=evaluation.terms,
    )
