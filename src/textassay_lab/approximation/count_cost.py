"""Cost of a token in bits when C of N draws were that token: plain, and corrected for its bias.

Minus the logarithm of a mean is too high on average (Jensen), by ``(1 - p) / (2 N p ln 2)`` bits to second order, and
by far more where p is of the order of 1/N, since a count of 0 costs what the floor says.

`harmonic_bits` has the opposite bias, and a far smaller one. The number of draws K up to the first hit has ``E[1 + 1/2
+ ... + 1/(K - 1)] = -ln p``; averaged over all orders of N draws with C hits, and cut off at N, this is ``H(N) - H(C)``
with harmonic numbers H. It is too low by ``sum of (1 - p)^j / j over j > N``: 0.05 nats at Np = 2, 0.001 at Np = 5,
much only where Np is below 1. It needs no floor. So on average the true cost lies between the two.

Sources: Tevet et al., "Evaluating Text GANs as Language Models", NAACL 2019 (the plain value and its floor); van
Opheusden, Acerbi, Ma, "Unbiased and efficient log-likelihood estimation with inverse binomial sampling", PLoS
Computational Biology 16, 2020 (the sum up to the first hit); Quenouille, "Notes on bias in estimation", Biometrika 43,
1956 (jackknife); Richardson, "The deferred approach to the limit", 1927.
Departs from them: averages over orders of draws, where van Opheusden et al. draw until the first hit.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma
from scipy.stats import binom

from textassay.errors import OptionError

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]]

_LOG_2 = math.log(2)
_BLOCK = 1 << 12  # tokens whose expectations are summed together
_SERIES_FROM, _COUNTED_TO = 50.0, 200  # expected counts from which the series is good to 1e-5; counts summed below


def check_floor(floor: float, n: int, *, name: str = "floor") -> None:
    """Raise unless `floor`, an option called `name`, is above 0 and at most 1/n, where it changes only counts of 0."""
    if not 0 < floor <= 1 / n:
        raise OptionError(f"{name} must be above 0 and at most 1 / samples ({1 / n:g}), got {floor:g}")


def floor_bits(floor: float) -> float:
    """Return the cost of a token that was never drawn: 66.44 bits at 1e-20."""
    return -math.log2(floor)


def plain_bits(counts: Counts, n: int, *, floor: float) -> FloatArray:
    """Return ``-log2(C / n)``, shape of `counts`; a count of 0 costs ``-log2(floor)``."""
    return np.asarray(-np.log2(np.maximum(counts / n, floor)), dtype=np.float64)


def jackknife_bits(counts: Counts, n: int, *, floor: float) -> FloatArray:
    """Return the plain value minus its jackknife estimate of bias, shape of `counts`.

    Counts of 0 and 1 stay as they are: without its only hit, a token would cost the floor. So frequent tokens are
    corrected, but not those with probabilities of the order of 1/n, which have most of the bias.
    """
    plain = plain_bits(counts, n, floor=floor)
    if n < 2:
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        without_hit = -np.log2((counts - 1) / (n - 1))
        without_miss = -np.log2(counts / (n - 1))
        left_out = (counts * without_hit + np.where(counts < n, (n - counts) * without_miss, 0.0)) / n
        corrected = n * plain - (n - 1) * left_out
    return np.where(counts > 1, corrected, plain)


def harmonic_bits(counts: Counts, n: int) -> FloatArray:
    """Return ``(H(n) - H(C)) / ln 2``, shape of `counts`: between 0 and about log2(n) + 0.83, without a floor."""
    return np.asarray((digamma(n + 1) - digamma(np.asarray(counts) + 1)) / _LOG_2, dtype=np.float64)


def richardson(at_n: FloatArray, at_half: FloatArray) -> FloatArray:
    """Return ``2 f(n) - f(n / 2)``, which cancels a bias that falls as 1/n; zero counts do not fall so."""
    return 2 * at_n - at_half


def second_order_bits(probabilities: FloatArray, n: int) -> FloatArray:
    """Return the second-order bias of the plain value, ``(1 - p) / (2 n p ln 2)`` bits; accurate where n p is large."""
    return np.asarray((1 - probabilities) / (2 * n * probabilities * _LOG_2), dtype=np.float64)


def expected_bias_bits(log_probs: FloatArray, n: int, *, floor: float) -> FloatArray:
    """Return the expected bias of the plain value over all samples of n draws, for tokens of known probability.

    Includes zero counts and their floor. Exact: nothing is drawn.

    `log_probs`: in nats, finite, any shape (P,).
    """
    expected = np.empty(len(log_probs))
    few = log_probs + math.log(n) < math.log(_SERIES_FROM)
    p = np.exp(np.minimum(log_probs[~few], 0.0))
    mean, spread = n * p, n * p * (1 - p)
    third, fourth = spread * (1 - 2 * p), 3 * spread**2 + spread * (1 - 6 * p * (1 - p))
    expected[~few] = (spread / (2 * mean**2) - third / (3 * mean**3) + fourth / (4 * mean**4)) / _LOG_2
    counts = np.arange(min(n, _COUNTED_TO) + 1)
    costs = plain_bits(counts, n, floor=floor)
    rare = np.flatnonzero(few)
    for start in range(0, len(rare), _BLOCK):
        block = rare[start : start + _BLOCK]
        chances = binom.pmf(counts, n, np.exp(log_probs[block])[:, None])
        expected[block] = chances @ costs + log_probs[block] / _LOG_2
    return expected


def soft_correction_bits(sums: FloatArray, squares: FloatArray, n: int, *, floor: float) -> FloatArray:
    """Return the bias, to second order, of ``-log2`` of the mean of n probabilities, from their sums and squares.

    It is ``variance / (2 n mean^2 ln 2)``, and 0 where the mean is below the floor or n is 1.
    """
    mean = sums / n
    if n < 2:
        return np.zeros_like(mean)
    variance = np.maximum(squares - n * mean**2, 0.0) / (n - 1)
    above = mean > floor
    return np.where(above, variance / (2 * n * np.where(above, mean, 1.0) ** 2 * _LOG_2), 0.0)
