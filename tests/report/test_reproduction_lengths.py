"""Figures by the length of a prefix and samples in a reproduced study: panels, legends with averages, bands, names."""

import io
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from made_up_exposure import make_exposure_results
from textassay.report.document import Figure
from textassay.report.markdown import to_markdown
from textassay.report.plots import Curves
from textassay.report.reproduction import finding_numbers, reproduction_document
from textassay.report.terminal import print_document
from textassay_lab.exposure.by_length import Curve, CurvePoint, lengths_figure
from textassay_lab.meta_evaluation.reproduction import Reproduction
from textassay_lab.papers.exposure_bias.results import exposure_reproduction


@cache
def made() -> Reproduction:
    return exposure_reproduction(make_exposure_results())


def _figures() -> dict[str, Figure]:
    return {figure.name: figure for figure in reproduction_document(made()).figures}


@pytest.mark.feature("EB-15")
def test_each_figure_has_its_panels_and_says_the_averages() -> None:
    drawn = _figures()
    assert list(drawn) == [
        *("figure-2-eb-c", "figure-4-eb-c-of-models", "figure-3-cgd-lstm-512", "figure-3-cgd-lstm-32"),
        *("figure-3-cgd-lstm-32-random-oracle", "eb-bleu", "self-recovery"),
        *("excess-accumulated-error", "eb-c-of-translation"),
    ]
    plot = drawn["figure-2-eb-c"].plot
    assert isinstance(plot, Curves)
    assert plot.panels == ("total variation", "Jensen-Shannon", "greedy")
    curve = next(curve for curve in made().curves if curve.title == "Figure 2: EB-C" and curve.name == "LSTM-32")
    assert curve.average is not None
    average = f"LSTM-32, average {curve.average:.3f}"
    assert drawn["figure-2-eb-c"].caption.count(average) == 3
    assert average in drawn["figure-2-eb-c"].description
    cgd = drawn["figure-3-cgd-lstm-512"].plot
    assert isinstance(cgd, Curves)
    assert len({series.dashes for series in cgd.series if series.name.startswith("corrupted")}) == 5
    for figure in drawn.values():
        assert figure.description.startswith(figure.caption.split(",")[0])


def test_bands_are_the_intervals_and_undefined_lengths_are_left_out() -> None:
    points = [CurvePoint(None, x, 1 + x / 100, y_low=1.0, y_high=1.2) for x in range(1, 6)]
    undefined = (*points, CurvePoint(None, 6, float("nan")))
    figure = lengths_figure([Curve("by length", "a", "", "words", "EB-C", undefined, "T")])
    assert "a: 1.010 at 1, 1.030 at 3, 1.050 at 5" in figure.description
    assert isinstance(figure.plot, Curves)
    (line,) = figure.plot.series
    assert line.band
    assert [(point.x, point.low, point.high) for point in line.points] == [(x, 1.0, 1.2) for x in range(1, 6)]
    nothing = lengths_figure([Curve("by length", "a", "f", "words", "EB-C", (), "T")])
    assert "a undefined" in nothing.description


def test_samples_stand_in_terminal_and_markdown_prefixes_in_brackets() -> None:
    console = Console(file=io.StringIO(), width=90)
    print_document(reproduction_document(made()), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    markdown = to_markdown(reproduction_document(made()))
    for shown in (text, markdown.replace("\\", "")):
        assert "Samples: LSTM on wikitext2" in shown
        assert "[the data prefix] goes on 1" in shown
        assert "[a dog is] dog runs" in shown
        assert "[]" not in shown
    assert max(map(len, text.splitlines())) <= 90
    assert "growth 0.00" in text or "growth -0.00" in text


def test_numbers_of_findings_come_with_their_intervals_in_as_many_decimals_as_these_carry() -> None:
    numbers = {"rate": 1.0123, "rate: low": 1.0101, "rate: high": 1.0146, "tiny": 0.0004, "tiny: low": 0.0003,
               "tiny: high": 0.0005, "none": None, "exact": 2.0, "exact: low": 2.0, "exact: high": 2.0}  # fmt: skip
    found = replace(made().findings[0], numbers=numbers)
    assert finding_numbers(found) == "rate 1.012 [1.010, 1.015]; tiny 0.0004 [0.0003, 0.0005]; none n/a; exact 2"
