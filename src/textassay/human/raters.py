"""How each rater judged: how often right, how often like the others, and whether that is worse than luck explains.

A rater is compared with those who judged the same texts: if all were alike, the votes of a text could be dealt out
among its raters in any order, so that each vote of this rater is right with the share of right votes of its text,
independently over texts. The sum of these is the exact distribution to which a rater's number of right answers is held.

Source of the time rule: Iglewicz, Hoaglin, "How to Detect and Handle Outliers", 1993 (modified z-scores beyond 3.5).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.human.judgements import Judgements
from textassay.resampling.multiplicity import holm

__all__ = ["RaterSummary", "summarise_raters"]

FloatArray = npt.NDArray[np.float64]

_TOO_FAST = -3.5
_MAD_TO_DEVIATION = 0.6745  # of a normal distribution
_FEWEST_TIMES = 5  # below that, a median says little


@dataclass(frozen=True)
class RaterSummary:
    """One rater.

    Attributes
    ----------
    rater
        The name.
    n
        Judgements.
    share_real
        Of them real; the mean rating on the scale "number".
    accuracy
        Share judged as what it is; NaN on the scale "number".
    agreement
        Share of judgements like the majority of the others on the same text, ties among them left out; on the scale
        "number" the correlation with the mean of the others. NaN where there are no others.
    p_value, p_adjusted
        Of being right no more often than so, if raters of a text were alike; adjusted by Holm's method over raters.
        NaN where nobody else judged the rater's texts, and on the scale "number".
    seconds
        A judgement took, on average; none where that is not known.
    flags
        What is suspicious: "one answer" for all texts although others differ, "below others" in accuracy, "too fast".
    """

    rater: str
    n: int
    share_real: float
    accuracy: float
    agreement: float
    p_value: float
    p_adjusted: float
    seconds: float | None
    flags: tuple[str, ...]


def summarise_raters(
    judgements: Judgements, *, seconds: Mapping[str, float] | None = None, level: float = 0.95
) -> tuple[RaterSummary, ...]:
    """Return a summary of each rater who judged something, in their order.

    Parameters
    ----------
    judgements
        What they said.
    seconds
        Rater to how long a judgement took on average, above 0; raters may be missing.
    level
        A rater is flagged where the probability of any false flag of a kind is below one minus it.
    """
    by_rater = np.argsort(judgements.rater, kind="stable")
    ends = np.cumsum(np.bincount(judgements.rater, minlength=len(judgements.raters)))[:-1]
    own = [(place, rows) for place, rows in enumerate(np.split(by_rater, ends)) if len(rows)]
    is_vote = judgements.scale == "real-or-fake"
    real = judgements.is_real[judgements.item]
    right = np.where(real, judgements.value, 1 - judgements.value)
    counts = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item]
    nan = np.full(len(own), math.nan)
    p_low, p_same = (nan, nan)
    if is_vote:
        right_shares, real_shares = _share(judgements, right), _share(judgements, judgements.value)
        p_low = np.array([_p_low(right[rows], right_shares[rows], counts[rows]) for _, rows in own])
        p_same = np.array([_p_same(judgements.value[rows], real_shares[rows]) for _, rows in own])
    low, same = holm(p_low), holm(p_same)
    slow_enough = _times(seconds or {})
    like_others = _likeness(judgements, counts)
    found = []
    for place, (number, rows) in enumerate(own):
        name = judgements.raters[number]
        flags = (
            ("one answer", same[place] < 1 - level),
            ("below others", low[place] < 1 - level),
            ("too fast", not slow_enough.get(name, True)),
        )
        found.append(
            RaterSummary(
                rater=name,
                n=len(rows),
                share_real=float(judgements.value[rows].mean()),
                accuracy=float(right[rows].mean()) if is_vote else math.nan,
                agreement=_agreement(judgements.value[rows], like_others[rows], is_vote=is_vote),
                p_value=float(p_low[place]),
                p_adjusted=float(low[place]),
                seconds=(seconds or {}).get(name),
                flags=tuple(flag for flag, holds in flags if holds),
            )
        )
    return tuple(found)


def _share(judgements: Judgements, values: FloatArray) -> FloatArray:
    """Return for each judgement the mean of `values` over all judgements of its item."""
    n = len(judgements.items)
    sums = np.bincount(judgements.item, weights=values, minlength=n)
    counts = np.bincount(judgements.item, minlength=n)
    return np.asarray(sums[judgements.item] / counts[judgements.item], dtype=np.float64)


def _likeness(judgements: Judgements, counts: npt.NDArray[np.int64]) -> FloatArray:
    """Return for each judgement the mean of the others of its item; NaN where there are none."""
    others = counts - 1
    rest = _share(judgements, judgements.value) * counts - judgements.value
    return np.asarray(np.where(others > 0, rest / np.maximum(others, 1), math.nan), dtype=np.float64)


def _agreement(values: FloatArray, others: FloatArray, *, is_vote: bool) -> float:
    shared = np.isfinite(others)
    if is_vote:
        shared &= np.abs(others - 0.5) > 1e-9
        return float((values[shared] == (others[shared] > 0.5)).mean()) if shared.any() else math.nan
    first, second = values[shared], others[shared]
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _p_low(right: FloatArray, shares: FloatArray, counts: npt.NDArray[np.int64]) -> float:
    """Return how likely so few right answers or fewer are; NaN where nobody else judged the texts."""
    shared = counts > 1
    if not shared.any():
        return math.nan
    masses = np.ones(1)
    for share in shares[shared].tolist():
        masses = np.convolve(masses, (1 - share, share))
    return float(min(1.0, masses[: round(float(right[shared].sum())) + 1].sum()))


def _p_same(values: FloatArray, shares: FloatArray) -> float:
    """Return how likely nothing but the one answer given is; 1 where answers differ."""
    if values.min() != values.max():
        return 1.0
    return float(np.prod(shares if values[0] else 1 - shares))


def _times(seconds: Mapping[str, float]) -> dict[str, bool]:
    """Return who took long enough, by the logarithm of the time."""
    if len(seconds) < _FEWEST_TIMES:
        return {}
    logs = np.log(np.maximum(np.array(list(seconds.values())), 1e-3))
    deviations = logs - np.median(logs)
    spread = float(np.median(np.abs(deviations)))
    scores = _MAD_TO_DEVIATION * deviations / spread if spread > 0 else np.zeros(len(logs))
    return dict(zip(seconds, (scores >= _TOO_FAST).tolist(), strict=True))
