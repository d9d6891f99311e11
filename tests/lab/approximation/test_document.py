"""Figures of approximations: lines where the numbers are."""

import pytest

from textassay.report.plots import Curves
from textassay_lab.approximation.document import rules_figure
from textassay_lab.approximation.stopping_rule import RuleCurve


def rule(spread: float, *, known: bool) -> RuleCurve:
    sizes = tuple(range(20, 3001, 10))
    differences = tuple(spread * 10 / size for size in sizes)
    errors = tuple(size**-0.5 for size in sizes) if known else None
    stops_at = next(size for size, value in zip(sizes, differences, strict=True) if value < 1e-3)
    return RuleCurve(sizes, differences, errors, stops_at, 10, 1e-3, 64, 1280)


@pytest.mark.feature("LM-06")
def test_two_generators_and_the_line_of_the_rule() -> None:
    rules = {"SeqGAN": rule(0.16, known=True), "recurrent GAN": rule(0.12, known=False)}
    figure = rules_figure(rules)
    plot = figure.plot
    assert isinstance(plot, Curves)
    curves = [[point.y for point in series.points] for series in plot.series if series.line]
    assert [len(curve) for curve in curves] == [299] * 3
    assert curves[0] == list(rules["SeqGAN"].differences)
    assert curves[1] == list(rules["SeqGAN"].errors or ())
    assert curves[2] == list(rules["recurrent GAN"].differences)
    assert [series.points[0].x for series in plot.series if not series.line] == [1610, 1210]
    assert [line.at for line in plot.references] == [1e-3]
    assert (plot.x.scale, plot.y.scale) == ("log10", "log10")
    for part in (
        "SeqGAN: change over 10 draws",
        "recurrent GAN: change",
        "0.001, which the rule requires",
        "true error",
    ):
        assert part in figure.svg
    assert "SeqGAN: change over 10 draws, log-log slope -1.00" in figure.description
    assert "SeqGAN: true error, slope -0.50" in figure.description
