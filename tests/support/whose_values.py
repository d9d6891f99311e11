"""Whether anything that a study calls its own comes from the paper: told twice, of papers that print other numbers.

What is ours cannot depend on what is printed. So every published number is replaced by two sets of others, and all that
the study calls ours must be the same both times, while what it calls published must not.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from textassay.report.reproduction import reproduction_document
from textassay_lab.meta_evaluation.reproduction import PublishedTable, Reproduction
from textassay_lab.papers.dd import published as dd
from textassay_lab.papers.exposure_bias import published as exposure_bias
from textassay_lab.papers.gan_as_lm import published as gan_as_lm
from textassay_lab.papers.judges import published as judges

PAPERS = (dd, exposure_bias, gan_as_lm, judges)
NUMBERS = ("ORACLE_COSTS", "LITERATURE", "PUBLISHED_STOPS", "BOUND_DRAWS")  # printed, but in no table
_PRINTED = "the published numbers"


def assert_nothing_published_is_ours(make: Callable[[], Reproduction]) -> None:
    """Raise unless what `make` returns has the same values of its own, whatever the papers print."""
    told = []
    for strength in (0.01, 0.03):
        with pytest.MonkeyPatch.context() as patch:
            _print_otherwise(patch, strength)
            found = make()
            told.append((dict(_ours(found)), dict(_published(found)), _columns(found), _drawn(found)))
    (ours, published, columns, drawn), (again, otherwise, columns_again, drawn_again) = told
    assert any(value is not None for value in ours.values())
    assert ours == again
    assert columns == columns_again
    assert drawn == drawn_again
    if published:
        assert published != otherwise, "no published number was replaced: nothing was tested"


def _print_otherwise(patch: pytest.MonkeyPatch, strength: float) -> None:
    """Replace every published number, each by another factor, wherever the studies hold it."""
    for paper in PAPERS:
        for name, before in list(vars(paper).items()):
            after = _other(before, strength, named=name in NUMBERS)
            if after is not None:
                for place, module in list(sys.modules.items()):
                    if place.startswith("textassay_lab.papers"):
                        for key, value in list(vars(module).items()):
                            if value is before:
                                patch.setattr(module, key, after)


def _other(value: Any, strength: float, *, named: bool) -> Any:
    """Return `value` with other numbers; none where it holds no published ones."""
    if isinstance(value, PublishedTable):
        return _other_table(value, strength)
    if isinstance(value, tuple) and value and all(isinstance(one, PublishedTable) for one in value):
        return tuple(_other_table(one, strength) for one in value)
    if not named:
        return None
    if isinstance(value, Mapping):
        return {key: number * (1 + strength * (k % 7 + 1)) for k, (key, number) in enumerate(value.items())}
    if isinstance(value, tuple):
        return tuple(number * (1 + strength * (k % 7 + 1)) for k, number in enumerate(value))
    return value * (1 + strength)


def _other_table(table: PublishedTable, strength: float) -> PublishedTable:
    def moved(rows: Any) -> Any:
        return tuple(
            tuple(None if v is None else v * (1 + strength * ((3 * r + 5 * c) % 7 + 1)) for c, v in enumerate(row))
            for r, row in enumerate(rows)
        )

    return replace(table, values=moved(table.values), spreads=None if table.spreads is None else moved(table.spreads))


def _ours(found: Reproduction) -> Iterator[tuple[Any, Any]]:
    """Yield place and value of every number that is called ours."""
    for table in found.tables:
        for cell in table.cells:
            for part in ("ours", "low", "high", "spread"):
                yield (table.id, cell.row, cell.column, part), repr(getattr(cell, part))
    for tau in found.taus:
        for part in ("value", "mean", "low", "high", "values", "shares", "by_seed"):
            yield ("tau", tau.metric, tau.group, tau.gold, part), repr(getattr(tau, part))
    for curve in found.curves:
        if not _says_published(curve.name, curve.family):
            yield ("curve", curve.title, curve.figure, curve.name, curve.family), repr(curve.points)
    for finding in found.findings:
        for name, number in finding.numbers.items():
            # how many parts hold, and by what chance, is a comparison with what is printed
            if not finding.about.startswith(_PRINTED) and not name.startswith(("parts", "chance")):
                yield (finding.id, finding.about, name), repr(number)


def _published(found: Reproduction) -> Iterator[tuple[Any, Any]]:
    for table in found.tables:
        for cell in table.cells:
            if cell.published is not None:
                yield (table.id, cell.row, cell.column), cell.published


def _columns(found: Reproduction) -> list[list[Any]]:
    """Return the fields of the CSV file that hold ours."""
    (record,) = reproduction_document(found).records
    places = [[column.name for column in record.columns].index(name) for name in ("ours", "low", "high", "spread")]
    return [[row.cells[place].value for place in places] for row in record.rows]


def _drawn(found: Reproduction) -> list[str]:
    """Return what descriptions of figures say of ours: all numbers that do not stand behind the word published."""
    told = []
    for figure in reproduction_document(found).figures:
        if figure.name in {drawn.name for drawn in found.figures}:
            parts = figure.description.replace("; ", ", ").replace(": ", ", ").split(", ")
            told.append(", ".join(part for part in parts if not _says_published(part)))
    return told


def _says_published(*texts: str) -> bool:
    return any(word in text for text in texts for word in ("published", "paper"))
