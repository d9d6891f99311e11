"""Draws the figures of a document as SVG or PNG: one function a kind of plot.

Text stays text, colours are the fixed ones of `PALETTE` (a page turns them into variables, so that it can be light or
dark), the background is transparent, and the same figure gives the same bytes.

Colours: hues of Okabe and Ito, "Color Universal Design" (2008), darkened until they read as text on white.
"""

import io
import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from textassay.errors import OptionError
from textassay.report.document import Figure
from textassay.report.plots import CYCLE, Axis, Bars, Colour, Curves, Forest, HeatMap, Mark, Reference, Series
from textassay.report.svg import INK, MUTED, PALETTE, REAL, RULE, SETTINGS, add_axes, canvas, on_white, to_svg
from textassay.report.text import printable, shorten

_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.4)), (0, (1.3, 1.3)), (0, (6, 1.4, 1.3, 1.4)), (0, (8, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LETTER = 0.076  # inches
_BOLD_LETTER = 0.085
_CAPITAL = 0.02  # more, of a capital or another wide letter
_LABEL_HEIGHT = 0.15
_LEGEND_ROW = 0.18
_TITLE_LINE = 0.16
_MOST_LINES = 3  # of the name of a panel
_ROW = 0.25
_NAME_WIDTH = 24
_FOREST_WIDTH = 3.2
_CELL_LETTERS = 6.5  # of a cell of a heat map; longer texts are smaller
_DOT = 9  # points of the dot beside the name of a series
_STEPS = [1, 2, 2.5, 5, 10]


def draw_svg(figure: Figure) -> str:
    """Return a figure as an SVG document with a transparent ground."""
    with mpl.rc_context(SETTINGS):
        return to_svg(_canvas_of(figure))


def draw_png(figure: Figure, *, dpi: int = 160) -> bytes:
    """Return a figure as a PNG image on white."""
    if dpi < 1:
        raise OptionError(f"dpi must be at least 1, got {dpi}")
    buffer = io.BytesIO()
    with mpl.rc_context({key: value for key, value in SETTINGS.items() if not key.startswith("svg")}):
        drawn = _canvas_of(figure)
        drawn.patch.set_visible(True)
        drawn.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def draw_file(figure: Figure) -> str:
    """Return a figure as an SVG document on white, which can be read on dark pages, too."""
    return on_white(draw_svg(figure))


def _canvas_of(figure: Figure) -> Canvas:
    plot = figure.plot
    if isinstance(plot, Forest):
        return _forest(plot)
    if isinstance(plot, Curves):
        return _curves(plot)
    return _bars(plot) if isinstance(plot, Bars) else _heat_map(plot)


def _forest(plot: Forest) -> Canvas:
    n, names = len(plot.rows), _labels([row.name for row in plot.rows])
    panels = plot.panels or ("",)
    left = 0.12 + max((_width(name, bold=row.bold) for row, name in zip(plot.rows, names, strict=True)), default=0)
    left += _DOT / 72 * any(row.colour for row in plot.rows)
    texts = max((len(row.text) for row in plot.rows), default=0)
    right = 0.2 + _LETTER * texts if texts else 0.15
    n_columns = min(plot.most_columns, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    gap = 0.2
    least = _FOREST_WIDTH if len(panels) == 1 else 1.6 if plot.own_scales else 0.62
    each = max(least, (4.0 - gap * (n_columns - 1)) / n_columns)
    titles = [_wrapped(name, each + gap) for name in panels]
    above = 0.1 + (0.02 + _TITLE_LINE * _most_lines(titles) if plot.panels else 0)
    below = 0.26 if plot.own_scales else 0.1
    top = _LEGEND_ROW * len(plot.legend)
    width = left + each * n_columns + gap * (n_columns - 1) + right
    height = top + n_rows * (above + _ROW * n + below) - below + 0.46
    drawn: list[Axes] = []
    figure: Canvas | None = None
    for place in range(len(panels)):
        line, column = divmod(place, n_columns)
        start, from_top = left + column * (each + gap), top + line * (above + _ROW * n + below) + above
        margins = {
            "left": start,
            "right": width - start - each,
            "top": from_top,
            "bottom": height - from_top - _ROW * n,
        }
        if figure is None:
            figure, axes = canvas(width, height, **margins)
        else:
            axes = add_axes(figure, **margins, beside=None if plot.own_scales else drawn[0])
            axes.tick_params(labelbottom=plot.own_scales or place + n_columns >= len(panels))
        drawn.append(axes)
    assert figure is not None
    if len(panels) > n_columns and not plot.own_scales:
        drawn[0].tick_params(labelbottom=False)
    n_references = sum(row.reference for row in plot.rows)
    for place, (axes, title) in enumerate(zip(drawn, titles, strict=True)):
        for band in plot.bands:
            if band.panel == place or not plot.own_scales:
                axes.axvspan(band.low, band.high, color=REAL, alpha=0.13, linewidth=0)
        _references(axes, [line for line in plot.references if line.panel in (None, place)])
        for row_place in range(n - n_references):
            axes.axhline(row_place, color=RULE, linewidth=0.5, zorder=0)
        if n_references:
            axes.axhline(n - n_references - 0.5, color=RULE, linewidth=0.8, zorder=0)
        _panel_name(axes, title)
    for place, (row, name) in enumerate(zip(plot.rows, names, strict=True)):
        ink, weight = REAL if row.reference else INK, "bold" if row.bold else "normal"
        for axes in drawn[::n_columns]:
            axes.annotate(name, (0, place), (-6 - _DOT * bool(row.colour), 0), ("axes fraction", "data"),
                          "offset points", ha="right", va="center", color=ink, fontweight=weight)  # fmt: skip
            if row.colour:
                _dot(axes, row.colour, (0, place), (-9, 0), ("axes fraction", "data"))
        for mark in row.marks:
            _mark(drawn[mark.panel], mark, place + (0.24 if mark.below else 0))
        drawn[n_columns - 1].annotate(row.text.replace("-", "\N{MINUS SIGN}"), (1, place), (right * 72 - 2, 0),
                                      ("axes fraction", "data"), "offset points", ha="right", va="center", color=ink,
                                      fontweight=weight)  # fmt: skip
    for place, axes in enumerate(drawn if plot.own_scales else drawn[:1]):
        axes.set_ylim(n - 0.4, -0.6)
        _scale(axes, plot.x, "x", most=6 if len(panels) == 1 else 3)
        marks = [mark for row in plot.rows for mark in row.marks if not plot.own_scales or mark.panel == place]
        shown = [line.at for line in plot.references if plot.own_scales and line.axis == "x" and line.panel == place]
        bands = [band for band in plot.bands if not plot.own_scales or band.panel == place]
        values = [x for mark in marks for x in (mark.value, mark.low, mark.high)]
        values += [x for band in bands for x in (band.low, band.high)]
        _limits(axes, "x", plot.x, [*values, *shown], margin=0.04)
    figure.text((left + width - right) / 2 / width, 0.05 / height, printable(plot.x.name), color=MUTED, ha="center")
    _legend(figure, {name: _key(mark) for name, mark in plot.legend}, left=min(left, 1.4))
    return figure


def _dot(axes: Axes, colour: Colour, at: tuple[float, float], offset: tuple[float, float], unit: Any) -> None:
    """Draw the dot that says which series a name is, so many points from a place."""
    axes.annotate("●", at, offset, unit, "offset points", ha="center", va="center", color=PALETTE[colour], fontsize=7,
                  annotation_clip=False)  # fmt: skip


def _mark(axes: Axes, mark: Mark, y: float) -> None:
    colour = PALETTE[mark.colour or "ink"]
    if mark.low is not None and mark.high is not None:
        thick = mark.style == "bar"
        axes.plot([mark.low, mark.high], [y, y], "-", color=colour, lw=5 if thick else 1.6, clip_on=False,
                  alpha=0.45 if not mark.bold or (thick and mark.value is not None) else 1.0,
                  solid_capstyle="round")  # fmt: skip
    if mark.value is not None and mark.style not in ("bar", "none"):
        shape = "+" if mark.style == "cross" else "D" if "diamond" in mark.style else "o"
        hollow = "hollow" in mark.style
        axes.plot([mark.value], [y], shape, ms=3.6 if hollow else 4.2, mfc="none" if hollow else colour, mec=colour,
                  mew=0.9 if hollow or shape == "+" else 0, clip_on=False)  # fmt: skip


def _curves(plot: Curves) -> Canvas:
    panels = plot.panels or ("",)
    n_columns = min(plot.most_columns, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    beside = [series for series in plot.series if series.beside]
    named = [s for s in plot.series if s.name and not s.beside] if plot.legend else []
    entries = {s.name: _line_key(s, _colour_of(plot, s)) for s in named}
    left, bottom = 0.62, 0.46
    right = 0.3 + _LETTER * max(map(len, _labels([s.name for s in beside]))) if beside else 0.2
    each, tall = plot.size[0] - left - 0.12, plot.size[1] - 0.54
    tall = max(tall, _LABEL_HEIGHT * len(beside))
    names_above = any(line.axis == "x" and line.name for line in plot.references)
    gap = 0.5 if plot.own_scales else 0.18
    titles = [_wrapped(name, each + gap) for name in panels]
    above = 0.1 + (0.2 if plot.panels or names_above else 0) + _TITLE_LINE * max(0, _most_lines(titles) - 1)
    width = left + each * n_columns + gap * (n_columns - 1) + right
    legend_columns = max(1, int((width - 0.6) / (0.5 + _LETTER * max(map(len, entries), default=1))))
    top = _LEGEND_ROW * math.ceil(len(entries) / legend_columns)
    row_height = tall + above + (bottom if plot.own_scales else 0.3)
    height = top + row_height * (n_rows - 1) + tall + above + bottom
    figure: Canvas | None = None
    drawn: list[Axes] = []
    for place, title in enumerate(titles):
        row, column = divmod(place, n_columns)
        start, from_top = left + column * (each + gap), top + row * row_height + above
        place_of = {"left": start, "right": width - start - each, "top": from_top, "bottom": height - from_top - tall}
        if figure is None:
            figure, axes = canvas(width, height, **place_of)
        else:
            axes = add_axes(figure, **place_of, beside=None if plot.own_scales else drawn[0])
        axes.spines["left"].set_visible(True)
        axes.grid(visible=True, color=RULE, linewidth=0.4)
        axes.set_axisbelow(True)
        _references(axes, plot.references)
        _panel_name(axes, title)
        if not plot.own_scales:
            axes.tick_params(labelleft=column == 0, labelbottom=place + n_columns >= len(panels))
        drawn.append(axes)
    assert figure is not None
    if plot.region is not None:
        x0, x1, y0, y1 = plot.region
        drawn[0].add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor=REAL, alpha=0.15, linewidth=0))
    for series in plot.series:
        _series(drawn[series.panel], series, _colour_of(plot, series))
    for place, axes in enumerate(drawn if plot.own_scales else drawn[:1]):
        points = [p for s in plot.series if not plot.own_scales or s.panel == place for p in s.points]
        whole = all(p.x is None or float(p.x).is_integer() for p in points)
        _scale(axes, plot.x, "x", most=5 if len(panels) == 1 else 3, whole=whole)
        _scale(axes, plot.y, "y", most=4)
        lines = {axis: [line.at for line in plot.references if line.axis == axis] for axis in "xy"}
        x, y = ((p.x, p.x_low, p.x_high) for p in points), ((p.y, p.low, p.high) for p in points)
        _limits(axes, "x", plot.x, [*(v for ends in x for v in ends), *lines["x"]], margin=0.03)
        _limits(axes, "y", plot.y, [*(v for ends in y for v in ends), *lines["y"]], margin=0.06)
    for series in plot.series:
        _name_points(
            drawn[series.panel], series, end=each + (gap if series.panel % n_columns < n_columns - 1 else right)
        )
    drawn[0].set_ylabel(printable(plot.y.name), color=MUTED, labelpad=3)
    figure.text((left + width - right) / 2 / width, 0.05 / height, printable(plot.x.name), color=MUTED, ha="center")
    if plot.text:
        drawn[0].text(0.95, 0.08, plot.text, ha="right", color=INK, transform=drawn[0].transAxes)
    if beside:
        _names_beside(drawn[n_columns - 1], beside, height=tall)
    _legend(figure, entries, left=0.3, columns=legend_columns)
    return figure


def _series(axes: Axes, series: Series, colour: str) -> None:
    known = [p for p in series.points if p.x is not None and p.y is not None]
    x, y = [p.x or 0.0 for p in known], [p.y or 0.0 for p in known]
    dashes = _DASHES[series.dashes % len(_DASHES)]
    if series.steps:
        if series.fill:
            axes.stairs(y[:-1], x, baseline=0, fill=True, color=colour, alpha=0.14, linewidth=0)
        axes.stairs(y[:-1], x, baseline=0, color=colour, linewidth=0.9 if series.thin else 1.3, linestyle=dashes)
        return
    sure = [p for p in known if p.low is not None and p.high is not None]
    if series.band and sure:
        axes.fill_between([p.x or 0.0 for p in sure], [p.low or 0.0 for p in sure], [p.high or 0.0 for p in sure],
                          color=colour, alpha=0.14, linewidth=0)  # fmt: skip
    for point in () if series.band else sure:
        axes.plot([point.x or 0.0] * 2, [point.low or 0.0, point.high or 0.0], "-", color=colour, linewidth=1.1)
    for point in known:
        if point.x_low is not None and point.x_high is not None:
            axes.plot([point.x_low, point.x_high], [point.y or 0.0] * 2, "-", color=colour, linewidth=1.1, alpha=0.7)
    look: dict[str, Any] = {"linestyle": dashes if series.line else "none", "linewidth": 0.8 if series.thin else 1.3}
    if series.dots:
        look |= {"marker": _MARKERS[series.marker % len(_MARKERS)], "ms": 3.6, "mec": colour,
                 "mfc": "none" if series.hollow else colour, "mew": 0.9 if series.hollow else 0}  # fmt: skip
    axes.plot(x, y, color=colour, **look)


def _name_points(axes: Axes, series: Series, *, end: float) -> None:
    """Write the names of points right of them, or left where the panel and what is free beside it end after `end`."""
    to_inches = axes.transData + axes.figure.dpi_scale_trans.inverted()
    left = axes.transAxes.transform((0, 0))[0] / axes.figure.dpi
    for point in series.points:
        if point.label and point.x is not None and point.y is not None:
            name = printable(point.label)
            fits = to_inches.transform((point.x, point.y))[0] - left + _LETTER * len(name) <= end
            axes.annotate(name, (point.x, point.y), (3 if fits else -3, 3), color=MUTED, fontsize=7,
                          textcoords="offset points", ha="left" if fits else "right")  # fmt: skip


def _bars(plot: Bars) -> Canvas:
    n = len(plot.groups)
    top = 0.2 + _LEGEND_ROW * math.ceil(len(plot.legend) / 2)
    figure, axes = canvas(max(3.0, 1.1 + 1.1 * n), 2.1 + top, left=0.68, right=0.62, top=top, bottom=0.34)
    axes.spines["left"].set_visible(True)
    _references(axes, plot.references, beside=True)
    for place, group in enumerate(plot.groups):
        wide = 0.72 / max(1, len(group.bars))
        for k, bar in enumerate(group.bars):
            if bar.value is None:
                continue
            x = place + (k - (len(group.bars) - 1) / 2) * wide
            colour, hollow = PALETTE[bar.colour or "ink"], "hollow" in bar.style
            axes.add_patch(Rectangle((x - wide / 2 + 0.02, 0), wide - 0.04, bar.value, edgecolor=colour, linewidth=0.9,
                                     facecolor="none" if hollow else colour,
                                     alpha=None if hollow else 0.75))  # fmt: skip
            high = bar.value
            if bar.low is not None and bar.high is not None:
                high = bar.high
                axes.plot([x, x], [bar.low, high], color=INK, lw=1.1, solid_capstyle="round")
            if k < len(group.texts):
                axes.annotate(group.texts[k], (x, high), (0, 3), textcoords="offset points", ha="center", color=INK,
                              fontsize=7.5)  # fmt: skip
    axes.set_xlim(-0.6, n - 0.4)
    _scale(axes, plot.y, "y", most=5)
    _limits(axes, "y", plot.y, [0.0, *(x for g in plot.groups for b in g.bars for x in (b.value, b.high))], margin=0.06)
    axes.set_ylabel(printable(plot.y.name), color=MUTED, labelpad=3)
    axes.set_xticks(range(n), _labels([group.name for group in plot.groups]))
    axes.tick_params(axis="x", length=0, labelsize=8.5, labelcolor=INK)
    _legend(figure, {name: _key(mark) for name, mark in plot.legend}, left=0.68, columns=2)
    return figure


def _heat_map(plot: HeatMap) -> Canvas:
    rows, columns = _labels(plot.rows), _labels(plot.columns)
    left = 0.12 + max(
        (_width(row, bold=name in plot.bold) for row, name in zip(rows, plot.rows, strict=True)), default=0
    )
    colours = dict(plot.names)
    left += _DOT / 72 * any(name in colours for name in plot.rows)
    longest = max(map(_width, columns), default=_LETTER) + 2 * _LETTER * any(name in colours for name in plot.columns)
    above, beyond = 0.1 + 0.75 * longest, 0.1 + 0.6 * longest
    figure, axes = canvas(left + plot.wide * len(columns) + beyond, above + 0.34 * len(rows) + 0.1,
                          left=left, right=beyond, top=above, bottom=0.1)  # fmt: skip
    for i, row in enumerate(plot.cells):
        dot = colours.get(plot.rows[i])
        axes.annotate(rows[i], (0, i), (-6 - _DOT * bool(dot), 0), ("axes fraction", "data"), "offset points",
                      ha="right", va="center", color=INK,
                      fontweight="bold" if plot.rows[i] in plot.bold else "normal")  # fmt: skip
        if dot:
            _dot(axes, dot, (0, i), (-9, 0), ("axes fraction", "data"))
        for j, cell in enumerate(row):
            if cell is None:
                continue
            share = 0.0 if cell.value is None else min(1.0, abs(cell.value) / (plot.scale or 1.0))
            colour = PALETTE[cell.colour or ("real" if (cell.value or 0.0) > 0 else "generated")]
            if cell.outlined or share:
                look: dict[str, Any] = {"facecolor": colour, "alpha": 0.75 * share, "linewidth": 0, "clip_on": False}
                if cell.outlined:
                    look = {"facecolor": "none", "edgecolor": MUTED, "linewidth": 0.7, "linestyle": (0, (2, 2))}
                axes.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, **look))
            size = plot.size * min(1.0, _CELL_LETTERS / max(1, len(cell.text)))
            axes.text(j, i, cell.text.replace("-", "\N{MINUS SIGN}"), ha="center", va="center", fontsize=size,
                      color=INK if cell.strong else MUTED, fontweight="bold" if cell.bold else "normal")  # fmt: skip
    for j, name in enumerate(columns):
        dot = colours.get(plot.columns[j])
        if dot:
            _dot(axes, dot, (j + 0.1, -0.62), (0, 0), "data")
        at = (j + 0.1, -0.62)
        axes.annotate(name, at, (_DOT * 0.7, _DOT * 0.7) if dot else (0, 0), "data", "offset points", rotation=45,
                      rotation_mode="anchor", ha="left", va="center", color=INK, annotation_clip=False)  # fmt: skip
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    return figure


