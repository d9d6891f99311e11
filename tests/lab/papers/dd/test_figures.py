"""The figures of the temperature sweep."""

import pytest

from textassay.report.plots import Curves
from textassay_lab.papers.dd.experiment import TEMPERATURES
from textassay_lab.papers.dd.results import sweep_figures
from textassay_lab.papers.reproduction import Cell

FAMILIES = {family: tuple(f"{family}_{share}" for share in ("0.2", "0.6", "1.0")) for family in ("LSTM", "GPT-2")}


@pytest.mark.feature("DD-24")
def test_sweeps_have_a_panel_a_family_a_curve_each_generator_and_both_conventions() -> None:
    labels = ("BLEU-5", "self-BLEU-5", "LM score", "reverse LM score", "FED")
    names = [name for names in FAMILIES.values() for name in names]
    cells = [
        Cell(f"{name} at {temperature:g}", label, 0.1 * place + temperature + row)
        for row, name in enumerate(names)
        for temperature in TEMPERATURES
        for place, label in enumerate(labels)
    ]
    drawn = {figure.name: figure for figure in sweep_figures(FAMILIES, cells, reverse="reverse LM score")}
    assert list(drawn) == ["sweep-bleu", "sweep-lm", "sweep-fed"]
    for figure in drawn.values():
        assert "temperatures 0.8, 0.9, 1.0, 1.1, 1.2" in figure.description
        assert "divided by T; the paper's code multiplies them, so its temperature is 1 / T" in figure.description
        assert isinstance(figure.plot, Curves)
        assert figure.plot.panels == tuple(FAMILIES)
        lines = [series for series in figure.plot.series if series.line]
        assert [(line.name, line.panel) for line in lines] == [
            (share, panel) for panel in (0, 1) for share in ("0.2", "0.6", "1.0")
        ]
        assert all(len(line.points) == 5 for line in lines)
        shades = [line.pale for line in lines if line.panel == 0]
        assert shades == sorted(set(shades), reverse=True)
        assert figure.plot.y.name.startswith("\N{LEFTWARDS ARROW} better: ")
    bleu, fed = drawn["sweep-bleu"].plot, drawn["sweep-fed"].plot
    assert isinstance(bleu, Curves)
    assert isinstance(fed, Curves)
    assert "\N{MINUS SIGN}BLEU-5" in bleu.x.name
    assert bleu.series[0].points[1].x == -(0.9 + 0)
    assert bleu.series[0].points[1].y == pytest.approx(1.0)
    assert fed.x.name == "T (logits / T; the paper's code: 1 / T)"
