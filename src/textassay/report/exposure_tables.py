"""The numbers on exposure bias as tables of texts, for a terminal and for Markdown.

Source of the layouts: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 2, 4 and 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.estimate import Estimate, Interval
from textassay.exposure import Exposure
from textassay.report.exposure_words import DISTANCE_NAMES
from textassay.report.number import decimals, interval, level, number, places_for, value_and_half_width

FloatArray = npt.NDArray[np.float64]

_DATA, _MODEL = "data", "model"
_TOGETHER = 3  # columns of one table


@dataclass(frozen=True)
class TextTable:
    """A table with its title; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def bleu_tables(found: Exposure) -> list[TextTable]:
    """Return EB-bleu against each kind of prefix, a row a length: narrow enough for a terminal."""
    tables = []
    places = _bleu_places(found)
    for kind, bleu in found.bleu.items():
        columns = [
            _with_spread(100 * bleu.data, 100 * bleu.data_sd, places),
            _with_spread(100 * bleu.other, 100 * bleu.other_sd, places),
            _with_spread(bleu.values, bleu.sd),
            _intervals(bleu.values, bleu.intervals),
        ]
        header = ("length", "C-bleu(data)", f"C-bleu({kind})", "EB-bleu", level(found.settings.level))
        tables.append(_by_length(f"EB-bleu: data and {kind} prefixes", header, bleu.lengths, columns))
    return tables


def bleu_wide(found: Exposure) -> TextTable:
    """Return all of EB-bleu, a column a length, as the paper's table 2."""
    lengths = found.lengths.lengths
    first = next(iter(found.bleu.values()))
    places = _bleu_places(found)
    rows = [("C-bleu(data)", *_with_spread(100 * first.data, 100 * first.data_sd, places))]
    for kind, bleu in found.bleu.items():
        rows.append((f"C-bleu({kind})", *_with_spread(100 * bleu.other, 100 * bleu.other_sd, places)))
        rows.append((f"EB-bleu({kind})", *_with_spread(bleu.values, bleu.sd)))
        rows.append((level(found.settings.level), *_intervals(bleu.values, bleu.intervals)))
    return TextTable("EB-bleu", ("length of prefix", *map(str, lengths)), tuple(rows))


def other_tables(found: Exposure) -> list[TextTable]:
    """Return EB-C as the paper's table 4, accumulated error, EB-DD, and perplexities as its table 7."""
    share = level(found.settings.level)
    tables = []
    for name in found.cgd:
        tables += _of_distance(found, name)
    if found.excess is not None:
        excess = found.excess
        tokens = [length + 1 for length in found.lengths.lengths]  # the token after the prefix counts, too
        shown = [excess.lengths.index(n) for n in tokens]
        values, bounds = excess.values[shown], [excess.intervals[place] for place in shown]
        places = max(1, _places(values, bounds) - 2)  # in percent
        columns = [
            [number(100 * value, places) for value in values.tolist()],
            [interval(_in_percent(bound), places) for bound in bounds],
        ]
        tables.append(_by_length("Excess accumulated error", ["tokens so far", "excess, %", share], tokens, columns))
    if found.dd:
        columns = [_estimated([dd.data for dd in found.dd]), _estimated([dd.model for dd in found.dd])]
        differences = np.array([dd.difference for dd in found.dd])
        spans = [dd.interval for dd in found.dd]
        columns += [_numbers(differences, spans), _intervals(differences, spans)]
        what = "whole sentences, against the oracle's" if found.dd[0].whole else "continuations alone"
        lengths = tuple(dd.length for dd in found.dd)
        header = ["length", "dd(data)", "dd(model)", "difference", share]
        tables.append(_by_length(f"EB-DD: {what}", header, lengths, columns))
    if found.perplexity:
        rows, names = [], {_MODEL: found.model, "oracle": found.oracle}
        for side, quantity in found.perplexity.items():
            values, spans = np.array([quantity.value]), [quantity.interval]
            rows.append((f"{side}, {names[side]}", _numbers(values, spans)[0], _intervals(values, spans)[0]))
        tables.append(TextTable("Perplexity of the text, per token", ("of the", "perplexity", share), tuple(rows)))
    return tables


