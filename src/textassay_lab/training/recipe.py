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
from typing import TYPE_CHECKING, Literal

from textassay.errors import OptionError

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Precision = Literal["auto", "float32", "bfloat16"]

_SCHEDULES = ("constant", "linear", "cosine", "inverse-sqrt")


@dataclass(frozen=True)
class Recipe:
    """Settings of training by gradients."""

    max_epochs: int  # At least 1
    patience: int | None = None  # Stop after so many epochs in a row without a better score; None: never
    learning_rate: float = 1e-3  # The highest, above 0
    # ``linear`` and ``cosine`` decay to 0 over `max_epochs`; ``inverse-sqrt`` decays as one over the square root of the
    # step after `warmup_steps`
    schedule: Literal["constant", "linear", "cosine", "inverse-sqrt"] = "constant"
    # Decay, in [0, 1), of the exponential moving average of the weights, which is scored and kept instead of them; 0:
    # none. After t steps the decay is at most t / (t + 10).
    averaging: float = 0.0
    max_norm: float | None = None  # Gradient clipping by norm, above 0; None: none
    # ``bfloat16``: mixed precision by PyTorch's autocast, with float32 weights; ``auto``: bfloat16 if native
    precision: Precision = "float32"
    warmup_steps: int = 0  # Linear warm-up of the learning rate
    rule: Literal["adam", "rmsprop"] = "adam"
    max_value: float | None = None  # Clamping of each number of a gradient to so much either side of 0; None: none

    def __post_init__(self) -> None:
        allowed = {
            "max_epochs": ("at least 1", self.max_epochs >= 1),
            "patience": ("at least 1, or none", self.patience is None or self.patience >= 1),
            "learning_rate": ("above 0", 0 < self.learning_rate < math.inf),
            "schedule": ("constant, linear, cosine or inverse-sqrt", self.schedule in _SCHEDULES),
            "averaging": ("at least 0 and below 1", 0 <= self.averaging < 1),
            "max_norm": ("above 0, or none", self.max_norm is None or self.max_norm > 0),
            "precision": ("auto, float32 or bfloat16", self.precision in ("auto", "float32", "bfloat16")),
            "warmup_steps": ("at least 0", self.warmup_steps >= 0),
            "rule": ("adam or rmsprop", self.rule in ("adam", "rmsprop")),
            "max_value": ("above 0, or none", self.max_value is None or self.max_value > 0),
        }
        for name, (what, holds) in allowed.items():
            if not holds:
                raise OptionError(f"{name} must be {what}, got {getattr(self, name)}")

    def rate(self, passed: float, step: int) -> float:
        """Return the learning rate of step `step`, from 1, after the fraction `passed`, in [0, 1), of all epochs."""
        falling = {
            "constant": 1.0,
            "linear": 1 - passed,
            "cosine": (1 + math.cos(math.pi * passed)) / 2,
            "inverse-sqrt": min(1.0, math.sqrt(max(self.warmup_steps, 1) / step)),
        }
        warming = min(1.0, step / self.warmup_steps) if self.warmup_steps else 1.0
        return self.learning_rate * falling[self.schedule] * warming

    def optimizer(self, weights: "Iterable[Tensor]", *, fused: bool) -> "torch.optim.Optimizer":
        """Return the optimizer of `rule` for these weights."""
        import torch

        if self.rule == "rmsprop":
            return torch.optim.RMSprop(list(weights), lr=self.learning_rate)
        return torch.optim.Adam(list(weights), lr=self.learning_rate, fused=fused)


@dataclass(frozen=True)
class DecayRecipe(Recipe):
    """A recipe for AdamW."""

    beta2: float = 0.999  # Decay of the second moment, in [0, 1)
    weight_decay: float = 0.0  # Decoupled, at least 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule != "adam":
            raise OptionError(f"rule must be adam where weights decay, got {self.rule}")
        if not 0 <= self.beta2 < 1:
            raise OptionError(f"beta2 must be at least 0 and below 1, got {self.beta2}")
        if not 0 <= self.weight_decay < math.inf:
            raise OptionError(f"weight_decay must be at least 0, got {self.weight_decay}")

    def optimizer(self, weights: "Iterable[Tensor]", *, fused: bool) -> "torch.optim.Optimizer":
        """Return AdamW for these weights."""
        import torch

        betas = (0.9, self.beta2)
        return torch.optim.AdamW(
            list(weights), lr=self.learning_rate, betas=betas, weight_decay=self.weight_decay, fused=fused
        )
