"""A meta-evaluation as a report: its numbers are those of the result, and what may be luck looks so."""

import io
import math
from dataclasses import replace
from functools import cache

import numpy as np
from rich.console import Console

from documents import cell_of, column_of, table_of
from textassay.inspection.finding import Finding
from textassay.report.document import Document
from textassay.report.drawing import draw_svg
from textassay.report.files import document_files
from textassay.report.plots import Curves, Forest, HeatMap
from textassay.report.terminal import print_document
from textassay.report.text import number
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judge_document import judge_document
from textassay_lab.meta_evaluation.judging import Judging, judge_evaluators

NAMES = tuple(f"g{place}" for place in range(8))
METRICS = ("near", "far", "against")


@cache
def made() -> Judging:
    rng = np.random.default_rng(0)
    quality = np.arange(8.0)
    texts = {name: rng.normal(place, size=20) for place, name in enumerate(NAMES)}
    gold = Evaluation("H1", "higher", NAMES, np.array([terms.mean() for terms in texts.values()]), texts)
    values = {"near": (quality, "higher"), "far": (quality + 4 * rng.normal(size=8), "higher"),
              "against": (quality, "closer")}  # fmt: skip
    metrics = [
        Evaluation(name, better, NAMES, row, floor=0.5 if better == "closer" else None)  # type: ignore[arg-type]
        for name, (row, better) in values.items()
    ]
    return judge_evaluators([gold], metrics, n_resamples=100, left_out={"lost": "it is undefined"})


@cache
def document() -> Document:
    return judge_document(made())


def _printed(shown: Document, *, everything: bool) -> str:
    file = io.StringIO()
    print_document(shown, Console(file=file, width=100), everything=everything)
    return " ".join(file.getvalue().split())


def test_the_table_holds_the_correlations() -> None:
    assert column_of(document(), "agreement-h1", "metric") == list(made().verdicts[0].order)
    for name in METRICS:
        tau = made().agreement("H1", name)
        assert cell_of(document(), "agreement-h1", name, "tau") == number(tau.value, 2)
        score = next(one for one in made().pair_scores if one.evaluator == name)
        wrong = f"{score.n_wrong} ({score.n_wrong_separated})"
        assert cell_of(document(), "agreement-h1", name, "wrong") == wrong
    (trusted,) = [
        row.cells[0].text for row in table_of(document(), "agreement-h1").rows if row.cells[0].tone == "best"
    ]  # fmt: skip
    assert (trusted,) == made().verdicts[0].trusted
    assert document().answer[0].startswith("To rank such generators, trust near (tau 1.00")


def test_all_values_stand_in_files_alone() -> None:
    assert cell_of(document(), "values", "near", "g3") == "3.0000"
    assert cell_of(document(), "values", "against, less real text", "g3") == "3.0000"
    assert "All values" in _printed(document(), everything=True)
    brief = _printed(document(), everything=False)
    assert "All values" not in brief
    assert "lost is left out: it is undefined" in brief
    files = document_files(document(), stem="judge")
    assert {"judge.csv", "judge.md", "judge.html", "judge.tex"} <= set(files)
    assert len(str(files["judge.csv"]).splitlines()) == 1 + len(made().agreements)


def test_figures_show_every_evaluator_and_what_may_be_luck() -> None:
    drawn = {figure.name: figure for figure in document().figures}
    assert list(drawn) == [f"judge-{name}" for name in ("taus", "values", "matrix", "scatter", "ranks")]
    taus = drawn["judge-taus"].plot
    assert isinstance(taus, Forest)
    for row in taus.rows:
        (mark,) = row.marks
        found = made().agreement("H1", row.name)
        assert (mark.value, mark.low, mark.high) == (found.value, found.low, found.high)
        assert mark.style == ("filled" if found.p_adjusted < 0.05 else "hollow")
    assert {mark.style for row in taus.rows for mark in row.marks} == {"filled", "hollow"}
    ranks, values = drawn["judge-ranks"].plot, drawn["judge-values"].plot
    assert isinstance(ranks, HeatMap)
    assert ranks.rows == made().golds[0].order
    assert [row[1].text for row in ranks.cells if row[1] is not None] == [str(place) for place in range(1, 9)]
    assert isinstance(values, Forest)
    assert values.own_scales
    assert [line.at for line in values.references] == [0.5]
    scatter = drawn["judge-scatter"].plot
    assert isinstance(scatter, Curves)
    assert {point.label for point in scatter.series[0].points} == {str(place) for place in range(1, 9)}
    for figure in drawn.values():
        assert draw_svg(figure).startswith("<?xml")
        assert "nan" not in figure.description


def test_the_verdict_stands_before_what_warns_of_it() -> None:
    warning = Finding("glued", "warning", "g0", "Glued.", 1, 0, 2, 2, None, None, "Repair it.")
    sentences = judge_document(replace(made(), findings=(warning,))).answer
    assert sentences[0].startswith("To rank such generators, trust near")
    assert sentences[1] == "Metrics may have ranked the generators by differences that the warnings name: glued."


def test_undefined_correlations_are_said_to_be_so() -> None:
    gold = Evaluation("H1", "higher", NAMES, np.arange(8.0))
    same = Evaluation("same", "higher", NAMES, np.zeros(8))
    near = Evaluation("near", "higher", NAMES, np.arange(8.0))
    judging = judge_evaluators([gold], [same, near], n_resamples=100)
    assert math.isnan(judging.agreement("H1", "same").value)
    assert cell_of(judge_document(judging), "agreement-h1", "same", "tau") == "n/a"
