"""The study ``exposure-bias``: tables, figures and samples, ours beside the published ones.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 1, 2, 4, 5
and 7 to 9, figures 2 to 4, the perplexities and the BLEU in its text; what is measured beyond them.
Departs from it: other texts, and networks as a scale says; what stands for P_D of translation is a model, not people.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.estimate import Estimate, Interval
from textassay_lab.exposure.bias import CgdCurve, EbC, ExcessError, cgd_curve, eb_c, excess_error
from textassay_lab.exposure.bleu import BleuRun, EbBleu, eb_bleu_of_runs
from textassay_lab.exposure.by_length import Curve, CurvePoint
from textassay_lab.exposure.discrepancy import EbDd
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.runs import PrefixRun
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.exposure.translation import TranslationCurve
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.meta_evaluation.reproduction import (
    Cell,
    CheckedFinding,
    Number,
    ReproducedTable,
    Reproduction,
    beside,
)
from textassay_lab.papers.exposure_bias.experiment import ExposureTexts, build_exposure
from textassay_lab.papers.exposure_bias.findings import (
    DISTANCE_NAMES,
    after_words,
    by_training,
    check_findings,
    check_published,
    mean_of_trainings,
)
from textassay_lab.papers.exposure_bias.measures import (
    DATA_MODEL,
    FRESH_SAMPLES,
    OTHERS,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    TEST_SET,
    TRANSLATION,
    ExposureResults,
    SimulatedTask,
    TranslationResults,
    quantity_from_dict,
)
from textassay_lab.papers.exposure_bias.published import (
    ORACLE_COSTS,
    WIKI,
    ExposureScale,
    bleu_row,
    misprints,
    out_of_line,
    published_table,
    ratio_row,
    recomputed_ratios,
)
from textassay_lab.papers.presets import in_words
from textassay_lab.papers.staged_study import StagedStudy
from textassay_lab.papers.stages import Stage

FloatArray = npt.NDArray[np.float64]
Kinds = Mapping[str, Sequence[PrefixRun]]

AVERAGE = "mean over l"
_COST = "nats per token"
_BY_LENGTH = "EB-C after prefixes of l words"
_WIKI = "wikitext2"
_FIGURE_2, _FIGURE_3, _FIGURE_4 = "figure 2", "figure 3", "figure 4"
_ORACLES = (
    f"{RANDOM_ORACLE} and {RANKGAN} learnt from the {RANDOM_LSTM}, which is their data model, and know no word of the "
    "news."
)


def exposure_tables(results: ExposureResults) -> tuple[ReproducedTable, ...]:
    """Return all tables that the results allow; the published ones stand even without ours."""
    groups = [_bleu_tables(results), _people(results.next_word), _perplexities(results), _of_others(results)]
    groups.append(_of_synthetic(results.synthetic))
    tables = [table for group in groups for table in group]
    if results.eb_dd:
        tables.append(_eb_dd(results))
    return *tables, *_translation(results.translation)


def from_printed_numbers(name: str) -> ReproducedTable:
    """Return the ratios of "table 2" or "table 4" as they follow from the numbers printed beside them."""
    ratios = recomputed_ratios(name)
    rounded = sum(abs(one.value - one.printed) > one.rounding for one in ratios)
    notes = [f"Of {len(ratios)} ratios {rounded} differ from the printed ones by more than rounding allows."]
    if name == "table 4":
        notes.append("Their spread follows from those of both parts, as if these were independent.")
    wrong = misprints(name)
    for one in wrong:
        (row, _), value = out_of_line(one)
        notes.append(
            f"{one.row} at l = {one.column} is off by {one.in_spreads:.1f} printed spreads: a misprint. Of the three "
            f"numbers {row} is most out of line with its neighbours; with {value:.2f} for it all would agree."
        )
    others = [one for one in ratios if one not in wrong]
    notes.append(f"The other ratios differ by at most {max(abs(one.value - one.printed) for one in others):.4f}.")
    cells = [
        Cell(one.row, one.column, published=one.printed, published_spread=one.spread, recomputed=one.value,
             recomputed_spread=one.spread_of_parts)
        for one in ratios
    ]  # fmt: skip
    printed = published_table(name)
    title = {"table 2": "EB-bleu", "table 4": "EB-C with people for the data"}[name]
    return ReproducedTable(f"{printed.id}, from printed numbers", title, tuple(cells), note=" ".join(notes))


def _bleu_tables(results: ExposureResults) -> Iterable[ReproducedTable]:
    """Yield table 2 with ours, its printed ratios, and the same table of other texts."""
    printed = published_table("table 2")
    note = "Ours: the spread is over runs, intervals are Student's over runs, and hold for this held-out text. "
    note += (
        "By our specification (D2) EB-bleu of a scaled-down model, LSTM or Transformer-XL, is between 0.97 and 1.06."
    )
    ours = results.bleu.get(_WIKI, {})
    yield beside(
        printed,
        _bleu_cells(ours),
        differs=f"on {_WIKI}, where the paper has half of wiki-103, with models of this scale" if ours else "",
        note=f"{_bleu_sizes(ours)} {note}" if ours else "Ours is not measured: its text was not there.",
    )
    yield from_printed_numbers("table 2")
    for text, models in results.bleu.items():
        if text != _WIKI:
            title = f"EB-bleu on {text}, BLEU-3 in percent, by the number of words of the prefix"
            cells = tuple(_bleu_cells(models))
            yield ReproducedTable(f"table 2, {text}", title, cells, note=f"{_bleu_sizes(models)} {note}")


def _bleu_cells(models: Mapping[str, Sequence[BleuRun]]) -> list[Cell]:
    cells = []
    for model, runs in models.items():
        for number, kind in enumerate(kind for kind in runs[0].scores if kind != "data"):
            rate = eb_bleu_of_runs(runs, prefixes=kind)
            if number == 0:
                cells += _row(bleu_row(model, "data"), rate.lengths, 100 * rate.data, 100 * rate.data_sd)
            cells += _row(bleu_row(model, kind), rate.lengths, 100 * rate.other, 100 * rate.other_sd)
            cells += _row(ratio_row(model, kind), rate.lengths, rate.values, rate.sd, rate.intervals)
    return cells


def _bleu_sizes(models: Mapping[str, Sequence[BleuRun]]) -> str:
    runs = next(iter(models.values()))
    return f"Here {len(runs)} runs of {runs[0].n_sentences:,} continuations against {runs[0].n_references:,}."


def _people(next_word: Mapping[str, Mapping[int, SimulatedTask]]) -> Iterable[ReproducedTable]:
    note = "No ours: it takes people; 'textassay human' makes the pages and scores the answers."
    yield beside(published_table("table 4"), (), note=note)
    yield from_printed_numbers("table 4")
    if any(next_word.values()):
        yield from _simulated_raters(next_word)


def _simulated_raters(next_word: Mapping[str, Mapping[int, SimulatedTask]]) -> Iterable[ReproducedTable]:
    """Yield what was given back of simulated raters, and of how much."""
    cells, sizes, within = [], [], []
    for task, lengths in next_word.items():
        for length, one in lengths.items():
            row, score = f"simulated raters, {task}, l = {length}", one.score
            for name, known, value, interval, spread in zip(
                ("CGD(M|D)", "CGD(M|M)", "EB-C"),
                (*one.known, one.known_eb_c),
                (score.cgd_data, score.cgd_model, score.eb_c),
                (score.cgd_data_interval, score.cgd_model_interval, score.eb_c_interval),
                score.spreads or (None,) * 3,
                strict=True,
            ):
                cells.append(Cell(f"{row}: {name}", "raters made with", known))
                cells.append(_value(f"{row}: {name}", "given back", value, interval))
                cells.append(Cell(f"{row}: {name}", "spread of five evaluations", _known(spread)))
                within.append(interval is not None and interval.low <= known <= interval.high)
            counts = {
                "answers": score.n_data + score.n_model, "prefixes": score.n_prefixes, "pages": one.n_pages,
                "raters": score.n_raters, "next word foreseen": one.foreseen,
            }  # fmt: skip
            sizes += [Cell(row, column, _known(count)) for column, count in counts.items()]
    yield ReproducedTable(
        "simulated raters",
        "NOT ANSWERS OF PEOPLE: the next-word task of table 4 with simulated raters of known skill",
        tuple(cells),
        note="No person was asked. Prefixes, pages, acceptance and score are those of a study with people, of our "
        "trained models; the answers are drawn by chance: a simulated rater chooses the model's most probable word as "
        "often as set, after prefixes of the data and of the model, whatever the prefix says. So these numbers tell "
        "nothing of exposure bias, only whether the task gives back what is known of its raters: of "
        f"{len(within)} known values {sum(within)} lie in their intervals.",
    )
    yield ReproducedTable(
        "simulated raters, sizes",
        "How much the simulated raters judged, and what a reader who knows the text would say",
        tuple(sizes),
        note="Next word foreseen: the share of texts of the data that go on with the model's most probable word, which "
        "is how often a reader who knows the text would choose it. It is of our models, and asks nobody either.",
    )


def _perplexities(results: ExposureResults) -> Iterable[ReproducedTable]:
    columns = {TEST_SET: "perplexity", FRESH_SAMPLES: f"on {FRESH_SAMPLES}"}
    cells = [
        _quantity(model, columns[text], value)
        for model, texts in results.perplexity.items()
        for text, value in texts.items()
    ]
    yield beside(
        published_table("table 7"), cells, differs="models and text of this scale" if cells else "",
        note=f"Ours on the {TEST_SET}, the end of each sentence counted. {_ORACLES}" if cells else "",
    )  # fmt: skip
    held_out = results.held_out_perplexity
    rest = [
        _quantity(model, WIKI if text == _WIKI else text, value)
        for text, models in held_out.items()
        for model, value in models.items()
    ]
    note = f"Ours: on the text that prefixes and references come from, ends counted; {WIKI} is blocks of {_WIKI}, of "
    note += "which a half is held out from every model: beside 24.02 there is none."
    yield beside(
        published_table("perplexity, held-out"), rest, differs="models and text of this scale" if rest else "",
        note=note if rest else "",
    )  # fmt: skip


def _of_others(results: ExposureResults) -> Iterable[ReproducedTable]:
    """Yield models with and without adversarial training side by side, EB-C by length, and costs under the oracle."""
    known = {**results.synthetic, **results.others}
    cells = [
        _value(title, name, rate.average, rate.average_interval)
        for model in results.others
        for title in (OTHERS[model], model)
        for distance, name in DISTANCE_NAMES.items()
        for rate in (_rate(known[title], distance),)
    ]
    if cells:
        note = "Each after the model by maximum likelihood that it is compared with. The figure has no numbers."
        title = "EB-C, mean over l, of what is trained by maximum likelihood and of what is not"
        yield ReproducedTable(_FIGURE_4, title, tuple(cells), note=note)
    if results.oracle_costs:
        printed = dict(zip((RANDOM_ORACLE, RANKGAN), ORACLE_COSTS, strict=True))
        rows = [
            replace(_quantity(row, _COST, cost), published=printed.get(row))
            for row, cost in results.oracle_costs.items()
        ]
        note = "As many sentences are drawn from each, words that no text has (<unk>) left out. The random LSTM's own "
        note += "text is as likely as text should be; what is likelier has less variety."
        yield ReproducedTable("oracle NLL", "Nats per token under the random LSTM", tuple(rows), note=note)
    for model, kinds in results.others.items():
        cells = [cell for distance, name in DISTANCE_NAMES.items() for cell in _column(name, _rate(kinds, distance))]
        yield ReproducedTable(f"{_FIGURE_4}, {model}", _BY_LENGTH, tuple(cells), note=_runs_of(kinds))


def _of_synthetic(synthetic: Mapping[str, Kinds]) -> Iterable[ReproducedTable]:
    """Yield EB-C by length and distance, CGD by length and kind of prefix, and accumulated error."""
    excess = []
    for model, kinds in synthetic.items():
        cells = [
            cell
            for distance, name in DISTANCE_NAMES.items()
            for cell in _column(name, _rate(kinds, distance), averaged=True)
        ]
        note = f"The values behind figures 2 and 4, which have no numbers in the paper. {_runs_of(kinds)}"
        yield ReproducedTable(f"{_FIGURE_2}, {model}", _BY_LENGTH, tuple(_in_rows(cells)), note=note)
        cells = [
            cell
            for kind, runs in kinds.items()
            for cell in _column(kind, cgd_curve(after_words(runs), "tv"), averaged=True)
        ]
        counts = ", ".join(f"{kind} {runs[0].n_sequences:,}" for kind, runs in kinds.items())
        title = "CGD, total variation, after prefixes of each kind"
        note = f"Sequences in each of {len(kinds['data'])} runs: {counts}."
        yield ReproducedTable(f"{_FIGURE_3}, {model}", title, tuple(_in_rows(cells)), note=note)
        excess += _column(model, excess_error(kinds["data"], kinds["model"]))
    if excess:
        yield ReproducedTable(
            "excess error", "Excess accumulated error, a fraction: how much faster errors pile up in own sentences",
            tuple(_in_rows(excess)), note="By the divergence KL(data || model) of next words; 0 without exposure bias. "
            "Beyond the paper.",
        )  # fmt: skip


def _rate(kinds: Kinds, distance: Distance) -> EbC:
    """Return EB-C of a model, without the empty prefix."""
    return eb_c(after_words(kinds["data"]), after_words(kinds["model"]), distance)


def _runs_of(kinds: Kinds) -> str:
    return f"{len(kinds['data'])} runs of {kinds['data'][0].n_sequences:,} sequences a side; intervals over runs."


def _eb_dd(results: ExposureResults) -> ReproducedTable:
    cells = []
    for title, result in results.eb_dd.items():
        row = f"{title}, l = {result.length}"
        for column, one in (("dd after data", result.data), ("dd after own", result.model)):
            cells.append(_value(row, column, one.value, one.interval))
        cells.append(_value(row, "EB-DD", result.difference, result.interval))
    note = (
        "How much easier a classifier tells what follows the model's own prefixes from what the data would have after "
        "the same prefixes: 0 without exposure bias. Beyond the paper."
    )
    return ReproducedTable("EB-DD", "Discrepancy of continuations", tuple(cells), note=note)


def _translation(translation: TranslationResults | None) -> Iterable[ReproducedTable]:
    """Yield BLEU beside the printed one, and EB-C by length."""
    printed = published_table("BLEU of translation")
    if translation is None:
        yield beside(printed, ())
        return
    bleu = translation.bleu
    percent = 100 if bleu.unit == "fraction" else 1
    interval = bleu.interval
    low, high = (None, None) if interval is None else (percent * interval.low, percent * interval.high)
    cell = Cell("translation model", "test", percent * bleu.value, low, high)
    yield beside(printed, [cell], differs=f"on {TRANSLATION}, with a model of this scale")
    cells = []
    for distance, name in DISTANCE_NAMES.items():
        curve = translation.curves[distance]
        for column, values, intervals in (
            (f"CGD(M|D), {name}", curve.data, curve.data_intervals),
            (f"CGD(M|M), {name}", curve.model, curve.model_intervals),
            (f"EB-C, {name}", curve.eb_c, curve.eb_c_intervals),
        ):
            cells += _turned(_row(column, curve.lengths, values, intervals=intervals))
    counts = next(iter(translation.curves.values()))
    pairs = ", ".join(f"{n:,} at {length}" for length, n in zip(counts.lengths, counts.n_pairs, strict=True))
    note = (
        "For the data stands a translation model trained on the pairs: the model under test learnt from what it draws "
        f"for their sources. Pairs: {pairs}. The paper's numbers, in table 4, have people for the data."
    )
    yield ReproducedTable("EB-C of translation", "EB-C after l tokens", tuple(_in_rows(cells)), note=note)


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


def _column(column: str, curve: CgdCurve | EbC | ExcessError, *, averaged: bool = False) -> list[Cell]:
    """Return a column of cells, a row each length, and the mean over the lengths where asked."""
    cells = _turned(_row(column, curve.lengths, curve.values, intervals=curve.intervals))
    return [*cells, _value(AVERAGE, column, curve.average, curve.average_interval)] if averaged else cells


def _in_rows(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells row by row, the mean last."""
    rows = list(dict.fromkeys(cell.row for cell in cells))
    order = [row for row in rows if row != AVERAGE] + [row for row in rows if row == AVERAGE]
    return sorted(cells, key=lambda cell: order.index(cell.row))


