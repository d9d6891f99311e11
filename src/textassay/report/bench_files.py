"""What a bench found, as files: all cells as JSON and CSV, and value against truth as a figure."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import matplotlib as mpl

from textassay.corpus import csv_text
from textassay.errors import OutputError
from textassay.meta_evaluation import Bench, BenchCell, nulls, summarize
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, plane, tick_places
from textassay.report.svg import GENERATED, INK, MUTED, REAL, RULE, SETTINGS, to_svg

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_COLOURS = (GENERATED, REAL, INK, MUTED)


def bench_document(bench: Bench) -> dict[str, Any]:
    """Return all cells and what they say of each estimator, JSON-ready."""
    return {
        **bench.to_dict(),
        "summary": [asdict(row) for row in summarize(bench)],
        "nulls": [{**asdict(null), "within_two": null.within_two} for null in nulls(bench)],
    }


def write_bench(bench: Bench, out: Path) -> list[Path]:
    """Write ``bench.json``, ``bench.csv`` and ``bench.svg`` into `out`; return their paths."""
    contents = {"bench.json": json.dumps(bench_document(bench), indent=1, allow_nan=False), "bench.csv": _table(bench)}
    drawing = draw_bench(bench)
    if drawing is not None:
        contents[drawing.file_name] = drawing.svg
    for name, text in contents.items():
        draft = out / f".{name}.{os.getpid()}.tmp"
        try:
            draft.write_text(text, encoding="utf-8", newline="\n")
            draft.replace(out / name)
        except OSError as error:
            raise OutputError(f"cannot write to {out}: {error.strerror or error}; choose another --out") from error
        finally:
            draft.unlink(missing_ok=True)
    return [out / name for name in contents]


@mpl.rc_context(SETTINGS)
def draw_bench(bench: Bench) -> Drawing | None:
    """Return value against truth at the largest size, one mark a cell; none where no estimator is one of dd."""
    n = max(bench.sizes)
    points: Mapping[str, list[BenchCell]] = {
        name: [c for c in bench.cells if c.estimator == name and c.n == n and c.metric == "dd" and c.value is not None]
        for name in bench.estimators
    }
    shown = {name: cells for name, cells in points.items() if cells}
    if not shown:
        return None
    right = 0.35 + INCHES_A_LETTER * max(len(label(name)) for name in shown)
    figure, axes = plane(3.4 + right, 3.2, x="true discrepancy", y=f"found, {n:,} sentences a side", right=right)
    axes.plot([0, 1], [0, 1], "-", color=RULE, linewidth=1.0, zorder=1)
    for place, (name, cells) in enumerate(shown.items()):
        colour, mark = _COLOURS[place % len(_COLOURS)], _MARKS[place % len(_MARKS)]
        values = [cell.value or 0.0 for cell in cells]
        axes.plot([c.truth for c in cells], values, mark, color=colour, ms=3.6, mew=0, alpha=0.75, label=label(name))
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(min(-0.03, *(cell.value or 0.0 for cells in shown.values() for cell in cells)) - 0.01, 1.03)
    tick_places(axes, x=5, y=5)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, borderaxespad=0, handletextpad=0.2)
    told = f"Value against true discrepancy of {', '.join(shown)}; the line is where both are equal."
    return Drawing("bench", "", "bench.svg", to_svg(figure), told)


def _table(bench: Bench) -> str:
    """Return one row a cell; what an estimator chose stands in the JSON document alone."""
    names = [field.name for field in fields(BenchCell) if field.name != "chosen"]
    return csv_text(names, ([getattr(cell, name) for name in names] for cell in bench.cells))
