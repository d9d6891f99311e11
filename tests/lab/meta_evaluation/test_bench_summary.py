"""Summaries of a bench, by hand."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from textassay_lab.meta_evaluation.bench import Bench, BenchCell
from textassay_lab.meta_evaluation.bench_summary import ALL, Row, nulls, summarize, tau_with_truth

CELL = BenchCell(
    estimator="plain",
    corpus="text",
    world="a",
    family="f",
    kind="ngram",
    grows=False,
    seed=100,
    n=50,
    n_generated=50,
    n_fit_real=0,
    metric="dd",
    value=0.2,
    low=0.1,
    high=0.3,
    level=0.95,
    bound=0.05,
    better="lower",
    truth=0.4,
    truth_low=0.39,
    truth_high=0.41,
    seconds=1.0,
    cpu_seconds=2.0,
)


def _bench(cells: Iterable[BenchCell]) -> Bench:
    cells = tuple(cells)
    return Bench(
        cells,
        tuple(dict.fromkeys(cell.estimator for cell in cells)),
        tuple(dict.fromkeys(cell.n for cell in cells)),
        tuple(dict.fromkeys(cell.seed for cell in cells)),
        {"text": 100},
    )


def _row(cells: Iterable[BenchCell], estimator: str = "plain", kind: str = ALL, n: int = 50) -> Row:
    return next(r for r in summarize(_bench(cells)) if (r.estimator, r.kind, r.n) == (estimator, kind, n))


def _world(name: str, truth: float, value: float | None, **changes: object) -> BenchCell:
    return replace(CELL, world=name, truth=truth, value=value, truth_low=truth, truth_high=truth, **changes)  # type: ignore[arg-type]


def test_shares_and_ratios() -> None:
    cells = [
        _world("a", 0.4, 0.2),
        _world("b", 0.8, 0.2),
        _world("a", 0.4, 0.3, estimator="max"),
        _world("b", 0.8, 0.6, estimator="max"),
        _world("a", 0.4, 0.1, estimator="cnn-paper"),
        _world("b", 0.8, 0.5, estimator="cnn-paper"),
        _world("c", 1.0, 1.0, kind="disjoint"),
        _world("d", 0.0, 0.1, kind="identical"),
    ]
    assert _row(cells).share == pytest.approx((0.5 + 0.25) / 2)
    assert _row(cells).n_cells == 2
    row = _row(cells, "max")
    assert row.share == pytest.approx(0.75)
    assert row.ratio_to_plain == pytest.approx(0.75 / 0.375)
    assert row.smallest_ratio_to_paper == pytest.approx(0.6 / 0.5)
    assert (row.seconds, row.cpu_seconds) == (1, 2)
    assert {r.kind for r in summarize(_bench(cells))} == {ALL, "ngram"}


def test_a_ratio_takes_only_draws_that_both_measured() -> None:
    cells = [_world("a", 0.5, 0.1), _world("b", 0.5, 0.5), _world("a", 0.5, 0.2, estimator="max")]
    assert _row(cells, "max").ratio_to_plain == pytest.approx(2)
    more = [*cells, _world("c", 0.5, 0.5, estimator="max")]
    assert _row(more, "max").ratio_to_plain == pytest.approx(2)
    cells = [_world("a", 0.5, 0.1, seed=1), _world("a", 0.5, 0.2, estimator="max", seed=2)]
    assert _row(cells, "max").ratio_to_plain is None


def test_tau_takes_only_pairs_that_are_apart() -> None:
    cells = [_world("a", 0.1, 0.01), _world("b", 0.14, 0.9), _world("c", 0.3, 0.05), _world("d", 0.6, 0.04)]
    # a-b is too close. a-c, a-d: right. b-c, b-d, c-d: wrong.
    assert tau_with_truth(cells) == pytest.approx((2 - 3) / 5)
    assert tau_with_truth([replace(cell, better="higher") for cell in cells]) == pytest.approx((3 - 2) / 5)
    assert tau_with_truth([replace(cell, better="closer") for cell in cells]) is None
    assert tau_with_truth([_world("a", 0.1, 0.2), _world("b", 0.5, 0.2)]) == 0
    assert tau_with_truth(cells[:2]) is None
    assert tau_with_truth([_world("a", 0.1, None), cells[3]]) is None


def test_tau_does_not_mix_seeds_and_growing_families_stand_alone() -> None:
    cells = [
        _world("g-1", 0.6, 0.3, grows=True),
        _world("g-2", 0.4, 0.2, grows=True),
        _world("h", 0.9, 0.1),
        _world("h", 0.9, 0.9, seed=101),
        _world("i", 0.2, 0.8, seed=101),
    ]
    row = _row(cells)
    assert row.tau == pytest.approx(((1 - 2) / 3 + 1) / 2)
    assert row.tau_growing == 1


def test_honesty() -> None:
    cells = [
        _world("a", 0.4, 0.2, bound=0.39),
        _world("b", 0.4, 0.2, bound=0.41),
        _world("c", 0.4, 0.5, low=0.45, high=0.6, bound=None),
    ]
    row = _row(cells)
    assert (row.bounds_hold, row.n_bounds) == (0.5, 2)
    assert row.above_truth == pytest.approx(1 / 3)
    seeds = [_world("a", 0.4, value, seed=k) for k, value in enumerate((0.2, 0.2, 0.2, 0.2, 0.9))]
    low = [replace(cell, low=(cell.value or 0) - 0.15, high=(cell.value or 0) + 0.15) for cell in seeds]
    row = _row(low)  # the mean is 0.34
    assert (row.covers_mean, row.n_covered) == (0.8, 5)
    assert _row(low[:4]).covers_mean is None


def test_equal_generators() -> None:
    cells = [
        _world("a", 0, 0.03, kind="identical", low=-0.01, high=0.07),
        _world("b", 0, -0.05, kind="identical", low=-0.09, high=-0.01),
        _world("b", 0, 0.3, kind="identical", low=0.2, high=0.4, estimator="bleu", metric="bleu"),
    ]
    (null,) = nulls(_bench(cells))
    assert null.z == pytest.approx((0.03 / 0.04 * 1.959964, -0.05 / 0.04 * 1.959964))
    assert null.within_two == 0.5


def test_other_metrics_have_ranks_and_times_only() -> None:
    cells = [
        _world(name, truth, truth, metric="fed", bound=None, estimator="fed")
        for name, truth in (("a", 0.2), ("b", 0.5))
    ]
    row = _row(cells, "fed")
    assert (row.share, row.ratio_to_plain, row.above_truth, row.bounds_hold) == (None, None, None, None)
    assert row.tau == 1


def test_controls_have_no_share_but_their_bounds_and_intervals_count() -> None:
    equal = _world("same", 0.0, 0.01, kind="identical", low=0.002, bound=0.003)
    row = _row([_world("a", 0.4, 0.2), equal])
    assert (row.n_cells, row.share) == (1, 0.5)
    assert (row.bounds_hold, row.n_bounds) == (0.5, 2)
    assert (row.above_truth, row.n_intervals) == (0.5, 2)
    alone = _row([equal])
    assert (alone.n_cells, alone.share, alone.n_bounds) == (0, None, 1)
