"""What figures show, as data: forest plots, curves and scatter plots, bars, heat maps. `drawing` draws them.

Blue is real text everywhere, orange generated text; where there are several generators, each has a colour of `SERIES`
by its place in the document. Shapes and dashes differ too, for print and for more series than colours. A number that is
not there is None.
"""

import math
from dataclasses import dataclass
from typing import Literal

from textassay.report.text import MISSING, decimals, number

Colour = Literal[
    "", "ink", "muted", "rule", "real", "generated", "green", "plum", "violet", "olive", "maroon", "navy", "umber"
]  # fmt: skip
SERIES: tuple[Colour, ...] = ("generated", "green", "plum", "violet", "olive", "maroon", "navy", "umber")
CYCLE: tuple[Colour, ...] = ("ink", "generated", "real", "plum", "green")  # of lines that have no own colour
MarkStyle = Literal["filled", "hollow", "diamond", "hollow diamond", "cross", "bar", "none"]
Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Reference:
    """A line of reference: at a value of an axis, or the diagonal."""

    at: float = 0.0
    axis: Literal["x", "y", "diagonal"] = "x"
    name: str = ""
    colour: Colour = "muted"
    dashed: bool = False
    panel: int | None = None  # all where none


@dataclass(frozen=True)
class Axis:
    """An axis of numbers."""

    name: str = ""
    limits: Limits = (None, None)
    scale: Literal["linear", "log2", "log10", "symlog"] = "linear"
    percent: bool = False  # whether 1 is shown as 100 %
    falling: bool = False  # whether values fall from left to right, or from the bottom to the top
    ticks: tuple[float, ...] = ()  # in place of those that suit the numbers
    labels: tuple[str, ...] = ()  # of the ticks


@dataclass(frozen=True)
class Mark:
    """A value with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    style: MarkStyle = "filled"  # a bar is the interval alone, thick
    colour: Colour = "generated"
    panel: int = 0
    below: bool = False  # a little under the middle of the row
    bold: bool = True  # full colour


@dataclass(frozen=True)
class Band:
    """A shaded range of a panel: what real text scores."""

    low: float
    high: float
    panel: int = 0


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot: a name, marks, and a text on the right."""

    name: str
    marks: tuple[Mark, ...]
    text: str = ""
    bold: bool = False
    reference: bool = False  # whether it is real text; such rows come last
    colour: Colour = ""  # of the series that it is: a dot beside its name


@dataclass(frozen=True)
class Forest:
    """Values with intervals, one row each, in one panel or several beside each other."""

    rows: tuple[ForestRow, ...]
    x: Axis
    panels: tuple[str, ...] = ()  # their names; none for a single one without name
    bands: tuple[Band, ...] = ()  # of real text
    references: tuple[Reference, ...] = ()
    legend: tuple[tuple[str, Mark], ...] = ()
    most_columns: int = 100  # panels beside each other
    own_scales: bool = False  # whether each panel has its own limits
    kind: Literal["forest"] = "forest"


@dataclass(frozen=True)
class Point:
    """A point with intervals in both directions."""

    x: float | None
    y: float | None
    low: float | None = None
    high: float | None = None
    x_low: float | None = None
    x_high: float | None = None
    label: str = ""  # written beside the point


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    points: tuple[Point, ...]
    colour: Colour = ""  # in turn where empty
    line: bool = True
    dots: bool = True
    dashes: int = 0  # which pattern; 0 is solid
    marker: int = 0  # which shape
    hollow: bool = False
    band: bool = False  # whether intervals are a band, not bars
    steps: bool = False  # whether points are the left ends of bins, the last one the end of the last bin
    fill: bool = False  # down to 0
    panel: int = 0
    beside: bool = False  # whether its name stands right of the axes, joined to its `anchor`
    anchor: int = -1  # which point
    bold: bool = False
    thin: bool = False
    pale: float = 0.0  # share of white in its colour, for lines in an order


@dataclass(frozen=True)
class Curves:
    """Lines and points over two axes of numbers, in one panel or several."""

    series: tuple[Series, ...]
    x: Axis
    y: Axis
    panels: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    region: tuple[float, float, float, float] | None = None  # shaded: x from, x to, y from, y to
    legend: bool = True  # names of the series above; those `beside` are not among them
    size: tuple[float, float] = (3.4, 2.1)  # of a panel, width and height in inches
    text: str = ""  # in the corner of the first panel
    most_columns: int = 3  # panels beside each other
    own_scales: bool = False  # whether each panel has its own limits
    kind: Literal["curve", "scatter"] = "curve"