def _value(row: str, column: str, value: float, interval: Interval | None = None, spread: float | None = None) -> Cell:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Cell(row, column, _known(value), low, high, spread=_known(spread))


def _quantity(row: str, column: str, quantity: Quantity) -> Cell:
    return _value(row, column, quantity.value, quantity.interval)


def _known(value: float | None) -> Number:
    return None if value is None or not np.isfinite(value) else value


_WORDS = "words of the prefix"
_TOKENS = "tokens of the prefix"
_OF_TABLES: Mapping[str, str] = {
    "Transformer-XL on wikitext2": ", as in tables 1 and 8",
    "LSTM on emnlp_news": ", as in table 9",
}
_NOTES = (
    "Table 4 has answers of people who choose next words: 'textassay human next-word' makes the pages, and the table "
    "of simulated raters shows what pages and score give back of raters who are no people. Table 6 argues by two "
    "examples that EB-bleu says little of a model with a source, and has nothing to measure.",
    "A verdict is about these trained models and this held-out text: what varies is what was drawn, and with models "
    "trained anew for each run also the training.",
    "Tables and figures show intervals over runs. Where the runs share one model, verdicts on EB-C and CGD rest on the "
    "error over the sequences of all runs.",
    "Means over l leave out the empty prefix, after which all kinds of prefixes are the same.",
)


