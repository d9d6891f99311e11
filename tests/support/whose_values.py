"""Whether anything that a study calls its own comes from the paper: told twice, of papers that print other numbers.

What is ours cannot depend on what is printed. So every published number is replaced by two sets of others, and all that
the study calls ours must be the same both times, while what it calls published must not.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from textassay_lab.papers.dd.experiment import DD_PAPER
from textassay_lab.papers.document import reproduction_document
from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER
from textassay_lab.papers.gan_as_lm.experiment import GAN_PAPER
from textassay_lab.papers.judges.findings import JUDGES_PAPER
from textassay_lab.papers.paper import PublishedTable
from textassay_lab.papers.reproduction import Reproduction

PAPERS = {"dd": DD_PAPER, "exposure_bias": EXPOSURE_PAPER, "gan_as_lm": GAN_PAPER, "judges": JUDGES_PAPER}
_PRINTED = "the published numbers"


def assert_nothing_published_is_ours(make: Callable[[], Reproduction]) -> None:
    """Raise unless what `make` returns has the same values of its own, whatever the papers print."""
    told = []
    for strength in (0.01, 0.03):
        with pytest.MonkeyPatch.context() as patch:
            for paper in PAPERS.values():
                for name, table in paper.tables.items():
                    patch.setitem(paper.tables, name, _other_table(table, strength))
            reproduction = make()
            told.append((dict(_ours(reproduction)), dict(_published(reproduction)), _columns(reproduction)))
    (ours, published, columns), (again, otherwise, columns_again) = told
    assert any(value is not None for value in ours.values())
    assert ours == again
    assert columns == columns_again
    if published:
        assert published != otherwise, "no published number was replaced: nothing was tested"


def _other_table(table: PublishedTable, strength: float) -> PublishedTable:
    def moved(rows: Any) -> Any:
        return tuple(
            tuple(None if v is None else v * (1 + strength * ((3 * r + 5 * c) % 7 + 1)) for c, v in enumerate(row))
            for r, row in enumerate(rows)
        )

    return replace(table, values=moved(table.values), spreads=moved(table.spreads))


def _ours(reproduction: Reproduction) -> Iterator[tuple[Any, Any]]:
    """Yield place and value of every number that is called ours."""
    for table in reproduction.tables:
        for cell in table.cells if not table.recomputed else ():
            for part in ("ours", "low", "high", "spread"):
                yield (table.id, cell.row, cell.column, part), repr(getattr(cell, part))
    for finding in reproduction.findings:
        for name, number in finding.numbers.items():
            # how many parts hold, and by what chance, is a comparison with what is printed
            if not finding.about.startswith(_PRINTED) and not name.startswith(("parts", "chance")):
                yield (finding.id, finding.about, name), repr(number)


def _published(reproduction: Reproduction) -> Iterator[tuple[Any, Any]]:
    for table in reproduction.tables:
        for cell in table.cells:
            if cell.published is not None:
                yield (table.id, cell.row, cell.column), cell.published


def _columns(reproduction: Reproduction) -> list[list[Any]]:
    """Return the fields of the CSV file that hold ours."""
    (record,) = reproduction_document(reproduction).records
    places = [[column.name for column in record.columns].index(name) for name in ("ours", "low", "high", "spread")]
    return [[row.cells[place].value for place in places] for row in record.rows]
