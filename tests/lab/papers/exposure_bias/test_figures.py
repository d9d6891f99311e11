"""Figures by the length of a prefix: panels, legends with averages, bands."""

import numpy as np
import pytest

from made_up_exposure import make_exposure_results
from textassay.report.document import Figure
from textassay.report.plots import Curves, Point
from textassay_lab.exposure.bias import eb_c
from textassay_lab.exposure.by_length import Curve, lengths_figure
from textassay_lab.papers.exposure_bias.findings import after_words
from textassay_lab.papers.exposure_bias.results import exposure_figures

MADE = make_exposure_results()
FIGURES: dict[str, Figure] = {figure.name: figure for figure in exposure_figures(MADE)}


@pytest.mark.feature("EB-15")
def test_each_figure_has_its_panels_and_says_the_averages() -> None:
    assert list(FIGURES) == [
        *("figure-2-eb-c", "figure-4-eb-c-of-models", "figure-3-cgd-lstm-512", "figure-3-cgd-lstm-32"),
        "figure-3-cgd-lstm-32-random-oracle",
    ]
    plot = FIGURES["figure-2-eb-c"].plot
    assert isinstance(plot, Curves)
    assert plot.panels == ("total variation", "Jensen-Shannon", "greedy")
    kinds = MADE.synthetic["LSTM-32"]
    rate = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), "greedy")
    (line,) = (series for series in plot.series if series.name == "LSTM-32" and series.panel == 2)
    assert [point.x for point in line.points] == list(range(1, 11))
    assert [point.y for point in line.points] == pytest.approx(rate.values.tolist())
    assert rate.average == pytest.approx(np.mean(rate.runs))
    average = f"LSTM-32, average {rate.average:.3f}"
    assert average in FIGURES["figure-2-eb-c"].caption
    assert average in FIGURES["figure-2-eb-c"].description
    cgd = FIGURES["figure-3-cgd-lstm-512"].plot
    assert isinstance(cgd, Curves)
    assert len({series.dashes for series in cgd.series if series.name.startswith("corrupted")}) == 5
    for figure in FIGURES.values():
        assert figure.description.startswith(figure.caption.split(",")[0])


def test_bands_are_the_intervals_and_undefined_lengths_are_left_out() -> None:
    points = [Point(x, 1 + x / 100, 1.0, 1.2) for x in range(1, 6)]
    figure = lengths_figure([Curve("T", "a", "", "words", "EB-C", (*points, Point(6, float("nan"))))])
    assert "a: 1.010 at 1, 1.030 at 3, 1.050 at 5" in figure.description
    assert isinstance(figure.plot, Curves)
    (line,) = figure.plot.series
    assert line.band
    assert [(point.x, point.low, point.high) for point in line.points] == [(x, 1.0, 1.2) for x in range(1, 6)]
    nothing = lengths_figure([Curve("T", "a", "f", "words", "EB-C", ())])
    assert "a undefined" in nothing.description