def _width(name: str, *, bold: bool = False) -> float:
    """Return about how many inches a name needs, at least as many as it does."""
    wide = sum(letter.isupper() or letter in "mwMW@%" for letter in name)
    asian = sum(unicodedata.east_asian_width(letter) in "WF" for letter in name)
    return (_BOLD_LETTER if bold else _LETTER) * len(name) + _CAPITAL * (wide + 2 * asian)


def _labels(names: Sequence[str]) -> list[str]:
    """Return names cut to one width, which is twice the usual one, or any, where two would look the same."""
    whole = list(map(printable, names))
    for width in (_NAME_WIDTH, 2 * _NAME_WIDTH):
        cut = [shorten(name, width) for name in whole]
        if len(set(cut)) == len(set(whole)):
            return cut
    return whole


def _wrapped(name: str, width: float) -> str:
    """Return the name of a panel in up to three lines of so many inches."""
    letters = max(12, int(width / _BOLD_LETTER))
    lines = textwrap.wrap(printable(name), letters)
    return "\n".join(lines if len(lines) <= _MOST_LINES else textwrap.wrap(shorten(name, 2 * letters), letters))


def _most_lines(titles: Sequence[str]) -> int:
    return max((title.count("\n") + 1 for title in titles if title), default=0)


def _colour_of(plot: Curves, series: Series) -> str:
    """Return the colour of a series: its own, or the next one in turn among the names without."""
    if series.colour:
        return _paler(PALETTE[series.colour], series.pale)
    names = list(dict.fromkeys(s.name for s in plot.series if not s.colour))
    return PALETTE[CYCLE[names.index(series.name) % len(CYCLE)]]


