"""Verdicts on the findings of a paper, each a row of its ``paper.yaml``; on published values or on ours.

The function that a row names computes what is looked at, which is one of three things:

- `Condition`: numbers with errors, that should lie between the bounds of the row;
- parts that are true or false of each of many draws: they hold where the chances, over draws, that a part fails sum to
  at most 1 - level, and do not where a part fails with a chance of at least 1 - (1 - level) / parts. Values without
  draws, such as published ones, count as exact;
- a verdict by a rule of its own.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.estimate import Interval
from textassay_lab.papers.paper import Finding, Number
from textassay_lab.papers.reproduction import CheckedFinding, Verdict

LEVEL = 0.95
UNSURE: Verdict = "not separated at this size"
_MOST_NUMBERS = 6  # of a finding
_BY_CHANCES = (
    "Holds where the chances, over {draws}, that a part {of_it}fails sum to at most 1 - level; does not where a part "
    "fails with a chance of at least 1 - (1 - level) / parts."
)
RULES: Mapping[str, str] = {
    "interval": "Holds where the {level:g} % interval of each number lies there; does not hold where one, widened for "
    "how many there are, lies wholly outside.",
    "draws": _BY_CHANCES.format(draws="draws of texts", of_it=""),
    "taus": _BY_CHANCES.format(draws="draws", of_it="of it "),
    "order": "Holds where all simultaneous intervals lie above 0, does not where one lies below 0.",
    "exact": "",
}

BoolArray = npt.NDArray[np.bool_]
Numbers = Mapping[str, Number]


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


@dataclass(frozen=True)
class Outcome:
    """What the function of a finding computed about something, and numbers to report."""

    about: str
    basis: Sequence[Condition] | Mapping[str, BoolArray] | Verdict  # parts by name: as measured, then in each draw
    numbers: Numbers


class Quantities(dict[str, Callable[..., Iterable[Outcome]]]):
    """The functions that findings name; each is decorated with the collection."""

    def __call__(self, function: Callable[..., Iterable[Outcome]]) -> Callable[..., Iterable[Outcome]]:
        """Add a function under its name."""
        self[function.__name__] = function
        return function


def numbers_of(about: str, *numbers: Condition) -> Outcome:
    """Return numbers that should lie between bounds as an outcome."""
    return Outcome(about, numbers, {})


def check(
    findings: Iterable[Finding],
    compute: Callable[[Finding], Iterable[Outcome]],
    *,
    whose: str = "",
    level: float = LEVEL,
) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, once for each outcome that it is about.

    `compute` calls the function that a finding names; it raises KeyError where values are missing. `whose` the values
    are is said before what they are about. A finding without an outcome is not measured; where nothing says whose the
    values are, it is left out.
    """
    checked = []
    for finding in findings:
        try:
            outcomes = [one for one in compute(finding) if not finding.about or one.about in finding.about]
        except KeyError:
            outcomes = []
        if not outcomes and whose:
            outcomes = [Outcome("", "not measured", {})]
        for outcome in outcomes:
            about = ", ".join(filter(None, (whose, outcome.about)))
            checked.append(_checked(finding, replace(outcome, about=about), level))
    return tuple(checked)


def check_conditions(parts: Sequence[Condition], level: float) -> tuple[Verdict, dict[str, Number]]:
    """Return the joint verdict on conditions, and the numbers behind it.

    They hold where every interval lies between its bounds; they do not where an interval of level
    ``1 - (1 - level) / n`` lies wholly outside; else they are not separated. With an undefined value nothing is
    measured. Where there are many, those nearest to their bounds come first.
    """
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


def difference(name: str, first: Condition, second: Condition) -> Condition:
    """Return a condition about the first less the second, which are independent; Welch's degrees of freedom."""
    parts = [(one.error**2, one.degrees) for one in (first, second)]
    spread = sum(variance**2 / degrees for variance, degrees in parts if degrees > 0)
    variance = sum(variance for variance, _ in parts)
    degrees = variance**2 / spread if spread > 0 else math.inf
    return Condition(name, first.value - second.value, math.sqrt(variance), degrees)


def mean_interval(values: Sequence[float], shared_error: float, *, own_error: float = 0.0) -> Interval:
    """Return the interval of a mean over trainings, of which there are at least two.

    Student's over their spread, no narrower than `own_error`, the standard error of one training's value from its own
    texts, allows; and normal for `shared_error`, that from the texts that all are measured on.
    """
    n, middle = len(values), float(np.mean(values))
    student, normal = stats.t.ppf((1 + LEVEL) / 2, n - 1), stats.norm.ppf((1 + LEVEL) / 2)
    own = max(student * np.std(values, ddof=1), normal * own_error) / np.sqrt(n)
    arm = float(np.hypot(own, normal * shared_error))
    return Interval(middle - arm, middle + arm, LEVEL, "t: trainings; normal: common text")


def _checked(finding: Finding, outcome: Outcome, level: float) -> CheckedFinding:
    basis, numbers = outcome.basis, outcome.numbers
    rule = RULES[finding.rule].format(level=100 * level)
    if isinstance(basis, str):
        verdict = basis
    elif isinstance(basis, Mapping):
        verdict, chances = _verdict_of_parts(basis, level)
        numbers = {**chances, **numbers}
    else:
        verdict, numbers = check_conditions([_bounded(one, finding) for one in basis], level)
    return CheckedFinding(
        finding.id, finding.statement, outcome.about, verdict, finding.where, rule, finding.paper, numbers
    )


def _bounded(condition: Condition, finding: Finding) -> Condition:
    """Return a condition with the bounds of its finding, where that has any for it."""
    by_name = (ends for begin, ends in finding.bounds.items() if condition.name.startswith(begin))
    lower, upper = next(by_name, (finding.above, finding.below))
    if lower is None and upper is None:
        return condition
    return replace(condition, lower=-math.inf if lower is None else lower, upper=math.inf if upper is None else upper)


def _verdict_of_parts(parts: Mapping[str, BoolArray], level: float) -> tuple[Verdict, dict[str, Number]]:
    """Return the verdict, and the part that fails most."""
    fails = {name: float(np.mean(~(holds if len(holds) == 1 else holds[1:]))) for name, holds in parts.items()}
    worst = max(fails, key=lambda name: fails[name])
    numbers: dict[str, Number] = {"parts": len(parts), "parts that hold": sum(bool(p[0]) for p in parts.values())}
    if fails[worst] > 0:
        numbers[f"chance that this fails: {worst}"] = fails[worst]
    return verdict_of_chances(fails.values(), level), numbers


@cache
def _quantile(level: float, degrees: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, degrees)) if degrees > 0 else math.nan
