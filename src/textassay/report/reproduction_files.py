"""A reproduced study as files: all of it as JSON, cell by cell as CSV, for readers as Markdown with figures.

The figures have a white ground, so that they can be read on dark pages, too. No text of a corpus is in any of them, but
samples after prefixes of real text begin with its words.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from textassay.corpus import csv_text, parse_json, read_document
from textassay.errors import InputError, OutputError
from textassay.meta_evaluation import ReproducedTable, Reproduction
from textassay.report.number import number
from textassay.report.old_drawing import Drawing
from textassay.report.old_markdown import escaped, markdown_rows
from textassay.report.reproduction_figures import draw_reproduction
from textassay.report.reproduction_words import (
    cell_texts,
    differences_told,
    finding_numbers,
    inseparable,
    settings_told,
    table_heading,
    tau_row,
    unmatched,
)
from textassay.report.svg import on_white
from textassay.report.switching import switching_markdown
from textassay.report.words import join_words

_COLUMNS = (
    *("table", "row", "column", "ours", "low", "high", "spread", "published", "published_spread", "differs"),
    *("recomputed", "recomputed_spread"),
)


def write_reproduction(reproduction: Reproduction, out: Path, *, stem: str = "study") -> list[Path]:
    """Write `stem`.json, .csv, .md and the figures into `out`, each whole or not at all; return their paths."""
    drawings = draw_reproduction(reproduction)
    contents = {
        f"{stem}.json": json.dumps(reproduction.to_dict(), indent=1, allow_nan=False) + "\n",
        f"{stem}.csv": reproduction_csv(reproduction),
        f"{stem}.md": reproduction_markdown(reproduction, drawings),
        **{f"figures/{drawing.file_name}": on_white(drawing.svg) for drawing in drawings},
    }
    for name, text in contents.items():
        target = out / name
        draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(text, encoding="utf-8", newline="\n")
            draft.replace(target)
        except OSError as error:
            raise OutputError(f"cannot write to {out}: {error.strerror or error}; choose another --out") from error
        finally:
            if draft.parent.is_dir():
                draft.unlink(missing_ok=True)
    return [out / name for name in contents]


def read_reproduction(path: Path) -> Reproduction:
    """Return what `write_reproduction` wrote as JSON."""
    try:
        return Reproduction.from_dict(parse_json(read_document(path)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a reproduced study: {error}") from error


def reproduction_csv(reproduction: Reproduction) -> str:
    """Return every cell as a row, in full precision; an empty field is a value that is not there."""
    rows = []
    for table in reproduction.tables:
        for cell in table.cells:
            differs = "; ".join(filter(None, (table.differs, cell.differs))) if cell.ours is not None else ""
            known = {**asdict(cell), "table": table.id, "differs": differs}
            rows.append([known[name] for name in _COLUMNS])
    return csv_text(_COLUMNS, rows)


def reproduction_markdown(reproduction: Reproduction, drawings: Sequence[Drawing] = ()) -> str:
    """Return the study as a Markdown document; `drawings` stand in the folder ``figures`` beside it."""
    lines = [f"# {escaped(reproduction.title)}"]
    lines += _findings(reproduction) if reproduction.findings else []
    if reproduction.taus:
        lines += ["", "## Kendall's tau with the gold order", ""]
        header = [
            "gold",
            "metric",
            "generators",
            "tau",
            "interval",
            "single seeds",
            "published",
            "share of draws ≥ 0.8",
        ]
        lines += markdown_rows(header, [[tau.gold, *tau_row(tau)] for tau in reproduction.taus])
        told = inseparable(reproduction.taus)
        lines += ["", "Neighbours of the gold order, by simultaneous intervals:", ""] if told else []
        lines += [f"- {escaped(text)}" for text in told]
    for table in reproduction.tables:
        lines += _table(table)
    for title, samples in reproduction.samples.items():
        lines += ["", f"## Prefix switching: {escaped(title)}", "", *switching_markdown(samples)]
    lines += ["", "## Figures"] if drawings else []
    for drawing in drawings:
        lines += ["", f"![{escaped(drawing.description)}](figures/{drawing.file_name})"]
    if reproduction.seconds:
        times = [[stage, number(seconds, 1)] for stage, seconds in reproduction.seconds.items()]
        times.append(["all", number(sum(reproduction.seconds.values()), 1)])
        lines += ["", "## Seconds of each stage", "", *markdown_rows(["stage", "seconds"], times)]
    if reproduction.notes:
        lines += ["", "## To know besides", "", *(f"- {escaped(note)}" for note in reproduction.notes)]
    lines += ["", "## Settings", ""]
    lines += [f"- {escaped(name)}: {escaped(text)}" for name, text in settings_told(reproduction)]
    return "\n".join([*lines, ""])


def _findings(reproduction: Reproduction) -> list[str]:
    header = ["finding", "of", "verdict", "published", "numbers"]
    rows = [
        [f"{found.id}: {found.statement}", found.about, found.verdict, found.published, finding_numbers(found)]
        for found in reproduction.findings
    ]
    lines = ["", "## What the paper found, and whether it holds here", "", *markdown_rows(header, rows, numbers=False)]
    rules: dict[str, dict[str, None]] = {}
    for found in reproduction.findings:
        rules.setdefault(found.rule, {})[found.id] = None
    return [
        *lines,
        "",
        "Rules:",
        "",
        *(f"- {join_words(list(names))}: {escaped(rule)}" for rule, names in rules.items()),
    ]


def _table(table: ReproducedTable) -> list[str]:
    lines = ["", f"## {escaped(table_heading(table))}", ""]
    texts = {column: cell_texts(table, column) for column in table.columns}
    told = ", recomputed" if table.is_recomputed else ""
    header = ["", *(text for column in table.columns for text in (f"{column}{told}", "paper"))]
    rows = [
        [row, *(text for column in table.columns for text in texts[column].get(row, ("", "")))] for row in table.rows
    ]
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] for row in rows)]
    lines += markdown_rows([header[place] for place in kept], [[row[place] for place in kept] for row in rows])
    notes = [*differences_told(table), *unmatched(table), *([table.note] if table.note else [])]
    return [*lines, "", *(f"- {escaped(text)}" for text in notes)] if notes else lines
