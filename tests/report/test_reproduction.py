"""Reports of a reproduced study: every cell of both sides is there, the JSON comes back, figures show their points."""

import csv
import io
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from made_up_reproductions import make_reproduction
from textassay.errors import InputError
from textassay.report.document import Figure
from textassay.report.drawing import draw_svg
from textassay.report.files import document_files
from textassay.report.plots import Curves, Forest
from textassay.report.reproduction import read_reproduction, reproduction_document
from textassay.report.terminal import print_document
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction
from textassay_lab.meta_evaluation.table_figure import Panel, TableFigure
from textassay_lab.papers.dd.published import FAMILIES, FRACTIONS

MADE = cache(make_reproduction)


def _printed(reproduction: Reproduction) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_document(reproduction_document(reproduction), console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def _files(reproduction: Reproduction) -> dict[str, str]:
    return {name: str(text) for name, text in document_files(reproduction_document(reproduction), stem="study").items()}


def _figures(reproduction: Reproduction) -> dict[str, Figure]:
    return {figure.name: figure for figure in reproduction_document(reproduction).figures}


@pytest.mark.feature("A-12")
def test_no_cell_is_lost_and_unmatched_ones_are_listed() -> None:
    made = MADE()
    files = _files(made)
    rows = list(csv.DictReader(io.StringIO(files["study.csv"])))
    assert len(rows) == sum(len(table.cells) for table in made.tables)
    by_key = {(row["table"], row["row"], row["column"]): row for row in rows}
    assert by_key["table 2", "LSTM_0.2", "accuracy"]["published"] == "0.721"
    assert (
        by_key["table 2", "LSTM_0.2", "accuracy"]["ours"] == by_key["table 2", "LSTM_0.2", "accuracy"]["differs"] == ""
    )
    assert by_key["table 2", "LSTM_0.2", "our DD"]["published"] == ""
    assert float(by_key["table 2", "LSTM_0.2", "our DD"]["ours"]) == pytest.approx(0.54, abs=0.02)
    assert by_key["table 5", "FED", "all 10"]["differs"] == "another encoder"
    for text in (_printed(made), files["study.md"]):
        plain = " ".join(text.replace("\\", "").split())
        assert "Published, not measured here: accuracy of all rows." in plain
        assert "Not published: our DD and FED of all rows." in plain
        assert "FED: another encoder." in plain


def test_what_is_recomputed_from_printed_values_is_never_called_ours() -> None:
    cells = (
        Cell("H1", "tau", published=0.7, published_spread=0.02, recomputed=0.69, recomputed_spread=0.01),
        Cell("CIDEr", "tau", published=0.5),
    )
    table = ReproducedTable("table 8, from printed values", "Correlation", cells)
    figure = TableFigure("figure-1", "Figure 1", "tau", ("H1", "CIDEr"), (Panel(table.id, "tau", "published"),))
    made = Reproduction("Study", {}, (table,), figures=(figure,))
    assert Reproduction.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    row = next(csv.DictReader(io.StringIO(_files(made)["study.csv"])))
    assert (row["ours"], row["spread"], row["recomputed"], row["recomputed_spread"]) == ("", "", "0.69", "0.01")
    printed, document = _printed(made), _files(made)["study.md"]
    assert "tau recomputed | tau paper |" in document
    for text in (printed, document):
        plain = " ".join(text.split())
        assert "0.690 (0.010)" in plain
        assert "Published, does not follow from printed values: tau of CIDEr." in plain
        assert "ours" not in text.lower()
        assert "not measured here" not in plain
    (drawn,) = _figures(made).values()
    assert "H1 published 0.700" in drawn.description
    assert "0.69" not in drawn.description
    assert "here" not in re.sub("<[^>]*>", "", draw_svg(drawn))


def test_terminal_fits_and_says_verdicts_times_and_notes() -> None:
    text = _printed(MADE())
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for words in ("not separated at this size", "does not hold", "not measured", "Nothing here was measured."):
        assert words in text
    assert re.search(r"all +16\.8", text)
    assert "cannot tell apart" in text
    assert re.search(r"LSTM_0\.2 +0\.\d{3} ±0\.008 +0\.994", text)


def test_the_answer_counts_the_verdicts() -> None:
    assert reproduction_document(MADE()).answer == (
        "Of 22 checks of the paper's findings, 13 hold, 1 does not hold, 5 cannot be decided at this size and 3 are "
        "not measured.",
        *(
            f"{found.id} does not hold ({found.about}): {found.statement}"
            for found in MADE().findings
            if found.verdict == "does not hold"
        ),
    )


def test_verdicts_stand_in_a_table_and_each_finding_once() -> None:
    made = MADE()
    document = reproduction_document(made)
    sparse = next(table for table in document.tables if table.name == "verdicts")
    assert [tuple(cell.text for cell in row.cells) for row in sparse.rows] == [
        (found.id, found.about, found.verdict) for found in made.findings
    ]
    same = tuple(replace(found, about="here") for found in {one.id: one for one in made.findings}.values())
    (dense,) = (
        table for table in reproduction_document(replace(made, findings=same)).tables if table.name == "verdicts"
    )
    assert [column.name for column in dense.columns] == ["finding", "here"]
    assert [tuple(cell.text for cell in row.cells) for row in dense.rows] == [(one.id, one.verdict) for one in same]
    found = made.findings[0]
    assert sum(f"{found.id}: {found.statement}" in str(part) for part in document.sections[0].parts) == 1


def test_counts_have_no_decimals_and_names_with_commas_are_quoted() -> None:
    cells = (Cell("repeated, at least once", "count", ours=34), Cell("other", "count", ours=2, published=2))
    table = ReproducedTable("reasons", "Reasons", cells)
    (drawn,) = reproduction_document(Reproduction("Study", {}, (table,))).tables
    assert [row.cells[1].text for row in drawn.rows] == ["34", "2"]
    assert drawn.notes == ('Not published: count of "repeated, at least once".',)


def test_files_are_the_same_each_time_and_the_values_come_back(tmp_path: Path, drawings: dict[bytes, str]) -> None:
    files = _files(MADE())
    drawings.clear()
    assert files == _files(MADE())
    figures = re.findall(r"\]\((figures/[^)]*)\)", files["study.md"])
    assert sorted(figures) == sorted(name for name in files if name.startswith("figures/"))
    (tmp_path / "study.json").write_text(json.dumps(MADE().to_dict(), allow_nan=False), encoding="utf-8")
    assert read_reproduction(tmp_path / "study.json").to_dict() == MADE().to_dict()
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not a reproduced study"):
        read_reproduction(tmp_path / "bad.json")


@pytest.mark.feature("DD-24")
def test_sweeps_have_a_panel_a_family_a_curve_each_generator_and_both_conventions() -> None:
    made = MADE()
    drawn = _figures(made)
    assert [name for name in drawn if not name.startswith("taus")] == [
        *(f"sweep-{name}" for name in ("bleu", "lm", "fed")),
        "found-and-exact",
        "dd-by-training-text",
    ]
    for name in ("bleu", "lm", "fed"):
        figure = drawn[f"sweep-{name}"]
        assert "temperatures 0.8, 0.9, 1.0, 1.1, 1.2" in figure.description
        assert "divided by T; the paper's code multiplies them, so its temperature is 1 / T" in figure.description
        assert isinstance(figure.plot, Curves)
        assert figure.plot.panels == tuple(FAMILIES)
        lines = [series for series in figure.plot.series if series.line]
        assert [(series.name, series.panel) for series in lines] == [
            (str(fraction), panel) for panel in range(len(FAMILIES)) for fraction in FRACTIONS
        ]
        assert all(len(series.points) == 5 for series in lines)
        shades = [series.pale for series in lines if series.panel == 0]
        assert shades == sorted(shades, reverse=True)
        assert len(set(shades)) == len(FRACTIONS)
        assert figure.plot.y.name.startswith("\N{LEFTWARDS ARROW} better: ")
    bleu, fed = drawn["sweep-bleu"].plot, drawn["sweep-fed"].plot
    assert isinstance(bleu, Curves)
    assert isinstance(fed, Curves)
    assert "\N{MINUS SIGN}BLEU-5" in bleu.x.name
    assert all(point.x < 0 for series in bleu.series for point in series.points if point.x is not None)
    assert fed.x.name == "T (logits / T; the paper's code: 1 / T)"
    assert _figures(replace(made, curves=(), taus=())) == {}


def test_found_figure_has_a_dash_a_judge_and_a_mark_a_family() -> None:
    made = MADE()
    judges = ("DD", "our DD, training text, a long name", "our DD, unseen text")
    points = tuple(CurvePoint(None, x, x / 2, x - 0.01, x + 0.01, x / 2 - 0.02, x / 2 + 0.02) for x in (0.8, 0.7, 0.6))
    curves = tuple(
        Curve("estimate", f"{family}, {judge}", family, "exact DD", judge, points)
        for family in FAMILIES
        for judge in judges
    )
    (figure,) = _figures(replace(made, curves=curves, taus=())).values()
    assert isinstance(figure.plot, Curves)
    assert {"DD, paper's classifier", *judges[1:], *FAMILIES} <= set(_texts(draw_svg(figure)))
    lines = [series for series in figure.plot.series if series.line]
    assert len(lines) == len(curves)
    assert [series.dashes for series in lines] == [0, 1, 2, 0, 1, 2]
    assert [series.marker for series in lines] == [0, 0, 0, 1, 1, 1]
    assert all((p.low, p.high, p.x_low) != (None, None, None) for series in lines for p in series.points)
    for drawn in _figures(made).values():
        assert len(draw_svg(drawn).encode()) < 60_000


def test_taus_are_drawn_of_what_the_paper_compares_beside_the_published_ones() -> None:
    made = MADE()
    more = [replace(tau, metric="self-BLEU-2", published=None) for tau in made.taus if tau.metric == "DD"]
    figure = _figures(replace(made, taus=(*made.taus, *more)))["taus-exact-dd"]
    texts = _texts(draw_svg(figure))
    assert [
        texts.count(text) for text in ("5 LSTM", "5 GPT-2", "all 10", "published", "FED", "DD, paper's classifier")
    ] == [1] * 6
    assert "self-BLEU-2" not in texts
    assert isinstance(figure.plot, Forest)
    marks = [mark for row in figure.plot.rows if row.name.startswith("DD") for mark in row.marks if mark.panel == 0]
    assert [mark.style for mark in marks] == ["hollow diamond", "filled"]
    alone = tuple(replace(tau, published=None) for tau in made.taus)
    for drawn in _figures(replace(made, curves=(), taus=alone)).values():
        assert "published" not in _texts(draw_svg(drawn))
    assert _figures(replace(made, curves=(), taus=tuple(more))) == {}


def _texts(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)
