"""Values of the study of exposure bias by prefix length, their joint covariance, and conditions about them.

Where runs share one model, the covariance is over sequences (delta method), pooled over the runs, and intervals are
normal. Where each run trained its own model, and for BLEU, whose sentences are not kept, it is over runs, and intervals
are Student's. Published values are independent, with their published spreads.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Interval
from textassay.exposure import BleuRun, PrefixRun
from textassay.generator import Quantity
from textassay.study.exposure_bias.published import LENGTHS, bleu_row, published_table, ratio_row
from textassay.study.findings import Condition

FloatArray = npt.NDArray[np.float64]

EB_C = "EB-C"
_RUNS = 10  # of table 2
_NONE = 1e-12  # a mean distance of no more than this is none


@dataclass(frozen=True, eq=False)
class LengthValues:
    """Several numbers at each of K prefix lengths."""

    lengths: tuple[int, ...]  # K numbers
    values: Mapping[str, FloatArray]  # Name to values, shapes (K,); m names
    covariance: FloatArray  # Of all values, in the order of their names, shape (m K, m K)
    degrees: float  # Of freedom of the covariance; infinite where it is known well

    def condition(
        self,
        name: str,
        weights: Mapping[str, FloatArray],
        *,
        less: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> Condition:
        """Return a condition about the sum of weighted values less a constant; weights are of shapes (K,)."""
        zeros = np.zeros(len(self.lengths))
        row = np.concatenate([weights.get(one, zeros) for one in self.values])
        value = math.fsum(row * np.concatenate(list(self.values.values()))) - less
        return Condition(
            name, value, math.sqrt(max(0.0, float(row @ self.covariance @ row))), self.degrees, lower, upper
        )

    def at_each(
        self, name: str, weights: Mapping[str, float], *, lower: float = -math.inf, upper: float = math.inf
    ) -> list[Condition]:
        """Return a condition for each length about a sum of weighted values."""
        return [
            self.condition(
                f"l = {length}: {name}",
                {one: weight * np.eye(len(self.lengths))[k] for one, weight in weights.items()},
                lower=lower,
                upper=upper,
            )
            for k, length in enumerate(self.lengths)
        ]


def mean_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights of a mean over lengths."""
    return np.full(len(lengths), 1 / len(lengths))


