"""Figures of values by the length of a prefix, or another number: a panel a family, a line a name, its interval a band.

Few lines stand in a legend above their panel, with their averages; many are named beside it. Lines whose names
differ in a number alone, such as a rate, share a colour, the darker the later.
"""

import math
import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from textassay.meta_evaluation import Curve, CurvePoint
from textassay.report.number import count, number
from textassay.report.old_drawing import (
    COLOURS,
    DASHES,
    INCHES_A_LETTER,
    LABEL_HEIGHT,
    LEGEND_ROW,
    Drawing,
    legend,
    names_beside,
    panels,
    tick_places,
)
from textassay.report.svg import INK, MUTED, SETTINGS, to_svg
from textassay.report.words import printable, slug

_IN_LEGEND = 5  # lines of a panel
_TICKS = 5  # of a logarithmic axis
_PANEL, _ALONE, _HEIGHT = 1.9, 3.4, 1.75
_LEFT, _GAP, _RIGHT, _BOTTOM, _TITLE = 0.58, 0.22, 0.15, 0.44, 0.24
_FEW, _BAND = 3, 0.16  # lines whose bands do not cover one another much, and how opaque these are
_PALEST = 0.55  # share of white in the first line of a colour
_WITHOUT: Mapping[str, float] = {"EB-C": 1.0, "EB-bleu": 1.0, "share": 1.0, "excess error": 0.0}  # exposure bias


@mpl.rc_context(SETTINGS)
def draw_by_length(curves: Sequence[Curve]) -> Drawing:
    """Return the figure of all these curves, which share their title; lengths without a value are left out."""
    families = list(dict.fromkeys(curve.family for curve in curves))
    members = {family: [curve for curve in curves if curve.family == family] for family in families}
    looks = _looks(list(dict.fromkeys(curve.name for curve in curves)))
    beside = max(map(len, members.values())) > _IN_LEGEND
    names = {curve.name: printable(curve.name) for curve in curves}
    title_room = _TITLE if any(families) else 0.07
    width, gap, right, top, height = _PANEL, _GAP, _RIGHT, title_room, _HEIGHT
    if len(families) == 1:
        width = _ALONE
    if beside:
        gap = right = 0.24 + INCHES_A_LETTER * max(map(len, names.values()))
        height = max(height, LABEL_HEIGHT * max(map(len, members.values())))
    else:
        width = max(width, 0.45 + 0.8 * INCHES_A_LETTER * max(len(_entry(curve)) for curve in curves))
        top += 0.06 + LEGEND_ROW * max(map(len, members.values()))
    whole = _LEFT + len(families) * (width + gap) - gap + right, top + height + _BOTTOM
    figure, drawn = panels(
        [""] * len(families), *whole, x=curves[0].x, y=curves[0].y, left=_LEFT, gap=gap, right=right, top=top
    )
    for axes, own in zip(drawn, members.values(), strict=True):
        _draw(axes, own, looks)
    first = drawn[0]
    without = next((level for start, level in _WITHOUT.items() if curves[0].y.startswith(start)), curves[0].level)
    if without is not None:
        for axes in drawn:
            axes.axhline(without, color=MUTED, linewidth=0.8, zorder=0)
    tick_places(first, x=4, y=5)
    first.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))
    if curves[0].log:
        _logarithmic(first, curves)
    first.autoscale_view()
    for place, (axes, (family, own)) in enumerate(zip(drawn, members.items(), strict=True)):
        left = _LEFT + place * (width + gap)
        figure.text(left / whole[0], 1 - 0.06 / whole[1], printable(family), color=INK, fontweight="bold", va="top")
        if beside:
            ends = {
                curve.name: ((shown[-1].x, shown[-1].y), names[curve.name], looks[curve.name][0])
                for curve in own
                if (shown := _shown(curve))
            }
            names_beside(axes, ends, height=height, bold=())
        else:
            legend(figure, {_entry(curve): _key(looks[curve.name]) for curve in own}, left=left, top=title_room)
    title = curves[0].title
    told = ". ".join((f"{family}: " if family else "") + "; ".join(map(_told, own)) for family, own in members.items())
    text = f"{title}: {curves[0].y} by {curves[0].x}, with intervals. {told}."
    return Drawing("by length", title, f"{slug(title)}.svg", to_svg(figure), text)


def _draw(axes: Axes, curves: Sequence[Curve], looks: Mapping[str, tuple[str, tuple[float, ...]]]) -> None:
    for curve in curves:
        colour, dashes = looks[curve.name]
        points = _shown(curve)
        band = [(p.x, p.y_low, p.y_high) for p in points if p.y_low is not None and p.y_high is not None]
        if band:
            x, low, high = np.array(band).T
            axes.fill_between(
                x, low, high, color=colour, alpha=_BAND if len(curves) <= _FEW else _BAND / 2, linewidth=0
            )
        axes.plot([p.x for p in points], [p.y for p in points], color=colour, linewidth=1.2, dashes=dashes,
                  marker="o" if len(points) <= 10 else "", ms=2.8, mew=0)  # fmt: skip


def _logarithmic(axes: Axes, curves: Sequence[Curve]) -> None:
    """Let axes, and those that share them, be logarithmic, with few round numbers on them."""
    places = [point.x for curve in curves for point in _shown(curve)]
    if not places:
        return
    axes.set_xscale("log")
    round_ones = [k * 10**power for power in range(12) for k in (1, 2, 5)]
    inside = [one for one in round_ones if min(places) <= one <= max(places)]
    axes.xaxis.set_major_locator(FixedLocator(inside[:: max(1, math.ceil(len(inside) / _TICKS))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
    if curves[0].log == "xy":
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _looks(names: Sequence[str]) -> dict[str, tuple[str, tuple[float, ...]]]:
    """Return colour and dashes of each name."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"\s[\d.]+$", "", name), []).append(name)
    found: dict[str, tuple[str, tuple[float, ...]]] = {}
    for place, own in enumerate(groups.values()):
        colour = np.array(to_rgb(COLOURS[place % len(COLOURS)]))
        for k, name in enumerate(own):
            pale = _PALEST * (1 - (k + 1) / len(own)) if len(own) > 1 else 0.0
            found[name] = (to_hex(tuple((colour + pale * (1 - colour)).tolist())), DASHES[place % len(DASHES)])
    return {name: found[name] for name in names}


def _shown(curve: Curve) -> list[CurvePoint]:
    return [point for point in curve.points if math.isfinite(point.y)]


def _key(look: tuple[str, tuple[float, ...]]) -> Line2D:
    return Line2D([], [], color=look[0], dashes=look[1], linewidth=1.6)


def _entry(curve: Curve) -> str:
    name = printable(curve.name)
    return name if curve.average is None else f"{name}, average {number(curve.average, 3)}"


def _told(curve: Curve) -> str:
    """Return the first, the middle and the last value in words."""
    points = _shown(curve)
    if not points:
        return f"{curve.name} undefined"
    shown = [points[place] for place in sorted({0, len(points) // 2, len(points) - 1})]
    values = ", ".join(f"{number(point.y, 3)} at {point.x:g}" for point in shown)
    return f"{_entry(curve)}: {values}"
