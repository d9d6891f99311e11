"""Metrics over the steps of a training, beside what real text scores. Nothing here is computed but the floor."""

import math
from dataclasses import replace

import pandas as pd

from textassay.comparison.metric_kinds import metric_slug, with_encoder
from textassay.report.document import Document, Figure, items, notes, section, sections
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.table import Cell, Column, Row, Table, count_cell, number_cell, record
from textassay.report.text import count, decimals, number, span
from textassay_lab.monitoring.monitor import TextMonitor

_ROWS = 20  # about as many readings are shown; all are in monitor.csv


def monitor_document(monitor: TextMonitor) -> Document:
    """Return the readings of a monitor, beside what real text scores."""
    readings = monitor.to_frame()
    frame = readings.assign(metric=[with_encoder(name) for name in readings["metric"]])
    figures = draw_monitor(frame)
    by_metric = {str(metric): rows for metric, rows in frame.groupby("metric", sort=False)}
    answer = [_change(metric, rows) for metric, rows in by_metric.items() if rows["value"].notna().any()]
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
        records=(record("monitor", list(map(str, frame.columns)), (_plain(row) for row in frame.to_numpy().tolist())),),
    )


def draw_monitor(readings: pd.DataFrame) -> list[Figure]:
    """Return a figure for each metric: its values with their intervals, and a line where real text stands.

    Each has a `file_name`, its drawing as `svg`, and a `description` for those who cannot see it.

    Parameters
    ----------
    readings
        What `textassay_lab.monitoring.monitor.TextMonitor.to_frame` returned. A value that is missing leaves a gap; a
        metric without any value has no figure.
    """
    metrics = readings.groupby("metric", sort=False)
    return [_figure(str(metric), rows) for metric, rows in metrics if rows["value"].notna().any()]


def _change(metric: str, rows: pd.DataFrame) -> str:
    """Return the first and the last value of a metric, and what real text scores."""
    known = rows[rows["value"].notna()]
    first, last = known.iloc[0], known.iloc[-1]
    places = _places(last)
    text = f"{metric} is {number(last['value'], places)} at step {count(last['step'])}"
    text += f" and was {number(first['value'], places)} at step {count(first['step'])}" if len(known) > 1 else ""
    return text + (f"; real text scores {number(first['floor'], places)}." if pd.notna(first["floor"]) else ".")


def _places(row: pd.Series) -> int:
    return decimals(row["value"], (row["high"] - row["low"]) / 2 if pd.notna(row["low"]) else None)


def _readings(monitor: TextMonitor, by_metric: dict[str, pd.DataFrame]) -> Table:
    """Return a row a reading, evenly chosen where there are many, and that of real text."""
    readings = monitor.readings
    names = {with_encoder(name): name for name in monitor.names}
    places = {name: _places(rows[rows["value"].notna()].iloc[-1])
              for name, rows in by_metric.items() if rows["value"].notna().any()}  # fmt: skip
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


def _plain(row: list[object]) -> list[object]:
    return [None if isinstance(value, float) and math.isnan(value) else value for value in row]


def _figure(metric: str, rows: pd.DataFrame) -> Figure:
    cells = rows[["step", "value", "low", "high"]].astype(float).to_numpy().tolist()
    points = tuple(Point(x, _known(value), _known(low), _known(high)) for x, value, low, high in cells)
    floor = rows[rows["value"].notna()].iloc[0]["floor"]
    references = (Reference(float(floor), "y", "real text", colour="real", dashed=True),) if pd.notna(floor) else ()
    series = Series("", points, "generated", band=True)
    plot = Curves((series,), Axis("step"), Axis(metric), references=references, legend=False, size=(4.2, 2.4))
    caption = f"{metric} while the model trains" + ("; dashed: real text." if references else ".")
    return Figure(f"monitor-{metric_slug(metric)}", plot, caption)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
