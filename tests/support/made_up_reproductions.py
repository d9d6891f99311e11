"""A reproduced study with made-up values: the published ones moved a little, with errors and two training seeds."""

from typing import Literal

import numpy as np

from published_dd import published_measured
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.meta_evaluation.metric_values import MetricValues
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction, beside
from textassay_lab.papers.dd.findings import Measured, agreements, check_findings, tau_cells
from textassay_lab.papers.dd.published import DD, EXACT, FAMILIES, FRACTIONS, published_table

OUR_DD = "our DD"
FIGURES: tuple[tuple[Literal["bleu", "lm", "fed"], str, str], ...] = (
    ("bleu", "BLEU-5", "self-BLEU-5"),
    ("lm", "LM score", "reverse LM score"),
    ("fed", "temperature", "FED"),
)


def make_measured(*, error: float = 0.004, seeds: int = 2) -> tuple[Measured, Measured]:
    """Return the published values with errors of `error`, and a discrepancy of our own that finds 0.1 more."""
    made = []
    for measured in published_measured():
        values: dict[str, list[MetricValues]] = {}
        for label, (exact, *_) in measured.values.items():
            for name, more in ((label, 0.0), *(((OUR_DD, 0.1),) if label == DD else ())):
                runs = []
                for seed in range(seeds):
                    rng = np.random.default_rng([seed, len(values)])
                    moved = exact.values + more + error * rng.normal(size=len(exact.values))
                    n = len(moved)
                    runs.append(
                        MetricValues(
                            name,
                            exact.better,
                            exact.generators,
                            moved,
                            np.full((n, n), error**2),
                            np.full(n, error**2),
                        )
                    )
                values[name] = runs
        made.append(Measured(measured.corpus, measured.families, values, (DD, OUR_DD)))
    return made[0], made[1]


def make_reproduction() -> Reproduction:
    """Return a whole study of both corpora."""
    both = make_measured()
    taus = [tau for measured in both for tau in agreements(measured, n_draws=500)]
    real, synthetic = both
    tables: list[ReproducedTable] = []
    for name, measured in (("table 3", real), ("table 2", synthetic)):
        tables.append(beside(published_table(name), _cells(measured), differs="other text"))
    for name, gold in (("table 4", "training text"), ("table 5", EXACT)):
        tables.append(
            beside(
                published_table(name),
                tau_cells([tau for tau in taus if tau.gold == gold], differs={"FED": "another encoder"}),
            )
        )
    tables.append(beside(published_table("table 7"), _cells(real, spread=0.002), note="Five seeds there, two here."))
    return Reproduction(
        title="Distributional Discrepancy, made up",
        settings={"scale": "none", "seed": 0, "sizes": [100, 200]},
        tables=tuple(tables),
        findings=check_findings(both, taus),
        taus=tuple(taus),
        curves=make_curves(both),
        notes=("Nothing here was measured.",),
        seconds={"train LSTM_0.2": 12.3, "draw LSTM_0.2": 4.5},
    )


def make_curves(both: tuple[Measured, Measured]) -> tuple[Curve, ...]:
    """Return curves of every figure."""
    temperatures = (0.8, 0.9, 1.0, 1.1, 1.2)
    curves = []
    for family, names in FAMILIES.items():
        for place, name in enumerate(names):
            shift = 0.01 * place + (0.1 if family == "GPT-2" else 0)
            for figure, x, y in FIGURES:
                curves.append(Curve(figure, name, family, x, y, tuple(_point(figure, t, shift) for t in temperatures)))
    for family, names in FAMILIES.items():
        exact = both[1].values[EXACT][0].select(names)
        for label in (DD, OUR_DD):
            values = both[1].values[label][0].select(names)
            points = tuple(
                CurvePoint(None, x, y, x - 0.004, x + 0.004, y - 0.01, y + 0.01, label=name)
                for name, x, y in zip(names, exact.values, values.values, strict=True)
            )
            curves.append(Curve("estimate", f"{family}, {label}", family, EXACT, label, points))
    for family, names in FAMILIES.items():
        values = both[0].values[DD][0].select(names)
        for seen, more in (("training text", 0.0), ("unseen text", 0.06)):
            points = tuple(
                CurvePoint(f, 50_000 * f, y - more * f, y_low=y - more * f - 0.01, y_high=y - more * f + 0.01)
                for f, y in zip(FRACTIONS, values.values, strict=True)
            )
            curves.append(Curve("size", f"{family}, DD, {seen}", family, "training sentences", f"DD, {seen}", points))
    return tuple(curves)


def _cells(measured: Measured, *, spread: float | None = None) -> list[Cell]:
    found = []
    for label, runs in measured.values.items():
        for name, value, own in zip(runs[0].generators, runs[0].values, runs[0].own, strict=True):
            arm = 1.96 * float(np.sqrt(own))
            found.append(Cell(name, label, float(value), float(value) - arm, float(value) + arm, spread=spread))
    return found


def _point(figure: str, t: float, shift: float) -> CurvePoint:
    x, y = {
        "bleu": (0.6 - 0.4 * t + shift, 0.7 - 0.5 * t + 0.9 * shift),
        "lm": (2 + t - shift, 4 + 2 * (t - 1) ** 2 - shift),
        "fed": (t, 0.01 + (t - 1.02 + shift) ** 2),
    }[figure]
    return CurvePoint(t, x, y, y_low=y - 0.01, y_high=y + 0.01)
