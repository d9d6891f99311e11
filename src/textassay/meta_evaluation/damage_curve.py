"""What a metric makes of growing damage: does it see it, from which strength on, and does it take it for worse.

Every draw parts the real text anew and damages other places, so that draws are independent given that text. Two tests
ask whether a metric moves at all: Student's t over the changes of the draws, for what is small but steady, and the size
of the changes beside the metric's own noise, for what is large; the second is conservative, since a damaged text shares
reference and sentences with the undamaged one. Where there is no damage both find one in as few texts as they say.

What a user can see is another matter: a damage is *told* where its effect is so large that two single values of this
many sentences, each with the metric's noise, differ significantly four times in five.
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
from textassay.resampling import holm

FloatArray = npt.NDArray[np.float64]
Verdict = Literal["sees", "faint", "blind", "faintly misled", "misled", "either way", "unknown"]

POWER = 0.8
_LEAST = 1e-6  # of the noise: less is rounding
_DIRECTED = {"lower": 1, "higher": -1}
_STEADY = 0.2  # of the chance of an error, for the direction: few sentences, repeated often, happen to be good or bad
_REVERSAL = 1.0  # standard errors by which a curve must fall back to be called not monotone


@dataclass(frozen=True)
class DamageCurve:
    """What one metric says of one damage; None where it cannot be told."""

    # Names, and the metric's direction
    metric: str
    better: Better
    damage: str
    strengths: tuple[float, ...]  # Above 0, increasing, S of them
    values: FloatArray  # Of each draw, undamaged first, shape (n_draws, 1 + S); NaN where undefined
    noise: float | None = None  # Standard error of one undamaged value
    # "interval" (the metric's own, root mean square over draws) or "draws" (standard deviation over draws)
    noise_source: str = ""
    direction: str = ""  # Where the value goes under damage: "up", "down", or empty where it goes nowhere or either way
    # By how much the value becomes worse at each strength, mean over draws and its interval, length S. Where closer to
    # real text is better, it is the distance from the undamaged values of the other draws that grows.
    effects: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    # Of no change at any strength (the smallest p-value times the number of tests); and adjusted by Holm's method over
    # all metrics and damages of a table
    p: float | None = None
    p_adjusted: float | None = None
    sensitivity: float | None = None  # Effect per unit of strength (least squares through 0) in units of the noise
    # Smallest strength from which on damage is told; none where it is not told at the greatest one
    smallest: float | None = None
    tau: float | None = None  # Kendall's tau between strength (0 too) and effect
    # Whether no step between neighbouring strengths goes back, significantly and by a standard error or more
    monotone: bool | None = None
    # "sees" where damage is told and is worse for the metric, "misled" where it is told and is better; "faint" and
    # "faintly misled" where there is a change, but too small to be told; "either way" where it is worse in some draws
    # and better in others; "blind" where no change is found; "unknown", with a `reason`, without a value
    verdict: Verdict = "unknown"
    reason: str | None = None  # Why it is unknown

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; undefined values are None."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values = [[None if math.isnan(v) else v for v in row] for row in self.values.tolist()]
        return {**told, "strengths": list(self.strengths), "values": values}


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
    """Return what a metric's values say of one damage; `p_adjusted` is that of this damage alone.

    `values`: shape (n_draws, 1 + S), undamaged first; `standard_errors`: of the undamaged values by the metric's own
    account, shape (n_draws,).
    """
    curve = DamageCurve(metric, better, damage, tuple(strengths), values)
    n_draws, n_strengths = values.shape[0], values.shape[1] - 1
    if n_draws < 2 or n_strengths != len(strengths) or len(standard_errors) != n_draws:
        raise OptionError(f"a curve needs 2 draws and a value a strength, got {values.shape} for {len(strengths)}")
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
    told = _told(distances.mean(axis=0), noise, level)
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
            smallest=next((s for k, s in enumerate(strengths) if told[k:].all()), None),
            tau=_tau(effects),
            monotone=not _falls_back(way * changes, noise, level),
        ),
        p,
        level=level,
    )


def unknown_curve(curve: DamageCurve, reason: str) -> DamageCurve:
    """Return `curve` with nothing told but why."""
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
    """Return two-sided p-values of columns whose mean is 0; 0 where nothing varies about another mean."""
    n = len(moves)
    means, errors = moves.mean(axis=0), moves.std(axis=0, ddof=1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(means) / errors, n - 1)
    return np.where(means == 0, 1.0, np.where(errors == 0, 0.0, p))


def _beside_noise(moves: FloatArray, noise: float, freedom: float) -> FloatArray:
    """Return p-values of columns being differences of two values with this noise, which `freedom` degrees tell.

    Their mean square counts, since draws may move either way.
    """
    n = len(moves)
    if noise == 0:
        return np.where(np.any(moves != 0, axis=0), 0.0, 1.0)
    squares = np.square(moves / (math.sqrt(2) * noise)).sum(axis=0)
    return np.asarray(stats.chi2.sf(squares, n) if math.isinf(freedom) else stats.f.sf(squares / n, n, freedom))


def _told(effects: FloatArray, noise: float, level: float) -> npt.NDArray[np.bool_]:
    """Return at which strengths two single values would be told apart with `POWER`."""
    needed = math.sqrt(2) * noise * float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(POWER))
    told: npt.NDArray[np.bool_] = (effects > 0) & (effects >= needed)
    return told


def _tau(effects: FloatArray) -> float | None:
    means = np.concatenate(([0.0], effects))
    tau = stats.kendalltau(np.arange(len(means)), means).statistic if np.ptp(means) > 0 else math.nan
    return None if math.isnan(tau) else float(tau)


def _falls_back(changes: FloatArray, noise: float, level: float) -> bool:
    """Return whether a step between neighbouring strengths goes back; `changes` rise with damage on the whole."""
    steps = np.diff(np.column_stack([np.zeros(len(changes)), changes]), axis=1)
    means = steps.mean(axis=0)
    p = holm(_student(steps) / 2)
    return bool(np.any((means < 0) & (means <= -_REVERSAL * noise) & (p < 1 - level)))
