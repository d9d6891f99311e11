"""The studies ``dd-real`` and ``dd-synthetic``: what was measured, beside the published, and how well orders agree.

Kendall's tau is taken inside each family and on synthetic text over all generators, too; gold is by training text or
exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 1 to 7, figures 2
and 3.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from textassay.errors import unknown_name
from textassay.estimate import Estimate, Interval
from textassay.resampling.jackknife import terms_interval
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.generator.catalog import presets_of
from textassay_lab.judges.cnn import PAPER, CnnDiscriminator
from textassay_lab.meta_evaluation.metric_values import MetricValues
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction, beside
from textassay_lab.papers.cells import value_cell
from textassay_lab.papers.dd.experiment import (
    CNN,
    ESTIMATES,
    OURS,
    REAL,
    Experiment,
    Positives,
    StudyText,
    real_texts,
    synthetic_texts,
)
from textassay_lab.papers.dd.findings import Corpus, Measured, agreements, check_findings, of_this_text, tau_cells
from textassay_lab.papers.dd.published import (
    DD,
    DIRECTIONS,
    EXACT,
    FAMILIES,
    KINDS,
    TEMPERATURES,
    VALID_DD,
    Scale,
    published_table,
)
from textassay_lab.papers.measures import LEVEL, LM, LM_SELF, REVERSE, REVERSE_NGRAM, load_estimates, mean_interval
from textassay_lab.papers.presets import Network, in_words
from textassay_lab.papers.staged_study import StagedStudy
from textassay_lab.papers.stages import Stage, Stages

OUR_DD, OUR_DD_SEEN, DD_UNSEEN = "our DD, unseen text", "our DD, training text", "DD, unseen text"
_LABELS = {
    f"{CNN}, training text": DD,
    f"{CNN}, unseen text": DD_UNSEEN,
    f"{OURS}, training text": OUR_DD_SEEN,
    f"{OURS}, unseen text": OUR_DD,
}
DDS = (DD, DD_UNSEEN, OUR_DD_SEEN, OUR_DD)


@dataclass(frozen=True)
class Measurements:
    """Everything measured."""

    experiment: Experiment
    # By (generator or `REAL`, initialisation, temperature) and label
    estimates: Mapping[tuple[str, int, float], Mapping[str, Estimate]]
    networks: Mapping[str, Mapping[str, float]]  # Family to column of table 1 to the value of its generators

    def at(self, name: str, temperature: float, number: int = 0) -> Mapping[str, Estimate]:
        """Return label to estimate of one generator."""
        return self.estimates.get((name, number, temperature), {})

    def of(self, label: str, number: int = 0) -> dict[str, Estimate]:
        """Return generator to its estimate, for those that have one."""
        known = {name: self.at(name, 1.0, number) for name in self.experiment.generators}
        return {name: estimates[label] for name, estimates in known.items() if label in estimates}

    def runs(self, label: str) -> list[dict[str, Estimate]]:
        """Return the same of each initialisation."""
        return [self.of(label, number) for number in range(self.n_initialisations)]

    def means(self, label: str) -> dict[str, Cell]:
        """Return generator to the mean over its initialisations, for those that have one."""
        runs = self.runs(label)
        return {name: _cell(name, label, [run[name] for run in runs if name in run]) for name in runs[0]}

    @property
    def labels(self) -> list[str]:
        """What was measured at temperature 1, in the order of measuring."""
        keys = [key for key in self.estimates if key[0] != REAL and key[2] == 1.0]
        return list(dict.fromkeys(label for key in keys for label in self.estimates[key]))

    @property
    def n_initialisations(self) -> int:
        """How often each generator was trained."""
        return 1 + max(number for _, number, _ in self.estimates)


def gather(experiment: Experiment, stages: Stages) -> Measurements:
    """Return the results of all stages of an experiment; all must be done."""
    estimates: dict[tuple[str, int, float], dict[str, Estimate]] = {}
    for key, group in experiment.measuring.items():
        for stage in group:
            kept = load_estimates(stages.folder_of(stage) / ESTIMATES, stage.settings["names"])
            if key[0] == REAL and stage.kind == "likelihood":  # one a family
                kept = {f"{label} {stage.name.removeprefix(REAL).strip()}": value for label, value in kept.items()}
            estimates.setdefault(key, {}).update({_LABELS.get(label, label): value for label, value in kept.items()})
    networks = {}
    for family, names in experiment.families.items():
        done = stages.done(experiment.trained[names[-1]])
        if done is not None:
            chosen = experiment.networks[family]
            network = {**presets_of(KINDS[family])[chosen.preset], **chosen.changes}
            networks[family] = _of_table_1(done.result["n_parameters"], network["width"], network) | {
                "layers": float(network["layers"]),
                "hidden size": float(network["width"]),
            }
    return Measurements(experiment, estimates, networks)


def _of_table_1(n_parameters: int, dimension: int, network: Mapping[str, Any]) -> dict[str, float]:
    """Return what table 1 has of every network, by column; the parameters as printed, with both moments of Adam."""
    return {
        "parameters": 3 * n_parameters / 1e6,
        "embedding size": float(dimension),
        "dropout": network["dropout"],
        "learning rate": network["recipe"].learning_rate,
        "batch": float(network["batch_size"]),
    }


def measured_values(measurements: Measurements, corpus: Corpus) -> Measured:
    """Return the values of all metrics, with the directions by which the paper ranks."""
    values: dict[str, Sequence[MetricValues]] = {}
    for label in measurements.labels:
        better = DIRECTIONS.get(label, "lower")
        n = len(measurements.experiment.generators)
        runs = [estimates for estimates in measurements.runs(label) if len(estimates) == n]
        if label == OUR_DD_SEEN and measurements.experiment.positives == "fraction":  # real text that nobody shares
            apart = [{name: (each.value, each.interval) for name, each in estimates.items()} for estimates in runs]
            values[label] = [MetricValues.independent(label, better, each) for each in apart]
        else:
            values[label] = [MetricValues.of_estimates(each, name=label, better=better) for each in runs]
        if label == DD:
            on_valid = [{name: _on_valid(estimate) for name, estimate in estimates.items()} for estimates in runs]
            values[VALID_DD] = [MetricValues.independent(VALID_DD, "lower", each) for each in on_valid]
    dds = tuple(label for label in DDS if label in values)
    return Measured(corpus, measurements.experiment.families, values, dds)


def tables(measurements: Measurements, corpus: Corpus, *, differs: str) -> tuple[ReproducedTable, ...]:
    """Return the published tables with ours in their cells, and one of everything measured; `differs` is for all."""
    wanted = {"real": ("table 1", "table 3", "table 7"), "synthetic": ("table 1", "table 2", "table 6")}[corpus]
    cells = list(_cells(measurements))
    tables = []
    for name in wanted:
        table = published_table(name)
        ours = [
            cell
            for cell in cells
            if cell.column in table.columns and (cell.row in (*FAMILIES, "CNN")) == (name == "table 1")
        ]
        n = measurements.n_initialisations
        runs = f"Ours: {f'means over {n} initialisations' if n > 1 else 'one initialisation'}."
        note = runs if table.spreads is not None else ""
        tables.append(beside(table, [cell for cell in ours if cell.row != REAL], differs=differs, note=note))
    everything = tuple(cell for cell in cells if cell.row not in (*FAMILIES, "CNN"))
    tables.append(ReproducedTable("measured", "Everything measured, at temperature 1", everything))
    return tuple(tables)


def _cells(measurements: Measurements) -> Iterator[Cell]:
    """Yield our cells under the names of the published columns, generator by generator."""
    networks = dict(measurements.networks)
    classified = next(iter(measurements.of(DD).values()), None)
    if classified is not None:
        judge = CnnDiscriminator(PAPER)
        settings = {"dropout": judge.dropout, "recipe": judge.recipe, "batch_size": judge.batch_size}
        networks["CNN"] = _of_table_1(classified.details["chosen"]["n_parameters"], judge.dimension, settings)
    for family, columns in networks.items():
        for column, value in columns.items():
            differs = "with both moments of Adam, as printed" if column == "parameters" else ""
            yield Cell(family, column, value, differs=differs)
    for name in measurements.experiment.generators:
        for label in measurements.labels:
            runs = [each[name] for each in measurements.runs(label) if name in each]
            if runs:
                yield _cell(name, label, runs)
            if label == DD and runs:
                yield _mean_cell(name, "accuracy", [run.details["accuracy"] for run in runs])
                on_valid, intervals = zip(*map(_on_valid, runs), strict=True)
                yield _mean_cell(name, VALID_DD, on_valid, intervals[0] if len(runs) == 1 else None)
                yield _mean_cell(name, "valid accuracy", [run.details["validation"]["accuracy"] for run in runs])
    for label, estimate in measurements.at(REAL, 1.0).items():
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
    found = estimate.details["validation"]
    known = found["low"] is not None and math.isfinite(found["low"])
    return float(found["value"]), Interval(found["low"], found["high"], LEVEL, "newcombe") if known else None


_DIFFERS = {
    "FED": "another encoder (latent semantic, not the paper's)",
    REVERSE_NGRAM: "an n-gram model, not a network",
    LM: "a model of the same architecture, trained on all real text from another seed",
    LM_SELF: "the generator itself, as the published code has it",
}


def memorisation(measurements: Measurements) -> ReproducedTable | None:
    """Return how the discrepancy differs between classifiers with the training text and with unseen text."""
    cells = []
    for seen, unseen, column in ((OUR_DD_SEEN, OUR_DD, "our DD"), (DD, DD_UNSEEN, "DD")):
        firsts, seconds = measurements.of(seen), measurements.of(unseen)
        for name in firsts.keys() & seconds.keys():
            cells += [
                _cell(name, f"{column}, unseen text", [seconds[name]]),
                _cell(name, f"{column}, training text", [firsts[name]]),
            ]
            cells.append(_difference(name, f"{column}, difference", seconds[name], firsts[name]))
    if not cells:
        return None
    order = list(measurements.experiment.generators)
    cells.sort(key=lambda cell: order.index(cell.row))
    note = (
        "Where a generator repeats sentences it was trained on, these cannot be told from real ones among the same "
        "sentences: the difference is what that hides."
    ) + (" Of the first initialisation." if measurements.n_initialisations > 1 else "")
    return ReproducedTable(
        "memorisation", "Discrepancy from unseen text and from the training text", tuple(cells), note=note
    )


def _difference(row: str, column: str, first: Estimate, second: Estimate) -> Cell:
    """Return first less second, which have the generated sentences in common but not the real ones."""
    value, interval = first.value - second.value, None
    generated = [None if one.evidence is None else one.evidence.generated_terms for one in (first, second)]
    ours, theirs = generated
    if ours is not None and theirs is not None:
        shared = [ours - theirs] if len(ours) == len(theirs) else generated
        samples = [*shared, *(one.evidence and one.evidence.real_terms for one in (first, second))]
        interval = terms_interval(value, samples, level=LEVEL, method="t: differences of generated sentences")
    return value_cell(row, column, value, interval)


def curves(measurements: Measurements) -> tuple[Curve, ...]:
    """Return the lines of figures 2 and 3, of DD against the exact discrepancy, and of DD against training text."""
    all_curves: list[Curve] = []
    reverse = _reverse(measurements)
    for family, names in measurements.experiment.families.items():
        for name in names:
            at = [
                (t, {label: _cell(name, label, [one]) for label, one in measurements.at(name, t).items()})
                for t in TEMPERATURES
            ]
            for figure, x, y in (("bleu", "BLEU-5", "self-BLEU-5"), ("lm", LM, reverse)):
                points = tuple(_point(t, cells[x], cells[y]) for t, cells in at if x in cells and y in cells)
                all_curves.append(Curve(figure, name, family, x, y, points))  # type: ignore[arg-type]
            points = tuple(_point(t, t, cells["FED"]) for t, cells in at if "FED" in cells)
            all_curves.append(Curve("fed", name, family, "temperature", "FED", points))
        for label in DDS:
            values, exact = measurements.means(label), measurements.means(EXACT)
            if not values:
                continue
            sizes = measurements.experiment.generators
            points = tuple(_point(sizes[name], float(sizes[name]), values[name], name) for name in names)
            all_curves.append(Curve("size", f"{family}, {label}", family, "training sentences", label, points))
            if exact:
                points = tuple(_point(None, exact[name], values[name], name) for name in names)
                all_curves.append(Curve("estimate", f"{family}, {label}", family, EXACT, label, points))
    return tuple(curve for curve in all_curves if curve.points)


def _point(at: float | None, x: Cell | float, y: Cell, label: str = "") -> CurvePoint:
    across = x if isinstance(x, Cell) else Cell("", "", x)
    assert across.ours is not None
    assert y.ours is not None
    return CurvePoint(at, across.ours, y.ours, across.low, across.high, y.low, y.high, label)


def temperature_table(measurements: Measurements) -> ReproducedTable:
    """Return the values of the temperature sweep; temperatures are those logits are divided by."""
    labels = ("BLEU-5", "self-BLEU-5", LM, *dict.fromkeys((_reverse(measurements), REVERSE_NGRAM)), "FED")
    cells = [
        _cell(f"{name} at {temperature:g}", label, [estimates[label]])
        for name in measurements.experiment.generators
        for temperature in TEMPERATURES
        for estimates in (measurements.at(name, temperature),)
        for label in labels
        if label in estimates
    ]
    note = (
        "Logits are divided by the temperature; the published code multiplies by what it calls temperature (1/T here)."
    )
    return ReproducedTable("temperatures", "Temperature sweep (figures 2 and 3)", tuple(cells), note=note)


def _reverse(measurements: Measurements) -> str:
    """Return which reverse score the sweep shows: by networks, where they were trained at every temperature."""
    swept = product(measurements.experiment.generators, TEMPERATURES)
    return REVERSE if all(REVERSE in measurements.at(name, t) for name, t in swept) else REVERSE_NGRAM


_CUT = " samples were cut at "  # a warning; the table of drawn sentences has the shares
STUDIES: Mapping[str, Corpus] = {"dd-real": "real", "dd-synthetic": "synthetic"}


class DdStudy(StagedStudy):
    """One of the two studies."""

    def __init__(
        self,
        name: str,
        text: StudyText,
        scale: Scale,
        folder: Path,
        *,
        seed: int = 0,
        initialisations: int | None = None,
        positives: Positives = "everything",
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        if name not in STUDIES:
            raise unknown_name("study", name, STUDIES)
        self.name, self.text, self.scale, self.seed, self.positives = name, text, scale, seed, positives
        super().__init__(folder, progress)
        synthetic = STUDIES[name] == "synthetic"
        self.texts = synthetic_texts(text, scale, seed=seed) if synthetic else real_texts(text)
        self.initialisations = scale.initialisations if initialisations is None else initialisations
        self.experiment = Experiment(
            self.texts, scale, seed=seed, initialisations=self.initialisations, positives=positives
        )

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results; all stages must be done."""
        corpus = STUDIES[self.name]
        measurements = gather(self.experiment, self.stages)
        measured = measured_values(measurements, corpus)
        taus = agreements(measured, level=LEVEL, seed=self.seed)
        differs = f"another corpus and, at scale {self.scale.name}, other sizes and networks"
        differences = {
            "FED": "another encoder",
            LM: "a model from another seed",
            OUR_DD: "our classifier, on text that no generator saw",
        }
        of_taus = published_table({"real": "table 4", "synthetic": "table 5"}[corpus])
        memory = memorisation(measurements)
        return Reproduction(
            title=f"Distributional Discrepancy on {corpus} text",
            settings=self._settings(),
            tables=(
                *tables(measurements, corpus, differs=differs),
                beside(of_taus, tau_cells(taus, differs=differences), differs=differs),
                *([] if memory is None else [memory]),
                temperature_table(measurements),
                *self._sampled(measurements),
            ),
            findings=of_this_text(check_findings([measured], taus, level=LEVEL), corpus),
            taus=taus,
            curves=curves(measurements),
            notes=tuple(self._notes()),
            seconds=self.seconds(),
        )

    def _settings(self) -> dict[str, object]:
        text = self.text
        return {
            **self.settings(initialisations=self.initialisations, positives=self.positives),
            "tokenizer": text.form.tokenizer.name,
            "vocabulary": len(text.form.vocabulary),
            "longest": text.longest,
            "train": text.train.fingerprint,
            "valid": text.valid.fingerprint,
            "test": text.test.fingerprint,
            "unk_rate_train": text.unk_rates[0],
            "unk_rate_test": text.unk_rates[1],
        }

    def _sampled(self, measurements: Measurements) -> list[ReproducedTable]:
        """Return what is known of the sentences that were drawn: unknown tokens, cut sentences, lengths."""
        cells = [
            Cell(name, key.replace("_", " "), done.result["test"][key])
            for name, stage in measurements.experiment.drawn.items()
            if (done := self.stages.done(stage)) is not None
            for key in ("unk_rate", "cut_share", "mean_length")
        ]
        return [ReproducedTable("drawn", "Test sentences of the generators", tuple(cells))]

    def _notes(self) -> list[str]:
        text, scale = self.text, self.scale
        notes = []
        if text.n_cut:
            notes.append(
                f"{text.n_cut} sentences were cut after {text.longest} tokens, the longest of the training text."
            )
        if self.texts.unseen is None:
            notes.append("There is no real text that no generator saw, beyond validation and test text, at this scale.")
        if any(network != Network("paper") for network in scale.networks.values()):
            networks = "; ".join(f"{family}: {in_words(network)}" for family, network in scale.networks.items())
            notes.append(f"Networks are not the paper's, but of a preset ({networks}).")
        return [*notes, *self.warning_notes(but=_CUT)]
