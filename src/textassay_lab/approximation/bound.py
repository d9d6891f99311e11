"""How many samples bring the average of one-hot draws close to its expectation, for any generator.

By Hoeffding's inequality and a union over the V types, the probability that any share is off by more than gamma is
below ``2 V exp(-2 N gamma^2)``.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, appendix A; Hoeffding,
"Probability Inequalities for Sums of Bounded Random Variables", JASA 58, 1963.
"""

import math

from textassay.errors import OptionError

GAMMA, EPSILON = 1e-3, 1e-2  # as in the paper


def hoeffding_bound(gamma: float, epsilon: float, n_types: int) -> float:
    """Return the number that N must exceed for every share to be within gamma with probability 1 - epsilon."""
    for name, value in (("gamma", gamma), ("epsilon", epsilon)):
        if not 0 < value < 1:
            raise OptionError(f"{name} must be above 0 and below 1, got {value:g}")
    if n_types < 1:
        raise OptionError(f"n_types must be at least 1, got {n_types}")
    return math.log(2 * n_types / epsilon) / (2 * gamma**2)


def samples_needed(gamma: float, epsilon: float, n_types: int) -> int:
    """Return the smallest N above `hoeffding_bound`: 4,297,078 at 1e-3, 1e-2 and 27 types."""
    return math.floor(hoeffding_bound(gamma, epsilon, n_types)) + 1
