"""The published tables of every study: whole, and no cell of theirs is lost in a report."""

import csv
import io

import pytest

from textassay.report.files import document_files
from textassay.report.reproduction import reproduction_document
from textassay_lab.meta_evaluation.reproduction import Cell, PublishedTable, Reproduction, beside
from textassay_lab.papers.published_tables import parse_tables
from whose_values import PAPERS

TABLES = [
    (paper.__name__.split(".")[-2], table)
    for paper in PAPERS
    for value in vars(paper).values()
    for table in (value if isinstance(value, tuple) else (value,))
    if isinstance(table, PublishedTable)
]


@pytest.mark.feature("A-12")
def test_every_paper_has_tables() -> None:
    assert {paper for paper, _ in TABLES} >= {"dd", "judges", "exposure_bias", "gan_as_lm"}


@pytest.mark.feature("A-12")
@pytest.mark.parametrize(("paper", "table"), TABLES, ids=[f"{paper}-{table.id}" for paper, table in TABLES])
def test_a_published_table_is_compared_cell_by_cell(paper: str, table: PublishedTable) -> None:
    """All but the first cell have a value of ours; what only one side has is listed."""
    assert len(table.values) == len(table.rows) == len(set(table.rows))
    assert {len(row) for row in (*table.values, *(table.spreads or ()))} == {len(table.columns)}
    assert table.spreads is None or len(table.spreads) == len(table.rows)
    printed = {(cell.row, cell.column): cell.published for cell in table.cells()}
    first, *rest = printed
    ours = {**dict.fromkeys(rest, 0.5), ("extra", table.columns[0]): 0.25}
    compared = beside(table, [Cell(*place, ours=value) for place, value in ours.items()])
    found = {(cell.row, cell.column): (cell.ours, cell.published) for cell in compared.cells}
    assert found == {place: (ours.get(place), printed.get(place)) for place in (*printed, *ours)}
    assert [(cell.row, cell.column) for cell in compared.published_alone] == [first]
    assert [(cell.row, cell.column) for cell in compared.ours_alone] == [("extra", table.columns[0])]
    files = document_files(reproduction_document(Reproduction("Study", {}, (compared,))), stem="study")
    text = " ".join(str(files["study.md"]).split())
    assert "Published, not measured here: " in text
    assert "Not published: " in text
    rows = list(csv.DictReader(io.StringIO(str(files["study.csv"]))))
    assert {(row["row"], row["column"]) for row in rows} == set(found)


def test_a_table_is_read_from_text() -> None:
    one, two = parse_tables("""
table 1: Sizes: of two models
          | layers | learning rate | tau
LSTM, old |      2 |         2e-05 |
CNN       |        |          0.10 | -0.45
Printed in
two lines.

table 2: Spreads
     | BLEU
A(B|C) | 0.850 ± 0.002
""")
    assert (one.id, one.title, one.note) == ("table 1", "Sizes: of two models", "Printed in two lines.")
    assert (one.rows, one.columns) == (("LSTM, old", "CNN"), ("layers", "learning rate", "tau"))
    assert (one.values, one.spreads) == (((2, 2e-5, None), (None, 0.1, -0.45)), None)
    assert isinstance(one.values[0][0], int)
    assert (two.rows, two.values, two.spreads, two.note) == (("A(B|C)",), ((0.85,),), ((0.002,),), "")
