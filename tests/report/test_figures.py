"""Figures: they show the numbers they were given, in the same bytes every time, and leave no global state behind."""

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from made_up_comparisons import MANY_METRICS, METRICS_OF_ALL_FIGURES, REVIEWS, make_comparison, make_explanation
from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_document
from textassay.comparison.explanation_document import explanation_document
from textassay.comparison.figures import (
    forest_figure,
    frontier_figure,
    pairs_figure,
    plane_figures,
    plane_pairs,
    ranks_figure,
    roc_figure,
    scores_figure,
)
from textassay.report.document import Figure, Paragraph
from textassay.report.drawing import draw_png, draw_svg
from textassay.report.plots import SERIES, Axis, Band, Curves, Forest, HeatMap, Point, Series
from textassay.report.svg import PALETTE, to_inline
from textassay.report.text import slug

SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()).strip() for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def _forest(figure: Figure | None) -> Forest:
    assert figure is not None
    assert isinstance(figure.plot, Forest)
    return figure.plot


def _curves(figure: Figure | None) -> Curves:
    assert figure is not None
    assert isinstance(figure.plot, Curves)
    return figure.plot


def _heat(figure: Figure | None) -> HeatMap:
    assert figure is not None
    assert isinstance(figure.plot, HeatMap)
    return figure.plot


def test_forest_has_every_row_with_its_value_and_interval() -> None:
    comparison = make_comparison(REVIEWS, heldout=True)
    figure = forest_figure(Digest(comparison), "dd")
    plot = _forest(figure)
    assert figure is not None
    assert [row.name for row in plot.rows] == [*REVIEWS, "(real)", "(real-heldout)"]
    texts = _texts(draw_svg(figure))
    for row in plot.rows:
        estimate = comparison.result(row.name, "dd").estimate
        assert estimate is not None
        assert estimate.interval is not None
        (mark,) = [mark for mark in row.marks if mark.style in ("filled", "diamond")]
        assert (mark.value, mark.low, mark.high) == (estimate.value, estimate.interval.low, estimate.interval.high)
        assert row.text == f"{estimate.value:.3f}"
        assert {row.name, row.text} <= set(texts)
        assert f"{row.name} {row.text}" in figure.description
    assert [row.name for row in plot.rows if row.bold] == [REVIEWS[0]]
    assert [row.reference for row in plot.rows] == [False] * len(REVIEWS) + [True, True]
    floor = comparison.result("(real)", "dd").estimate
    assert floor is not None
    assert floor.interval is not None
    assert plot.bands == (Band(floor.interval.low, floor.interval.high),)


def test_forest_marks_stand_where_the_values_are() -> None:
    figure = forest_figure(Digest(make_comparison(("a", "b", "c"))), "dd")
    assert figure is not None
    marks = re.findall(r'<use [^>]*x="([\d.]+)"[^>]*style="fill: (#[0-9a-f]{6})', draw_svg(figure))
    places = [float(place) for colour in SERIES[:3] for place, ink in marks if ink == PALETTE[colour]]
    assert len(places) == 3
    assert places == sorted(places)
    assert abs((places[2] - places[1]) - (places[1] - places[0])) < 5  # values stand at equal steps


def test_missing_values_are_named_and_figures_without_any_are_left_out() -> None:
    digest = Digest(make_comparison(("a", "b"), missing=True))
    figure = forest_figure(digest, "length")
    assert figure is not None
    assert "n/a" in _texts(draw_svg(figure))
    assert "b n/a" in figure.description
    assert forest_figure(Digest(make_comparison(("a",), missing=True)), "length") is None
    assert scores_figure(Digest(make_comparison(metrics={"length": "lower"}))) is None
    assert pairs_figure(Digest(make_comparison(("a",))), "dd") is None
    assert ranks_figure(Digest(make_comparison(("a",)))) is None


def test_pair_matrix_is_row_minus_column_and_fills_what_is_significant() -> None:
    comparison = make_comparison(("a", "b"))
    figure = pairs_figure(Digest(comparison), "dd")
    plot = _heat(figure)
    assert figure is not None
    (pair,) = Digest(comparison).pairs("dd")
    assert pair.difference is not None
    assert (plot.rows, plot.columns) == (("b",), ("a",))
    ((cell,),) = plot.cells
    assert cell is not None
    assert cell.text == f"+{-pair.difference:.2f}"
    assert cell.value is not None
    assert not cell.outlined
    assert cell.text in _texts(draw_svg(figure))
    assert cell.colour == "muted"
    weak = replace(comparison, pairs=tuple(replace(pair, p_adjusted=0.2) for pair in comparison.pairs))
    unfilled = pairs_figure(Digest(weak), "dd")
    ((cell,),) = _heat(unfilled).cells
    assert cell is not None
    assert cell.value is None
    assert cell.outlined
    assert unfilled is not None


