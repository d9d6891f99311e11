"""Papers' layout over several runs that differ in their seed: mean and standard deviation of every cell."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.errors import OptionError
from textassay.report.markdown import markdown_table
from textassay.report.table import Cell, Column, Row, Table
from textassay.report.text import MISSING, decimals, number


class OverRuns(NamedTuple):
    """A cell over runs; `sd` has ddof 1, and is NaN for one run, as `mean` is for none."""

    mean: float
    sd: float
    n_runs: int


def over_runs(comparisons: Sequence[Comparison]) -> dict[tuple[str, str], OverRuns]:
    """Return mean and spread of every cell, by generator and metric, over runs that differ in their seed."""
    seeds = [comparison.seed for comparison in comparisons]
    if not seeds:
        raise OptionError("a table over runs needs at least one comparison, got none")
    if len(set(seeds)) < len(seeds):
        raise OptionError(f"every run must have its own seed, got {', '.join(map(str, seeds))}")
    values: dict[tuple[str, str], list[float]] = {}
    for comparison in comparisons:
        for result in comparison.results:
            cell = values.setdefault((result.generator, result.metric), [])
            if result.estimate is not None and math.isfinite(result.estimate.value):
                cell.append(result.estimate.value)
    return {
        cell: OverRuns(
            statistics.fmean(runs) if runs else math.nan,
            statistics.stdev(runs) if len(runs) > 1 else math.nan,
            len(runs),
        )
        for cell, runs in values.items()
    }


def runs_table(comparisons: Sequence[Comparison]) -> str:
    """Return papers' layout in Markdown: generators by metrics, cells "mean ± standard deviation" over the runs."""
    digests = [Digest(comparison) for comparison in comparisons]
    cells, digest = over_runs([one.comparison for one in digests]), digests[0]
    metrics = list(dict.fromkeys(metric for _, metric in cells))
    rows = []
    for name in (*digest.order, *digest.floors):
        known = [cells.get((name, metric)) for metric in metrics]
        shown = [Cell(MISSING) if one is None else _mean_and_spread(one.mean, one.sd) for one in known]
        rows.append(Row((Cell(name), *shown), "reference" if name in digest.floors else ""))
    note = f"Mean ± standard deviation over {len(comparisons)} runs with different seeds."
    columns = (Column("generator", numeric=False), *map(Column, metrics))
    return "\n".join([*markdown_table(Table("runs", columns, tuple(rows), notes=(note,))), ""])


def _mean_and_spread(mean: float, spread: float) -> Cell:
    places = decimals(mean, spread)
    width = "" if math.isnan(spread) else f"± {number(spread, places)}"
    return Cell(number(mean, places), mean, width)