def _paler(colour: str, share: float) -> str:
    """Return a colour with a share of white in it."""
    if not share:
        return colour
    red, green, blue = (one + share * (1 - one) for one in to_rgb(colour))
    return to_hex((red, green, blue))


def _panel_name(axes: Axes, name: str) -> None:
    for place, line in enumerate(reversed(name.split("\n"))):
        if line:
            axes.annotate(line, (0, 1), (0, 5 + 72 * _TITLE_LINE * place), "axes fraction", "offset points", color=INK)


def _references(axes: Axes, references: Sequence[Reference], *, beside: bool = False) -> None:
    """Draw lines with their names, those of y on the left in the axes or `beside` these on the right."""
    for line in references:
        colour: Colour = line.colour or "muted"
        look: dict[str, Any] = {"color": PALETTE[colour], "linewidth": 0.9, "zorder": 0}
        if line.dashed:
            look["dashes"] = (3, 2)
        if line.axis == "x":
            axes.axvline(line.at, **look)
        elif line.axis == "y":
            axes.axhline(line.at, **look)
        else:
            axes.axline((0, 0), slope=1, **look)
        if line.name:
            at = {"x": (line.at, 1.0), "y": (float(beside), line.at), "diagonal": (0.5, 0.5)}[line.axis]
            where: dict[str, Any] = {
                "x": ("data", "axes fraction"), "y": ("axes fraction", "data"), "diagonal": "axes fraction"
            }  # fmt: skip
            axes.annotate(printable(line.name), at, (3 * (line.axis != "x"), -3 if beside else 3), where[line.axis],
                          "offset points", color=PALETTE[colour], fontsize=7.5,
                          ha="center" if line.axis == "x" else "left")  # fmt: skip


