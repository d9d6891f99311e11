"""Tables as data, and their cells: rounded text for people, the value in full precision behind it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Literal, Self

from textassay.errors import InputError
from textassay.estimate import Interval
from textassay.report.text import MISSING, count, decimals, number, p_value, span

Tone = Literal["", "best", "good", "bad", "weak"]
Arrow = Literal["", "lower", "higher", "closer", "neither"]
Bounds = Interval | tuple[float | None, float | None] | None
ARROWS = {"lower": "↓", "higher": "↑", "closer": "≈", "neither": ""}


@dataclass(frozen=True)
class Cell:
    """One cell of a table; a plain text stands for a cell without anything else."""

    text: str = ""  # rounded, as people read it
    value: float | int | str | None = None  # in full precision, for CSV and sorting; none where missing or undefined
    spread: str = ""  # beside the text and smaller, such as "±0.012"; of "[0.9, 1.0]" a terminal has one end
    below: str = ""  # under the text and smaller, such as the value at another sample size
    note: str = ""  # on demand: the interval, the signature, why there is no value
    tone: Tone = ""

    @property
    def plain(self) -> str:
        """The text with its spread."""
        return f"{self.text} {self.spread}".rstrip()


Format = Callable[[Any], Cell]  # how a column shows its values


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    group: str = ""  # above the name, once for all columns beside each other that share it
    numeric: bool = True  # flush right, and never broken
    better: Arrow = ""
    note: str = ""  # on demand: what the column is
    hidden: bool = False  # the page shows it on demand, the terminal and LaTeX do not


ItemColumn = tuple[str | Column, str | Callable[[Any], Any], Format]  # title, what it shows of an item, as what


@dataclass(frozen=True)
class Row:
    """A row: an ordinary one, one of reference (real text), or a heading over those that follow."""

    cells: tuple[Cell, ...]
    kind: Literal["", "reference", "heading"] = ""


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows."""

    name: str  # for files, labels and links: letters, digits and hyphens
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    main: bool = False  # one of those that a paper would print
    extra: bool = False  # for those who look for it: folded on the page, left out of the terminal's short form
    fits: bool = False  # on a terminal, columns for which there is no room are left out from the right

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.rows and not self.notes

    def compact(self) -> Self:
        """Return the table without columns in which no ordinary row has a text."""
        kept = [k for k in range(len(self.columns)) if any(row.cells[k].text for row in self.rows if not row.kind)]
        rows = (replace(row, cells=tuple(row.cells[place] for place in kept)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=tuple(rows))

    @classmethod
    def of(
        cls,
        name: str,
        columns: Sequence[str | Column],
        rows: Sequence[Sequence[object] | Row],
        *,
        texts: Sequence[int] = (),
        title: str = "",
        notes: Sequence[str] = (),
        main: bool = False,
        extra: bool = False,
    ) -> Self:
        """Return a table of plain texts and cells; the columns at the places `texts` and the first are not numeric."""
        heads = tuple(
            column if isinstance(column, Column) else Column(column, numeric=place > 0 and place not in texts)
            for place, column in enumerate(columns)
        )
        lines = tuple(
            row if isinstance(row, Row) else Row(tuple(c if isinstance(c, Cell) else text_cell(c) for c in row))
            for row in rows
        )
        for row in lines:
            if row.kind != "heading" and len(row.cells) != len(heads):
                raise InputError(f"table {name}: a row has {len(row.cells)} cells for {len(heads)} columns")
        return cls(name, heads, lines, title, tuple(notes), main, extra)

    @classmethod
    def of_items(
        cls,
        name: str,
        items: Iterable[Any],
        columns: Sequence[ItemColumn],
        *,
        is_reference: Callable[[Any], bool] = lambda item: False,
        heading: Callable[[Any], str] = lambda item: "",
        title: str = "",
        notes: Sequence[str] = (),
        main: bool = False,
        extra: bool = False,
    ) -> Self:
        """Return a table with a row for each item; a column is its title, what it shows of an item, and as what.

        What it shows is an attribute, by name, or what a function returns. Columns of `text_cell` are not numeric, nor
        is a first one of `as_is`. `heading` says what stands over the first of several items.
        """
        words = [show is text_cell or (show is as_is and place == 0) for place, (_, _, show) in enumerate(columns)]
        heads = [
            head if isinstance(head, Column) else Column(head, numeric=not is_words)
            for (head, _, _), is_words in zip(columns, words, strict=True)
        ]
        getters = [(attrgetter(get) if isinstance(get, str) else get, show) for _, get, show in columns]
        rows: list[Row] = []
        previous = ""
        for item in items:
            if heading(item) != previous:
                previous = heading(item)
                rows.append(Row((Cell(previous),), "heading"))
            cells = tuple(show(get(item)) for get, show in getters)
            rows.append(Row(cells, "reference" if is_reference(item) else ""))
        return cls.of(name, heads, rows, title=title, notes=notes, main=main, extra=extra)


def record(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a long table for a CSV file: what each cell is stands in full precision."""
    return Table(name, tuple(map(Column, columns)), tuple(Row(tuple(map(_exact_cell, row))) for row in rows))


def _exact_cell(value: object) -> Cell:
    return Cell(value=value if value is None or isinstance(value, str | int | float) else str(value))


def as_is(cell: Cell) -> Cell:
    """Return the cell that a column's function made."""
    return cell


def text_cell(value: object) -> Cell:
    """Return words; nothing for none."""
    return Cell("" if value is None else str(value))


def count_cell(n: int | None) -> Cell:
    """Return a whole number; nothing for none."""
    return Cell() if n is None else Cell(count(n), n)


def p_cell(p: float | None, missing: str = MISSING) -> Cell:
    """Return a p-value."""
    return Cell(missing) if p is None else Cell(p_value(p), p)


def number_cell(
    value: float | None, places: int | None = None, *, spread: float | None = None, missing: str = MISSING
) -> Cell:
    """Return a number; `spread`: what stands behind ±, nothing where it is none or NaN.

    Without `places`, as many decimals as the size of the number asks for.
    """
    if value is None or not math.isfinite(value):
        return Cell(missing)
    places = decimals(value, None) if places is None else places
    beside = "" if spread is None or not math.isfinite(spread) else f"± {number(spread, places)}"
    return Cell(number(value, places), float(value), beside)


def difference_cell(value: float | None, places: int) -> Cell:
    """Return a number with its sign, "n/a" for none."""
    return Cell(number(value, places, sign=True), value)


def percent_cell(share: float | None, places: int) -> Cell:
    """Return a share in percent, "n/a" for none."""
    return number_cell(None if share is None else 100 * share, places)


def interval_cell(bounds: Bounds, places: int) -> Cell:
    """Return "[low, high]", sorted by its low end; nothing where there is no interval."""
    low, high = (bounds.low, bounds.high) if isinstance(bounds, Interval) else bounds or (None, None)
    return Cell(span(low, high, places), low)


def percent_interval_cell(bounds: Bounds, places: int) -> Cell:
    """Return the interval of a share, in percent."""
    low, high = (bounds.low, bounds.high) if isinstance(bounds, Interval) else bounds or (None, None)
    return Cell() if low is None or high is None else Cell(span(100 * low, 100 * high, places), low)


def numbers(places: int, *, missing: str = MISSING) -> Format:
    """Return the format of numbers with so many decimals."""
    return partial(number_cell, places=places, missing=missing)


def differences(places: int) -> Format:
    """Return the format of signed numbers with so many decimals."""
    return partial(difference_cell, places=places)


def percents(places: int) -> Format:
    """Return the format of shares in percent with so many decimals."""
    return partial(percent_cell, places=places)


def intervals(places: int) -> Format:
    """Return the format of intervals whose ends have so many decimals."""
    return partial(interval_cell, places=places)


def quantity_cells(value: float, bounds: Interval | None) -> tuple[Cell, Cell]:
    """Return a value and its interval, both with the decimals that the interval carries."""
    places = places_of(value, bounds)
    return number_cell(value, places), interval_cell(bounds, places)


def places_of(value: float, bounds: Interval | None) -> int:
    """Return how many decimals a value with an interval is shown with."""
    return decimals(value, None if bounds is None else (bounds.high - bounds.low) / 2)
