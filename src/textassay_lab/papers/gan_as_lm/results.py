"""The study ``gan-as-lm``: tables and the figure, ours beside the published ones.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, table 1,
figure 2 and appendix A; what is measured beyond them.
Departs from it: another text and networks as a scale says; SeqGAN several times, each beside its own pre-training.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from textassay.report.document import Figure
from textassay.report.plots import Point
from textassay_lab.approximation.approximation import EPSILON, GAMMA, samples_needed
from textassay_lab.approximation.stopping_rule import CHANGE, RuleCurve
from textassay_lab.exposure.by_length import Curve, lengths_figure
from textassay_lab.papers.findings import LEVEL
from textassay_lab.papers.gan_as_lm.experiment import (
    APPROXIMATE,
    EXACT,
    GAN_PAPER,
    LEAKGAN,
    LSTM,
    MLE,
    SEQGAN,
    UNIFORM,
    WGAN,
    WGAN_SOFT,
    GanExperiment,
    GanResults,
    GanText,
    TextCost,
    short,
)
from textassay_lab.papers.gan_as_lm.findings import (
    N_TYPES,
    STOPS,
    Crossed,
    check_findings,
    check_published,
    first_below,
    mean_of,
    over_parts,
)
from textassay_lab.papers.paper import Scale
from textassay_lab.papers.reproduction import Cell, ReproducedTable, Reproduction, compared
from textassay_lab.papers.stages import Progress, Stage, Study

# Columns of tables, and the sums of `TextCost` whose mean over trainings they have, as `mean_of` takes them
_TABLE_1 = {EXACT: "exact", APPROXIMATE: "plain"}
_APPROXIMATION = {APPROXIMATE: "plain", "corrected": "corrected", "never drawn": "zeros"}
_OF_SOFTMAX, _WITHOUT = {"exact": "exact"}, {"approximate": "plain", "corrected": "corrected"}
_OF_ROUNDS = {"mean, exact": "exact", "mean, approximate": "plain"}


def gan_tables(results: GanResults) -> tuple[ReproducedTable, ...]:
    """Return all tables that the results allow; the published ones stand even without ours."""
    groups = (_table_1, _approximation, _windows, _along, _figure_2, _rule, _bound)
    return tuple(table for make in groups for table in make(results))


def _table_1(results: GanResults) -> Iterator[ReproducedTable]:
    costs, cells = results.costs, []
    for model in (LSTM, MLE, SEQGAN, LEAKGAN, WGAN, WGAN_SOFT, UNIFORM):
        runs = costs.get(model, ())
        if runs:
            known = {column: name for column, name in _TABLE_1.items() if name in runs[0].sums}
            cells += _means(model, runs, known, differs=f"windows of {runs[0].window} characters")
    if UNIFORM in costs:
        cells.append(Cell(UNIFORM, EXACT, math.log2(results.n_types), differs=f"log2({results.n_types}), computed"))
    floor = next(iter(costs.values()))[0].floor if costs else 1.0
    yield compared(GAN_PAPER, "table 1", cells, floor=floor, bits=-math.log2(floor))


def _approximation(results: GanResults) -> Iterator[ReproducedTable]:
    cells: list[Cell] = []
    for model, runs in results.costs.items():
        cells += _means(model, runs, _APPROXIMATION)
        cells += [Cell(model, "window", runs[0].window), Cell(model, "characters", runs[0].n_characters)]
    if cells:
        one = next(iter(results.costs.values()))[0]
        unknown = max(run.unknown_share for runs in results.costs.values() for run in runs)
        yield compared(
            GAN_PAPER, "approximation", cells, n_samples=one.n_samples, floor=one.floor, unknown=100 * unknown
        )


def _windows(results: GanResults) -> Iterator[ReproducedTable]:
    cells: list[Cell] = []
    all_costs = [runs[0] for windows in results.lengths.values() for runs in windows.values()]
    for window in dict.fromkeys(cost.window for cost in all_costs):
        for model, windows in results.lengths.items():
            names = _OF_SOFTMAX if "exact" in windows[window][0].sums else _WITHOUT
            columns = {f"{model}, {column}": name for column, name in names.items()}
            cells += _means(f"{window} characters", windows[window], columns)
    for model, windows in results.on_validation.items():
        for window, runs in windows.items():
            cells += _means(f"{window} characters", runs, {f"{model}, validation text": "corrected"})
    if cells:
        chosen = " ".join(
            f"{model}: windows of {results.costs[model][0].window} cost least on validation text, corrected, and are "
            "those of table 1."
            for model in results.on_validation
        )
        n_samples = next(cost.n_samples for cost in all_costs if "exact" not in cost.sums)
        yield compared(
            GAN_PAPER, "windows", cells, n_characters=all_costs[0].n_characters, n_samples=n_samples, chosen=chosen
        )


def _along(results: GanResults) -> Iterator[ReproducedTable]:
    for model, runs in results.along.items():
        cells: list[Cell] = []
        for number in sorted({number for rounds in runs for number in rounds}):
            there = [rounds[number] for rounds in runs if number in rounds]
            if len(there) == len(runs):
                cells += _means(f"after {number} rounds", there, _OF_ROUNDS)
            for run, rounds in enumerate(runs, 1):
                if number in rounds:
                    cells += _means(f"after {number} rounds", [rounds[number]], {f"training {run}, exact": "exact"})
        name = short(model)
        own = [(title, why) for title, why in results.stopped.items() if title.startswith(name)]
        stopped = "".join(f" {title} ended early: {why}." for title, why in own)
        window = runs[0][0].window
        yield compared(GAN_PAPER, "along training", cells, model=name, window=window, stopped=stopped)


def _figure_2(results: GanResults) -> Iterator[ReproducedTable]:
    cells: list[Cell] = []
    table = GAN_PAPER.tables["figure 2"]
    for model, curves in results.rules.items():
        for place, size in enumerate(curves[0].sizes):
            row = f"N = {size}"
            if row in table.rows:
                cells.append(_cell(row, model, over_parts([curve.differences[place] for curve in curves])))
                errors = [curve.errors[place] for curve in curves if curve.errors is not None]
                cells += [_cell(row, f"{model}: true error", over_parts(errors))] if errors else []
    windows = "; ".join(f"{model} in windows of {results.costs[model][0].window}"
                        for model in results.rules if model in results.costs)  # fmt: skip
    parts = next(iter(results.rules.values()), ())
    n_rows = parts[0].n_rows if parts else 0
    yield compared(GAN_PAPER, "figure 2", cells, n_parts=len(parts), n_rows=n_rows, windows=windows)


def _rule(results: GanResults) -> Iterator[ReproducedTable]:
    cells = []
    for model, curves in results.rules.items():
        values = {
            STOPS: [first_below(curve) for curve in curves],
            "slope of the rule": [curve.slope for curve in curves],
            "slope of the true error": [curve.error_slope for curve in curves if curve.error_slope is not None],
        }
        cells += [_cell(model, column, over_parts(parts)) for column, parts in values.items() if parts]
    yield compared(GAN_PAPER, "stopping rule", cells)


def _bound(results: GanResults) -> Iterator[ReproducedTable]:
    settings = dict.fromkeys(((GAMMA, N_TYPES), (5e-3, N_TYPES), (1e-2, N_TYPES), (GAMMA, results.n_types)))
    cells = [
        Cell(f"gamma {gamma:g}, epsilon {EPSILON:g}, {n_types} types", "N", samples_needed(gamma, EPSILON, n_types))
        for gamma, n_types in settings
    ]
    yield compared(GAN_PAPER, "bound", cells)


def _means(row: str, runs: Sequence[TextCost], columns: Mapping[str, str], *, differs: str = "") -> list[Cell]:
    """Return cells of means over trainings; of each column, the sums of `TextCost`, by spaces, as for `mean_of`."""
    return [_cell(row, column, mean_of(runs, *names.split()), differs=differs) for column, names in columns.items()]


def _cell(row: str, column: str, value: Crossed, *, differs: str = "") -> Cell:
    low, high = value.condition().interval(LEVEL)
    known = np.isfinite(low) and np.isfinite(high)
    return Cell(row, column, value.value, low if known else None, high if known else None, differs, value.runs_sd)


def error_figure(rules: Mapping[str, Sequence[RuleCurve]]) -> Figure:
    """Return figure 2, a panel per generator: criterion, true error where known, published criterion."""
    published = GAN_PAPER.tables["figure 2"]

    def lines() -> Iterator[tuple[str, str, Iterable[tuple[float, float]]]]:
        for model, curves in rules.items():
            sizes = curves[0].sizes
            differences = np.mean([curve.differences for curve in curves], axis=0)
            yield model, "change over 10 draws", zip(sizes, differences.tolist(), strict=True)
            errors = [curve.errors for curve in curves if curve.errors is not None]
            if errors:
                yield model, "true error", zip(sizes, np.mean(errors, axis=0).tolist(), strict=True)
            if model in published.columns:
                printed = published.column(model)
                yield model, "change, published", ((int(row.removeprefix("N = ")), y) for row, y in printed.items())

    return lengths_figure(
        [
            Curve("Figure 2: error against N", name, short(model), "draws a position, N",
                  "largest difference of a share", tuple(Point(x, y) for x, y in points), log="xy", level=CHANGE)
            for model, name, points in lines()
        ]
    )  # fmt: skip


class GanStudy(Study):
    """The study."""

    name = "gan-as-lm"

    def __init__(
        self,
        text: GanText,
        scale: Scale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        scale = scale if runs is None else scale.but(runs=runs)
        super().__init__(folder, scale, seed=seed, progress=progress)
        self.text = text
        self.experiment = GanExperiment(text, scale, seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        results, text = self.measured(), self.text
        fingerprints = {name: getattr(text, name).fingerprint for name in ("train", "valid", "test")}
        sizes = ", ".join(f"{n:,} {what}" for what, n in text.sizes.items())
        return Reproduction(
            title="Evaluating Text GANs as Language Models",
            settings=self.settings(text=fingerprints, sizes=sizes),
            tables=gan_tables(results),
            findings=(*check_findings(results), *check_published()),
            notes=(*self.warning_notes(), *GAN_PAPER.notes),
            seconds=self.seconds(),
            figures=(error_figure(results.rules),),
        )

    def measured(self) -> GanResults:
        """Return the results of the stages; all must be done."""
        experiment = self.experiment
        return GanResults(
            costs=self.read(experiment.costs, _only_cost),
            lengths=self.read(experiment.lengths, _only_cost),
            along=self.read(experiment.along, _only_cost),
            convergence=self.read(experiment.convergence, _costs),
            rules=self.read(experiment.rules, lambda kept: tuple(map(_rule_curve, kept))),
            n_types=self.text.n_types,
            on_validation=self.read(experiment.on_validation, _only_cost),
            stopped=self.read(experiment.trained, lambda kept: kept["stopped"]),
        )


def _costs(kept: Mapping[str, Any] | None) -> dict[int, TextCost]:
    """Return N to cost; nothing where there was no generator."""
    return {int(size): TextCost(**one) for size, one in (kept or {}).items()}


def _only_cost(kept: Mapping[str, Any] | None) -> TextCost | None:
    """Return the cost by the only N; None where there was no generator."""
    return next(iter(_costs(kept).values()), None)


def _rule_curve(data: Mapping[str, Any]) -> RuleCurve:
    """Return the curve whose `RuleCurve.to_dict` is `data`."""
    known: dict[str, Any] = {field.name: data[field.name] for field in fields(RuleCurve)}
    known |= {name: tuple(one) for name, one in known.items() if isinstance(one, list)}
    return RuleCurve(**known)