def _scale(axes: Axes, axis: Axis, which: str, *, most: int, whole: bool = False) -> None:
    """Set the scale, the ticks and their labels of one axis; of `whole` numbers, such as epochs, nothing between."""
    of = axes.xaxis if which == "x" else axes.yaxis
    if axis.scale != "linear":
        base = {"base": 2} if axis.scale == "log2" else {"linthresh": 1} if axis.scale == "symlog" else {}
        (axes.set_xscale if which == "x" else axes.set_yscale)("log" if "log1" in axis.scale or base.get("base")
                                                               else "symlog", **base)  # fmt: skip
    if axis.ticks:
        of.set_major_locator(FixedLocator(list(axis.ticks)))
        of.set_minor_locator(NullLocator())
        if axis.labels:
            of.set_ticklabels(list(map(printable, axis.labels)))
        else:
            of.set_major_formatter(lambda value, _: f"{value:,.10g}")
    elif axis.scale == "linear":
        of.set_major_locator(MaxNLocator(most, steps=_STEPS, integer=whole))
        axes.ticklabel_format(axis="x" if which == "x" else "y", useOffset=False)  # 1.0002, not 1 + 2e-4
    else:
        of.set_minor_locator(NullLocator())
        of.set_major_formatter(lambda value, _: f"{value:g}")
    if axis.percent:
        of.set_major_formatter(lambda value, _: f"{100 * value:,.6g} %")
    of.set_tick_params(labelcolor=MUTED)


