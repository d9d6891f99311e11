"""The studies ``dd-real`` and ``dd-synthetic``: what was measured, beside the published, and how well orders agree.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 1 to 7, figures 2
and 3.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textassay.errors import unknown_name
from textassay.estimate import Better, Estimate, Interval
from textassay.report.document import Figure
from textassay.report.plots import Axis, Curves, Point, Series
from textassay.report.text import number
from textassay_lab.generator.catalog import presets_of
from textassay_lab.judges.cnn import PAPER, CnnDiscriminator
from textassay_lab.meta_evaluation.rank_agreement import MetricValues
from textassay_lab.papers.dd.experiment import (
    DD,
    DD_PAPER,
    ESTIMATES,
    KINDS,
    LM,
    LM_SELF,
    OUR_DD,
    OUR_DD_SEEN,
    REAL,
    REVERSE,
    REVERSE_NGRAM,
    TEMPERATURES,
    VALID_DD,
    Experiment,
    Texts,
    load_estimates,
    synthetic_texts,
)
from textassay_lab.papers.dd.findings import CorpusKind, Measured, agreements, check_findings
from textassay_lab.papers.findings import LEVEL, mean_interval
from textassay_lab.papers.paper import Network, Scale
from textassay_lab.papers.reproduction import Cell, ReproducedTable, Reproduction, compared, value_cell
from textassay_lab.papers.stages import Progress, Stage, Study

STUDIES: Mapping[str, CorpusKind] = {"dd-real": "real", "dd-synthetic": "synthetic"}
TABLES: Mapping[str, tuple[str, ...]] = {
    "real": ("table 1", "table 3", "table 7", "table 4"),
    "synthetic": ("table 1", "table 2", "table 6", "table 5"),
}
# As the paper ranks generators: lower is better, but for these; "closer" (to what real text scores) is ours.
DIRECTIONS: Mapping[str, Better] = {f"BLEU-{order}": "higher" for order in (2, 3, 4, 5)}
_OF_NETWORKS = (*KINDS, "CNN")  # rows of table 1
_DIFFERS = {
    "FED": "another encoder (latent semantic, not the paper's)",
    REVERSE_NGRAM: "an n-gram model, not a network",
    LM: "a model of the same architecture, trained on all real text from another seed",
    LM_SELF: "the generator itself, as the published code has it",
    OUR_DD: "our classifier, on text that no generator saw",
}
_BY_TEMPERATURE = DD_PAPER.ours["temperatures"].note
_CUT = " samples were cut at "  # a warning


@dataclass(frozen=True)
class Measurements:
    """All estimates, by (generator or `REAL`, initialisation, temperature) and label."""

    experiment: Experiment
    estimates: Mapping[tuple[str, int, float], Mapping[str, Estimate]]

    def runs(self, label: str) -> list[dict[str, Estimate]]:
        """Return generator to its estimate at temperature 1, of each initialisation, for those that have one."""
        numbers = range(1 + max(number for _, number, _ in self.estimates))
        known = [{name: self.estimates[name, k, 1.0] for name in self.experiment.generators} for k in numbers]
        return [{name: own[label] for name, own in run.items() if label in own} for run in known]

    @property
    def labels(self) -> list[str]:
        """What was measured of generators at temperature 1, in the order of measuring."""
        keys = [key for key in self.estimates if key[0] != REAL and key[2] == 1.0]
        return list(dict.fromkeys(label for key in keys for label in self.estimates[key]))

    @property
    def reverse(self) -> str:
        """Which reverse score the sweep shows: by networks, where they were trained at every temperature."""
        swept = [own for (name, number, _), own in self.estimates.items() if name != REAL and number == 0]
        return REVERSE if all(REVERSE in own for own in swept) else REVERSE_NGRAM

    def values(self, corpus: CorpusKind) -> Measured:
        """Return the values of all metrics, with the directions by which the paper ranks."""
        values: dict[str, Sequence[MetricValues]] = {}
        for label in self.labels:
            n = len(self.experiment.generators)
            runs = [run for run in self.runs(label) if len(run) == n]
            better = DIRECTIONS.get(label, "lower")
            values[label] = [MetricValues.of_estimates(run, name=label, better=better) for run in runs]
            if label == DD:
                on_valid = [{name: _on_valid(estimate) for name, estimate in run.items()} for run in runs]
                values[VALID_DD] = [MetricValues.independent(VALID_DD, "lower", run) for run in on_valid]
        dds = tuple(label for label in (DD, OUR_DD_SEEN, OUR_DD) if label in values)
        return Measured(corpus, self.experiment.families, values, dds)


class DdStudy(Study):
    """One of the two studies, of real text and of what a GPT-2 writes that learnt from it."""

    def __init__(
        self,
        name: str,
        text: Texts,
        scale: Scale,
        folder: Path,
        *,
        seed: int = 0,
        initialisations: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if name not in STUDIES:
            raise unknown_name("study", name, STUDIES)
        super().__init__(folder, scale, seed=seed, progress=progress)
        self.name, self.corpus, self.text = name, STUDIES[name], text
        self.texts = synthetic_texts(text, scale, seed=seed) if self.corpus == "synthetic" else text
        self.initialisations = scale.initialisations if initialisations is None else initialisations
        self.experiment = Experiment(self.texts, scale, seed=seed, initialisations=self.initialisations)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def measurements(self) -> Measurements:
        """Return the results of all stages; all must be done."""
        estimates: dict[tuple[str, int, float], dict[str, Estimate]] = {}
        for key, group in self.experiment.measuring.items():
            for stage in group:
                kept = load_estimates(self.done(stage).folder / ESTIMATES, stage.settings["names"])
                if key[0] == REAL and stage.kind == "likelihood":  # one a family
                    kept = {f"{label} {stage.name.removeprefix(REAL).strip()}": value for label, value in kept.items()}
                estimates.setdefault(key, {}).update(kept)
        return Measurements(self.experiment, estimates)

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        measurements = self.measurements()
        measured = measurements.values(self.corpus)
        taus = agreements(measured, level=LEVEL, seed=self.seed)
        cells = [
            *self._of_networks(measurements),
            *(Cell(tau.metric, tau.group, tau.value, tau.low, tau.high) for tau in taus),
            *_of_generators(measurements),
        ]
        swept = list(_swept(measurements))
        return Reproduction(
            title=f"Distributional Discrepancy on {self.corpus} text",
            settings=self._settings(),
            tables=(
                *(self._table(name, cells) for name in TABLES[self.corpus]),
                compared(DD_PAPER, "measured", _of_generators(measurements)),
                compared(DD_PAPER, "temperatures", swept),
            ),
            findings=check_findings([measured], taus, level=LEVEL),
            notes=tuple(self._notes()),
            seconds=self.seconds(),
            figures=sweep_figures(self.experiment.families, swept, reverse=measurements.reverse),
        )

    def _table(self, name: str, cells: Sequence[Cell]) -> ReproducedTable:
        """Return a published table with those of our cells that belong there."""
        table = DD_PAPER.tables[name]
        if name in ("table 4", "table 5"):  # a row for each metric, a column for each group
            groups = {f"{len(names)} {family}" for family, names in self.experiment.families.items()}
            ours = [cell for cell in cells if cell.column in {*groups, f"all {len(self.experiment.generators)}"}]
        else:
            rows = _OF_NETWORKS if name == "table 1" else self.experiment.generators
            ours = [cell for cell in cells if cell.row in rows and cell.column in table.columns]
        runs = (
            f"means over {self.initialisations} initialisations" if self.initialisations > 1 else "one initialisation"
        )
        return compared(DD_PAPER, name, ours, scale=self.scale.name, runs=runs)

    def _of_networks(self, measurements: Measurements) -> Iterator[Cell]:
        """Yield what table 1 has of every network; the parameters as printed, with both moments of Adam."""
        networks = {}
        for family, names in self.experiment.families.items():
            chosen: Network = self.scale.networks[family]
            network = {**presets_of(KINDS[family])[chosen.preset], **chosen.changes}
            n_parameters = self.done(self.experiment.trained[names[-1]]).result["n_parameters"]
            sizes = {"layers": network["layers"], "hidden size": network["width"], "embedding size": network["width"]}
            networks[family] = n_parameters, sizes, network
        judge = CnnDiscriminator(PAPER)
        settings = {"dropout": judge.dropout, "recipe": judge.recipe, "batch_size": judge.batch_size}
        classified = next(iter(measurements.runs(DD)[0].values()))
        networks["CNN"] = classified.details["chosen"]["n_parameters"], {"embedding size": judge.dimension}, settings
        for name, (n_parameters, sizes, network) in networks.items():
            columns = {
                "parameters": 3 * n_parameters / 1e6,
                **{column: float(size) for column, size in sizes.items()},
                "dropout": network["dropout"],
                "learning rate": network["recipe"].learning_rate,
                "batch": float(network["batch_size"]),
            }
            for column, value in columns.items():
                differs = "with both moments of Adam, as printed" if column == "parameters" else ""
                yield Cell(name, column, value, differs=differs)

    def _settings(self) -> dict[str, Any]:
        text = self.text
        parts = {"train": text.train, "valid": text.valid, "test": text.test}
        return {
            **self.settings(initialisations=self.initialisations),
            "tokenizer": text.form.tokenizer.name,
            "vocabulary": len(text.form.vocabulary),
            "longest": text.longest,
            **{name: part.settings["text"] for name, part in parts.items()},
            "unk_rate_train": text.unk_rates[0],
            "unk_rate_test": text.unk_rates[1],
        }

    def _notes(self) -> Iterator[str]:
        text = self.text
        if text.n_cut:
            yield f"{text.n_cut:,} sentences were cut after {text.longest} tokens, the longest of the training text."
        if self.texts.unseen is None:
            yield "There is no real text that no generator saw, beyond validation and test text, at this scale."
        yield from (note for note in self.warning_notes() if _CUT not in note)


def _of_generators(measurements: Measurements) -> Iterator[Cell]:
    """Yield our cells under the names of the published columns, generator by generator, then those of real text."""
    for name in measurements.experiment.generators:
        for label in measurements.labels:
            runs = [run[name] for run in measurements.runs(label) if name in run]
            if runs:
                yield _cell(name, label, runs)
            if label == DD and runs:
                yield _mean_cell(name, "accuracy", [run.details["accuracy"] for run in runs])
                on_valid, intervals = zip(*map(_on_valid, runs), strict=True)
                yield _mean_cell(name, VALID_DD, on_valid, intervals[0] if len(runs) == 1 else None)
                yield _mean_cell(name, "valid accuracy", [run.details["validation"]["accuracy"] for run in runs])
    for label, estimate in measurements.estimates[REAL, 0, 1.0].items():
        yield _cell(REAL, label, [estimate])


def _cell(row: str, label: str, runs: Sequence[Estimate]) -> Cell:
    return _mean_cell(row, label, [run.value for run in runs], _interval_of_mean(label, runs))


def _mean_cell(row: str, label: str, values: Sequence[float], interval: Interval | None = None) -> Cell:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return value_cell(row, label, float(np.mean(values)), interval, differs=_DIFFERS.get(label, ""), spread=spread)


def _interval_of_mean(label: str, runs: Sequence[Estimate]) -> Interval | None:
    """Return the interval of the mean over initialisations: their spread, and the error of the real text they share."""
    if len(runs) == 1:
        return runs[0].interval
    if any(run.interval is None for run in runs):
        return None
    each = [MetricValues.of_estimates({"": run}, name=label, better="lower") for run in runs]
    shared, own = (float(np.sqrt(np.mean(one))) for one in ([m.shared[0, 0] for m in each], [m.own[0] for m in each]))
    return mean_interval([run.value for run in runs], shared, own_error=own)


def _on_valid(estimate: Estimate) -> tuple[float, Interval | None]:
    """Return what the paper's classifier found on validation text."""
    validation = estimate.details["validation"]
    known = validation["low"] is not None and math.isfinite(validation["low"])
    interval = Interval(validation["low"], validation["high"], LEVEL, "newcombe") if known else None
    return float(validation["value"]), interval


