"""The study ``gan-as-lm``: tables and figures, ours beside the published ones.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, table 1,
figure 2 and appendix A; what is measured beyond them.
Departs from it: another text and networks as a scale says; SeqGAN several times, each beside its own pre-training.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay_lab.approximation.bound import EPSILON, GAMMA, samples_needed
from textassay_lab.approximation.stopping_rule import CHANGE, RuleCurve
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.meta_evaluation.reproduction import Cell, PublishedTable, ReproducedTable, Reproduction, beside
from textassay_lab.papers.gan_as_lm.experiment import (
    LEAKGAN,
    LSTM,
    WGAN_SOFT,
    GanResults,
    GanText,
    TextCost,
    build_gan,
    for_each,
    short,
)
from textassay_lab.papers.gan_as_lm.findings import (
    Crossed,
    check_findings,
    check_published,
    first_below,
    mean_of,
    over_parts,
)
from textassay_lab.papers.gan_as_lm.published import (
    APPROXIMATE,
    BOUND_DRAWS,
    EXACT,
    FIGURE_2,
    MLE,
    N_TYPES,
    PUBLISHED_STOPS,
    SEQGAN,
    TABLE_1,
    UNIFORM,
    WGAN,
    GanScale,
)
from textassay_lab.papers.presets import as_json
from textassay_lab.papers.staged_study import StagedStudy
from textassay_lab.papers.stages import Stage

_LEVEL = 0.95
_STOP, _SLOPE = "N where the rule stops", "slope of the rule"
_DIFFERS = "another text and networks of this scale"
_SETTINGS = ((GAMMA, EPSILON, N_TYPES), (5e-3, EPSILON, N_TYPES), (1e-2, EPSILON, N_TYPES))  # of the bound
_INTERVALS = (
    "Intervals are over stretches of the text and, of several trainings, over these as well; (seeds): the spread "
)


def gan_tables(results: GanResults) -> tuple[ReproducedTable, ...]:
    """Return all tables that the results allow; the published ones stand even without ours."""
    groups = (_table_1, _details, _softmax, _windows, _along, _draws, _rule, _bound)
    return tuple(table for make in groups for table in make(results))


def _table_1(results: GanResults) -> Iterable[ReproducedTable]:
    costs, cells = results.costs, []
    for model in (LSTM, MLE, SEQGAN, LEAKGAN, WGAN, WGAN_SOFT, UNIFORM):
        runs = costs.get(model, ())
        for column, name in ((EXACT, "exact"), (APPROXIMATE, "plain")):
            if runs and name in runs[0].sums:
                windows = f"windows of {runs[0].window} characters"
                cells.append(_cell(model, column, mean_of(runs, name), differs=windows))
    if UNIFORM in costs:
        cells.append(Cell(UNIFORM, EXACT, math.log2(results.n_types), differs=f"log2({results.n_types}), computed"))
    floors = sorted({cost.floor for runs in costs.values() for cost in runs})
    told = "".join(f" A character that was never drawn costs {-math.log2(floor):.2f} bits (floor {floor:g})."
                   for floor in floors)  # fmt: skip
    note = (
        f"Ours, {LSTM}: a language model of this scale, where the paper has the literature's.{told} {_INTERVALS}over "
        "trainings."
    )
    yield beside(TABLE_1, cells, differs=_DIFFERS if cells else "", note=note)


def _details(results: GanResults) -> Iterable[ReproducedTable]:
    cells = []
    for model, runs in results.costs.items():
        cells += _means(model, runs, {APPROXIMATE: "plain", "corrected": "corrected"})
        zeros = mean_of(runs, "zeros").value
        cells.append(Cell(model, "never drawn, %", 100 * zeros))
        cells.append(Cell(model, "of it in approx. BPC", -zeros * math.log2(runs[0].floor)))
        cells.append(Cell(model, "window", runs[0].window))
        cells.append(Cell(model, "characters", runs[0].n_characters))
    if cells:
        some = next(iter(results.costs.values()))[0]
        unknown = max(run.unknown_share for runs in results.costs.values() for run in runs)
        note = (
            f"N = {some.n_samples:,}, floor {some.floor:g}, {100 * unknown:.2g} % of characters unknown. On average "
            "over draws the approximate value is too high everywhere, the corrected one too low where characters are "
            "rarer than 1/N (soft: right to second order in 1/N)."
        )
        yield ReproducedTable("approximation", "What table 1 rests on", tuple(cells), note=note)


def _softmax(results: GanResults) -> Iterable[ReproducedTable]:
    columns = {
        EXACT: "exact",
        "approximate - exact": "plain -exact",
        "the same, expected": "expected",
        "corrected - exact": "corrected -exact",
    }
    cells = [
        cell
        for model, runs in results.costs.items()
        if "exact" in runs[0].sums
        for cell in _means(model, runs, columns)
    ]
    if cells:
        note = "Expected: on average over all draws, from the softmax. The paper has 0.12 and 0.19."
        title = "Where there is a softmax: how far the approximation is off"
        yield ReproducedTable("exact", title, tuple(cells), note=note)


def _windows(results: GanResults) -> Iterable[ReproducedTable]:
    cells: list[Cell] = []
    some = [runs[0] for windows in results.lengths.values() for runs in windows.values()]
    for window in dict.fromkeys(cost.window for cost in some):
        for model, windows in results.lengths.items():
            runs = windows[window]
            columns = (
                {"exact": "exact"} if "exact" in runs[0].sums else {"approximate": "plain", "corrected": "corrected"}
            )
            columns = {f"{model}, {column}": names for column, names in columns.items()}
            cells += _means(f"{window} characters", runs, columns)
    for model, windows in results.on_validation.items():
        for window, runs in windows.items():
            cells += _means(f"{window} characters", runs, {f"{model}, validation text": "corrected"})
    if cells:
        noise = [cost.n_samples for cost in some if "exact" not in cost.sums]
        draws = f"; N = {noise[0]:,} where there is no softmax" if noise else ""
        note = f"The same {some[0].n_characters:,} characters in windows that each begin without context{draws}."
        for model in results.on_validation:
            window = results.costs[model][0].window
            note += f" {model}: windows of {window} cost least on validation text, corrected, and are those of table 1."
        yield ReproducedTable("windows", "BPC by the length of the window", tuple(cells), note=note)


def _along(results: GanResults) -> Iterable[ReproducedTable]:
    for model, runs in results.along.items():
        cells: list[Cell] = []
        for number in sorted({number for rounds in runs for number in rounds}):
            there = [rounds[number] for rounds in runs if number in rounds]
            row = f"after {number} rounds"
            if len(there) == len(runs):
                cells += _means(row, there, {"mean, exact": "exact", "mean, approximate": "plain"})
            for run, rounds in enumerate(runs, 1):
                if number in rounds:
                    cells += _means(row, [rounds[number]], {f"training {run}, exact": "exact"})
        name = short(model)
        own = [(title, why) for title, why in results.stopped.items() if title.startswith(name)]
        stopped = "".join(f" {title} ended early: {why}." for title, why in own)
        note = f"Windows of {runs[0][0].window} characters of the test text; nothing is chosen by it.{stopped}"
        title = f"BPC of {name} along the adversarial rounds"
        yield ReproducedTable(f"along training of {name}", title, tuple(cells), note=note)


def _draws(results: GanResults) -> Iterable[ReproducedTable]:
    cells: list[Cell] = []
    for size in sorted({size for by_size in results.convergence.values() for size in by_size}):
        for model, by_size in results.convergence.items():
            columns = {model: "plain -exact", f"{model}, expected": "expected"}
            cells += _means(f"N = {size}", [by_size[size]], columns)
    if cells:
        note = "One set of draws, of which the first N count, beside the average over all draws; the first training."
        title = "Approximate less exact BPC by the number of draws"
        yield ReproducedTable("draws", title, tuple(cells), note=note)


def _rule(results: GanResults) -> Iterable[ReproducedTable]:
    cells: list[Cell] = []
    printed = {int(row.removeprefix("N = ")): row for row in FIGURE_2.rows}
    for model, curves in results.rules.items():
        for place, size in enumerate(curves[0].sizes):
            if size in printed:
                cells.append(_cell(printed[size], model, over_parts([curve.differences[place] for curve in curves])))
                errors = [curve.errors[place] for curve in curves if curve.errors is not None]
                cells += [_cell(printed[size], f"{model}: true error", over_parts(errors))] if errors else []
    windows = "; ".join(f"{model} in windows of {results.costs[model][0].window}"
                        for model in results.rules if model in results.costs)  # fmt: skip
    counts = next(iter(results.rules.values()), ())
    sizes = f"Ours: {len(counts)} parts of the text, {counts[0].n_rows} windows of each; {windows}." if counts else ""
    yield beside(FIGURE_2, cells, differs=_DIFFERS if cells else "", note=sizes)
    cells = []
    for model, curves in results.rules.items():
        values = {
            _STOP: [first_below(curve) for curve in curves],
            "c, of c x 10 / N": [curve.spread for curve in curves],
            _SLOPE: [curve.slope for curve in curves],
            "slope of the true error": [curve.error_slope for curve in curves if curve.error_slope is not None],
        }
        cells += [_cell(model, column, over_parts(parts)) for column, parts in values.items() if parts]
    stops = tuple((float(stop), -1.007 if model == SEQGAN else None) for model, stop in PUBLISHED_STOPS.items())
    yield beside(
        PublishedTable(
            "stopping rule",
            "What the stopping rule tells (alpha 10, threshold 1e-3)",
            tuple(PUBLISHED_STOPS),
            (_STOP, _SLOPE),
            stops,
            note="Ours: where a line through the curve, in logarithms, meets the threshold. Published: in the arrays; "
            "the text says N > 1600 for both.",
        ),
        cells,
    )


def _bound(results: GanResults) -> Iterable[ReproducedTable]:
    settings = [*_SETTINGS, *([(GAMMA, EPSILON, results.n_types)] if results.n_types != N_TYPES else [])]
    cells = [
        Cell(
            f"gamma {gamma:g}, epsilon {epsilon:g}, {n_types} types",
            "N",
            samples_needed(gamma, epsilon, n_types),
            published=BOUND_DRAWS if (gamma, n_types) == (GAMMA, N_TYPES) else None,
        )
        for gamma, epsilon, n_types in settings
    ]
    title = "Draws that Hoeffding's bound asks for (appendix A)"
    yield ReproducedTable("bound", title, tuple(cells), note="The paper prints 4.3e6.")


def _means(row: str, runs: Sequence[TextCost], columns: Mapping[str, str]) -> list[Cell]:
    """Return cells of means over trainings; of each column, the sums of `TextCost`, by spaces, as for `mean_of`."""
    return [_cell(row, column, mean_of(runs, *names.split())) for column, names in columns.items()]


def _cell(row: str, column: str, value: Crossed, *, differs: str = "") -> Cell:
    return Cell(row, column, value.value, *_interval(value), differs=differs, spread=value.runs_sd)


def _interval(value: Crossed) -> tuple[float | None, float | None]:
    """Return the ends of the interval, None where it is not known."""
    low, high = value.condition().interval(_LEVEL)
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (None, None)


FloatArray = npt.NDArray[np.float64]

_BPC, _DRAWS = "bits per character", "draws a position, N"
_ERROR = "largest difference of a share"
_NOTES = (
    "What an approximate value is above the exact one depends on N and on the floor; a value without both says little.",
    "Values in windows of different lengths are not the same task: the first characters of a window have no context.",
    "All but one is measured on the test text, and no setting, round or training is chosen by it: the window of the "
    "recurrent GAN is chosen on validation text.",
    "LeakGAN learns from the real text again between its rounds, as published: what its rounds alone do is not seen.",
    "What LeakGAN sees of a text is the largest value so far: in windows longer than it learnt from, all it ever saw.",
)


def gan_reproduction(results: GanResults, *, level: float = 0.95) -> Reproduction:
    """Return the study, our results beside the published ones."""
    sizes = ", ".join(f"{n:,} {what}" for what, n in results.sizes.items())
    return Reproduction(
        title="Evaluating Text GANs as Language Models",
        settings={**results.settings, **({"sizes": sizes} if sizes else {})},
        tables=gan_tables(results),
        findings=(*check_findings(results, level=level), *check_published(level)),
        curves=gan_curves(results),
        notes=(*results.notes, *_NOTES),
        seconds=results.seconds,
    )


def gan_curves(results: GanResults) -> tuple[Curve, ...]:
    """Return the curves of all figures."""
    makers = (_rule_curves, _convergence, _along_curves, _windows_curves)
    return tuple(curve for make in makers for curve in make(results))


def _rule_curves(results: GanResults) -> Iterable[Curve]:
    """Yield figure 2, one panel per generator: criterion, true error where known, published criterion."""
    title = "Figure 2: error against N"
    sizes = [int(row.removeprefix("N = ")) for row in FIGURE_2.rows]
    for model, curves in results.rules.items():
        lines: dict[str, tuple[Sequence[int], FloatArray]] = {
            "change over 10 draws": (curves[0].sizes, np.mean([curve.differences for curve in curves], axis=0))
        }
        if curves[0].errors is not None:
            errors = [curve.errors for curve in curves if curve.errors is not None]
            lines["true error"] = (curves[0].sizes, np.mean(errors, axis=0))
        if model in (SEQGAN, WGAN):
            lines["change, published"] = (tuple(sizes), np.array(list(FIGURE_2.column(model).values())))
        for name, (places, values) in lines.items():
            points = tuple(CurvePoint(None, x, y) for x, y in zip(places, values.tolist(), strict=True))
            yield Curve("by length", name, short(model), _DRAWS, _ERROR, points, title, log="xy", level=CHANGE)


def _convergence(results: GanResults) -> Iterable[Curve]:
    for model, by_size in results.convergence.items():
        for name, key in (("approximate", "plain"), ("corrected", "corrected"), ("exact", "exact")):
            values = {size: mean_of([cost], key) for size, cost in sorted(by_size.items())}
            yield _curve("BPC against N", name, short(model), _DRAWS, values, banded=False, log="x")


def _along_curves(results: GanResults) -> Iterable[Curve]:
    sides = (("exact", "exact"), ("approximate", "plain"))
    for model, runs in results.along.items():
        title = f"BPC of {short(model)} along adversarial training"
        numbers = sorted(set.intersection(*map(set, runs)))
        for name, key in sides:
            values = {number: mean_of([rounds[number] for rounds in runs], key) for number in numbers}
            yield _curve(title, name, "mean of the trainings", "adversarial rounds", values)
        for run, rounds in enumerate(runs, 1):
            for name, key in sides:
                values = {number: mean_of([cost], key) for number, cost in rounds.items()}
                yield _curve(title, name, f"training {run}", "adversarial rounds", values)


def _windows_curves(results: GanResults) -> Iterable[Curve]:
    for model, windows in results.lengths.items():
        key = "exact" if "exact" in next(iter(windows.values()))[0].sums else "corrected"
        values = {window: mean_of(runs, key) for window, runs in windows.items()}
        yield _curve("BPC by window", f"{short(model)}, {key}", "",
                     "characters of a window", values, log="x")  # fmt: skip


def _curve(
    title: str,
    name: str,
    family: str,
    x: str,
    values: Mapping[int, Crossed],
    *,
    banded: bool = True,
    log: Literal["", "x", "xy"] = "",
) -> Curve:
    points = []
    for place, value in values.items():
        low, high = _interval(value) if banded else (None, None)
        points.append(CurvePoint(None, place, value.value, y_low=low, y_high=high))
    return Curve("by length", name, family, x, _BPC, tuple(points), title, log=log)


class GanStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        text: GanText,
        scale: GanScale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.text, self.seed = text, seed
        self.scale = scale if runs is None else replace(scale, runs=runs)
        super().__init__(folder, progress)
        self.experiment = build_gan(text, self.scale, seed=seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        return gan_reproduction(self.measured())

    def measured(self) -> GanResults:
        """Return the results of the stages; all must be done."""
        experiment = self.experiment
        trained = {title: self.outcome(stage) for title, stage in experiment.trained.items()}
        text = self.text
        fingerprints = {name: getattr(text, name).fingerprint for name in ("train", "valid", "test")}
        return GanResults(
            costs=for_each(experiment.costs, self.cost),
            lengths=for_each(experiment.lengths, self.cost),
            along=for_each(experiment.along, self.cost),
            convergence=for_each(experiment.convergence, self.costs),
            rules=for_each(experiment.rules, lambda stage: tuple(map(_curve_of, self.outcome(stage)))),
            n_types=text.n_types,
            on_validation=for_each(experiment.on_validation, self.cost),
            stopped={title: one["stopped"] for title, one in trained.items() if one["stopped"] is not None},
            sizes=text.sizes,
            seconds=self.seconds(),
            settings={
                "study": "gan-as-lm",
                "scale": self.scale.name,
                **{name: value for name, value in as_json(self.scale).items() if name != "name"},
                "seed": self.seed,
                "version": version("textassay"),
                "text": fingerprints,
            },
            notes=tuple(self.warning_notes()),
        )

    def costs(self, stage: Stage) -> dict[int, TextCost]:
        """Return N to cost; nothing where there was no generator."""
        return {int(size): TextCost(**one) for size, one in (self.outcome(stage) or {}).items()}

    def cost(self, stage: Stage) -> TextCost | None:
        """Return the cost by the only N; None where there was no generator."""
        return next(iter(self.costs(stage).values()), None)


def _curve_of(data: Mapping[str, Any]) -> RuleCurve:
    """Return the curve whose `RuleCurve.to_dict` is `data`."""
    known: dict[str, Any] = {field.name: data[field.name] for field in fields(RuleCurve)}
    known |= {name: tuple(one) for name, one in known.items() if isinstance(one, list)}
    return RuleCurve(**known)
