"""Gumbel-softmax: exact draws, near one-hot when cold, gradients that can be used."""

import numpy as np
import pytest
from scipy import stats

from textassay.errors import OptionError
from textassay_lab.adversarial.gumbel_softmax import gumbel_max, gumbel_noise, gumbel_softmax

torch = pytest.importorskip("torch")


@pytest.mark.feature("JJ-14")
def test_the_largest_is_drawn_as_often_as_its_weight_says() -> None:
    weights = torch.tensor([8.0, 4.0, 2.0, 1.0, 0.5, 0.0])  # any scale
    log_weights = weights.log().expand(50_000, -1)
    draws = gumbel_max(log_weights, gumbel_noise(log_weights, torch.Generator().manual_seed(1)))
    counts = np.bincount(draws.numpy(), minlength=6)
    assert counts[5] == 0
    expected = 50_000 * (weights[:5] / weights.sum()).double().numpy()
    assert stats.chisquare(counts[:5], expected * counts.sum() / expected.sum()).pvalue > 0.001


@pytest.mark.feature("JJ-14")
def test_relaxed_draws_go_from_smooth_to_one_hot() -> None:
    log_weights = torch.randn(2000, 7, generator=torch.Generator().manual_seed(2))
    noise = gumbel_noise(log_weights, torch.Generator().manual_seed(3))
    largest = {}
    for temperature in (100.0, 1.0, 1e-4):
        relaxed = gumbel_softmax(log_weights, noise, temperature)
        torch.testing.assert_close(relaxed.sum(1), torch.ones(2000))
        assert (relaxed.argmax(1) == gumbel_max(log_weights, noise)).all()
        largest[temperature] = float(relaxed.amax(1).mean())
    assert largest[100.0] < 1 / 7 + 0.02
    assert largest[100.0] < largest[1.0] < largest[1e-4]
    assert largest[1e-4] > 0.999


@pytest.mark.feature("JJ-14")
@pytest.mark.parametrize("straight_through", [False, True])
def test_gradients_are_finite_and_follow_the_weights(straight_through: bool) -> None:
    values = torch.tensor([0.0, 0.0, 1.0])
    for temperature in (0.05, 0.5, 5.0):
        log_weights = torch.zeros(4000, 3, requires_grad=True)
        noise = gumbel_noise(log_weights, torch.Generator().manual_seed(4))
        drawn = gumbel_softmax(log_weights, noise, temperature, straight_through=straight_through)
        if straight_through:
            torch.testing.assert_close(drawn.detach().amax(1), torch.ones(4000))
        (gradient,) = torch.autograd.grad((drawn @ values).sum(), log_weights)
        assert gradient.isfinite().all()
        assert gradient[:, 2].mean() > 0 > gradient[:, 0].mean()


def test_the_gradient_of_a_cold_draw_is_that_of_the_expectation() -> None:
    """(16) to (18): E f(draw) = softmax . f, whose derivative is p_k (f_k - E f); the relaxed one is near it."""
    log_weights = torch.tensor([0.5, -0.3, 0.1]).double()
    values = torch.tensor([1.0, 3.0, -2.0]).double()
    probs = log_weights.softmax(0)
    exact = probs * (values - (probs * values).sum())
    many = log_weights.expand(400_000, -1).clone().requires_grad_()
    drawn = gumbel_softmax(many, gumbel_noise(many, torch.Generator().manual_seed(5)), 0.1)
    (gradient,) = torch.autograd.grad((drawn @ values).sum(), many)
    torch.testing.assert_close(gradient.mean(0), exact, atol=0.05, rtol=0)


def test_what_is_out_of_range_is_refused() -> None:
    zeros = torch.zeros(2, 3)
    with pytest.raises(OptionError, match="temperature must be above 0, got 0"):
        gumbel_softmax(zeros, zeros, 0)
