"""What the findings on GANs as language models look at, in the published numbers and in ours.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay_lab.approximation.approximation import EPSILON, GAMMA, samples_needed
from textassay_lab.approximation.stopping_rule import RuleCurve, log_slope
from textassay_lab.papers.findings import LEVEL, Condition, Outcome, Quantities, check, numbers_of
from textassay_lab.papers.gan_as_lm.experiment import (
    APPROXIMATE,
    EXACT,
    GAN_PAPER,
    LEAKGAN,
    LSTM,
    MLE,
    SEQGAN,
    UNIFORM,
    WGAN,
    WGAN_SOFT,
    WGAN_WINDOW,
    GanResults,
    TextCost,
)
from textassay_lab.papers.reproduction import CheckedFinding

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

    def condition(self, name: str = "") -> Condition:
        """Return the value as a number that bounds are set for."""
        parts = (
            (self.text_error, self.n_stretches - 1),
            (self.runs_error or 0.0, self.n_runs - 1),
            (self.others[0], self.others[1] - 1),
        )
        return _CrossedCondition(name, self.value, self.error, math.nan, parts=parts)


@dataclass(frozen=True)
class _CrossedCondition(Condition):
    """A condition whose error has several parts, each with degrees of freedom of its own."""

    parts: tuple[tuple[float, int], ...] = ()

    def interval(self, level: float) -> tuple[float, float]:
        """Return the value less and plus the root of the sum of the squared arms of Student's intervals."""
        arms = [error * stats.t.ppf((1 + level) / 2, degrees) for error, degrees in self.parts if error != 0]
        half = math.hypot(*arms)
        return self.value - half, self.value + half

    def with_more(self, times: float) -> Condition:
        """Return the same value from `times` as many trainings, and as much text."""
        parts = tuple((error / math.sqrt(times), round(times * (degrees + 1)) - 1) for error, degrees in self.parts)
        return replace(self, error=self.error / math.sqrt(times), parts=parts)


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
    return replace(over_text, runs_error=one.runs_error, runs_sd=one.runs_sd, n_runs=one.n_runs, others=unrelated)


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


N_TYPES = 27  # of text8: 26 letters and the space
STOPS = "N where the rule stops"
_ROUNDED = 0.01  # published numbers that differ by as much differ beyond rounding
quantity = Quantities()


