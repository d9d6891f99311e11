"""Sample sizes for an interval of given width, or to detect a difference with given power.

The discrepancy is the sum of the accuracies p_r on real and p_g on generated text, less one. With n test texts per side
its variance is ``factor (p_r (1 - p_r) + p_g (1 - p_g)) / n``, where `factor` allows for cross-fitting. At a given
discrepancy d it is largest if both accuracies are (1 + d) / 2, the default assumption; then it is
``factor (1 - d^2) / (2 n)``.

Sources: Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17,
1998 (the width); Fleiss, Levin, Paik, "Statistical Methods for Rates and Proportions", 2003, chapter 4 (sample sizes by
the normal approximation, with a standard error of its own under the null hypothesis).
"""

import math

from scipy.special import ndtri

from textassay.errors import OptionError
from textassay.resampling.proportions import newcombe_interval

_MAX_TEXTS = 10**12


def sentences_for_margin(
    margin: float, *, share_real: float, share_generated: float, level: float, variance_factor: float
) -> int:
    """Return the number of texts per side at which Newcombe's interval extends at most `margin` to either side."""
    _check_inside("margin", margin)

    def half_width(n: int) -> float:
        counted = n / variance_factor
        interval = newcombe_interval(
            share_real * counted, counted, (1 - share_generated) * counted, counted, level=level
        )
        value = share_real + share_generated - 1
        return max(value - interval.low, interval.high - value)

    enough = 1
    while half_width(enough) > margin:
        if enough > _MAX_TEXTS:
            raise OptionError(f"margin must be larger: {margin} takes more than {_MAX_TEXTS:.0e} texts")
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if half_width(middle) <= margin:
            enough = middle
        else:
            too_few = middle
    return enough


def sentences_to_detect(discrepancy: float, *, level: float, power: float, variance_factor: float) -> int:
    """Return the number of texts per side at which the interval of a discrepancy excludes 0 with chance `power`."""
    _check_inside("discrepancy", discrepancy)
    return _sample_size(
        discrepancy,
        spread_null=math.sqrt(variance_factor / 2),
        spread=math.sqrt(variance_factor * (1 - discrepancy**2) / 2),
        level=level,
        power=power,
    )


def sentences_to_separate(
    difference: float,
    *,
    discrepancy: float,
    correlation: float,
    level: float,
    power: float,
    variance_factor: float,
) -> int:
    """Return the number of texts per side at which two generators differ significantly with chance `power`.

    Both are measured against the same real text, with as many texts as each of them.
    """
    _check_inside("difference", difference)
    if not 0 <= discrepancy <= 1 - difference:
        raise OptionError(
            f"dd must be between 0 and {1 - difference:g} for two generators that differ by {difference:g}"
        )
    if not -1 <= correlation <= 1:
        raise OptionError(f"correlation must be between -1 and 1, got {correlation}")
    one, other = (variance_factor * (1 - value**2) / 4 for value in (discrepancy, discrepancy + difference))
    spread = math.sqrt(max(0.0, 2 * one + 2 * other - 2 * correlation * math.sqrt(one * other)))
    return _sample_size(difference, spread_null=spread, spread=spread, level=level, power=power)


def _sample_size(difference: float, *, spread_null: float, spread: float, level: float, power: float) -> int:
    _check_inside("level", level)
    _check_inside("power", power)
    reach = float(ndtri((1 + level) / 2)) * spread_null + float(ndtri(power)) * spread
    size = (max(0.0, reach) / difference) ** 2
    if not size <= _MAX_TEXTS:
        raise OptionError(f"a difference of {difference} takes more than {_MAX_TEXTS:.0e} texts")
    return max(1, math.ceil(size))


def _check_inside(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise OptionError(f"{name} must be between 0 and 1, got {value}")
