"""Gumbel-softmax: draws from a distribution that pass gradients to it.

The argmax of log-probabilities plus Gumbel noise is an exact draw. In its place gradients see a softmax, close to
one-hot where the temperature is low.

Sources: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax"; Maddison, Mnih, Teh, "The Concrete
Distribution: A Continuous Relaxation of Discrete Random Variables", both ICLR 2017; (19) to (22) of Garbacea et al.,
"Judge the Judges", EMNLP 2019.
"""

import torch
from torch import Tensor

from textassay.errors import OptionError


def gumbel_noise(like: Tensor, rng: torch.Generator) -> Tensor:
    """Return Gumbel noise of the shape, precision and device of `like`: ``-log(-log(U))``, U uniform in (0, 1)."""
    uniform = torch.rand(like.shape, generator=rng, dtype=torch.float64, device=like.device)
    tiny = torch.finfo(torch.float64).tiny  # float32 would cut the upper tail at 16.6
    return (-(-uniform.clamp(min=tiny).log()).log()).to(like.dtype)


def gumbel_max(log_weights: Tensor, noise: Tensor) -> Tensor:
    """Return draws from the distributions in proportion to exp(`log_weights`), (..., V), as ids, shape (...)."""
    return (log_weights + noise).argmax(-1)


def gumbel_softmax(log_weights: Tensor, noise: Tensor, temperature: float, *, straight_through: bool = False) -> Tensor:
    """Return relaxed draws, rows of positive numbers that sum to 1, shape (..., V).

    `log_weights`: up to a constant a row, shape (..., V); `noise`: `gumbel_noise` of the same shape.
    """
    if not 0 < temperature < float("inf"):
        raise OptionError(f"temperature must be above 0, got {temperature}")
    relaxed = torch.softmax((log_weights + noise) / temperature, -1)
    if not straight_through:
        return relaxed
    chosen = torch.nn.functional.one_hot(relaxed.argmax(-1), relaxed.shape[-1]).to(relaxed.dtype)
    return chosen + (relaxed - relaxed.detach())
