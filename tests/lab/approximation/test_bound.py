"""The bound of appendix A: its numbers, and that the bad event is rarer."""

import numpy as np
import pytest

from textassay.errors import OptionError
from textassay_lab.approximation.approximation import hoeffding_bound, samples_needed


@pytest.mark.feature("LM-04")
@pytest.mark.parametrize(
    ("gamma", "epsilon", "n_types", "bound"),
    [(1e-3, 1e-2, 27, 4_297_077.1), (5e-3, 1e-2, 27, 171_883.1), (1e-2, 1e-2, 27, 42_970.8)],
)
def test_numbers_of_the_paper(gamma: float, epsilon: float, n_types: int, bound: float) -> None:
    assert hoeffding_bound(gamma, epsilon, n_types) == pytest.approx(bound, abs=0.06)
    assert samples_needed(gamma, epsilon, n_types) == int(bound) + 1


def test_number_at_the_papers_settings() -> None:
    assert samples_needed(1e-3, 1e-2, 27) == 4_297_078


@pytest.mark.feature("LM-04")
@pytest.mark.parametrize("n_types", [2, 27])
def test_the_bad_event_is_rarer_than_epsilon(n_types: int) -> None:
    gamma, epsilon = 0.05, 0.1
    n = samples_needed(gamma, epsilon, n_types)
    rng = np.random.default_rng(0)
    for probs in (np.full(n_types, 1 / n_types), rng.dirichlet(np.ones(n_types))):
        shares = rng.multinomial(n, probs, size=4000) / n
        bad = (np.abs(shares - probs).max(axis=1) > gamma).mean()
        assert bad < epsilon
    # it is no empty promise: with a twentieth of the draws the even distribution breaks it, if there are two types
    shares = rng.multinomial(n // 20, [0.5, 0.5], size=4000) / (n // 20)
    assert (np.abs(shares - 0.5).max(axis=1) > gamma).mean() > epsilon


@pytest.mark.parametrize("wrong", [{"gamma": 0.0}, {"gamma": 1.0}, {"epsilon": 0.0}, {"epsilon": 1.0}, {"n_types": 0}])
def test_numbers_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        samples_needed(**{"gamma": 0.1, "epsilon": 0.1, "n_types": 2, **wrong})  # type: ignore[arg-type]