@dataclass(frozen=True)
class BarGroup:
    """Bars beside each other under one name."""

    name: str
    bars: tuple[Mark, ...]  # hollow ones are drawn so
    texts: tuple[str, ...] = ()  # over the bars


@dataclass(frozen=True)
class Bars:
    """Groups of bars from 0."""

    groups: tuple[BarGroup, ...]
    y: Axis
    references: tuple[Reference, ...] = ()
    legend: tuple[tuple[str, Mark], ...] = ()
    kind: Literal["bars"] = "bars"


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map."""

    value: float | None  # decides strength and, where there is no `colour`, colour: real above 0, generated below
    text: str = ""
    strong: bool = True  # else its text is grey, as of what may be luck
    outlined: bool = False  # a dashed frame in place of colour
    colour: Colour = ""
    bold: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A matrix of coloured cells."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[HeatCell | None, ...], ...]
    scale: float = 1.0  # the absolute value that has full colour
    bold: tuple[str, ...] = ()  # names of rows
    wide: float = 0.36  # inches of a cell
    names: tuple[tuple[str, Colour], ...] = ()  # rows and columns that are series, with their colours
    size: float = 6.5  # points of the letters in cells
    kind: Literal["heat map"] = "heat map"


Plot = Forest | Curves | Bars | HeatMap
_MOST_POINTS = 12  # of a line that are told; of a longer one the first, the middle and the last
_TINY = 1e-9  # told as 0
_MOST_TOLD = 60  # lines, rows or bars
CLASSES = (
    *(Reference, Axis, Mark, Band, ForestRow, Forest, Point, Series, Curves, BarGroup, Bars, HeatCell, HeatMap),
)  # fmt: skip


def series_colour(place: int) -> Colour:
    """Return the colour of the series at a place of its document, of more than there are in turn."""
    return SERIES[place % len(SERIES)]


def series_shape(place: int) -> int:
    """Return which marker, or pattern of a line, a series has: another one than those of its colour."""
    return place + place // len(SERIES)


def described(plot: Plot) -> str:
    """Return the values of a plot in words, for those who cannot see it; nothing where they are too many."""
    what = ""
    if isinstance(plot, Forest):
        what = plot.x.name
        shown = [[_mark(mark, plot.panels) for mark in row.marks if not mark.below] for row in plot.rows]
        told = [f"{row.name} {row.text or ', '.join(marks)}" for row, marks in zip(plot.rows, shown, strict=True)]
    elif isinstance(plot, Curves):
        what = " by ".join(filter(None, (plot.y.name, plot.x.name)))
        told = [_line(series, plot) for series in plot.series if not (series.steps and series.thin)]
    elif isinstance(plot, Bars):
        what = plot.y.name
        told = [f"{one.name} {', '.join(one.texts or [_value(bar.value) for bar in one.bars])}" for one in plot.groups]
    else:
        told = []
        for name, row in zip(plot.rows, plot.cells, strict=True):
            known = [(column, cell.text) for column, cell in zip(plot.columns, row, strict=True) if cell is not None]
            told.append(f"{name}: {', '.join(f'{column} {text}' for column, text in known if text)}")
    if not told or len(told) > _MOST_TOLD:
        return ""
    references = () if isinstance(plot, HeatMap) else plot.references
    told += [f"{line.name} at {_value(line.at)}" for line in references if line.name]
    return f"{what}: " * bool(what) + "; ".join(told) + "."


def _mark(mark: Mark, panels: tuple[str, ...]) -> str:
    return f"{panels[mark.panel]} {_value(mark.value)}" if panels else _value(mark.value)


def _line(series: Series, plot: Curves) -> str:
    points = series.points[:-1] if series.steps else series.points
    if len(points) > _MOST_POINTS:
        points = (points[0], points[len(points) // 2], points[-1])
    labels: dict[float | None, str] = dict(zip(plot.x.ticks, plot.x.labels, strict=False))
    name = ", ".join(filter(None, (plot.panels[series.panel] if plot.panels else "", series.name)))
    told = [f"{point.label} {_value(point.y)} at {labels.get(point.x) or _value(point.x)}".strip() for point in points]
    return f"{name}: " * bool(name) + ", ".join(told)


def _value(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    if value == int(value) or abs(value) < _TINY:
        return f"{round(value):,}"
    return f"{value:.2g}" if abs(value) < 0.01 else number(value, decimals(value, None))