def _of_distance(found: Exposure, name: str) -> list[TextTable]:
    """Return CGD after prefixes of data and of the model with EB-C, then CGD after those of other kinds."""
    curves, share = found.cgd[name], level(found.settings.level)
    first = [kind for kind in curves if kind in (_DATA, _MODEL)]
    others = [kind for kind in curves if kind not in first]
    lengths = curves[_DATA].lengths
    header = ["length", *(f"CGD({kind})" for kind in first)]
    every = np.array([(curve.values, curve.sd_runs) for curve in curves.values()])
    places = _spread_places(every[:, 0], every[:, 1])
    columns = [_with_spread(curves[kind].values, curves[kind].sd_runs, places) for kind in first]
    rate = found.rates[name].get(_MODEL)
    if rate is not None:
        columns += [_with_spread(rate.values, rate.sd_runs), _intervals(rate.values, rate.intervals)]
        header += ["EB-C", share]
    title = f"EB-C by {DISTANCE_NAMES[name]} ({name})"
    tables = [_by_length(title, header, lengths, columns)]
    for start in range(0, len(others), _TOGETHER):
        part = others[start : start + _TOGETHER]
        columns = [_with_spread(curves[kind].values, curves[kind].sd_runs, places) for kind in part]
        title = f"CGD ({name}) after other prefixes"
        tables.append(_by_length(title, ["length", *(f"CGD({kind})" for kind in part)], lengths, columns))
    return tables


def _by_length(
    title: str, header: Sequence[str], lengths: Sequence[int], columns: Sequence[Sequence[str]]
) -> TextTable:  # fmt: skip
    rows = zip(map(str, lengths), *columns, strict=True)
    return TextTable(title, tuple(header), tuple(rows))


def _bleu_places(found: Exposure) -> int:
    """Return the decimals of C-bleu in percent, the same after all kinds of prefixes."""
    first = next(iter(found.bleu.values()))
    values = np.array([first.data, *(bleu.other for bleu in found.bleu.values())])
    spreads = np.array([first.data_sd, *(bleu.other_sd for bleu in found.bleu.values())])
    return _spread_places(100 * values, 100 * spreads)


def _spread_places(values: FloatArray, spreads: FloatArray) -> int:
    known = spreads[np.isfinite(spreads) & (spreads > 0)]
    return decimals(_typical(values), float(np.median(known)) if len(known) else None)


def _with_spread(values: FloatArray, spreads: FloatArray, places: int | None = None) -> list[str]:
    """Return "value ± standard deviation over runs", the value alone where there is one run."""
    places = _spread_places(values, spreads) if places is None else places
    return [
        number(value, places) + (f" ± {number(spread, places)}" if np.isfinite(spread) else "")
        for value, spread in zip(values.tolist(), spreads.tolist(), strict=True)
    ]


def _numbers(values: FloatArray, bounds: Sequence[Interval | None]) -> list[str]:
    places = _places(values, bounds)
    return [number(value, places) for value in values.tolist()]


def _intervals(values: FloatArray, bounds: Sequence[Interval | None]) -> list[str]:
    places = _places(values, bounds)
    return [interval(bound, places) for bound in bounds]


def _estimated(estimates: Sequence[Estimate]) -> list[str]:
    places = places_for(estimates)
    return [" ".join(value_and_half_width(estimate, places)).rstrip() for estimate in estimates]


def _places(values: FloatArray, bounds: Sequence[Interval | None]) -> int:
    widths = [(bound.high - bound.low) / 2 for bound in bounds if bound is not None]
    return decimals(_typical(values), float(np.median(widths)) if widths else None)


def _typical(values: FloatArray) -> float:
    known = np.abs(values[np.isfinite(values)])
    return float(np.median(known)) if len(known) else 1.0


def _in_percent(bounds: Interval | None) -> Interval | None:
    return None if bounds is None else Interval(100 * bounds.low, 100 * bounds.high, bounds.level, bounds.method)
