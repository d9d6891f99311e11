"""Papers as data: tables are whole, no cell is lost in a report, findings name what there is, scales are refused."""

import csv
import io
from importlib import import_module

import pytest

from textassay.errors import OptionError
from textassay.report.files import document_files
from textassay_lab.papers.document import reproduction_document
from textassay_lab.papers.findings import RULES
from textassay_lab.papers.paper import SCALES, Contest, Network, PublishedTable, Scale, parse_tables
from textassay_lab.papers.reproduction import Cell, Reproduction, beside
from whose_values import PAPERS

TABLES = [(name, table) for name, paper in PAPERS.items() for table in paper.tables.values()]


@pytest.mark.feature("A-12")
@pytest.mark.parametrize(("paper", "table"), TABLES, ids=[f"{paper}-{table.id}" for paper, table in TABLES])
def test_a_published_table_is_compared_cell_by_cell(paper: str, table: PublishedTable) -> None:
    """All but the first cell have a value of ours; what only one side has is listed."""
    assert len(table.values) == len(table.rows) == len(set(table.rows))
    assert {len(row) for row in (*table.values, *table.spreads)} == {len(table.columns)}
    printed = {place: value for place, (value, _) in table.cells().items()}
    first, *rest = printed
    ours = {**dict.fromkeys(rest, 0.5), ("extra", table.columns[0]): 0.25}
    compared = beside(table, [Cell(*place, ours=value) for place, value in ours.items()])
    cells = {(cell.row, cell.column): (cell.ours, cell.published) for cell in compared.cells}
    assert cells == {place: (ours.get(place), printed.get(place)) for place in (*printed, *ours)}
    assert [place for place, (own, _) in cells.items() if own is None] == [first]
    files = document_files(reproduction_document(Reproduction("Study", {}, (compared,))), stem="study")
    text = " ".join(str(files["study.md"]).split())
    assert "Published, not measured here: " in text
    assert "Not published: " in text
    rows = list(csv.DictReader(io.StringIO(str(files["study.csv"]))))
    assert {(row["row"], row["column"]) for row in rows} == set(cells)


@pytest.mark.parametrize("name", PAPERS)
def test_every_finding_names_a_function_and_a_rule(name: str) -> None:
    quantities = import_module(f"textassay_lab.papers.{name}.findings").quantity
    findings = PAPERS[name].findings
    assert {finding.quantity for finding in findings} == set(quantities)
    assert {finding.rule for finding in findings} <= set(RULES)
    assert len({finding.id for finding in findings}) == len(findings)
    assert tuple(PAPERS[name].scales) == SCALES
    with pytest.raises(OptionError, match="unknown scale 'huge'"):
        PAPERS[name].scale("huge")


def test_a_scale_is_changed_by_name_and_said_in_words() -> None:
    scale = Scale(
        name="tiny", n=2, net=Network("small", {"width": 8}), gan=Contest("tiny", {}, {"rounds": 3}), most=None
    )
    assert scale.but(n=3).n == 3
    assert scale.n == 2
    with pytest.raises(OptionError, match="unknown setting of a scale 'm'"):
        scale.but(m=3)
    assert scale.in_words() == {"n": 2, "net": "small, width 8", "gan": "tiny; rounds, rounds 3", "most": "all"}


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
    assert one.values == ((2, 2e-5, None), (None, 0.1, -0.45))
    assert isinstance(one.values[0][0], int)
    assert (two.rows, two.values, two.spreads, two.note) == (("A(B|C)",), ((0.85,),), ((0.002,),), "")
