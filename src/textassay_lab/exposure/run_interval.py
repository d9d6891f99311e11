"""Confidence interval of a number measured in several runs, or in one."""

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.estimate import Interval
from textassay.resampling.jackknife import terms_interval

FloatArray = npt.NDArray[np.float64]


def run_interval(
    values: FloatArray, error: float, *, units: str, level: float, low: float = -math.inf
) -> Interval | None:
    """Return Student's interval of the mean over runs, or the normal interval of a single run from its standard error.

    `values`: one number a run, shape (R,). `units`: what a run consists of, such as ``sentences``. None where a value,
    or the error of a single run, is not finite.
    """
    if len(values) > 1:
        return terms_interval(
            float(values.mean()), [values], level=level, method=f"t: over {len(values)} runs", low=low
        )
    value = float(values[0])
    half = float(stats.norm.ppf((1 + level) / 2)) * error
    if not math.isfinite(value + half):
        return None
    return Interval(max(low, value - half), value + half, level, f"normal: delta method over the {units} of one run")


def sd_of_runs(table: FloatArray) -> FloatArray:
    """Return the standard deviation over runs, shape (K,), of a table (R, K); NaN for one run."""
    return table.std(axis=0, ddof=1) if len(table) > 1 else np.full(table.shape[1], np.nan)
