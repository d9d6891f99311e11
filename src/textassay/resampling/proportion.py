"""Intervals and bounds of proportions, such as the accuracies of a fixed classifier.

The discrepancy of a fixed classifier is a difference of two independent proportions: real texts classified as real less
generated texts classified as real. `newcombe_interval` is its interval; `certified_lower_bound` is exact at any sample
size and also a lower bound of the total variation, which no classifier exceeds.

Sources: Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
methods", Statistics in Medicine 17, 1998 (method 10: Wilson's interval for each side), by statsmodels; Clopper and
Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934.
Departs from Newcombe: counts may be fractional, for texts scored by several classifiers (`effective_size`).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

# Here and not where it is used: it imports polars where that is installed, and scikit-learn in another thread must not
# meet it half imported.
from statsmodels.stats.proportion import confint_proportions_2indep

from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Interval
from textassay.resampling.two_proportions import sum_lower_bound


def newcombe_interval(
    k_real_correct: float, n_real: float, k_generated_wrong: float, n_generated: float, *, level: float
) -> Interval:
    """Return the interval of ``k_real_correct / n_real - k_generated_wrong / n_generated``, inside [-1, 1]."""
    _check_level("level", level)
    _check_counts(k_real_correct, n_real)
    _check_counts(k_generated_wrong, n_generated)
    low, high = confint_proportions_2indep(
        k_real_correct, n_real, k_generated_wrong, n_generated, method="newcomb", compare="diff", alpha=1 - level
    )
    return Interval(max(-1.0, float(low)), min(1.0, float(high)), level, "newcombe")


def clopper_pearson(count: int, n: int, *, alpha: float, side: Literal["lower", "upper"]) -> float:
    """Return the exact one-sided bound of a proportion with error rate at most `alpha`, in [0, 1]."""
    from scipy.stats import beta

    _check_level("alpha", alpha)
    _check_counts(count, n)
    if side == "lower":
        return 0.0 if count == 0 else float(beta.ppf(alpha, count, n - count + 1))
    return 1.0 if count == n else float(beta.isf(alpha, count + 1, n - count))


def certified_lower_bound(
    k_real_correct: int, n_real: int, k_generated_wrong: int, n_generated: int, *, alpha: float
) -> float:
    """Return a lower bound of the total variation, in [0, 1), too high with probability at most `alpha`.

    Exact at any sample size, see `textassay.resampling.two_proportions`.
    """
    _check_level("alpha", alpha)
    _check_counts(k_real_correct, n_real)
    _check_counts(k_generated_wrong, n_generated)
    return sum_lower_bound(k_real_correct, n_real, n_generated - k_generated_wrong, n_generated, alpha=alpha) - 1


def effective_size(terms: npt.NDArray[np.float64]) -> float:
    """Return the number of binary observations whose mean has the variance of the mean of `terms`.

    `terms`: fractions in [0, 1], shape (n,), such as the share of several classifiers that got a text right.
    """
    mean, variance = float(np.mean(terms)), float(np.var(terms))
    if variance == 0:
        return float(len(terms))
    return max(float(len(terms)), len(terms) * mean * (1 - mean) / variance)


def _check_level(name: str, level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"{name} must be between 0 and 1, got {level}")


def _check_counts(count: float, n: float) -> None:
    if n <= 0:
        raise EmptyCorpusError(f"a proportion needs at least one text, got {n}")
    if not 0 <= count <= n:
        raise OptionError(f"a count must be between 0 and its total {n}, got {count}")
