"""A reproduced study: our numbers beside the published ones, and checked findings.

Nothing is dropped: a cell may have only our value or only the published one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from textassay.estimate import Interval, json_ready
from textassay.report.document import Figure
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.papers.paper import Number, Ours, Paper, PublishedTable

Verdict = Literal["holds", "does not hold", "not separated at this size", "not measured"]


@dataclass(frozen=True)
class Cell:
    """One cell: ours, with its interval, beside the published value; None where there is none."""

    # as in the published table, where it has them
    row: str
    column: str
    # our value and its interval
    ours: Number = None
    low: Number = None
    high: Number = None
    differs: str = ""  # how our setup differs; a difference in all cells stands in the table
    spread: Number = None  # over training seeds, where there are several
    # as printed
    published: Number = None
    published_spread: Number = None


@dataclass(frozen=True)
class ReproducedTable:
    """A published table with our values in its cells; `differs` applies to all of them."""

    id: str
    title: str
    cells: tuple[Cell, ...]
    differs: str = ""
    note: str = ""
    # Whether `Cell.ours` is computed from other numbers of the paper: a check of its arithmetic
    recomputed: bool = False

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of columns, in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))


@dataclass(frozen=True)
class CheckedFinding:
    """A finding of the paper, checked on some values."""

    id: str
    statement: str
    about: str  # values it was checked on, such as "our DD, real text"
    verdict: Verdict  # "not measured" where values are missing
    where: str  # what is looked at and where it should lie
    rule: str  # when numbers, parts or orders hold and when they do not
    published: str  # the paper's value, in words
    numbers: Mapping[str, Number] = field(default_factory=dict)  # what the verdict rests on
    # Where it is not decided: how many times as much data would decide it if values stay (None: not known, or more than
    # 1,000), and the verdict then
    needs: Number = None
    then: Verdict = "not separated at this size"


@dataclass(frozen=True)
class Reproduction:
    """A study, ours beside the published."""

    title: str
    settings: Mapping[str, Any]  # scale, sizes, seeds, versions, fingerprints of the texts; JSON-ready
    tables: tuple[ReproducedTable, ...] = ()
    findings: tuple[CheckedFinding, ...] = ()
    notes: tuple[str, ...] = ()  # sentences
    seconds: Mapping[str, float] = field(default_factory=dict)  # kind of stage to its running time when first computed
    samples: Mapping[str, tuple[SwitchedSample, ...]] = field(default_factory=dict)  # after switched prefixes, by title
    figures: tuple[Figure, ...] = ()  # drawings of values of the tables

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict without the figures; NaN and infinity become None."""
        document: dict[str, Any] = json_ready(asdict(replace(self, figures=())))
        del document["figures"]
        return document


def compared(
    paper: Paper, name: str, cells: Iterable[Cell] = (), *, recomputed: bool = False, **words: Any
) -> ReproducedTable:
    """Return our cells in a table of the paper, or in one of ours alone, with what the paper's file says of ours.

    `name` is that of its entry there, `words` what is filled in.
    """
    cells, ours = tuple(cells), paper.ours.get(name, Ours())
    identity = ours.id.format(**words) or name
    differs, note = (ours.differs.format(**words), ours.note.format(**words)) if cells else ("", ours.without)
    published = paper.tables.get(ours.of or name)
    if published is None:
        return ReproducedTable(identity, ours.title.format(**words), cells, differs, note, recomputed)
    return beside(replace(published, id=identity), cells, differs=differs, note=note, recomputed=recomputed)


def beside(
    published: PublishedTable, ours: Iterable[Cell], *, differs: str = "", note: str = "", recomputed: bool = False
) -> ReproducedTable:
    """Return `published` with our cells in it: its rows and columns first, then those that only we have."""
    printed = {
        place: Cell(*place, published=value, published_spread=spread)
        for place, (value, spread) in published.cells().items()
    }
    cells = dict(printed)
    for cell in ours:
        there = printed.get((cell.row, cell.column))
        if there is not None:
            cell = replace(cell, published=there.published, published_spread=there.published_spread)
        cells[cell.row, cell.column] = cell
    rows = dict.fromkeys((*published.rows, *(row for row, _ in cells)))
    columns = dict.fromkeys((*published.columns, *(column for _, column in cells)))
    ordered = tuple(cells[row, column] for row in rows for column in columns if (row, column) in cells)
    notes = " ".join(filter(None, (published.note, note)))
    return ReproducedTable(published.id, published.title, ordered, differs, notes, recomputed)


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