def exposure_reproduction(results: ExposureResults, *, retrained: bool = False, level: float = 0.95) -> Reproduction:
    """Return the study, our results beside the published ones."""
    stopped = [f"{model}: training ended early. {why}" for model, why in results.stopped.items()]
    missing = [f"{text} was not there: what needs it is not measured." for text in results.missing]
    sizes = {
        f"sizes, {part}": ", ".join(f"{n:,} {what}" for what, n in counts.items())
        for part, counts in results.sizes.items()
    }
    return Reproduction(
        title="Quantifying Exposure Bias for Neural Language Generation",
        settings={**results.settings, **sizes},
        tables=exposure_tables(results),
        findings=_together(check_findings(results, retrained=retrained, level=level), check_published(level)),
        curves=exposure_curves(results),
        samples=exposure_samples(results),
        notes=(*results.notes, *missing, *stopped, *_NOTES),
        seconds=results.seconds,
    )


def _together(ours: Sequence[CheckedFinding], published: Sequence[CheckedFinding]) -> tuple[CheckedFinding, ...]:
    """Return the findings with those of the published numbers after ours of the same id."""
    return tuple(one for name in dict.fromkeys(one.id for one in ours) for one in (*ours, *published) if one.id == name)


def exposure_samples(results: ExposureResults) -> dict[str, tuple[SwitchedSample, ...]]:
    """Return samples after switched prefixes by title; of translation with source and reference as two more kinds."""
    samples = {f"{title}{_OF_TABLES.get(title, '')}": rows for title, rows in results.switching.items()}
    if results.translation is not None and results.translation.samples:
        samples["translation, as in table 5"] = results.translation.samples
    for (task, lengths), figure in zip(results.next_word.items(), ("table 3 and figure 5", "figure 6"), strict=False):
        for length, task_items in [(length, one.items) for length, one in lengths.items()][:1]:
            samples[f"items of the next-word task, {task}, l = {length}, as in {figure}"] = task_items
    return samples


