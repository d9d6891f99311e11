"""Figures of a reproduced study: sweeps, what was found against the truth, growth, taus, values by length, tables.

What judges (the paper's classifier, ours, among training or unseen text) has a colour and a dash, a family a mark.
"""

from collections.abc import Sequence

from textassay.report.document import Figure
from textassay.report.plots import Axis, Curves, Forest, ForestRow, Mark, MarkStyle, Point, Reference, Series
from textassay.report.text import level, number, slug
from textassay_lab.exposure.by_length import Curve, CurvePoint, lengths_figure
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction, TauDistribution
from textassay_lab.meta_evaluation.table_figure import TableFigure

_SWEEPS = ("bleu", "lm", "fed")
_COMPARED = ("BLEU-5", "FED", "LM score", "DD")  # what the paper's tables of taus compare
_OURS = "our DD"
_BETTER = "\N{LEFTWARDS ARROW} better: "  # the arrow points to less on the upright axis, too: text turns with it
_TEMPERATURES = "Logits are divided by T; the paper's code multiplies them, so its temperature is 1 / T."
_PALEST = 0.7


def reproduction_figures(reproduction: Reproduction) -> list[Figure]:
    """Return all figures that the curves and tables of a reproduction allow."""
    curves = reproduction.curves
    drawn = [_sweep([curve for curve in curves if curve.figure == name]) for name in _SWEEPS]
    drawn.append(_against_truth([curve for curve in curves if curve.figure == "estimate"]))
    drawn.append(_growth([curve for curve in curves if curve.figure == "size"]))
    by_length = [curve for curve in curves if curve.figure == "by length"]
    for title in dict.fromkeys(curve.title for curve in by_length):
        drawn.append(lengths_figure([curve for curve in by_length if curve.title == title]))
    drawn += [_table_figure(figure, reproduction.tables) for figure in reproduction.figures]
    return [figure for figure in drawn if figure is not None]


def taus_figure(taus: Sequence[TauDistribution]) -> Figure | None:
    """Return tau of each metric that the paper compares, one panel per group of generators; all of one gold order."""
    taus = [tau for tau in taus if tau.metric in _COMPARED or tau.metric.startswith(_OURS)]
    if not taus:
        return None
    groups = list(dict.fromkeys(tau.group for tau in taus))
    marks: dict[str, list[Mark]] = {}
    for tau in taus:
        own, panel = marks.setdefault(tau.metric, []), groups.index(tau.group)
        if tau.published is not None:
            own.append(Mark(tau.published, style="hollow diamond", colour="real", panel=panel))
        own.append(Mark(tau.value, tau.low, tau.high, colour="ink", panel=panel))
    here = f"here, with interval ({level(taus[0].level)})"
    legend = [(here, Mark(0.0, 0.0, 0.0, colour="ink"))]
    if any(tau.published is not None for tau in taus):
        legend.append(("published", Mark(0.0, style="hollow diamond", colour="real")))
    plot = Forest(
        tuple(ForestRow(_judge(metric), tuple(own)) for metric, own in marks.items()),
        Axis(f"tau with the order by {taus[0].gold}", (-1.1, 1.1), ticks=(-1, 0, 1)),
        panels=tuple(groups),
        references=(Reference(0.0),),
        legend=tuple(legend),
    )
    values = "; ".join(
        f"{tau.metric}, {tau.group} {number(tau.value, 2)} ({number(tau.low, 2)} to {number(tau.high, 2)}"
        f"{'' if tau.published is None else f', published {number(tau.published, 2)}'})"
        for tau in taus
    )
    return Figure(f"taus-{slug(taus[0].gold)}", plot, "", f"Kendall's tau: {values}.")


