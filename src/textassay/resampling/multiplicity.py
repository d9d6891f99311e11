"""Multiple testing: p-values adjusted for the family-wise error rate or the false discovery rate.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979;
Benjamini, Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57, 1995, by
statsmodels. Holm's is written out here, because the library runs the garbage collector at each call, which takes a
tenth of a second in a large program.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError


def benjamini_hochberg(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `p_values` adjusted by Benjamini and Hochberg's method.

    Controls the false discovery rate for independent or positively dependent tests. Parameters and result as for
    `holm`.
    """

    def step_up(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        from statsmodels.stats.multitest import fdrcorrection  # takes a second to load

        return np.asarray(fdrcorrection(p_values)[1], dtype=np.float64)

    return _adjusted(p_values, step_up)


def holm(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return `p_values` adjusted by Holm's method.

    `p_values`: shape (n_tests,), each in [0, 1].

    Shape (n_tests,), in the same order, never below `p_values`; NaN stays NaN.
    """
    return _adjusted(p_values, _step_down)


def _step_down(p_values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)))
    return adjusted


def _adjusted(
    p_values: npt.NDArray[np.float64], adjust: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    p_values = np.asarray(p_values, dtype=np.float64)
    is_defined = ~np.isnan(p_values)
    if np.any((p_values[is_defined] < 0) | (p_values[is_defined] > 1)):
        raise OptionError(
            f"p-values must be between 0 and 1, got {p_values[is_defined].min()} to {p_values[is_defined].max()}"
        )
    adjusted = np.where(is_defined, p_values, np.nan)
    if is_defined.sum() > 1:
        adjusted[is_defined] = adjust(p_values[is_defined])
    return adjusted
