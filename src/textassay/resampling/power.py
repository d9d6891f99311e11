"""How many sentences are enough: for an interval of a given width, or for a difference to be found with given power.

The discrepancy is a sum of two shares of right answers, less one. With n sentences tested on each side its variance is
``factor (p_r (1 - p_r) + p_g (1 - p_g)) / n``, where `factor` allows for cross-fitting. At a given discrepancy d it is
largest where both shares are (1 + d) / 2, which is assumed wherever they are not given; then it is
``factor (1 - d^2) / (2 n)``.

Sources: Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17,
1998 (the width); Fleiss, Levin, Paik, "Statistical Methods for Rates and Proportions", 2003, chapter 4 (sample sizes by
the normal approximation, with a standard error of its own under the null hypothesis), by statsmodels.
"""

import math

from textassay.errors import OptionError
from textassay.resampling.proportion import newcombe_interval

_MOST = 10**12


def sentences_for_margin(
    margin: float, *, share_real: float, share_generated: float, level: float, variance_factor: float
) -> int:
    """Return how many sentences a side make Newcombe's interval reach at most `margin` to either side."""
    _check_inside("margin", margin)

    def reaches(n: int) -> float:
        counted = n / variance_factor
        interval = newcombe_interval(
            share_real * counted, counted, (1 - share_generated) * counted, counted, level=level
        )
        value = share_real + share_generated - 1
        return max(value - interval.low, interval.high - value)

    enough = 1
    while reaches(enough) > margin:
        if enough > _MOST:
            raise OptionError(f"margin must be larger: {margin} takes more than {_MOST:.0e} sentences")
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if reaches(middle) <= margin:
            enough = middle
        else:
            too_few = middle
    return enough


def sentences_to_detect(discrepancy: float, *, level: float, power: float, variance_factor: float) -> int:
    """Return how many sentences a side make the interval of a discrepancy lie above 0 with probability `power`."""
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
    """Return how many sentences a side make the difference of two generators significant with probability `power`.

    Both are measured against the same real text, with as many sentences as each of them.
    """
    _check_inside("difference", difference)
    if not 0 <= discrepancy <= 1 - difference:
        raise OptionError(f"dd must be between 0 and {1 - difference:g} for two that differ by {difference:g}")
    if not -1 <= correlation <= 1:
        raise OptionError(f"correlation must be between -1 and 1, got {correlation}")
    one, other = (variance_factor * (1 - value**2) / 4 for value in (discrepancy, discrepancy + difference))
    spread = math.sqrt(max(0.0, 2 * one + 2 * other - 2 * correlation * math.sqrt(one * other)))
    return _sample_size(difference, spread_null=spread, spread=spread, level=level, power=power)


def _sample_size(difference: float, *, spread_null: float, spread: float, level: float, power: float) -> int:
    from statsmodels.stats.power import normal_sample_size_one_tail

    _check_inside("level", level)
    _check_inside("power", power)
    alpha = (1 - level) / 2
    size = float(normal_sample_size_one_tail(difference, power, alpha, std_null=spread_null, std_alternative=spread))
    if not size <= _MOST:
        raise OptionError(f"a difference of {difference} takes more than {_MOST:.0e} sentences")
    return max(1, math.ceil(size))


def _check_inside(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise OptionError(f"{name} must be between 0 and 1, got {value}")
