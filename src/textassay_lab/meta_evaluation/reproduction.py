"""A reproduced study: our numbers beside the published ones, checked findings, and what this size cannot separate.

A study fills these types, a report shows them. They hold plain numbers and text, so that a reproduction survives a
round trip through JSON. Nothing is dropped: a cell may have only our value or only the published one.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from textassay.display import Displayed
from textassay.estimate import json_ready
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.meta_evaluation.table_figure import TableFigure

Verdict = Literal["holds", "does not hold", "not separated at this size", "not measured"]
Number = float | None


@dataclass(frozen=True)
class PublishedTable:
    """A table as printed."""

    # Such as "table 2", and its title
    id: str
    title: str
    # Names, in the order printed
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Number, ...], ...]  # Shape (rows, columns); None where nothing is printed
    # The printed plus-minus of each value, of the same shape; none where the table has none
    spreads: tuple[tuple[Number, ...], ...] | None = None
    note: str = ""  # Note for the reader, such as an erratum

    def column(self, name: str) -> dict[str, float]:
        """Return the values of one column by row, without empty cells; raise KeyError for an unknown column."""
        if name not in self.columns:
            raise KeyError(f"{self.id} has no column {name}: {', '.join(self.columns)}")
        place = self.columns.index(name)
        column = {row: values[place] for row, values in zip(self.rows, self.values, strict=True)}
        return {row: value for row, value in column.items() if value is not None}

    def cells(self) -> "tuple[Cell, ...]":
        """Return every printed value as a cell without ours, row by row."""
        spreads = self.spreads or tuple((None,) * len(self.columns) for _ in self.rows)
        return tuple(
            Cell(row, column, published=value, published_spread=spread)
            for row, values, widths in zip(self.rows, self.values, spreads, strict=True)
            for column, value, spread in zip(self.columns, values, widths, strict=True)
            if value is not None
        )


@dataclass(frozen=True)
class Cell:
    """One cell: ours, with its interval, beside the published value; None where there is none."""

    # As in the published table, where it has them
    row: str
    column: str
    # Our value and its interval
    ours: Number = None
    low: Number = None
    high: Number = None
    published: Number = None  # As printed
    # How our setup differs, in a few words; a difference in all cells, such as another corpus, stands in the table
    differs: str = ""
    # Over training seeds, where there are several
    spread: Number = None
    published_spread: Number = None
    # Value and spread computed from other printed numbers: a check of the paper's arithmetic
    recomputed: Number = None
    recomputed_spread: Number = None


@dataclass(frozen=True)
class ReproducedTable:
    """A published table with our values in its cells; `differs` applies to all of them."""

    id: str
    title: str
    cells: tuple[Cell, ...]
    differs: str = ""
    note: str = ""

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of columns, in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))

    @property
    def is_recomputed(self) -> bool:
        """Whether it holds values computed from the paper's own numbers instead of ours."""
        return any(cell.recomputed is not None for cell in self.cells)

    @property
    def ours_alone(self) -> tuple[Cell, ...]:
        """Cells without a published value."""
        return tuple(cell for cell in self.cells if cell.ours is not None and cell.published is None)

    @property
    def published_alone(self) -> tuple[Cell, ...]:
        """Cells without ours, and without anything recomputed."""
        return tuple(
            cell for cell in self.cells if cell.ours is None and cell.recomputed is None and cell.published is not None
        )


@dataclass(frozen=True)
class CheckedFinding:
    """A finding of the paper, checked on our values."""

    # Such as "F10", and the finding as a sentence
    id: str
    statement: str
    about: str  # Values it was checked on, such as "our DD, real text"
    verdict: Verdict  # By `rule`; "not measured" where values are missing
    rule: str  # When it holds and when it does not, in a sentence or two
    published: str  # The paper's value, in words
    numbers: Mapping[str, Number] = field(default_factory=dict)  # Name to number: the basis of the verdict


@dataclass(frozen=True)
class Neighbours:
    """Two neighbours of a gold order, and whether some values separate them."""

    # Generators, by the gold order
    better: str
    worse: str
    by: str  # Source of the values: a metric, or the gold itself
    # By how much `better` is better in these values (below 0: it is worse), with an interval that holds for all
    # neighbours together
    difference: float
    low: float
    high: float
    separated: bool  # Whether the interval leaves out 0


