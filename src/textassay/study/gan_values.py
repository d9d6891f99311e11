"""Numbers of the study of GANs as language models with their errors: over the text, over trainings, and both together.

Costs of several trainings on one text vary with the training and with the text. Means over each tell how much; the
variance of both together is their sum, which counts twice what varies with both at once, and so is rather too large;
its degrees of freedom are Satterthwaite's. Differences are paired: by training where both sides have as many, and by
stretch of text. Of one training, the variance is that over the text, and the generator is fixed.

Source: Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007 (crossed random effects); Satterthwaite,
"An Approximate Distribution of Estimates of Variance Components", Biometrics Bulletin 2, 1946.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.approximation.stopping_rule import RuleCurve, log_slope
from textassay.errors import InputError
from textassay.study.exposure_values import Claim
from textassay.study.gan_results import TextCost

__all__ = ["Crossed", "crossed", "difference_of", "first_below", "mean_of", "over_parts"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Crossed:
    """A mean over trainings and stretches of text, in bits per character.

    Attributes
    ----------
    value
        The mean.
    runs_error, text_error
        Standard errors over trainings (None of one) and over stretches (NaN of one).
    runs_sd
        Standard deviation over trainings; None of one.
    degrees
        Of freedom of both errors together.
    """

    value: float
    runs_error: float | None
    text_error: float
    runs_sd: float | None
    degrees: float

    @property
    def error(self) -> float:
        """Both errors together."""
        return math.hypot(self.runs_error or 0.0, self.text_error)

    def claim(self, name: str = "", *, lower: float = -math.inf, upper: float = math.inf) -> Claim:
        """Return the claim that the value lies between bounds."""
        return Claim(name, self.value, self.error, self.degrees, lower, upper)


def crossed(terms: FloatArray) -> Crossed:
    """Return the mean of terms, shape (K, S): trainings by stretches."""
    n_runs, n_stretches = terms.shape
    value = float(terms.mean())
    of_text = float(terms.mean(axis=0).var(ddof=1) / n_stretches) if n_stretches > 1 else math.nan
    if n_runs == 1:
        return Crossed(value, None, math.sqrt(of_text), None, n_stretches - 1)
    sd = float(terms.mean(axis=1).std(ddof=1))
    of_runs = sd**2 / n_runs
    below = of_runs**2 / (n_runs - 1) + of_text**2 / max(n_stretches - 1, 1)
    degrees = (of_runs + of_text) ** 2 / below if below > 0 else math.inf
    return Crossed(value, math.sqrt(of_runs), math.sqrt(of_text), sd, degrees)


def mean_of(runs: Sequence[TextCost], *names: str) -> Crossed:
    """Return the mean of a sum of `TextCost.sums` over trainings; a minus before a name subtracts it."""
    return crossed(np.stack([run.terms(*names) for run in runs]))


def difference_of(
    runs: Sequence[TextCost], others: Sequence[TextCost], name: str = "plain", other: str | None = None
) -> Crossed:
    """Return the mean over trainings of `name` less `other` (the same, by default), paired over the same text.

    Raises
    ------
    InputError
        If the texts differ, or the numbers of trainings, and neither has one.
    """
    if len(runs) != len(others) and 1 not in (len(runs), len(others)):
        raise InputError(f"cannot pair {len(runs)} trainings with {len(others)}")
    if len({run.n_characters for run in (*runs, *others)}) > 1:
        raise InputError("cannot pair costs of different texts")
    sides = [np.stack([run.terms(asked) for run in side]) for side, asked in ((runs, name), (others, other or name))]
    return crossed(sides[0] - sides[1])


def over_parts(values: Sequence[float]) -> Crossed:
    """Return the mean of a value that several parts of the text gave."""
    return crossed(np.array([values], dtype=np.float64))


def first_below(curve: RuleCurve) -> float:
    """Return N at which the line through the curve, log-log, meets the threshold of the rule."""
    sizes, values = np.log(curve.sizes), np.log(curve.differences)
    slope = log_slope(curve.sizes, curve.differences)
    return float(np.exp(sizes.mean() + (math.log(curve.gamma) - values.mean()) / slope))
