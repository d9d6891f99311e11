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
from textassay.errors import InputError, OutputError
from textassay.meta_evaluation import Curve, CurvePoint, Panel, ReproducedTable, Reproduction, TableFigure
from textassay.meta_evaluation.reproduction import Cell
from textassay.report import (
    draw_reproduction,
    read_reproduction,
    render_reproduction,
    reproduction_csv,
    reproduction_markdown,
    write_reproduction,
)
from textassay.study.dd import FAMILIES, FRACTIONS

MADE = cache(make_reproduction)


def _printed(reproduction: Reproduction) -> str:
    console = Console(file=io.StringIO(), width=80)
    render_reproduction(reproduction, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.feature("A-12")
def test_no_cell_is_lost_and_unmatched_ones_are_listed() -> None:
    made = MADE()
    rows = list(csv.DictReader(io.StringIO(reproduction_csv(made))))
    assert len(rows) == sum(len(table.cells) for table in made.tables)
    by_key = {(row["table"], row["row"], row["column"]): row for row in rows}
    assert by_key["table 2", "LSTM_0.2", "accuracy"]["published"] == "0.721"
    assert (
        by_key["table 2", "LSTM_0.2", "accuracy"]["ours"] == by_key["table 2", "LSTM_0.2", "accuracy"]["differs"] == ""
    )
    assert by_key["table 2", "LSTM_0.2", "our DD"]["published"] == ""
    assert float(by_key["table 2", "LSTM_0.2", "our DD"]["ours"]) == pytest.approx(0.54, abs=0.02)
    assert by_key["table 5", "FED", "all 10"]["differs"] == "another encoder"
    for text in (_printed(made), reproduction_markdown(made)):
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
    row = next(csv.DictReader(io.StringIO(reproduction_csv(made))))
    assert (row["ours"], row["spread"], row["recomputed"], row["recomputed_spread"]) == ("", "", "0.69", "0.01")
    printed, document = _printed(made), reproduction_markdown(made)
    assert "Correlation: recomputed from printed values, paper" in " ".join(printed.split())
    assert "tau, recomputed | paper |" in document
    for text in (printed, document):
        plain = " ".join(text.split())
        assert "0.690 (0.010)" in plain
        assert "Published, does not follow from printed values: tau of CIDEr." in plain
        assert "ours" not in text.lower()
        assert "not measured here" not in plain
    (drawing,) = draw_reproduction(made)
    assert "H1 published 0.700" in drawing.description
    assert "0.69" not in drawing.description
    assert "here" not in re.sub("<[^>]*>", "", drawing.svg)


def test_terminal_fits_and_says_verdicts_times_and_notes() -> None:
    text = _printed(MADE())
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for words in ("not separated at this size", "does not hold", "not measured", "Nothing here was measured."):
        assert words in text
    assert re.search(r"all +16\.8", text)
    assert "cannot tell apart" in text
    assert re.search(r"LSTM_0\.2 +0\.\d{3} ±0\.008 +0\.994", text)


def test_files_are_whole_the_same_each_time_and_come_back(tmp_path: Path) -> None:
    written = write_reproduction(MADE(), tmp_path)
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write_reproduction(MADE(), tmp_path)] == before
    assert json.loads(before[0], parse_constant=lambda name: pytest.fail(name)) == MADE().to_dict()
    assert read_reproduction(tmp_path / "study.json").to_dict() == MADE().to_dict()
    markdown = (tmp_path / "study.md").read_text(encoding="utf-8")
    figures = re.findall(r"\]\((figures/[^)]*)\)", markdown)
    assert sorted(figures) == sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "figures").iterdir())
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not a reproduced study"):
        read_reproduction(tmp_path / "bad.json")
    with pytest.raises(OutputError, match="cannot write to"):
        write_reproduction(MADE(), tmp_path / "bad.json")


