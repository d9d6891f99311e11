"""REINFORCE: the gradient of an expected reward, from sampled actions.

For trajectories drawn from a policy, grad J = E[sum_t R_t grad log pi(u_t | before)], where R_t is the return after the
action u_t. A baseline that does not depend on the action leaves the expectation unchanged and reduces the variance.

Source: Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning", Machine
Learning 8, 1992; Kool, van Hoof, Welling, "Buy 4 REINFORCE Samples, Get a Baseline for Free!", 2019 (leave one out).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def policy_loss(log_probs: "Tensor", returns: "Tensor", taken: "Tensor") -> "Tensor":
    """Return minus the mean over trajectories of sum_t R_t log pi(u_t), a scalar; its gradient estimates -grad J.

    `log_probs`: of the actions, in nats, shape (B, T); `returns`: return of each action, less any baseline, shape
    (B, T); `taken`: where there are actions, shape (B, T).
    """
    import torch

    none = log_probs.new_zeros(())
    terms = torch.where(taken, log_probs, none) * torch.where(taken, returns.detach(), none)
    return -terms.sum() / len(log_probs)


def leave_one_out(returns: "Tensor", taken: "Tensor") -> "Tensor":
    """Return for each action the mean return of the others at the same time, shape (B, T); 0 where there is none."""
    import torch

    present = torch.where(taken, returns, returns.new_zeros(()))
    n_others = taken.sum(0) - taken.to(torch.int64)
    return (present.sum(0) - present) / n_others.clamp(min=1) * (n_others > 0)
