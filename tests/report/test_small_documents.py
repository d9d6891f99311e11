"""Reports of training, monitors, likelihood, approximation, discrepancy and translation: numbers, figures, files."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from documents import cell_of, column_of, table_of
from textassay.estimate import Interval, Signature
from textassay.report.document import Document
from textassay.report.files import document_files
from textassay.report.plots import Curves, Forest
from textassay.report.show import document
from textassay.storage import write_files
from textassay_lab.adversarial.document import AdversarialTraining, adversarial_training_document
from textassay_lab.adversarial.rounds import Round, RoundsHistory
from textassay_lab.approximation.approximation import Approximation, CurvePoint
from textassay_lab.approximation.document import approximation_document
from textassay_lab.generator.document import (
    ForcedText,
    Monitored,
    TrainedText,
    Training,
    likelihood_document,
    training_document,
    translation_document,
)
from textassay_lab.generator.text_likelihood import Quantity, TextLikelihood
from textassay_lab.human.document import next_word_document
from textassay_lab.human.next_word import NextWordScore
from textassay_lab.judges.meta_evaluator import MetaEvaluation
from textassay_lab.meta_evaluation.discrepancy_document import discrepancy_document
from textassay_lab.meta_evaluation.known_truth import KnownTruth
from textassay_lab.meta_evaluation.model_discrepancy import ModelDiscrepancy, Side
from textassay_lab.monitoring.document import draw_monitor
from textassay_lab.monitoring.monitor import TextMonitor
from textassay_lab.training.history import Epoch, Reading

HOSTILE = "<script>alert(1)</script>\x1b[31m=1+1"
TEXT = TrainedText(HOSTILE, 1_000, 12_345, 2, 0.01)
BOUNDS = Interval(0.30, 0.33, 0.95, "t")


def _quantity(value: float) -> Quantity:
    return Quantity(value, Interval(0.99 * value, 1.01 * value, 0.95, "t"))


def _training() -> Document:
    epochs = tuple(Epoch(number, 5 - 0.1 * number, -2.5 - abs(number - 3)) for number in range(1, 6))
    readings = tuple(Reading(step, step // 10, {"textassay/dd": 1 / step}) for step in (10, 20))
    monitored = Monitored(60, 60, {"textassay/dd": 0.01})
    rows = [{"metric": "dd", "step": 10, "value": 0.1, "low": 0.08, "high": 0.12, "floor": 0.01}]
    training = Training(HOSTILE, 12, "whitespace", 5, TEXT, TEXT, 4.5, {}, epochs, readings, monitored)
    return training_document(training, draw_monitor(rows))


def _adversarial() -> Document:
    rounds = tuple(Round(number, "adversarial", {"reward": number / 100}) for number in range(1, 41))
    validations = tuple(Reading(number, number, {"valid_nll_per_token": 5 - number / 100}) for number in (7, 40))
    history = RoundsHistory(rounds, validations, kept=33)
    return adversarial_training_document(AdversarialTraining(HOSTILE, 9, "whitespace", 5, TEXT, TEXT, {}, history))


def _meta_evaluation() -> Document:
    signature = Signature({"evaluator": HOSTILE})
    scores = {HOSTILE: np.array([0.1, 0.2, 0.6]), "lstm": np.array([0.1, 0.3, 0.2, 0.4])}
    clusters = {HOSTILE: np.array([3, 3, 4]), "lstm": np.array([5, 6, 7, 8])}
    return document(
        MetaEvaluation(
            name="svm", kind="meta", real_scores=np.array([[0.9, 0.2, 0.8]]), generated_scores=scores,
            real_clusters=np.arange(3), generated_clusters=clusters, n_seen={HOSTILE: 1, "lstm": 0}, level=0.95,
            inflation=1.64, signature=signature,
        )
    )  # fmt: skip


def _monitor() -> Document:
    monitor = TextMonitor(["a b c", "b c", "c a b a"] * 40, metrics="length", n=50)
    for step in range(1, 50):
        monitor.measure(lambda n, seed: ["a b c"] * n, step)
    return document(monitor)


def _likelihood() -> Document:
    one, two = (
        TextLikelihood(np.full(2, -9.0), 10, 100, 700, 0.1, *map(_quantity, (value, 3.1, 14.2))) for value in (2.0, 3.0)
    )
    return likelihood_document({HOSTILE: one, "real.txt": two}, model="lstm", tokenizer="whitespace")


def _approximation() -> Document:
    curve = tuple(CurvePoint(n, 20 + 300 / n, 24 - 30 / n, 24.2, None, 0.1) for n in (20, 40, 80))
    quantities = [_quantity(value) for value in (24.5, 24.2, 23.5, 0.01)]
    plain, corrected, exact, gap = quantities
    return approximation_document(
        Approximation(
            HOSTILE, "multinomial", 80, 1e-9, 7, 0, 0.95, 0, 15, 105, 3, 5.5, 0.01, 27,
            plain, corrected, exact, gap, 0.25, 1.5, curve,
        ),
        text="test.txt",
    )  # fmt: skip


def _discrepancy() -> Document:
    truth = KnownTruth(0.314, BOUNDS, 0.315, 0.3, 0.33, 0.312, BOUNDS, BOUNDS, 1000, 1000, 0.5)
    sides = Side(HOSTILE, 0.02, 0), Side("q", 0, 0)
    return discrepancy_document(ModelDiscrepancy(truth, *sides, 1_000, 20, 0, (np.zeros(1), np.zeros(1))))


def _next_word() -> Document:
    return next_word_document(NextWordScore(HOSTILE, 0.15, 0.18, 1.2, BOUNDS, BOUNDS, None, 12, 13, 4, 2, None))


def _translation() -> Document:
    texts = {"normal": [ForcedText("", "a dog runs")], "data3": [ForcedText(HOSTILE, " runs")]}
    return translation_document([HOSTILE], ["a dog"], texts)


DOCUMENTS: dict[str, Callable[[], Document]] = {
    "training": _training,
    "adversarial": _adversarial,
    "meta-evaluation": _meta_evaluation,
    "monitor": _monitor,
    "likelihood": _likelihood,
    "approximation": _approximation,
    "discrepancy": _discrepancy,
    "next-word": _next_word,
    "translation": _translation,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_is_data_and_its_files_are_harmless(name: str, tmp_path: Path) -> None:
    made = DOCUMENTS[name]()
    assert json.dumps(made.to_dict(), allow_nan=False)
    assert made.answer
    assert not made.lead or made.lead in [figure.name for figure in made.figures]
    assert all(figure.description and figure.caption for figure in made.figures)
    for path in write_files(tmp_path, document_files(made, stem=name)):
        text = path.read_text(encoding="utf-8") if path.suffix != ".csv" else ""
        assert "<script>alert" not in text
        assert "\x1b" not in text


def test_a_training_shows_its_epochs_readings_and_what_real_text_scores() -> None:
    document = _training()
    assert column_of(document, "epochs", "epoch") == ["1", "2", "3", "4", "5"]
    assert cell_of(document, "epochs", "3", "") == "kept"
    assert cell_of(document, "epochs", "3", "training loss") == "4.700"
    assert column_of(document, "monitors", "dd") == ["0.100", "0.050", "0.010"]
    assert table_of(document, "monitors").rows[-1].kind == "reference"
    curve, monitor = document.figures
    assert (curve.name, monitor.name) == ("learning-curve", "monitor-dd")
    assert isinstance(curve.plot, Curves)
    assert [point.y for point in curve.plot.series[1].points] == [4.5, 3.5, 2.5, 3.5, 4.5]
    assert [line.at for line in curve.plot.references] == [3]


def test_about_twelve_rounds_are_shown_with_the_kept_one_and_the_curves_have_all() -> None:
    document = _adversarial()
    shown = column_of(document, "rounds", "round")
    assert {"1", "7", "33", "40"} <= set(shown)
    assert len(shown) <= 15
    reward = next(figure for figure in document.figures if figure.name == "rounds-reward")
    assert isinstance(reward.plot, Curves)
    assert len(reward.plot.series[0].points) == 40
    assert document.lead == "rounds-valid-nll-per-token"


def test_two_texts_stand_beside_each_other() -> None:
    table = table_of(_likelihood(), "likelihood")
    assert [column.group for column in table.columns] == ["", HOSTILE, HOSTILE, "real.txt", "real.txt"]
    row = next(row for row in table.rows if row.cells[0].text == "nats per token")
    assert [cell.text for cell in row.cells[1:]] == ["2.000", "[1.980, 2.020]", "3.000", "[2.970, 3.030]"]
    assert row.cells[1].value == 2.0


def test_the_cost_by_draws_is_a_table_and_a_curve() -> None:
    document = _approximation()
    assert cell_of(document, "cost", "corrected", "bits per token") == "24.20"
    assert cell_of(document, "fewer-draws", "40", "corrected") == "23.250"
    assert column_of(document, "fewer-draws", "Richardson") == ["n/a"] * 3
    (figure,) = document.figures
    assert isinstance(figure.plot, Curves)
    assert [point.y for point in figure.plot.series[0].points] == [35.0, 27.5, 23.75]
    assert [line.at for line in figure.plot.references] == [23.5]


def test_a_discrepancy_has_its_estimators_and_says_whether_they_agree() -> None:
    document = _discrepancy()
    assert column_of(document, "discrepancy", "value") == ["0.314", "0.315", "0.312"]
    assert document.answer[1] == "The estimators agree: 0.5 standard errors apart at most."
    assert "2 % reach 20 tokens, where both are cut" in dict(document.facts)["P"]
    (figure,) = document.figures
    assert isinstance(figure.plot, Forest)
    assert [row.marks[0].value for row in figure.plot.rows] == [0.314, 0.315, 0.312]


def test_a_classifier_recognises_the_best_generator_least_and_says_what_it_has_seen() -> None:
    made = _meta_evaluation()
    assert made.answer[0].startswith("svm recognises 0.667 [")
    assert f"of the texts of {HOSTILE} as generated, the fewest, and 1.000 [" in made.answer[0]
    assert column_of(made, "accuracy", "generator")[2:] == ["(generated)", "(real)", "(all)"]
    assert cell_of(made, "accuracy", "lstm", "accuracy") == "1.000"
    assert cell_of(made, "accuracy", "(real)", "accuracy") == "0.667"
    assert cell_of(made, "accuracy", HOSTILE, "different") == "2"
    assert cell_of(made, "accuracy", HOSTILE, "seen") == "1"
    assert "were seen in training" in str(made)
    record = table_of(document(made), "accuracy")
    assert [row.kind for row in record.rows] == ["", "", "reference", "reference", "reference"]
    (figure,) = made.figures
    assert isinstance(figure.plot, Forest)
    assert figure.plot.x.limits[0] is not None
    assert figure.plot.x.limits[0] < 0.5


def test_a_monitor_shows_about_twenty_readings_beside_real_text_and_keeps_all() -> None:
    made = _monitor()
    assert made.answer == ("length is 0.380 at step 49 and was 0.380 at step 1; real text scores 0.060.",)
    steps = column_of(made, "readings", "step")
    assert steps[0] == "1"
    assert steps[-2:] == ["49", "real text"]
    assert 12 < len(steps) < 25
    assert len(table_of(made, "monitor").rows) == 49
    assert made.lead == "monitor-length"
    empty = document(TextMonitor(["a b c", "b c"] * 50, metrics="length", n=50))
    assert empty.answer == ("There are no readings yet.",)
    assert empty._repr_html_()


def test_many_tokens_that_were_never_drawn_are_said_in_the_answer() -> None:
    assert "25.00 % of tokens were never drawn" in _approximation().answer[1]


def test_figures_are_written_as_png_where_asked(tmp_path: Path) -> None:
    made = _meta_evaluation()
    assert not [path for path in made.save(tmp_path / "plain") if path.suffix == ".png"]
    (drawn,) = (path for path in made.save(tmp_path / "both", png=True) if path.suffix == ".png")
    assert drawn.name == "accuracy.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_without_an_interval_a_ratio_of_people_leaves_it_open() -> None:
    document = _next_word()
    assert document.answer[0].startswith("It is not clear whether people detect exposure bias in ")
    assert document.answer[0].endswith(": EB-C is 1.200.")
    assert cell_of(document, "next-word", "ratio, EB-C (1: no exposure bias)", "interval") == ""


def test_forced_beginnings_stand_in_brackets() -> None:
    table = table_of(_translation(), "translations")
    assert [row.cells[0].text for row in table.rows] == ["sentence 1", "source", "reference", "NORMAL", "DATA3"]
    assert table.rows[-1].cells[1].text == f"[{HOSTILE}] runs"
    assert table.notes == ("In brackets: what was forced. DATA3 are not scored against the reference.",)