def _sweep(curves: Sequence[Curve]) -> Figure | None:
    """Return the curves over temperatures, one panel per family; the darker, the more training text.

    The axes are turned so that less is better: BLEU is drawn negated, as the paper draws it.
    """
    if not curves:
        return None
    name, x, y = curves[0].figure, _turned(curves[0].x), _turned(curves[0].y)
    over_temperature = name == "fed"
    families = _families(curves)
    shares = list(dict.fromkeys(_share(curve.name, curve.family) for curve in curves))
    series = []
    for curve in curves:
        place, panel = shares.index(_share(curve.name, curve.family)), families.index(curve.family)
        pale = _PALEST * (1 - (place + 1) / len(shares))
        ends = {0, len(curve.points) - 1} if not over_temperature and place == 0 else set()
        points = [
            Point(*_place(curve, p), label=f"T {number(p.at, 1)}" if k in ends else "")
            for k, p in enumerate(curve.points)
        ]
        series.append(Series(shares[place], tuple(points), "fourth", pale=pale, panel=panel))
    for panel, family in enumerate(families):
        at_one = [Point(*_place(c, p)) for c in curves if c.family == family for p in c.points if p.at == 1.0]
        series.append(Series("T = 1", tuple(at_one), "ink", line=False, marker=3, hollow=True, panel=panel))
    plot = Curves(
        tuple(series),
        Axis("T (logits / T; the paper's code: 1 / T)" if over_temperature else f"{_BETTER}{x}"),
        Axis(f"{_BETTER}{y}"),
        panels=tuple(families),
        size=(3.0, 2.9),
    )
    temperatures = [number(point.at, 1) for point in curves[0].points]
    description = (
        f"{y} against {x}, a panel per family, a curve per generator, at temperatures {', '.join(temperatures)} from "
        f"one end to the other; the diamond is 1.0; less {y} is better{'' if over_temperature else f', and less {x}'}. "
        f"{_TEMPERATURES}"
    )
    caption = f"A curve a share of the training text: the darker, the more. {_TEMPERATURES}"
    return Figure(f"sweep-{name}", plot, caption, description)


def _against_truth(curves: Sequence[Curve]) -> Figure | None:
    """Return what was found against the exact discrepancy, with intervals and the diagonal."""
    if not curves:
        return None
    judges, families = list(dict.fromkeys(curve.y for curve in curves)), _families(curves)
    points = [point for curve in curves for point in curve.points]
    lowest = {
        family: min((c for c in curves if c.family == family), key=lambda c: sum(p.y for p in c.points))
        for family in families
    }
    series = []
    for curve in curves:
        judge, family = judges.index(curve.y), families.index(curve.family)
        named = {0, len(curve.points) - 1} if curve is lowest[curve.family] else set()
        shown = tuple(
            Point(p.x, p.y, p.y_low, p.y_high, p.x_low, p.x_high,
                  _share(p.label, curve.family) if k in named else "")
            for k, p in enumerate(curve.points)
        )  # fmt: skip
        series.append(Series(_judge(curve.y), shown, dashes=judge, marker=family, hollow=family % 2 == 1))
    series += [
        Series(family, (), "muted", line=False, marker=place, hollow=place % 2 == 1)
        for place, family in enumerate(families)
    ]
    plot = Curves(
        tuple(series),
        Axis(curves[0].x),
        Axis("found by a classifier", (min(0.0, *(p.y for p in points)) - 0.02, 1.03 * max(p.x for p in points))),
        references=(Reference(axis="diagonal"),),
        size=(4.8, 3.6),
    )
    values = "; ".join(
        f"{c.name}: {', '.join(f'{p.label} {number(p.y, 3)} of {number(p.x, 3)}' for p in c.points)}" for c in curves
    )
    return Figure(
        "found-and-exact", plot, "With intervals; on the line all is found. Numbers: share of the training text.",
        f"Found discrepancy against the exact one, with intervals; on the line both are equal. {values}.",
    )  # fmt: skip


