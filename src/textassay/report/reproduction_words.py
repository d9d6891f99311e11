"""What reports of a reproduced study say of each cell, tau and finding, in words; terminal and Markdown share it."""

import math
import statistics
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from textassay.meta_evaluation import (
    Cell,
    CheckedFinding,
    Neighbours,
    Number,
    ReproducedTable,
    Reproduction,
    TauDistribution,
)
from textassay.report.number import MISSING, decimals, number, sign_of_width, span
from textassay.report.words import join_words

MARKS = {"holds": "+", "does not hold": "-", "not separated at this size": "?", "not measured": " "}
_HIGH_TAU = 0.8
_FEW = 6


def cell_texts(table: ReproducedTable, column: str) -> dict[str, tuple[str, str]]:
    """Return row to (ours with the longer arm of its interval and the spread over seeds, the published value).

    Where values are recomputed from printed ones, these stand in place of ours.
    """
    cells = [cell for cell in table.cells if cell.column == column]
    printed = max((_printed_places(cell) for cell in cells), default=0)
    places = max(printed, _places(cells))
    return {cell.row: (_ours(cell, places), _published(cell, printed)) for cell in cells}


def differences_told(table: ReproducedTable) -> list[str]:
    """Return what of ours is made in another way: for the whole table, then column by column or row by row."""
    told = [f"Ours: {table.differs}."] if table.differs else []
    for text, cells in _grouped(table.cells):
        columns = {cell.column for cell in cells}
        rows = {cell.row for cell in cells}
        whole_columns = all(sum(c.column == name and c.ours is not None for c in table.cells)
                            == sum(c.column == name for c in cells) for name in columns)  # fmt: skip
        told.append(f"{join_words(sorted(columns if whole_columns else rows))}: {text}.")
    return told


def unmatched(table: ReproducedTable) -> list[str]:
    """Return which cells only one side has, by row and column; nothing of a table that only one side has at all."""
    told: list[str] = []
    if not any(cell.published is not None for cell in table.cells):
        return told
    alone = "Published, does not follow from printed values" if table.is_recomputed else "Published, not measured here"
    for cells, text in ((table.published_alone, alone), (table.ours_alone, "Not published")):
        if cells:
            told.append(f"{text}: {'; '.join(_places_told(cells, set(table.rows)))}.")
    return told


def table_heading(table: ReproducedTable) -> str:
    """Return id and title of a table."""
    return f"{table.id[:1].upper()}{table.id[1:]}. {table.title}"


def sides_told(table: ReproducedTable) -> str:
    """Return what stands beside each other in the columns of a table; empty where there is one side alone."""
    if not any(cell.published is not None for cell in table.cells):
        return ""
    return "recomputed from printed values, paper" if table.is_recomputed else "ours, paper"


def tau_row(tau: TauDistribution) -> list[str]:
    """Return metric, group, tau, its interval, that of single seeds, the published tau, the share of draws >= 0.8."""
    return [
        tau.metric,
        tau.group,
        number(tau.value, 2),
        span(tau.low, tau.high, 2),
        _by_seed(tau),
        "" if tau.published is None else number(tau.published, 2),
        number(tau.share_at_least(_HIGH_TAU), 2),
    ]


def inseparable(taus: Iterable[TauDistribution]) -> list[str]:
    """Return which neighbours of a gold order the gold and each metric cannot tell apart, or tell the other way."""
    told: dict[str, None] = {}
    for tau in taus:
        for by, group in groupby(tau.neighbours, key=lambda pair: pair.by):
            pairs = list(group)
            unsure = _chains(pair for pair in pairs if not pair.separated)
            wrong = _chains(pair for pair in pairs if pair.separated and pair.difference < 0)
            parts = [f"cannot tell apart {'; '.join(unsure)}"] if unsure else []
            parts += [f"puts the other way round {'; '.join(wrong)}"] if wrong else []
            if parts:
                told[f"{by}, {tau.group}: {'; '.join(parts)}."] = None
    return list(told)


def finding_numbers(finding: CheckedFinding) -> str:
    """Return the first numbers that a verdict rests on, with their intervals; all are in the JSON document."""
    shown = [
        f"{name} {_with_interval(name, value, finding)}"
        for name, value in finding.numbers.items()
        if not _is_end(name, finding)
    ]
    more = len(shown) - _FEW
    return "; ".join(shown[:_FEW]) + (f"; and {more} more" if more > 0 else "")


