"""Exposure bias as a document.

An interval that leaves out 1 says that there is exposure bias, or the contrary; one that holds 1 and stays near it,
that there is no more than so much; any other leaves it open, and the sentence says what would settle it. The statements
are about the longest prefix that was measured, which is fixed before anything is seen.

Source of the layouts: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 2, 4 and 7,
figures 2 to 4. Departs from them: bands are intervals; the standard deviation over runs stands in the tables.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison import MARGIN, RATIO_MARGIN, more_sentences, verdict_of
from textassay.estimate import Interval
from textassay.exposure import EbDd, Exposure, ExposureSettings, SwitchedSample
from textassay.meta_evaluation import Curve, CurvePoint
from textassay.report.by_length import lengths_figure
from textassay.report.cells import estimate_cell, interval_cell, number_cell, quantity_cells
from textassay.report.document import (
    Cell,
    Column,
    Document,
    Figure,
    Row,
    Section,
    Table,
    Terms,
    items,
    notes,
    section,
)
from textassay.report.files import record
from textassay.report.number import count, counted, decimals, interval, level, number, places_for
from textassay.report.words import slug

FloatArray = npt.NDArray[np.float64]
Bounds = Sequence[Interval | None]

_DISTANCE_NAMES = {
    "tv": "total variation",
    "js": "Jensen-Shannon divergence",
    "greedy": "share of unlike likeliest words",
    "kl": "Kullback-Leibler divergence",
}
_DATA, _MODEL = "data", "model"
_ENDS = {
    "excluded": "no sentence ends, on any side: models of whole sentences run on past their ends",
    "absorbing": "a sentence may end, on all sides; what has ended says nothing more",
}
_FINE = 0.1  # percent points: intervals narrower than this to each side get another decimal
_ANSWER = 3  # sentences
_RECORD = (
    "measure", "prefixes", "distance", "length", "value", "low", "high", "level", "method", "sd_runs", "sd_resampled",
    "n_runs", "n",
)  # fmt: skip


def exposure_document(exposure: Exposure) -> Document:
    """Return the report on exposure bias: the verdicts, EB-bleu, EB-C, EB-DD, texts after prefixes of every kind."""
    sentences = _verdicts(exposure)
    sections = [
        section(
            "Verdict",
            *items(sentences[_ANSWER:]),
            *notes(_rule(exposure), *(f"Note: {note}" for note in exposure.notes)),
        ),
        section("EB-bleu", *_bleu_tables(exposure), _figure_of_bleu(exposure)),
        *(_distance_section(exposure, name) for name in exposure.cgd),
        _excess_section(exposure),
        _dd_section(exposure),
        _perplexity_section(exposure),
        switching_section(exposure.samples) if exposure.samples else None,
        section("How to read it", Terms(tuple(_explanations(exposure)))),
    ]
    return Document(
        f"Exposure bias of {exposure.model}",
        tuple(sentences[:_ANSWER]),
        tuple(_facts(exposure)),
        tuple(part for part in sections if part is not None),
        lead="eb-c" if exposure.rates else "eb-bleu",
        version=version("textassay"),
        records=(record("exposure", _RECORD, _rows(exposure)),),
    )


def switching_section(samples: Sequence[SwitchedSample], title: str = "") -> Section:
    """Return the first text of each kind of prefix under one heading, then the second ones, and so on."""
    kinds: dict[str, list[SwitchedSample]] = {}
    for sample in samples:
        kinds.setdefault(sample.kind, []).append(sample)
    rows: list[Row] = []
    for n, beside in enumerate(zip(*kinds.values(), strict=True), start=1):
        rows.append(Row((Cell(f"sample {n}"), Cell()), "heading"))
        rows += [Row((Cell(sample.kind), Cell(_bracketed(sample)))) for sample in beside]
    columns = (Column("prefix", numeric=False), Column("text", numeric=False))
    note = "In brackets: the prefix. What follows is the model's. Drawn at random, none was chosen."
    return section(
        title or "Texts after prefixes of several kinds", Table("texts", columns, tuple(rows), notes=(note,))
    )


def _bracketed(sample: SwitchedSample) -> str:
    """Return a text with its prefix in brackets."""
    rest = sample.continuation
    gap = rest[: len(rest) - len(rest.lstrip())]
    return (f"[{sample.prefix}]" if sample.prefix else "") + gap + rest.lstrip()


def _bleu_tables(exposure: Exposure) -> Iterator[Table]:
    """Yield EB-bleu against each kind of prefix, a row a length: narrow enough for a terminal and a telephone."""
    first = next(iter(exposure.bleu.values()))
    every = [(first.data, first.data_sd), *((bleu.other, bleu.other_sd) for bleu in exposure.bleu.values())]
    places = _spread_places(100 * np.array([a for a, _ in every]), 100 * np.array([b for _, b in every]))
    for place, (kind, bleu) in enumerate(exposure.bleu.items()):
        columns = [
            ("C-bleu(data)", _with_spread(100 * bleu.data, 100 * bleu.data_sd, places)),
            (f"C-bleu({kind})", _with_spread(100 * bleu.other, 100 * bleu.other_sd, places)),
            ("EB-bleu", _with_spread(bleu.values, bleu.sd)),
            (level(exposure.settings.level), _intervals(bleu.values, bleu.intervals)),
        ]
        title = f"Data and {kind} prefixes"
        yield _by_length(f"eb-bleu-{slug(kind)}", columns, bleu.lengths, title=title, main=place == 0)


def _distance_section(exposure: Exposure, name: str) -> Section:
    """Return EB-C by one distance with CGD after prefixes of data and of the model, then CGD after the other kinds."""
    curves = exposure.cgd[name]
    first = [kind for kind in curves if kind in (_DATA, _MODEL)]
    others = [kind for kind in curves if kind not in first]
    lengths = curves[_DATA].lengths
    every = np.array([(curve.values, curve.sd_runs) for curve in curves.values()])
    places = _spread_places(every[:, 0], every[:, 1])
    cgd = {kind: (f"CGD({kind})", _with_spread(curve.values, curve.sd_runs, places)) for kind, curve in curves.items()}
    columns = [cgd[kind] for kind in first]
    rate = exposure.rates[name].get(_MODEL)
    if rate is not None:
        columns.append(("EB-C", _with_spread(rate.values, rate.sd_runs)))
        columns.append((level(exposure.settings.level), _intervals(rate.values, rate.intervals)))
    table = _by_length(f"eb-c-{name}", columns, lengths, main=name == exposure.settings.distances[0])
    after = f"CGD ({name}) after other prefixes"
    rest = _by_length(f"cgd-{name}", [cgd[kind] for kind in others], lengths, title=after) if others else None
    kinds = [kind for kind in (*exposure.settings.kinds, _DATA) if kind in curves]  # one colour a kind in all figures
    lines = [
        _curve(kind, f"CGD ({name})", curves[kind].lengths, curves[kind].values, curves[kind].intervals)
        for kind in kinds
    ]
    title = f"CGD of {exposure.model} by kind of prefix, {_DISTANCE_NAMES[name]}"
    figures = [_figure(f"cgd-{name}", title, lines)]
    if name == next(iter(exposure.cgd)):
        figures.insert(0, _figure_of_rates(exposure))
    return section(f"EB-C by {_DISTANCE_NAMES[name]} ({name})", table, rest, *figures)


def _excess_section(exposure: Exposure) -> Section | None:
    excess = exposure.excess
    if excess is None:
        return None
    tokens = [length + 1 for length in exposure.lengths.lengths]  # the token after the prefix counts, too
    shown = [excess.lengths.index(n) for n in tokens]
    values, bounds = excess.values[shown], [excess.intervals[place] for place in shown]
    places = max(1, _places(values, bounds) - 2)  # in percent
    columns = [
        ("excess, %", [number_cell(100 * value, places) for value in values.tolist()]),
        (level(exposure.settings.level), [interval_cell(_in_percent(bound), places) for bound in bounds]),
    ]
    line = _curve("over the model's own words", "excess error, %", excess.lengths, 100 * excess.values,
                  [_in_percent(bound) for bound in excess.intervals], x="tokens so far")  # fmt: skip
    figure = _figure("excess-error", f"Excess accumulated error of {exposure.model}", [line])
    return section(
        "Excess accumulated error", _by_length("excess-error", columns, tokens, first="tokens so far"), figure
    )


def _dd_section(exposure: Exposure) -> Section | None:
    if not exposure.dd:
        return None
    differences, bounds = np.array([dd.difference for dd in exposure.dd]), [dd.interval for dd in exposure.dd]
    places = _places(differences, bounds)
    sides = {"data": [dd.data for dd in exposure.dd], "model": [dd.model for dd in exposure.dd]}
    columns = [
        (f"dd({name})", [estimate_cell(dd, places_for(estimates)) for dd in estimates])
        for name, estimates in sides.items()
    ]
    columns.append(("difference", [number_cell(value, places) for value in differences.tolist()]))
    columns.append((level(exposure.settings.level), _intervals(differences, bounds)))
    what = "whole sentences, against the oracle's" if exposure.dd[0].whole else "continuations alone"
    return section(f"EB-DD: {what}", _by_length("eb-dd", columns, [dd.length for dd in exposure.dd]))


def _perplexity_section(exposure: Exposure) -> Section | None:
    names = {_MODEL: exposure.model, "oracle": exposure.oracle}
    rows = [(f"{side}, {names[side]}", *quantity_cells(quantity)) for side, quantity in exposure.perplexity.items()]
    heads = ("of the", "perplexity", level(exposure.settings.level))
    return section("Perplexity of the text, per token", Table.of("perplexity", heads, rows)) if rows else None


def _figure_of_bleu(exposure: Exposure) -> Figure | None:
    lines = [
        _curve(kind, "EB-bleu", one.lengths, one.values, one.intervals, average=one.average)
        for kind, one in exposure.bleu.items()
    ]
    return _figure("eb-bleu", f"EB-bleu of {exposure.model} by kind of prefix", lines)


def _figure_of_rates(exposure: Exposure) -> Figure | None:
    kinds = exposure.settings.kinds
    shown = _MODEL if _MODEL in kinds else kinds[0]
    lines = [
        _curve(_DISTANCE_NAMES[name], "EB-C", rate.lengths, rate.values, rate.intervals, average=rate.average)
        for name, of_kind in exposure.rates.items()
        for rate in (of_kind[shown],)
    ]
    return _figure("eb-c", f"EB-C of {exposure.model}, {shown.replace(':', ' ')} prefixes", lines)


def _figure(name: str, title: str, curves: Sequence[Curve]) -> Figure | None:
    """Return a figure; none where no line has a value."""
    titled = [replace(curve, title=title) for curve in curves]
    has_values = any(np.isfinite(point.y) for curve in curves for point in curve.points)
    return lengths_figure(titled, name=name) if has_values else None


def _curve(
    name: str,
    y: str,
    lengths: Sequence[int],
    values: FloatArray,
    bounds: Bounds,
    *,
    x: str = "tokens of the prefix",
    average: float | None = None,
) -> Curve:
    points = tuple(
        CurvePoint(length, length, value, y_low=bound.low if bound else None, y_high=bound.high if bound else None)
        for length, value, bound in zip(lengths, values.tolist(), bounds, strict=True)
    )
    return Curve("by length", name.replace(":", " "), "", x, y, points, average=average)


def _by_length(
    name: str,
    columns: Sequence[tuple[str, Sequence[Cell]]],
    lengths: Sequence[int],
    *,
    first: str = "length",
    title: str = "",
    main: bool = False,
) -> Table:
    """Return a table with a row a length; `columns`: (name, cells)."""
    heads = (Column(first), *(Column(head) for head, _ in columns))
    rows = zip([Cell(str(length), length) for length in lengths], *(cells for _, cells in columns), strict=True)
    return Table(name, heads, tuple(map(Row, rows)), title, main=main)


def _spread_places(values: FloatArray, spreads: FloatArray) -> int:
    known = spreads[np.isfinite(spreads) & (spreads > 0)]
    return decimals(_typical(values), float(np.median(known)) if len(known) else None)


def _with_spread(values: FloatArray, spreads: FloatArray, places: int | None = None) -> list[Cell]:
    """Return values with their standard deviation over runs, the values alone where there is one run."""
    places = _spread_places(values, spreads) if places is None else places
    pairs = zip(values.tolist(), spreads.tolist(), strict=True)
    return [number_cell(value, places, spread=spread) for value, spread in pairs]


def _intervals(values: FloatArray, bounds: Bounds) -> list[Cell]:
    places = _places(values, bounds)
    return [interval_cell(bound, places) for bound in bounds]


def _places(values: FloatArray, bounds: Bounds) -> int:
    widths = [(bound.high - bound.low) / 2 for bound in bounds if bound is not None]
    return decimals(_typical(values), float(np.median(widths)) if widths else None)


def _typical(values: FloatArray) -> float:
    known = np.abs(values[np.isfinite(values)])
    return float(np.median(known)) if len(known) else 1.0


def _in_percent(bounds: Interval | None) -> Interval | None:
    return None if bounds is None else Interval(100 * bounds.low, 100 * bounds.high, bounds.level, bounds.method)


def _rows(exposure: Exposure) -> Iterator[tuple[Any, ...]]:
    for kind, bleu in exposure.bleu.items():
        n_runs = len(bleu.runs)
        for k, length in enumerate(bleu.lengths):
            for name, values, spreads in (("data", bleu.data, bleu.data_sd), (kind, bleu.other, bleu.other_sd)):
                if name != "data" or kind == next(iter(exposure.bleu)):
                    yield ("C-bleu", name, None, length, values[k], *(None,) * 4, spreads[k], None, n_runs,
                           bleu.n_sentences)  # fmt: skip
            yield ("EB-bleu", kind, None, length, bleu.values[k], *_ends_of(bleu.intervals[k]), bleu.sd[k],
                   bleu.sd_sentences[k], n_runs, bleu.n_sentences)  # fmt: skip
    curves = [("CGD", curve) for of_distance in exposure.cgd.values() for curve in of_distance.values()]
    rates = [("EB-C", rate) for of_distance in exposure.rates.values() for rate in of_distance.values()]
    excess = [] if exposure.excess is None else [("excess error", exposure.excess)]
    for measure, curve in (*curves, *rates, *excess):
        for k, length in enumerate(curve.lengths):
            yield (measure, curve.prefixes, curve.distance, length, curve.values[k], *_ends_of(curve.intervals[k]),
                   curve.sd_runs[k], curve.sd_resampled[k], len(curve.runs), min(curve.n_sequences))  # fmt: skip
    for dd in exposure.dd:
        for name, side in (("data", dd.data), ("model", dd.model)):
            yield "dd", name, None, dd.length, side.value, *_ends_of(side.interval), None, None, 1, dd.n_sentences
        yield "EB-DD", "model", None, dd.length, dd.difference, *_ends_of(dd.interval), None, None, 1, dd.n_sentences
    for name, quantity in exposure.perplexity.items():
        bounds = _ends_of(quantity.interval)
        value = quantity.value if math.isfinite(quantity.value) else None
        yield f"perplexity of the {name}", None, None, None, value, *bounds, None, None, 1, exposure.lengths.n_sentences


def _ends_of(bounds: Interval | None) -> tuple[Any, ...]:
    return (None,) * 4 if bounds is None else (bounds.low, bounds.high, bounds.level, bounds.method)


def _verdicts(exposure: Exposure) -> list[str]:
    """Return one sentence a measure, the one against the oracle first."""
    sentences = []
    last = len(exposure.lengths.lengths) - 1
    tokens = counted(exposure.lengths.lengths[last], "token")
    name = exposure.settings.distances[0]
    rate = exposure.rates.get(name, {}).get(_MODEL)
    if rate is not None:
        sentences.append(_of_rate(rate.intervals[last], float(rate.values[last]), tokens, name, exposure.settings))
    bleu = exposure.bleu.get(_MODEL)
    if bleu is not None:
        n_continuations = bleu.n_sentences * exposure.settings.bleu_runs
        sentences.append(
            _of_bleu(bleu.intervals[last], float(bleu.values[last]), tokens, n_continuations, exposure.settings)
        )
    if bleu is None:
        sentences.append("Nothing is said of exposure bias: no prefixes of the model were measured.")
    scale = [
        f"{_described(kind)} {_percent(1 - 1 / float(other.values[last]), 1 - 1 / bounds.low, 1 - 1 / bounds.high)}"
        for kind, other in exposure.bleu.items()
        if kind != _MODEL and (bounds := other.intervals[last]) is not None and bounds.low > 0
    ]
    if scale:
        sentences.append(f"For scale, this share of BLEU is lost after {tokens} of: {'; '.join(scale)}.")
    if exposure.excess is not None:
        excess = exposure.excess
        sentences += _of_excess(excess.intervals[-1], float(excess.values[-1]), excess.lengths[-1], exposure.settings)
    if exposure.dd:
        sentences += _of_dd(exposure.dd[-1], exposure.settings.level)
    return sentences


def _rule(exposure: Exposure) -> str:
    """Return the rule by which `_verdicts` says what it says."""
    longest = exposure.lengths.lengths[-1]
    share = level(exposure.settings.level)
    over = "over runs: other draws of the model and other parts of this text"
    if exposure.settings.bleu_runs == 1:
        over = "over the sentences of one run"
    parts = ["the excess"] * (exposure.excess is not None) + ["the difference of dd"] * bool(exposure.dd)
    others = f", or that of {' or of '.join(parts)} above 0" if parts else ""
    return (
        f"Rule: there is exposure bias where the {share} interval of the ratio after the longest prefix, of "
        f"{counted(longest, 'token')}, lies above 1{others}. One that holds 1 and "
        f"stays within {level(RATIO_MARGIN)} of it rules more than that out; any other leaves it open. Intervals are "
        f"{over}" + ("; those of dd are over sentences." if exposure.dd else ".")
    )


def _facts(exposure: Exposure) -> Iterator[tuple[str, str]]:
    """Yield what it was measured on."""
    lengths, settings = exposure.lengths, exposure.settings
    yield "Model", exposure.model
    left = ", ".join(f"{count(n)} have {count(length)}" for length, n in lengths.n_left.items())
    if min(lengths.n_left.values()) == lengths.n_sentences:
        left = f"all have {count(lengths.sentence_length)}"
    yield (
        "Text",
        f"Sentences of {lengths.sentence_length} tokens, prefixes of {', '.join(map(str, lengths.lengths))}. Of "
        f"{count(lengths.n_sentences)} sentences of the text {left} tokens or more; "
        f"{100 * exposure.unknown_share:.2f} % of its tokens are unknown to the model.",
    )
    bleu = next(iter(exposure.bleu.values()))
    yield (
        "EB-bleu",
        f"{_runs(settings.bleu_runs)} of {counted(bleu.n_sentences, 'continuation')} against "
        f"{counted(bleu.n_references, 'reference')}"
        + (f" ({count(settings.n)} were asked for)." if bleu.n_sentences < settings.n else "."),
    )
    if exposure.oracle is not None:
        yield (
            "EB-C",
            f"against {exposure.oracle}: {_runs(settings.oracle_runs)} of {counted(settings.n, 'sequence')} of each "
            "kind.",
        )
    yield "Settings", f"intervals of {level(settings.level)}, seed {settings.seed}"


def _explanations(exposure: Exposure) -> list[tuple[str, str]]:
    """Return what the columns mean."""
    terms = [
        ("C-bleu(H)", "mean BLEU-3, in percent, of what the model writes after prefixes from H; prefixes do not count"),
        ("EB-bleu", "C-bleu(data) divided by C-bleu(H): 1 without exposure bias, more with it"),
        ("±", "standard deviation over runs"),
        ("ends", _ENDS[exposure.settings.ends]),
    ]
    if exposure.oracle is not None:
        terms += [
            ("CGD(H)", "mean distance between the next words of model and oracle after prefixes from H"),
            ("EB-C", "CGD(model) divided by CGD(data): 1 without exposure bias, more with it"),
        ]
    if exposure.excess is not None:
        terms.append(("excess", "by how much errors pile up faster over the model's own words than over the oracle's"))
    if exposure.dd:
        terms.append(("dd", "how well a classifier tells continuations from real ones; more after own words is bias"))
    ties = max(exposure.ties.values(), default=0.0)
    if "greedy" in exposure.rates and ties > 0:
        terms.append(("greedy", f"up to {100 * ties:.2g} % of the sequences have several likeliest words; one counts"))
    return terms


def _of_rate(bounds: Interval | None, value: float, tokens: str, distance: str, settings: ExposureSettings) -> str:
    name = _DISTANCE_NAMES[distance]
    if bounds is None:
        return _without_interval(
            "EB-C", value, "after real words, the next words of model and oracle do not differ in every run"
        )
    if bounds.low > 1 or bounds.high < 1:
        way, what = ("farther from", "exposure bias") if bounds.low > 1 else ("nearer to", "no exposure bias, rather")
        tail = "" if bounds.low > 1 else " the contrary"
        return (
            f"After {tokens} of its own the model's next words are {_change(value, bounds)} {way} the oracle's than "
            f"after real ones ({name}): {what}{tail}."
        )
    n, what = settings.n * settings.oracle_runs, "sequences of each kind"
    return _absent(
        "Against the oracle",
        f"after {tokens} of its own the model's next words are {_between(bounds, 'nearer to', 'farther from')} the "
        f"oracle's than after real ones ({name})",
        bounds, value, n, what, settings.level,
    )  # fmt: skip


def _of_bleu(bounds: Interval | None, value: float, tokens: str, n: int, settings: ExposureSettings) -> str:
    if bounds is None:
        return _without_interval(
            "EB-bleu", value, "in some run, no word of the model's continuations stands in a reference"
        )
    if bounds.low > 1 or bounds.high < 1:
        way, what = ("higher", "exposure bias") if bounds.low > 1 else ("lower", "no exposure bias, rather")
        tail = "" if bounds.low > 1 else " the contrary"
        return (
            f"After {tokens} of real text the model's continuations have a BLEU {_change(value, bounds)} {way} than "
            f"after its own: {what}{tail}."
        )
    return _absent(
        "By BLEU",
        f"after {tokens} of real text the model's continuations score {_between(bounds, 'lower', 'higher')} than after "
        "its own",
        bounds, value, n, "continuations of each kind", settings.level,
    )  # fmt: skip


def _of_excess(bounds: Interval | None, value: float, n_tokens: int, settings: ExposureSettings) -> list[str]:
    if bounds is None:
        return []
    if bounds.low > 0 or bounds.high < 0:
        way = "faster" if bounds.low > 0 else "more slowly"
        ends = (bounds.low, bounds.high) if bounds.low > 0 else (-bounds.high, -bounds.low)
        return [
            f"Over the first {n_tokens} tokens errors pile up {_percent(abs(value), *ends)} {way} after the model's "
            "own words than after the oracle's."
        ]
    statement = (
        f"over the first {n_tokens} tokens errors pile up {_between(bounds, 'more slowly', 'faster', middle=0.0)} "
        "after the model's own words than after the oracle's"
    )
    n, what = settings.n * settings.oracle_runs, "sequences of each kind"
    return [
        _absent(
            "By accumulated error",
            statement,
            bounds,
            value,
            n,
            what,
            settings.level,
            middle=0.0,
            thing="an excess of errors",
        )
    ]


def _of_dd(dd: EbDd, share: float) -> list[str]:
    bounds = dd.interval
    if bounds is None or dd.difference is None:
        return []
    measure = f"dd after {count(dd.length)} own tokens less dd after as many real ones"
    values = f"{number(dd.difference, 3)} {interval(bounds, 3)}"
    verdict = verdict_of(bounds.low, bounds.high, margin=MARGIN)
    if verdict == "separated":
        easier = "more" if bounds.low > 0 else "less"
        return [
            f"A classifier tells the model's text from real text {easier} easily after its own words: {measure} is "
            f"{values}."
        ]
    if verdict == "negligible":
        most = number(max(bounds.high, 0.0), 3)
        return [f"By a classifier there is no exposure bias of more than {most}: {measure} is {values}."]
    half = (bounds.high - bounds.low) / 2
    more = more_sentences(dd.difference, half, dd.n_sentences, level=share, margin=MARGIN)
    settle = "" if more is None else f"; {more[0]} would show a difference of {number(more[1], 3)}"
    return [f"By a classifier it is not clear whether there is exposure bias: {measure} is {values}{settle}."]


def _absent(
    by: str,
    statement: str,
    bounds: Interval,
    value: float,
    n: int,
    what: str,
    share: float,
    *,
    middle: float = 1.0,
    thing: str = "exposure bias",
) -> str:
    """Return what is said where the interval of a ratio holds `middle`: no more than so much, or that it is open."""
    if verdict_of(bounds.low, bounds.high, none=middle, margin=RATIO_MARGIN) == "negligible":
        most = number(100 * (bounds.high - middle), _percent_places(bounds.low, bounds.high))
        return f"{by} there is no sign of {thing}, and none of more than {most} %: {statement}."
    more = more_sentences(
        value - middle, (bounds.high - bounds.low) / 2, n, level=share, margin=RATIO_MARGIN, what=what
    )
    settle = "" if more is None else f"; {more[0]} would show a difference of {number(100 * more[1], 1)} %"
    return f"{by} it is not clear whether there is {thing}: {statement}{settle}."


def _without_interval(name: str, value: float, why: str) -> str:
    """Return what is said of a ratio that has no interval, and maybe no value."""
    if math.isfinite(value):
        return f"Nothing is said of {name}, {number(value, 3)}: so few texts give it no interval."
    return f"{name} is undefined: {why}."


def _change(value: float, bounds: Interval) -> str:
    """Return how far a ratio is from 1, in percent, with its interval, all above 0."""
    ends = (bounds.low - 1, bounds.high - 1) if value > 1 else (1 - bounds.high, 1 - bounds.low)
    return _percent(abs(value - 1), *ends)


def _percent(share: float, low: float, high: float) -> str:
    places = _percent_places(low, high)
    return f"{number(100 * share, places)} % [{number(100 * low, places)}, {number(100 * high, places)}]"


def _between(bounds: Interval, below: str, above: str, *, middle: float = 1.0) -> str:
    """Return an interval that holds `middle` as how far it reaches below and above it, in percent."""
    places = _percent_places(bounds.low, bounds.high)
    return (
        f"between {number(100 * (middle - bounds.low), places)} % {below} and "
        f"{number(100 * (bounds.high - middle), places)} % {above}"
    )


def _percent_places(low: float, high: float) -> int:
    return 1 if 50 * (high - low) >= _FINE else 2


def _described(kind: str) -> str:
    name, _, rate = kind.partition(":")
    if name == "corrupted":
        return f"its own with {100 * float(rate):g} % of the words replaced"
    return {"shuffled": "real text, shuffled", "random": "random words"}[name]


def _runs(n: int) -> str:
    return "one run" if n == 1 else f"{count(n)} runs"
