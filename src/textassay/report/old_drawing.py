"""A figure of the report, and the parts that figures share: names, minus signs, axes of two numbers."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, add_axes, canvas
from textassay.report.words import printable, shorten

INCHES_A_LETTER = 0.076
LABEL_HEIGHT = 0.15  # inches from one name beside a figure to the next
LEGEND_ROW = 0.16
# After the ink, hues of Okabe and Ito, darkened until they read as text on white.
COLOURS = (INK, GENERATED, REAL, "#a3397f", "#00795a")
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.4), (1.3, 1.3), (6, 1.4, 1.3, 1.4), (8, 2))
_NAME_WIDTH = 22


@dataclass(frozen=True)
class Drawing:
    """One figure."""

    # "forest", "scores", "roc", "pairs", "ranks", "frontier", "plane", "lengths", "prefixes", "positions" or "curve"
    kind: str
    subject: str  # The metric or generator it is about; empty where it is about all
    file_name: str  # In the folder of figures
    svg: str  # The document
    description: str  # What a person who cannot see it should be told


def label(name: str) -> str:
    """Return a generator's name as figures show it."""
    return shorten(printable(name), _NAME_WIDTH)


def with_minus(text: str) -> str:
    """Return the text of a number with a minus sign for its hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def row_text(axes: Axes, row: float, text: str, *, bold: bool = False, colour: str = INK) -> None:
    """Write the name of a row in the left margin, flush with the axes."""
    axes.annotate(text, (0, row), (-6, 0), ("axes fraction", "data"), "offset points", ha="right", va="center",
                  color=colour, fontweight="bold" if bold else "normal")  # fmt: skip


def plane(width: float, height: float, *, x: str, y: str, right: float = 0.1, top: float = 0.1) -> tuple[Figure, Axes]:
    """Return a figure of `width` by `height` inches with axes of two numbers and the names of both."""
    figure, axes = canvas(width, height, left=0.58, right=right, top=top, bottom=0.44)
    axes.spines["left"].set_visible(True)
    axes.set_xlabel(printable(x), color=MUTED, labelpad=2)
    axes.set_ylabel(printable(y), color=MUTED, labelpad=3)
    axes.grid(visible=True, color=RULE, linewidth=0.4)
    axes.set_axisbelow(True)
    return figure, axes


def panels(
    names: Sequence[str], width: float, height: float, *, x: str, y: str, left: float = 0.58, gap: float = 0.15,
    right: float = 0.1, top: float = 0.3,
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """Return a figure of `width` by `height` inches with a named panel each, side by side on the same axes."""
    each = (width - left - right - gap * (len(names) - 1)) / len(names)
    figure, first = canvas(width, height, left=left, right=width - left - each, top=top, bottom=0.44)
    drawn = [first]
    for place in range(1, len(names)):
        start = left + place * (each + gap)
        drawn.append(add_axes(figure, left=start, right=width - start - each, top=top, bottom=0.44, beside=first))
    for axes, name in zip(drawn, names, strict=True):
        axes.spines["left"].set_visible(True)
        axes.tick_params(labelleft=axes is first)
        axes.grid(visible=True, color=RULE, linewidth=0.4)
        axes.set_axisbelow(True)
        axes.annotate(printable(name), (0, 1), (0, 5), "axes fraction", "offset points", color=INK, fontweight="bold")
    first.set_ylabel(printable(y), color=MUTED, labelpad=3)
    figure.text((left + width - right) / 2 / width, 0.05 / height, printable(x), color=MUTED, ha="center")
    return figure, drawn


def legend(
    figure: Figure, entries: Mapping[str, Line2D], *, left: float, columns: int = 1, top: float = 0.07
) -> None:  # fmt: skip
    """Write what lines and marks mean, column after column, `left` and `top` inches from the upper left corner."""
    width, height = figure.get_size_inches()
    figure.legend(
        list(entries.values()), list(map(printable, entries)), loc="upper left", ncols=columns,
        bbox_to_anchor=(left / width, 1 - top / height), borderaxespad=0, borderpad=0, frameon=False, labelcolor=INK,
        handlelength=2.4, handletextpad=0.6, columnspacing=1.4, labelspacing=0.35, fontsize=8,
    )  # fmt: skip


def tick_places(axes: Axes, *, x: int = 4, y: int = 4) -> None:
    """Put about so many round numbers on the axes."""
    for axis, n in ((axes.xaxis, x), (axes.yaxis, y)):
        axis.set_major_locator(MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]))


def names_beside(
    axes: Axes, points: Mapping[str, tuple[tuple[float, float], str, str]], *, height: float, bold: Container[str]
) -> None:
    """Write names right of the axes, in the order of their points from the top, joined to them by thin lines."""
    to_axes = axes.transData + axes.transAxes.inverted()
    places = {name: to_axes.transform(point) for name, (point, _, _) in points.items()}
    ordered = sorted(places, key=lambda name: -float(places[name][1]))
    heights = _apart([float(places[name][1]) for name in ordered], LABEL_HEIGHT / height)
    for name, beside in zip(ordered, heights, strict=True):
        x, y = places[name]
        axes.plot([x, 1.03], [y, beside], color=RULE, linewidth=0.7, clip_on=False, zorder=0, transform=axes.transAxes)
        _, shown, colour = points[name]
        axes.text(1.045, beside, shown, va="center", color=colour, fontsize=8, transform=axes.transAxes,
                  fontweight="bold" if name in bold else "normal")  # fmt: skip


def _apart(wanted: Sequence[float], step: float) -> list[float]:
    """Return falling heights near the `wanted` ones, at least `step` apart, none below 0 as far as that goes."""
    places: list[float] = []
    for height in wanted:
        places.append(min(height, places[-1] - step) if places else min(1.0, height))
    for back in range(len(places) - 1, -1, -1):
        least = 0.0 if back == len(places) - 1 else places[back + 1] + step
        places[back] = max(places[back], least)
    return places
