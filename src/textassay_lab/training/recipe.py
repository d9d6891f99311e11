"""Training recipes: epochs, learning rate, precision.

Sources: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; Loshchilov, Hutter, "SGDR: Stochastic
Gradient Descent with Warm Restarts", ICLR 2017 (the cosine, without restarts); Polyak, Juditsky, "Acceleration of
Stochastic Approximation by Averaging", 1992 (`Recipe.averaging`, with exponential weights); Vaswani et al., "Attention
Is All You Need", NeurIPS 2017 (the inverse square root); Loshchilov, Hutter, "Decoupled Weight Decay Regularization",
ICLR 2019 (`DecayRecipe`); Tieleman, Hinton, Coursera lecture 6.5, 2012 (RMSProp).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from textassay.fields import Above, Between, Option, Share, check_fields

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Precision = Literal["auto", "float32", "bfloat16"]
Schedule = Literal["constant", "linear", "cosine", "inverse-sqrt"]


@dataclass(frozen=True)
class Recipe:
    max_epochs: Annotated[int, Option("Most epochs.", names=("--epochs",)), Between(1)]
    patience: Annotated[int | None, Option("Stop after N epochs in a row without improvement."), Between(1)] = None
    learning_rate: Annotated[float, Option("Peak learning rate."), Above(0)] = 1e-3
    # ``linear`` and ``cosine`` decay to 0 over `max_epochs`; ``inverse-sqrt`` decays as one over the square root of the
    # step after `warmup_steps`
    schedule: Annotated[Schedule, Option("Learning rate: constant, linear, cosine or inverse-sqrt.")] = "constant"
    warmup_steps: Annotated[
        int, Option("Steps over which the learning rate rises; at most a fifth of all."), Between(0)
    ] = 0
    max_norm: Annotated[float | None, Option("Clip gradients to this norm."), Above(0)] = None
    # After t steps the decay is at most t / (t + 10)
    averaging: Annotated[
        float, Option("Decay of the running mean of the weights that is kept; 0: the weights themselves."), Share()
    ] = 0.0
    # ``bfloat16``: mixed precision by PyTorch's autocast, with float32 weights; ``auto``: bfloat16 if native
    precision: Annotated[Precision, Option("auto, float32 or bfloat16.")] = "float32"
    optimizer: Annotated[Literal["adam", "rmsprop"], Option("adam or rmsprop.")] = "adam"
    max_value: Annotated[float | None, Option("Clamp each number of a gradient to [-X, X]."), Above(0)] = None

    def __post_init__(self) -> None:
        check_fields(self)

    def rate(self, passed: float, step: int, n_steps: float = math.inf) -> float:
        """Return the learning rate of step `step`, from 1, after the fraction `passed`, in [0, 1), of all epochs.

        `n_steps`: how many there will be. On little text the rate would else rise until the end, and little be learnt.
        """
        warmup = min(self.warmup_steps, n_steps / 5)
        falling = {
            "constant": 1.0,
            "linear": 1 - passed,
            "cosine": (1 + math.cos(math.pi * passed)) / 2,
            "inverse-sqrt": min(1.0, math.sqrt(max(warmup, 1) / step)),
        }
        warming = min(1.0, step / warmup) if warmup else 1.0
        return self.learning_rate * falling[self.schedule] * warming

    def make_optimizer(self, weights: "Iterable[Tensor]", *, fused: bool) -> "torch.optim.Optimizer":
        import torch

        if self.optimizer == "rmsprop":
            return torch.optim.RMSprop(list(weights), lr=self.learning_rate)
        return torch.optim.Adam(list(weights), lr=self.learning_rate, fused=fused)


@dataclass(frozen=True)
class DecayRecipe(Recipe):
    """A recipe for AdamW."""

    learning_rate: Annotated[float, Option("Peak learning rate of AdamW."), Above(0)] = 1e-3
    optimizer: Literal["adam"] = "adam"  # with weight decay
    beta2: Annotated[float, Option("Decay of AdamW's mean of squared gradients."), Share()] = 0.999
    weight_decay: Annotated[float, Option("Weight decay of AdamW."), Between(0)] = 0.0

    def make_optimizer(self, weights: "Iterable[Tensor]", *, fused: bool) -> "torch.optim.Optimizer":
        import torch

        betas = (0.9, self.beta2)
        return torch.optim.AdamW(
            list(weights), lr=self.learning_rate, betas=betas, weight_decay=self.weight_decay, fused=fused
        )