def trend_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights that give the growth from the first to the last length along the line of least squares."""
    places = np.array(lengths, dtype=np.float64)
    centred = places - places.mean()
    squares = float(centred @ centred)
    return centred / squares * np.ptp(places) if squares > 0 else np.full(len(places), np.nan)


def after_words(runs: Sequence[PrefixRun]) -> tuple[PrefixRun, ...]:
    """Return the runs without the empty prefix, after which all prefixes are the same."""
    return tuple(run.at([length for length in run.lengths if length > 0]) for run in runs)


def bleu_values(models: Mapping[str, Sequence[BleuRun]]) -> LengthValues:
    """Return C-bleu and EB-bleu of all models and kinds of prefixes, named as in table 2, BLEU in percent."""
    shapes = {(len(runs), *(run.lengths for run in runs)) for runs in models.values()}
    if len(shapes) != 1:
        raise InputError("models on one text must have as many runs each, with the same prefix lengths")
    tables: dict[str, FloatArray] = {}  # shapes (R, K)
    for model, runs in models.items():
        scores = {kind: 100 * np.stack([run.scores[kind] for run in runs]) for kind in runs[0].scores}
        tables |= {bleu_row(model, kind): values for kind, values in scores.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            tables |= {
                ratio_row(model, kind): np.where(values > 0, scores["data"] / values, np.nan)
                for kind, values in scores.items()
                if kind != "data"
            }
    return _over_runs(next(iter(models.values()))[0].lengths, tables)


def by_training(runs: Sequence[BleuRun], n_trainings: int | None) -> tuple[BleuRun, ...]:
    """Return the mean of the runs of each training, run r of training r modulo `n_trainings`; of None, all runs."""
    return tuple(runs) if n_trainings is None else tuple(_mean(runs[k::n_trainings]) for k in range(n_trainings))


def _mean(runs: Sequence[BleuRun]) -> BleuRun:
    scores = {kind: np.mean([run.scores[kind] for run in runs], axis=0) for kind in runs[0].scores}
    errors = {
        kind: np.sqrt(np.sum([run.errors[kind] ** 2 for run in runs], axis=0)) / len(runs) for kind in runs[0].errors
    }
    return replace(runs[0], scores=scores, errors=errors)


def mean_of_trainings(quantities: Sequence[Quantity]) -> Quantity:
    """Return the mean over trainings; its interval holds their spread (Student's) and the error of the common text."""
    values = np.array([one.value for one in quantities])
    intervals = [one.interval for one in quantities if one.interval is not None]
    if len(quantities) == 1:
        return quantities[0]
    if len(intervals) < len(quantities) or not np.isfinite(values).all():
        return Quantity(float(values.mean()), None)
    level, n = intervals[0].level, len(values)
    text = float(np.mean([(one.high - one.low) / 2 for one in intervals]))
    arm = math.hypot(float(stats.t.ppf((1 + level) / 2, n - 1)) * float(values.std(ddof=1)) / math.sqrt(n), text)
    middle = float(values.mean())
    return Quantity(middle, Interval(max(0.0, middle - arm), middle + arm, level, "t: trainings; normal: the text"))


def published_bleu() -> LengthValues:
    """Return table 2; BLEU in percent."""
    table = published_table("table 2")
    assert table.spreads is not None
    spreads = np.array(table.spreads, dtype=np.float64)
    values = {
        row: np.array(row_values, dtype=np.float64) for row, row_values in zip(table.rows, table.values, strict=True)
    }
    return LengthValues(LENGTHS, values, np.diag(spreads.reshape(-1) ** 2 / _RUNS), _RUNS - 1)


def deviation_values(kinds: Mapping[str, Sequence[PrefixRun]], distance: str, *, retrained: bool) -> LengthValues:
    """Return the CGD after each kind of prefixes, named by the kind, and `EB_C`; without the empty prefix.

    `kinds`: runs of each, as many; ``data`` and ``model`` among them.
    """
    cut = {kind: after_words(runs) for kind, runs in kinds.items()}
    if len({(len(runs), *(run.lengths for run in runs)) for runs in cut.values()}) != 1:
        raise InputError("all kinds of prefixes must have as many runs, with the same lengths")
    lengths = cut["data"][0].lengths
    tables = {kind: np.stack([run.means[distance] for run in runs]) for kind, runs in cut.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        tables[EB_C] = np.where(tables["data"] > _NONE, tables["model"] / tables["data"], np.nan)
    over_runs = _over_runs(lengths, tables)
    n_runs, size = len(cut["data"]), len(lengths)
    if retrained and n_runs > 1:
        return over_runs
    total = np.zeros_like(over_runs.covariance)
    for run in range(n_runs):
        known = np.zeros((size * len(cut), size * len(cut)))
        slopes = np.zeros((size * len(tables), size * len(cut)))
        for place, runs in enumerate(cut.values()):
            own = slice(place * size, (place + 1) * size)
            known[own, own] = runs[run].covariances[distance]
            slopes[own, own] = np.eye(size)
        bottom, ratio, names = tables["data"][run], tables[EB_C][run], list(cut)
        with np.errstate(divide="ignore", invalid="ignore"):
            for kind, slope in (("data", -ratio / bottom), ("model", 1 / bottom)):
                begin = names.index(kind) * size
                slopes[-size:, begin : begin + size] = np.diag(np.where(bottom > _NONE, slope, np.nan))
            total += slopes @ known @ slopes.T
    return replace(over_runs, covariance=total / n_runs**2, degrees=math.inf)


def _over_runs(lengths: tuple[int, ...], tables: Mapping[str, FloatArray]) -> LengthValues:
    """Return the means of tables, shapes (R, K), with their covariance over runs; NaN of one run."""
    rows = np.concatenate(list(tables.values()), axis=1)  # (R, m K)
    n_runs, size = rows.shape
    covariance = np.full((size, size), np.nan)
    if n_runs > 1:
        centred = rows - rows.mean(axis=0)
        covariance = centred.T @ centred / ((n_runs - 1) * n_runs)
    return LengthValues(lengths, {name: table.mean(axis=0) for name, table in tables.items()}, covariance, n_runs - 1)
