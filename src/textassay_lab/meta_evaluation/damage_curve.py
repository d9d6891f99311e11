"""Response of a metric to growing damage: whether it detects it, from which strength on, and in which direction.

Every draw splits the real text anew and damages other places, so draws are independent given that text. Two tests ask
whether a metric changes at all: Student's t over the changes of the draws, for small but consistent changes, and the
size of the changes relative to the metric's own noise, for large ones. The second is conservative, since a damaged text
shares the reference and sentences with the undamaged one. Both keep their level on undamaged text.

What a user can see is another matter: a damage is *detected* where its effect is so large that two single values of
this many sentences, each with the metric's noise, differ significantly four times in five.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import OptionError
from textassay.estimate import Better
from textassay.resampling.multiplicity import holm

FloatArray = npt.NDArray[np.float64]
Verdict = Literal["sees", "faint", "blind", "faintly misled", "misled", "either way", "unknown"]

POWER = 0.8
_LEAST = 1e-6  # smallest change, as a share of the noise: less is rounding
_DIRECTED = {"lower": 1, "higher": -1}
_STEADY = 0.2  # share of the error rate spent on the direction: a few repeated sentences may be good or bad by chance
_REVERSAL = 1.0  # standard errors by which a curve must fall back to be called not monotone


@dataclass(frozen=True)
class DamageCurve:
    """One metric under one damage; None where undefined."""

    # Names, and the metric's direction
    metric: str
    better: Better
    damage: str
    strengths: tuple[float, ...]  # Above 0, increasing, S of them
    values: FloatArray  # Values of each draw, undamaged first, shape (n_draws, 1 + S); NaN where undefined
    noise: float | None = None  # Standard error of one undamaged value
    # "interval" (the metric's own, root mean square over draws) or "draws" (standard deviation over draws)
    noise_source: str = ""
    direction: str = ""  # Change of the value under damage: "up", "down", or empty where there is none or it varies
    # How much worse the value becomes at each strength, mean over draws and its interval, length S. Where closer to
    # real text is better, it is the growth of the distance from the undamaged values of the other draws.
    effects: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    # P-value of no change at any strength (the smallest times the number of tests), and adjusted by Holm's method over
    # all metrics and damages of a table
    p: float | None = None
    p_adjusted: float | None = None
    sensitivity: float | None = None  # Effect per unit of strength (least squares through 0) in units of the noise
    # Smallest strength from which on damage is detected; None where it is not detected at the greatest one
    smallest: float | None = None
    tau: float | None = None  # Kendall's tau between strength (0 too) and effect
    # Whether no step between neighbouring strengths reverses significantly and by a standard error or more
    monotone: bool | None = None
    # "sees": damage is detected and scores worse; "misled": it is detected and scores better; "faint" and "faintly
    # misled": there is a change, but too small to be detected; "either way": worse in some draws, better in others;
    # "blind": no change; "unknown": no value, see `reason`
    verdict: Verdict = "unknown"
    reason: str | None = None  # Why it is unknown

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; undefined values are None."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values = [[None if math.isnan(v) else v for v in row] for row in self.values.tolist()]
        return {**fields, "strengths": list(self.strengths), "values": values}


def judge_curve(
    metric: str,
    better: Better,
    damage: str,
    strengths: Sequence[float],
    values: FloatArray,
    standard_errors: FloatArray,
    *,
    level: float = 0.95,
) -> DamageCurve:
    """Return the curve of a metric under one damage; `p_adjusted` is for this damage alone.

    `values`: shape (n_draws, 1 + S), undamaged first. `standard_errors`: of the undamaged values, from the metric's own
    intervals, shape (n_draws,).
    """
    curve = DamageCurve(metric, better, damage, tuple(strengths), values)
    n_draws, n_strengths = values.shape[0], values.shape[1] - 1
    if n_draws < 2 or n_strengths != len(strengths) or len(standard_errors) != n_draws:
        raise OptionError(f"values must have shape (at least 2, {1 + len(strengths)}), got {values.shape}")
    if not np.isfinite(values).all():
        return unknown_curve(curve, "undefined on some of the damaged texts")
    own = bool(np.isfinite(standard_errors).all())
    noise = float(np.sqrt(np.mean(standard_errors**2)) if own else np.std(values[:, 0], ddof=1))
    moves = values[:, 1:] - values[:, :1]
    moves = np.where(np.abs(moves) <= _LEAST * noise + 1e-12 * np.abs(values[:, :1]), 0.0, moves)
    of_noise = _beside_noise(moves, noise, math.inf if own else n_draws - 1)
    p = min(1.0, 2 * n_strengths * float(np.minimum(_student(moves), of_noise).min()))
    weights = np.array(strengths) / np.square(strengths).sum()
    slopes = moves @ weights
    direction = ("up" if slopes.mean() > 0 else "down") if _student(slopes[:, None])[0] < _STEADY * (1 - level) else ""
    if better in _DIRECTED:
        changes = moves * _DIRECTED[better]
        way = 1 if _DIRECTED[better] * slopes.mean() >= 0 else -1
        distances = way * changes if direction else np.abs(changes)
    else:
        floor = (values[:, :1].sum() - values[:, :1]) / (n_draws - 1)
        distances = np.where(moves == 0, 0.0, np.abs(values[:, 1:] - floor))
        changes = np.where(moves == 0, 0.0, distances - np.abs(values[:, :1] - floor))
        way = 1
    effects = changes.mean(axis=0)
    margins = changes.std(axis=0, ddof=1) / math.sqrt(n_draws) * float(stats.t.ppf((1 + level) / 2, n_draws - 1))
    detected = _detected(distances.mean(axis=0), noise, level)
    return adjust(
        replace(
            curve,
            noise=noise,
            noise_source="interval" if own else "draws",
            direction=direction,
            effects=tuple(effects.tolist()),
            lows=tuple((effects - margins).tolist()),
            highs=tuple((effects + margins).tolist()),
            p=p,
            sensitivity=float(effects @ weights) / noise if noise > 0 else None,
            smallest=next((s for k, s in enumerate(strengths) if detected[k:].all()), None),
            tau=_tau(effects),
            monotone=not _falls_back(way * changes, noise, level),
        ),
        p,
        level=level,
    )


def unknown_curve(curve: DamageCurve, reason: str) -> DamageCurve:
    """Return `curve` with the verdict "unknown" and its reason."""
    return replace(curve, verdict="unknown", reason=reason)


def adjust(curve: DamageCurve, p_adjusted: float, *, level: float) -> DamageCurve:
    """Return `curve` with its verdict by `p_adjusted`."""
    verdict: Verdict
    if p_adjusted >= 1 - level:
        return replace(curve, p_adjusted=p_adjusted, verdict="blind", smallest=None, direction="")
    if curve.better in _DIRECTED and not curve.direction:
        verdict = "either way"
    elif (curve.better, curve.direction) in (("lower", "down"), ("higher", "up")):
        verdict = "faintly misled" if curve.smallest is None else "misled"
    else:
        verdict = "faint" if curve.smallest is None else "sees"
    return replace(curve, p_adjusted=p_adjusted, verdict=verdict)


def adjust_all(curves: Sequence[DamageCurve], *, level: float) -> list[DamageCurve]:
    """Return the curves of a table with p-values adjusted together by Holm's method, and verdicts by those."""
    adjusted = holm(np.array([math.nan if curve.p is None else curve.p for curve in curves], dtype=np.float64))
    return [
        curve if math.isnan(p) else adjust(curve, p, level=level)
        for curve, p in zip(curves, adjusted.tolist(), strict=True)
    ]


