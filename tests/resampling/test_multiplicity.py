"""Holm's adjustment on a hand-worked case."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from textassay.resampling.multiplicity import benjamini_hochberg, bound_of_several, bounds_of_several, holm


def test_holm_by_hand() -> None:
    # Sorted: .01 * 4, .02 * 3, .03 * 2, .4 * 1, each at least the one before it.
    assert holm(np.array([0.03, 0.01, 0.4, 0.02])) == pytest.approx([0.06, 0.04, 0.4, 0.06])


def test_nan_is_no_test() -> None:
    adjusted = holm(np.array([np.nan, 0.01, 0.02]))
    assert np.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.02, 0.02])
    assert np.isnan(holm(np.array([np.nan]))).all()
    assert len(holm(np.array([]))) == 0


def test_adjusted_values_stop_at_one() -> None:
    assert holm(np.array([0.6, 0.9])) == pytest.approx([1.0, 1.0])


def test_one_test_stays_as_it_is() -> None:
    assert holm(np.array([np.nan, 0.03])) == pytest.approx([np.nan, 0.03], nan_ok=True)


def test_both_methods_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 40):
        p_values = rng.random(n) ** 3
        p_values[-1] = p_values[0]
        assert np.array_equal(holm(p_values), multipletests(p_values, method="holm")[1])
        assert benjamini_hochberg(p_values) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])


def test_a_bound_of_several_is_that_of_as_many_or_more() -> None:
    kept = bounds_of_several(lambda alpha: alpha, 0.05)
    assert kept["2"] == 0.025
    assert bound_of_several(kept, 1) == bound_of_several(kept, 2) == 0.025
    assert bound_of_several(kept, 3) == 0.0125
    assert bound_of_several(kept, 101) is None
    assert bound_of_several({}, 2) is None