def exposure_curves(results: ExposureResults) -> tuple[Curve, ...]:
    """Return the curves of all figures."""
    return tuple(chain(_deviation_curves(results), _bleu_curves(results), _error_curves(results)))


def _deviation_curves(results: ExposureResults) -> Iterable[Curve]:
    """Yield figure 2, a panel per distance; figure 4, per oracle, with two-sided models; figure 3, a figure a model."""
    for (model, kinds), (distance, name) in product(results.synthetic.items(), DISTANCE_NAMES.items()):
        rate = _rate(kinds, distance)
        yield _curve("Figure 2: EB-C", model, name, "EB-C", rate, average=rate.average)
    for model, kinds in {**results.synthetic, **results.others}.items():
        oracle = RANDOM_LSTM if RANDOM_ORACLE in (model, OTHERS.get(model)) else DATA_MODEL
        rate = _rate(kinds, "js")
        yield _curve("Figure 4: EB-C of models", model, f"against the {oracle}", "EB-C, Jensen-Shannon", rate,
                     average=rate.average)  # fmt: skip
    for model, kinds in results.synthetic.items():
        for kind, runs in kinds.items():
            curve = cgd_curve(after_words(runs), "tv")
            yield _curve(f"Figure 3: CGD, {model}", kind.replace(":", " "), model, "CGD, total variation", curve)


