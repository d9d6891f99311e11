"""Cells of numbers, with their value in full precision behind the text."""

import math
from typing import TYPE_CHECKING

from textassay.estimate import Estimate, Interval
from textassay.report.document import Cell
from textassay.report.number import count, decimals, interval, number, value_and_half_width

if TYPE_CHECKING:
    from textassay_lab.generator.text_likelihood import Quantity


def number_cell(value: float | None, places: int | None = None, *, spread: float | None = None) -> Cell:
    """Return a number, "n/a" for none; `spread`: what stands behind ±, nothing where it is none or NaN.

    Without `places`, as many decimals as the size of the number asks for.
    """
    if value is None or not math.isfinite(value):
        return Cell(number(value, 0))
    places = decimals(value, None) if places is None else places
    beside = "" if spread is None or not math.isfinite(spread) else f"± {number(spread, places)}"
    return Cell(number(value, places), float(value), beside)


def count_cell(n: int | None) -> Cell:
    """Return a whole number; nothing for none."""
    return Cell() if n is None else Cell(count(n), n)


def interval_cell(bounds: Interval | None, places: int) -> Cell:
    """Return "[low, high]", sorted by its low end; nothing where there is no interval."""
    return Cell() if bounds is None else Cell(interval(bounds, places), bounds.low)


def quantity_cells(quantity: "Quantity") -> tuple[Cell, Cell]:
    """Return a value and its interval, both with the decimals that the interval carries."""
    places = quantity_places(quantity)
    return number_cell(quantity.value, places), interval_cell(quantity.interval, places)


def quantity_places(quantity: "Quantity") -> int:
    """Return how many decimals a value with an interval is shown with."""
    bounds = quantity.interval
    return decimals(quantity.value, None if bounds is None else (bounds.high - bounds.low) / 2)


def estimate_cell(estimate: Estimate, places: int) -> Cell:
    """Return a value with its half-width; interval and signature on demand."""
    text, spread = value_and_half_width(estimate, places)
    value = estimate.value if math.isfinite(estimate.value) else None
    return Cell(text, value, spread, note=f"{interval(estimate.interval, places)}\n{estimate.signature}".strip())
