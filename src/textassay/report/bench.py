"""What a bench found, as a report: shares and ranks, honesty, equal generators, growth, world by world."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from importlib.metadata import version
from statistics import fmean

from textassay.report.cells import count_cell, number_cell
from textassay.report.document import Cell, Column, Document, Figure, Row, Table, section
from textassay.report.files import record
from textassay.report.inspection import inspection_sections
from textassay.report.number import MISSING, count, number
from textassay.report.plots import Axis, Colour, Curves, Point, Reference, Series
from textassay.report.words import join_words
from textassay_lab.meta_evaluation.bench import WITH_TRAIN, Bench, BenchCell
from textassay_lab.meta_evaluation.bench_summary import ALL, APART, nulls, summarize
from textassay_lab.meta_evaluation.bench_summary import Row as Summary
from textassay_lab.meta_evaluation.known_truth_pairs import FIRST_TEST_SEED

_PLACES = 3
_COLOURS: tuple[Colour, ...] = ("generated", "real", "ink", "muted")


def bench_document(bench: Bench) -> Document:
    """Return a bench as a report."""
    summaries = summarize(bench)
    n = max(bench.sizes)
    seeds = seeds_sentence(bench.seeds).removeprefix("Seeds ").removesuffix(".")
    corpora = ", ".join(f"{name} ({count(size)} texts)" for name, size in bench.corpora.items())
    growth = None if len(bench.sizes) == 1 else section(f"Mean share by {_side(bench)}", _growth(bench, summaries))
    sections = (
        *inspection_sections(bench.findings, brief_notes=True),
        section(
            f"Share of the true discrepancy found, and order of the worlds, {_size(bench, n)}",
            _shares(summaries, n),
            _figure(bench, n),
        ),
        section("Are bounds and intervals honest?", _honesty(bench, summaries)),
        *([] if growth is None else [growth]),
        section(f"World by world, {_size(bench, n)}", _worlds(bench, n)),
    )
    return Document(
        "How much of a known discrepancy is found",
        _answer(summaries, n, _size(bench, n)),
        (("Generators fitted to", corpora), ("Seeds", seeds), *_sources(bench)),
        sections,
        lead="bench",
        version=version("textassay"),
        records=(_record(bench),),
    )


def seeds_sentence(seeds: Sequence[int]) -> str:
    """Return which of `seeds` are for development and which for tests, as a sentence."""
    parts = []
    for kind, chosen in (
        ("for development: report nothing of them", [seed for seed in seeds if seed < FIRST_TEST_SEED]),
        ("for tests", [seed for seed in seeds if seed >= FIRST_TEST_SEED]),
    ):
        if chosen:
            parts.append(f"{_ranges(chosen)} ({kind})")
    return f"Seeds {', '.join(parts)}."


def _ranges(seeds: Sequence[int]) -> str:
    """Return numbers as ranges, such as "100-104, 110"."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _side(bench: Bench) -> str:
    return "texts a side" if bench.n_generated is None else "real texts"


def _size(bench: Bench, n: int) -> str:
    """Return how many texts there were, such as "20,000 real and 100,000 generated texts"."""
    if bench.n_generated is None:
        return f"{count(n)} texts a side"
    return f"{count(n)} real and {count(bench.n_generated)} generated texts"


def _sources(bench: Bench) -> tuple[tuple[str, str], ...]:
    """Return what else estimators learnt from, as facts."""
    facts = []
    if bench.n_fit_real:
        facts.append(("More real texts to learn from", f"{count(bench.n_fit_real)}, for dd"))
    if bench.prior is not None:
        facts.append(("Prior", f"{bench.prior}, for dd of estimators that can use it"))
    if bench.untrained:
        facts.append((f"Not measured with {WITH_TRAIN}", f"{join_words(bench.untrained)}: no training text is known"))
    return tuple(facts)


def _answer(summaries: Sequence[Summary], n: int, size: str) -> tuple[str, ...]:
    """Return which estimator finds most, and how the others do."""
    shares = {row.estimator: row.share for row in summaries if (row.kind, row.n) == (ALL, n) and row.share is not None}
    if not shares:
        taus = {row.estimator: row.tau for row in summaries if (row.kind, row.n) == (ALL, n) and row.tau is not None}
        if not taus:
            return ()
        best = max(taus, key=lambda name: taus[name])
        return (f"{best} orders the worlds best: Kendall's tau with the truth {number(taus[best], 2)}.",)
    best, *others = sorted(shares, key=lambda name: -shares[name])
    rest = join_words([f"{name} {number(shares[name], _PLACES)}" for name in others])
    return (
        f"{best} finds most of the true discrepancy: a share of {number(shares[best], _PLACES)} at {size}"
        f"{f'; {rest}' if rest else ''}.",
    )


