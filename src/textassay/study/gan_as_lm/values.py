"""Numbers of the study of GANs as language models with their errors: over the text, over trainings, and both together.

Costs of several trainings on one text vary with the training and with the text. Means over each give an interval each;
the squared arms of both add up to those of the joint interval. This counts interactions twice: in simulations of 3
trainings, intervals of 95 % cover 95 to 99 %, where one with Satterthwaite's degrees of freedom covers 93 to 98 %.
Differences are paired by stretch of text, and by training where one continues the other; errors of unrelated trainings
add up. With one training, the interval is over the text, and the generator is fixed.

Source: Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007 (crossed random effects); Zou, Donner,
"Construction of Confidence Limits about Effect Measures", Statistics in Medicine 27, 2008 (sums of squared arms).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.approximation import RuleCurve, log_slope
from textassay.errors import InputError
from textassay.study.findings import Condition
from textassay.study.gan_as_lm.results import TextCost

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
    return crossed(np.stack([run.terms(*names) for run in runs]))


def difference_of(
    runs: Sequence[TextCost], others: Sequence[TextCost], name: str = "plain", other: str | None = None
) -> Crossed:
    """Return the mean over trainings of `name` less `other` (the same, by default), paired over the same text."""
    if len(runs) != len(others) and 1 not in (len(runs), len(others)):
        raise InputError(f"cannot pair {len(runs)} trainings with {len(others)}")
    if len({run.n_characters for run in (*runs, *others)}) > 1:
        raise InputError("cannot pair costs of different texts")
    sides = [np.stack([run.terms(asked) for run in side]) for side, asked in ((runs, name), (others, other or name))]
    return crossed(sides[0] - sides[1])


def unpaired_of(runs: Sequence[TextCost], others: Sequence[TextCost], name: str) -> Crossed:
    """Return the mean of `name` over trainings less that over unrelated trainings, on one text."""
    if len({run.n_characters for run in (*runs, *others)}) > 1:
        raise InputError("cannot pair costs of different texts")
    terms, other_terms = (np.stack([run.terms(name) for run in side]) for side in (runs, others))
    one, other = crossed(terms), crossed(other_terms)
    found = crossed((terms.mean(axis=0) - other_terms.mean(axis=0))[None])
    spread = replace(found, runs_error=one.runs_error, runs_sd=one.runs_sd, n_runs=one.n_runs)
    return replace(spread, others=(other.runs_error or 0.0, other.n_runs))


def over_parts(values: Sequence[float]) -> Crossed:
    """Return the mean of a value over several parts of the text."""
    return crossed(np.array([values], dtype=np.float64))


def first_below(curve: RuleCurve) -> float:
    """Return N at which the line through the curve, log-log, meets the threshold of the rule."""
    sizes, values = np.log(curve.sizes), np.log(curve.differences)
    slope = log_slope(curve.sizes, curve.differences)
    return float(np.exp(sizes.mean() + (math.log(curve.gamma) - values.mean()) / slope))
