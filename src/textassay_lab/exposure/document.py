"""Exposure bias as a document.

An interval that leaves out 1 says that there is exposure bias, or the contrary; one that holds 1 and stays near it,
that there is no more than so much; any other leaves it open, and the sentence says what would settle it. The statements
are about the longest prefix that was measured, which is fixed before anything is seen.

Source of the layouts: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 2, 4 and 7,
figures 2 to 4. Departs from them: bands are intervals; the standard deviation over runs stands in the tables.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.verdicts import RATIO_MARGIN, more_sentences, verdict_of
from textassay.estimate import Interval
from textassay.report.document import Document, Figure, Section, Terms, items, notes, section, sections
from textassay.report.plots import Point
from textassay.report.table import (
    Cell,
    Column,
    Row,
    Table,
    interval_cell,
    number_cell,
    quantity_cells,
    record,
)
from textassay.report.text import count, counted, decimals, ends, level, number, slug, span
from textassay_lab.exposure.bias import CgdCurve, EbC, ExcessError
from textassay_lab.exposure.bleu import EbBleu
from textassay_lab.exposure.by_length import Curve, lengths_figure
from textassay_lab.exposure.exposure_bias import DATA, MODEL, Effect, Exposure
from textassay_lab.exposure.switching import SwitchedSample

FloatArray = npt.NDArray[np.float64]
Bounds = Sequence[Interval | None]

_DISTANCE_NAMES = {
    "tv": "total variation",
    "js": "Jensen-Shannon divergence",
    "greedy": "share of different most likely words",
    "kl": "Kullback-Leibler divergence",
}
_ENDS = {
    "excluded": "no sentence ends, on any side: models of whole sentences continue past their ends",
    "absorbing": "sentences may end, on all sides, and add nothing afterwards",
}
_FINE = 0.1  # percent points: intervals narrower than this to each side get another decimal
_ANSWER = 3  # sentences
_RECORD = (
    "measure", "prefixes", "distance", "length", "value", "low", "high", "level", "method", "sd_runs", "sd_resampled",
    "n_runs", "n",
)  # fmt: skip


def exposure_document(exposure: Exposure) -> Document:
    """Return the report on exposure bias: the verdicts, EB-bleu, EB-C, texts after prefixes of every kind."""
    sentences = _verdicts(exposure)
    remarks = notes(_rule(exposure), *(f"Note: {note}" for note in exposure.notes))
    return Document(
        f"Exposure bias of {exposure.model}",
        tuple(sentences[:_ANSWER]),
        tuple(_facts(exposure)),
        sections(
            section("Verdict", *items(sentences[_ANSWER:]), *remarks),
            section("EB-bleu", *_bleu_tables(exposure), _figure_of_bleu(exposure)),
            *(_distance_section(exposure, name) for name in exposure.cgd),
            _excess_section(exposure, exposure.excess) if exposure.excess is not None else None,
            section("Perplexity of the text, per token", _perplexities(exposure)),
            switching_section(exposure.samples) if exposure.samples else None,
            section("How to read it", Terms(tuple(_explanations(exposure)))),
        ),
        lead="eb-c" if exposure.rates else "eb-bleu",
        records=(record("exposure", _RECORD, _rows(exposure)),),
    )


def switching_section(samples: Sequence[SwitchedSample], title: str = "") -> Section:
    """Return the first text of each kind of prefix under one heading, then the second ones, and so on."""
    kinds: dict[str, list[SwitchedSample]] = {}
    for sample in samples:
        kinds.setdefault(sample.kind, []).append(sample)
    rows: list[Row | tuple[str, str]] = []
    for n, beside in enumerate(zip(*kinds.values(), strict=True), start=1):
        rows.append(Row((Cell(f"sample {n}"),), "heading"))
        rows += [(sample.kind, _bracketed(sample)) for sample in beside]
    note = "In brackets: the prefix. The rest is written by the model. Examples are drawn at random."
    table = Table.of("texts", ("prefix", "text"), rows, texts=(1,), notes=(note,))
    return section(title or "Texts after prefixes of several kinds", table)


def _bracketed(sample: SwitchedSample) -> str:
    """Return a text with its prefix in brackets."""
    rest = sample.continuation
    gap = rest[: len(rest) - len(rest.lstrip())]
    return (f"[{sample.prefix}]" if sample.prefix else "") + gap + rest.lstrip()


def _bleu_tables(exposure: Exposure) -> Iterator[Table]:
    """Yield EB-bleu against each kind of prefix, a row a length: narrow enough for a terminal and a telephone."""
    first = next(iter(exposure.bleu.values()))
    every = [(first.data, first.data_sd), *((bleu.other, bleu.other_sd) for bleu in exposure.bleu.values())]
    places = _places(*(100 * np.array(side) for side in zip(*every, strict=True)))
    for kind, bleu in exposure.bleu.items():
        columns = {
            "C-bleu(data)": _with_spread(100 * bleu.data, 100 * bleu.data_sd, places),
            f"C-bleu({kind})": _with_spread(100 * bleu.other, 100 * bleu.other_sd, places),
            "EB-bleu": _with_spread(bleu.values, bleu.sd),
            level(exposure.settings.level): _intervals(bleu.values, bleu.intervals),
        }
        title = f"Data and {kind} prefixes"
        yield _by_length(f"eb-bleu-{slug(kind)}", columns, bleu.lengths, title=title, main=bleu is first)


def _distance_section(exposure: Exposure, name: str) -> Section:
    """Return EB-C by one distance with CGD after prefixes of data and of the model, then CGD after the other kinds."""
    curves, settings = exposure.cgd[name], exposure.settings
    lengths = curves[DATA].lengths
    places = _places(*(np.array([getattr(one, part) for one in curves.values()]) for part in ("values", "sd_runs")))
    columns: dict[str, list[Cell]] = {}
    others: dict[str, list[Cell]] = {}
    for kind, curve in curves.items():
        kept = columns if kind in (DATA, MODEL) else others
        kept[f"CGD({kind})"] = _with_spread(curve.values, curve.sd_runs, places)
    rate = exposure.rates[name].get(MODEL)
    if rate is not None:
        columns["EB-C"] = _with_spread(rate.values, rate.sd_runs)
        columns[level(settings.level)] = _intervals(rate.values, rate.intervals)
    table = _by_length(f"eb-c-{name}", columns, lengths, main=name == settings.distances[0])
    after = f"CGD ({name}) after other prefixes"
    rest = _by_length(f"cgd-{name}", others, lengths, title=after) if others else None
    kinds = [kind for kind in (*settings.kinds, DATA) if kind in curves]  # one colour a kind in all figures
    lines = [_line(kind, f"CGD ({name})", curves[kind]) for kind in kinds]
    figure = _figure(f"cgd-{name}", f"CGD of {exposure.model} by kind of prefix, {_DISTANCE_NAMES[name]}", lines)
    rates = _figure_of_rates(exposure) if name == next(iter(exposure.cgd)) else None
    return section(f"EB-C by {_DISTANCE_NAMES[name]} ({name})", table, rest, rates, figure)


def _excess_section(exposure: Exposure, excess: ExcessError) -> Section:
    tokens = [length + 1 for length in exposure.lengths.lengths]  # the token after the prefix counts, too
    shown = [excess.lengths.index(n) for n in tokens]
    places = max(1, _places(excess.values[shown], _arms([excess.intervals[k] for k in shown])) - 2)  # in percent
    bounds = tuple(None if one is None else Interval(100 * one.low, 100 * one.high, one.level, one.method)
                   for one in excess.intervals)  # fmt: skip
    percent = replace(excess, values=100 * excess.values, intervals=bounds)
    columns = {
        "excess, %": [number_cell(value, places) for value in percent.values[shown].tolist()],
        level(exposure.settings.level): [interval_cell(bounds[k], places) for k in shown],
    }
    line = _line("after the model's own words", "excess error, %", percent, x="tokens so far")
    return section(
        "Excess accumulated error",
        _by_length("excess-error", columns, tokens, first="tokens so far"),
        _figure("excess-error", f"Excess accumulated error of {exposure.model}", [line]),
    )


def _perplexities(exposure: Exposure) -> Table:
    names = {MODEL: exposure.model, "oracle": exposure.oracle}
    found = exposure.perplexity.items()
    rows = [(f"{side}, {names[side]}", *quantity_cells(one.value, one.interval)) for side, one in found]
    return Table.of("perplexity", ("of the", "perplexity", level(exposure.settings.level)), rows)


def _figure_of_bleu(exposure: Exposure) -> Figure | None:
    lines = [_line(kind, "EB-bleu", bleu, average=True) for kind, bleu in exposure.bleu.items()]
    return _figure("eb-bleu", f"EB-bleu of {exposure.model} by kind of prefix", lines)


def _figure_of_rates(exposure: Exposure) -> Figure | None:
    kinds = exposure.settings.kinds
    shown = MODEL if MODEL in kinds else kinds[0]
    lines = [_line(_DISTANCE_NAMES[name], "EB-C", of[shown], average=True) for name, of in exposure.rates.items()]
    return _figure("eb-c", f"EB-C of {exposure.model}, {shown.replace(':', ' ')} prefixes", lines)


def _figure(name: str, title: str, lines: Sequence[Curve]) -> Figure | None:
    """Return a figure; none where no line has a value."""
    has_values = any(point.y is not None and np.isfinite(point.y) for line in lines for point in line.points)
    return lengths_figure([replace(line, title=title) for line in lines], name=name) if has_values else None


def _line(
    name: str,
    y: str,
    of: EbBleu | CgdCurve | EbC | ExcessError,
    *,
    x: str = "tokens of the prefix",
    average: bool = False,
) -> Curve:
    points = tuple(
        Point(length, value, low, high)
        for length, value, (low, high) in zip(of.lengths, of.values.tolist(), map(ends, of.intervals), strict=True)
    )
    name = name.replace(":", " ")
    return Curve("", name, "", x, y, points, average=of.average if average else None)


def _by_length(
    name: str,
    columns: Mapping[str, Sequence[Cell]],
    lengths: Sequence[int],
    *,
    first: str = "length",
    title: str = "",
    main: bool = False,
) -> Table:
    """Return a table with a row a length."""
    rows = list(zip([Cell(str(length), length) for length in lengths], *columns.values(), strict=True))
    return Table.of(name, (Column(first), *columns), rows, title=title, main=main)


def _places(values: FloatArray, widths: FloatArray) -> int:
    """Return the decimals that suit a column: those of its median value and median width, as far as these are known."""
    known, wide = np.abs(values[np.isfinite(values)]), widths[np.isfinite(widths) & (widths > 0)]
    return decimals(float(np.median(known)) if len(known) else 1.0, float(np.median(wide)) if len(wide) else None)


def _arms(bounds: Bounds) -> FloatArray:
    """Return half the widths of intervals, NaN for none."""
    return np.array([math.nan if one is None else (one.high - one.low) / 2 for one in bounds])


def _with_spread(values: FloatArray, spreads: FloatArray, places: int | None = None) -> list[Cell]:
    """Return values with their standard deviation over runs, the values alone where there is one run."""
    places = _places(values, spreads) if places is None else places
    pairs = zip(values.tolist(), spreads.tolist(), strict=True)
    return [number_cell(value, places, spread=spread) for value, spread in pairs]


def _intervals(values: FloatArray, bounds: Bounds) -> list[Cell]:
    places = _places(values, _arms(bounds))
    return [interval_cell(bound, places) for bound in bounds]


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
    for name, quantity in exposure.perplexity.items():
        bounds = _ends_of(quantity.interval)
        value = quantity.value if math.isfinite(quantity.value) else None
        yield f"perplexity of the {name}", None, None, None, value, *bounds, None, None, 1, exposure.lengths.n_sentences


def _ends_of(bounds: Interval | None) -> tuple[Any, ...]:
    return (None,) * 4 if bounds is None else (bounds.low, bounds.high, bounds.level, bounds.method)


def _verdicts(exposure: Exposure) -> list[str]:
    """Return one sentence a measure, the one against the oracle first."""
    effects, share = exposure.effects, exposure.settings.level
    measures = _measures(exposure)
    sentences = [
        _verdict(name, effects[name], measures[name], share) for name in ("EB-C", "EB-bleu") if name in effects
    ]
    if "EB-bleu" not in effects:
        sentences.append("There is no verdict on exposure bias: no prefixes of the model were measured.")
    scale = [
        f"{_described(kind)} {_effect(1 - 1 / float(other.values[-1]), 1 - 1 / bounds.low, 1 - 1 / bounds.high)}"
        for kind, other in exposure.bleu.items()
        if kind != MODEL and (bounds := other.intervals[-1]) is not None and bounds.low > 0
    ]
    if scale:
        tokens = counted(exposure.lengths.lengths[-1], "token")
        sentences.append(f"For comparison, the share of BLEU lost after {tokens} of: {'; '.join(scale)}.")
    excess = effects.get("excess error")
    if excess is not None and excess.interval is not None:
        sentences.append(_verdict("excess error", excess, measures["excess error"], share))
    return sentences


def _rule(exposure: Exposure) -> str:
    """Return the rule by which `_verdicts` says what it says."""
    longest = exposure.lengths.lengths[-1]
    share = level(exposure.settings.level)
    over = "over runs, that is over other draws of the model and other parts of this text"
    if exposure.settings.bleu_runs == 1:
        over = "over the sentences of one run"
    others = "" if exposure.excess is None else ", or that of the excess above 0"
    return (
        f"Rule: there is exposure bias if the {share} interval of the ratio after the longest prefix "
        f"({counted(longest, 'token')}) lies above 1{others}. An interval that includes 1 and stays within "
        f"{level(RATIO_MARGIN)} of it rules out a larger bias; otherwise the question is open. Intervals are {over}."
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
        + (f" ({count(settings.n)} requested)." if bleu.n_sentences < settings.n else "."),
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
        ("C-bleu(H)", "mean BLEU-3, in percent, of the model's continuations of prefixes from H, without the prefixes"),
        ("EB-bleu", "C-bleu(data) divided by C-bleu(H): 1 without exposure bias, above 1 with it"),
        ("±", "standard deviation over runs"),
        ("ends", _ENDS[exposure.settings.ends]),
    ]
    if exposure.oracle is not None:
        terms += [
            ("CGD(H)", "mean distance between the next-word distributions of model and oracle after prefixes from H"),
            ("EB-C", "CGD(model) divided by CGD(data): 1 without exposure bias, above 1 with it"),
        ]
    if exposure.excess is not None:
        terms.append(
            ("excess", "how much faster errors accumulate after the model's own words than after the oracle's")
        )
    ties = max(exposure.ties.values(), default=0.0)
    if "greedy" in exposure.rates and ties > 0:
        terms.append(
            (
                "greedy",
                f"up to {100 * ties:.2g} % of the sequences have several most likely words, of which one is used",
            )
        )
    return terms


@dataclass(frozen=True)
class _Measure:
    """How a measure is put into words."""

    by: str
    statement: str  # with a place for the effect, which is positive where there is exposure bias
    undefined: str = ""  # why it is
    draws: str = "texts a side"


def _measures(exposure: Exposure) -> dict[str, _Measure]:
    distance = _DISTANCE_NAMES[exposure.settings.distances[0]]
    tokens, n_tokens = counted(exposure.lengths.lengths[-1], "token"), exposure.lengths.lengths[-1] + 1
    return {
        "EB-C": _Measure(
            "Against the oracle",
            f"after {tokens} of its own text, the model's next-word distribution is {{}} farther from the oracle's "
            f"than after real text ({distance})",
            "in some run, the next-word distributions of model and oracle do not differ after real text",
            "sequences of each kind",
        ),
        "EB-bleu": _Measure(
            "By BLEU",
            f"after {tokens} of real text, the BLEU of the model's continuations is {{}} higher than after its own "
            "text",
            "in some run, no word of the model's continuations occurs in a reference",
            "continuations of each kind",
        ),
        "excess error": _Measure(
            "By accumulated error",
            f"over the first {n_tokens} tokens, errors accumulate {{}} faster after the model's own words than after "
            "the oracle's",
            draws="sequences of each kind",
        ),
    }


def _verdict(name: str, effect: Effect, measure: _Measure, share: float) -> str:
    """Return what an effect shows: bias or the contrary, no more than so much, or that it is open."""
    bounds = effect.interval
    if bounds is None:
        if math.isfinite(effect.value):
            return (
                f"There is no verdict on {name} ({number(effect.value, 3)}): there are too few texts for an interval."
            )
        return f"{name} is undefined: {measure.undefined}."
    value, low, high = (end - effect.none for end in (effect.value, bounds.low, bounds.high))
    settle = ""
    if effect.side:
        verdict = "there is exposure bias" if effect.side > 0 else "there is no exposure bias, but the opposite"
    elif verdict_of(low, high, margin=RATIO_MARGIN) == "negligible":
        most = _effect(max(high, 0.0), low, high).split(" [")[0]
        verdict = f"there is no exposure bias of more than {most}"
    else:
        verdict = "it is not clear whether there is exposure bias"
        more = more_sentences(value, (high - low) / 2, effect.n, level=share, margin=RATIO_MARGIN, what=measure.draws)
        if more is not None:
            settle = f"; {more[0]} would show a difference of {number(100 * more[1], 1)} %"
    shown = _effect(value, low, high)
    return f"{measure.by} {verdict}: {measure.statement.format(shown)}{settle}."


def _effect(value: float, low: float, high: float) -> str:
    """Return an effect with its interval, in percent."""
    places = 1 if 50 * (high - low) >= _FINE else 2
    return f"{number(100 * value, places)} % {span(100 * low, 100 * high, places)}"


def _described(kind: str) -> str:
    name, _, rate = kind.partition(":")
    if name == "corrupted":
        return f"its own with {100 * float(rate):g} % of the words replaced"
    return {"shuffled": "real text, shuffled", "random": "random words"}[name]


def _runs(n: int) -> str:
    return "one run" if n == 1 else f"{count(n)} runs"
