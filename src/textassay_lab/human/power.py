"""Sample sizes and power of human studies: texts and judges needed to detect or separate accuracies.

Judgements of one text are correlated (rho_t), and so are judgements by one person (rho_r). With k judges per text, each
of whom judges m texts of a generator, the variance of the mean of all judgements is ``1 + (k - 1) rho_t + (m - 1)
rho_r`` times that of independent judgements (the design effect). Where raters judge several texts, the analysis learns
from few raters how raters differ: its degrees of freedom are Satterthwaite's (`textassay_lab.human.clusters`), so power
is that of a noncentral t.

Sources: Fleiss, Levin, Paik, "Statistical Methods for Rates and Proportions", 2003, chapter 4 (sample sizes by the
normal approximation, with a standard error of its own under the null hypothesis); Kish, "Survey Sampling", 1965 (the
design effect).
Departs from Fleiss et al.: no correction for continuity.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, stdtrit
from scipy.stats import norm

from textassay.errors import OptionError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MAX_TEXTS = 10**12
_MANY = 1e5  # degrees of freedom, above which t is normal
_ROUNDING = 1e-12


def tie_share(judges: int) -> float:
    """Return the fraction of texts on which `judges` people who guess are tied; 0 for an odd number."""
    return 0.0 if judges % 2 else math.exp(math.log(math.comb(judges, judges // 2)) - judges * math.log(2))


@dataclass(frozen=True)
class Design:
    """How many people judge a text, how many texts of a generator each of them judges, and how alike judgements are."""

    judges: int = 1
    text_correlation: float = 0.0
    texts_per_rater: float = 1.0
    rater_correlation: float = 0.0

    def __post_init__(self) -> None:
        if self.judges < 1:
            raise OptionError(f"judges must be at least 1, got {self.judges}")
        if not self.texts_per_rater >= 1:
            raise OptionError(f"texts_per_rater must be at least 1, got {self.texts_per_rater}")
        for name in ("text_correlation", "rater_correlation"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise OptionError(f"{name} must be between 0 and 1, got {value}")

    def effect(self, texts: float = math.inf) -> float:
        """Return the ratio of the variance of a generator's mean judgement to that of independent judgements."""
        others = min(self.texts_per_rater, texts) - 1
        return 1 + (self.judges - 1) * self.text_correlation + others * self.rater_correlation

    def raters(self, texts: int) -> float:
        """Return the number of people who judge `texts` texts of a generator."""
        return texts * self.judges / min(self.texts_per_rater, texts)

    def degrees_of_freedom(self, texts: int) -> float:
        """Return those that raters leave: infinite where each judges one text, 0 for one who stands for others."""
        others = min(self.texts_per_rater, texts) - 1
        n_raters = self.raters(texts)
        if others <= 0 or (n_raters <= 1 and self.rater_correlation == 0):
            return math.inf
        of_raters = (1 - self.text_correlation + others * self.rater_correlation) / self.effect(texts)
        return (n_raters - 1) / of_raters**2 if of_raters > 0 else math.inf


def texts_to_detect(
    accuracy: float, *, chance: float = 0.5, level: float = 0.95, power: float = 0.8, design: Design = Design()
) -> int:
    """Return the number of texts at which an accuracy differs significantly from chance with probability `power`."""
    _check(accuracy=accuracy, chance=chance, level=level, power=power)
    return _texts(accuracy - chance, _spread(chance), _spread(accuracy), level, power, design)


def texts_to_separate(
    accuracy: float, other: float, *, level: float = 0.95, power: float = 0.8, design: Design = Design()
) -> int:
    """Return the number of texts of each of two generators at which their accuracies differ significantly."""
    _check(accuracy=accuracy, other=other, level=level, power=power)
    return _texts(accuracy - other, *_spreads(accuracy, other), level, power, design)


def power_to_detect(
    texts: int, accuracy: float, *, chance: float = 0.5, level: float = 0.95, design: Design = Design()
) -> float:
    """Return the power to detect that `accuracy` differs from chance; see `texts_to_detect`."""
    _check(accuracy=accuracy, chance=chance, level=level)
    return _power(texts, accuracy - chance, _spread(chance), _spread(accuracy), level, design)


def power_to_separate(
    texts: int, accuracy: float, other: float, *, level: float = 0.95, design: Design = Design()
) -> float:
    """Return the power to separate two generators with `texts` texts each; see `texts_to_separate`."""
    _check(accuracy=accuracy, other=other, level=level)
    return _power(texts, accuracy - other, *_spreads(accuracy, other), level, design)


def shared_correlation(values: FloatArray, strata: IntArray, clusters: IntArray) -> float:
    """Return the correlation between two judgements that share a text or a rater, in [-1, 1].

    `values`: judgements, shape (J,); `strata`: strata such as generators, whose means are subtracted, shape (J,);
    `clusters`: text or rater, shape (J,).

    The mean product of deviations over all pairs in a cluster, over the mean square; NaN if no two judgements share a
    cluster or nothing deviates.
    """
    _, place = np.unique(strata, return_inverse=True)
    place = place.reshape(-1)
    deviations = values - (np.bincount(place, weights=values) / np.bincount(place))[place]
    _, member = np.unique(clusters, return_inverse=True)
    member = member.reshape(-1)
    sizes = np.bincount(member)
    sums, squares = np.bincount(member, weights=deviations), np.bincount(member, weights=deviations**2)
    n_pairs, variance = float(np.sum(sizes * (sizes - 1))), float(np.mean(deviations**2))
    if n_pairs == 0 or variance == 0:
        return math.nan
    return float(np.sum(sums**2 - squares)) / n_pairs / variance


def _texts(difference: float, spread_null: float, spread: float, level: float, power: float, design: Design) -> int:
    if difference == 0:
        raise OptionError("the two accuracies must differ, got equal ones")

    def is_enough(texts: int) -> bool:
        return _power(texts, difference, spread_null, spread, level, design) >= power - _ROUNDING

    if not is_enough(_MAX_TEXTS):
        raise OptionError(f"a difference of {abs(difference):g} takes more than {_MAX_TEXTS:.0e} texts")
    return 1 + bisect_left(range(1, _MAX_TEXTS), True, key=is_enough)


def _power(texts: int, difference: float, spread_null: float, spread: float, level: float, design: Design) -> float:
    if texts < 1:
        raise OptionError(f"texts must be at least 1, got {texts}")
    distance = abs(difference) * math.sqrt(texts * design.judges / design.effect(texts))
    df = design.degrees_of_freedom(texts)
    if df <= 0:
        return 0.0
    if df > _MANY:
        return float(norm.cdf((distance - float(norm.isf((1 - level) / 2)) * spread_null) / spread))
    return 1 - float(nctdtr(df, distance / spread, stdtrit(df, (1 + level) / 2) * spread_null / spread))


def _spreads(accuracy: float, other: float) -> tuple[float, float]:
    """Return the standard deviation of a difference of two judgements if both accuracies are equal, and as they are."""
    return math.sqrt(2) * _spread((accuracy + other) / 2), math.hypot(_spread(accuracy), _spread(other))


def _spread(share: float) -> float:
    """Return the standard deviation of one judgement."""
    return math.sqrt(share * (1 - share))


def _check(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < 1:
            raise OptionError(f"{name} must be between 0 and 1, got {value}")
