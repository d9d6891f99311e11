"""REINFORCE on bandits: its mean over all draws is the gradient of the expected reward, with and without a baseline."""

from itertools import product

import pytest
import torch

from textassay_lab.adversarial.policy_gradient import leave_one_out, policy_loss

REWARDS = torch.tensor([1.0, 3.5], dtype=torch.float64)


def _exact(logits: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the expected reward of a bandit."""
    (gradient,) = torch.autograd.grad((torch.softmax(logits, 0) * REWARDS).sum(), logits)
    return gradient


def _estimate(logits: torch.Tensor, actions: torch.Tensor, *, baseline: bool) -> torch.Tensor:
    """Return what a batch of actions, (B,), says of it."""
    taken = torch.ones(len(actions), 1, dtype=torch.bool)
    returns = REWARDS[actions][:, None]
    if baseline:
        returns = returns - leave_one_out(returns, taken)
    log_probs = torch.log_softmax(logits, 0)[actions][:, None]
    (gradient,) = torch.autograd.grad(policy_loss(log_probs, returns, taken), logits)
    return -gradient


@pytest.mark.feature("JJ-13")
@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_the_mean_over_all_batches_is_the_gradient(batch: int, baseline: bool) -> None:
    logits = torch.tensor([0.3, -0.4], dtype=torch.float64, requires_grad=True)
    policy = torch.softmax(logits, 0).detach()
    mean = torch.zeros(2, dtype=torch.float64)
    for chosen in product(range(2), repeat=batch):
        actions = torch.tensor(chosen)
        mean += policy[actions].prod() * _estimate(logits, actions, baseline=baseline)
    assert torch.allclose(mean, _exact(logits), atol=1e-12)


@pytest.mark.feature("JJ-13")
def test_draws_average_to_the_gradient_and_a_baseline_narrows_their_spread() -> None:
    logits = torch.tensor([0.3, -0.4], dtype=torch.float64, requires_grad=True)
    rng = torch.Generator().manual_seed(0)
    spreads = []
    for baseline in (False, True):
        actions = torch.multinomial(torch.softmax(logits, 0).detach(), 2000 * 8, replacement=True, generator=rng)
        found = torch.stack([_estimate(logits, part, baseline=baseline) for part in actions.reshape(-1, 8)])
        error = found.std(0) / len(found) ** 0.5
        assert ((found.mean(0) - _exact(logits)).abs() < 4 * error).all()
        spreads.append(float(found.std(0).mean()))
    assert spreads[1] < spreads[0] / 1.5


def test_actions_that_were_not_taken_count_nowhere() -> None:
    log_probs = torch.tensor([[-1.0, -2.0], [-3.0, float("nan")]], requires_grad=True)
    returns = torch.tensor([[1.0, 2.0], [3.0, float("nan")]])
    taken = torch.tensor([[True, True], [True, False]])
    loss = policy_loss(log_probs, returns, taken)
    assert float(loss.detach()) == pytest.approx((1 + 4 + 9) / 2)
    (gradient,) = torch.autograd.grad(loss, log_probs)
    assert gradient.tolist() == [[-0.5, -1.0], [-1.5, 0.0]]
    assert leave_one_out(returns, taken).tolist() == [[3.0, 0.0], [1.0, 2.0]]