def _limits(axes: Axes, which: str, axis: Axis, values: Sequence[float | None], *, margin: float) -> None:
    """Set the ends of an axis: those asked for, else the ends of the values with a margin."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = axis.limits
    set_ends, invert = (axes.set_xlim, axes.invert_xaxis) if which == "x" else (axes.set_ylim, axes.invert_yaxis)
    if known and axis.scale == "linear":
        room = margin * (max(known) - min(known)) or 0.01
        set_ends(min(known) - room if low is None else low, max(known) + room if high is None else high)
    elif low is not None or high is not None:
        set_ends(low, high)
    if axis.falling:
        invert()


def _key(mark: Mark) -> Line2D:
    colour, hollow = PALETTE[mark.colour or "ink"], "hollow" in mark.style
    if mark.style == "bar":
        return Line2D([], [], color=colour, linewidth=5, alpha=0.45)
    shape = "+" if mark.style == "cross" else "D" if "diamond" in mark.style else "o"
    return Line2D([], [], color=colour, marker=shape, ms=4, mfc="none" if hollow else colour, mec=colour,
                  linewidth=0 if mark.low is None else 1.6)  # fmt: skip


def _line_key(series: Series, colour: str) -> Line2D:
    look: dict[str, Any] = {}
    if series.dots and not series.steps:
        look = {"marker": _MARKERS[series.marker % len(_MARKERS)], "ms": 3.6, "mec": colour,
                "mfc": "none" if series.hollow else colour}  # fmt: skip
    style: Any = _DASHES[series.dashes % len(_DASHES)] if series.line or series.steps else "none"
    return Line2D([], [], color=colour, linewidth=1.5, linestyle=style, **look)


def _legend(figure: Canvas, entries: dict[str, Line2D], *, left: float, columns: int = 1) -> None:
    if not entries:
        return
    width, height = figure.get_size_inches()
    figure.legend(
        list(entries.values()), list(map(printable, entries)), loc="upper left", ncols=columns,
        bbox_to_anchor=(left / width, 1 - 0.05 / height), borderaxespad=0, borderpad=0, frameon=False, labelcolor=INK,
        handlelength=2.4, handletextpad=0.6, columnspacing=1.4, labelspacing=0.35, fontsize=8,
    )  # fmt: skip


def _names_beside(axes: Axes, series: Sequence[Series], *, height: float) -> None:
    """Write names right of the axes, in the order of their anchors from the top, joined to them by thin lines."""
    to_axes = axes.transData + axes.transAxes.inverted()
    known = [s for s in series if s.points and s.points[s.anchor].y is not None]
    places = [to_axes.transform((s.points[s.anchor].x or 0.0, s.points[s.anchor].y or 0.0)) for s in known]
    order = sorted(range(len(known)), key=lambda k: -float(places[k][1]))
    labels = _labels([s.name for s in known])
    heights = _apart([float(places[k][1]) for k in order], _LABEL_HEIGHT / height)
    for k, beside in zip(order, heights, strict=True):
        x, y = places[k]
        colour = PALETTE[known[k].colour or "rule"]
        axes.plot([x, 1.03], [y, beside], color=colour, linewidth=0.6, alpha=0.6, clip_on=False, zorder=0,
                  transform=axes.transAxes)  # fmt: skip
        ink = REAL if known[k].colour == "real" else INK
        axes.text(1.045, beside, labels[k], va="center", color=ink, fontsize=8, transform=axes.transAxes,
                  fontweight="bold" if known[k].bold else "normal")  # fmt: skip


def _apart(wanted: Sequence[float], step: float) -> list[float]:
    """Return falling heights near the `wanted` ones, at least `step` apart, none below 0 as far as that goes."""
    places: list[float] = []
    for height in wanted:
        places.append(min(height, places[-1] - step) if places else min(1.0, height))
    for back in range(len(places) - 1, -1, -1):
        least = 0.0 if back == len(places) - 1 else places[back + 1] + step
        places[back] = max(places[back], least)
    return places
