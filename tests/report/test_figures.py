"""Figures: they show the numbers they were given, in the same bytes every time, and leave no global state behind."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl

from made_up_comparisons import MANY_METRICS, REVIEWS, make_comparison, make_explanation
from textassay.comparison import Comparison
from textassay.report import (
    PALETTE,
    Digest,
    draw_figures,
    draw_forest,
    draw_frontier,
    draw_learning_curve,
    draw_lengths,
    draw_pairs,
    draw_planes,
    draw_positions,
    draw_prefixes,
    draw_ranks,
    draw_roc,
    draw_scores,
    plane_pairs,
    slug,
    to_inline,
)

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


def _curves(svg: str, colour: str) -> list[list[tuple[float, float]]]:
    """Return the points of every line of more than two points drawn in `colour`."""
    paths = re.findall(rf'<path d="([^"]*)"[^>]*style="fill: none;[^"]*stroke: {colour}', svg)
    points = [re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", path) for path in paths]
    return [[(float(x), float(y)) for x, y in path] for path in points if len(path) > 2]


def test_roc_goes_through_its_points() -> None:
    comparison = make_comparison(("a", "b"))
    drawing = draw_roc(Digest(comparison), "a")
    assert drawing is not None
    points = Digest(comparison).detail("a", "dd", "roc")
    ((first, *_, last),) = (curve,) = _curves(drawing.svg, PALETTE["generated"])
    assert len(curve) == len(points)
    for (x, y), (false, true) in zip(curve, points, strict=True):
        assert abs((x - first[0]) / (last[0] - first[0]) - false) < 1e-4
        assert abs((y - first[1]) / (last[1] - first[1]) - true) < 1e-4
    assert any(text.startswith("AUC 0.") for text in _texts(drawing.svg))
    assert draw_roc(Digest(make_comparison(metrics={"length": "lower"})), "trigram") is None


def test_frontier_has_a_curve_a_generator_at_the_floors_size_and_one_of_real_text() -> None:
    comparison = make_comparison(("a", "b", "c"), metrics={"mauve": "higher"})
    drawing = draw_frontier(Digest(comparison))
    assert drawing is not None
    assert len(_curves(drawing.svg, PALETTE["generated"])) == 3
    assert len(_curves(drawing.svg, PALETTE["real"])) == 1
    assert {"a", "b", "c", "(real)"} <= set(_texts(drawing.svg))
    matched = comparison.result("a", "mauve").matched
    assert matched is not None
    assert f"a {matched.value:.3f}" in drawing.description
    assert draw_frontier(Digest(make_comparison())) is None


def test_planes_pair_what_the_comparison_has_and_turn_the_axes() -> None:
    digest = Digest(make_comparison(("a", "b"), metrics=MANY_METRICS))
    assert plane_pairs(digest) == [
        *((f"bleu(order={order})", f"self-bleu(order={order})") for order in (2, 3, 4, 5)),
        ("lm-score", "reverse-lm-score"),
        ("precision", "recall"),
        ("density", "coverage"),
    ]
    drawn = {drawing.subject: drawing for drawing in draw_planes(digest)}
    for subject, falls in (("lm-score", True), ("precision", False)):
        ticks = re.findall(r'text-anchor: middle[^>]* x="([\d.]+)"[^>]*>([\d.]+)</text>', drawn[subject].svg)
        across = [float(text) for _, text in sorted(ticks, key=lambda tick: float(tick[0]))]
        assert len(across) > 1
        assert across == sorted(across, reverse=falls)
    estimate = digest.matched("a", "precision")
    assert estimate is not None
    assert f"a {estimate.value:.3f}" in drawn["precision"].description


def test_a_plane_needs_both_values_of_some_generator() -> None:
    digest = Digest(make_comparison(("a",), missing=True))
    assert plane_pairs(digest)
    assert draw_planes(digest) == []


def test_explanations_are_drawn_where_there_is_something() -> None:
    found = make_explanation("a & b")
    lengths, positions, curve = draw_lengths(found), draw_positions(found), draw_learning_curve(found)
    assert lengths is not None
    assert positions is not None
    assert curve is not None
    assert {"1\N{EN DASH}4", "5\N{EN DASH}7", "20+"} <= set(_texts(lengths.svg))
    assert "20\N{EN DASH}39 tokens too few" in lengths.description
    assert {"begin", "end"} <= set(_texts(positions.svg))
    assert {"500", "8,000"} <= set(_texts(curve.svg))
    assert "0.420 of 500" in curve.description
    prefixes = draw_prefixes(found)
    assert prefixes is not None
    assert {"first tokens of each text", "0.5", "10"} <= set(_texts(prefixes.svg))
    assert "0.480 of 8, 0.720 of 12. dd reaches one half after 8.3 tokens" in prefixes.description
    assert draw_prefixes(replace(found, prefixes=())) is None
    empty = replace(found, lengths=(), positions=(), curve=())
    assert draw_lengths(empty) is draw_positions(empty) is draw_learning_curve(empty) is None


def test_ranks_of_many_metrics_stand_in_panels_that_fit_a_page() -> None:
    digest = Digest(make_comparison(REVIEWS, metrics=MANY_METRICS))
    drawing = draw_ranks(digest)
    assert drawing is not None
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing.svg)
    assert box is not None
    assert float(box[1]) < 72 * 10
    texts = _texts(drawing.svg)
    assert texts.count("SkipConnectionsAC") == 3
    assert texts.count("order=2") == 3
    for metric in MANY_METRICS:
        if MANY_METRICS[metric] != "neither":
            assert f"1 by {metric}" in drawing.description


def test_slugs_are_safe_file_names() -> None:
    assert slug("bleu(order=4)") == "bleu-order-4"
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("漢字") == "unnamed"
    assert len(slug("x" * 500)) == 60
