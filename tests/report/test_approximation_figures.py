"""Figures of approximations: lines where the numbers are."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from textassay.approximation import RuleCurve
from textassay.report import draw_rules


def rule(spread: float, *, known: bool) -> RuleCurve:
    sizes = tuple(range(20, 3001, 10))
    differences = tuple(spread * 10 / size for size in sizes)
    errors = tuple(size**-0.5 for size in sizes) if known else None
    stops_at = next(size for size, value in zip(sizes, differences, strict=True) if value < 1e-3)
    return RuleCurve(sizes, differences, errors, stops_at, 10, 1e-3, 64, 1280)


@pytest.mark.feature("LM-06")
def test_two_generators_and_the_line_of_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    plotted = []
    levels = []
    drawn_on: list[Axes] = []
    plot, line = Axes.plot, Axes.axhline

    def kept_plot(self: Axes, *data: Any, **style: Any) -> Any:
        plotted.append(data)
        drawn_on.append(self)
        return plot(self, *data, **style)

    def kept_line(self: Axes, y: float, **style: Any) -> Any:
        levels.append(y)
        return line(self, y, **style)

    monkeypatch.setattr(Axes, "plot", kept_plot)
    monkeypatch.setattr(Axes, "axhline", kept_line)
    rules = {"SeqGAN": rule(0.16, known=True), "recurrent GAN": rule(0.12, known=False)}
    drawing = draw_rules(rules)
    curves = [np.asarray(y) for x, y, *_ in plotted if len(x) > 1]
    assert [len(curve) for curve in curves] == [299] * 3
    assert curves[0] == pytest.approx(np.array(rules["SeqGAN"].differences))
    assert curves[1] == pytest.approx(np.array(rules["SeqGAN"].errors))
    assert curves[2] == pytest.approx(np.array(rules["recurrent GAN"].differences))
    assert [x for x, *_ in plotted if len(x) == 1] == [[1610], [1210]]
    assert levels == [1e-3]
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in drawn_on} == {("log", "log")}
    for part in (
        "SeqGAN: change over 10 draws",
        "recurrent GAN: change",
        "0.001, which the rule asks for",
        "true error",
    ):
        assert part in drawing.svg
    assert "SeqGAN: change over the last 10 draws, log-log slope -1.00; true error, slope -0.50" in drawing.description