def _shares(summaries: Sequence[Summary], n: int) -> Table:
    kinds = list(dict.fromkeys(row.kind for row in summaries))
    rows: list[Row] = []
    for kind in kinds if len(kinds) > 2 else [ALL]:
        if len(kinds) > 2:
            rows.append(Row((Cell("all worlds but controls" if kind == ALL else kind),), "heading"))
        for row in summaries:
            if (row.kind, row.n) == (kind, n):
                ratios = (row.ratio_to_plain, row.smallest_ratio_to_paper, row.tau, row.tau_growing)
                seconds = (row.seconds, row.cpu_seconds)
                numbers = [*(number_cell(x, 2) for x in ratios), *(number_cell(x, 1) for x in seconds)]
                head = Cell(row.estimator), count_cell(row.n_cells), number_cell(row.share, _PLACES)
                rows.append(Row((*head, *numbers)))
    names = ("estimator", "cells", Column("share", better="higher"), "x plain", "x paper", "tau", "grow", "wall s",
             "CPU s")  # fmt: skip
    note = (
        "share: mean of value / truth. x plain: over the plain logistic regression, on the same draws. x paper: over "
        "the paper's network, on the world where that is least. tau: Kendall's, with the truth, over worlds more "
        f"than {APART:g} apart in truth; grow: within families of one model on more and more text. "
        "wall s, CPU s: seconds a cell."
    )
    return Table.of("shares", names, rows, notes=(note,), main=True)


def _honesty(bench: Bench, summaries: Sequence[Summary]) -> Table:
    of_null = {(null.estimator, null.n): null for null in nulls(bench)}
    rows: list[list[str | Cell]] = []
    for row in summaries:
        null = of_null.get((row.estimator, row.n))
        if row.kind != ALL or (row.n_bounds == 0 and null is None):
            continue
        rows.append(
            [
                row.estimator,
                count_cell(row.n),
                _share_of(row.bounds_hold, row.n_bounds),
                _share_of(row.above_truth, row.n_intervals),
                _share_of(row.covers_mean, row.n_covered),
                number_cell(None if null is None else max(map(abs, null.z)), 2),
                Cell(MISSING) if null is None else _share_of(null.within_two, len(null.z)),
            ]
        )
    note = (
        "Controls count here. bounds hold: certified bounds not above the truth. above truth: intervals above that of "
        "the truth. cover mean: intervals that hold the mean of a world over at least 5 seeds. largest |z|, within 2: "
        "of value over standard error where both generators are the same."
    )
    names = ("estimator", "size", "bounds hold", "above truth", "cover mean", "largest |z|", "within 2")
    return Table.of("honesty", names, rows, notes=(note,))


def _growth(bench: Bench, summaries: Sequence[Summary]) -> Table:
    shares = {(row.estimator, row.n): row.share for row in summaries if row.kind == ALL}
    rows: list[list[str | Cell]] = [
        [name, *(number_cell(shares.get((name, n)), _PLACES) for n in bench.sizes)] for name in bench.estimators
    ]  # fmt: skip
    return Table.of("growth", ("estimator", *map(count, bench.sizes)), rows)


def _worlds(bench: Bench, n: int) -> Table:
    rows: list[Row] = []
    for corpus in bench.corpora:
        here = [cell for cell in bench.cells if (cell.n, cell.corpus) == (n, corpus)]
        if len(bench.corpora) > 1:
            rows.append(Row((Cell(corpus),), "heading"))
        truths = {world: fmean(c.truth for c in here if c.world == world) for world in {c.world for c in here}}
        for world in sorted(truths, key=lambda name: (-truths[name], name)):
            cells = [cell for cell in here if cell.world == world]
            values = [number_cell(_mean_value(cells, name), _PLACES) for name in bench.estimators]
            rows.append(Row((Cell(world), number_cell(truths[world], _PLACES), *values)))
    return Table.of("worlds", ("world", "truth", *bench.estimators), rows)


def _mean_value(cells: Iterable[BenchCell], name: str) -> float | None:
    values = [cell.value for cell in cells if cell.estimator == name and cell.value is not None]
    return fmean(values) if values else None


def _share_of(share: float | None, n: int) -> Cell:
    return Cell(MISSING) if share is None else Cell(f"{round(share * n)} of {count(n)}", share)


def _figure(bench: Bench, n: int) -> Figure | None:
    """Return value against truth, one mark a cell; none where no estimator is one of dd."""
    series: list[Series] = []
    for name in bench.estimators:
        cells = [c for c in bench.cells if (c.estimator, c.n, c.metric) == (name, n, "dd") and c.value is not None]
        if cells:
            points = tuple(Point(cell.truth, cell.value) for cell in cells)
            place = len(series)
            series.append(Series(name, points, _COLOURS[place % len(_COLOURS)], line=False, marker=place))
    if not series:
        return None
    low = min(-0.03, *(point.y for one in series for point in one.points if point.y is not None))
    plot = Curves(
        tuple(series),
        Axis("true discrepancy", (-0.03, 1.03)),
        Axis(f"found, {count(n)} {_side(bench)}", (low - 0.01, 1.03)),
        references=(Reference(axis="diagonal"),),
        size=(4.4, 3.7),
        kind="scatter",
    )
    names = ", ".join(one.name for one in series)
    description = f"Value against true discrepancy of {names}; the line is where both are equal."
    return Figure("bench", plot, "A mark a world and seed; on the line all is found.", description)


def _record(bench: Bench) -> Table:
    """Return one row a cell; what an estimator chose stands in the JSON document alone."""
    names = [field.name for field in fields(BenchCell) if field.name != "chosen"]
    return record("bench", names, ([getattr(cell, name) for name in names] for cell in bench.cells))
