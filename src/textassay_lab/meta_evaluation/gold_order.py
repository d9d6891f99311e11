"""Gold orders of generators: known from how the generators were made, or from their exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5: inside a
family, more training text is better; on synthetic text, a smaller exact discrepancy is better.
Departs from it: the exact discrepancy is an average over sentences and has an error of its own, which is kept.
"""

from collections.abc import Mapping

from textassay_lab.meta_evaluation.known_truth import KnownTruth
from textassay_lab.meta_evaluation.metric_values import MetricValues

BY_VOLUME = "training text"
BY_DISCREPANCY = "exact DD"


def gold_by_volume(sizes: Mapping[str, float]) -> MetricValues:
    """Return the order by training text, without error; `sizes` maps generators to texts or shares of the text."""
    return MetricValues.exact(BY_VOLUME, "higher", sizes)


def gold_by_discrepancy(truths: Mapping[str, KnownTruth]) -> MetricValues:
    """Return the order by exact discrepancy, with errors of generators treated as independent.

    This is conservative where several generators share the texts of the real side: their errors are then correlated,
    and
    differences more precise than assumed.
    """
    values = {name: (truth.value, truth.interval) for name, truth in truths.items()}
    return MetricValues.independent(BY_DISCREPANCY, "lower", values)
