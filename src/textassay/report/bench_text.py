"""What a bench found, for a terminal: shares and ranks, honesty, equal generators, world by world, growth."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.meta_evaluation import ALL, APART, FIRST_TEST_SEED, Bench, BenchCell, Row, nulls, summarize
from textassay.report.console import heading, print_table, safe
from textassay.report.number import MISSING, count, number
from textassay.report.old_text import render_findings

_PLACES = 3


def render_bench(bench: Bench, console: Console) -> None:
    """Print what `bench` found on `console`, in its width."""
    corpora = ", ".join(f"{name} ({count(n)} texts)" for name, n in bench.corpora.items())
    _note(console, f"Generators fitted to {corpora}. {seeds_told(bench.seeds)}")
    render_findings(bench.findings, console, brief_notes=True)
    rows = summarize(bench)
    largest = max(bench.sizes)
    heading(console, f"Share of the true discrepancy found, and order of the worlds, {count(largest)} texts a side")
    _print_shares(rows, console, n=largest)
    _note(
        console,
        "share: mean of value / truth. x plain: over the plain logistic regression, on the same draws. x paper: over "
        "the paper's network, on the world where that is least. tau: Kendall's, with the truth, over worlds more "
        f"than {APART:g} apart in truth; grow: within families of one model on more and more text. "
        "wall s, CPU s: seconds a cell.",
    )
    heading(console, "Are bounds and intervals honest?")
    _print_honesty(bench, rows, console)
    _note(
        console,
        "Controls count here. bounds hold: certified bounds not above the truth. above truth: intervals above that of "
        "the truth. cover mean: intervals that hold the mean of a world over at least 5 seeds. largest |z|, within 2: "
        "of value over standard error where both generators are the same.",
    )
    if len(bench.sizes) > 1:
        heading(console, "Mean share by texts a side")
        _print_growth(bench, rows, console)
    heading(console, f"World by world, {count(largest)} texts a side")
    _print_worlds(bench, console)


def seeds_told(seeds: Sequence[int]) -> str:
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


def _print_shares(rows: Sequence[Row], console: Console, *, n: int) -> None:
    table = _table(console, "estimator", "cells", "share", "x plain", "x paper", "tau", "grow", "wall s", "CPU s")
    kinds = list(dict.fromkeys(row.kind for row in rows))
    for kind in kinds if len(kinds) > 2 else [ALL]:
        if len(kinds) > 2:
            table.add_row(safe(console, "all worlds but controls" if kind == ALL else kind, "bold"))
        for row in rows:
            if (row.kind, row.n) == (kind, n):
                table.add_row(
                    safe(console, row.estimator),
                    count(row.n_cells),
                    _number(row.share),
                    *(_number(x, 2) for x in (row.ratio_to_plain, row.smallest_ratio_to_paper, row.tau)),
                    _number(row.tau_growing, 2),
                    number(row.seconds, 1),
                    number(row.cpu_seconds, 1),
                )
    _print(table, console)


def _print_honesty(bench: Bench, rows: Sequence[Row], console: Console) -> None:
    table = _table(console, "estimator", "size", "bounds hold", "above truth", "cover mean", "largest |z|",
                   "within 2")  # fmt: skip
    of_null = {(null.estimator, null.n): null for null in nulls(bench)}
    for row in rows:
        null = of_null.get((row.estimator, row.n))
        if row.kind != ALL or (row.n_bounds == 0 and null is None):
            continue
        table.add_row(
            safe(console, row.estimator),
            count(row.n),
            _share_of(row.bounds_hold, row.n_bounds),
            _share_of(row.above_truth, row.n_intervals),
            _share_of(row.covers_mean, row.n_covered),
            MISSING if null is None else number(max(map(abs, null.z)), 2),
            MISSING if null is None else _share_of(null.within_two, len(null.z)),
        )
    _print(table, console)


def _print_growth(bench: Bench, rows: Sequence[Row], console: Console) -> None:
    table = _table(console, "estimator", *(count(n) for n in bench.sizes))
    shares = {(row.estimator, row.n): row.share for row in rows if row.kind == ALL}
    for name in bench.estimators:
        table.add_row(safe(console, name), *(_number(shares.get((name, n))) for n in bench.sizes))
    _print(table, console)


def _print_worlds(bench: Bench, console: Console) -> None:
    largest = [cell for cell in bench.cells if cell.n == max(bench.sizes)]
    table = _table(console, "world", "truth", *bench.estimators)
    for corpus in bench.corpora:
        here = [cell for cell in largest if cell.corpus == corpus]
        if len(bench.corpora) > 1:
            table.add_row(safe(console, corpus, "bold"))
        truths = {world: fmean(c.truth for c in here if c.world == world) for world in {c.world for c in here}}
        for world in sorted(truths, key=lambda name: (-truths[name], name)):
            cells = [cell for cell in here if cell.world == world]
            values = [_mean_value(cells, name) for name in bench.estimators]
            table.add_row(safe(console, world), number(truths[world], _PLACES), *map(_number, values))
    _print(table, console)


def _mean_value(cells: Iterable[BenchCell], name: str) -> float | None:
    values = [cell.value for cell in cells if cell.estimator == name and cell.value is not None]
    return fmean(values) if values else None


def _number(value: float | None, places: int = _PLACES) -> str:
    return MISSING if value is None else number(value, places)


def _share_of(share: float | None, n: int) -> str:
    return MISSING if share is None else f"{round(share * n)} of {count(n)}"


def _note(console: Console, text: str) -> None:
    console.print(Padding(safe(console, text, "dim"), (0, 0, 0, 2), expand=False))


def _table(console: Console, first: str, *headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(first, no_wrap=True)
    for header in headers:
        table.add_column(safe(console, header), justify="right", overflow="fold")
    return table


def _print(table: Table, console: Console) -> None:
    print_table(console, table)
