"""The study ``exposure-bias``: tables, figures and samples, ours beside the published ones.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 1, 2, 4, 5
and 7 to 9, figures 2 to 4, the perplexities and the BLEU in its text; what is measured beyond them.
Departs from it: other texts, and networks as a scale says; what stands for P_D of translation is a model, not people.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.estimate import Estimate, Interval
from textassay.report.document import Figure
from textassay.report.plots import Point
from textassay_lab.exposure.bias import CgdCurve, EbC, cgd_curve, eb_c
from textassay_lab.exposure.bleu import BleuRun, eb_bleu_of_runs
from textassay_lab.exposure.by_length import Curve, lengths_figure
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.runs import PrefixRun
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.exposure.translation import TranslationCurve
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.papers.exposure_bias.experiment import (
    DATA_MODEL,
    DISTANCES,
    EXPOSURE_PAPER,
    FRESH_SAMPLES,
    OTHERS,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    TEST_SET,
    TRANSLATION,
    ExposureExperiment,
    ExposureResults,
    ExposureTexts,
    TranslationResults,
    quantity_from_dict,
    trainings,
)
from textassay_lab.papers.exposure_bias.findings import (
    after_words,
    bleu_row,
    by_training,
    check_findings,
    check_published,
    mean_of_trainings,
    ratio_row,
    recomputed_ratios,
)
from textassay_lab.papers.paper import Number, Scale
from textassay_lab.papers.reproduction import Cell, ReproducedTable, Reproduction, compared, value_cell
from textassay_lab.papers.stages import Progress, Stage, Study

FloatArray = npt.NDArray[np.float64]
Kinds = Mapping[str, Sequence[PrefixRun]]

AVERAGE = "mean over l"
_WIKI, WIKI = "wikitext2", "WikiText"  # as its folder is called, and as the paper's table calls it
_MISPRINT = 3.0  # printed spreads: so far apart two means of ten runs each are not
_OF_TABLES: Mapping[str, str] = {
    "Transformer-XL on wikitext2": ", as in tables 1 and 8",
    "LSTM on emnlp_news": ", as in table 9",
}


def exposure_tables(results: ExposureResults) -> tuple[ReproducedTable, ...]:
    """Return all tables that the results allow; the published ones stand even without ours."""
    return (
        *_bleu_tables(results.bleu),
        compared(EXPOSURE_PAPER, "table 4"),
        from_printed_numbers("table 4"),
        *_perplexities(results),
        *_of_others(results),
        *_of_synthetic(results.synthetic),
        *_translation(results.translation),
    )


def from_printed_numbers(name: str) -> ReproducedTable:
    """Return the ratios of "table 2" or "table 4" as they follow from the numbers printed beside them."""
    ratios = recomputed_ratios(name)
    rounded = sum(abs(one.value - one.printed) > one.rounding for one in ratios)
    notes = [f"Of {len(ratios)} ratios {rounded} differ from the printed ones by more than rounding allows."]
    if name == "table 4":
        notes.append("Their spread follows from those of both parts, as if these were independent.")
    wrong = [one for one in ratios if one.in_spreads > _MISPRINT]
    notes += [
        f"{one.row} at l = {one.column} is off by {one.in_spreads:.1f} printed spreads: a misprint." for one in wrong
    ]
    others = [one for one in ratios if one not in wrong]
    notes.append(f"The other ratios differ by at most {max(abs(one.value - one.printed) for one in others):.4f}.")
    cells = tuple(
        Cell(one.row, one.column, one.value, spread=one.spread_of_parts, published=one.printed,
             published_spread=one.spread)
        for one in ratios
    )  # fmt: skip
    identity = f"{name}, from printed numbers"
    return compared(EXPOSURE_PAPER, identity, cells, recomputed=True, found=" ".join(notes))


def _bleu_tables(bleu: Mapping[str, Mapping[str, Sequence[BleuRun]]]) -> Iterator[ReproducedTable]:
    """Yield table 2 with ours, its printed ratios, and the same table of other texts."""

    def table(name: str, text: str) -> ReproducedTable:
        models = bleu.get(text, {})
        some = next(iter(models.values()), ())
        sizes = (len(some), some[0].n_sentences, some[0].n_references) if some else (0, 0, 0)
        words: dict[str, Any] = dict(zip(("n_runs", "n_sentences", "n_references"), sizes, strict=True))
        return compared(EXPOSURE_PAPER, name, _bleu_cells(models), text=text, **words)

    yield table("table 2", _WIKI)
    yield from_printed_numbers("table 2")
    for text in bleu:
        if text != _WIKI:
            yield table("table 2, other texts", text)


def _bleu_cells(models: Mapping[str, Sequence[BleuRun]]) -> Iterator[Cell]:
    for model, runs in models.items():
        kinds = [kind for kind in runs[0].scores if kind != "data"]
        for kind in kinds:
            rate = eb_bleu_of_runs(runs, prefixes=kind)
            if kind == kinds[0]:
                yield from _row(bleu_row(model, "data"), rate.lengths, 100 * rate.data, 100 * rate.data_sd)
            yield from _row(bleu_row(model, kind), rate.lengths, 100 * rate.other, 100 * rate.other_sd)
            yield from _row(ratio_row(model, kind), rate.lengths, rate.values, rate.sd, rate.intervals)


def _perplexities(results: ExposureResults) -> Iterator[ReproducedTable]:
    columns = {TEST_SET: "perplexity", FRESH_SAMPLES: f"on {FRESH_SAMPLES}"}
    cells = [
        _quantity(model, columns[text], value)
        for model, texts in results.perplexity.items()
        for text, value in texts.items()
    ]
    yield compared(EXPOSURE_PAPER, "table 7", cells)
    cells = [
        _quantity(model, WIKI if text == _WIKI else text, value)
        for text, models in results.held_out_perplexity.items()
        for model, value in models.items()
    ]
    yield compared(EXPOSURE_PAPER, "perplexity, held-out", cells)


def _of_others(results: ExposureResults) -> Iterator[ReproducedTable]:
    """Yield models with and without adversarial training side by side, EB-C by length, and costs under the oracle."""
    known = {**results.synthetic, **results.others}
    cells = [
        _value(title, name, rate.average, rate.average_interval)
        for model in results.others
        for title in (OTHERS[model], model)
        for distance, name in DISTANCES.items()
        for rate in (_rate(known[title], distance),)
    ]
    if cells:
        yield compared(EXPOSURE_PAPER, "figure 4", cells)
    costs = [_quantity(row, "nats per token", cost) for row, cost in results.oracle_costs.items()]
    yield compared(EXPOSURE_PAPER, "oracle NLL", costs)
    for model, kinds in results.others.items():
        cells = [cell for distance, name in DISTANCES.items() for cell in _column(name, _rate(kinds, distance))]
        yield compared(EXPOSURE_PAPER, "figure 4, by length", cells, model=model, **_sizes(kinds))


def _of_synthetic(synthetic: Mapping[str, Kinds]) -> Iterator[ReproducedTable]:
    """Yield EB-C by length and distance, and CGD by length and kind of prefix."""
    for model, kinds in synthetic.items():
        rates = {name: _rate(kinds, distance) for distance, name in DISTANCES.items()}
        yield compared(EXPOSURE_PAPER, "figure 2", _by_length(rates), model=model, **_sizes(kinds))
        deviations = {kind: cgd_curve(after_words(runs), "tv") for kind, runs in kinds.items()}
        counts = ", ".join(f"{kind} {runs[0].n_sequences:,}" for kind, runs in kinds.items())
        yield compared(EXPOSURE_PAPER, "figure 3", _by_length(deviations), model=model, counts=counts, **_sizes(kinds))


def _rate(kinds: Kinds, distance: Distance) -> EbC:
    """Return EB-C of a model, without the empty prefix."""
    return eb_c(after_words(kinds["data"]), after_words(kinds["model"]), distance)


def _sizes(kinds: Kinds) -> dict[str, Any]:
    return {"n_runs": len(kinds["data"]), "n_sequences": kinds["data"][0].n_sequences}


def _translation(translation: TranslationResults | None) -> Iterator[ReproducedTable]:
    """Yield BLEU beside the printed one, and EB-C by length."""
    if translation is None:
        yield compared(EXPOSURE_PAPER, "BLEU of translation")
        return
    bleu = translation.bleu
    cell = value_cell(
        "translation model", "test", bleu.value, bleu.interval, factor=100 if bleu.unit == "fraction" else 1
    )
    yield compared(EXPOSURE_PAPER, "BLEU of translation", [cell])
    cells = []
    for distance, name in DISTANCES.items():
        curve = translation.curves[distance]
        for column, values, intervals in (
            (f"CGD(M|D), {name}", curve.data, curve.data_intervals),
            (f"CGD(M|M), {name}", curve.model, curve.model_intervals),
            (f"EB-C, {name}", curve.eb_c, curve.eb_c_intervals),
        ):
            cells += _turned(_row(column, curve.lengths, values, intervals=intervals))
    counts = next(iter(translation.curves.values()))
    pairs = ", ".join(f"{n:,} at {length}" for length, n in zip(counts.lengths, counts.n_pairs, strict=True))
    yield compared(EXPOSURE_PAPER, "EB-C of translation", _in_rows(cells), pairs=pairs)


def _row(
    row: str,
    lengths: Sequence[int],
    values: FloatArray,
    spreads: FloatArray | None = None,
    intervals: Sequence[Interval | None] | None = None,
) -> list[Cell]:
    """Return a row of cells, a column each length."""
    bounds = intervals or [None] * len(lengths)
    widths = [None] * len(lengths) if spreads is None else spreads.tolist()
    return [
        _value(row, str(length), *cell) for length, *cell in zip(lengths, values.tolist(), bounds, widths, strict=True)
    ]


def _turned(row: Sequence[Cell]) -> list[Cell]:
    """Return a row as a column, a row each length."""
    return [replace(cell, row=f"l = {cell.column}", column=cell.row) for cell in row]


def _column(column: str, curve: CgdCurve | EbC) -> list[Cell]:
    """Return a column of cells, a row each length."""
    return _turned(_row(column, curve.lengths, curve.values, intervals=curve.intervals))


def _by_length(curves: Mapping[str, CgdCurve | EbC]) -> tuple[Cell, ...]:
    """Return a column for each curve, row by row, the means over the lengths last."""
    cells = [cell for column, curve in curves.items() for cell in _column(column, curve)]
    means = [_value(AVERAGE, column, curve.average, curve.average_interval) for column, curve in curves.items()]
    return (*_in_rows(cells), *means)


def _in_rows(cells: Sequence[Cell]) -> list[Cell]:
    rows = list(dict.fromkeys(cell.row for cell in cells))
    return sorted(cells, key=lambda cell: rows.index(cell.row))


def _value(row: str, column: str, value: float, interval: Interval | None = None, spread: Number = None) -> Cell:
    return value_cell(row, column, _known(value), interval, spread=_known(spread))


def _quantity(row: str, column: str, quantity: Quantity) -> Cell:
    return _value(row, column, quantity.value, quantity.interval)


def _known(value: Number) -> Number:
    return None if value is None or not np.isfinite(value) else value


def exposure_figures(results: ExposureResults) -> Iterator[Figure]:
    """Yield figure 2, a panel per distance; figure 4, per oracle, with two-sided models; figure 3, a figure a model."""
    if not results.synthetic:
        return
    yield lengths_figure(
        [
            _curve("Figure 2: EB-C", model, name, "EB-C", _rate(kinds, distance), averaged=True)
            for (model, kinds), (distance, name) in product(results.synthetic.items(), DISTANCES.items())
        ]
    )
    curves = []
    for model, kinds in {**results.synthetic, **results.others}.items():
        oracle = RANDOM_LSTM if RANDOM_ORACLE in (model, OTHERS.get(model)) else DATA_MODEL
        title, family = "Figure 4: EB-C of models", f"against the {oracle}"
        curves.append(_curve(title, model, family, "EB-C, Jensen-Shannon", _rate(kinds, "js"), averaged=True))
    yield lengths_figure(curves)
    for model, kinds in results.synthetic.items():
        deviations = {kind: cgd_curve(after_words(runs), "tv") for kind, runs in kinds.items()}
        title = f"Figure 3: CGD, {model}"
        yield lengths_figure(
            [
                _curve(title, kind.replace(":", " "), model, "CGD, total variation", curve)
                for kind, curve in deviations.items()
            ]
        )


def _curve(title: str, name: str, family: str, y: str, curve: CgdCurve | EbC, *, averaged: bool = False) -> Curve:
    """Return a curve by length; lengths without a value are not on it."""
    points = tuple(
        Point(length, value, *((None, None) if interval is None else (interval.low, interval.high)))
        for length, value, interval in zip(curve.lengths, curve.values.tolist(), curve.intervals, strict=True)
        if np.isfinite(value)
    )
    return Curve(title, name, family, "words of the prefix", y, points, _known(curve.average) if averaged else None)


class ExposureStudy(Study):
    """The study."""

    name = "exposure-bias"

    def __init__(
        self,
        texts: ExposureTexts,
        scale: Scale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        from textassay_lab.training.backend import chosen_precision, training_device

        scale = scale if runs is None else scale.but(runs=runs, bleu_runs=runs)
        super().__init__(folder, scale, seed=seed, progress=progress)
        self.texts = texts
        self.precision = chosen_precision(scale.precision, training_device())
        self.experiment = ExposureExperiment(texts, scale, self.precision, seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        results = self.measured()
        return Reproduction(
            title="Quantifying Exposure Bias for Neural Language Generation",
            settings=self._settings(),
            tables=exposure_tables(results),
            findings=(*check_findings(results), *check_published()),
            figures=tuple(exposure_figures(results)),
            samples=self._samples(results.translation),
            notes=tuple(self._notes()),
            seconds=self.seconds(),
        )

    def measured(self) -> ExposureResults:
        """Return the results of the stages; all must be done."""
        experiment = self.experiment
        bleu = self.read(experiment.bleu, BleuRun.from_dict)
        if self.scale.retrained:
            bleu = {
                text: {model: by_training(runs, trainings(self.scale)) for model, runs in models.items()}
                for text, models in bleu.items()
            }
        return ExposureResults(
            bleu=bleu,
            synthetic=self.read(experiment.synthetic, PrefixRun.from_dict),
            others=self.read(experiment.others, PrefixRun.from_dict),
            perplexity=self._perplexities(experiment.perplexity),
            held_out_perplexity=self._perplexities(experiment.held_out_perplexity),
            translation=self._translation(),
            oracle_costs={
                title: quantity_from_dict(cost)
                for title, cost in self.done(experiment.adversarial[RANKGAN]).result["oracle"].items()
            },
            retrained=self.scale.retrained,
        )

    def _perplexities(self, stages: Mapping[str, Mapping[str, Sequence[Stage]]]) -> dict[str, dict[str, Quantity]]:
        rows = self.read(stages, lambda kept: quantity_from_dict(kept["perplexity"]))
        return {
            row: {column: mean_of_trainings(trained) for column, trained in columns.items()}
            for row, columns in rows.items()
        }

    def _translation(self) -> TranslationResults | None:
        pairs = self.texts.pairs
        if pairs is None:
            return None
        quality, bias = (self.done(self.experiment.translation[part]).result for part in ("quality", "bias"))
        samples: list[SwitchedSample] = []
        for number, modes in groupby(sorted(quality["samples"], key=itemgetter("number")), itemgetter("number")):
            samples.append(SwitchedSample("source", "", pairs.test.source.texts[number]))
            samples.append(SwitchedSample("reference", "", pairs.references[number]))
            samples += [SwitchedSample(one["mode"].upper(), one["prefix"], one["continuation"]) for one in modes]
        curves = {name: TranslationCurve.from_dict(curve) for name, curve in bias.items()}
        return TranslationResults(Estimate.from_dict(quality["bleu"]), curves, tuple(samples))

    def _samples(self, translation: TranslationResults | None) -> dict[str, tuple[SwitchedSample, ...]]:
        """Return samples after switched prefixes by title; of translation with source and reference as two more."""
        switched = self.read(self.experiment.switching, lambda kept: tuple(SwitchedSample(**one) for one in kept))
        samples = {f"{title}{_OF_TABLES.get(title, '')}": rows for title, rows in switched.items()}
        if translation is not None and translation.samples:
            samples["translation, as in table 5"] = translation.samples
        return samples

    def _settings(self) -> dict[str, Any]:
        texts: dict[str, Any] = {name: (text, ("train", "valid", "unseen")) for name, text in self.texts.free.items()}
        if self.texts.pairs is not None:
            texts[TRANSLATION] = self.texts.pairs, ("train", "test")
        parts: dict[str, Any] = {}
        for name, (text, names) in texts.items():
            parts[f"text, {name}"] = {part: getattr(text, part).fingerprint for part in names}
            parts[f"sizes, {name}"] = ", ".join(f"{n:,} {what}" for what, n in text.sizes.items())
        return self.settings(precision=self.precision, **parts)

    def _notes(self) -> Iterator[str]:
        for name, text in self.texts.free.items():
            rate = text.unseen.unk_rate
            yield f"{name}: {100 * rate:.1f} % of the unseen words are <unk>, in references and prefixes alike."
        if self.scale.retrained:
            yield (
                f"Models for EB-bleu were trained {trainings(self.scale)} times, those for EB-C {self.scale.runs} "
                "times, with different seeds. Those trained on samples of a model had fresh samples. The data model "
                "of EB-C is the first training. Values are means over trainings, with intervals over them. In tables "
                f"of EB-bleu, a run is the mean over those of one training, of {self.scale.bleu_runs} in all."
            )
        yield from self.warning_notes()
        yield from (f"{text} was not found: results that need it are left out." for text in self.texts.missing)
        for model, stage in self.experiment.adversarial.items():
            why = self.done(stage).result["stopped"]
            if why is not None:
                yield f"{model}: training ended early. {why}"
        yield from EXPOSURE_PAPER.notes
