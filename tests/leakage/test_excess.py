"""The test of an excess against enumeration and Fisher's, its interval, and what makes raw counts mislead."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import fisher_exact, hypergeom

from textassay.leakage.excess import Side, exact_p_value, excess, strata


def side(shares: npt.ArrayLike, lengths: npt.ArrayLike, rng: np.random.Generator) -> Side:
    return Side(np.asarray(lengths), rng.random(len(np.asarray(lengths))) < np.asarray(shares))


def counted(*tables: tuple[int, int, int, int]) -> float:
    return exact_p_value(*np.array(tables).T)


@pytest.mark.parametrize("table", [(30, 9, 40, 3), (30, 0, 40, 3), (5, 5, 5, 0), (1000, 12, 100, 0)])
def test_one_stratum_is_fishers_test(table: tuple[int, int, int, int]) -> None:
    n, count, m, other = table
    expected = fisher_exact(np.array([[count, n - count], [other, m - other]]), alternative="greater").pvalue
    assert counted(table) == pytest.approx(expected)


def test_several_strata_are_the_sum_of_their_distributions() -> None:
    tables = [(12, 6, 10, 4), (15, 2, 20, 1), (9, 0, 30, 0)]
    shares = [(count + other + 0.5) / (n + m + 1) for n, count, m, other in tables]
    weights = [max(1, round(100 * min(shares[:2]) / share)) for share in shares]
    observed = sum(weight * count for weight, (_, count, _, _) in zip(weights, tables, strict=True))
    expected = 0.0
    for counts in product(range(11), range(4), range(1)):
        chance = np.prod([
            hypergeom.pmf(drawn, n + m, count + other, n)
            for drawn, (n, count, m, other) in zip(counts, tables, strict=True)
        ])  # fmt: skip
        expected += float(chance) * (sum(w * k for w, k in zip(weights, counts, strict=True)) >= observed)
    assert weights[:2] == [21, 100]
    assert counted(*tables) == pytest.approx(expected)


def test_nothing_on_either_side_is_no_excess() -> None:
    assert counted((10, 0, 10, 0), (5, 0, 9, 0)) == 1.0
    rng = np.random.default_rng(0)
    nobody = excess(side([], [], rng), side([0.5] * 9, [8] * 9, rng), level=0.95)
    assert (nobody.p_value, nobody.interval, nobody.detectable(0.05)) == (1.0, None, 1.0)


def test_large_counts_are_as_exact() -> None:
    """A million generated texts, of which one in seven has the trait."""
    p_value = counted((1_000_000, 142_000, 100_000, 14_050))
    assert p_value == pytest.approx(hypergeom.sf(141_999, 1_100_000, 156_050, 1_000_000), rel=1e-6)


def test_shorter_texts_are_no_leak() -> None:
    """A generator whose texts are shorter has more copies, and yet no more than real text of these lengths."""
    rng = np.random.default_rng(1)
    lengths = rng.permutation(np.repeat([4, 12], [2000, 2000]))
    real = side(np.where(lengths == 4, 0.4, 0.01), lengths, rng)
    lengths = rng.permutation(np.repeat([4, 12], [3500, 500]))
    found = excess(side(np.where(lengths == 4, 0.4, 0.01), lengths, rng), real, level=0.95)
    assert found.share > real.has.mean() + 0.1
    assert found.p_value > 0.05
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high


def test_strata_have_a_twentieth_of_the_real_texts() -> None:
    assert strata(np.repeat([3, 5, 9], [30, 30, 30])).tolist() == [5, 9]
    assert strata(np.repeat([3, 5, 9], [30, 5, 30])).tolist() == [5]
    assert strata(np.arange(10)).tolist() == []


@pytest.mark.parametrize(("copied", "low", "high"), [(0.0, 0.0, 0.12), (None, 0.6, 0.97)])
def test_how_often_an_excess_is_found(copied: float | None, low: float, high: float) -> None:
    """Where there is none, in one of twenty; where the least detectable share is copied, in four of five."""
    rng = np.random.default_rng(2)
    n_found = 0
    for _ in range(100):
        lengths = rng.integers(5, 10, 1500)
        shares = np.where(lengths < 7, 0.3, 0.02)
        real = side(shares, lengths, rng)
        share = excess(real, real, level=0.95).detectable(0.05) if copied is None else copied
        lengths = rng.integers(5, 10, 1000)
        shares = np.where(lengths < 7, 0.3, 0.02)
        found = excess(side(shares + share * (1 - shares), lengths, rng), real, level=0.95)
        n_found += found.p_value < 0.05
    assert low <= n_found / 100 <= high


def test_texts_needed_would_show_it() -> None:
    rng = np.random.default_rng(3)
    lengths = np.full(300, 9)
    generated = side([0.02] * 20_000, np.full(20_000, 9), rng)
    few = excess(generated, side([0.02] * 300, lengths, rng), level=0.95)
    assert few.detectable(0.01) > 0.01
    n, both = few.texts_needed(0.01, 0.01)
    assert not both
    more = excess(generated, side([0.02] * n, np.full(n, 9), rng), level=0.95)
    assert more.detectable(0.01) == pytest.approx(0.01, rel=0.3)
    assert excess(side([0.02] * 30, [9] * 30, rng), side([0.02] * 300, lengths, rng), level=0.95).texts_needed(
        0.01, 0.01
    )[1]


def test_texts_of_groups_are_no_independent_texts() -> None:
    """Of documents that are copied whole, a few make a large difference by chance."""
    rng = np.random.default_rng(4)
    n_plain = n_grouped = 0
    for _ in range(100):
        plain, grouped = [], []
        for _ in range(2):
            has = np.repeat(rng.random(60) < 0.1, 10)
            plain.append(Side(np.full(600, 9), has))
            grouped.append(Side(np.full(600, 9), has, np.repeat(np.arange(60), 10)))
        n_plain += excess(plain[0], plain[1], level=0.95).p_value < 0.05
        n_grouped += excess(grouped[0], grouped[1], level=0.95).p_value < 0.05
    assert n_plain > 20
    assert n_grouped <= 8