def _growth(curves: Sequence[Curve]) -> Figure | None:
    """Return discrepancies against the size of the training text, one panel per family."""
    if not curves:
        return None
    judges, families = list(dict.fromkeys(curve.y for curve in curves)), _families(curves)
    series = [
        Series(_judge(c.y), tuple(Point(p.x, p.y, p.y_low, p.y_high) for p in c.points), dashes=judges.index(c.y),
               marker=families.index(c.family), panel=families.index(c.family))
        for c in curves
    ]  # fmt: skip
    sizes = sorted({point.x for curve in curves for point in curve.points})
    plot = Curves(
        tuple(series),
        Axis(
            curves[0].x, (0, 1.07 * sizes[-1]), ticks=(0.0, *dict.fromkeys((sizes[(len(sizes) - 1) // 2], sizes[-1])))
        ),
        Axis("DD", (min(0.0, *(p.y for c in curves for p in c.points)), None)),
        panels=tuple(families),
        size=(2.9, 2.5),
    )
    values = "; ".join(f"{c.name} {', '.join(f'{number(p.y, 3)} at {p.x:,.0f}' for p in c.points)}" for c in curves)
    return Figure("dd-by-training-text", plot, "", f"DD by training text: {values}.")


def _table_figure(drawn: TableFigure, tables: Sequence[ReproducedTable]) -> Figure | None:
    """Return columns of tables, a panel each, without the rows that no panel has; None where none is left."""
    by_id = {table.id: table for table in tables}
    columns = [
        {cell.row: cell for cell in by_id[panel.table].cells if cell.column == panel.column}
        if panel.table in by_id
        else {}
        for panel in drawn.panels
    ]
    names = [row for row in drawn.rows if any(row in column for column in columns)]
    if not names:
        return None
    rows, described = [], []
    for name in names:
        marks: list[Mark] = []
        for place, (panel, column) in enumerate(zip(drawn.panels, columns, strict=True)):
            if name in column:
                faint = drawn.starred and (panel.table, name, panel.column) not in drawn.starred
                marks += _marks(column[name], "hollow" if faint else "filled", place)
        rows.append(ForestRow(name, tuple(marks)))
    for panel, column in zip(drawn.panels, columns, strict=True):
        described.append(f"{panel.title}: {'; '.join(_values(row, column[row]) for row in names if row in column)}")
    known = [[x for c in column.values() for x in (c.ours, c.low, c.high, c.published) if x is not None]
             for column in columns]  # fmt: skip
    zeros = [place for place, values in enumerate(known) if values and min(values) <= 0 <= max(values)]
    cells = [cell for column in columns for cell in column.values()]
    legend: list[tuple[str, Mark]] = []
    if any(cell.ours is not None for cell in cells):
        starred = "; hollow: p above .05" if drawn.starred else ""
        legend.append((f"here, with interval{starred}", Mark(0.0, 0.0, 0.0, colour="ink")))
    if any(cell.published is not None for cell in cells):
        legend.append(("published", Mark(0.0, style="hollow diamond", colour="real")))
    plot = Forest(
        tuple(rows),
        Axis(drawn.x),
        panels=tuple(panel.title for panel in drawn.panels),
        references=tuple(Reference(0.0, panel=place) for place in zeros),
        legend=tuple(legend),
        most_columns=4,
        own_scales=not drawn.shared,
    )
    return Figure(drawn.name, plot, f"{drawn.title}.", f"{drawn.title}. {'. '.join(described)}.")


def _marks(cell: Cell, style: MarkStyle, panel: int) -> list[Mark]:
    published = Mark(cell.published, style="hollow diamond", colour="real", panel=panel)
    ours = Mark(cell.ours, cell.low, cell.high, style, "ink", panel)
    return [mark for mark in (published, ours) if mark.value is not None]


def _values(row: str, cell: Cell) -> str:
    ours = "" if cell.ours is None else number(cell.ours, 3)
    published = "" if cell.published is None else f"published {number(cell.published, 3)}"
    return f"{row} {', '.join(filter(None, (ours, published)))}"


def _families(curves: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.family for curve in curves))


def _judge(name: str) -> str:
    """Return a metric's name, where DD is said to be by the paper's classifier."""
    return name.replace("DD", "DD, paper's classifier", 1) if name.startswith("DD") else name


def _share(name: str, family: str) -> str:
    """Return the share of the training text that the name of a generator such as LSTM_0.2 says."""
    return name.removeprefix(f"{family}_")


def _place(curve: Curve, point: CurvePoint) -> tuple[float, float]:
    return _sign(curve.x) * point.x, _sign(curve.y) * point.y


def _sign(axis: str) -> float:
    return -1.0 if axis.startswith("BLEU") else 1.0


def _turned(axis: str) -> str:
    """Return the name of an axis on which less is better."""
    return f"\N{MINUS SIGN}{axis}" if _sign(axis) < 0 else axis
