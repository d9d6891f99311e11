"""The findings of the paper on GANs as language models, checked on the published numbers and on ours.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, sections 3 to 5.
Departs from it: a finding holds only beyond the error of the numbers. Each is a list of conditions, a number and where
it should lie, fixed before anything was measured. Where a generator has no softmax, a value that should be high is
measured by the estimate that is too low on average, and one that should be low by the estimate that is too high.

Costs of several trainings on one text vary with the training and with the text. Means over each give an interval each;
the squared arms of both add up to those of the joint interval. This counts interactions twice: in simulations of 3
trainings, intervals of 95 % cover 95 to 99 %, where one with Satterthwaite's degrees of freedom covers 93 to 98 %.
Differences are paired by stretch of text, and by training where one continues the other; errors of unrelated trainings
add up. With one training, the interval is over the text, and the generator is fixed.

Source: Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007 (crossed random effects); Zou, Donner,
"Construction of Confidence Limits about Effect Measures", Statistics in Medicine 27, 2008 (sums of squared arms).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay_lab.approximation.bound import EPSILON, GAMMA, samples_needed
from textassay_lab.approximation.stopping_rule import RuleCurve, log_slope
from textassay_lab.meta_evaluation.reproduction import CheckedFinding
from textassay_lab.papers.findings import Condition
from textassay_lab.papers.findings import Finding as _Rule
from textassay_lab.papers.gan_as_lm.experiment import LEAKGAN, LSTM, WGAN_SOFT, GanResults, TextCost
from textassay_lab.papers.gan_as_lm.published import (
    APPROXIMATE,
    EXACT,
    LITERATURE,
    MLE,
    N_TYPES,
    PUBLISHED_STOPS,
    SEQGAN,
    WGAN,
    WGAN_WINDOW,
    published_bpc,
)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Crossed:
    """A mean over trainings and stretches of text, in bits per character."""

    value: float  # The mean
    # Standard errors over trainings (None of one) and over stretches (NaN of one)
    runs_error: float | None
    text_error: float
    runs_sd: float | None  # Standard deviation over trainings; None of one
    # Of how many
    n_runs: int
    n_stretches: int
    # Of a difference between unrelated trainings: standard error of the other side over its trainings, and their number
    others: tuple[float, int] = (0.0, 1)

    @property
    def error(self) -> float:
        """All errors together."""
        return math.hypot(self.runs_error or 0.0, self.text_error, self.others[0])

    def less(self, constant: float) -> "Crossed":
        """Return the value less a constant."""
        return replace(self, value=self.value - constant)

    def condition(self, name: str = "", *, lower: float = -math.inf, upper: float = math.inf) -> Condition:
        """Return the condition that the value lies between bounds."""
        parts = (
            (self.text_error, self.n_stretches - 1),
            (self.runs_error or 0.0, self.n_runs - 1),
            (self.others[0], self.others[1] - 1),
        )
        return _CrossedClaim(name, self.value, self.error, math.nan, lower, upper, parts)


@dataclass(frozen=True)
class _CrossedClaim(Condition):
    """A condition whose error has several parts, each with degrees of freedom of its own."""

    parts: tuple[tuple[float, int], ...] = ()

    def interval(self, level: float) -> tuple[float, float]:
        """Return the value less and plus the root of the sum of the squared arms of Student's intervals."""
        arms = [error * stats.t.ppf((1 + level) / 2, degrees) for error, degrees in self.parts if error != 0]
        half = math.hypot(*arms)
        return self.value - half, self.value + half


def crossed(terms: FloatArray) -> Crossed:
    """Return the mean of terms, shape (K, S): trainings by stretches."""
    n_runs, n_stretches = terms.shape
    value = float(terms.mean())
    of_text = float(terms.mean(axis=0).var(ddof=1) / n_stretches) if n_stretches > 1 else math.nan
    if n_runs == 1:
        return Crossed(value, None, math.sqrt(of_text), None, n_runs, n_stretches)
    sd = float(terms.mean(axis=1).std(ddof=1))
    return Crossed(value, sd / math.sqrt(n_runs), math.sqrt(of_text), sd, n_runs, n_stretches)


def mean_of(runs: Sequence[TextCost], *names: str) -> Crossed:
    """Return the mean of a sum of `TextCost.sums` over trainings; a minus before a name subtracts it."""
    return crossed(_terms(runs, *names))


def difference_of(
    runs: Sequence[TextCost], others: Sequence[TextCost], name: str = "plain", other: str | None = None
) -> Crossed:
    """Return the mean over trainings of `name` less `other` (the same, by default), paired over the same text."""
    if len(runs) != len(others) and 1 not in (len(runs), len(others)):
        raise InputError(f"cannot pair {len(runs)} trainings with {len(others)}")
    _check_text(runs, others)
    return crossed(_terms(runs, name) - _terms(others, other or name))