def settings_told(reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the settings as names and texts; lists and mappings in one line."""
    return [(name, _setting(value)) for name, value in reproduction.settings.items()]


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {f'({_setting(one)})' if isinstance(one, Mapping | list | tuple) else _setting(one)}"
                         for name, one in value.items())  # fmt: skip
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    return "none" if value is None else str(value)


def _places(cells: Iterable[Cell]) -> int:
    cells = list(cells)
    values = [
        value for value in (cell.recomputed if cell.ours is None else cell.ours for cell in cells) if value is not None
    ]
    if not values:
        return 0
    arms = [arm for arm in map(_arm, cells) if arm]
    return decimals(statistics.median(map(abs, values)), statistics.median(arms) if arms else None)


def _printed_places(cell: Cell) -> int:
    """Return how many decimals the published value was printed with; trailing zeros are not known."""
    if cell.published is None:
        return 0
    exponent = Decimal(repr(float(cell.published))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _arm(cell: Cell) -> float:
    if cell.ours is None or cell.low is None or cell.high is None:
        return 0.0
    return max(cell.ours - cell.low, cell.high - cell.ours)


def _ours(cell: Cell, places: int) -> str:
    if cell.ours is None and cell.recomputed is not None:
        spread = cell.recomputed_spread
        return number(cell.recomputed, places) + ("" if spread is None else f" ({number(spread, places)})")
    if cell.ours is None:
        return MISSING
    arm, spread = _arm(cell), cell.spread
    text = number(cell.ours, places)
    if arm and cell.low is not None and cell.high is not None:
        text += f" {sign_of_width(cell.ours - cell.low, cell.high - cell.ours)}{number(arm, places)}"
    return text + (f" (seeds {number(spread, places)})" if spread is not None else "")


def _published(cell: Cell, places: int) -> str:
    if cell.published is None:
        return ""
    text = number(cell.published, places)
    return text if cell.published_spread is None else f"{text} ({number(cell.published_spread, places)})"


def _grouped(cells: Iterable[Cell]) -> list[tuple[str, list[Cell]]]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.differs:
            groups.setdefault(cell.differs, []).append(cell)
    return list(groups.items())


def _places_told(cells: Iterable[Cell], all_rows: set[str]) -> list[str]:
    columns: dict[str, list[str]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell.row)
    same: dict[tuple[str, ...], list[str]] = {}
    for column, rows in columns.items():
        same.setdefault(tuple(rows), []).append(column)
    return [
        f"{join_words(names)} of {'all rows' if set(rows) == all_rows else join_words(list(rows))}"
        for rows, names in same.items()
    ]


def _by_seed(tau: TauDistribution) -> str:
    known = [each for each in tau.by_seed if each is not None]
    if len(tau.by_seed) < 2 or not known:
        return ""
    ends = [number(end, 2) for end in (min(known), max(known))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _chains(pairs: Iterable[Neighbours]) -> list[str]:
    """Return generators that follow each other in runs, such as "a ~ b ~ c"."""
    runs: list[list[str]] = []
    for pair in pairs:
        if runs and runs[-1][-1] == pair.better:
            runs[-1].append(pair.worse)
        else:
            runs.append([pair.better, pair.worse])
    return [" ~ ".join(run) for run in runs]


def _plain(value: Number) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:g}" if isinstance(value, int) else number(value, 3)


def _with_interval(name: str, value: Number, finding: CheckedFinding) -> str:
    """Return a number and, where the ends stand beside it and are not the number itself, its interval."""
    low, high = (finding.numbers.get(f"{name}: {end}") for end in ("low", "high"))
    if value is None or low is None or high is None or low == high or not math.isfinite(value + low + high):
        return _plain(value)
    places = decimals(value, max(high - value, value - low))
    return f"{number(value, places)} {span(low, high, places)}"


def _is_end(name: str, finding: CheckedFinding) -> bool:
    """Return whether a number is an end of the interval of another one."""
    stem, _, end = name.rpartition(": ")
    return end in ("low", "high") and stem in finding.numbers
