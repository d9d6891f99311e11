"""The critic: its losses, its penalty, and the second derivatives that the penalty needs."""

import math
from typing import TYPE_CHECKING

import pytest

from textassay_lab.adversarial.wgan_training import WganCritic, critic_loss, gradient_norms, gradient_penalty
from textassay_lab.generator.module import begun

if TYPE_CHECKING:
    from torch import Tensor

torch = pytest.importorskip("torch")
functional_call = torch.func.functional_call


def rows(n: int, length: int, n_types: int, seed: int) -> "Tensor":
    drawn = torch.rand(n, length, n_types, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    shares: Tensor = drawn / drawn.sum(2, keepdim=True)
    return shares


def critic(width: int = 5, n_types: int = 4) -> WganCritic:
    rng = torch.Generator().manual_seed(7)
    network = begun(lambda: WganCritic(n_types, width), rng).double()
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=rng))
    return network


@pytest.mark.feature("LM-09")
def test_no_penalty_where_the_gradient_has_length_one() -> None:
    direction = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).double()
    direction /= direction.norm()
    real, generated = rows(6, 3, 4, 1), rows(6, 3, 4, 2)
    shares = torch.linspace(0, 1, 6).double()
    for scale, expected in ((1.0, 0.0), (3.0, 4.0), (0.0, 1.0)):

        def score(at: "Tensor", scale: float = scale) -> "Tensor":
            scored: Tensor = scale * (at * direction).sum((1, 2))
            return scored

        found = gradient_penalty(score, real, generated, shares)
        assert float(found.detach()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.feature("LM-09")
def test_the_gradient_is_taken_between_the_sides_row_by_row() -> None:
    real, generated = torch.zeros(3, 1, 2).double(), torch.ones(3, 1, 2).double()
    shares = torch.tensor([0.0, 0.25, 1.0]).double()
    found = gradient_penalty(lambda at: at.square().sum((1, 2)), real, generated, shares)  # gradient 2 x
    norms = [2 * share * math.sqrt(2) for share in (0.0, 0.25, 1.0)]
    assert float(found.detach()) == pytest.approx(sum((norm - 1) ** 2 for norm in norms) / 3)


@pytest.mark.feature("LM-09")
def test_the_norm_is_that_of_finite_differences() -> None:
    network = critic()
    at = rows(2, 3, 4, 3)
    found = gradient_norms(network, at)
    step = 1e-6
    for row in range(2):
        squares = 0.0
        for place in range(3):
            for kind in range(4):
                nudge = torch.zeros_like(at)
                nudge[row, place, kind] = step
                higher, lower = (network(at + sign * nudge)[row].detach() for sign in (1, -1))
                squares += float((higher - lower) / (2 * step)) ** 2
        assert float(found[row].detach()) == pytest.approx(math.sqrt(squares), rel=1e-6)


@pytest.mark.feature("LM-09")
def test_the_penalty_is_differentiated_through_its_gradient() -> None:
    """Second derivatives: the slope of the penalty along each weight is that of finite differences."""
    network = critic()
    real, generated = rows(4, 3, 4, 4), rows(4, 3, 4, 5)
    shares = torch.tensor([0.1, 0.4, 0.7, 0.9]).double()

    def penalty(of: "dict[str, Tensor]") -> "Tensor":
        return gradient_penalty(lambda at: functional_call(network, of, at), real, generated, shares)

    weights = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    learning = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    found = torch.autograd.grad(penalty(learning), list(learning.values()), allow_unused=True)
    step, rng = 1e-5, torch.Generator().manual_seed(6)
    for (name, weight), gradient in zip(weights.items(), found, strict=True):
        if name == "head.bias":
            assert gradient is None or float(gradient) == 0  # it moves no gradient
            continue
        assert gradient is not None
        along = torch.randn(weight.shape, generator=rng).double()
        higher, lower = (float(penalty({**weights, name: weight + sign * step * along}).detach()) for sign in (1, -1))
        assert float((gradient * along).sum()) == pytest.approx((higher - lower) / (2 * step), rel=1e-5), name


@pytest.mark.feature("LM-09")
def test_the_loss_is_that_of_the_paper() -> None:
    network = critic()
    real, generated = rows(4, 3, 4, 4), rows(4, 3, 4, 5)
    shares = torch.full((4,), 0.5).double()
    loss, distance, penalty = critic_loss(network, real, generated, shares, penalty=10.0)
    apart = network(real).mean() - network(generated).mean()
    torch.testing.assert_close(distance, apart)
    torch.testing.assert_close(loss, 10 * penalty - apart)
    assert float(penalty.detach()) > 0


def test_the_cell_is_that_of_torch() -> None:
    cell = critic(width=5).cell
    given = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(8)).double()
    first = torch.randn(3, 5, generator=torch.Generator().manual_seed(9)).double()
    parameters = [cell.input.weight, cell.state.weight, cell.input.bias, cell.state.bias]
    expected, _ = torch.gru(given, first[None], parameters, True, 1, 0.0, False, False, True)
    found = cell.run(cell.input(given), first)
    torch.testing.assert_close(found, expected)