def unpaired_of(runs: Sequence[TextCost], others: Sequence[TextCost], name: str) -> Crossed:
    """Return the mean of `name` over trainings less that over unrelated trainings, on one text."""
    _check_text(runs, others)
    terms, other_terms = _terms(runs, name), _terms(others, name)
    one, other = crossed(terms), crossed(other_terms)
    over_text = crossed((terms.mean(axis=0) - other_terms.mean(axis=0))[None])
    unrelated = (other.runs_error or 0.0, other.n_runs)
    return replace(
        over_text, runs_error=one.runs_error, runs_sd=one.runs_sd, n_runs=one.n_runs, others=unrelated
    )  # fmt: skip


def _terms(runs: Sequence[TextCost], *names: str) -> FloatArray:
    return np.stack([run.terms(*names) for run in runs])


def _check_text(runs: Sequence[TextCost], others: Sequence[TextCost]) -> None:
    if len({run.n_characters for run in (*runs, *others)}) > 1:
        raise InputError("cannot pair costs of different texts")


def over_parts(values: Sequence[float]) -> Crossed:
    """Return the mean of a value over several parts of the text."""
    return crossed(np.array([values], dtype=np.float64))


def first_below(curve: RuleCurve) -> float:
    """Return N at which the line through the curve, log-log, meets the threshold of the rule."""
    sizes, values = np.log(curve.sizes), np.log(curve.differences)
    slope = log_slope(curve.sizes, curve.differences)
    return float(np.exp(sizes.mean() + (math.log(curve.gamma) - values.mean()) / slope))


_LEVEL = 0.95
_GAPS = (0.06, 0.38)  # half of the smaller published one, twice the larger
_NEAR = 0.01  # bits: the approximate value has come to the exact one
_STOPS = (1200.0, 2000.0)  # a quarter around 1,600
_ORDERS = (3.0, 4.0)  # of magnitude, between a practical N and the bound
_ROUNDED = 0.01  # published numbers that differ by as much differ beyond rounding
_ANCHOR = 4_297_078  # of the specification, at 1e-3, 1e-2 and 27 types

Conditions = Iterable[Condition]
_RULES = {
    rule.id: rule
    for rule in (
        _Rule("G1", "The approximate BPC is above the exact one at N = 2000.", "by 0.12 before, 0.19 after the rounds",
              "Approximate less exact BPC, above 0."),
        _Rule("G1, size", "It is above by 0.1 to 0.2 bits.", "0.12 and 0.19",
              "Approximate less exact BPC, between 0.06 (half of the smaller one) and 0.38 (twice the larger)."),
        _Rule("G2", "Adversarial training makes BPC worse.", "by 0.13, exact, and 0.20, approximate",
              "BPC after the rounds less that before, exact and approximate, each above 0; paired by training."),
        _Rule("G3", "GANs are worse than language models.", "at least 1.93 against at most 1.40; 3.31",
              "SeqGAN or LeakGAN less LSTM, exact, above 0; corrected BPC of the recurrent GAN less exact BPC "
              "of the LSTM, in the same windows, above 0."),
        _Rule("G3, uniform", "The recurrent GAN is better than the uniform distribution.", "3.31 against 4.75",
              "Its approximate BPC less that of the uniform distribution, below 0."),
        _Rule("G3, LeakGAN", "LeakGAN is worse than SeqGAN.", "without numbers",
              "LeakGAN less SeqGAN, exact, above 0: in the windows of table 1, and in windows that are shorter than "
              "those that both learn from."),
        _Rule("G4", "The bound asks for 4,297,078 draws, a practical N is three orders of magnitude smaller.",
              "4.3e6 and 1,600", "The bound at 27 types is 4,297,078, and the decimal logarithm of the bound, at the "
              "number of types here, over N where the rule is met lies between 3 and 4."),
        _Rule("G5", "The stopping rule is met at N of about 1,600.", "1,580 (SeqGAN) and 1,600 (recurrent GAN)",
              "N where the rule's curve, a line in logarithms, meets 1e-3, between 1,200 and 2,000, for each."),
        _Rule("G5, slopes", "The rule's criterion falls as 1/N, the true error as 1/sqrt(N).", "slope -1.007 (SeqGAN)",
              "Log-log slopes of the criterion between -1.05 and -0.95, of the true error between -0.55 and -0.45."),
        _Rule("G6", "With more draws the approximate BPC of a softmax comes to the exact one.", "by argument",
              "Approximate BPC at the smallest N less that at the largest, above 0; less the exact one at the largest, "
              "between -0.01 and 0.01 bits. On average over all draws: at half as many less at all, for each doubling, "
              "above 0."),
        _Rule("G7", "Windows that are longer than 7 hurt the recurrent GAN.", "without numbers",
              "Corrected BPC in each longer window less that in windows of 7, over the same text, above 0."),
        _Rule("D1", "Scaled down, any language model of characters shows G1, G6 and the slopes.",
              "by the specification, not the paper", "As G1, G6 and the slopes, together."),
        _Rule("D2", "Scaled down, SeqGAN shows G2 in sign over at least 3 trainings.",
              "by the specification, not the paper", "As G2, by exact BPC; 3 trainings at least."),
    )
}  # fmt: skip


