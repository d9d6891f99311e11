"""Findings checked on bootstrap values: evaluators' values of generators, as measured and over resampled texts.

A finding is a list of parts, each true or false of one draw of texts. It holds where the chances, over draws, that a
part fails sum to at most 1 - level; it does not where a part fails with a chance of at least 1 - (1 - level) / parts;
else the texts are too few to tell. Values without draws, such as published ones, count as exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from textassay_lab.meta_evaluation.reproduction import CheckedFinding
from textassay_lab.papers.findings import Outcome as Outcome
from textassay_lab.papers.findings import Rule as Rule

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """Evaluators' values, as measured and over draws of texts; missing ones were not measured."""

    about: str  # source of the values
    generators: tuple[str, ...]  # G names
    # by evaluator, shape (1 + B, G): row 0 as measured, the others resampled, B may be 0; for people and classifiers
    # the share that is called fake
    values: Mapping[str, FloatArray]
    better: Mapping[str, str]  # "higher" or "lower", by evaluator
    # accuracy of people and classifiers on all, on real and on generated texts, shape (1 + B, 3)
    rates: Mapping[str, FloatArray] = field(default_factory=dict)
    # Kendall's tau-b by evaluator and "H1" or "H2", signs such that higher is better, shape (1 + B,)
    taus: Mapping[tuple[str, str], FloatArray] = field(default_factory=dict)
    # the same with people's majority as the truth
    majority_taus: Mapping[tuple[str, str], FloatArray] = field(default_factory=dict)
    kappa: float | None = None  # Fleiss' kappa of right and mistaken answers; not resampled
    foreign: str = "Google LM"  # the generator trained on another domain, in the place of Google LM

    def of(self, evaluator: str, generator: str) -> FloatArray:
        """Return one generator's values, shape (1 + B,); raises KeyError where there are none."""
        return self.values[evaluator][:, self._place(generator)]

    def goodness(self, evaluator: str) -> FloatArray:
        """Return values with signs such that higher is better."""
        return self.values[evaluator] if self.better[evaluator] == "higher" else -self.values[evaluator]

    def rank(self, evaluator: str, generator: str) -> FloatArray:
        """Return how many generators are better than one, shape (1 + B,)."""
        goodness = self.goodness(evaluator)
        own = goodness[:, [self._place(generator)]]
        return np.asarray((goodness > own).sum(axis=1), dtype=np.float64)

    def is_best(self, evaluator: str, generator: str) -> BoolArray:
        """Return whether all other generators are worse than one, shape (1 + B,)."""
        goodness = self.goodness(evaluator)
        own = goodness[:, [self._place(generator)]]
        return np.asarray((goodness >= own).sum(axis=1) == 1)

    def _place(self, generator: str) -> int:
        if generator not in self.generators:
            raise KeyError(generator)
        return self.generators.index(generator)


def check_rules(rules: Sequence[Rule], values: DrawnValues, *, level: float) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, at a confidence level."""
    return tuple(rule.checked_on(values, values.about, level) for rule in rules)
