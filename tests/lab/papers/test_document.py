"""The document of a reproduced study: every cell of both sides is there, findings are one table, the answer counts."""

import csv
import io
import json

import pytest
from rich.console import Console

from made_up_exposure import make_exposure_results, reproduction
from textassay.report.files import document_files
from textassay.report.terminal import print_document
from textassay_lab.papers.document import finding_numbers, reproduction_document
from textassay_lab.papers.reproduction import Cell, CheckedFinding, ReproducedTable, Reproduction, Verdict

MADE = reproduction(make_exposure_results())


def _printed(of: Reproduction) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_document(reproduction_document(of), console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def _files(of: Reproduction) -> dict[str, str]:
    return {name: str(text) for name, text in document_files(reproduction_document(of), stem="study").items()}


@pytest.mark.feature("A-12")
def test_no_cell_is_lost_and_unmatched_ones_are_listed() -> None:
    files = _files(MADE)
    rows = list(csv.DictReader(io.StringIO(files["study.csv"])))
    assert len(rows) == sum(len(table.cells) for table in MADE.tables)
    by_key = {(row["table"], row["row"], row["column"]): row for row in rows}
    row = by_key["table 7", "RankGAN", "perplexity"]
    assert (row["published"], row["ours"], row["differs"]) == ("53.43", "", "")
    assert by_key["table 2", "EB-bleu(LS|random)", "5"]["published"] == ""
    recomputed = by_key["table 2, from printed numbers", "EB-bleu(TF)", "25"]
    assert (recomputed["ours"], recomputed["recomputed"]) == ("", str(56.32 / 55.01))
    for text in (_printed(MADE), files["study.md"]):
        plain = " ".join(text.replace("\\", "").split())
        assert "Published, not measured here: perplexity of RankGAN." in plain
        assert "EB-bleu of LSTM" not in plain
    assert json.loads(json.dumps(MADE.to_dict(), allow_nan=False))["tables"][0]["id"] == "table 2"


def test_what_is_recomputed_from_printed_values_is_never_called_ours() -> None:
    cells = (
        Cell("H1", "tau", 0.69, spread=0.01, published=0.7, published_spread=0.02),
        Cell("CIDEr", "tau", published=0.5),
    )
    made = Reproduction("Study", {}, (ReproducedTable("table 8", "Correlation", cells, recomputed=True),))
    assert "tau recomputed | tau paper |" in _files(made)["study.md"]
    for text in (_printed(made), _files(made)["study.md"]):
        plain = " ".join(text.split())
        assert "Published, does not follow from printed values: tau of CIDEr." in plain
        assert "ours" not in text.lower()
        assert "not measured here" not in plain


def test_findings_stand_in_one_table_under_their_statements() -> None:
    document = reproduction_document(MADE)
    table = next(table for table in document.tables if table.name == "findings")
    headings = [row.cells[0].text for row in table.rows if row.kind == "heading"]
    assert headings[0].startswith("B1: EB-bleu lies between 1.00 and 1.03 at every length. Paper: 1.009 to 1.023. ")
    assert headings[0].endswith("EB-bleu at each length, between 1 and 1.03.")
    assert len(headings) == len({one.id for one in MADE.findings})
    rows = [tuple(cell.text for cell in row.cells) for row in table.rows if row.kind != "heading"]
    assert sorted(row[:3] for row in rows) == sorted(
        (one.about, one.verdict, finding_numbers(one)) for one in MADE.findings
    )
    counts = [sum(one.verdict == verdict for one in MADE.findings) for verdict in ("holds", "not measured")]
    assert f"Of {len(MADE.findings)} checks of the paper's findings, {counts[0]} hold" in document.answer[0]
    text = _printed(MADE)
    assert max(map(len, text.splitlines())) <= 80
    assert "B9: With people for the data" in " ".join(text.split())


def test_the_answer_names_what_does_not_hold() -> None:
    findings = (
        CheckedFinding("G1", "It is so.", "a", "does not hold", "", "", ""),
        CheckedFinding("G1", "It is so.", "b", "holds", "", "", ""),
    )
    answer = reproduction_document(Reproduction("Study", {}, findings=findings)).answer
    assert answer == (
        "Of 2 checks of the paper's findings, 1 holds and 1 does not hold.",
        "G1 does not hold (a): It is so.",
    )


def test_what_is_undecided_says_what_would_decide_it_and_what_leans_against_the_paper() -> None:
    unsure: Verdict = "not separated at this size"
    findings = (
        CheckedFinding("G1", "It is so.", "a", unsure, "", "", "", needs=3.0, then="holds"),
        CheckedFinding("G1", "It is so.", "b", unsure, "", "", "", needs=21.0, then="does not hold"),
        CheckedFinding("G2", "And so.", "a", unsure, "", "", ""),
        CheckedFinding("G2", "And so.", "b", "holds", "", "", ""),
    )
    document = reproduction_document(Reproduction("Study", {}, findings=findings, seconds={"train": 3600.0}))
    assert document.answer[1:] == (
        "Undecided, but leaning against the paper: G1 (b; 21 times as much data would decide it).",
    )
    table = next(table for table in document.tables if table.name == "findings")
    assert [row.cells[3].text for row in table.rows if row.kind != "heading"] == [
        "3.0 times as much data (2.0 h); it holds then",
        "21 times as much data (20 h); it does not hold then",
        "even 1,000 times as much data would not: a value is at its bound, or has no error (one training)",
        "",
    ]


def test_a_table_of_tables_says_how_much_of_each_is_here() -> None:
    tables = (
        ReproducedTable("table 1", "A", (Cell("a", "x", 1.0, 0.5, 1.5, published=1.4), Cell("b", "x", published=2.0))),
        ReproducedTable("table 2", "B", (Cell("a", "x", 1.0, 0.5, 1.5, published=1.6), Cell("b", "x", 3.0))),
        ReproducedTable("ours", "C", (Cell("a", "x", 1.0),)),
    )
    document = reproduction_document(Reproduction("Study", {}, tables))
    of_tables = next(table for table in document.tables if table.name == "tables")
    assert [[cell.text for cell in row.cells] for row in of_tables.rows] == [
        ["table 1", "2", "1", "1", "1"],
        ["table 2", "1", "1", "1", "0"],
    ]


def test_counts_have_no_decimals_and_names_with_commas_are_quoted() -> None:
    cells = (Cell("repeated, at least once", "count", ours=34), Cell("other", "count", ours=2, published=2))
    (drawn,) = reproduction_document(Reproduction("Study", {}, (ReproducedTable("reasons", "Reasons", cells),))).tables
    assert [row.cells[1].text for row in drawn.rows] == ["34", "2"]
    assert drawn.notes == ('Not published: count of "repeated, at least once".',)


def test_numbers_of_findings_come_with_their_intervals_in_as_many_decimals_as_these_carry() -> None:
    numbers = {"rate": 1.0123, "rate: low": 1.0101, "rate: high": 1.0146, "tiny": 0.0004, "tiny: low": 0.0003,
               "tiny: high": 0.0005, "none": None, "exact": 2.0, "exact: low": 2.0, "exact: high": 2.0}  # fmt: skip
    finding = CheckedFinding("X", "", "", "holds", "", "", "", numbers)
    assert finding_numbers(finding) == "rate 1.012 [1.010, 1.015]; tiny 0.0004 [0.0003, 0.0005]; none n/a; and 1 more"
