"""Correlations against SciPy, published ties, and exact p-values by looking at all orders."""

import itertools
import math
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textassay.errors import InputError, OptionError
from textassay_lab.meta_evaluation.correlations import CorrelationKind, correlation

KINDS = get_args(CorrelationKind)
SCIPY: dict[str, Any] = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}
SMALL = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=6)


@pytest.mark.feature("A-10")
def test_published_ties_and_significance() -> None:
    # Fréchet distances of five generators trained on 100 % to 20 % of the text: three of ten pairs are tied.
    distances, order = [0.01, 0.011, 0.011, 0.011, 0.014], [1, 2, 3, 4, 5]
    found = correlation(distances, order)
    assert found.value == pytest.approx(7 / math.sqrt(10 * 7), abs=1e-12)
    assert round(found.value, 4) == 0.8367
    # Twelve items of which 18 of 66 pairs are discordant: (48 - 18) / 66 = .4545.
    twelve = [5, 4, 3, 2, 1, 9, 8, 7, 6, 11, 12, 10]  # 10 + 6 + 2 pairs
    found = correlation(twelve, range(1, 13))
    assert round(found.value, 4) == 0.4545
    assert round(found.p, 3) == 0.045
    assert (found.n, found.kind, found.p_method) == (12, "kendall", "exact")


@pytest.mark.feature("A-10")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [9, 12, 30, 60])
@pytest.mark.parametrize("ties", [False, True])
def test_agrees_with_scipy(kind: CorrelationKind, n: int, ties: bool) -> None:
    rng = np.random.default_rng(n)
    x = rng.integers(0, 6, n) if ties else rng.permutation(n)
    y = x + rng.normal(size=n) * 3 if not ties else x + rng.integers(0, 4, n)
    found, peer = correlation(x, y, kind), SCIPY[kind](x, y)
    assert found.value == pytest.approx(peer.statistic, abs=1e-12)
    assert found.p == pytest.approx(peer.pvalue, rel=1e-9)
    assert correlation(-x, y, kind).value == pytest.approx(-found.value, abs=1e-12)


@given(pairs=SMALL, kind=st.sampled_from(["kendall", "spearman"]))
def test_few_ranks_have_exact_p_values(pairs: list[tuple[int, int]], kind: CorrelationKind) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        return
    found = correlation(x, y, kind)
    assert found.value == pytest.approx(SCIPY[kind](x, y).statistic, abs=1e-12)
    extreme = [abs(SCIPY[kind](x, order).statistic) >= abs(found.value) - 1e-9 for order in itertools.permutations(y)]
    assert found.p == pytest.approx(np.mean(extreme), abs=1e-12)
    assert found.p_method == "exact"


def test_a_perfect_order_of_five_is_no_certainty() -> None:
    kinds: tuple[CorrelationKind, ...] = ("kendall", "spearman")
    for kind in kinds:
        found = correlation([1, 2, 3, 4, 5], [2, 4, 5, 8, 9], kind)
        assert found.value == pytest.approx(1)
        assert found.p == pytest.approx(2 / 120)
    assert correlation([1, 2, 3, 4], [5, 6, 7, 8]).p == pytest.approx(
        stats.kendalltau([1, 2, 3, 4], [5, 6, 7, 8]).pvalue
    )


@pytest.mark.parametrize(
    ("n", "kind", "expected"), [(40, "kendall", "normal"), (40, "spearman", "t"), (5, "pearson", "t")]
)
def test_says_where_the_p_value_comes_from(n: int, kind: CorrelationKind, expected: str) -> None:
    rng = np.random.default_rng(0)
    assert correlation(rng.normal(size=n), rng.normal(size=n), kind).p_method == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("x", "y"), [([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [2, 2, 2]), ([1], [2]), ([], [])])
def test_undefined_is_nan_with_a_warning(kind: CorrelationKind, x: list[float], y: list[float]) -> None:
    with pytest.warns(RuntimeWarning, match=f"the {kind} correlation is undefined"):
        found = correlation(x, y, kind)
    assert math.isnan(found.value)
    assert math.isnan(found.p)
    assert found.n == len(x)


def test_wrong_input() -> None:
    with pytest.raises(InputError, match="one length"):
        correlation([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="finite"):
        correlation([1, math.nan], [1, 2])
    with pytest.raises(OptionError, match="did you mean kendall"):
        correlation([1, 2], [1, 2], "kendal")  # type: ignore[arg-type]
