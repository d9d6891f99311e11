"""A reproduced study as a report: findings, taus, figures, tables with ours beside the published, samples, settings."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from textassay.corpus.documents import parse_json, read_document
from textassay.errors import InputError
from textassay.report.document import Document, Figure, Paragraph, Part, Section, Terms, items, section
from textassay.report.reproduction_figures import reproduction_figures, taus_figure
from textassay.report.table import Cell, Column, Table, Tone, number_cell, record
from textassay.report.text import MISSING, decimals, join_words, number, sign_of_width, slug, span
from textassay_lab.exposure.document import switching_section
from textassay_lab.meta_evaluation.reproduction import Cell as Reproduced
from textassay_lab.meta_evaluation.reproduction import (
    CheckedFinding,
    Neighbours,
    Number,
    ReproducedTable,
    Reproduction,
    TauDistribution,
)

_VERDICTS = (
    ("holds", "hold", "holds"),
    ("does not hold", "do not hold", "does not hold"),
    ("not separated at this size", "cannot be decided at this size", "cannot be decided at this size"),
    ("not measured", "are not measured", "is not measured"),
)
_TONES: dict[str, Tone] = {"holds": "good", "does not hold": "bad", "not measured": "weak"}
_PARTS = ("parts", "parts that hold")  # names of numbers of a finding
_HIGH_TAU = 0.8
_FEW = 6
_RECORD = (
    *("table", "row", "column", "ours", "low", "high", "spread", "published", "published_spread", "differs"),
    *("recomputed", "recomputed_spread"),
)


def reproduction_document(reproduction: Reproduction, *, stem: str = "study") -> Document:
    """Return a reproduced study as a report."""
    figures = reproduction_figures(reproduction)
    settings = tuple((name, _setting(value)) for name, value in reproduction.settings.items())
    sections = [_findings(reproduction)] if reproduction.findings else []
    taus = [_taus(reproduction.taus)] if reproduction.taus else []
    sections += taus
    sections += [section("Figures", *figures)] if figures else []
    tables = [_table(table) for table in reproduction.tables]
    sections += [section("Tables, beside the published ones", *tables)] if tables else []
    sections += [switching_section(samples, f"Samples: {title}") for title, samples in reproduction.samples.items()]
    if reproduction.seconds:
        times = {**reproduction.seconds, "all": sum(reproduction.seconds.values())}
        rows: list[list[str | Cell]] = [[stage, number_cell(seconds, 1)] for stage, seconds in times.items()]
        sections.append(section("Seconds of each stage", Table.of("seconds", ("stage", "seconds"), rows)))
    sections += [section("Notes", *items(reproduction.notes))] if reproduction.notes else []
    sections.append(section("Settings", Terms(settings)))
    return Document(
        reproduction.title,
        _answer(reproduction.findings),
        sections=tuple(sections),
        lead=next(
            (part.name for part in (*(p for t in taus for p in t.parts), *figures) if isinstance(part, Figure)), ""
        ),
        version=version("textassay"),
        records=(_record(reproduction, stem),),
    )


def read_reproduction(path: Path) -> Reproduction:
    """Return the study whose ``to_dict`` stands in a JSON file."""
    try:
        return Reproduction.from_dict(parse_json(read_document(path)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a reproduced study: {error}") from error


def _answer(findings: Sequence[CheckedFinding]) -> tuple[str, ...]:
    """Return how many findings of the paper hold, and which do not."""
    counts: Counter[str] = Counter(found.verdict for found in findings)
    total = counts.total()
    if not total:
        return ()
    parts = [f"{counts[name]} {one if counts[name] == 1 else many}" for name, many, one in _VERDICTS if counts[name]]
    whole = f"Of {total} check{'s' * (total != 1)} of the paper's findings, {join_words(parts)}."
    others: dict[tuple[str, str], list[str]] = {}
    for found in findings:
        if found.verdict == "does not hold":
            others.setdefault((found.id, found.statement), []).append(found.about)
    return (
        whole,
        *(f"{name} does not hold ({'; '.join(on)}): {statement}" for (name, statement), on in others.items()),
    )


def _findings(reproduction: Reproduction) -> Section:
    parts: list[Part] = [_verdicts(reproduction.findings)]
    rules: dict[str, dict[str, None]] = {}
    by_statement: dict[tuple[str, str, str], list[CheckedFinding]] = {}
    for found in reproduction.findings:
        rules.setdefault(found.rule, {})[found.id] = None
        by_statement.setdefault((found.id, found.statement, found.published), []).append(found)
    for (name, statement, published), checks in by_statement.items():
        terms = [(found.about, ": ".join(filter(None, (found.verdict, finding_numbers(found))))) for found in checks]
        parts += [Paragraph(f"{name}: {statement}", "item"), Terms((("paper", published), *terms))]
    explained = Terms(tuple((join_words(list(names)), rule) for rule, names in rules.items()))
    title = "What the paper found, and whether it holds here"
    return section(title, *parts, section("When a finding holds", explained, extra=True))


def _verdicts(findings: Sequence[CheckedFinding]) -> Table:
    """Return a row a finding and a column for each thing that it was checked on; a row a check where few have all."""
    by_id: dict[str, dict[str, CheckedFinding]] = {}
    for found in findings:
        by_id.setdefault(found.id, {})[found.about] = found
    abouts = list(dict.fromkeys(found.about for found in findings))
    rows: list[list[str | Cell]]
    if 2 * len(findings) < len(by_id) * len(abouts):
        rows = [[found.id, found.about, _verdict_cell(found)] for found in findings]
        return Table.of("verdicts", ("finding", "checked on", "verdict"), rows, texts=(1, 2))
    rows = [[name, *(_verdict_cell(checks.get(about)) for about in abouts)] for name, checks in by_id.items()]
    return Table.of("verdicts", ("finding", *abouts), rows, texts=range(1, len(abouts) + 1))


def _verdict_cell(found: CheckedFinding | None) -> Cell:
    if found is None:
        return Cell()
    return Cell(found.verdict, note=finding_numbers(found), tone=_TONES.get(found.verdict, ""))


def finding_numbers(finding: CheckedFinding) -> str:
    """Return the first numbers that a verdict rests on, with their intervals; all are in the JSON document."""
    parts, hold = (finding.numbers.get(name) for name in _PARTS)
    shown = [] if parts is None or hold is None else [f"{hold:g} of {parts:g} parts hold"]
    shown += [
        f"{name} {_with_interval(name, value, finding)}"
        for name, value in finding.numbers.items()
        if not _is_end(name, finding) and (name not in _PARTS or not shown)
    ]
    more = len(shown) - _FEW
    return "; ".join(shown[:_FEW]) + (f"; and {more} more" if more > 0 else "")


def _taus(taus: Iterable[TauDistribution]) -> Section:
    parts: list[Part | None] = []
    by_gold: dict[str, list[TauDistribution]] = {}
    for tau in taus:
        by_gold.setdefault(tau.gold, []).append(tau)
    names = ("metric", "generators", "tau", "interval", "single seeds", "published", f"share of draws ≥ {_HIGH_TAU}")
    for gold, own in by_gold.items():
        rows: list[list[str | Cell]] = []
        for tau in own:
            share = tau.share_at_least(_HIGH_TAU)
            bounds, seeds = Cell(span(tau.low, tau.high, 2), tau.low), Cell(_by_seed(tau))
            published = Cell() if tau.published is None else number_cell(tau.published, 2)
            rows.append([tau.metric, tau.group, number_cell(tau.value, 2), bounds, seeds, published,
                         number_cell(share, 2)])  # fmt: skip
        title = f"Kendall's tau with the order by {gold}"
        parts.append(Table.of(f"taus-{slug(gold)}", names, rows, texts=(1,), title=title, main=True))
        parts.append(taus_figure(own))
        unsure = _inseparable(own)
        if unsure:
            parts += [Paragraph("Neighbours of this order, by simultaneous intervals:"), *items(unsure)]
    return section("Kendall's tau with the gold order", *parts)


def _table(table: ReproducedTable) -> Table:
    """Return a table with two columns for each of its own: ours and the published; empty ones are left out."""
    ours = "recomputed" if table.is_recomputed else "ours"
    columns: list[tuple[Column, dict[str, Cell]]] = []
    for name in table.columns:
        cells = [cell for cell in table.cells if cell.column == name]
        printed = max(map(_printed_places, cells), default=0)
        own = _places(cells)
        places = max(own, min(printed, own + 1))
        columns.append((Column(ours, group=name), {cell.row: _ours(cell, places) for cell in cells}))
        columns.append((Column("paper", group=name), {cell.row: _published(cell, printed) for cell in cells}))
    columns = [(column, cells) for column, cells in columns if any(cell.value is not None for cell in cells.values())]
    rows: list[list[str | Cell]] = [[row, *(cells.get(row, Cell()) for _, cells in columns)] for row in table.rows]
    rows = [row for row in rows if any(cell != Cell() for cell in row[1:])]
    is_published = any(cell.published is not None for cell in table.cells)
    title = f"{table.id[:1].upper()}{table.id[1:]}. {table.title}"
    about = [note for note in (*_differences(table), *_unmatched(table), table.note) if note]
    return Table.of(
        slug(table.id), ("", *(column for column, _ in columns)), rows, title=title, notes=about, main=is_published
    )


def _ours(cell: Reproduced, places: int) -> Cell:
    """Return ours with the longer arm of its interval and the spread over seeds; recomputed values in its place."""
    if cell.ours is None and cell.recomputed is not None:
        spread = cell.recomputed_spread
        beside = "" if spread is None else f"({number(spread, places)})"
        return Cell(number(cell.recomputed, places), cell.recomputed, beside)
    if cell.ours is None:
        return Cell(MISSING)
    parts = []
    arm = _arm(cell)
    if arm and cell.low is not None and cell.high is not None:
        parts.append(f"{sign_of_width(cell.ours - cell.low, cell.high - cell.ours)}{number(arm, places)}")
    if cell.spread is not None:
        parts.append(f"(seeds {number(cell.spread, places)})")
    value = cell.ours if math.isfinite(cell.ours) else None
    return Cell(number(cell.ours, places), value, " ".join(parts), note=span(cell.low, cell.high, places))


def _published(cell: Reproduced, places: int) -> Cell:
    if cell.published is None:
        return Cell()
    spread = cell.published_spread
    return Cell(number(cell.published, places), cell.published, "" if spread is None else f"({number(spread, places)})")


def _differences(table: ReproducedTable) -> list[str]:
    """Return what of ours is made in another way: for the whole table, then column by column or row by row."""
    sentences = [f"Ours: {table.differs}."] if table.differs else []
    for text, cells in _grouped(table.cells):
        columns = {cell.column for cell in cells}
        rows = {cell.row for cell in cells}
        whole_columns = all(sum(c.column == name and c.ours is not None for c in table.cells)
                            == sum(c.column == name for c in cells) for name in columns)  # fmt: skip
        sentences.append(f"{join_words(sorted(columns if whole_columns else rows))}: {text}.")
    return sentences


def _unmatched(table: ReproducedTable) -> list[str]:
    """Return which cells only one side has, by row and column; nothing of a table that only one side has at all."""
    sentences: list[str] = []
    if not any(cell.published is not None for cell in table.cells):
        return sentences
    alone = "Published, does not follow from printed values" if table.is_recomputed else "Published, not measured here"
    for cells, text in ((table.published_alone, alone), (table.ours_alone, "Not published")):
        if cells:
            sentences.append(f"{text}: {'; '.join(_named_places(cells, set(table.rows)))}.")
    return sentences


def _inseparable(taus: Iterable[TauDistribution]) -> list[str]:
    """Return which neighbours of a gold order the gold and each metric cannot tell apart, or tell the other way."""
    found: dict[str, None] = {}
    for tau in taus:
        for by, group in groupby(tau.neighbours, key=lambda pair: pair.by):
            pairs = list(group)
            unsure = _chains(pair for pair in pairs if not pair.separated)
            wrong = _chains(pair for pair in pairs if pair.separated and pair.difference < 0)
            parts = [f"cannot tell apart {'; '.join(unsure)}"] if unsure else []
            parts += [f"reverses {'; '.join(wrong)}"] if wrong else []
            if parts:
                found[f"{by}, {tau.group}: {'; '.join(parts)}."] = None
    return list(found)


def _by_seed(tau: TauDistribution) -> str:
    known = [each for each in tau.by_seed if each is not None]
    if len(tau.by_seed) < 2 or not known:
        return ""
    ends = [number(end, 2) for end in (min(known), max(known))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _chains(pairs: Iterable[Neighbours]) -> list[str]:
    """Return generators that follow each other in runs, such as "a ~ b ~ c"."""
    runs: list[list[str]] = []
    for pair in pairs:
        if runs and runs[-1][-1] == pair.better:
            runs[-1].append(pair.worse)
        else:
            runs.append([pair.better, pair.worse])
    return [" ~ ".join(run) for run in runs]


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {f'({_setting(one)})' if isinstance(one, Mapping | list | tuple) else _setting(one)}"
                         for name, one in value.items())  # fmt: skip
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    return "none" if value is None else str(value)


def _places(cells: Iterable[Reproduced]) -> int:
    cells = list(cells)
    values = [
        value for value in (cell.recomputed if cell.ours is None else cell.ours for cell in cells) if value is not None
    ]
    if not values:
        return 0
    arms = [arm for arm in map(_arm, cells) if arm]
    if not arms and all((2 * float(value)).is_integer() for value in values):  # counts, and ranks with ties
        return int(not all(float(value).is_integer() for value in values))
    return decimals(statistics.median(map(abs, values)), statistics.median(arms) if arms else None)


def _printed_places(cell: Reproduced) -> int:
    """Return how many decimals the published value was printed with; trailing zeros are not known."""
    if cell.published is None:
        return 0
    exponent = Decimal(repr(float(cell.published))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _arm(cell: Reproduced) -> float:
    if cell.ours is None or cell.low is None or cell.high is None:
        return 0.0
    return max(cell.ours - cell.low, cell.high - cell.ours)


def _grouped(cells: Iterable[Reproduced]) -> list[tuple[str, list[Reproduced]]]:
    groups: dict[str, list[Reproduced]] = {}
    for cell in cells:
        if cell.differs:
            groups.setdefault(cell.differs, []).append(cell)
    return list(groups.items())


def _named_places(cells: Iterable[Reproduced], all_rows: set[str]) -> list[str]:
    columns: dict[str, list[str]] = {}
    for cell in cells:
        columns.setdefault(cell.column, []).append(cell.row)
    same: dict[tuple[str, ...], list[str]] = {}
    for column, rows in columns.items():
        same.setdefault(tuple(rows), []).append(column)
    return [
        f"{join_words(_quoted(names))} of {'all rows' if set(rows) == all_rows else join_words(_quoted(rows))}"
        for rows, names in same.items()
    ]


def _quoted(names: Iterable[str]) -> list[str]:
    """Return names, in quotes those that hold a comma, so that a list of them can be read."""
    return [f'"{name}"' if "," in name else name for name in names]


def _with_interval(name: str, value: Number, finding: CheckedFinding) -> str:
    """Return a number and, where the ends stand beside it and are not the number itself, its interval."""
    low, high = (finding.numbers.get(f"{name}: {end}") for end in ("low", "high"))
    if value is None or low is None or high is None or low == high or not math.isfinite(value + low + high):
        return _plain(value)
    places = decimals(value, max(high - value, value - low))
    return f"{number(value, places)} {span(low, high, places)}"


def _is_end(name: str, finding: CheckedFinding) -> bool:
    """Return whether a number is an end of the interval of another one."""
    stem, _, end = name.rpartition(": ")
    return end in ("low", "high") and stem in finding.numbers


def _plain(value: Number) -> str:
    if value is None or not math.isfinite(value):
        return MISSING
    is_count = isinstance(value, int) or (abs(value) > 1 and float(value).is_integer())
    return f"{value:g}" if is_count else number(value, 3)


def _record(reproduction: Reproduction, stem: str) -> Table:
    """Return every cell as a row."""
    rows = []
    for table in reproduction.tables:
        for cell in table.cells:
            differs = "; ".join(filter(None, (table.differs, cell.differs))) if cell.ours is not None else ""
            known = {**asdict(cell), "table": table.id, "differs": differs}
            rows.append([known[name] for name in _RECORD])
    return record(stem, _RECORD, rows)
