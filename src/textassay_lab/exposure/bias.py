"""Exposure bias word by word: whether next-word distributions are worse after the model's own prefixes.

``CGD(M|H, l, d)`` is the mean distance between the next words of model and data after prefixes from H;
``EB-C(M, l, d) = CGD(M|M, l, d) / CGD(M|D, l, d)`` is 1 without exposure bias and larger with it. The excess error is
the fraction by which errors accumulate faster over the model's own sentences than over real prefixes.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equations (3) to (5); Arora et al.,
"Why Exposure Bias Matters: An Imitation Learning Perspective of Error Accumulation in Language Generation", Findings of
ACL 2022 (regret, accumulated error, ExAccErr).
Departs from them: intervals. The value over several runs is the mean of the ratios of the runs, as in the first paper.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, OptionError
from textassay.estimate import Interval, json_ready
from textassay.metric.base import check_level
from textassay.seeding import stream
from textassay_lab.exposure.distance import DISTANCES, Distance
from textassay_lab.exposure.runs import PrefixRun, run_interval, sd_of_runs

FloatArray = npt.NDArray[np.float64]

_ROUNDING = 1e-12  # mean distances up to this count as 0


@dataclass(frozen=True)
class _Curve:
    """A number at each of K lengths, from R runs."""

    distance: str  # ``tv``, ``js``, ``greedy`` or ``kl``
    prefixes: str  # Kind of the prefixes
    lengths: tuple[int, ...]  # Tokens of the prefixes, K numbers
    values: FloatArray  # Mean of the runs, shape (K,)
    runs: FloatArray  # Shape (R, K)
    # Of each value: by Student's t over runs, or, for one run, by the delta method over its sequences. None where there
    # is neither.
    intervals: tuple[Interval | None, ...]
    sd_runs: FloatArray  # Standard deviation over runs, shape (K,); NaN for one run
    sd_resampled: FloatArray  # That over resamplings of the sequences of a run, root mean square over runs, shape (K,)
    # Mean over the lengths, as legends show it
    average: float
    average_interval: Interval | None
    n_sequences: tuple[int, ...]  # In each run

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values; NaN and infinity become None."""
        document: dict[str, Any] = json_ready(self.__dict__)
        return document


@dataclass(frozen=True)
class CgdCurve(_Curve):
    """Conditional generation deviation at each prefix length: a distance, lower is better; attributes of `_Curve`."""


@dataclass(frozen=True)
class EbC(_Curve):
    """Rate of exposure bias at each length: 1 without it, larger with it; NaN where CGD(M|D) is 0. As `_Curve`."""


@dataclass(frozen=True)
class ExcessError(_Curve):
    """Fraction by which accumulated error exceeds that after prefixes of data: 0 without exposure bias, more with it.

    Attributes as of `_Curve`; `lengths` are tokens of the sentence so far, 1 to K.
    """


def run_seed(seed: int, run: int) -> int:
    """Return the seed of one of several runs, from 0."""
    return int(stream(seed, "exposure run", run).integers(2**62))


def cgd_curve(runs: Sequence[PrefixRun], distance: Distance, *, level: float = 0.95) -> CgdCurve:
    """Return the CGD after prefixes of one kind."""
    _check([runs], distance, level)
    parts = [
        _Part(
            run.means[distance],
            run.resampled[distance],
            np.sqrt(np.diag(run.covariances[distance])),
            float(np.sqrt(run.covariances[distance].mean())),
        )
        for run in runs
    ]
    return CgdCurve(**_curve(parts, runs, distance, level, runs[0].lengths, 0.0))


def eb_c(
    data: Sequence[PrefixRun], other: Sequence[PrefixRun], distance: Distance, *, level: float = 0.95
) -> EbC:  # fmt: skip
    """Return the rate of exposure bias, EB-C, at each length."""
    _check([data, other], distance, level)
    means = [run.means[distance] for run in data]
    if any((values <= _ROUNDING).any() for values in means):
        warnings.warn(
            f"EB-C is undefined where the CGD ({distance}) after prefixes of data is 0: model and data do not differ",
            stacklevel=2,
        )
    return EbC(**_ratios(data, other, distance, level, lambda values: values, 0.0))


