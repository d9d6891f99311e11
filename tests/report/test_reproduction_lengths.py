"""Figures by the length of a prefix and samples in a reproduced study: panels, legends with averages, bands, names."""

import io
import re
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from made_up_exposure import make_exposure_results
from textassay.meta_evaluation import Curve, CurvePoint, Reproduction
from textassay.report import (
    draw_by_length,
    draw_reproduction,
    finding_numbers,
    render_reproduction,
    reproduction_markdown,
)
from textassay.study.exposure_bias import exposure_reproduction


@cache
def made() -> Reproduction:
    return exposure_reproduction(make_exposure_results())


def _texts(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)


@pytest.mark.feature("EB-15")
def test_each_figure_has_its_panels_and_the_averages_in_its_legend() -> None:
    drawn = {drawing.file_name: drawing for drawing in draw_reproduction(made())}
    assert list(drawn) == [
        *("figure-2-eb-c.svg", "figure-4-eb-c-of-models.svg", "figure-3-cgd-lstm-512.svg", "figure-3-cgd-lstm-32.svg"),
        *("figure-3-cgd-lstm-32-random-oracle.svg", "eb-bleu.svg", "self-recovery.svg"),
        *("excess-accumulated-error.svg", "eb-c-of-translation.svg"),
    ]
    texts = _texts(drawn["figure-2-eb-c.svg"].svg)
    assert [texts.count(name) for name in ("total variation", "Jensen-Shannon", "greedy")] == [1, 1, 1]
    curve = next(curve for curve in made().curves if curve.title == "Figure 2: EB-C" and curve.name == "LSTM-32")
    assert curve.average is not None
    told = f"LSTM-32, average {curve.average:.3f}"
    assert texts.count(told) == 3
    assert told in drawn["figure-2-eb-c.svg"].description
    cgd = drawn["figure-3-cgd-lstm-512.svg"]
    assert _texts(cgd.svg).count("random") == 1  # beside its line
    shades = {rate: shade for shade, rate in re.findall(r"fill: (#[0-9a-f]{6})[^>]*>corrupted ([\d.]+)<", cgd.svg)}
    assert len(set(shades.values())) == 5
    assert sorted(shades, key=lambda rate: shades[rate], reverse=True) == sorted(shades)  # the more, the darker
    for drawing in drawn.values():
        assert drawing.kind == "by length"
        assert drawing.description.startswith(drawing.subject)


def test_bands_are_the_intervals_and_undefined_lengths_are_left_out() -> None:
    points = [CurvePoint(None, x, 1 + x / 100, y_low=1.0, y_high=1.2) for x in range(1, 6)]
    undefined = (*points, CurvePoint(None, 6, float("nan")))
    drawing = draw_by_length([Curve("by length", "a", "", "words", "EB-C", undefined, "T")])
    assert "a: 1.010 at 1, 1.030 at 3, 1.050 at 5" in drawing.description
    area = re.search(r'FillBetweenPolyCollection_1">\s*(?:<defs>\s*)?<path[^>]* d="([^"]*)"', drawing.svg)
    assert area is not None
    corners = [tuple(map(float, corner)) for corner in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", area[1])]
    assert len({x for x, _ in corners}) == 5
    assert len({y for _, y in corners}) == 2  # 1 and 1.2
    nothing = draw_by_length([Curve("by length", "a", "f", "words", "EB-C", (), "T")])
    assert "a undefined" in nothing.description


def test_samples_stand_in_terminal_and_markdown_prefixes_in_brackets() -> None:
    console = Console(file=io.StringIO(), width=90)
    render_reproduction(made(), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    markdown = reproduction_markdown(made())
    for shown in (text, markdown.replace("\\", "")):
        assert "Prefix switching: LSTM on wikitext2" in shown
        assert "[the data prefix] goes on 1" in shown
        assert "[a dog is] dog runs" in shown
        assert "[]" not in shown
    assert max(map(len, text.splitlines())) <= 90
    assert "Numbers: growth 0.00" in text or "growth -0.00" in text


def test_numbers_of_findings_come_with_their_intervals_in_as_many_decimals_as_these_carry() -> None:
    numbers = {"rate": 1.0123, "rate: low": 1.0101, "rate: high": 1.0146, "tiny": 0.0004, "tiny: low": 0.0003,
               "tiny: high": 0.0005, "none": None, "exact": 2.0, "exact: low": 2.0, "exact: high": 2.0}  # fmt: skip
    found = replace(made().findings[0], numbers=numbers)
    assert finding_numbers(found) == "rate 1.012 [1.010, 1.015]; tiny 0.0004 [0.0003, 0.0005]; none n/a; exact 2.000"
