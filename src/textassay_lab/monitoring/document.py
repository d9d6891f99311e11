"""Metrics over the steps of a training, beside what real text scores. Nothing here is computed but the floor."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from textassay.comparison.metric_kinds import metric_slug, with_encoder
from textassay.report.document import Document, Figure, items, notes, section, sections
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.table import Cell, Column, Row, Table, count_cell, number_cell, record
from textassay.report.text import count, decimals, number, span
from textassay_lab.monitoring.monitor import TextMonitor

Reading = Mapping[str, Any]  # a row of `TextMonitor.rows`
_COLUMNS = ("step", "metric", "value", "low", "high", "floor")
_ROWS = 20  # about as many readings are shown; all are in monitor.csv


def monitor_document(monitor: TextMonitor) -> Document:
    """Return the readings of a monitor, beside what real text scores."""
    readings = [{**row, "metric": with_encoder(row["metric"])} for row in monitor.rows()]
    figures = draw_monitor(readings)
    by_metric = _by_metric(readings)
    answer = [_change(metric, known) for metric, rows in by_metric.items() if (known := _with_value(rows))]
    sizes = f"{count(monitor.n)} texts a reading, measured against {count(monitor.n_real)} real ones."
    remarks = [f"step {count(reading.step)}, {part}: {note}"
               for reading in monitor.readings for part, note in reading.notes.items()]  # fmt: skip
    return Document(
        "Metrics while a model trains",
        tuple(answer) or ("There are no readings yet.",),
        sections=sections(
            section("Readings", _readings(monitor, by_metric), *notes(sizes), *figures) if by_metric else None,
            section("Notes on readings", *items(remarks), extra=True),
        ),
        lead=figures[0].name if figures else "",
        records=(record("monitor", _COLUMNS, ([row[name] for name in _COLUMNS] for row in readings)),),
    )


def draw_monitor(readings: Iterable[Reading]) -> list[Figure]:
    """Return a figure for each metric: its values with their intervals, and a line where real text stands.

    Each has a `file_name`, its drawing as `svg`, and a `description` for those who cannot see it.

    Parameters
    ----------
    readings
        What `textassay_lab.monitoring.monitor.TextMonitor.rows` returned, or some of it. A value that is missing leaves
        a gap; a metric without any value has no figure.
    """
    return [_figure(metric, rows) for metric, rows in _by_metric(readings).items() if _with_value(rows)]


def _by_metric(readings: Iterable[Reading]) -> dict[str, list[Reading]]:
    by_metric: dict[str, list[Reading]] = {}
    for row in readings:
        by_metric.setdefault(row["metric"], []).append(row)
    return by_metric


def _with_value(rows: Sequence[Reading]) -> list[Reading]:
    return [row for row in rows if row["value"] is not None]


def _change(metric: str, known: Sequence[Reading]) -> str:
    """Return the first and the last value of a metric, and what real text scores."""
    first, last = known[0], known[-1]
    places = _places(last)
    text = f"{metric} is {number(last['value'], places)} at step {count(last['step'])}"
    text += f" and was {number(first['value'], places)} at step {count(first['step'])}" if len(known) > 1 else ""
    return text + (f"; real text scores {number(first['floor'], places)}." if first["floor"] is not None else ".")


def _places(row: Reading) -> int:
    return decimals(row["value"], (row["high"] - row["low"]) / 2 if row["low"] is not None else None)


def _readings(monitor: TextMonitor, by_metric: Mapping[str, Sequence[Reading]]) -> Table:
    """Return a row a reading, evenly chosen where there are many, and that of real text."""
    readings = monitor.readings
    names = {with_encoder(name): name for name in monitor.names}
    places = {name: _places(known[-1]) for name, rows in by_metric.items() if (known := _with_value(rows))}
    step = math.ceil(len(readings) / _ROWS)
    shown = [reading for place, reading in enumerate(readings) if place % step == 0 or place == len(readings) - 1]
    rows = []
    for reading in shown:
        cells = []
        for name in by_metric:
            low, high = reading.intervals.get(names[name]) or (None, None)
            cell = number_cell(reading.values.get(names[name]), places.get(name))
            cells.append(replace(cell, note=span(low, high, places.get(name, 3))))
        rows.append(Row((count_cell(reading.step), *cells)))
    if monitor.floor is not None:
        floor = (number_cell(monitor.floor.values.get(names[name]), places.get(name)) for name in by_metric)
        rows.append(Row((Cell("real text"), *floor), "reference"))
    return Table("readings", (Column("step"), *(Column(name) for name in by_metric)), tuple(rows))


def _figure(metric: str, rows: Sequence[Reading]) -> Figure:
    points = tuple(Point(float(row["step"]), row["value"], row["low"], row["high"]) for row in rows)
    floor = _with_value(rows)[0]["floor"]
    references = () if floor is None else (Reference(floor, "y", "real text", colour="real", dashed=True),)
    series = Series("", points, "generated", band=True)
    plot = Curves((series,), Axis("step"), Axis(metric), references=references, legend=False, size=(4.2, 2.4))
    caption = f"{metric} while the model trains" + ("; dashed: real text." if references else ".")
    return Figure(f"monitor-{metric_slug(metric)}", plot, caption)