@pytest.mark.feature("DD-24")
def test_figures_have_three_panels_a_curve_each_generator_and_both_conventions() -> None:
    made = MADE()
    drawn = {drawing.file_name: drawing for drawing in draw_reproduction(made)}
    assert list(drawn) == [
        *(f"sweep-{name}.svg" for name in ("bleu", "lm", "fed")),
        "found-and-exact.svg",
        "dd-by-training-text.svg",
        "taus-training-text.svg",
        "taus-exact-dd.svg",
    ]
    for name in ("bleu", "lm", "fed"):
        drawing = drawn[f"sweep-{name}.svg"]
        assert "temperatures 0.8, 0.9, 1.0, 1.1, 1.2" in drawing.description
        assert "divided by T; the paper's code multiplies them, so its temperature is 1 / T" in drawing.description
        texts = _texts(drawing.svg)
        for family in FAMILIES:
            assert texts.count(family) == 1
        for fraction in FRACTIONS:
            assert len(re.findall(rf"size: 8px[^>]*>{fraction}</text>", drawing.svg)) == len(FAMILIES)
        assert any(text.startswith("\N{LEFTWARDS ARROW} better: ") for text in texts)
        paths = [
            re.findall(r"[ML] ", path) for path in re.findall(r'<path d="([^"]*)"[^>]*style="fill: none', drawing.svg)
        ]
        assert sum(len(path) == 5 for path in paths) == 10  # a line of five temperatures for each generator
    assert "\N{MINUS SIGN}BLEU-5" in drawn["sweep-bleu.svg"].svg
    assert "T (logits / T; the paper's code: 1 / T)" in drawn["sweep-fed.svg"].svg
    assert draw_reproduction(replace(made, curves=(), taus=())) == ()


def test_found_figure_has_a_colour_a_judge_a_mark_a_family_and_whole_names() -> None:
    made = MADE()
    judges = ("DD", "our DD, training text, a long name", "our DD, unseen text")
    points = tuple(CurvePoint(None, x, x / 2, x - 0.01, x + 0.01, x / 2 - 0.02, x / 2 + 0.02) for x in (0.8, 0.7, 0.6))
    curves = tuple(
        Curve("estimate", f"{family}, {judge}", family, "exact DD", judge, points)
        for family in FAMILIES
        for judge in judges
    )
    (drawing,) = draw_reproduction(replace(made, curves=curves, taus=()))
    assert {"DD (paper's classifier)", *judges[1:], *FAMILIES, "all of it"} <= set(_texts(drawing.svg))
    lines = re.findall(r'<path d="M [^"L]*L [^"L]*L [^"L]*" clip[^>]*stroke: (#\w+)', drawing.svg)
    assert len(lines) == len(curves)  # the three points of each curve are joined
    assert lines[:3] == lines[3:]  # a colour says who judges, whatever the family
    assert len(set(lines)) == len(judges)
    for drawn in draw_reproduction(made):
        assert "..." not in drawn.svg
        assert "\N{HORIZONTAL ELLIPSIS}" not in drawn.svg
        assert len(drawn.svg.encode()) < 60_000


def test_taus_are_drawn_of_what_the_paper_compares_beside_the_published_ones() -> None:
    made = MADE()
    more = [replace(tau, metric="self-BLEU-2", published=None) for tau in made.taus if tau.metric == "DD"]
    drawn = {drawing.file_name: drawing for drawing in draw_reproduction(replace(made, taus=(*made.taus, *more)))}
    texts = _texts(drawn["taus-exact-dd.svg"].svg)
    assert [
        texts.count(text) for text in ("5 LSTM", "5 GPT-2", "all 10", "published", "FED", "DD (paper's classifier)")
    ] == [1] * 6
    assert "self-BLEU-2" not in texts
    alone = tuple(replace(tau, published=None) for tau in made.taus)
    for drawing in draw_reproduction(replace(made, curves=(), taus=alone)):
        assert "published" not in _texts(drawing.svg)
    assert draw_reproduction(replace(made, curves=(), taus=tuple(more))) == ()


def _texts(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)
