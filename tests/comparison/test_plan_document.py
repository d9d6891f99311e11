"""How many texts are needed, as a report."""

from documents import cell_of, column_of
from textassay.comparison.explanation import CurvePoint
from textassay.comparison.plan_document import plan_document
from textassay.comparison.planning import Pilot, PilotCurve, PilotGenerator, plan
from textassay.report.plots import Curves


def test_a_plan_shows_its_pilot() -> None:
    points = tuple(CurvePoint(n, n, 0.1, 0.05, 0.15) for n in (100, 200))
    curve = PilotCurve(points, True, 0.02, 0.01, 0.03)
    found = PilotGenerator("lstm", 0.1, 0.6, 0.5, 200, 200, curve)
    document = plan_document(plan(pilot=Pilot((found,), None), margins=[0.02]))
    assert document.answer[0].endswith(
        "texts, real and of each generator, are needed for dd within ±0.02, 95 % interval."
    )
    assert column_of(document, "pilot", "still rising?") == ["yes", "yes"]
    assert cell_of(document, "pilot", "lstm", "dd") == "0.100"
    (figure,) = document.figures
    assert isinstance(figure.plot, Curves)
    assert [(point.x, point.y) for point in figure.plot.series[0].points] == [(100, 0.1), (200, 0.1)]