def check_findings(results: GanResults, *, level: float = _LEVEL) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, once for each generator with the measurements it needs."""
    checked: dict[str, list[CheckedFinding]] = {rule: [] for rule in _RULES}

    def add(rule: str, about: str, conditions: Conditions) -> None:
        checked[rule].append(_RULES[rule].checked(f"ours, {about}", conditions, level))

    costs = results.costs
    for model in (LSTM, MLE, SEQGAN, LEAKGAN):
        if model in costs:
            gap = mean_of(costs[model], "plain", "-exact")
            add("G1", model, [gap.condition("gap", lower=0.0)])
            if model in (MLE, SEQGAN):
                add("G1, size", model, [gap.condition("gap", lower=_GAPS[0], upper=_GAPS[1])])
        if model in results.convergence:
            add("G6", model, _convergence(results, model))
    if all(LSTM in measured for measured in (costs, results.convergence, results.rules)):
        above = mean_of(costs[LSTM], "plain", "-exact").condition("gap", lower=0.0)
        add("D1", LSTM, [above, *_convergence(results, LSTM), *_slopes(results, LSTM)])
    if {MLE, SEQGAN} <= costs.keys():
        rounds = {what: difference_of(costs[SEQGAN], costs[MLE], what) for what in ("exact", "plain")}
        seqgan_rounds = {"exact": rounds["exact"], "approximate": rounds["plain"]}
        add(
            "G2", "SeqGAN", [one.condition(f"{name}, after - before", lower=0.0) for name, one in seqgan_rounds.items()]
        )
        if len(costs[SEQGAN]) >= 3:
            add("D2", "SeqGAN", [rounds["exact"].condition("exact, after - before", lower=0.0)])
    for name, model in (("SeqGAN", SEQGAN), ("LeakGAN", LEAKGAN)):
        if {LSTM, model} <= costs.keys():
            worse = difference_of(costs[model], costs[LSTM], "exact")
            add("G3", name, [worse.condition(f"{name} - LSTM", lower=0.0)])
    for window, runs in _leakgan_and_seqgan(results).items():
        worse = unpaired_of(*runs, "exact")
        add("G3, LeakGAN", f"windows of {window}", [worse.condition("LeakGAN - SeqGAN", lower=0.0)])
    for model in (WGAN, WGAN_SOFT):
        windows, language = (results.lengths.get(one, {}) for one in (model, LSTM))
        if WGAN_WINDOW in windows and WGAN_WINDOW in language:
            worse = difference_of(windows[WGAN_WINDOW], language[WGAN_WINDOW], "corrected", "exact")
            add("G3", model, [worse.condition(f"recurrent GAN - LSTM in windows of {WGAN_WINDOW}", lower=0.0)])
        if model in costs:
            better = mean_of(costs[model], "plain").less(math.log2(results.n_types))
            add("G3, uniform", model, [better.condition("recurrent GAN - uniform", upper=0.0)])
        longer = {window: runs for window, runs in windows.items() if window > WGAN_WINDOW}
        if WGAN_WINDOW in windows and longer:
            hurt = {window: difference_of(runs, windows[WGAN_WINDOW], "corrected") for window, runs in longer.items()}
            conditions = [one.condition(f"window {window} - {WGAN_WINDOW}", lower=0.0) for window, one in hurt.items()]
            add("G7", model, conditions)
    for model, curves in results.rules.items():
        stop = over_parts([first_below(curve) for curve in curves])
        add("G4", model, _bounds(results.n_types, [math.log10(first_below(curve)) for curve in curves]))
        if model in PUBLISHED_STOPS or model == WGAN_SOFT:
            add("G5", model, [stop.condition("N", lower=_STOPS[0], upper=_STOPS[1])])
        add("G5, slopes", model, _slopes(results, model))
    for rule, checks in checked.items():
        if not checks:
            checks.append(_RULES[rule].with_verdict("ours", "not measured", {}))
    return tuple(one for checks in checked.values() for one in checks)


def check_published(level: float = _LEVEL) -> tuple[CheckedFinding, ...]:
    """Return verdicts on the published numbers: each differs beyond rounding."""

    def bits(row: str, column: str) -> float:
        return published_bpc(row, column) or math.nan

    def number(name: str, value: float, lower: float = -math.inf, upper: float = math.inf) -> Condition:
        return Condition(name, value, _ROUNDED / 2, math.inf, lower, upper)

    gaps = {row: bits(row, APPROXIMATE) - bits(row, EXACT) for row in (MLE, SEQGAN)}
    worse = {column: bits(SEQGAN, column) - bits(MLE, column) for column in (EXACT, APPROXIMATE)}
    best = {MLE: bits(MLE, EXACT), SEQGAN: bits(SEQGAN, EXACT), WGAN: bits(WGAN, APPROXIMATE)}
    last = max(LITERATURE.values())
    conditions: Mapping[str, Conditions] = {
        "G1": [number(row, gap, 0.0) for row, gap in gaps.items()],
        "G1, size": [number(row, gap, *_GAPS) for row, gap in gaps.items()],
        "G2": [number(f"{column}, after - before", value, 0.0) for column, value in worse.items()],
        "G3": [number(f"{row} - worst language model", value - last, 0.0) for row, value in best.items()],
        "G3, uniform": [number("recurrent GAN - uniform", best[WGAN] - math.log2(N_TYPES), upper=0.0)],
        "G4": _bounds(N_TYPES, [math.log10(stop) for stop in PUBLISHED_STOPS.values()]),
        "G5": [Condition(row, float(stop), 0.0, math.inf, *_STOPS) for row, stop in PUBLISHED_STOPS.items()],
    }
    return tuple(_RULES[rule].checked("the published numbers", parts, level) for rule, parts in conditions.items())


def _bounds(n_types: int, log_stops: list[float]) -> list[Condition]:
    """Return the conditions on the bound and on how far below it the rule stops."""
    anchor = float(samples_needed(GAMMA, EPSILON, N_TYPES))
    orders = math.log10(samples_needed(GAMMA, EPSILON, n_types))
    below = over_parts([orders - stop for stop in log_stops])
    exact = Condition(f"bound at {N_TYPES} types", anchor, 0.0, math.inf, _ANCHOR - 0.5, _ANCHOR + 0.5)
    return [exact, below.condition("orders of magnitude", lower=_ORDERS[0], upper=_ORDERS[1])]


def _leakgan_and_seqgan(results: GanResults) -> dict[int, tuple[Sequence[TextCost], Sequence[TextCost]]]:
    """Return window to the trainings of both, as far as both were measured there."""
    both = (LEAKGAN, SEQGAN)
    found: dict[int, tuple[Sequence[TextCost], Sequence[TextCost]]] = {}
    if {*both} <= results.costs.keys():
        leakgan, seqgan = (results.costs[model] for model in both)
        found[leakgan[0].window] = (leakgan, seqgan)
    windows = [results.lengths.get(model, {}) for model in both]
    if all(WGAN_WINDOW in runs for runs in windows):
        found[WGAN_WINDOW] = (windows[0][WGAN_WINDOW], windows[1][WGAN_WINDOW])
    return found


def _convergence(results: GanResults, model: str) -> list[Condition]:
    """Return conditions on what was drawn, at the ends, and on each doubling on average over all draws."""
    by_size = results.convergence[model]
    few, last = min(by_size), max(by_size)
    gap = mean_of([by_size[last]], "plain", "-exact")
    drawn = difference_of([by_size[few]], [by_size[last]]).condition(f"N = {few} - {last}", lower=0.0)
    doublings = [
        difference_of([by_size[half]], [by_size[n]], "expected").condition(f"expected, N = {half} - {n}", lower=0.0)
        for half, n in pairwise(sorted(by_size))
    ]
    return [drawn, gap.condition(f"gap at N = {last}", lower=-_NEAR, upper=_NEAR), *doublings]


def _slopes(results: GanResults, model: str) -> list[Condition]:
    curves = results.rules[model]
    conditions = [over_parts([curve.slope for curve in curves]).condition("criterion", lower=-1.05, upper=-0.95)]
    errors = [curve.error_slope for curve in curves if curve.error_slope is not None]
    return [*conditions, *([over_parts(errors).condition("true error", lower=-0.55, upper=-0.45)] if errors else [])]