def test_all_figures_are_svg_of_text_the_same_every_time() -> None:
    before = dict(mpl.rcParams)
    made: dict[str, Any] = {"metrics": METRICS_OF_ALL_FIGURES, "explained": True}
    documents = [comparison_document(make_comparison(("a & b", "<c>", "$d$"), **made)) for _ in range(2)]
    first, second = ([draw_svg(figure) for figure in document.figures] for document in documents)
    assert draw_png(documents[0].figures[0]) == draw_png(documents[1].figures[0])
    assert dict(mpl.rcParams) == before
    assert first == second
    for drawing in first:
        assert ElementTree.fromstring(drawing).tag == f"{SVG}svg"
        assert _texts(drawing)
        assert "<dc:date>" not in drawing
    assert any("$d$" in _texts(drawing) for drawing in first)


def test_histograms_are_shares_whatever_the_sizes() -> None:
    document = make_comparison(("a",)).to_dict()
    same, scaled = ([dict(result) for result in document["results"]] for _ in range(2))
    for result in scaled:
        histogram = result["details"].get("score_histogram")
        if histogram:
            many = [10 * part for part in histogram["real"]]
            result["details"] = {**result["details"], "score_histogram": {**histogram, "real": many}}
    drawn = [
        scores_figure(Digest(Comparison.from_dict({**document, "results": results}))) for results in (same, scaled)
    ]
    assert drawn[0] == drawn[1]
    sides = {series.name: series for series in _curves(drawn[0]).series if series.panel == 0}
    assert set(sides) == {"real", "generated"}
    for series in sides.values():
        assert sum(point.y or 0 for point in series.points) == pytest.approx(1)
        assert (series.points[0].x, series.points[-1].x) == (0, 1)


def test_inline_figures_have_variables_and_ids_of_their_own() -> None:
    figure = forest_figure(Digest(make_comparison(("a", "b"))), "dd")
    assert figure is not None
    inline = to_inline(draw_svg(figure), name="one", title="t &amp; u")
    assert inline.startswith("<svg viewBox=")
    assert "xlink" not in inline
    assert "<metadata" not in inline
    assert "#bf4a06" not in inline
    ids = re.findall(r'\bid="([^"]*)"', inline)
    assert ids
    assert all(name.startswith("one-") for name in ids)


def _lines(svg: str, colour: str) -> list[list[tuple[float, float]]]:
    """Return the points of every line of more than two points drawn in `colour`."""
    paths = re.findall(rf'<path d="([^"]*)"[^>]*style="fill: none;[^"]*stroke: {colour}', svg)
    points = [re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path) for path in paths]
    return [[(float(x), float(y)) for x, y in path] for path in points if len(path) > 2]


def test_roc_goes_through_its_points() -> None:
    comparison = make_comparison(("a", "b"))
    figure = roc_figure(Digest(comparison))
    plot = _curves(figure)
    assert figure is not None
    points = Digest(comparison).detail("a", "dd", "roc")
    assert [[point.x, point.y] for point in plot.series[0].points] == points
    svg = draw_svg(figure)
    assert [line.colour for line in plot.series] == ["generated", "green"]
    curve = next(line for line in _lines(svg, PALETTE["generated"]) if len(line) == len(points))
    first, *_, last = curve
    for (x, y), (false, true) in zip(curve, points, strict=True):
        assert abs((x - first[0]) / (last[0] - first[0]) - false) < 1e-4
        assert abs((y - first[1]) / (last[1] - first[1]) - true) < 1e-4
    assert any(text.startswith("a, AUC 0.") for text in _texts(svg))
    assert roc_figure(Digest(make_comparison(metrics={"length": "lower"}))) is None


def test_frontier_has_a_curve_a_generator_at_the_floors_size_and_one_of_real_text() -> None:
    comparison = make_comparison(("a", "b", "c"), metrics={"mauve": "higher"})
    figure = frontier_figure(Digest(comparison))
    assert figure is not None
    assert [series.name for series in _curves(figure).series] == ["a", "b", "c", "(real)"]
    svg = draw_svg(figure)
    assert [len(_lines(svg, PALETTE[colour])) for colour in SERIES[:4]] == [1, 1, 1, 0]
    assert len(_lines(svg, PALETTE["real"])) == 1
    assert {"a", "b", "c", "(real)"} <= set(_texts(svg))
    matched = comparison.result("a", "mauve").matched
    assert matched is not None
    assert [[point.x, point.y] for point in _curves(figure).series[0].points] == matched.details["frontier"]
    assert f"a {matched.value:.3f}" in figure.caption
    assert frontier_figure(Digest(make_comparison())) is None


