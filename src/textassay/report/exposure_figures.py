"""Figures on exposure bias: rates against the length of the prefix, deviations by kind of prefix.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, figures 2 to 4.
Departs from it: bands are intervals; the standard deviation over runs stands in the tables.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textassay.estimate import Interval
from textassay.exposure import Exposure
from textassay.meta_evaluation import Curve, CurvePoint
from textassay.report.exposure_words import DISTANCE_NAMES
from textassay.report.old_drawing import Drawing
from textassay.report.reproduction_lengths import draw_by_length

_TOKENS = "tokens of the prefix"
_DATA, _MODEL = "data", "model"


def draw_exposure(found: Exposure) -> list[Drawing]:
    """Return EB-bleu by kind of prefix and, with an oracle, EB-C by distance, CGD by kind, accumulated error."""
    kinds = found.settings.kinds
    figures: dict[str, list[Curve]] = {}
    title = f"EB-bleu of {found.model} by kind of prefix"
    figures["eb-bleu"] = [
        _curve(title, kind, "EB-bleu", one.lengths, one.values, one.intervals, average=one.average)
        for kind, one in found.bleu.items()
    ]
    shown = _MODEL if _MODEL in kinds else kinds[0]
    title = f"EB-C of {found.model}, {_name(shown)} prefixes"
    figures["eb-c"] = [
        _curve(title, DISTANCE_NAMES[name], "EB-C", rate.lengths, rate.values, rate.intervals, average=rate.average)
        for name, of_kind in found.rates.items()
        for rate in (of_kind[shown],)
    ]
    for name, curves in found.cgd.items():
        title = f"CGD of {found.model} by kind of prefix, {DISTANCE_NAMES[name]}"
        figures[f"cgd-{name}"] = [  # those of data last: a kind has one colour in all figures
            _curve(title, kind, f"CGD ({name})", curves[kind].lengths, curves[kind].values, curves[kind].intervals)
            for kind in (*kinds, _DATA)
        ]
    if found.excess is not None:
        one = found.excess
        bounds = [b and Interval(100 * b.low, 100 * b.high, b.level, b.method) for b in one.intervals]
        title = f"Excess accumulated error of {found.model}"
        name, y = "over the model's own words", "excess error, %"
        figures["excess-error"] = [_curve(title, name, y, one.lengths, 100 * one.values, bounds, x="tokens so far")]
    return [
        replace(draw_by_length(curves), subject=name, file_name=f"{name}.svg")
        for name, curves in figures.items()
        if any(np.isfinite(point.y) for curve in curves for point in curve.points)
    ]


def _curve(
    title: str,
    name: str,
    y: str,
    lengths: Sequence[int],
    values: npt.NDArray[np.float64],
    bounds: Sequence[Interval | None],
    *,
    x: str = _TOKENS,
    average: float | None = None,
) -> Curve:
    points = tuple(
        CurvePoint(length, length, value, y_low=bound.low if bound else None, y_high=bound.high if bound else None)
        for length, value, bound in zip(lengths, values.tolist(), bounds, strict=True)
    )
    return Curve("by length", _name(name), "", x, y, points, title, average)


def _name(kind: str) -> str:
    """Return a kind of prefix in words: lines of several rates share a colour."""
    return kind.replace(":", " ")
