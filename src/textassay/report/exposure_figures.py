"""Figures on exposure bias: rates against the length of the prefix, deviations by kind of prefix.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, figures 2 to 4.
Departs from it: bands are intervals, where there is room for them; bars are the standard deviation over runs.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from textassay.estimate import Interval
from textassay.exposure.measurement import Exposure
from textassay.report.drawing import Drawing, legend, plane, tick_places
from textassay.report.exposure_words import DISTANCE_NAMES
from textassay.report.number import level, number, span
from textassay.report.svg import GENERATED, INK, MUTED, REAL, SETTINGS, to_svg

__all__ = ["draw_exposure"]

_LEGEND_ROW = 0.165  # inches
_WIDTH, _HEIGHT = 4.6, 2.2
_FEW = 3  # curves whose intervals can be told apart as bands
_SHORT = 26  # letters of a name that leave room for another column of names
_APART = 2.2  # points between two curves at one length
_OTHERS = ("#00795a", "#a8477f", "#6a5acd", "#8a6d00")  # further kinds of prefix
_LOOKS = {
    "data": (REAL, "-", "o"),
    "model": (GENERATED, "-", "s"),
    "shuffled": (INK, "--", "^"),
    "random": (MUTED, ":", "v"),
}
_DISTANCES = {"tv": (INK, "-", "o"), "js": (REAL, "--", "s"), "greedy": (GENERATED, "-.", "^"), "kl": (MUTED, ":", "v")}

_Look = tuple[str, str, str]  # colour, dashes, mark
_Curve = tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[Interval | None]]
_Curves = Mapping[str, tuple[_Look, _Curve]]


def draw_exposure(found: Exposure) -> list[Drawing]:
    """Return EB-bleu by kind of prefix and, with an oracle, EB-C by distance, CGD by kind, accumulated error."""
    looks = _looks(found.settings.kinds)
    bleu: _Curves = {
        f"{kind}: mean {_average(one.average, one.average_interval)}": (
            looks[kind],
            (one.lengths, one.values.tolist(), one.sd.tolist(), one.intervals),
        )
        for kind, one in found.bleu.items()
    }
    about = f"bars: standard deviation over runs; bands, of few curves: {level(found.settings.level)} intervals"
    drawings = [_draw("eb-bleu", "EB-bleu", bleu, f"EB-bleu of {found.model} by length of prefix", about, line=1.0)]
    for kind in found.settings.kinds:
        rates = {name: found.rates[name][kind] for name in found.rates}
        if not rates or (kind != "model" and "model" in found.settings.kinds):
            continue
        drawn: _Curves = {
            f"{DISTANCE_NAMES[name]}: mean {_average(rate.average, rate.average_interval)}": (
                _DISTANCES[name],
                (rate.lengths, rate.values.tolist(), rate.sd_runs.tolist(), rate.intervals),
            )
            for name, rate in rates.items()
        }
        drawings.append(_draw("eb-c", "EB-C", drawn, f"EB-C of {found.model}, {kind} prefixes", about, line=1.0))
        break
    for name, curves in found.cgd.items():
        drawn = {
            f"{kind} prefixes": (looks[kind], (c.lengths, c.values.tolist(), c.sd_runs.tolist(), c.intervals))
            for kind, c in curves.items()
        }
        told = f"CGD of {found.model} by {DISTANCE_NAMES[name]} and kind of prefix"
        drawings.append(_draw(f"cgd-{name}", f"CGD ({name})", drawn, told, about))
    if found.excess is not None:
        one = found.excess
        values, spreads = (100 * np.array((one.values, one.sd_runs))).tolist()
        bounds = [b and Interval(100 * b.low, 100 * b.high, b.level, b.method) for b in one.intervals]
        drawn = {"over the model's own words": (looks["model"], (one.lengths, values, spreads, bounds))}
        told = f"Excess accumulated error of {found.model}, in percent"
        drawings.append(_draw("excess-error", "excess error, %", drawn, told, about, x="tokens so far", line=0.0))
    return [drawing for drawing in drawings if drawing is not None]


@mpl.rc_context(SETTINGS)
def _draw(
    name: str,
    y: str,
    curves: _Curves,
    told: str,
    about: str,
    *,
    x: str = "tokens of the prefix",
    line: float | None = None,
) -> Drawing | None:
    """Return curves over lengths with their spreads; None where no value is finite."""
    shown = {key: part for key, part in curves.items() if np.isfinite(part[1][1]).any()}
    if not shown:
        return None
    columns = 2 if len(shown) > _FEW and max(map(len, shown)) <= _SHORT else 1
    top = 0.16 + _LEGEND_ROW * math.ceil(len(shown) / columns)
    figure, axes = plane(_WIDTH, _HEIGHT + top, x=x, y=y, top=top)
    if line is not None:
        axes.axhline(line, color=MUTED, linewidth=0.8)
    for place, (look, curve) in enumerate(shown.values()):
        aside = (place - (len(shown) - 1) / 2) * _APART
        _draw_curve(axes, look, curve, aside, with_band=len(shown) <= _FEW)
    tick_places(axes, x=6)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    entries = {
        key: Line2D([], [], color=look[0], ls=look[1], marker=look[2], ms=3.4, mew=0, lw=1.3)
        for key, (look, _) in shown.items()
    }
    legend(figure, entries, left=0.58, columns=columns)
    values = "; ".join(
        f"{key}: "
        + ", ".join(f"{number(value, 3)} at {length}" for length, value in zip(part[0], part[1], strict=True))
        for key, (_, part) in shown.items()
    )
    return Drawing("curve", name, f"{name}.svg", to_svg(figure), f"{told}; {about}. {values}.")


def _draw_curve(axes: Axes, look: _Look, curve: _Curve, aside: float, *, with_band: bool) -> None:
    """Draw one curve `aside` points beside its lengths, so that those of several can be told apart."""
    colour, dashes, mark = look
    lengths, values, spreads, bounds = curve
    moved = axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans)
    if with_band:
        lows = [np.nan if bound is None else bound.low for bound in bounds]
        highs = [np.nan if bound is None else bound.high for bound in bounds]
        axes.fill_between(lengths, lows, highs, color=colour, alpha=0.14, linewidth=0)
    axes.plot(lengths, values, dashes, marker=mark, color=colour, linewidth=1.2, ms=3.4, mew=0, transform=moved)
    for length, value, spread in zip(lengths, values, spreads, strict=True):
        if np.isfinite(spread):
            ends = (value - spread, value + spread)
            axes.plot([length] * 2, ends, color=colour, linewidth=0.8, transform=moved)
            axes.update_datalim([(length, end) for end in ends])
    axes.update_datalim([point for point in zip(lengths, values, strict=True) if np.isfinite(point[1])])
    axes.autoscale_view()


def _looks(kinds: Sequence[str]) -> dict[str, _Look]:
    """Return colour, dashes and mark of each kind of prefix."""
    others = [kind for kind in kinds if kind not in _LOOKS]
    dashes = ("-.", "--", ":", "-")
    more = {
        kind: (_OTHERS[k % len(_OTHERS)], dashes[(k // len(_OTHERS)) % len(dashes)], "D")
        for k, kind in enumerate(others)
    }
    return {**_LOOKS, **more}


def _average(value: float, bounds: Interval | None) -> str:
    return number(value, 3) + ("" if bounds is None else f" {span(bounds.low, bounds.high, 3)}")
