"""Tables of the study of exposure bias: ours, with intervals, beside the published ones.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 2, 4 and 7, the
perplexities and the BLEU in its text, and the values behind figures 2 to 4; what is measured beyond them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textassay.estimate import Interval
from textassay.exposure import BleuRun, PrefixRun, cgd_curve, eb_bleu_of_runs, eb_c, excess_error
from textassay.generator import Quantity
from textassay.meta_evaluation import Cell, Number, ReproducedTable, beside
from textassay.study.exposure_bias.findings import DISTANCE_NAMES
from textassay.study.exposure_bias.published import (
    ORACLE_COSTS,
    WIKI,
    bleu_row,
    misprints,
    out_of_line,
    published_table,
    ratio_row,
    recomputed_ratios,
)
from textassay.study.exposure_bias.results import (
    FRESH_SAMPLES,
    OTHERS,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    TEST_SET,
    TRANSLATION,
    ExposureResults,
    TranslationResults,
)
from textassay.study.exposure_bias.values import after_words

FloatArray = npt.NDArray[np.float64]

AVERAGE = "mean over l"
_COST = "nats per token"
_WIKI = "wikitext2"
_FIGURE_2, _FIGURE_3, _FIGURE_4 = "figure 2", "figure 3", "figure 4"
_ORACLES = (
    f"{RANDOM_ORACLE} and {RANKGAN} learnt from the {RANDOM_LSTM}, which is their data model, and know no word of the "
    "news."
)


def exposure_tables(results: ExposureResults) -> tuple[ReproducedTable, ...]:
    """Return all tables that the results allow; the published ones stand even without ours."""
    groups = [_bleu_tables(results), _people(), _perplexities(results), _of_others(results)]
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
        kinds = [kind for kind in runs[0].scores if kind != "data"]
        rates = {kind: eb_bleu_of_runs(runs, prefixes=kind) for kind in kinds}
        first = next(iter(rates.values()))
        lengths = runs[0].lengths
        cells += _line(bleu_row(model, "data"), lengths, 100 * first.data, spreads=100 * first.data_sd)
        for kind, rate in rates.items():
            cells += _line(bleu_row(model, kind), lengths, 100 * rate.other, spreads=100 * rate.other_sd)
            cells += _line(ratio_row(model, kind), lengths, rate.values, rate.intervals, rate.sd)
    return cells


def _bleu_sizes(models: Mapping[str, Sequence[BleuRun]]) -> str:
    runs = next(iter(models.values()))
    return f"Here {len(runs)} runs of {runs[0].n_sentences:,} continuations against {runs[0].n_references:,}."


def _people() -> Iterable[ReproducedTable]:
    note = "No ours: it takes people; 'textassay human' makes the pages and scores the answers."
    yield beside(published_table("table 4"), (), note=note)
    yield from_printed_numbers("table 4")


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
    cells, by_length = [], []
    for model, own in results.others.items():
        column = []
        for title in (OTHERS[model], model):
            runs = [after_words(known[title][kind]) for kind in ("data", "model")]
            for distance, name in DISTANCE_NAMES.items():
                rate = eb_c(runs[0], runs[1], distance)
                cells.append(_value(title, name, rate.average, rate.average_interval))
                if title == model:
                    column += _column(name, rate.lengths, rate.values, rate.intervals)
        sizes = f"{len(own['data'])} runs of {own['data'][0].n_sequences:,} sequences a side; intervals over runs."
        by_length.append(
            ReproducedTable(f"{_FIGURE_4}, {model}", "EB-C after prefixes of l words", tuple(column), note=sizes)
        )
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
    yield from by_length


def _of_synthetic(synthetic: Mapping[str, Mapping[str, Sequence[PrefixRun]]]) -> Iterable[ReproducedTable]:
    """Yield EB-C by length and distance, CGD by length and kind of prefix, and accumulated error."""
    excess = []
    for model, kinds in synthetic.items():
        data, own = (after_words(kinds[kind]) for kind in ("data", "model"))
        cells = []
        for distance, name in DISTANCE_NAMES.items():
            rate = eb_c(data, own, distance)
            cells += _column(name, rate.lengths, rate.values, rate.intervals)
            cells.append(_value(AVERAGE, name, rate.average, rate.average_interval))
        sizes = f"{len(data)} runs of {data[0].n_sequences:,} sequences a side; intervals over runs."
        note = f"The values behind figures 2 and 4, which have no numbers in the paper. {sizes}"
        title = "EB-C after prefixes of l words"
        yield ReproducedTable(f"{_FIGURE_2}, {model}", title, tuple(_in_rows(cells)), note=note)
        cells = []
        for kind, runs in kinds.items():
            curve = cgd_curve(after_words(runs), "tv")
            cells += _column(kind, curve.lengths, curve.values, curve.intervals)
            cells.append(_value(AVERAGE, kind, curve.average, curve.average_interval))
        counts = ", ".join(f"{kind} {runs[0].n_sequences:,}" for kind, runs in kinds.items())
        title = "CGD, total variation, after prefixes of each kind"
        note = f"Sequences in each of {len(data)} runs: {counts}."
        yield ReproducedTable(f"{_FIGURE_3}, {model}", title, tuple(_in_rows(cells)), note=note)
        error = excess_error(kinds["data"], kinds["model"])
        excess += _column(model, error.lengths, error.values, error.intervals)
    if excess:
        yield ReproducedTable(
            "excess error", "Excess accumulated error, a fraction: how much faster errors pile up in own sentences",
            tuple(_in_rows(excess)), note="By the divergence KL(data || model) of next words; 0 without exposure bias. "
            "Beyond the paper.",
        )  # fmt: skip


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
            cells += _column(column, curve.lengths, values, intervals)
    counts = next(iter(translation.curves.values()))
    pairs = ", ".join(f"{n:,} at {length}" for length, n in zip(counts.lengths, counts.n_pairs, strict=True))
    note = (
        "For the data stands a translation model trained on the pairs: the model under test learnt from what it draws "
        f"for their sources. Pairs: {pairs}. The paper's numbers, in table 4, have people for the data."
    )
    yield ReproducedTable("EB-C of translation", "EB-C after l tokens", tuple(_in_rows(cells)), note=note)


def _line(
    row: str,
    lengths: Sequence[int],
    values: FloatArray,
    intervals: Sequence[Interval | None] | None = None,
    spreads: FloatArray | None = None,
) -> list[Cell]:
    """Return a row of cells, a column each length."""
    return [
        _value(row, str(length), value, bounds, spread)
        for length, value, bounds, spread in zip(
            lengths,
            values.tolist(),
            intervals or [None] * len(lengths),
            [None] * len(lengths) if spreads is None else spreads.tolist(),
            strict=True,
        )
    ]


def _column(
    column: str, lengths: Sequence[int], values: FloatArray, intervals: Sequence[Interval | None]
) -> list[Cell]:
    """Return a column of cells, a row each length."""
    return [
        Cell(f"l = {cell.column}", column, cell.ours, cell.low, cell.high)
        for cell in _line("", lengths, values, intervals)
    ]


def _in_rows(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells row by row, the mean last."""
    rows = list(dict.fromkeys(cell.row for cell in cells))
    order = [row for row in rows if row != AVERAGE] + [row for row in rows if row == AVERAGE]
    return sorted(cells, key=lambda cell: order.index(cell.row))


def _value(row: str, column: str, value: float, interval: Interval | None, spread: float | None = None) -> Cell:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Cell(row, column, _known(value), low, high, spread=_known(spread))


def _quantity(row: str, column: str, quantity: Quantity) -> Cell:
    return _value(row, column, quantity.value, quantity.interval)


def _known(value: float | None) -> Number:
    return None if value is None or not np.isfinite(value) else value
