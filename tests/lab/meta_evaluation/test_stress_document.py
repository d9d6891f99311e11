"""What damage does to metrics as a report: from results made by hand."""

import numpy as np
import pytest

from documents import column_of, table_of
from textassay.report.document import Document
from textassay.report.drawing import draw_svg
from textassay.report.plots import Curves, HeatMap
from textassay_lab.meta_evaluation.damage_curve import DamageCurve
from textassay_lab.meta_evaluation.stress import Stress
from textassay_lab.meta_evaluation.stress_document import stress_document

DAMAGES = ("nothing", "drop-words", "copy-reference")
VERDICTS = {
    ("dd", "nothing"): ("blind", None),
    ("dd", "drop-words"): ("sees", 0.1),
    ("dd", "copy-reference"): ("sees", 0.8),
    ("bleu", "nothing"): ("either way", None),
    ("bleu", "drop-words"): ("faint", None),
    ("bleu", "copy-reference"): ("misled", 0.1),
}


def _curve(metric: str, damage: str) -> DamageCurve:
    verdict, smallest = VERDICTS[metric, damage]
    effects = {"sees": (1.0, 8.0), "misled": (-1.0, -8.0)}.get(verdict, (0.1, 0.1))
    return DamageCurve(
        metric, "lower", damage, (0.1, 0.8), np.array([[0.0, 1.0, 2.0]] * 2), noise=0.5, effects=effects,
        lows=effects, highs=effects, sensitivity=effects[1], smallest=smallest, monotone=metric != "bleu",
        verdict=verdict,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.fixture
def document() -> Document:
    curves = tuple(_curve(metric, damage) for metric in ("dd", "bleu") for damage in DAMAGES)
    return stress_document(Stress(curves, ("dd", "bleu"), DAMAGES, (0.1, 0.8), 2000, 5, 0.95, 0, {"real": 10_000}))


def test_the_answer_says_who_sees_most_and_who_is_misled(document: Document) -> None:
    assert document.answer == (
        "Most damage is detected by dd: 2 of 2 kinds.",
        "Damage is mistaken for quality by bleu (copy-reference).",
    )


def test_verdicts_stand_in_the_table_and_every_strength_in_the_record(document: Document) -> None:
    assert column_of(document, "verdicts", "copy-reference") == ["0.8", "WRONG 0.1~"]
    assert column_of(document, "verdicts", "nothing") == ["-", "?~"]
    tones = {row.cells[0].text: row.cells[3].tone for row in table_of(document, "verdicts").rows}
    assert tones == {"dd ↓": "good", "bleu ↓": "bad"}
    (record,) = document.records
    assert len(record.rows) == 2 * 3 * 2
    values = {column.name: cell.value for column, cell in zip(record.columns, record.rows[3].cells, strict=True)}
    assert (values["damage"], values["strength"], values["effect"]) == ("drop-words", 0.8, 8.0)
    assert (values["effect_in_standard_errors"], values["mean_value"]) == (16.0, 2.0)


def test_the_map_and_the_curves_say_the_same(document: Document) -> None:
    heat, curves = document.figures
    assert isinstance(heat.plot, HeatMap)
    told = {
        (metric, damage): cell
        for metric, row in zip(heat.plot.rows, heat.plot.cells, strict=True)
        for damage, cell in zip(heat.plot.columns, row, strict=True)
        if cell is not None
    }
    assert told["bleu", "nothing"].outlined
    assert told["dd", "nothing"].value == 0
    assert (told["dd", "copy-reference"].value or 0) > 0 > (told["bleu", "copy-reference"].value or 0)
    assert told["bleu", "copy-reference"].text == "0.1~"
    assert isinstance(curves.plot, Curves)
    assert curves.plot.panels == DAMAGES
    line = next(series for series in curves.plot.series if (series.name, series.panel) == ("classifier", 1))
    assert [(point.x, point.y) for point in line.points] == [(0.0, 0.0), (0.1, 2.0), (0.8, 16.0)]
    for figure in (heat, curves):
        assert "drop-words" in draw_svg(figure)