@dataclass(frozen=True)
class TauDistribution:
    """Kendall's tau-b of a metric with a gold order, and its distribution."""

    # Such as "our DD", "5 LSTM" and "exact DD"
    metric: str
    group: str
    gold: str
    value: Number  # Of the values as measured, averaged over training seeds; None where a side is constant
    published: Number  # As printed; none where it is not
    # Of tau over the draws
    mean: Number
    low: Number
    high: Number
    level: float
    # Distinct taus of the draws, ascending, and the share of draws of each
    values: tuple[float, ...]
    shares: tuple[float, ...]
    by_seed: tuple[Number, ...]  # Tau of each training seed by itself; one where there is one
    n_draws: int
    neighbours: tuple[Neighbours, ...] = ()  # By the gold and by the metric

    def share_at_least(self, tau: float) -> float:
        """Return the share of draws in which tau is at least `tau`."""
        return math.fsum(share for value, share in zip(self.values, self.shares, strict=True) if value >= tau - 1e-9)


@dataclass(frozen=True)
class Reproduction(Displayed, document="textassay.report.reproduction:reproduction_document"):
    """A study, ours beside the published."""

    title: str  # Such as "Distributional Discrepancy on synthetic text"
    # Scale, sizes, seeds, versions, fingerprints of the texts: name to what it was, JSON-ready
    settings: Mapping[str, Any]
    tables: tuple[ReproducedTable, ...] = ()
    findings: tuple[CheckedFinding, ...] = ()
    taus: tuple[TauDistribution, ...] = ()
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()  # Notes for the reader, a sentence each
    seconds: Mapping[str, float] = field(default_factory=dict)  # Stage to its running time when first computed
    figures: tuple[TableFigure, ...] = ()  # Which columns of the tables to draw
    # Title to sentences after switched prefixes
    samples: Mapping[str, tuple[SwitchedSample, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; NaN and infinity become None."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Reproduction":
        """Return the reproduction that `to_dict` gave as `data`."""
        return cls(
            title=data["title"],
            settings=data["settings"],
            tables=tuple(
                ReproducedTable(**{**table, "cells": tuple(Cell(**cell) for cell in table["cells"])})
                for table in data["tables"]
            ),
            findings=tuple(CheckedFinding(**finding) for finding in data["findings"]),
            taus=tuple(_tau(tau) for tau in data["taus"]),
            curves=tuple(
                Curve(**{**curve, "points": tuple(CurvePoint(**point) for point in curve["points"])})
                for curve in data["curves"]
            ),
            notes=tuple(data["notes"]),
            seconds=data["seconds"],
            figures=tuple(TableFigure.from_dict(figure) for figure in data["figures"]),
            samples={
                title: tuple(SwitchedSample(**sample) for sample in samples)
                for title, samples in data["samples"].items()
            },
        )


def beside(published: PublishedTable, ours: Iterable[Cell], *, differs: str = "", note: str = "") -> ReproducedTable:
    """Return `published` with our cells in it: its rows and columns first, then those that only we have."""
    printed = {(cell.row, cell.column): cell for cell in published.cells()}
    rows, columns = dict.fromkeys(published.rows), dict.fromkeys(published.columns)
    cells = dict(printed)
    for cell in ours:
        key = (cell.row, cell.column)
        there = printed.get(key, Cell(*key))
        cells[key] = replace(cell, published=there.published, published_spread=there.published_spread)
        rows.setdefault(cell.row)
        columns.setdefault(cell.column)
    ordered = tuple(cells[row, column] for row in rows for column in columns if (row, column) in cells)
    notes = " ".join(filter(None, (published.note, note)))
    return ReproducedTable(published.id, published.title, ordered, differs, notes)


def _tau(data: Mapping[str, Any]) -> TauDistribution:
    neighbours = tuple(Neighbours(**pair) for pair in data["neighbours"])
    lists = {key: tuple(data[key]) for key in ("values", "shares", "by_seed")}
    return TauDistribution(**{**data, **lists, "neighbours": neighbours})
