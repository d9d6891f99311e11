"""Figures: they show the numbers they were given, in the same bytes every time, and leave no global state behind."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl

from made_up_comparisons import REVIEWS, make_comparison
from textassay.comparison.comparison import Comparison
from textassay.report.digest import Digest
from textassay.report.figures import draw_figures, draw_forest, draw_scores
from textassay.report.orders import draw_pairs, draw_ranks
from textassay.report.svg import PALETTE, slug, to_inline

SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()).strip() for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_forest_names_every_row_and_its_value() -> None:
    comparison = make_comparison(REVIEWS, heldout=True)
    drawing = draw_forest(Digest(comparison), "dd")
    assert drawing is not None
    texts = _texts(drawing.svg)
    for name in (*REVIEWS, "(real)", "(real-heldout)"):
        estimate = comparison.result(name, "dd").estimate
        assert estimate is not None
        assert name in texts
        assert f"{estimate.value:.3f}" in texts
        assert f"{name} {estimate.value:.3f}" in drawing.description


def test_forest_marks_stand_where_the_values_are() -> None:
    drawing = draw_forest(Digest(make_comparison(("a", "b", "c"))), "dd")
    assert drawing is not None
    marks = re.findall(rf'<use [^>]*x="([\d.]+)"[^>]*style="fill: {PALETTE["generated"]}"', drawing.svg)
    places = [float(mark) for mark in marks]
    assert len(places) == 3
    assert places == sorted(places)
    assert abs((places[2] - places[1]) - (places[1] - places[0])) < 5  # values stand at equal steps


def test_missing_values_are_named_and_figures_without_any_are_left_out() -> None:
    digest = Digest(make_comparison(("a", "b"), missing=True))
    drawing = draw_forest(digest, "length")
    assert drawing is not None
    assert "n/a" in _texts(drawing.svg)
    assert "b not available" in drawing.description
    assert draw_forest(Digest(make_comparison(("a",), missing=True)), "length") is None
    assert draw_scores(digest, "nobody") is None
    assert draw_pairs(Digest(make_comparison(("a",))), "dd") is None
    assert draw_ranks(Digest(make_comparison(("a",)))) is None


def test_pair_matrix_is_row_minus_column_and_fills_what_is_significant() -> None:
    comparison = make_comparison(("a", "b"))
    drawing = draw_pairs(Digest(comparison), "dd")
    assert drawing is not None
    (pair,) = Digest(comparison).pairs("dd")
    assert pair.difference is not None
    assert f"+{-pair.difference:.2f}" in _texts(drawing.svg)
    assert f"fill: {PALETTE['generated']}" in drawing.svg
    weak = replace(comparison, pairs=tuple(replace(pair, p_adjusted=0.2) for pair in comparison.pairs))
    unfilled = draw_pairs(Digest(weak), "dd")
    assert unfilled is not None
    assert f"fill: {PALETTE['generated']}" not in unfilled.svg


def test_all_figures_are_svg_of_text_the_same_every_time() -> None:
    before = dict(mpl.rcParams)
    first, second = (draw_figures(make_comparison(("a & b", "<c>", "$d$"))) for _ in range(2))
    assert dict(mpl.rcParams) == before
    assert first == second
    for drawing in first:
        assert ElementTree.fromstring(drawing.svg).tag == f"{SVG}svg"
        assert _texts(drawing.svg)
        assert "<dc:date>" not in drawing.svg
    assert any("$d$" in _texts(drawing.svg) for drawing in first)


def test_histograms_are_drawn_from_shares_whatever_the_sizes() -> None:
    document = make_comparison(("a",)).to_dict()
    same, scaled = ([dict(result) for result in document["results"]] for _ in range(2))
    for result in scaled:
        histogram = result["details"].get("score_histogram")
        if histogram:
            many = [10 * part for part in histogram["real"]]
            result["details"] = {**result["details"], "score_histogram": {**histogram, "real": many}}
    drawn = [
        draw_scores(Digest(Comparison.from_dict({**document, "results": results})), "a") for results in (same, scaled)
    ]
    assert drawn[0] == drawn[1] is not None


def test_inline_figures_have_variables_and_ids_of_their_own() -> None:
    drawing = draw_figures(make_comparison(("a", "b")))[0]
    inline = to_inline(drawing.svg, name="one", title="t &amp; u")
    assert inline.startswith("<svg viewBox=")
    assert "xlink" not in inline
    assert "<metadata" not in inline
    assert "#bf4a06" not in inline
    ids = re.findall(r'\bid="([^"]*)"', inline)
    assert ids
    assert all(name.startswith("one-") for name in ids)


def test_slugs_are_safe_file_names() -> None:
    assert slug("bleu(order=4)") == "bleu-order-4"
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("漢字") == "unnamed"
    assert len(slug("x" * 500)) == 60
