"""Figures of sweeps over temperature: a panel a family, a curve each share of the training text.

The darker and thicker a curve, the more training text. The axes are turned so that less is better: BLEU is drawn
negated, as the paper draws it.
"""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from textassay.meta_evaluation import Curve, CurvePoint
from textassay.report.number import number
from textassay.report.old_drawing import (
    INCHES_A_LETTER,
    LABEL_HEIGHT,
    Drawing,
    label,
    names_beside,
    panels,
    tick_places,
)
from textassay.report.svg import MUTED, SETTINGS, to_svg

TEMPERATURE_NOTE = "Logits are divided by T; the paper's code multiplies them, so its temperature is 1 / T."
_BETTER = "\N{LEFTWARDS ARROW} better: "  # the arrow points to less on the upright axis, too: text turns with it
_PANEL = 1.55
_LIGHTEST = 0.7  # of viridis: lighter ones are lost on white


@mpl.rc_context(SETTINGS)
def draw_sweep(curves: Sequence[Curve]) -> Drawing | None:
    """Return the curves of one figure over temperatures; None where there are none."""
    if not curves:
        return None
    figure_name, x, y = curves[0].figure, _turned(curves[0].x), _turned(curves[0].y)
    over_temperature = figure_name == "fed"
    families = list(dict.fromkeys(curve.family for curve in curves))
    shown = {curve.name: shown_share(curve.name, curve.family) for curve in curves}
    beside = 0.24 + INCHES_A_LETTER * max(map(len, shown.values()))
    members = max(sum(curve.family == family for curve in curves) for family in families)
    height = max(2.9, 1.1 + LABEL_HEIGHT * members)
    figure, drawn = panels(
        families, 0.6 + len(families) * (_PANEL + beside), height, left=0.6, gap=beside, right=beside, top=0.5,
        x="T (logits / T; the paper's code: 1 / T)" if over_temperature else f"{_BETTER}{x}", y=f"{_BETTER}{y}",
    )  # fmt: skip
    for axes, family in zip(drawn, families, strict=True):
        _draw_family(axes, [curve for curve in curves if curve.family == family])
    tick_places(drawn[0], x=4, y=5)
    drawn[0].margins(0.12, 0.15)
    drawn[0].autoscale_view()
    for axes, family in zip(drawn, families, strict=True):
        own = [curve for curve in curves if curve.family == family]
        ends = {c.name: (_place(c, c.points[-1]), shown[c.name], _colour(n, len(own))) for n, c in enumerate(own)}
        names_beside(axes, ends, height=height - 0.94, bold=())
        if not over_temperature:
            _name_temperatures(axes, own)
    figure.text(
        0.99, 1 - 0.08 / height, "numbers: share of the training text; large mark: T = 1", color=MUTED, fontsize=7.5,
        ha="right", va="top",
    )  # fmt: skip
    temperatures = [number(point.at, 1) for point in curves[0].points]
    told = (
        f"{y} against {x}, a panel a family and a curve a generator, at temperatures {', '.join(temperatures)} from "
        f"one end to the named one; the larger mark is 1.0; less {y} is better"
        f"{'' if over_temperature else f', and less {x}'}. {TEMPERATURE_NOTE}"
    )
    return Drawing("sweep", figure_name, f"sweep-{figure_name}.svg", to_svg(figure), told)


def shown_share(name: str, family: str) -> str:
    """Return the share of the training text that the name of a generator such as LSTM_0.2 says."""
    return label(name.removeprefix(f"{family}_"))


def _draw_family(axes: Axes, curves: Sequence[Curve]) -> None:
    for place, curve in enumerate(curves):
        colour = _colour(place, len(curves))
        width = 0.8 + 0.9 * place / max(1, len(curves) - 1)
        xs, ys = zip(*(_place(curve, point) for point in curve.points), strict=True)
        axes.plot(xs, ys, "o-", color=colour, linewidth=width, ms=2, mew=0)
        for at_one in (_place(curve, point) for point in curve.points if point.at == 1.0):
            axes.plot(*at_one, "o", color=colour, ms=4.6, mew=0)


def _name_temperatures(axes: Axes, curves: Sequence[Curve]) -> None:
    """Write the temperature beyond both ends of the curves, on the side that they do not come from."""
    for end, next_to_it in ((0, 1), (-1, -2)):
        places = [(_place(c, c.points[end]), _place(c, c.points[next_to_it])) for c in curves if len(c.points) > 1]
        if not places:
            continue
        above = sum(here[1] - before[1] for here, before in places) > 0
        outermost = (max if above else min)((here for here, _ in places), key=lambda here: here[1])
        sideways, align = (0, "center") if above else (-6, "right")  # names with their lines stand right of the ends
        axes.annotate(f"T {number(curves[0].points[end].at, 1)}", outermost, (sideways, 6 if above else -7),
                      textcoords="offset points", ha=align, va="bottom" if above else "top", color=MUTED,
                      fontsize=7.5)  # fmt: skip


def _colour(place: int, n: int) -> str:
    return to_hex(mpl.colormaps["viridis"](_LIGHTEST * (1 - place / max(1, n - 1))))


def _place(curve: Curve, point: CurvePoint) -> tuple[float, float]:
    return _sign(curve.x) * point.x, _sign(curve.y) * point.y


def _sign(axis: str) -> float:
    return -1.0 if axis.startswith("BLEU") else 1.0


def _turned(axis: str) -> str:
    """Return the name of an axis on which less is better."""
    return f"\N{MINUS SIGN}{axis}" if _sign(axis) < 0 else axis
