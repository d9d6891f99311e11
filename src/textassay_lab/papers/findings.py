"""Verdicts on the findings of a paper, each a row of its ``paper.yaml``; on published values or on ours.

The function that a row names computes what is looked at, which is one of three things:

- `Condition`: numbers with errors, that should lie between the bounds of the row;
- parts that are true or false of each of many draws: they hold where the chances, over draws, that a part fails sum to
  at most 1 - level, and do not where a part fails with a chance of at least 1 - (1 - level) / parts. Values without
  draws, such as published ones, count as exact;
- a verdict by a rule of its own, which may say what it would be with more data.

What would settle an undecided finding is reckoned from the errors measured: how many times as many trainings (or texts,
where there is one training) it takes until the rule decides, if the values stay what they are.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.estimate import Interval
from textassay_lab.papers.paper import Finding, Number
from textassay_lab.papers.reproduction import CheckedFinding, Verdict

LEVEL = 0.95
UNSURE: Verdict = "not separated at this size"
COMPARED = "numbers compared"  # how many there are, where those nearest to their bounds come first
_MOST_NUMBERS = 6  # of a finding
_TIMES = tuple(1.1**power for power in range(1, 73))  # as much data that is tried, up to 1,000
_BY_CHANCES = (
    "Holds if the probabilities, over {draws}, that a part {of_it}fails sum to at most 1 - level. Does not hold if a "
    "part fails with probability at least 1 - (1 - level) / parts."
)
RULES: Mapping[str, str] = {
    "interval": (
        "Holds if the {level:g} % interval of each number lies there. Does not hold if one, widened for the number "
        "of intervals, lies wholly outside. The intervals shown are widened unless it holds."
    ),
    "draws": _BY_CHANCES.format(draws="draws of texts", of_it=""),
    "taus": _BY_CHANCES.format(draws="draws", of_it="of it "),
    "order": "Holds if all simultaneous intervals lie above 0. Does not hold if one lies below 0.",
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

    def with_more(self, times: float) -> "Condition":
        """Return the same value from `times` as many trainings or texts."""
        return replace(self, error=self.error / math.sqrt(times), degrees=times * (self.degrees + 1) - 1)

    @property
    def margin(self) -> float:
        """Distance to the nearer bound, in standard errors; negative outside, -inf where the value is undefined."""
        room = min(self.value - self.lower, self.upper - self.value)
        if math.isnan(room):
            return -math.inf
        return room / self.error if self.error > 0 else math.copysign(math.inf, room)


VerdictAt = Callable[[float], Verdict]  # the verdict with so many times as much data, where values stay what they are


@dataclass(frozen=True)
class Outcome:
    """What the function of a finding computed about something, and numbers to report."""

    about: str
    # parts by name: as measured, then in each draw
    basis: Sequence[Condition] | Mapping[str, BoolArray] | VerdictAt | Verdict
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
    """Return the joint verdict on conditions, and the numbers behind it, with the intervals that decide.

    They hold where every interval lies between its bounds; they do not where an interval of level
    ``1 - (1 - level) / n`` lies wholly outside; else they are not separated. With an undefined value nothing is
    measured. Where there are many, those nearest to their bounds come first.
    """
    if not parts:
        return "not measured", {}
    verdict = _verdict_of_conditions(parts, level)
    listed = parts if len(parts) <= _MOST_NUMBERS else sorted(parts, key=lambda one: one.margin)
    numbers: dict[str, Number] = {COMPARED: len(parts)} if len(parts) > _MOST_NUMBERS else {}
    for one in listed:
        low, high = one.interval(level if verdict == "holds" else _widened(level, len(parts)))
        interval = {one.name: one.value, f"{one.name}: low": low, f"{one.name}: high": high}
        numbers |= {name: None if math.isnan(value) else value for name, value in interval.items()}
    return verdict, numbers


def _verdict_of_conditions(parts: Sequence[Condition], level: float) -> Verdict:
    if any(math.isnan(one.value) for one in parts):
        return "not measured"
    wide = [one.interval(_widened(level, len(parts))) for one in parts]
    if any(high <= one.lower or low >= one.upper for one, (low, high) in zip(parts, wide, strict=True)):
        return "does not hold"
    inside = all(one.lower < low and high < one.upper for one in parts for low, high in [one.interval(level)])
    return "holds" if inside else UNSURE


def _widened(level: float, n: int) -> float:
    """Return the level at which `n` intervals hold jointly."""
    return 1 - (1 - level) / n


def verdict_of_chances(fails: Collection[float], level: float, times: float = 1.0) -> Verdict:
    """Return the verdict on parts that should all hold, from the chance of each to fail, over draws.

    `times`: with so many times as much data, which moves the normal quantile of each chance by its root.
    """
    if not fails:
        return "not measured"
    if times != 1:
        fails = stats.norm.cdf(math.sqrt(times) * stats.norm.ppf(np.array(list(fails)))).tolist()
    if max(fails) >= 1 - (1 - level) / len(fails):
        return "does not hold"
    return "holds" if math.fsum(fails) <= 1 - level else UNSURE


def what_settles(verdict_at: VerdictAt) -> tuple[float | None, Verdict]:
    """Return how many times as much data decide an undecided finding, up to 1,000, and how; None where those do not."""
    for times in _TIMES:
        verdict = verdict_at(times)
        if verdict != UNSURE:
            return times, verdict
    return None, UNSURE


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
    verdict_at: VerdictAt | None = None
    if isinstance(basis, str):
        verdict: Verdict = basis
    elif callable(basis):
        verdict, verdict_at = basis(1.0), basis
    elif isinstance(basis, Mapping):
        fails = {name: float(np.mean(~(holds if len(holds) == 1 else holds[1:]))) for name, holds in basis.items()}
        verdict, numbers = verdict_of_chances(fails.values(), level), {**_numbers_of_parts(basis, fails), **numbers}
        verdict_at = partial(verdict_of_chances, fails.values(), level)
    else:
        parts = [_bounded(one, finding) for one in basis]
        verdict, numbers = check_conditions(parts, level)
        verdict_at = partial(_conditions_at, parts, level)
    needs, then = what_settles(verdict_at) if verdict == UNSURE and verdict_at is not None else (None, UNSURE)
    return CheckedFinding(
        finding.id, finding.statement, outcome.about, verdict, finding.where, rule, finding.paper, numbers, needs, then
    )


def _conditions_at(parts: Sequence[Condition], level: float, times: float) -> Verdict:
    return _verdict_of_conditions([one.with_more(times) for one in parts], level)


def _bounded(condition: Condition, finding: Finding) -> Condition:
    """Return a condition with the bounds of its finding, where that has any for it."""
    by_name = (ends for begin, ends in finding.bounds.items() if condition.name.startswith(begin))
    lower, upper = next(by_name, (finding.above, finding.below))
    if lower is None and upper is None:
        return condition
    return replace(condition, lower=-math.inf if lower is None else lower, upper=math.inf if upper is None else upper)


def _numbers_of_parts(parts: Mapping[str, BoolArray], fails: Mapping[str, float]) -> dict[str, Number]:
    """Return how many parts hold, and the part that fails most."""
    worst = max(fails, key=lambda name: fails[name])
    numbers: dict[str, Number] = {"parts": len(parts), "parts that hold": sum(bool(p[0]) for p in parts.values())}
    if fails[worst] > 0:
        numbers[f"chance that this fails: {worst}"] = fails[worst]
    return numbers


@cache
def _quantile(level: float, degrees: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, degrees)) if degrees > 0 else math.nan
