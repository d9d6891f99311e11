"""Every table of every terminal report, at any width: no number is cut, folded or left out of its row."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from made_up import sentences
from made_up_comparisons import MANY_METRICS, REVIEWS, make_comparison, make_explanation
from made_up_exposure import make_bleu_runs, make_exposure_results, reproduction
from made_up_judgements import simulate
from textassay.comparison.comparison import Comparison, Rank
from textassay.comparison.document import comparison_document, screen_document
from textassay.comparison.explanation_document import explanation_document
from textassay.comparison.plan_document import plan_document
from textassay.comparison.planning import Pilot, PilotCurve, PilotGenerator, plan
from textassay.estimate import Interval
from textassay.leakage.document import leaks_document
from textassay.leakage.leaks import leaks
from textassay.report import terminal
from textassay.report.terminal import print_document, print_table
from textassay_lab.adversarial.document import AdversarialTraining, adversarial_training_document
from textassay_lab.adversarial.rounds import Round, RoundsHistory
from textassay_lab.approximation.approximation import Approximation, CurvePoint
from textassay_lab.approximation.document import approximation_document
from textassay_lab.exposure.bleu import eb_bleu_of_runs
from textassay_lab.exposure.document import exposure_document
from textassay_lab.exposure.exposure_bias import ChosenLengths, Exposure, ExposureSettings
from textassay_lab.generator.document import TrainedText, Training, likelihood_document, training_document
from textassay_lab.generator.text_likelihood import Quantity, TextLikelihood
from textassay_lab.human.analysis import analyse
from textassay_lab.human.document import analysis_document, next_word_document, power_document
from textassay_lab.human.next_word import NextWordScore
from textassay_lab.meta_evaluation.bench import Bench, BenchCell
from textassay_lab.meta_evaluation.bench_document import bench_document
from textassay_lab.meta_evaluation.damage import DAMAGES
from textassay_lab.meta_evaluation.damage_curve import DamageCurve
from textassay_lab.meta_evaluation.discrepancy_document import discrepancy_document
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judge_document import judge_document
from textassay_lab.meta_evaluation.judging import judge_evaluators
from textassay_lab.meta_evaluation.known_truth import KnownTruth
from textassay_lab.meta_evaluation.model_discrepancy import ModelDiscrepancy, Side
from textassay_lab.meta_evaluation.stress import Stress
from textassay_lab.meta_evaluation.stress_document import stress_document
from textassay_lab.papers.document import reproduction_document
from textassay_lab.training.history import Epoch, Reading

WIDTHS = (40, 60, 80, 100, 200)
NUMBER = re.compile(r"[*\[(<>≥≤±+.-]*\d[\d.,\s%±+\[\]()<>≥≤/-]*")
LARGE = 24_046_822.125
TEXT = TrainedText("train.txt", 100_000, 1_234_567, 0, 0.0)
STUDY = simulate(np.random.default_rng(0), generators={"(real)": 1.5, "lstm": 0.5, "gan": -1.5})
Report = Callable[[Console], None]


def _quantity(value: float) -> Quantity:
    return Quantity(value, Interval(0.99 * value, 1.01 * value, 0.95, "t"))


def _approximation() -> Report:
    curve = [CurvePoint(10**n, 12345.678, 2345.678, 2345.678, 1.5, 0.25) for n in range(3, 7)]
    found = Approximation(
        "a-generator", "multinomial", 10**6, 1e-9, 7, 0, 0.95, 0, 15_561, 108_927, 3, 5.5, 0.01, 27,
        _quantity(24.519), _quantity(24.217), _quantity(23.5), _quantity(0.0123), 0.25, 1.5, tuple(curve),
    )  # fmt: skip
    return lambda console: print_document(
        approximation_document(found, text="test.txt", tokenizer="whitespace"), console
    )


def _likelihood() -> Report:
    found = TextLikelihood(np.full(3, -9.0), 10_000, 1_234_567, 7_654_321, 0.1, *map(_quantity, (16.9, 3.1, 14.2)))
    return lambda console: print_document(likelihood_document({"test.txt": found}, model="lstm"), console)


def _exposure() -> Report:
    rng = np.random.default_rng(0)
    ratios = {"model": (1.0, 1.02, 1.01), "corrupted:0.1": (1.1, 1.2, 1.3), "shuffled": (1.5, 2.0, 2.5)}
    lengths = ChosenLengths((5, 10, 15), 20, {5: 4000, 10: 3900, 15: 3000, 20: 2500}, 4000, 2500)
    bleu = {
        kind: eb_bleu_of_runs(make_bleu_runs(rng, ratios={"model": values}, lengths=(5, 10, 15)))
        for kind, values in ratios.items()
    }
    found = Exposure("lstm", None, ExposureSettings(kinds=tuple(ratios), bleu_runs=10), lengths, 0.01, bleu)
    return lambda console: print_document(exposure_document(found), console)


def _judging() -> Report:
    rng = np.random.default_rng(0)
    names = tuple(f"generator-{place}" for place in range(9))
    quality = np.arange(9.0)
    texts = {name: rng.normal(place, size=20) for place, name in enumerate(names)}
    metrics = [
        Evaluation(f"a-metric-with-a-name({k})", "higher", names, quality + k * rng.normal(size=9)) for k in range(4)
    ]
    gold = Evaluation("H1", "higher", names, np.array([terms.mean() for terms in texts.values()]), texts)
    judging = judge_evaluators([gold], metrics, n_resamples=100)
    return lambda console: print_document(judge_document(judging), console)


def _stress() -> Report:
    names, damages = ("dd", "a-metric(of=a-long-variant)"), tuple(DAMAGES)[:8]
    curves = tuple(
        DamageCurve(
            name,
            "lower",
            damage,
            (0.1, 0.8),
            np.zeros((2, 3)),
            effects=(0.1, 0.2),
            lows=(0.0, 0.1),
            highs=(0.2, 0.3),
            verdict="sees",
            smallest=0.1,
            monotone=False,
        )
        for name in names
        for damage in damages
    )
    stress = Stress(curves, names, damages, (0.1, 0.8), 2000, 5, 0.95, 0, {"real": 10_000})
    return lambda console: print_document(stress_document(stress), console)


def _bench() -> Report:
    cells = [
        BenchCell(name, "news", world, "order-of-4", "ngram", False, 100, n, n, 0, "dd", 0.2, 0.15, 0.25, 0.95, 0.1,
             "lower", 0.8, 0.79, 0.81, 12345.6, 98765.4)
        for name in ("plain", "quick", "a-long-estimator(effort=max)")
        for world in ("order-2-of-4", "order-3-of-4", "a-world-with-a-very-long-name")
        for n in (500, 20_000)
    ]  # fmt: skip
    names = tuple(dict.fromkeys(cell.estimator for cell in cells))
    bench = Bench(tuple(cells), names, (500, 20_000), (100,), {"news": 10_000})
    return lambda console: print_document(bench_document(bench), console)


def _adversarial() -> Report:
    values = {"judge_loss": LARGE, "variety": 1.23, "reward": 0.4, "generator_loss": -1234.5}
    rounds = tuple(Round(number, "discriminator", values) for number in range(1, 4))
    readings = tuple(Reading(number, number, {"valid_nll_per_token": 4.9}) for number in (2, 3))
    history = RoundsHistory(rounds, readings, kept=3)
    training = AdversarialTraining("seqgan(lstm)", 10, "whitespace", 5, TEXT, TEXT, {"device": "cpu"}, history)
    return lambda console: print_document(adversarial_training_document(training), console)


def _training() -> Report:
    readings = tuple(Reading(10**n, n, {"textassay/dd": 0.5, "textassay/perplexity-of-it": LARGE}) for n in range(3, 7))
    epochs = tuple(Epoch(number, LARGE, -4.5) for number in (1, 2))
    training = Training(
        "lstm", 123_456_789, "whitespace", 54_321, TEXT, TEXT, 4.567, {"device": "cpu"}, epochs, readings
    )
    return lambda console: print_document(training_document(training), console)


def _discrepancy() -> Report:
    bounds = Interval(0.31, 0.32, 0.95, "t")
    truth = KnownTruth(0.3141, bounds, 0.3142, 0.3, 0.32, 0.3143, bounds, bounds, 1000, 1000, 0.5)
    found = ModelDiscrepancy(truth, Side("p", 0, 0), Side("q", 0, 0), 100_000, 20, 0, (np.zeros(1), np.zeros(1)))
    return lambda console: print_document(discrepancy_document(found), console)


def _plan() -> Report:
    points = make_explanation("lstm").curve
    pilot = Pilot((PilotGenerator("lstm", 0.3, 0.6, 0.7, 400, 400, PilotCurve(points, True, 0.1, 0.0, 0.2)),), None)
    return lambda console: print_document(plan_document(plan(pilot=pilot, folds=1)), console)


def _study() -> Report:
    document = reproduction_document(reproduction(make_exposure_results()))
    return lambda console: print_document(document, console)


def _power() -> Report:
    rows = [
        {"judges": k, "raters": 10**6, "texts": 10**7 + k, "judgements": 10**8, "design_effect": 1.25, "power": 0.8,
         "ties_by_guessing": 0.5 * (k % 2 == 0)} for k in (1, 2, 5)
    ]  # fmt: skip
    document = {
        "other": None, "power": 0.8, "accuracy": 0.6, "level": 0.95, "texts": 200, "rows": rows,
        "text_correlation": 0.1, "rater_correlation": 0.2, "texts_per_rater": 20.0,
    }  # fmt: skip
    return lambda console: print_document(power_document(document), console)


def _next_words() -> Report:
    bounds = Interval(0.1234, 0.2345, 0.95, "t")
    score = NextWordScore("lstm", 0.15, 0.18, 1.2, bounds, bounds, bounds, 1_234, 1_235, 400, 20, None)
    return lambda console: print_document(next_word_document(score), console)


def _leaks() -> Report:
    train = sentences(300, 1)
    sides = {"copier": [*train[:150], *sentences(150, 2)], "other": sentences(300, 3)}
    found = leaks(sides, sentences(300, 4), train=train, canaries=train[:9], canary_controls=sentences(9, 5))
    return lambda console: print_document(leaks_document(found), console)


def _compared(comparison: Comparison) -> Report:
    return lambda console: print_document(comparison_document(comparison), console, everything=False)


def _on_one_screen(comparison: Comparison) -> Report:
    return lambda console: print_document(screen_document(comparison, where="x", console=console), console)


def _tied(comparison: Comparison) -> Comparison:
    tied = tuple(Rank(rank.generator, rank.metric, 1, len(comparison.generators)) for rank in comparison.ranks)
    return replace(comparison, ranks=tied)


REPORTS: dict[str, Callable[[], Report]] = {
    "compare": lambda: _compared(make_comparison(heldout=True, missing=True)),
    "compare on one screen": lambda: _on_one_screen(
        make_comparison(REVIEWS[:4], metrics=MANY_METRICS, heldout=True, missing=True)
    ),
    "compare many": lambda: _compared(make_comparison(REVIEWS[:4], metrics=MANY_METRICS)),
    "compare tied": lambda: _compared(_tied(make_comparison(("a" * 60, "b" * 60)))),
    "explain": lambda: lambda console: print_document(explanation_document([make_explanation("lstm")]), console),
    "plan": _plan,
    "leaks": _leaks,
    "exposure": _exposure,
    "likelihood": _likelihood,
    "approximate": _approximation,
    "judge": _judging,
    "stress": _stress,
    "bench": _bench,
    "train": _training,
    "train seqgan": _adversarial,
    "discrepancy": _discrepancy,
    "human analyse": lambda: lambda console: print_document(analysis_document(analyse(STUDY)), console),
    "study": _study,
    "human power": _power,
    "human exposure": _next_words,
}


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is put into the tables of a report, however it is printed."""
    found: list[str] = []
    add = Table.add_row

    def spy(self: Table, *row: Any, **options: Any) -> None:
        texts = (cell.plain if isinstance(cell, Text) else str(cell or "") for cell in row)
        found.extend(line for text in texts for line in text.split("\n"))
        add(self, *row, **options)

    monkeypatch.setattr(Table, "add_row", spy)
    grid, latest, start = terminal._grid, None, 0

    def again(table: Any, *arguments: Any) -> Table:
        """Forget what was put into a table that was too wide: it is made again with fewer columns."""
        nonlocal latest, start
        start = start if table is latest else len(found)
        latest = table
        del found[start:]
        return grid(table, *arguments)

    monkeypatch.setattr(terminal, "_grid", again)
    return found


