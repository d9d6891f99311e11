"""Cells of tables, from values with intervals."""

from textassay.estimate import Interval
from textassay.meta_evaluation import Cell, Number


def value_cell(
    row: str,
    column: str,
    value: float,
    interval: Interval | None = None,
    *,
    factor: int = 1,
    differs: str = "",
    spread: Number = None,
) -> Cell:
    """Return a value with its interval as a cell; `factor` 100 makes percent of both."""
    low, high = (None, None) if interval is None else (factor * interval.low, factor * interval.high)
    return Cell(row, column, factor * value, low, high, differs=differs, spread=spread)
