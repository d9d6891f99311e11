"""Cells of tables, from values with intervals."""

from textassay.estimate import Interval
from textassay_lab.meta_evaluation.reproduction import Cell, Number


def value_cell(
    row: str,
    column: str,
    value: Number,
    interval: Interval | None = None,
    *,
    factor: int = 1,
    differs: str = "",
    spread: Number = None,
) -> Cell:
    """Return a value with its interval as a cell; `factor` 100 makes percent of both."""
    ends = (value, None, None) if interval is None else (value, interval.low, interval.high)
    ours, low, high = (None if one is None else factor * one for one in ends)
    return Cell(row, column, ours, low, high, differs=differs, spread=spread)
