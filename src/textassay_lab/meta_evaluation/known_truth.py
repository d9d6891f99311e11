"""The true discrepancy of two generators with known text probabilities, to judge estimators by.

With r(x) = log p(x) - log q(x), the discrepancy (1) is each of these means, over sentences drawn from p or from q:

- ratio, real side: E_p[max(0, 1 - exp(-r))]; generated side: E_q[max(0, 1 - exp(r))];
- sign: (E_p[sign r] - E_q[sign r]) / 2, equation (6) with the best possible classifier;
- both: (E_p[|tanh(r / 2)|] + E_q[|tanh(r / 2)|]) / 2, since |p - q| = (p + q) |tanh(r / 2)|.

The last is the conditional expectation of the sign estimator given the sentence without its side, so its variance is
never larger; where p and q are close it is a quarter of that of the ratio (from both sides) and a small part of that of
the sign. It is the value; the others, which a wrong log-probability affects differently, are checks.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1), (2), (6).
Departs from it: the ratio and the mean over both sides stand beside the sign, and all have intervals.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.estimate import Interval
from textassay_lab.generator.scored import ScoredGenerator

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KnownTruth:
    """The discrepancy of two known generators."""

    value: float  # Mean of |tanh(r / 2)| over both sides, in [0, 1]
    interval: Interval  # Of `value`, inside [0, 1]
    # Mean of the ratio estimates of both sides, in [0, 1]; `ratio_real` and `ratio_generated` are those of one side
    ratio: float
    ratio_real: float
    ratio_generated: float
    sign: float  # The sign estimate, in [-1, 1]
    # Their intervals
    ratio_interval: Interval
    sign_interval: Interval
    # Sentences drawn from each generator
    n_real: int
    n_generated: int
    # The largest distance, in standard errors, between the two sides' ratio estimates, between sign and value, and
    # between ratio and value. Above about 4, the log-probabilities are not those of the sampled text.
    disagreement: float


def true_discrepancy(
    p: ScoredGenerator, q: ScoredGenerator, real: Corpus, generated: Corpus, *, level: float = 0.95
) -> KnownTruth:
    """Return the discrepancy of two generators whose sentence probabilities are exact."""
    return truth_from_log_ratios(log_ratios(p, q, real), log_ratios(p, q, generated), level=level)


def log_ratios(p: ScoredGenerator, q: ScoredGenerator, corpus: Corpus) -> FloatArray:
    """Return log p(x) - log q(x) of each sentence, shape (N,); infinite where one side never draws it."""
    first, second = p.log_prob(corpus), q.log_prob(corpus)
    for generator, scores in ((p, first), (q, second)):
        if np.isnan(scores).any() or np.isposinf(scores).any():
            raise InputError(f"log-probabilities must be below infinity, {generator.name} gives NaN or infinity")
    if np.any(np.isneginf(first) & np.isneginf(second)):
        raise InputError(f"{p.name} and {q.name} both give probability 0 to a text, so neither can have drawn it")
    return np.asarray(first - second, dtype=np.float64)


def truth_from_log_ratios(real: FloatArray, generated: FloatArray, *, level: float = 0.95) -> KnownTruth:
    """Return the discrepancy from log p(x) - log q(x) of sentences drawn from p and from q.

    `real`, `generated`: in nats, shapes (n_real,) and (n_generated,), at least two each.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    if min(len(real), len(generated)) < 2:
        raise EmptyCorpusError(f"the truth needs two sentences a side, got {len(real)} and {len(generated)}")
    if np.isneginf(real).any() or np.isposinf(generated).any():
        raise InputError("a generator gives probability 0 to a text that it drew")
    ratios = (_shortfall(real), _shortfall(-generated))
    signs = (np.sign(real), -np.sign(generated))
    both = (np.abs(np.tanh(real / 2)), np.abs(np.tanh(generated / 2)))
    value, ratio, sign = ((side[0].mean() + side[1].mean()) / 2 for side in (both, ratios, signs))
    distances = (
        _distance((ratios[0], -ratios[1])),
        _distance((signs[0] - both[0], signs[1] - both[1])),
        _distance((ratios[0] - both[0], ratios[1] - both[1])),
    )
    return KnownTruth(
        value=float(value),
        interval=_interval(both, level, low=0.0),
        ratio=float(ratio),
        ratio_real=float(ratios[0].mean()),
        ratio_generated=float(ratios[1].mean()),
        sign=float(sign),
        ratio_interval=_interval(ratios, level, low=0.0),
        sign_interval=_interval(signs, level, low=-1.0),
        n_real=len(real),
        n_generated=len(generated),
        disagreement=max(distances),
    )


def _shortfall(log_ratio: FloatArray) -> FloatArray:
    """Return max(0, 1 - exp(-r)), shape (N,)."""
    return np.asarray(-np.expm1(-np.maximum(log_ratio, 0.0)), dtype=np.float64)


def _standard_error(sides: tuple[FloatArray, FloatArray]) -> float:
    """Return the standard error of half the sum of the two means."""
    return math.sqrt(sum(float(np.var(side, ddof=1)) / len(side) for side in sides)) / 2


def _interval(sides: tuple[FloatArray, FloatArray], level: float, *, low: float) -> Interval:
    middle = (float(sides[0].mean()) + float(sides[1].mean())) / 2
    arm = float(stats.norm.ppf((1 + level) / 2)) * _standard_error(sides)
    return Interval(max(low, middle - arm), min(1.0, middle + arm), level, "normal")


def _distance(sides: tuple[FloatArray, FloatArray]) -> float:
    """Return how many standard errors half the sum of the two means lies from 0.

    The effect of one more text is added to the error: rare texts that differ may not have been drawn.
    """
    middle = abs(float(sides[0].mean()) + float(sides[1].mean())) / 2
    return middle / math.hypot(_standard_error(sides), 1 / min(map(len, sides)))