def _bleu_curves(results: ExposureResults) -> Iterable[Curve]:
    """Yield EB-bleu, one panel per text, and the published one; what is left of C-bleu, one per model and text."""
    title, printed = "EB-bleu", published_table("table 2")
    assert printed.spreads is not None
    for name, row in (
        ("LSTM", ratio_row("LSTM")),
        ("Transformer-XL", ratio_row("Transformer-XL")),
        ("Transformer-XL, shuffled", ratio_row("Transformer-XL", "shuffled")),
    ):
        points = [cell for cell in printed.cells() if cell.row == row]
        yield Curve("by length", name, "paper: wiki-103, with spread", _WORDS, title, tuple(
            CurvePoint(None, int(cell.column), value, y_low=value - spread, y_high=value + spread)
            for cell in points
            for value, spread in ((cell.published or 0.0, cell.published_spread or 0.0),)
        ), title)  # fmt: skip
    kept = []
    for text, models in results.bleu.items():
        for model, runs in models.items():
            for kind in (kind for kind in runs[0].scores if kind != "data"):
                rate = eb_bleu_of_runs(runs, prefixes=kind)
                if kind == "model" or (kind == "shuffled" and model != "position unigram"):
                    yield _curve(title, model if kind == "model" else f"{model}, {kind}", text, title, rate)
                bounds = tuple(  # none where the rate may be 0: its inverse has no bound then
                    replace(one, low=1 / one.high, high=1 / one.low) if one is not None and one.low > 0 else None
                    for one in rate.intervals
                )
                inverse = replace(rate, values=1 / rate.values, intervals=bounds)
                kept.append(_curve("Self-recovery", kind, f"{model}, {text}", "share of C-bleu after data", inverse))
    yield from kept


