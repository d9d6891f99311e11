"""Is a generator's text equivalent to real text? PASS, FAIL or INCONCLUSIVE, beside a margin named beforehand.

What is tested. Of a judge (dd, conditional-dd) the value, which is 0 where sides cannot be told apart: the margin is
the largest value that does not matter. Of any other metric the difference from what real text scores against itself, at
the same size and beside the same half of the real text: it may go both ways, and so may the margin.

The rule is that of two one-sided tests (TOST): PASS where the interval is within the margin, of a judge where its upper
limit is, since its value cannot be far below 0; FAIL where the whole of it is beyond the margin or, whatever the judge,
where the certified bound says that the total variation is; else INCONCLUSIVE. The interval is the two-sided one at
`level`, so that each side has half of the error rate that such a test allows. One-sided limits of dd at 95 % were wrong
in up to 5.5 % of simulated samples (``benchmarks/equivalence.py``), these in up to 2.8 %; and the judge and the
certified bound, each of which may fail a text, share what there is.

Of several generators or metrics each gets its own verdict, and what is promised is of all of them: the chance that any
PASS is wrong is at most 1 - level, and so is that of any FAIL. Limits are therefore Holm's: at an error rate divided by
the number of tests, and once some are decided, by the number of those that are not. That all of several metrics must
pass is another question, which needs no such division (intersection-union); then more is asked here than needed.

Sources: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987; Holm, "A simple
sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. Departs from them: the
certified bound beside the test.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

from scipy.special import ndtri

from textassay.comparison.comparison import Equivalence, Result
from textassay.comparison.pairs import Measured, difference_from_floor, value_of
from textassay.comparison.verdicts import POWER
from textassay.errors import OptionError
from textassay.metric.blindness import blindness
from textassay.metric.catalog import MetricLike, as_metric, split_names
from textassay.resampling.multiplicity import bound_of_several

Margins: TypeAlias = float | Mapping[MetricLike, float]

_JUDGE = "dd"  # what a margin without a metric is about
_MOST_TIMES = 100  # beyond this multiple, no number of texts is given


def parse_margins(text: str) -> dict[MetricLike, float]:
    """Return metric to margin for what ``--equivalent`` says: ``0.1``, of dd, or ``dd=0.1,bleu(order=4)=0.02``."""
    margins: dict[MetricLike, float] = {}
    for part in split_names(text):
        name, _, size = part.rpartition("=")
        name = name.strip() or _JUDGE
        try:
            margin = float(size)
        except ValueError:
            raise OptionError(
                f"cannot read --equivalent '{text}': write a margin of dd, such as 0.1, or METRIC=MARGIN, such as "
                "'dd=0.1,bleu=0.02'"
            ) from None
        if name in margins:
            raise OptionError(f"--equivalent names {name} twice: leave one margin out")
        margins[name] = margin
    if not margins:
        raise OptionError("--equivalent is empty: give a margin of dd, such as 0.1")
    return margins


def checked_margins(margins: Margins | None, among: Iterable[str], settings: Mapping[str, Any]) -> dict[str, float]:
    """Return margins by the full names of their metrics; raise where a metric is not `among` those that are measured.

    `settings`: of whichever metrics have them, as for `parse_metric`.
    """
    given = {} if margins is None else margins if isinstance(margins, Mapping) else {_JUDGE: margins}
    named: dict[str, float] = {}
    measured = list(among)
    for one, margin in given.items():
        metric = as_metric(one, settings)
        name, most = metric.name, metric.declaration.bounds[1]
        if name not in measured:
            raise OptionError(
                f"a margin is given for {name}, which is not among the metrics ({', '.join(measured)}): add the metric"
            )
        if name in named:
            raise OptionError(f"{name} has two margins: give only one")
        if isinstance(margin, bool) or not isinstance(margin, Real) or not 0 < margin < most:
            below = f" and below {most:g}" if most < math.inf else ""
            raise OptionError(f"the margin of {name} must be a number above 0{below}, got {margin!r}")
        named[name] = float(margin)
    return named


def equivalence_of(results: Sequence[Result], margins: Mapping[str, float], *, level: float) -> tuple[Equivalence, ...]:
    """Return the verdict of each result of a metric that has a margin, in the order of the margins.

    `results`: of generators alone, with the evidence of their estimates.
    """
    tests = [
        _Test(result, margin, level)
        for metric, margin in margins.items()
        for result in results
        if result.metric == metric
    ]
    passed = _step_down(tests, _Test.passes)
    failed = _step_down(tests, _Test.fails)
    return tuple(test.verdict(*passed[n], *failed[n]) for n, test in enumerate(tests))


def exit_status(found: Iterable[Equivalence]) -> int:
    """Return 0 where all pass, 1 where any fails, else 3: it could not be told."""
    verdicts = {one.verdict for one in found}
    return 1 if "FAIL" in verdicts else 3 if "INCONCLUSIVE" in verdicts else 0


def _step_down(tests: "Sequence[_Test]", holds: "Callable[[_Test, int], bool]") -> list[tuple[bool, int]]:
    """Return of each test whether it holds by Holm's method, and among how many tests that was decided."""
    left = list(range(len(tests)))
    decided: dict[int, int] = {}
    while left:
        n = len(left)
        new = [place for place in left if holds(tests[place], n)]
        if not new:
            break
        decided |= dict.fromkeys(new, n)
        left = [place for place in left if place not in new]
    return [(place in decided, decided.get(place, len(left))) for place in range(len(tests))]


