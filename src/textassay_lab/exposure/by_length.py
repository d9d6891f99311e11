"""Figures of values by length or another number: a panel per family, a line per name, its interval as a band.

Lines whose names differ in a number alone, such as a rate, share a colour and differ in their dashes.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textassay.report.document import Figure
from textassay.report.plots import CYCLE, Axis, Curves, Point, Reference, Series
from textassay.report.text import number, slug

_IN_LEGEND = 5  # lines of a single panel; more are named beside it
_MARKED = 10  # points of a line up to which each is marked
_TICKS = 6
_WITHOUT = {"EB-C": 1.0, "EB-bleu": 1.0, "share": 1.0, "excess error": 0.0}  # exposure bias


@dataclass(frozen=True)
class Curve:
    """One line of a figure."""

    title: str  # of the figure
    name: str
    family: str  # curves of one family share a panel
    # what the axes show
    x: str
    y: str
    points: tuple[Point, ...]  # along the line
    average: float | None = None  # of its values, where the legend is to say it
    log: Literal["", "x", "xy"] = ""  # which axes of the figure are logarithmic
    level: float | None = None  # value of y that a line marks


def lengths_figure(curves: Sequence[Curve], *, name: str = "") -> Figure:
    """Return the figure of all these curves, which share their title; lengths without a value are left out."""
    first = curves[0]
    families = list(dict.fromkeys(curve.family for curve in curves))
    groups: dict[str, list[str]] = {}
    for name_of_line in dict.fromkeys(curve.name for curve in curves):
        groups.setdefault(_group(name_of_line), []).append(name_of_line)
    beside = len(families) == 1 and len(curves) > _IN_LEGEND
    series = []
    for curve in curves:
        place, own = list(groups).index(_group(curve.name)), groups[_group(curve.name)]
        points = _shown(curve)
        series.append(
            Series(
                curve.name if len(families) > 1 else _entry(curve),
                points,
                colour=CYCLE[place % len(CYCLE)],
                dashes=place + place // len(CYCLE) + own.index(curve.name),
                dots=len(points) <= _MARKED,
                marker=place // len(CYCLE),
                band=True,
                panel=families.index(curve.family),
                beside=beside,
            )
        )
    without = next((level for start, level in _WITHOUT.items() if first.y.startswith(start)), first.level)
    places = sorted({point.x for curve in curves for point in _shown(curve) if point.x is not None})
    ticks = _round_ticks(places) if first.log else tuple(places) if len(places) <= _TICKS else ()
    plot = Curves(
        tuple(series),
        Axis(first.x, scale="log10" if first.log else "linear", ticks=ticks),
        Axis(first.y, scale="log10" if first.log == "xy" else "linear"),
        panels=tuple(families) if any(families) else (),
        references=() if without is None else (Reference(without, "y"),),
        size=(4.6, 2.5) if len(families) == 1 else (2.6, 2.4),
    )
    values = ". ".join(
        (f"{family}: " if family else "") + "; ".join(_values(curve) for curve in curves if curve.family == family)
        for family in families
    )
    averages = [f"{c.family}: {_entry(c)}" for c in curves if c.average is not None] if len(families) > 1 else []
    caption = f"{first.title}, with intervals." + (f" {'; '.join(averages)}." if averages else "")
    described = f"{first.title}: {first.y} by {first.x}, with intervals. {values}."
    return Figure(name or slug(first.title), plot, caption, described)


def _group(name: str) -> str:
    return re.sub(r"\s[\d.]+$", "", name)


def _shown(curve: Curve) -> tuple[Point, ...]:
    return tuple(point for point in curve.points if point.y is not None and math.isfinite(point.y))


def _round_ticks(places: Sequence[float]) -> tuple[float, ...]:
    """Return few round numbers for a logarithmic axis."""
    if not places:
        return ()
    inside = [k * 10.0**power for power in range(12) for k in (1, 2, 5) if places[0] <= k * 10**power <= places[-1]]
    return tuple(inside[:: max(1, math.ceil(len(inside) / _TICKS))])


def _entry(curve: Curve) -> str:
    return curve.name if curve.average is None else f"{curve.name}, average {number(curve.average, 3)}"


def _values(curve: Curve) -> str:
    """Return the first, the middle and the last value in words."""
    points = _shown(curve)
    if not points:
        return f"{curve.name} undefined"
    shown = [points[place] for place in sorted({0, len(points) // 2, len(points) - 1})]
    values = ", ".join(f"{number(point.y, 3)} at {point.x:g}" for point in shown)
    return f"{_entry(curve)}: {values}"
