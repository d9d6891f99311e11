"""Has anything changed since some look? Evidence from p-values that come one after another and may always be read.

While nothing changes, p-values of permutation tests of a batch against all earlier answers are independent and uniform,
or larger: given the answers of a batch and the earlier ones without their order, and all that comes later, each choice
of which of them are the batch is equally likely. What later batches give does not depend on that choice. So a gambler
who bets fixed decreasing functions of each p-value, whose mean over uniform ones is 1, cannot expect to gain. With
probability at least 1 - 1/c the capital never reaches c, however often one looks (Ville).

Gamblers start before each look with a share of the capital, so that a late change is found although nothing changed for
long; all shares sum to 1. Half of each share bets on the next p-value alone, that it is so small (`steps`) that winning
decides; the other half bets on ``k p^(k - 1)`` at every look from then on, for several k.

Sources: Vovk and Wang, "E-values: calibration, combination and applications", Annals of Statistics 49, 2021; Vovk,
"Testing randomness online", Statistical Science 36, 2021 (p-values of each observation against the unordered past);
Shin, Ramdas, Rinaldo, "E-detectors", New England Journal of Statistics in Data Science 2, 2024 (starts at each look).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

THRESHOLD = 20.0  # reached without a change with a probability of at most 5 %
_ON_STEP = 0.5  # of each share
_POWERS = np.array([0.08, 0.25, 0.55])  # k
_NOTHING = -np.inf


@dataclass(frozen=True)
class ChangeEvidence:
    """Evidence after some looks.

    `e`: the capital now; `largest`: so far, which decides; `since`: from which look on a change explains the p-values
    best, counted from 0, None before the first.
    """

    e: float
    largest: float
    since: int | None


def change_evidence(p_values: Sequence[float]) -> ChangeEvidence:
    """Return the evidence of a change in p-values, each in (0, 1], in the order of the looks."""
    n = len(p_values)
    shares = start_shares(n)
    betting, won, largest, now = np.full(len(_POWERS), _NOTHING), 0.0, 0.0, 0.0
    for p, step, share, waiting in zip(p_values, steps(n), shares, 1 - np.cumsum(shares), strict=True):
        started = math.log(share * (1 - _ON_STEP) / len(_POWERS))
        betting = np.logaddexp(betting, started) + _gains(p)
        won += THRESHOLD * (p <= step)
        now = float(np.logaddexp.reduce([*betting, math.log(won + waiting)]))
        largest = max(largest, now)
    if not p_values:
        return ChangeEvidence(1.0, 1.0, None)
    grown = np.cumsum(_gains(np.array(p_values[::-1])[:, None]), axis=0)[::-1].max(axis=1)  # from each look on
    return ChangeEvidence(_exp(now), _exp(largest), int(np.argmax(grown)))


def _gains(p: float | FloatArray) -> FloatArray:
    """Return the logarithm of the factor by which each bet on a p-value grows."""
    return np.asarray(np.log(_POWERS) + (_POWERS - 1) * np.log(p))


def start_shares(n: int) -> FloatArray:
    """Return the share of the capital that starts before each of `n` looks, half of it before the first."""
    looks = np.arange(2, n + 2)
    later = (1 / np.log2(looks) - 1 / np.log2(looks + 1)) / 2
    return np.concatenate([[0.5], later])[:n]


def steps(n: int) -> FloatArray:
    """Return how small the p-value of each of `n` looks must be to decide by itself."""
    return np.asarray(start_shares(n) * _ON_STEP / THRESHOLD)


def _exp(log_e: float) -> float:
    return math.exp(min(log_e, math.log(1e300)))
