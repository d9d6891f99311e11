"""What was found on exposure bias, as files: all as JSON, the curves as CSV, a report as Markdown, figures."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from textassay.corpus import csv_text
from textassay.estimate import Interval
from textassay.exposure import Exposure
from textassay.report.exposure_figures import draw_exposure
from textassay.report.exposure_tables import bleu_wide, other_tables
from textassay.report.exposure_words import explanations, rule, sizes, verdicts
from textassay.report.old_drawing import Drawing
from textassay.report.old_markdown import escaped, markdown_rows
from textassay.report.svg import on_white
from textassay.report.switching import switching_markdown
from textassay.report.whole_files import write_whole

FIGURES = "figures"
_COLUMNS = (
    "measure", "prefixes", "distance", "length", "value", "low", "high", "level", "method", "sd_runs", "sd_resampled",
    "n_runs", "n",
)  # fmt: skip


def write_exposure(found: Exposure, document: Mapping[str, Any], out: Path) -> list[Path]:
    """Write ``exposure.json``, ``.csv``, ``.md`` and ``figures/*.svg`` into `out`; return their paths."""
    drawings = draw_exposure(found)
    figures = write_whole(out / FIGURES, {drawing.file_name: on_white(drawing.svg) for drawing in drawings})
    contents = {
        "exposure.json": json.dumps(document, indent=1, allow_nan=False) + "\n",
        "exposure.csv": exposure_csv(found),
        "exposure.md": exposure_markdown(found, drawings),
    }
    return [*write_whole(out, contents), *figures]


def exposure_csv(found: Exposure) -> str:
    """Return one row a value, in full precision; an empty field is a value that is not there."""
    return csv_text(_COLUMNS, _rows(found))


def exposure_markdown(found: Exposure, drawings: Sequence[Drawing]) -> str:
    """Return the report; figures are named as `write_exposure` places them."""
    lines = [f"# Exposure bias of {escaped(found.model)}", ""]
    lines += [f"- {escaped(line)}" for line in verdicts(found)]
    lines += ["", escaped(rule(found)), "", escaped(" ".join(sizes(found)))]
    lines += [f"\nNote: {escaped(note)}" for note in found.notes]
    for table in (bleu_wide(found), *other_tables(found)):
        lines += ["", f"## {escaped(table.title)}", "", *markdown_rows(table.header, table.rows)]
    for drawing in drawings:
        lines += ["", f"![{escaped(drawing.description)}]({FIGURES}/{drawing.file_name})"]
    if found.samples:
        lines += ["", "## One model after beginnings of several kinds", "", *switching_markdown(found.samples)]
    lines += ["", "## How to read it", ""]
    lines += [f"- {escaped(name)}: {escaped(meaning)}" for name, meaning in explanations(found)]
    return "\n".join([*lines, ""])


def _rows(found: Exposure) -> Iterator[tuple[Any, ...]]:
    for kind, bleu in found.bleu.items():
        n_runs = len(bleu.runs)
        for k, length in enumerate(bleu.lengths):
            for name, values, spreads in (("data", bleu.data, bleu.data_sd), (kind, bleu.other, bleu.other_sd)):
                if name != "data" or kind == next(iter(found.bleu)):
                    yield ("C-bleu", name, None, length, values[k], *(None,) * 4, spreads[k], None, n_runs,
                           bleu.n_sentences)  # fmt: skip
            yield ("EB-bleu", kind, None, length, bleu.values[k], *_bounds(bleu.intervals[k]), bleu.sd[k],
                   bleu.sd_sentences[k], n_runs, bleu.n_sentences)  # fmt: skip
    curves = [("CGD", curve) for of_distance in found.cgd.values() for curve in of_distance.values()]
    rates = [("EB-C", rate) for of_distance in found.rates.values() for rate in of_distance.values()]
    excess = [] if found.excess is None else [("excess error", found.excess)]
    for measure, curve in (*curves, *rates, *excess):
        for k, length in enumerate(curve.lengths):
            yield (measure, curve.prefixes, curve.distance, length, curve.values[k], *_bounds(curve.intervals[k]),
                   curve.sd_runs[k], curve.sd_resampled[k], len(curve.runs), min(curve.n_sequences))  # fmt: skip
    for dd in found.dd:
        for name, side in (("data", dd.data), ("model", dd.model)):
            yield "dd", name, None, dd.length, side.value, *_bounds(side.interval), None, None, 1, dd.n_sentences
        yield "EB-DD", "model", None, dd.length, dd.difference, *_bounds(dd.interval), None, None, 1, dd.n_sentences
    for name, quantity in found.perplexity.items():
        bounds = _bounds(quantity.interval)
        value = quantity.value if math.isfinite(quantity.value) else None
        yield f"perplexity of the {name}", None, None, None, value, *bounds, None, None, 1, found.lengths.n_sentences


def _bounds(bounds: Interval | None) -> tuple[Any, ...]:
    return (None,) * 4 if bounds is None else (bounds.low, bounds.high, bounds.level, bounds.method)
