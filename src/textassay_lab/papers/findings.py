"""Findings of papers and their verdicts.

What a finding says is checked in one of two ways: by conditions, numbers with errors that should lie between two bounds
(`check_conditions`), or by parts that are true or false of each of many draws (`verdict_of_chances`). A `Rule` is a
finding with the arithmetic that checks it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay_lab.meta_evaluation.reproduction import CheckedFinding, Number, Verdict

_MOST_NUMBERS = 6  # of a finding
_HOW = (
    "Holds where the {level:g} % interval of each number lies there; does not hold where one, widened for how many "
    "there are, lies wholly outside."
)
BY_CHANCES = (
    "Holds where the chances, over {draws}, that a part {of_it}fails sum to at most 1 - level; does not where a part "
    "fails with a chance of at least 1 - (1 - level) / parts."
)
BY_DRAWS = BY_CHANCES.format(draws="draws of texts", of_it="")
UNSURE: Verdict = "not separated at this size"

Parts = Mapping[str, npt.NDArray[np.bool_]]  # whether each part holds, by name: as measured, then in each draw
Outcome = tuple[Verdict | Parts, Mapping[str, Number]]


@dataclass(frozen=True)
class Condition:
    """A number that should lie between `lower` and `upper`, with its standard error and degrees of freedom."""

    name: str
    value: float
    error: float
    degrees: float
    lower: float = -math.inf
    upper: float = math.inf

    def interval(self, level: float) -> tuple[float, float]:
        """Return Student's interval, the normal one where the degrees are infinite; NaN without an error."""
        half = _quantile(level, self.degrees) * self.error
        return self.value - half, self.value + half

    @property
    def margin(self) -> float:
        """Distance to the nearer bound, in standard errors; negative outside, -inf where the value is undefined."""
        room = min(self.value - self.lower, self.upper - self.value)
        if math.isnan(room):
            return -math.inf
        return room / self.error if self.error > 0 else math.copysign(math.inf, room)


def difference(
    name: str, first: Condition, second: Condition, *, lower: float = -math.inf, upper: float = math.inf
) -> Condition:  # fmt: skip
    """Return a condition about the first less the second, which are independent; Welch's degrees of freedom."""
    parts = [(one.error**2, one.degrees) for one in (first, second)]
    spread = sum(variance**2 / degrees for variance, degrees in parts if degrees > 0)
    variance = sum(variance for variance, _ in parts)
    degrees = variance**2 / spread if spread > 0 else math.inf
    return Condition(name, first.value - second.value, math.sqrt(variance), degrees, lower, upper)


def check_conditions(conditions: Iterable[Condition], level: float) -> tuple[Verdict, dict[str, Number]]:
    """Return the joint verdict on conditions, and the numbers behind it.

    They hold where every interval lies between its bounds; they do not where an interval of level
    ``1 - (1 - level) / n`` lies wholly outside; else they are not separated. With an undefined value nothing is
    measured. Where there are many, those nearest to their bounds come first.
    """
    parts = list(conditions)
    if not parts:
        return "not measured", {}
    listed = parts if len(parts) <= _MOST_NUMBERS else sorted(parts, key=lambda one: one.margin)
    numbers: dict[str, Number] = {"numbers compared": len(parts)} if len(parts) > _MOST_NUMBERS else {}
    for one in listed:
        low, high = one.interval(level)
        interval = {one.name: one.value, f"{one.name}: low": low, f"{one.name}: high": high}
        numbers |= {name: None if math.isnan(value) else value for name, value in interval.items()}
    if any(math.isnan(one.value) for one in parts):
        return "not measured", numbers
    wide = [one.interval(1 - (1 - level) / len(parts)) for one in parts]
    if any(high <= one.lower or low >= one.upper for one, (low, high) in zip(parts, wide, strict=True)):
        return "does not hold", numbers
    inside = all(one.lower < low and high < one.upper for one in parts for low, high in [one.interval(level)])
    return ("holds" if inside else UNSURE), numbers


def verdict_of_chances(fails: Collection[float], level: float) -> Verdict:
    """Return the verdict on parts that should all hold, from the chance of each to fail, over draws."""
    if not fails:
        return "not measured"
    if max(fails) >= 1 - (1 - level) / len(fails):
        return "does not hold"
    return "holds" if math.fsum(fails) <= 1 - level else UNSURE


@dataclass(frozen=True)
class Finding:
    """A finding of a paper: id, statement, published numbers, and where the numbers should lie."""

    id: str
    statement: str
    published: str
    where: str

    def checked(self, about: str, conditions: Iterable[Condition], level: float) -> CheckedFinding:
        """Return the verdict on conditions."""
        verdict, numbers = check_conditions(conditions, level)
        rule = f"{self.where} {_HOW.format(level=100 * level)}"
        return CheckedFinding(self.id, self.statement, about, verdict, rule, self.published, numbers)

    def with_verdict(self, about: str, verdict: Verdict, numbers: Mapping[str, Number]) -> CheckedFinding:
        """Return the finding with a verdict that needs no interval."""
        return CheckedFinding(self.id, self.statement, about, verdict, self.where, self.published, numbers)


@dataclass(frozen=True)
class Rule(Finding):
    """A finding and the arithmetic that checks it; `where` and `how` say what it asks for."""

    # of the values of a study: returns a verdict, or the parts it follows from, and numbers to report; raises KeyError
    # where values are missing
    check: Callable[[Any], Outcome]
    how: str = BY_DRAWS
    about: str = ""  # which of the values it is about, where a study has several

    def checked_on(self, values: Any, about: str, level: float) -> CheckedFinding:
        """Return the verdict on values."""
        try:
            outcome, numbers = self.check(values)
        except KeyError:
            outcome, numbers = "not measured", {}
        if not isinstance(outcome, str):
            outcome, chances = _verdict_of_parts(outcome, level)
            numbers = {**chances, **numbers}
        rule = " ".join(filter(None, (self.where, self.how)))
        return CheckedFinding(self.id, self.statement, about, outcome, rule, self.published, numbers)


def _verdict_of_parts(parts: Parts, level: float) -> tuple[Verdict, dict[str, Number]]:
    """Return the verdict, and the part that fails most; what was measured without draws counts as exact."""
    fails = {name: float(np.mean(~(holds if len(holds) == 1 else holds[1:]))) for name, holds in parts.items()}
    worst = max(fails, key=lambda name: fails[name])
    numbers: dict[str, Number] = {"parts": len(parts), "parts that hold": sum(bool(p[0]) for p in parts.values())}
    if fails[worst] > 0:
        numbers[f"chance that this fails: {worst}"] = fails[worst]
    return verdict_of_chances(fails.values(), level), numbers


@cache
def _quantile(level: float, degrees: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, degrees)) if degrees > 0 else math.nan