def check_findings(results: GanResults, *, level: float = LEVEL) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, once for each generator with the measurements it needs."""
    return check(GAN_PAPER.findings, lambda finding: quantity[finding.quantity](results), whose="ours", level=level)


def check_published(level: float = LEVEL) -> tuple[CheckedFinding, ...]:
    """Return verdicts on the published numbers: each differs beyond rounding."""
    printed = GAN_PAPER.tables["table 1"].cells()
    bits = {place: value for place, (value, _) in printed.items()}
    literature = [value for (row, _), value in bits.items() if row not in (MLE, SEQGAN, WGAN, UNIFORM)]
    gaps = {row: bits[row, APPROXIMATE] - bits[row, EXACT] for row in (MLE, SEQGAN)}
    worse = {column: bits[SEQGAN, column] - bits[MLE, column] for column in (EXACT, APPROXIMATE)}
    best = {MLE: bits[MLE, EXACT], SEQGAN: bits[SEQGAN, EXACT], WGAN: bits[WGAN, APPROXIMATE]}
    stops = GAN_PAPER.tables["stopping rule"].column(STOPS)
    numbers: Mapping[str, Mapping[str, float]] = {
        "G1": gaps,
        "G1, size": gaps,
        "G2": {f"{column}, after - before": value for column, value in worse.items()},
        "G3": {f"{row} - worst language model": value - max(literature) for row, value in best.items()},
        "G3, uniform": {"recurrent GAN - uniform": best[WGAN] - math.log2(N_TYPES)},
    }
    of_findings = {
        name: [Condition(what, value, _ROUNDED / 2, math.inf) for what, value in values.items()]
        for name, values in numbers.items()
    }
    of_findings["G4"] = _bounds(N_TYPES, [math.log10(stop) for stop in stops.values()])
    of_findings["G5"] = [Condition(row, float(stop), 0.0, math.inf) for row, stop in stops.items()]
    return check(
        [finding for finding in GAN_PAPER.findings if finding.id in of_findings],
        lambda finding: [numbers_of("", *of_findings[finding.id])],
        whose="the published numbers",
        level=level,
    )


@quantity
def gap(results: GanResults) -> Iterator[Outcome]:
    for model in (LSTM, MLE, SEQGAN, LEAKGAN):
        if model in results.costs:
            yield numbers_of(model, mean_of(results.costs[model], "plain", "-exact").condition("gap"))


@quantity
def rounds(results: GanResults) -> Iterator[Outcome]:
    names = {"exact": "exact", "approximate": "plain"}
    yield numbers_of("SeqGAN", *(_rounds(results, key, name) for name, key in names.items()))


@quantity
def rounds_of_three(results: GanResults) -> Iterator[Outcome]:
    if len(results.costs[SEQGAN]) >= 3:
        yield numbers_of("SeqGAN", _rounds(results, "exact", "exact"))


def _rounds(results: GanResults, key: str, name: str) -> Condition:
    return difference_of(results.costs[SEQGAN], results.costs[MLE], key).condition(f"{name}, after - before")


@quantity
def worse_than_lstm(results: GanResults) -> Iterator[Outcome]:
    costs, lengths = results.costs, results.lengths
    for name, model in (("SeqGAN", SEQGAN), ("LeakGAN", LEAKGAN)):
        if {LSTM, model} <= costs.keys():
            yield numbers_of(name, difference_of(costs[model], costs[LSTM], "exact").condition(f"{name} - LSTM"))
    for model in (WGAN, WGAN_SOFT):
        if all(WGAN_WINDOW in lengths.get(one, {}) for one in (model, LSTM)):
            runs, of_lstm = (lengths[one][WGAN_WINDOW] for one in (model, LSTM))
            worse = difference_of(runs, of_lstm, "corrected", "exact")
            yield numbers_of(model, worse.condition(f"recurrent GAN - LSTM in windows of {WGAN_WINDOW}"))


@quantity
def better_than_uniform(results: GanResults) -> Iterator[Outcome]:
    for model in (WGAN, WGAN_SOFT):
        if model in results.costs:
            better = mean_of(results.costs[model], "plain").less(math.log2(results.n_types))
            yield numbers_of(model, better.condition("recurrent GAN - uniform"))


@quantity
def leakgan_and_seqgan(results: GanResults) -> Iterator[Outcome]:
    both = (LEAKGAN, SEQGAN)
    sides = [results.costs] if {*both} <= results.costs.keys() else []
    windows = [results.lengths.get(model, {}) for model in both]
    if all(WGAN_WINDOW in runs for runs in windows):
        sides.append({model: runs[WGAN_WINDOW] for model, runs in zip(both, windows, strict=True)})
    for costs in sides:
        worse = unpaired_of(costs[LEAKGAN], costs[SEQGAN], "exact")
        yield numbers_of(f"windows of {costs[LEAKGAN][0].window}", worse.condition("LeakGAN - SeqGAN"))


@quantity
def bound_and_stop(results: GanResults) -> Iterator[Outcome]:
    for model, curves in results.rules.items():
        log_stops = [math.log10(first_below(curve)) for curve in curves]
        yield numbers_of(model, *_bounds(results.n_types, log_stops))


def _bounds(n_types: int, log_stops: list[float]) -> list[Condition]:
    """Return the bound, and how far below it the rule stops."""
    anchor = float(samples_needed(GAMMA, EPSILON, N_TYPES))
    orders = math.log10(samples_needed(GAMMA, EPSILON, n_types))
    below = over_parts([orders - stop for stop in log_stops])
    return [Condition(f"bound at {N_TYPES} types", anchor, 0.0, math.inf), below.condition("orders of magnitude")]


@quantity
def stop(results: GanResults) -> Iterator[Outcome]:
    for model, curves in results.rules.items():
        if model in (SEQGAN, WGAN, WGAN_SOFT):
            yield numbers_of(model, over_parts([first_below(curve) for curve in curves]).condition("N"))


@quantity
def slopes(results: GanResults) -> Iterator[Outcome]:
    for model in results.rules:
        yield numbers_of(model, *_slopes(results, model))


def _slopes(results: GanResults, model: str) -> list[Condition]:
    curves = results.rules[model]
    errors = [curve.error_slope for curve in curves if curve.error_slope is not None]
    criterion = over_parts([curve.slope for curve in curves]).condition("criterion")
    return [criterion, *([over_parts(errors).condition("true error")] if errors else [])]


@quantity
def convergence(results: GanResults) -> Iterator[Outcome]:
    for model in results.convergence:
        yield numbers_of(model, *_convergence(results, model))


def _convergence(results: GanResults, model: str) -> list[Condition]:
    """Return differences of what was drawn, at the ends, and of each doubling on average over all draws."""
    by_size = results.convergence[model]
    few, last = min(by_size), max(by_size)
    at_last = mean_of([by_size[last]], "plain", "-exact").condition(f"gap at N = {last}")
    drawn = difference_of([by_size[few]], [by_size[last]]).condition(f"N = {few} - {last}")
    doublings = [
        difference_of([by_size[half]], [by_size[n]], "expected").condition(f"expected, N = {half} - {n}")
        for half, n in pairwise(sorted(by_size))
    ]
    return [drawn, at_last, *doublings]


@quantity
def longer_windows(results: GanResults) -> Iterator[Outcome]:
    for model in (WGAN, WGAN_SOFT):
        windows = results.lengths.get(model, {})
        longer = [window for window in windows if window > WGAN_WINDOW]
        if WGAN_WINDOW in windows and longer:
            hurt = {window: difference_of(windows[window], windows[WGAN_WINDOW], "corrected") for window in longer}
            yield numbers_of(model, *(one.condition(f"window {w} - {WGAN_WINDOW}") for w, one in hurt.items()))


@quantity
def scaled_down(results: GanResults) -> Iterator[Outcome]:
    above = mean_of(results.costs[LSTM], "plain", "-exact").condition("gap")
    yield numbers_of(LSTM, above, *_convergence(results, LSTM), *_slopes(results, LSTM))
