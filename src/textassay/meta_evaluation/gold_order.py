"""Gold orders of generators: which is better is known, by how it was made or by its exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5: inside a
family, more training text is better; on synthetic text, a smaller exact discrepancy is better.
Departs from it: the exact discrepancy is an average over sentences and has an error of its own, which is kept.
"""

from collections.abc import Mapping

from textassay.meta_evaluation.known_truth import KnownTruth
from textassay.meta_evaluation.metric_values import MetricValues

BY_VOLUME = "training text"
BY_DISCREPANCY = "exact DD"


def gold_by_volume(sizes: Mapping[str, float]) -> MetricValues:
    """Return the order by training text, without error; `sizes` is generator to sentences or share of the text."""
    return MetricValues.exact(BY_VOLUME, "higher", sizes)


def gold_by_discrepancy(truths: Mapping[str, KnownTruth]) -> MetricValues:
    """Return the order by exact discrepancy; errors of generators count as independent.

    Where the same sentences of the real side served several generators, their errors go together, differences are
    better known than this says, and fewer neighbours are called separated than could be.
    """
    values = {name: (truth.value, truth.interval) for name, truth in truths.items()}
    return MetricValues.independent(BY_DISCREPANCY, "lower", values)