def _error_curves(results: ExposureResults) -> Iterable[Curve]:
    """Yield accumulated error, and EB-C of translation."""
    for model, kinds in results.synthetic.items():
        error = excess_error(kinds["data"], kinds["model"])
        yield _curve("Excess accumulated error", model, "", "excess error", error, x="words of the sentence so far")
    if results.translation is not None:
        for distance, name in DISTANCE_NAMES.items():
            curve = results.translation.curves[distance]
            yield _curve("EB-C of translation", name, "translation", "EB-C", curve, x=_TOKENS)


def _curve(
    title: str, name: str, family: str, y: str, curve: CgdCurve | EbC | ExcessError | EbBleu | TranslationCurve, *,
    average: Number = None, x: str = _WORDS,
) -> Curve:  # fmt: skip
    """Return a curve by length; lengths without a value are not on it."""
    values, intervals = (
        (curve.eb_c, curve.eb_c_intervals) if isinstance(curve, TranslationCurve) else (curve.values, curve.intervals)
    )
    points = tuple(
        CurvePoint(None, length, value) if interval is None
        else CurvePoint(None, length, value, y_low=interval.low, y_high=interval.high)
        for length, value, interval in zip(curve.lengths, values.tolist(), intervals, strict=True)
        if np.isfinite(value)
    )  # fmt: skip
    return Curve("by length", name, family, x, y, points, title, _known(average))