@dataclass(frozen=True)
class _Test:
    result: Result
    margin: float
    level: float

    @cached_property
    def is_judge(self) -> bool:
        """Whether the value is how well a judge tells the sides apart, and not a score."""
        return self._details.get("certified_bound") is not None

    @cached_property
    def measured(self) -> Measured | None:
        """The value of a judge, else the difference from real text; None where it has no error."""
        estimate = self.result.estimate
        if not self.is_judge:
            return difference_from_floor(self.result)
        return None if estimate is None or estimate.interval is None else value_of(estimate)

    @cached_property
    def is_blind(self) -> str | None:
        """Why a judge could not see most texts, so that it cannot say that sides are alike."""
        return blindness(self._details.get("alike") or 0.0, self._details.get("unseen") or {})

    def limits(self, n: int) -> tuple[float, float] | None:
        """Return the ends of the interval for `n` tests together; None where there are none."""
        found, estimate = self.measured, self.result.estimate
        if found is None or estimate is None:
            return None
        from textassay.metric.discrepancy_interval import interval_at

        alpha = (1 - self.level) / n
        newcombe = interval_at(estimate, 1 - alpha) if self.is_judge else None
        if newcombe is not None:
            return newcombe.low, newcombe.high
        half_width = found.half_width(1 - alpha / 2)
        low, high = found.value - half_width, found.value + half_width
        return (max(low, -1.0), min(high, 1.0)) if self.is_judge else (low, high)

    def certified(self, n: int) -> float | None:
        """Return the certified bound for `n` tests together, at half of their error rate; None where there is none."""
        bound = self._details.get("certified_bound") or {}
        return bound_of_several(bound.get("of_several", {}), 2 * n)

    def passes(self, n: int) -> bool:
        limits = self.limits(n)
        if limits is None or self.is_blind is not None:
            return False
        return limits[1] < self.margin and (self.is_judge or limits[0] > -self.margin)

    def fails(self, n: int) -> bool:
        limits = self.limits(n)
        is_beyond = limits is not None and (limits[0] > self.margin or (not self.is_judge and limits[1] < -self.margin))
        return is_beyond or self.fails_for_any_judge(n)

    def fails_for_any_judge(self, n: int) -> bool:
        certified = self.certified(n)
        return certified is not None and certified > self.margin

    def verdict(self, passed: bool, among_passes: int, failed: bool, among_fails: int) -> Equivalence:
        """Return the verdict by what was decided, and among how many tests each was."""
        n_tests = among_fails if failed else among_passes if passed else max(among_passes, among_fails)
        limits, found = self.limits(n_tests), self.measured
        names = (self.result.generator, self.result.metric)
        told: dict[str, Any] = {"margin": self.margin, "certified": self.certified(n_tests), "judge": self._judge}
        if found is not None and limits is not None:
            told |= {"value": found.value, "low": limits[0], "high": limits[1], "n": self._n_texts}
        elif self.is_judge and self.result.estimate is not None:
            told |= {"value": self.result.estimate.value, "n": self._n_texts}
        if failed:
            return Equivalence(*names, "FAIL", for_any_judge=self.fails_for_any_judge(n_tests), **told)
        if passed:
            return Equivalence(*names, "PASS", **told)
        reason = self._reason
        needed = None if reason else self._needed(n_tests)
        return Equivalence(*names, "INCONCLUSIVE", needed=needed, reason=reason, **told)

    @property
    def _details(self) -> Mapping[str, Any]:
        return {} if self.result.estimate is None else self.result.estimate.details

    @property
    def _judge(self) -> str:
        """Return what the judge is called, such as ``dd[stack-quick]``; empty where there is none."""
        estimate = self.result.estimate
        if not self.is_judge or estimate is None:
            return ""
        settings = estimate.signature.settings
        known = ", ".join(settings[key] for key in ("clf", "prior", "encoder") if key in settings)
        return f"{self.result.metric.split('(')[0]}[{known}]"

    @property
    def _n_texts(self) -> int | None:
        sizes: Mapping[str, int] = {} if self.result.estimate is None else self.result.estimate.sizes
        return min((sizes[key] for key in ("n_generated", "n_real") if key in sizes), default=None)

    @property
    def _reason(self) -> str:
        """Return why no number of texts would do; empty where one may."""
        if self.is_blind is not None:
            return self.is_blind
        if self.limits(1) is not None:
            return ""
        estimate = self.result.estimate
        if estimate is None or not math.isfinite(estimate.value):
            return self.result.error or "it is undefined for this text"
        return "it has no interval here"

    def _needed(self, n_tests: int) -> int | None:
        """Return how many texts of the smaller side would decide, from how intervals shrink; None for far too many."""
        found, limits, n = self.measured, self.limits(n_tests), self._n_texts
        assert found is not None
        assert limits is not None
        size = found.value if self.is_judge else abs(found.value)
        is_upwards = (size < self.margin) == (found.value >= 0 or self.is_judge)
        half_width = limits[1] - found.value if is_upwards else found.value - limits[0]
        z = -float(ndtri((1 - self.level) / (2 * n_tests)))
        reach, gap = half_width * (z + float(ndtri(POWER))) / z, abs(self.margin - size)
        if n is None or gap == 0 or reach > gap * math.sqrt(_MOST_TIMES):
            return None
        return max(n + 1, math.ceil(n * (reach / gap) ** 2))