def _student(moves: FloatArray) -> FloatArray:
    """Return two-sided p-values of zero column means; 0 for constant columns with another mean."""
    n = len(moves)
    means, errors = moves.mean(axis=0), moves.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(means) / errors, n - 1)
    return np.where(means == 0, 1.0, np.where(errors == 0, 0.0, p))


def _beside_noise(moves: FloatArray, noise: float, freedom: float) -> FloatArray:
    """Return p-values that columns are differences of two values with this noise, estimated with `freedom` degrees.

    Uses their mean square, since draws may change in either direction.
    """
    n = len(moves)
    if noise == 0:
        return np.where(np.any(moves != 0, axis=0), 0.0, 1.0)
    squares = np.square(moves / (math.sqrt(2) * noise)).sum(axis=0)
    return np.asarray(stats.chi2.sf(squares, n) if math.isinf(freedom) else stats.f.sf(squares / n, n, freedom))


def _detected(effects: FloatArray, noise: float, level: float) -> npt.NDArray[np.bool_]:
    """Return at which strengths two single values differ significantly with power `POWER`."""
    needed = math.sqrt(2) * noise * float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(POWER))
    detected: npt.NDArray[np.bool_] = (effects > 0) & (effects >= needed)
    return detected


def _tau(effects: FloatArray) -> float | None:
    means = np.concatenate(([0.0], effects))
    tau = stats.kendalltau(np.arange(len(means)), means).statistic if np.ptp(means) > 0 else math.nan
    return None if math.isnan(tau) else float(tau)


def _falls_back(changes: FloatArray, noise: float, level: float) -> bool:
    """Return whether a step between neighbouring strengths reverses; `changes` rise with damage on the whole."""
    steps = np.diff(np.column_stack([np.zeros(len(changes)), changes]), axis=1)
    means = steps.mean(axis=0)
    p = holm(_student(steps) / 2)
    return bool(np.any((means < 0) & (means <= -_REVERSAL * noise) & (p < 1 - level)))