def _printed(report: Report, width: int) -> str:
    file = io.StringIO()
    report(Console(file=file, width=width))
    return file.getvalue()


@pytest.mark.parametrize("name", REPORTS)
def test_every_number_stands_whole_at_any_width(name: str, cells: list[str]) -> None:
    report = REPORTS[name]()
    for width in (WIDTHS[0], WIDTHS[-1]) if name == "study" else WIDTHS[::2]:
        cells.clear()
        text = _printed(report, width)
        numbers = {cell.strip() for cell in cells if NUMBER.fullmatch(cell.strip().removesuffix("~"))}
        assert numbers
        assert not [number for number in numbers if number not in text], width
        assert not re.search(r"\d…", text), width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_one_screen_leaves_out_whole_columns_from_the_right(width: int) -> None:
    comparison = make_comparison(REVIEWS[:4], metrics=MANY_METRICS, heldout=True, missing=True)
    document = screen_document(comparison, where="x", console=Console(width=width))
    text = _printed(lambda console: print_document(document, console), width)
    (table,) = document.tables
    shown = [all(row.cells[place].plain in text for row in table.rows) for place in range(len(table.columns))]
    assert shown == sorted(shown, reverse=True)
    assert shown[:3] == [True] * 3  # the name, the headline, the rank
    assert all(shown) == (width >= 100)
    families = {column.group or column.name for column, is_shown in zip(table.columns, shown, strict=True) if is_shown}
    assert ("nats per token" in " ".join(text.split())) == ("lm-score" in families)  # units of columns that are there
    assert not re.search(r"\d…", text)


def test_a_number_longer_than_the_terminal_is_not_cut() -> None:
    table = Table()
    table.add_column("name")
    table.add_column("value", justify="right")
    table.add_row("a", "123,456,789,012,345,678,901,234,567,890")
    text = _printed(lambda console: print_table(console, table), 20)
    assert "123,456,789,012,345,678,901,234,567,890" in text


def test_what_fits_is_one_table_and_what_does_not_is_broken_between_columns() -> None:
    table = Table(box=None)
    table.add_column("name")
    for letter in "abcd":
        table.add_column(f"value {letter}", justify="right")
    table.add_row("first", *(["1,234,567"] * 4))
    assert len(_printed(lambda console: print_table(console, table), 80).splitlines()) == 2
    lines = _printed(lambda console: print_table(console, table), 34).splitlines()
    assert [line.split()[0] for line in lines if line.strip()].count("first") == 2
    assert max(map(len, lines)) <= 34