def excess_error(data: Sequence[PrefixRun], model: Sequence[PrefixRun], *, level: float = 0.95) -> ExcessError:
    """Return how much faster errors accumulate after the model's own prefixes than after prefixes of data.

    With R_l the sum over t < l of KL(data || model) of the next word after prefixes of the model of length t, and
    epsilon_l the mean over t < l of the same after prefixes of data, ``(R_l - l epsilon_l) / (l epsilon_l)``.
    """
    _check([data, model], "kl", level)
    lengths = data[0].lengths
    if lengths != tuple(range(len(lengths))):
        raise InputError(f"accumulated error needs every length from 0, got {', '.join(map(str, lengths))}")
    if any(run.means["kl"][0] <= _ROUNDING for run in data):
        warnings.warn("the accumulated error is undefined: there is none after prefixes of data", stacklevel=2)
    attributes = _ratios(data, model, "kl", level, lambda values: np.cumsum(values, axis=-1), 1.0)
    return ExcessError(**{**attributes, "lengths": tuple(length + 1 for length in lengths)})


@dataclass(frozen=True)
class _Part:
    """One run: values, (K,), resampled, (B, K), their standard errors, (K,), and that of the mean over lengths."""

    values: FloatArray
    resampled: FloatArray
    errors: FloatArray
    average_error: float


def _ratios(
    data: Sequence[PrefixRun],
    other: Sequence[PrefixRun],
    distance: str,
    level: float,
    summed: Callable[[FloatArray], FloatArray],
    less: float,
) -> dict[str, Any]:
    """Return the attributes of the curve of ratios of `summed` means, minus `less`."""
    parts = []
    for below, above in zip(data, other, strict=True):
        bottom, top = summed(below.means[distance]), summed(above.means[distance])
        covariances = [summed(summed(run.covariances[distance]).T).T for run in (below, above)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(bottom > _ROUNDING, top / bottom, np.nan)
            slopes = -ratio / bottom, 1 / bottom  # of the ratio by its bottom and its top
            if below is above:
                variance = np.zeros((len(ratio), len(ratio)))
                resampled = np.broadcast_to(ratio, below.resampled[distance].shape)
            else:
                terms = [slope[:, None] * cov * slope for slope, cov in zip(slopes, covariances, strict=True)]
                variance = terms[0] + terms[1]
                resampled = summed(above.resampled[distance]) / summed(below.resampled[distance])
        parts.append(
            _Part(ratio - less, resampled - less, np.sqrt(np.diag(variance)), math.sqrt(float(variance.mean())))
        )
    return _curve(parts, other, distance, level, data[0].lengths, -less)


def _curve(
    parts: Sequence[_Part],
    runs: Sequence[PrefixRun],
    distance: str,
    level: float,
    lengths: tuple[int, ...],
    lowest: float,
) -> dict[str, Any]:
    """Return the attributes of a curve whose values are at least `lowest`."""
    table = np.stack([part.values for part in parts])
    averages = table.mean(axis=1)
    with np.errstate(invalid="ignore"):
        resampled = np.sqrt(np.mean([part.resampled.var(axis=0, ddof=1) for part in parts], axis=0))

    def interval(numbers: FloatArray, error: float) -> Interval | None:
        return run_interval(numbers, error, units="sequences", level=level, low=lowest)

    return {
        "distance": distance,
        "prefixes": runs[0].prefixes,
        "lengths": lengths,
        "values": table.mean(axis=0),
        "runs": table,
        "intervals": tuple(map(interval, table.T, parts[0].errors.tolist())),
        "sd_runs": sd_of_runs(table),
        "sd_resampled": resampled,
        "average": float(averages.mean()),
        "average_interval": interval(averages, parts[0].average_error),
        "n_sequences": tuple(run.n_sequences for run in runs),
    }


def _check(groups: Sequence[Sequence[PrefixRun]], distance: str, level: float) -> None:
    check_level(level)
    if distance not in DISTANCES:
        raise OptionError(f"distance must be one of {', '.join(DISTANCES)}, got {distance}")
    if any(len(runs) == 0 or len(runs) != len(groups[0]) for runs in groups):
        raise InputError(
            f"each kind of prefix needs the same number of runs, at least 1, got {[len(runs) for runs in groups]}"
        )
    if len({run.lengths for runs in groups for run in runs}) > 1:
        raise InputError("all runs must have the same prefix lengths")
    if any(len({run.prefixes for run in runs}) > 1 for runs in groups):
        raise InputError("all runs of one side must have the same kind of prefixes")