def test_planes_pair_what_the_comparison_has_and_turn_the_axes() -> None:
    digest = Digest(make_comparison(("a", "b"), metrics=MANY_METRICS))
    pairs = [
        *((f"bleu(order={order})", f"self-bleu(order={order})") for order in (2, 3, 4, 5)),
        ("lm-score", "reverse-lm-score"),
        ("precision", "recall"),
        ("density", "coverage"),
    ]
    assert plane_pairs(digest) == pairs
    drawn = dict(zip((quality for quality, _ in pairs), plane_figures(digest), strict=True))
    for quality, falls in (("lm-score", True), ("precision", False)):
        assert _curves(drawn[quality]).x.falling == falls
        svg = draw_svg(drawn[quality])
        ticks = re.findall(r'text-anchor: middle[^>]* x="([\d.]+)"[^>]*>([\d.]+)</text>', svg)
        across = [float(text) for _, text in sorted(ticks, key=lambda tick: float(tick[0]))]
        assert len(across) > 1
        assert across == sorted(across, reverse=falls)
    estimate = digest.matched("a", "precision")
    assert estimate is not None
    assert f"at {estimate.value:.3f}; b" in drawn["precision"].description
    (point,) = _curves(drawn["precision"]).series[0].points
    assert point.x == estimate.value


def test_a_plane_needs_both_values_of_some_generator() -> None:
    digest = Digest(make_comparison(("a",), missing=True))
    assert plane_pairs(digest)
    assert plane_figures(digest) == []


def test_explanations_are_drawn_where_there_is_something() -> None:
    found = make_explanation("a & b")
    figures = {figure.name.removesuffix("-a-b"): figure for figure in explanation_document([found]).figures}
    assert set(figures) == {"lengths", "prefixes", "positions", "curve"}
    texts = {name: set(_texts(draw_svg(figure))) for name, figure in figures.items()}
    assert {"1\N{EN DASH}4", "5\N{EN DASH}7", "20+"} <= texts["lengths"]
    assert "n/a at 20+" in figures["lengths"].description
    assert {"begin", "end"} <= texts["positions"]
    assert {"500", "8,000"} <= texts["curve"]
    assert "0.420 at 500" in figures["curve"].description
    assert {"first tokens of each text", "0.5"} <= texts["prefixes"]
    assert "0.480 at 8, 0.720 at 12." in figures["prefixes"].description
    told = [part.text for part in explanation_document([found]).parts() if isinstance(part, Paragraph)]
    assert any("dd reaches one half after 8.3 tokens" in text for text in told)
    for name, values in (("curve", found.curve), ("prefixes", found.prefixes)):
        (series,) = _curves(figures[name]).series
        assert [(p.y, p.low, p.high) for p in series.points] == [(v.value, v.low, v.high) for v in values]
    empty = replace(found, lengths=(), positions=(), curve=(), prefixes=())
    assert explanation_document([empty]).figures == ()


def test_ranks_are_those_of_the_comparison_and_fit_a_page() -> None:
    comparison = make_comparison(REVIEWS, metrics=MANY_METRICS)
    digest = Digest(comparison)
    figure = ranks_figure(digest)
    plot = _heat(figure)
    assert figure is not None
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', draw_svg(figure))
    assert box is not None
    assert float(box[1]) < 72 * 16
    assert plot.rows == digest.order
    assert set(plot.columns) == {metric for metric, better in MANY_METRICS.items() if better != "neither"}
    for name, row in zip(plot.rows, plot.cells, strict=True):
        for metric, cell in zip(plot.columns, row, strict=True):
            assert cell is not None
            assert cell.text == digest.rank_text(name, metric)
            assert cell.bold == (name in digest.marked(metric))
            assert f"{metric} {cell.text}" in figure.description


def test_slugs_are_safe_file_names() -> None:
    assert slug("bleu(order=4)") == "bleu-order-4"
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("漢字") == "unnamed"
    assert len(slug("x" * 500)) == 60


def test_shares_on_an_axis_of_powers_of_ten_are_told_apart() -> None:
    points = tuple(Point(place, share) for place, share in enumerate((1.0, 0.01, 0.0001)))
    drawn = draw_svg(Figure("f", Curves((Series("a", points),), Axis("x"), Axis("y", percent=True, scale="log10")), ""))
    assert {"100 %", "1 %", "0.01 %"} <= set(_texts(drawn))
    assert "0 %" not in _texts(drawn)
