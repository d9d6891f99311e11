"""Findings checked on bootstrap values: evaluators' values of generators, as measured and over resampled texts.

A finding is a list of parts, each true or false of one draw of texts. It holds where the chances, over draws, that a
part fails sum to at most 1 - level; it does not where a part fails with a chance of at least 1 - (1 - level) / parts;
else the texts are too few to tell. Values without draws, such as published ones, count as exact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from textassay.meta_evaluation import CheckedFinding, Number, Verdict
from textassay.study.findings import BY_CHANCES, Finding, verdict_of_chances

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Parts = Mapping[str, BoolArray]
Outcome = tuple[Parts, Mapping[str, Number]]

_RULE = BY_CHANCES.format(draws="draws of texts", of_it="")


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


@dataclass(frozen=True)
class Rule(Finding):
    """A finding about drawn values; `where` names its parts, in a sentence or two."""

    # returns whether each part holds, by name, as measured and in each draw, shape (1 + B,), and numbers to report;
    # raises KeyError where values are missing
    check: Callable[[DrawnValues], Outcome]
    exact: bool = False  # whether the measured values alone count


def check_rules(rules: Sequence[Rule], values: DrawnValues, *, level: float) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, at a confidence level."""
    checked = []
    for rule in rules:
        verdict: Verdict = "not measured"
        numbers: Mapping[str, Number] = {}
        try:
            parts, extra = rule.check(values)
        except KeyError:
            pass
        else:
            verdict, rests = _verdict(parts, level, exact=rule.exact)
            numbers = {**rests, **extra}
        how = "Each to the last printed digit." if rule.exact else _RULE
        checked.append(replace(rule, where=f"{rule.where} {how}").with_verdict(values.about, verdict, numbers))
    return tuple(checked)


def _verdict(parts: Parts, level: float, *, exact: bool) -> tuple[Verdict, dict[str, Number]]:
    fails = {
        name: float(np.mean(~(holds[:1] if exact or len(holds) == 1 else holds[1:]))) for name, holds in parts.items()
    }
    worst = max(fails, key=lambda name: fails[name])
    numbers: dict[str, Number] = {"parts": len(parts), "parts that hold": sum(bool(p[0]) for p in parts.values())}
    if fails[worst] > 0:
        numbers[f"chance that this fails: {worst}"] = fails[worst]
    return verdict_of_chances(fails.values(), level), numbers
