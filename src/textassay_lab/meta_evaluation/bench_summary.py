"""Summary of a bench for each estimator: share of the truth, ranks, bounds, null cases and time.

Shares are means over worlds; controls (equal pairs, and pairs without a common word) are counted apart. The ratio of
two estimators is that of their mean shares on the same cells, so that worlds where little is detected do not dominate;
the smallest ratio on any world is of means over seeds.

Kendall's tau compares worlds of one corpus, seed and size whose truths are more than `APART` apart: pairs in the order
of the truth minus pairs in the opposite order, out of all; equal values count as neither. Estimators for which
higher is better are negated, those for which closer is better left out.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby
from statistics import NormalDist, fmean
from typing import Any

from textassay_lab.meta_evaluation.bench import Bench, BenchCell

APART = 0.05
CONTROLS = ("disjoint", "identical")  # kinds of worlds
ALL = "all"
DD = ("dd", "conditional-dd")  # metrics that estimate the discrepancy
YARDSTICK = "plain"
PAPER = "cnn-paper"
_SEEDS_FOR_A_MEAN = 5  # draws of a world needed to check whether intervals cover their mean


@dataclass(frozen=True)
class Row:
    """One estimator at one size on the worlds of one kind, or on all but the controls.

    The row for all kinds includes the controls in bounds, intervals and seconds. Undefined values are None.
    """

    # Of the cells; `kind` is `ALL` for all kinds but the controls
    estimator: str
    n: int
    kind: str
    n_cells: int  # Cells with a value
    share: float | None  # Mean share of the truth
    ratio_to_plain: float | None  # Mean share over that of the yardstick on the same cells
    # Mean over seeds relative to the paper's network, on the world where that is smallest
    smallest_ratio_to_paper: float | None
    # Kendall's tau with the truth, over worlds, and within families of the same model on growing parts of the text
    tau: float | None
    tau_growing: float | None
    # Share of certified bounds that do not exceed the upper end of the truth's interval, and how many there are
    bounds_hold: float | None
    n_bounds: int
    # Share of intervals that lie above that of the truth (for a fixed classifier about 1 in 40 at most), and their
    # number
    above_truth: float | None
    n_intervals: int
    # Share of intervals that contain the mean over seeds of their world, with at least 5 seeds, and their number
    covers_mean: float | None
    n_covered: int
    # Mean wall and processor time of a cell
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Null:
    """One estimator at one size on equal generators."""

    # Of the cells
    estimator: str
    n: int
    z: tuple[float, ...]  # Value over standard error (half the interval over the normal quantile), one a cell

    @property
    def within_two(self) -> float:
        """Share of `z` in [-2, 2]."""
        return fmean(abs(z) <= 2 for z in self.z)


def with_summary(bench: Bench) -> dict[str, Any]:
    """Return all cells and what they say of each estimator, JSON-ready."""
    return {
        **bench.to_dict(),
        "summary": [asdict(row) for row in summarize(bench)],
        "nulls": [{**asdict(null), "within_two": null.within_two} for null in nulls(bench)],
    }


def summarize(bench: Bench) -> list[Row]:
    """Return a row for each estimator, size and kind of world; all kinds first."""
    kinds = [ALL, *dict.fromkeys(cell.kind for cell in bench.cells if cell.kind not in CONTROLS)]
    rows = []
    for kind in kinds:
        cells = [c for c in bench.cells if (c.kind not in CONTROLS if kind == ALL else c.kind == kind)]
        for n in bench.sizes:
            of_size = [cell for cell in cells if cell.n == n]
            checked = [cell for cell in bench.cells if cell.n == n] if kind == ALL else of_size
            rows += [row for name in bench.estimators if (row := _row(of_size, checked, name, n, kind)) is not None]
    return rows


def nulls(bench: Bench) -> list[Null]:
    """Return the z-scores of each estimator with intervals on equal generators, for each size."""
    rows = []
    for name in bench.estimators:
        for n in bench.sizes:
            cells = [c for c in bench.cells if (c.estimator, c.n, c.kind) == (name, n, "identical")]
            z = tuple(score for cell in cells if (score := _z(cell)) is not None)
            if z:
                rows.append(Null(name, n, z))
    return rows


def tau_with_truth(cells: Iterable[BenchCell]) -> float | None:
    """Return Kendall's tau of values and truths over pairs of `cells` whose truths are more than `APART` apart.

    None where there is no such pair, no value, or no direction.
    """
    points = [
        (cell.truth, cell.value if cell.better == "lower" else -cell.value)
        for cell in cells
        if cell.value is not None and cell.better in ("lower", "higher")
    ]
    signs = [
        math.copysign(1, a[0] - b[0]) * _sign(a[1] - b[1])
        for a, b in combinations(points, 2)
        if abs(a[0] - b[0]) > APART
    ]
    return fmean(signs) if signs else None


def _row(cells: Sequence[BenchCell], checked: Sequence[BenchCell], name: str, n: int, kind: str) -> Row | None:
    """Return the row of `cells`; bounds and intervals are those of `checked`."""
    own, with_value = (
        [cell for cell in some if cell.estimator == name and cell.value is not None] for some in (cells, checked)
    )
    if not with_value:
        return None
    is_dd = with_value[0].metric in DD
    bounded = [cell for cell in with_value if cell.bound is not None]
    covered = list(_covered(with_value)) if is_dd else []
    return Row(
        estimator=name,
        n=n,
        kind=kind,
        n_cells=len(own),
        share=_mean(cell.share for cell in own) if is_dd else None,
        ratio_to_plain=_ratio(cells, name) if is_dd else None,
        smallest_ratio_to_paper=_smallest_ratio(cells, name) if is_dd else None,
        tau=_mean(map(tau_with_truth, _groups(own, lambda c: (c.corpus, c.seed)))),
        tau_growing=_mean(
            map(tau_with_truth, _groups((c for c in own if c.grows), lambda c: (c.corpus, c.seed, c.family)))
        ),
        bounds_hold=_mean(float((c.bound or 0.0) <= c.truth_high) for c in bounded),
        n_bounds=len(bounded),
        above_truth=_mean(float(c.low > c.truth_high) for c in with_value if c.low is not None) if is_dd else None,
        n_intervals=sum(cell.low is not None for cell in with_value) if is_dd else 0,
        covers_mean=_mean(map(float, covered)),
        n_covered=len(covered),
        seconds=fmean(cell.seconds for cell in with_value),
        cpu_seconds=fmean(cell.cpu_seconds for cell in with_value),
    )


def _place(cell: BenchCell) -> tuple[str, str]:
    return cell.corpus, cell.world


def _groups(cells: Iterable[BenchCell], key: Callable[[BenchCell], tuple[str | int, ...]]) -> Iterator[list[BenchCell]]:
    for _, group in groupby(sorted(cells, key=key), key=key):
        yield list(group)


def _paired(cells: Sequence[BenchCell], name: str, other: str) -> list[tuple[BenchCell, BenchCell]]:
    """Return the cells of both estimators on the same draws, where both have a share."""
    others = {(*_place(c), c.seed): c for c in cells if c.estimator == other and c.share is not None}
    own = (c for c in cells if c.estimator == name and c.share is not None)
    return [(c, others[(*_place(c), c.seed)]) for c in own if (*_place(c), c.seed) in others]


def _ratio(cells: Sequence[BenchCell], name: str) -> float | None:
    pairs = _paired(cells, name, YARDSTICK)
    below = _mean(other.share for _, other in pairs)
    above = _mean(cell.share for cell, _ in pairs)
    return None if above is None or below is None or below <= 0 else above / below


def _smallest_ratio(cells: Sequence[BenchCell], name: str) -> float | None:
    pairs = _paired(cells, name, PAPER)
    ratios = []
    for place in {_place(cell) for cell, _ in pairs}:
        here = [pair for pair in pairs if _place(pair[0]) == place]
        below = fmean(other.value or 0.0 for _, other in here)
        if below > 0:
            ratios.append(fmean(cell.value or 0.0 for cell, _ in here) / below)
    return min(ratios, default=None)


def _covered(cells: Iterable[BenchCell]) -> Iterator[bool]:
    """Yield whether each interval contains the mean of its world over seeds."""
    for group in _groups((c for c in cells if c.low is not None and c.high is not None), _place):
        if len(group) >= _SEEDS_FOR_A_MEAN:
            middle = fmean(cell.value or 0.0 for cell in group)
            yield from ((cell.low or 0.0) <= middle <= (cell.high or 0.0) for cell in group)


def _z(cell: BenchCell) -> float | None:
    if cell.value is None or cell.low is None or cell.high is None or cell.level is None:
        return None
    if cell.metric not in DD or cell.high <= cell.low:  # other metrics are not 0 for equal generators
        return None
    error = (cell.high - cell.low) / 2 / NormalDist().inv_cdf((1 + cell.level) / 2)
    return cell.value / error


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
