"""Gumbel-softmax: draws from a categorical distribution that gradients pass through.

The argmax of log-weights plus Gumbel noise is an exact draw; a softmax in place of the argmax makes it differentiable,
and close to one-hot where the temperature is low.

Sources: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax"; Maddison, Mnih, Teh, "The Concrete
Distribution: A Continuous Relaxation of Discrete Random Variables", both ICLR 2017; (19) to (22) of the study.
"""

from typing import TYPE_CHECKING

from textassay.errors import OptionError

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def gumbel_noise(like: "Tensor", rng: "torch.Generator") -> "Tensor":
    """Return Gumbel noise of the shape, precision and device of `like`: ``-log(-log(U))``, U uniform in (0, 1)."""
    import torch

    uniform = torch.rand(like.shape, generator=rng, dtype=torch.float64, device=like.device)
    tiny = torch.finfo(torch.float64).tiny  # float32 would cut the upper tail at 16.6
    return (-(-uniform.clamp(min=tiny).log()).log()).to(like.dtype)


def gumbel_max(log_weights: "Tensor", noise: "Tensor") -> "Tensor":
    """Return draws from the distributions in proportion to exp(`log_weights`), (..., V), as ids, shape (...)."""
    return (log_weights + noise).argmax(-1)


def gumbel_softmax(
    log_weights: "Tensor", noise: "Tensor", temperature: float, *, straight_through: bool = False
) -> "Tensor":
    """Return relaxed draws, rows of positive numbers that sum to 1, shape (..., V).

    `log_weights`: up to a constant a row, shape (..., V); `noise`: `gumbel_noise` of the same shape.
    """
    import torch

    if not 0 < temperature < float("inf"):
        raise OptionError(f"temperature must be above 0, got {temperature}")
    relaxed = torch.softmax((log_weights + noise) / temperature, -1)
    if not straight_through:
        return relaxed
    chosen = torch.nn.functional.one_hot(relaxed.argmax(-1), relaxed.shape[-1]).to(relaxed.dtype)
    return chosen + (relaxed - relaxed.detach())


def annealed(first: float, last: float, passed: float) -> float:
    """Return the temperature when the share `passed`, in [0, 1], of training is over.

    It goes from `first` to `last`, both above 0, by the same factor in equal times.
    """
    if not (0 < first < float("inf") and 0 < last < float("inf")):
        raise OptionError(f"temperatures must be above 0, got {first} and {last}")
    if not 0 <= passed <= 1:
        raise OptionError(f"passed must be in [0, 1], got {passed}")
    return float(first * (last / first) ** passed)
