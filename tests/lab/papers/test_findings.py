"""The interval of a mean over trainings."""

import numpy as np
import pytest

from textassay_lab.papers.findings import mean_interval


@pytest.mark.parametrize(("n", "shared", "own"), [(2, 0.0, 1.0), (3, 2.0, 1.0), (3, 0.5, 0.0), (5, 1.0, 3.0)])
def test_the_interval_of_a_mean_over_trainings_covers_the_truth(n: int, shared: float, own: float) -> None:
    """Values vary by training (deviation 3), by their own texts, and together by the text that all share."""
    rng = np.random.default_rng(0)
    values = 3 * rng.normal(size=(1000, n)) + own * rng.normal(size=(1000, n)) + shared * rng.normal(size=(1000, 1))
    covered = [one.low <= 0 <= one.high for one in (mean_interval(row, shared, own_error=own) for row in values)]
    assert 0.94 <= np.mean(covered) <= 0.995
