"""Metrics over the steps of a training, beside what real text scores. Nothing here is computed."""

import matplotlib as mpl
import pandas as pd

from textassay.report.number import count, decimals, number
from textassay.report.old_drawing import Drawing, plane, tick_places
from textassay.report.svg import GENERATED, REAL, SETTINGS, to_svg
from textassay.report.words import printable, slug


def draw_monitor(readings: pd.DataFrame) -> list[Drawing]:
    """Return a figure for each metric: its values with their intervals, and a line where real text stands.

    Parameters
    ----------
    readings
        What `textassay.monitoring.monitor.TextMonitor.to_frame` returned. A value that is missing leaves a gap; a
        metric without any value has no figure.
    """
    metrics = readings.groupby("metric", sort=False)
    return [_draw(str(metric), rows) for metric, rows in metrics if rows["value"].notna().any()]


@mpl.rc_context(SETTINGS)
def _draw(metric: str, rows: pd.DataFrame) -> Drawing:
    figure, axes = plane(3.6, 2.0, x="step", y=metric)
    axes.fill_between(rows["step"], rows["low"], rows["high"], color=GENERATED, alpha=0.14, linewidth=0)
    axes.plot(rows["step"], rows["value"], "o-", color=GENERATED, linewidth=1.3, ms=3.4, mew=0)
    known = rows[rows["value"].notna()]
    first, last = known.iloc[0], known.iloc[-1]
    places = decimals(last["value"], (last["high"] - last["low"]) / 2 if pd.notna(last["low"]) else None)
    told = (
        f"{printable(metric)} over the steps of a training: {number(first['value'], places)} at step "
        f"{count(first['step'])}, {number(last['value'], places)} at step {count(last['step'])}"
    )
    if pd.notna(first["floor"]):
        axes.axhline(first["floor"], color=REAL, linewidth=1.1, dashes=(3, 2))
        axes.annotate(
            "real text", (0, first["floor"]), (3, 3), ("axes fraction", "data"), "offset points", ha="left", color=REAL
        )  # on the left, where training begins, the curve is elsewhere
        told += f"; real text scores {number(first['floor'], places)}"
    tick_places(axes)
    return Drawing("monitor", metric, f"monitor-{slug(metric)}.svg", to_svg(figure), f"{told}.")