def _swept(measurements: Measurements) -> Iterator[Cell]:
    """Yield the values of the temperature sweep; temperatures are those logits are divided by."""
    labels = ("BLEU-5", "self-BLEU-5", LM, *dict.fromkeys((measurements.reverse, REVERSE_NGRAM)), "FED")
    for name in measurements.experiment.generators:
        for temperature in TEMPERATURES:
            estimates = measurements.estimates[name, 0, temperature]
            for label in labels:
                if label in estimates:
                    yield _cell(f"{name} at {temperature:g}", label, [estimates[label]])


def sweep_figures(families: Mapping[str, Sequence[str]], swept: Sequence[Cell], *, reverse: str) -> tuple[Figure, ...]:
    """Return figure 2 or 3: three figures, a panel a family, a curve a generator; the darker, the more training text.

    The axes are turned so that less is better: BLEU is drawn negated, as the paper draws it. `reverse` is the reverse
    score that there is.
    """
    values = {(cell.row, cell.column): cell.ours for cell in swept}
    axes = {"bleu": ("BLEU-5", "self-BLEU-5"), "lm": (LM, reverse), "fed": ("T", "FED")}
    return tuple(_sweep(name, x, y, families, values) for name, (x, y) in axes.items())


def _sweep(
    name: str, x: str, y: str, families: Mapping[str, Sequence[str]], values: Mapping[tuple[str, str], float | None]
) -> Figure:
    def place(generator: str, temperature: float) -> Point:
        row = f"{generator} at {temperature:g}"
        across = temperature if x == "T" else values[row, x]
        assert across is not None
        return Point(-across if x.startswith("BLEU") else across, values[row, y])

    series = []
    for panel, (family, generators) in enumerate(families.items()):
        for number_of, generator in enumerate(generators):
            points = [place(generator, temperature) for temperature in TEMPERATURES]
            if x != "T" and number_of == 0:  # the ends of one curve say their temperature
                points[0], points[-1] = (
                    Point(point.x, point.y, label=f"T {number(temperature, 1)}")
                    for point, temperature in ((points[0], TEMPERATURES[0]), (points[-1], TEMPERATURES[-1]))
                )
            pale = 0.7 * (1 - (number_of + 1) / len(generators))
            share = generator.removeprefix(f"{family}_")
            series.append(Series(share, tuple(points), "green", pale=pale, panel=panel))
        at_one = tuple(place(generator, 1.0) for generator in generators)
        series.append(Series("T = 1", at_one, "ink", line=False, marker=3, hollow=True, panel=panel))
    better = "\N{LEFTWARDS ARROW} better: "  # the arrow points to less on the upright axis, too: text turns with it
    turned = f"\N{MINUS SIGN}{x}" if x.startswith("BLEU") else x
    plot = Curves(
        tuple(series),
        Axis("T (logits / T; the paper's code: 1 / T)" if x == "T" else f"{better}{turned}"),
        Axis(f"{better}{y}"),
        panels=tuple(families),
        size=(3.0, 2.9),
    )
    temperatures = ", ".join(number(temperature, 1) for temperature in TEMPERATURES)
    described = f"{y} against {turned}, a panel per family, a curve per generator, at temperatures {temperatures} from "
    described += f"one end to the other; the diamond is 1.0; less {y} is better. {_BY_TEMPERATURE}"
    caption = f"A curve a share of the training text: the darker, the more. {_BY_TEMPERATURE}"
    return Figure(f"sweep-{name}", plot, caption, described)
