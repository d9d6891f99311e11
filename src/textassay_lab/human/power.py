"""Sample sizes and power of human studies: texts and judges needed to detect or separate accuracies.

Judgements of one text are correlated (rho_t), and so are judgements by one person (rho_r). With k judges per text, each
of whom judges m texts of a generator, the variance of the mean of all judgements is ``1 + (k - 1) rho_t + (m - 1)
rho_r`` times that of independent judgements (the design effect).

Sources: Fleiss, Levin, Paik, "Statistical Methods for Rates and Proportions", 2003, chapter 4 (sample sizes by the
normal approximation, with a standard error of its own under the null hypothesis); Kish, "Survey Sampling", 1965 (the
design effect).
Departs from Fleiss et al.: no correction for continuity.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from textassay.errors import OptionError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MAX_TEXTS = 10**12


def tie_share(judges: int) -> float:
    """Return the fraction of texts on which `judges` people who guess are tied; 0 for an odd number."""
    return 0.0 if judges % 2 else math.exp(math.log(math.comb(judges, judges // 2)) - judges * math.log(2))


def design_effect(
    *,
    judges: int,
    text_correlation: float = 0.0,
    texts_per_rater: float = 1.0,
    rater_correlation: float = 0.0,
) -> float:
    """Return the ratio of the variance of the mean judgement of a generator to that of independent judgements."""
    if judges < 1:
        raise OptionError(f"judges must be at least 1, got {judges}")
    if not texts_per_rater >= 1:
        raise OptionError(f"texts_per_rater must be at least 1, got {texts_per_rater}")
    for name, value in (("text_correlation", text_correlation), ("rater_correlation", rater_correlation)):
        if not 0 <= value <= 1:
            raise OptionError(f"{name} must be between 0 and 1, got {value}")
    return 1 + (judges - 1) * text_correlation + (texts_per_rater - 1) * rater_correlation


def texts_to_detect(
    accuracy: float,
    *,
    chance: float = 0.5,
    level: float = 0.95,
    power: float = 0.8,
    judges: int = 1,
    effect: float = 1.0,
) -> int:
    """Return the number of texts at which an accuracy differs significantly from chance with probability `power`."""
    _check(accuracy=accuracy, chance=chance, level=level, power=power)
    spread_null, spread = _spread(chance), _spread(accuracy)
    return _texts(accuracy - chance, spread_null, spread, level, power, judges, effect)


def texts_to_separate(
    accuracy: float,
    other: float,
    *,
    level: float = 0.95,
    power: float = 0.8,
    judges: int = 1,
    effect: float = 1.0,
) -> int:
    """Return the number of texts of each of two generators at which their accuracies differ significantly."""
    _check(accuracy=accuracy, other=other, level=level, power=power)
    spread_null = math.sqrt(2) * _spread((accuracy + other) / 2)
    return _texts(
        accuracy - other, spread_null, math.hypot(_spread(accuracy), _spread(other)), level, power, judges, effect
    )


def power_to_detect(
    texts: int, accuracy: float, *, chance: float = 0.5, level: float = 0.95, judges: int = 1, effect: float = 1.0
) -> float:
    """Return the power to detect that `accuracy` differs from chance; see `texts_to_detect`."""
    _check(accuracy=accuracy, chance=chance, level=level)
    return _power(texts, accuracy - chance, _spread(chance), _spread(accuracy), level, judges, effect)


def power_to_separate(
    texts: int, accuracy: float, other: float, *, level: float = 0.95, judges: int = 1, effect: float = 1.0
) -> float:
    """Return the power to separate two generators with `texts` texts each; see `texts_to_separate`."""
    _check(accuracy=accuracy, other=other, level=level)
    spread_null = math.sqrt(2) * _spread((accuracy + other) / 2)
    return _power(
        texts, accuracy - other, spread_null, math.hypot(_spread(accuracy), _spread(other)), level, judges, effect
    )


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


def _texts(
    difference: float, spread_null: float, spread: float, level: float, power: float, judges: int, effect: float
) -> int:
    if difference == 0:
        raise OptionError("the two accuracies must differ, got equal ones")
    if effect < 1:
        raise OptionError(f"effect must be at least 1, got {effect}")
    reach = float(norm.isf((1 - level) / 2)) * spread_null + float(norm.isf(1 - power)) * spread
    size = (max(0.0, reach) / difference) ** 2 * effect / judges
    if not size <= _MAX_TEXTS:
        raise OptionError(f"a difference of {abs(difference):g} takes more than {_MAX_TEXTS:.0e} texts")
    return max(1, math.ceil(size - 1e-9))


def _power(
    texts: int, difference: float, spread_null: float, spread: float, level: float, judges: int, effect: float
) -> float:
    if texts < 1:
        raise OptionError(f"texts must be at least 1, got {texts}")
    if effect < 1:
        raise OptionError(f"effect must be at least 1, got {effect}")
    root = math.sqrt(texts * judges / effect)
    return float(norm.cdf((abs(difference) * root - float(norm.isf((1 - level) / 2)) * spread_null) / spread))


def _spread(share: float) -> float:
    """Return the standard deviation of one judgement."""
    return math.sqrt(share * (1 - share))


def _check(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < 1:
            raise OptionError(f"{name} must be between 0 and 1, got {value}")
