"""Metrics over the steps of a training, beside what real text scores. Nothing here is computed."""

import math

import pandas as pd

from textassay.report.document import Figure
from textassay.report.number import count, decimals, number
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.words import slug


def draw_monitor(readings: pd.DataFrame) -> list[Figure]:
    """Return a figure for each metric: its values with their intervals, and a line where real text stands.

    Each has a `file_name`, its drawing as `svg`, and a `description` for those who cannot see it.

    Parameters
    ----------
    readings
        What `textassay.monitoring.monitor.TextMonitor.to_frame` returned. A value that is missing leaves a gap; a
        metric without any value has no figure.
    """
    metrics = readings.groupby("metric", sort=False)
    return [_figure(str(metric), rows) for metric, rows in metrics if rows["value"].notna().any()]


def _figure(metric: str, rows: pd.DataFrame) -> Figure:
    cells = rows[["step", "value", "low", "high"]].astype(float).to_numpy().tolist()
    points = tuple(Point(x, _known(value), _known(low), _known(high)) for x, value, low, high in cells)
    known = rows[rows["value"].notna()]
    first, last = known.iloc[0], known.iloc[-1]
    places = decimals(last["value"], (last["high"] - last["low"]) / 2 if pd.notna(last["low"]) else None)
    description = (
        f"{metric} over the steps of a training: {number(first['value'], places)} at step "
        f"{count(first['step'])}, {number(last['value'], places)} at step {count(last['step'])}"
    )
    floor: tuple[Reference, ...] = ()
    if pd.notna(first["floor"]):
        floor = (Reference(float(first["floor"]), "y", "real text", colour="real", dashed=True),)
        description += f"; real text scores {number(first['floor'], places)}"
    series = Series(metric, points, "generated", band=True)
    plot = Curves((series,), Axis("step"), Axis(metric), references=floor, legend=False, size=(4.2, 2.4))
    caption = f"{metric} while the model trains" + ("; dashed: real text." if floor else ".")
    return Figure(f"monitor-{slug(metric)}", plot, caption, f"{description}.")


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
