"""Names in figures: told apart, whole where there is room for two lines, inside the picture."""

import re

from textassay.report.document import Figure
from textassay.report.drawing import draw_svg
from textassay.report.plots import Axis, Curves, Forest, ForestRow, Mark, Point, Series
from textassay_lab.exposure.by_length import Curve, lengths_figure


def _texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def _curve(name: str, family: str = "") -> Curve:
    return Curve("T", name, family, "words", "value", (Point(1, 0.5), Point(2, 0.6)))


def test_names_that_would_be_cut_alike_are_cut_less() -> None:
    alike = ["recurrent GAN, hard, corrected", "recurrent GAN, soft, corrected"]
    beside = _texts(draw_svg(lengths_figure([_curve(name) for name in (*alike, "a", "b", "c", "d")])))
    assert set(alike) <= set(beside)
    rows = tuple(ForestRow(name, (Mark(0.5),)) for name in (*alike, "and " + alike[1] * 2))
    drawn = _texts(draw_svg(Figure("rows", Forest(rows, Axis("x")), "", "")))
    assert len([text for text in drawn if "GAN" in text]) == 3


def test_long_names_of_panels_take_several_lines() -> None:
    names = ("SVM", "share of the training text, people", "share of the training text, oracle")
    rows = (ForestRow("DD", tuple(Mark(0.5, panel=panel) for panel in range(3))),)
    for plot in (Forest(rows, Axis("x"), panels=names), Forest(rows, Axis("x"), panels=names, own_scales=True)):
        texts = _texts(draw_svg(Figure("panels", plot, "", "")))
        assert "SVM" in texts
        assert not any("…" in text for text in texts)
        assert sum(text.endswith("people") for text in texts) == sum(text.endswith("oracle") for text in texts) == 1
    curves = _texts(draw_svg(lengths_figure([_curve("x", name) for name in ("one", "position unigram, emnlp_news")])))
    assert not {"position unigram, emnlp_news"} & set(curves)
    assert any(text.endswith("emnlp_news") for text in curves)


def test_the_name_of_a_point_stays_inside_the_picture() -> None:
    points = (Point(0.0, 0.0, label="first"), Point(1.0, 1.0, label="the last of them"))
    plot = Curves((Series("s", points), Series("s", points, panel=1)), Axis("x"), Axis("y"), panels=("one", "two"))
    svg = draw_svg(Figure("named", plot, "", ""))
    anchors = re.findall(r'<text style="([^"]*)"[^>]*>(first|the last of them)</text>', svg)
    assert [("text-anchor: end" in style, name) for style, name in anchors] == [
        (False, "first"), (True, "the last of them"), (False, "first"), (True, "the last of them"),
    ]  # fmt: skip


def test_no_two_lines_of_a_figure_look_alike() -> None:
    curves = [_curve(name, family) for family in ("one", "two") for name in "abcdefghij"]
    plot = lengths_figure(curves).plot
    assert isinstance(plot, Curves)
    looks = {series.name: (series.colour, series.dashes % 5, series.marker) for series in plot.series}
    assert len(looks) == 10
    without_marks = [look[:2] for look in looks.values()]
    assert len(set(without_marks)) == 10
