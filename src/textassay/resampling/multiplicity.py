"""Multiple testing: p-values adjusted for the family-wise error rate or the false discovery rate, bounds of several.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979;
Benjamini, Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57, 1995, by
SciPy, which has none of Holm's.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

_SEVERAL = (2, 4, 6, 10, 20, 50, 100)


def benjamini_hochberg(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `p_values` adjusted by Benjamini and Hochberg's method; as `holm` else.

    Controls the false discovery rate for independent or positively dependent tests.
    """
    adjusted = np.array(p_values, dtype=np.float64)
    is_defined = ~np.isnan(adjusted)
    if is_defined.sum() > 1:
        from scipy.stats import false_discovery_control  # takes a second to load

        adjusted[is_defined] = false_discovery_control(adjusted[is_defined])
    return adjusted


def holm(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `p_values` adjusted by Holm's method.

    `p_values`: shape (n_tests,), each in [0, 1].

    Shape (n_tests,), in the same order, never below `p_values`; NaN stays NaN.
    """
    adjusted = np.array(p_values, dtype=np.float64)
    order = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]  # NaN comes last
    steps = adjusted[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def bounds_of_several(bound: Callable[[float], float], alpha: float) -> dict[str, float]:
    """Return a bound by the number of bounds that are to hold together but for a chance of `alpha` (Bonferroni).

    `bound`: from its error rate.
    """
    return {str(n): bound(alpha / n) for n in _SEVERAL}


def bound_of_several(bounds: Mapping[str, float], n: int) -> float | None:
    """Return the bound that holds together with n - 1 others, from those of `bounds_of_several`; None beyond them."""
    return next((bounds[str(several)] for several in _SEVERAL if several >= n and str(several) in bounds), None)
