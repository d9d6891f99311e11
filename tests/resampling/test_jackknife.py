"""The jackknife against closed forms, and the coverage of its intervals on simulated data."""

import math

import numpy as np
import pytest
from scipy import stats

from textassay.errors import OptionError
from textassay.resampling.jackknife import (
    assign_groups,
    cluster_terms,
    counts_by_group,
    jackknife_terms,
    terms_interval,
)


def _variance(terms: np.ndarray) -> float:
    return float(np.var(terms, ddof=1) / len(terms))


def test_groups_are_even_and_complete() -> None:
    groups = assign_groups(1037, np.random.default_rng(0))
    sizes = np.bincount(groups)
    assert len(sizes) == 50
    assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(groups, np.sort(groups))
    assert sorted(assign_groups(7, np.random.default_rng(0))) == list(range(7))
    assert assign_groups(1, np.random.default_rng(0)).tolist() == [0]


def test_groups_keep_units_whole() -> None:
    rng = np.random.default_rng(1)
    units = rng.integers(0, 300, size=5000)
    groups = assign_groups(5000, np.random.default_rng(0), units=units)
    assert all(len(np.unique(groups[units == unit])) == 1 for unit in np.unique(units))
    sizes = np.bincount(groups)
    assert len(sizes) == 50
    assert sizes.min() > 0
    few = assign_groups(6, np.random.default_rng(0), units=np.array([9, 9, 9, 4, 4, 7]))
    assert sorted(np.bincount(few)) == [1, 2, 3]
    lopsided = assign_groups(1000, np.random.default_rng(0), units=np.maximum(np.arange(1000) - 900, 0))
    assert (np.bincount(lopsided) > 0).all()


def test_groups_depend_on_the_stream_alone() -> None:
    first = assign_groups(200, np.random.default_rng(3))
    assert np.array_equal(first, assign_groups(200, np.random.default_rng(3)))
    assert not np.array_equal(first, assign_groups(200, np.random.default_rng(4)))


def test_terms_of_a_mean_by_jackknife_of_single_items_are_the_items() -> None:
    values = np.array([1.0, 4.0, 2.0, 9.0])
    replicates = (values.sum() - values) / 3
    terms = jackknife_terms(float(values.mean()), replicates, np.ones(4, dtype=np.int64))
    assert terms is not None
    np.testing.assert_allclose(terms, values)


def test_unequal_groups_give_the_variance_of_the_source() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=60)
    groups = np.repeat([0, 1, 2, 3], [5, 25, 10, 20])
    sizes = np.bincount(groups)
    replicates = np.array([values[groups != group].mean() for group in range(4)])
    h = 60 / sizes
    pseudo = h * values.mean() - (h - 1) * replicates
    middle = 4 * values.mean() - ((1 - sizes / 60) * replicates).sum()
    expected = float(((pseudo - middle) ** 2 / (h - 1)).mean())
    terms = jackknife_terms(float(values.mean()), replicates, sizes)
    assert terms is not None
    assert _variance(terms) == pytest.approx(expected, rel=1e-12)
    assert terms.mean() == pytest.approx(values.mean(), rel=1e-12)


def test_cluster_terms_are_the_items_or_the_sums_of_units() -> None:
    values = np.array([1.0, 2.0, 6.0, 3.0])
    assert cluster_terms(values) is values
    terms = cluster_terms(values, np.array([5, 5, 2, 2]))
    assert terms is not None
    # one unit deviates by (6 - 3) + (3 - 3), the other by (1 - 3) + (2 - 3); two units, four items
    np.testing.assert_allclose(terms, np.array([3 + 3 / 2, 3 - 3 / 2]))
    assert cluster_terms(values, np.zeros(4, dtype=np.int64)) is None
    assert cluster_terms(values[:1]) is None


def test_cluster_terms_see_that_items_of_a_unit_are_alike() -> None:
    rng = np.random.default_rng(0)
    levels = rng.normal(size=400)
    values = np.repeat(levels, 5)
    terms = cluster_terms(values, np.repeat(np.arange(400), 5))
    assert terms is not None
    assert _variance(terms) == pytest.approx(np.var(levels, ddof=1) / 400)
    assert _variance(values) < 0.25 * _variance(terms)


def test_interval_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 5.0])
    interval = terms_interval(3.0, [values], level=0.95, method="t")
    assert interval is not None
    half = 3.182446305284263 * math.sqrt(10 / 3 / 4)
    assert interval.low == pytest.approx(3 - half)
    assert interval.high == pytest.approx(3 + half)
    assert (interval.level, interval.method) == (0.95, "t")
    cut = terms_interval(3.0, [values], level=0.95, method="t", low=2.5, high=3.5)
    assert cut is not None
    assert (cut.low, cut.high) == (2.5, 3.5)


def test_interval_of_two_samples_is_welchs() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=12), 3 * rng.normal(size=30)
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
    interval = terms_interval(float(first.mean() - second.mean()), [first, -second], level=0.9, method="t")
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_no_interval_without_terms() -> None:
    assert terms_interval(math.nan, [np.arange(3.0)], level=0.95, method="t") is None
    assert terms_interval(1.0, [np.arange(3.0), None], level=0.95, method="t") is None
    assert terms_interval(0.0, [np.full(3, math.nan), np.zeros(2)], level=0.95, method="t") is None
    assert jackknife_terms(1.0, np.array([1.0]), np.array([3])) is None
    assert jackknife_terms(1.0, np.array([1.0, math.nan]), np.array([3, 3])) is None
    constant = terms_interval(1.0, [np.ones(5)], level=0.95, method="t")
    assert constant is not None
    assert (constant.low, constant.high) == (1.0, 1.0)


def test_misuse_is_told() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match="n_items must be at least 1, got 0"):
        assign_groups(0, rng)


@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_of_a_mean_cover(skewed: bool) -> None:
    rng = np.random.default_rng(7)
    n_runs, n_items = 1500, 400
    covered = 0
    for run in range(n_runs):
        values = rng.exponential(size=n_items) if skewed else rng.normal(loc=1.0, size=n_items)
        groups = assign_groups(n_items, np.random.default_rng(run))
        sizes = np.bincount(groups)
        replicates = (values.sum() - np.bincount(groups, weights=values)) / (n_items - sizes)
        terms = jackknife_terms(float(values.mean()), replicates, sizes)
        interval = terms_interval(float(values.mean()), [terms], level=0.95, method="t")
        assert interval is not None
        covered += interval.low <= 1.0 <= interval.high
    assert 0.93 <= covered / n_runs <= 0.97


def test_counts_of_each_group_are_those_of_its_texts() -> None:
    kinds = np.array([0, 1, 0, 2, 2, 1, 0], dtype=np.int32)
    offsets, groups = np.array([0, 2, 3, 3, 6, 7]), np.array([0, 1, 2, 1, 0])
    counts = [of_group.tolist() for of_group in counts_by_group(kinds, offsets, groups, 4)]
    assert counts == [[2, 1, 0, 0], [1, 1, 2, 0], [0, 0, 0, 0]]