class ExposureStudy(StagedStudy):
    """The study."""

    name = "exposure-bias"

    def __init__(
        self,
        texts: ExposureTexts,
        scale: ExposureScale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        from textassay_lab.training.backend import chosen_precision, training_device

        self.texts, self.seed = texts, seed
        self.scale = scale if runs is None else replace(scale, runs=runs, bleu_runs=runs)
        self.precision = chosen_precision(scale.precision, training_device())
        super().__init__(folder, progress)
        self.experiment = build_exposure(texts, self.scale, precision=self.precision, seed=seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        return exposure_reproduction(self.measured(), retrained=self.scale.retrained)

    def measured(self) -> ExposureResults:
        """Return the results of the stages; all must be done."""
        experiment = self.experiment
        sizes = {name: text.sizes for name, text in self.texts.free.items()}
        if self.texts.pairs is not None:
            sizes["multi30k"] = self.texts.pairs.sizes
        bleu = self._read(experiment.bleu, BleuRun.from_dict)
        if self.scale.retrained:
            bleu = {
                text: {model: by_training(runs, self.scale.trainings) for model, runs in models.items()}
                for text, models in bleu.items()
            }
        next_word = self._read(experiment.next_word, lambda kept: kept and SimulatedTask.from_dict(kept))
        stopped = self._read(experiment.adversarial, itemgetter("stopped"))
        return ExposureResults(
            bleu=bleu,
            synthetic=self._read(experiment.synthetic, PrefixRun.from_dict),
            perplexity=self._perplexities(experiment.perplexity),
            held_out_perplexity=self._perplexities(experiment.held_out_perplexity),
            eb_dd=self._read(experiment.eb_dd, EbDd.from_dict),
            translation=self._translation(),
            switching=self._read(experiment.switching, lambda kept: tuple(SwitchedSample(**one) for one in kept)),
            sizes=sizes,
            seconds=self.seconds(),
            settings=self._settings(),
            missing=self.texts.missing,
            notes=tuple(self._notes()),
            others=self._read(experiment.others, PrefixRun.from_dict),
            oracle_costs={
                title: quantity_from_dict(cost)
                for title, cost in self.outcome(experiment.adversarial[RANKGAN])["oracle"].items()
            },
            stopped={title: why for title, why in stopped.items() if why is not None},
            next_word={
                task: {length: one for length, one in lengths.items() if one is not None}
                for task, lengths in next_word.items()
            },
        )

    def _read(self, stages: Any, read: Callable[[Any], Any]) -> Any:
        """Return what `read` makes of the result of each stage, at any depth of mappings and tuples."""
        if isinstance(stages, Mapping):
            return {name: self._read(part, read) for name, part in stages.items()}
        if isinstance(stages, tuple):
            return tuple(self._read(part, read) for part in stages)
        return read(self.outcome(stages))

    def _perplexities(self, stages: Mapping[str, Mapping[str, Sequence[Stage]]]) -> dict[str, dict[str, Quantity]]:
        rows = self._read(stages, lambda kept: quantity_from_dict(kept["perplexity"]))
        return {
            row: {column: mean_of_trainings(trained) for column, trained in columns.items()}
            for row, columns in rows.items()
        }

    def _translation(self) -> TranslationResults | None:
        stages, pairs = self.experiment.translation, self.texts.pairs
        if pairs is None:
            return None
        quality, bias = (self.outcome(stages[part]) for part in ("quality", "bias"))
        samples: list[SwitchedSample] = []
        for number, modes in groupby(sorted(quality["samples"], key=itemgetter("number")), itemgetter("number")):
            samples.append(SwitchedSample("source", "", pairs.test.source.texts[number]))
            samples.append(SwitchedSample("reference", "", pairs.references[number]))
            samples += [SwitchedSample(one["mode"].upper(), one["prefix"], one["continuation"]) for one in modes]
        curves = {name: TranslationCurve.from_dict(curve) for name, curve in bias.items()}
        return TranslationResults(Estimate.from_dict(quality["bleu"]), curves, tuple(samples))

    def _settings(self) -> dict[str, Any]:
        texts = {
            name: {"train": text.train.fingerprint, "valid": text.valid.fingerprint, "unseen": text.unseen.fingerprint}
            for name, text in self.texts.free.items()
        }
        if self.texts.pairs is not None:
            pairs = self.texts.pairs
            texts["multi30k"] = {"train": pairs.train.fingerprint, "test": pairs.test.fingerprint}
        return self.settings(
            precision=self.precision, **{f"text, {name}": in_words(parts) for name, parts in texts.items()}
        )

    def _notes(self) -> list[str]:
        notes = []
        for name, text in self.texts.free.items():
            rate = text.unseen.unk_rate
            notes.append(f"{name}: {100 * rate:.1f} % of the unseen words are <unk>, in references and prefixes alike.")
        if self.scale.retrained:
            notes.append(
                f"Models whose EB-bleu is measured were trained {self.scale.trainings} times, those of EB-C "
                f"{self.scale.runs} times, from other seeds, and on fresh draws where they learn from a model; the "
                "data model of EB-C is the first training. Values are means over trainings, with intervals "
                "over them; in tables of EB-bleu a run is the mean of "
                f"those of one training, of {self.scale.bleu_runs} in all."
            )
        return [*notes, *self.warning_notes()]
