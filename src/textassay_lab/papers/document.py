"""A reproduced study as a report: findings, figures, tables with ours beside the published, samples, settings."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from textassay.report.document import Document, Section, Terms, items, section
from textassay.report.table import Cell, Column, Row, Table, Tone, number_cell, record
from textassay.report.text import MISSING, decimals, is_one_sided, join_words, number, slug, span
from textassay_lab.exposure.document import switching_section
from textassay_lab.papers.findings import COMPARED
from textassay_lab.papers.paper import Number
from textassay_lab.papers.reproduction import Cell as Reproduced
from textassay_lab.papers.reproduction import CheckedFinding, ReproducedTable, Reproduction

_UNSURE = "not separated at this size"
_VERDICTS = (
    ("holds", "hold", "holds"),
    ("does not hold", "do not hold", "does not hold"),
    (_UNSURE, "cannot be decided at this size", "cannot be decided at this size"),
    ("not measured", "are not measured", "is not measured"),
)
_TONES: dict[str, Tone] = {"holds": "good", "does not hold": "bad", "not measured": "weak"}
_PARTS = ("parts", "parts that hold")  # names of numbers of a finding
_FEW = 3
_PRICED = (
    "What would decide a finding is estimated from the measured errors, if the values stay. The factor applies to "
    "trainings, or to texts if there is one training; hours are of one core for all stages, an upper limit."
)
_RECORD = (
    *("table", "row", "column", "ours", "low", "high", "spread", "published", "published_spread", "differs"),
    "recomputed",
)


def reproduction_document(reproduction: Reproduction) -> Document:
    """Return a reproduced study as a report."""
    figures = reproduction.figures
    sections = [_findings(reproduction.findings, sum(reproduction.seconds.values()))] if reproduction.findings else []
    sections += [section("Figures", *figures)] if figures else []
    printed = [table for table in reproduction.tables if any(cell.published is not None for cell in table.cells)]
    of_tables = [_table_of_tables(printed)] if len(printed) > 1 else []
    sections.append(section("Tables, beside the published ones", *of_tables, *map(_table, reproduction.tables)))
    sections += [switching_section(samples, f"Samples: {title}") for title, samples in reproduction.samples.items()]
    if reproduction.seconds:
        times = {**reproduction.seconds, "all": sum(reproduction.seconds.values())}
        rows: list[list[str | Cell]] = [[stage, number_cell(seconds, 1)] for stage, seconds in times.items()]
        sections.append(section("Seconds of each stage", Table.of("seconds", ("stage", "seconds"), rows)))
    sections += [section("Notes", *items(reproduction.notes))] if reproduction.notes else []
    settings = tuple((name, _setting(value)) for name, value in reproduction.settings.items())
    sections.append(section("Settings", Terms(settings)))
    return Document(
        reproduction.title,
        _answer(reproduction.findings),
        sections=tuple(sections),
        lead=figures[0].name if figures else "",
        version=version("textassay"),
        records=(_record(reproduction),),
    )


def _answer(findings: Sequence[CheckedFinding]) -> tuple[str, ...]:
    """Return how many findings of the paper hold, which do not, and which are undecided but lean the other way."""
    counts: Counter[str] = Counter(finding.verdict for finding in findings)
    total = counts.total()
    if not total:
        return ()
    parts = [f"{counts[name]} {one if counts[name] == 1 else many}" for name, many, one in _VERDICTS if counts[name]]
    whole = f"Of {total} check{'s' * (total != 1)} of the paper's findings, {join_words(parts)}."
    others: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.verdict == "does not hold":
            others.setdefault((finding.id, finding.statement), []).append(finding.about)
    leaning = [one for one in findings if one.then == "does not hold" and one.needs is not None]
    leaning = sorted(leaning, key=lambda one: one.needs or 0.0)
    named = [f"{one.id} ({one.about}; {_times(one)} would decide it)" for one in leaning[:_FEW]]
    of_all = f"the nearest of {len(leaning)}: " if len(leaning) > _FEW else ""
    return (
        whole,
        *(f"{name} does not hold ({'; '.join(on)}): {statement}" for (name, statement), on in others.items()),
        *([f"Undecided, but leaning against the paper: {of_all}{join_words(named)}."] if named else []),
    )


def _times(finding: CheckedFinding) -> str:
    needs = finding.needs or 0.0
    return f"{needs:.1f} times as much data" if needs < 10 else f"{needs:,.0f} times as much data"


def _what_settles(finding: CheckedFinding, seconds: float) -> str:
    """Return how much more data would decide a finding, its price, and how it would be decided."""
    if finding.verdict != _UNSURE:
        return ""
    if finding.needs is None:
        return "even 1,000 times as much data would not: a value is at its bound, or has no error (one training)"
    hours = seconds * (finding.needs - 1) / 3600
    price = f" ({number(hours, 1 if hours < 10 else 0)} h)" if seconds else ""
    return f"{_times(finding)}{price}; it {finding.then} then"


def _findings(findings: Sequence[CheckedFinding], seconds: float) -> Section:
    """Return one table: under each statement a row for all it was checked on; and, for those who ask, the rules.

    `seconds`: those of all stages, by which more data are priced.
    """
    by_id: dict[str, list[CheckedFinding]] = {}
    rules: dict[str, list[str]] = {}
    for finding in findings:
        by_id.setdefault(finding.id, []).append(finding)
    is_open = any(finding.verdict == _UNSURE for finding in findings)
    rows: list[list[str | Cell] | Row] = []
    for name, checks in by_id.items():
        first = checks[0]
        if first.rule:
            rules.setdefault(first.rule, []).append(name)
        heading = f"{name}: {first.statement} Paper: {first.published}. {first.where}".rstrip()
        rows.append(Row((Cell(heading),), "heading"))
        for check in checks:
            cells: list[str | Cell] = [check.about, Cell(check.verdict, tone=_TONES.get(check.verdict, ""))]
            cells += [finding_numbers(check), *([_what_settles(check, seconds)] if is_open else [])]
            rows.append(cells)
    columns = ("finding, checked on", "verdict", "numbers", *(["what would decide it"] if is_open else []))
    notes = (_PRICED,) if is_open else ()
    table = Table.of("findings", columns, rows, texts=range(1, len(columns)), notes=notes)
    explained = Terms(tuple((join_words(names), rule) for rule, names in rules.items()))
    title = "Findings of the paper, and whether they hold here"
    return section(title, table, section("When a finding holds", explained, extra=True))


def finding_numbers(finding: CheckedFinding) -> str:
    """Return the first numbers that a verdict rests on, with their intervals; all are in the JSON document."""
    parts, hold = (finding.numbers.get(name) for name in _PARTS)
    shown = [] if parts is None or hold is None else [f"{hold:g} of {parts:g} parts hold"]
    shown += [
        f"{name} {_with_interval(name, value, finding)}"
        for name, value in finding.numbers.items()
        if not _is_end(name, finding) and name != COMPARED and (name not in _PARTS or not shown)
    ]
    more = len(shown) - _FEW
    of_these = "farther from their bounds" if COMPARED in finding.numbers else "more"
    return "; ".join(shown[:_FEW]) + (f"; and {more} {of_these}" if more > 0 else "")


def _table_of_tables(tables: Sequence[ReproducedTable]) -> Table:
    """Return how much of each published table was measured, or computed again, and how often ours agrees."""
    rows: list[list[str | Cell]] = []
    for table in tables:
        printed = [cell for cell in table.cells if cell.published is not None]
        both = [cell for cell in printed if cell.ours is not None]
        sure = [cell for cell in both if cell.low is not None and cell.high is not None]
        inside = [cell for cell in sure if _holds_printed(cell)]
        counts = [number_cell(len(cells), 0) for cells in (printed, both, sure)]
        rows.append([table.id, *counts, f"{len(inside)}"])
    columns = ("table", "cells printed", "of which ours", "with an interval", "that holds the printed value")
    return Table.of("tables", columns, rows, title="How much of each table is here")


def _holds_printed(cell: Reproduced) -> bool:
    """Return whether the interval of ours holds the published value."""
    low, high, printed = cell.low, cell.high, cell.published
    return low is not None and high is not None and printed is not None and low <= printed <= high


def _table(table: ReproducedTable) -> Table:
    """Return a table with two columns for each of its own: ours and the published; empty ones are left out."""
    columns: list[tuple[Column, dict[str, Cell]]] = []
    for name in table.columns:
        cells = [cell for cell in table.cells if cell.column == name]
        printed = max(map(_printed_places, cells), default=0)
        own = _places(cells)
        places = max(own, min(printed, own + 1))
        ours = Column("recomputed" if table.recomputed else "ours", group=name)
        columns.append((ours, {cell.row: _ours(cell, places) for cell in cells}))
        columns.append((Column("paper", group=name), {cell.row: _published(cell, printed) for cell in cells}))
    columns = [(column, cells) for column, cells in columns if any(cell.value is not None for cell in cells.values())]
    rows: list[list[str | Cell]] = [[row, *(cells.get(row, Cell()) for _, cells in columns)] for row in table.rows]
    rows = [row for row in rows if any(cell != Cell() for cell in row[1:])]
    is_published = any(cell.published is not None for cell in table.cells)
    title = f"{table.id[:1].upper()}{table.id[1:]}. {table.title}"
    about = [note for note in (*_differences(table), *_unmatched(table), table.note) if note]
    return Table.of(
        slug(table.id), ("", *(column for column, _ in columns)), rows, title=title, notes=about, main=is_published
    )


def _ours(cell: Reproduced, places: int) -> Cell:
    """Return ours with the longer arm of its interval and the spread over seeds."""
    if cell.ours is None:
        return Cell(MISSING)
    parts = []
    arm = _arm(cell)
    if arm and cell.low is not None and cell.high is not None:
        one_sided = is_one_sided(cell.ours - cell.low, cell.high - cell.ours)
        parts.append(span(cell.low, cell.high, places) if one_sided else f"±{number(arm, places)}")
    if cell.spread is not None:
        parts.append(f"(seeds {number(cell.spread, places)})")
    value = cell.ours if math.isfinite(cell.ours) else None
    return Cell(number(cell.ours, places), value, " ".join(parts), note=span(cell.low, cell.high, places))


def _published(cell: Reproduced, places: int) -> Cell:
    if cell.published is None:
        return Cell()
    spread = cell.published_spread
    return Cell(number(cell.published, places), cell.published, "" if spread is None else f"({number(spread, places)})")


def _differences(table: ReproducedTable) -> list[str]:
    """Return what of ours is made in another way: for the whole table, then column by column or row by row."""
    sentences = [f"Ours: {table.differs}."] if table.differs else []
    for text in dict.fromkeys(cell.differs for cell in table.cells if cell.differs):
        cells = [cell for cell in table.cells if cell.differs == text]
        columns = {cell.column for cell in cells}
        in_columns = [cell for cell in table.cells if cell.column in columns and cell.ours is not None]
        names = columns if len(in_columns) == len(cells) else {cell.row for cell in cells}
        sentences.append(f"{join_words(sorted(names))}: {text}.")
    return sentences


def _unmatched(table: ReproducedTable) -> list[str]:
    """Return which cells only one side has, by row and column; nothing of a table that only one side has at all."""
    if not any(cell.published is not None for cell in table.cells):
        return []
    alone = "Published, does not follow from printed values" if table.recomputed else "Published, not measured here"
    sides = {
        alone: [cell for cell in table.cells if cell.ours is None],
        "Not published": [cell for cell in table.cells if cell.ours is not None and cell.published is None],
    }
    return [f"{text}: {'; '.join(_named_places(cells, set(table.rows)))}." for text, cells in sides.items() if cells]


def _named_places(cells: Iterable[Reproduced], all_rows: set[str]) -> list[str]:
    columns: dict[str, list[str]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell.row)
    same: dict[tuple[str, ...], list[str]] = {}
    for column, rows in columns.items():
        same.setdefault(tuple(rows), []).append(column)
    return [
        f"{join_words(_quoted(names))} of {'all rows' if set(rows) == all_rows else join_words(_quoted(rows))}"
        for rows, names in same.items()
    ]


def _quoted(names: Iterable[str]) -> list[str]:
    """Return names, in quotes those that hold a comma, so that a list of them can be read."""
    return [f'"{name}"' if "," in name else name for name in names]


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {f'({_setting(one)})' if isinstance(one, Mapping | list | tuple) else _setting(one)}"
                         for name, one in value.items())  # fmt: skip
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    return "none" if value is None else str(value)


def _places(cells: Sequence[Reproduced]) -> int:
    values = [cell.ours for cell in cells if cell.ours is not None]
    if not values:
        return 0
    arms = [arm for arm in map(_arm, cells) if arm]
    if not arms and all((2 * float(value)).is_integer() for value in values):  # counts, and ranks with ties
        return int(not all(float(value).is_integer() for value in values))
    return decimals(statistics.median(map(abs, values)), statistics.median(arms) if arms else None)


def _printed_places(cell: Reproduced) -> int:
    """Return how many decimals the published value was printed with; trailing zeros are not known."""
    if cell.published is None:
        return 0
    exponent = Decimal(repr(float(cell.published))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _arm(cell: Reproduced) -> float:
    if cell.ours is None or cell.low is None or cell.high is None:
        return 0.0
    return max(cell.ours - cell.low, cell.high - cell.ours)


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


def _plain(value: Number) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    is_count = isinstance(value, int) or (abs(value) > 1 and float(value).is_integer())
    return f"{value:g}" if is_count else number(value, 3)


def _record(reproduction: Reproduction) -> Table:
    """Return every cell as a row."""
    rows = []
    for table in reproduction.tables:
        for cell in table.cells:
            differs = "; ".join(filter(None, (table.differs, cell.differs))) if cell.ours is not None else ""
            known = {**asdict(cell), "recomputed": None, "table": table.id, "differs": differs}
            if table.recomputed:
                known |= {"ours": None, "spread": None, "recomputed": cell.ours}
            rows.append([known[name] for name in _RECORD])
    return record("study", _RECORD, rows)
