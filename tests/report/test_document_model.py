"""A document: what goes into it comes out of every renderer, and back from JSON."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree

import pytest
from rich.console import Console

from textassay.errors import InputError, OptionError
from textassay.report.document import (
    Document,
    Figure,
    Pair,
    Pairs,
    Paragraph,
    ParagraphKind,
    Part,
    Section,
    Terms,
    TextEntry,
    Texts,
    section,
    with_unique_names,
    without_extras,
)
from textassay.report.drawing import draw_png, draw_svg
from textassay.report.files import document_files, to_csv
from textassay.report.latex import to_latex
from textassay.report.markdown import to_markdown
from textassay.report.page import to_fragment, to_html
from textassay.report.plots import (
    Axis,
    Band,
    BarGroup,
    Bars,
    Colour,
    Curves,
    Forest,
    ForestRow,
    HeatCell,
    HeatMap,
    Mark,
    MarkStyle,
    Plot,
    Point,
    Reference,
    Series,
)
from textassay.report.table import Cell, Column, Row, Table, Tone
from textassay.report.terminal import print_document

SVG = "{http://www.w3.org/2000/svg}"
STYLES: tuple[MarkStyle, ...] = get_args(MarkStyle)
SIDES: tuple[tuple[int, Colour], ...] = ((1, "real"), (2, "generated"))
PLOTS: dict[str, Plot] = {
    "forest": Forest(
        (
            *(
                ForestRow(f"row-{style.replace(' ', '-')}", (Mark(n, n - 0.1, n + 0.1, style=style),), f"v{n}")
                for n, style in enumerate(STYLES)
            ),
            ForestRow("absent", (Mark(None),), "n/a"),
            ForestRow("(real)", (Mark(0.5, colour="real"),), "0.5", reference=True),
        ),
        Axis("x-name", (-1, 8), ticks=(0, 4, 8)),
        bands=(Band(0.4, 0.6),),
        references=(Reference(0.5, colour="real", dashed=True),),
    ),
    "panels": Forest(
        (ForestRow("one", (Mark(0.5), Mark(0.2, panel=1))), ForestRow("two", (Mark(0.1, panel=1),))),
        Axis("x-name"),
        ("left", "right"),
        legend=(("here", Mark(0, colour="ink")), ("there", Mark(0, style="hollow diamond"))),
    ),
    "curves": Curves(
        (
            Series("first", tuple(Point(10**n, n, n - 0.5, n + 0.5) for n in range(4)), band=True),
            Series("second", tuple(Point(10**n, -n, label=f"at{n}") for n in range(4)), "real", dashes=2, marker=3),
            Series("gap", (Point(1, 1), Point(None, None), Point(100, 2))),
        ),
        Axis("x-name", scale="log10"),
        Axis("y-name", percent=True),
        references=(Reference(1, "y", "guess"),),
        text="in the corner",
    ),
    "scatter": Curves(
        tuple(
            Series(name, (Point(n, n, n - 0.2, n + 0.2, n - 0.1, n + 0.1),), line=False, beside=True, bold=n == 0)
            for n, name in enumerate(("near", "nearer", "nearest"))
        ),
        Axis("x-name", falling=True),
        Axis("y-name"),
        references=(Reference(axis="diagonal"),),
        region=(0.5, 1.5, 0.5, 1.5),
        kind="scatter",
    ),
    "histogram": Curves(
        tuple(
            Series(side, tuple(Point(k / 10, (k * n) % 7) for k in range(11)), side, steps=True, fill=True, panel=n - 1)
            for n, side in SIDES
        ),
        Axis("x-name", (0, 1)),
        Axis("y-name", (0, None)),
        panels=("left", "right"),
        own_scales=True,
    ),
    "bars": Bars(
        (
            BarGroup("all texts", (Mark(0.6, 0.5, 0.7), Mark(0.7, style="hollow")), ("sixty", "seventy")),
            BarGroup("none", (Mark(None), Mark(0.2))),
        ),
        Axis("y-name", (0, 1), percent=True),
        (Reference(0.5, "y", "guess", dashed=True),),
        (("H1", Mark(1, style="bar")),),
    ),
    "heat map": HeatMap(
        ("r1", "r2"), ("c1", "c2"),
        ((HeatCell(0.5, "one"), None), (HeatCell(-0.5, "two", strong=False), HeatCell(None, "three", outlined=True))),
        bold=("r1",),
    ),
}  # fmt: skip
KINDS: tuple[ParagraphKind, ...] = get_args(ParagraphKind)
TONES: tuple[Tone, ...] = get_args(Tone)


def _main() -> Table:
    return Table(
        "main",
        (Column("name-head", numeric=False), Column("value-head", "group-head", better="lower", note="head-note"),
         Column("other-head", "group-head", better="lower"), Column("hidden-head", hidden=True),
         Column("text-head", numeric=False)),
        (
            Row((Cell("heading-row"),), "heading"),
            *(Row((Cell(f"row-{tone or 'plain'}"), Cell("0.310", 0.3101, "±0.03", "0.299", "cell-note", tone),
                   Cell("-0.5", -0.5), Cell("0.777", 0.777), Cell("words"))) for tone in TONES),
            Row((Cell("(real)"), Cell("0.01", 0.01), Cell("n/a", None, note="too few"), Cell("0.1"), Cell("x")),
                "reference"),
        ),
        "main-title", ("table-note",), main=True,
    )  # fmt: skip


def _whole() -> Document:
    """Return a document with every kind of part, paragraph, plot and cell."""
    parts: tuple[Part, ...] = (
        *(Paragraph(f"paragraph-{kind or 'plain'}", kind) for kind in KINDS),
        Terms((("term-label", "term-text"),)),
        _main(),
        Table.of("second", ("a", "b"), [("one", "two")], title="second-title"),
        Texts(
            "texts",
            (TextEntry("the entry text", "the-source", 0.25, 1234, "list-one"), TextEntry("", group="list-two")),
            ("entry",), "texts-title", "score-meaning",
        ),
        Pairs("pairs", ("left-side", "right-side"), (
            Pair("pair-source", "pair-label", (("shared ", False), ("marked", True)), (("shared", False),)),
        )),
        *(Figure(f"figure-{name.replace(' ', '-')}", plot, f"caption of {name}", f"description of {name}")
          for name, plot in PLOTS.items()),
        Section("inner-title", (Paragraph("inner-text"),)),
    )  # fmt: skip
    extras = Section(
        "extra-title", (Paragraph("extra-text"), Table.of("third", ("a",), [("extra-cell",)], extra=True)), True
    )
    record = Table(
        "long", (Column("x"), Column("y")), (Row((Cell(value=0.1), Cell(value="=1+1"))), Row((Cell(), Cell())))
    )
    return Document(
        "document-title", ("first-sentence.", "second-sentence."), (("fact-label", "fact-text"),),
        (Section("section-title", parts), extras), "figure-forest", "9.8.7", (record,),
    )  # fmt: skip


EVERYWHERE = [
    *("first-sentence.", "second-sentence.", "fact-label", "fact-text", "section-title", "inner-title", "inner-text"),
    *(f"paragraph-{kind or 'plain'}" for kind in KINDS),
    *("term-label", "term-text", "main-title", "table-note", "name-head", "value-head", "group-head", "text-head"),
    *("heading-row", "row-best", "row-weak", "(real)", "0.310", "±0.03", "0.299", "0.01", "n/a", "words"),
    *("second-title", "two", "texts-title", "list-one", "list-two", "entry", "score-meaning"),
    *("pair-source", "pair-label", "left-side", "right-side", "shared", "marked"),
]


def _terminal(document: Document, width: int = 120, *, everything: bool = True) -> str:
    file = io.StringIO()
    print_document(document, Console(file=file, width=width), everything=everything)
    return file.getvalue()


def test_json_has_every_part_and_no_number_that_json_lacks() -> None:
    text = json.dumps(_whole().to_dict(), ensure_ascii=False, allow_nan=False)
    assert [part for part in EVERYWHERE if part not in text] == []
    odd = Document("t", sections=(section("s", Table.of("t", ("a",), [(Cell("n/a", float("nan")),)])),))
    assert '"value": null' in json.dumps(odd.to_dict(), allow_nan=False)


def test_terminal_markdown_and_page_show_every_part() -> None:
    document = _whole()
    markdown = re.sub(r"\\(.)", r"\1", to_markdown(document))
    for shown in (_terminal(document), markdown, to_html(document), to_fragment(document)):
        assert [part for part in EVERYWHERE if part not in shown] == []
        assert "extra-text" in shown
        assert "extra-cell" in shown
    for shown in (markdown, to_html(document)):
        assert "document-title" in shown
        for name in PLOTS:
            assert f"caption of {name}" in shown
            assert f"description of {name}" in shown
    page = to_html(document)
    for part in (
        "hidden-head",
        "0.777",
        "cell-note",
        "head-note",
        "too few",
        "the-source",
        "\N{MULTIPLICATION SIGN} 1,234",
        "9.8.7",
    ):
        assert part in page
    assert page.count("<figure") == len(PLOTS)  # the leading one once
    assert "hidden-head" not in _terminal(document)
    assert "\N{MINUS SIGN}0.5" in page


def test_extras_are_left_out_on_demand() -> None:
    document = _whole()
    brief = without_extras(document)
    assert [one.title for one in brief.sections] == ["section-title"]
    for shown in (_terminal(document, everything=False), to_markdown(document, everything=False)):
        assert "extra-" not in shown
        assert "inner-text" in shown
    inner = Document("t", sections=(section("s", Table.of("x", ("a",), [("b",)], extra=True), Section("y", (), True)),))
    assert without_extras(inner).sections[0].parts == ()
    assert without_extras(brief) == brief


def test_latex_holds_main_tables_and_all_on_demand() -> None:
    document = _whole()
    paper = to_latex(document)
    assert paper.startswith("% Made by textassay 9.8.7.")
    assert paper.count(r"\begin{table}") == 1
    for part in (
        "main-title",
        "table-note",
        r"\multicolumn{2}{c}{group-head",
        r"\textbf{0.310}",
        r"\textit{heading-row}",
    ):
        assert part in paper
    assert "hidden-head" not in paper
    assert paper.index("row-plain") < paper.rindex(r"\midrule") < paper.index("(real)")
    assert to_latex(document, everything=True).count(r"\begin{table}") == 2
    none = Document("t", sections=(section("s", replace(_main(), main=False)),))
    assert "main-title" in to_latex(none)
    assert "{\\scriptsize 0.299}" in to_latex(none)  # what stands below a value; tables of a paper go without
    assert "0.299" not in paper


def test_csv_is_in_full_precision_without_headings() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(_main()))))
    assert rows[0] == ["name-head", "value-head", "other-head", "hidden-head", "text-head"]
    assert len(rows) == 1 + len(TONES) + 1
    assert rows[1][1:4] == ["0.3101", "-0.5", "0.777"]
    assert rows[-1][2] == ""
    (record,) = _whole().records
    assert list(csv.reader(io.StringIO(to_csv(record)))) == [["x", "y"], ["0.1", "'=1+1"], ["", ""]]


def test_marks_stand_beside_the_value_they_mark() -> None:
    document = _whole()
    terminal = [line for line in _terminal(document).splitlines() if "*0.310" in line]
    assert [line.split()[0] for line in terminal] == ["row-best"]
    assert [line.split("|")[1].strip() for line in to_markdown(document).splitlines() if "**0.310" in line] == [
        "row-best"
    ]
    (row,) = [row for row in re.findall(r"<tr>(.*?)</tr>", to_html(document), re.DOTALL) if 'class="best' in row]
    assert "row-best" in row


def test_a_table_that_fits_drops_columns_from_the_right_and_others_never_do() -> None:
    columns = ("name", *(f"column-{k}" for k in range(8)))
    rows = [(f"row {n}", *(f"{k}.{n}2345678" for k in range(8))) for n in range(3)]
    table = Table.of("t", columns, rows)
    for fits in (True, False):
        document = Document("t", sections=(section("", replace(table, fits=fits)),))
        for width in (20, 40, 60, 140):
            text = _terminal(document, width)
            shown = [all(row[place] in text for row in rows) for place in range(9)]
            assert shown[:2] == [True, True]
            assert shown == sorted(shown, reverse=True)
            assert all(shown) == (not fits or width == 140)
            assert max(map(len, text.splitlines())) <= width


def test_rows_have_the_columns_of_their_table() -> None:
    with pytest.raises(InputError, match="table t: a row has 1 cells for 2 columns"):
        Table.of("t", ("a", "b"), [("only",)])


def test_names_become_unique_and_files_follow() -> None:
    figure = Figure("same", PLOTS["bars"])
    table = Table.of("same", ("a",), [("b",)])
    document = Document(
        "t", sections=(section("s", figure, table, Section("i", (figure, table))), section("u", figure))
    )
    unique = with_unique_names(document)
    assert [figure.name for figure in unique.figures] == ["same", "same-2", "same-3"]
    assert [table.name for table in unique.tables] == ["same", "same-2"]
    assert with_unique_names(unique) == unique
    files = document_files(document)
    assert set(files) == {"report.md", "report.html", *(f"figures/{figure.file_name}" for figure in unique.figures)}
    assert "figures/same-3.svg" in str(files["report.md"])
    ids = re.findall(r'\bid="([^"]+)"', str(files["report.html"]))
    assert len(ids) == len(set(ids))


def test_files_of_a_document() -> None:
    document = _whole()
    files = document_files(document, stem="thing", brief_markdown=True)
    names = {f"figures/{figure.file_name}" for figure in document.figures}
    assert set(files) == {"thing.md", "thing.html", "thing.tex", "long.csv"} | names
    assert files == document_files(document, stem="thing", brief_markdown=True)  # the same bytes
    assert "extra-text" not in str(files["thing.md"])
    assert "extra-text" in str(files["thing.html"])
    for name in names:
        assert 'fill="#ffffff"' in str(files[name])  # readable on dark pages, too


@pytest.mark.parametrize("name", PLOTS)
def test_every_kind_of_plot_is_drawn_with_all_its_words(name: str) -> None:
    figure = Figure("x", PLOTS[name])
    svg = draw_svg(figure)
    root = ElementTree.fromstring(svg)
    texts = {"".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")}
    words = {
        "forest": {"x-name", "v1", "absent", "n/a", "(real)", *(f"row-{style.replace(' ', '-')}" for style in STYLES)},
        "panels": {"x-name", "one", "two", "left", "right", "here", "there"},
        "curves": {"x-name", "y-name", "first", "second", "at3", "guess", "in the corner"},
        "scatter": {"x-name", "y-name", "near", "nearer", "nearest"},
        "histogram": {"x-name", "y-name", "left", "right", "real", "generated"},
        "bars": {"y-name", "all texts", "none", "sixty", "seventy", "guess", "H1"},
        "heat map": {"r1", "r2", "c1", "c2", "one", "two", "three"},
    }[name]
    assert words <= texts
    assert svg == draw_svg(figure)
    png = draw_png(figure)
    assert png.startswith(b"\x89PNG")
    assert len(draw_png(figure, dpi=320)) > len(png)
    with pytest.raises(OptionError, match="dpi must be at least 1"):
        draw_png(figure, dpi=0)


def test_heat_cells_are_coloured_by_sign_and_curves_go_where_the_points_are() -> None:
    cells = tuple((HeatCell(value, "x"),) for value in (1.0, -1.0))
    svg = draw_svg(Figure("x", HeatMap(("up", "down"), ("c",), cells)))
    assert "#0b659f" in svg
    assert "#bf4a06" in svg
    line = Series("l", tuple(Point(x, y) for x, y in ((0, 0), (1, 1), (2, 4), (3, 9))), "generated", dots=False)
    svg = draw_svg(Figure("x", Curves((line,), Axis(), Axis())))
    paths = re.findall(r'<path d="([^"]*)"[^>]*style="fill: none; stroke: #bf4a06', svg)
    path = max(paths, key=len)  # the other one is that of the legend
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path)]
    (x0, y0), *_, (x3, y3) = points
    assert [round((x - x0) / (x3 - x0) * 3, 3) for x, _ in points] == [0, 1, 2, 3]
    assert [round((y - y0) / (y3 - y0) * 9, 3) for _, y in points] == [0, 1, 4, 9]
