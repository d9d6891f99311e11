"""One side of an adversarial training: weights, their optimiser, and both as tensors for a checkpoint.

Source: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from textassay.errors import InputError, OptionError


class Player:
    """Weights, changed in place by Adam."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        *,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        max_norm: float | None = None,
    ) -> None:
        if not weights:
            raise OptionError("there are no weights to train")
        if not 0 < learning_rate < float("inf"):
            raise OptionError(f"learning_rate must be above 0, got {learning_rate}")
        if not all(0 <= beta < 1 for beta in betas):
            raise OptionError(f"betas must be at least 0 and below 1, got {betas}")
        if max_norm is not None and not max_norm > 0:
            raise OptionError(f"max_norm must be above 0, or none, got {max_norm}")
        self.weights = weights
        self.max_norm = max_norm
        self.device = next(iter(weights.values())).device
        fused = self.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(list(weights.values()), lr=learning_rate, betas=betas, fused=fused)

    def descend(self, loss: Tensor) -> float:
        """Take a step down the gradient of `loss`, a scalar, and return its value."""
        gradients = torch.autograd.grad(loss, list(self.weights.values()))
        for weight, gradient in zip(self.weights.values(), gradients, strict=True):
            weight.grad = gradient
        self.step()
        return float(loss.detach())

    def step(self) -> None:
        """Take a step with the gradients of the weights, and clear them."""
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.weights.values(), self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights and Adam's moments, by name; memory is shared with those in training."""
        tensors = {f"weights/{name}": weight.detach() for name, weight in self.weights.items()}
        for name, weight in self.weights.items():
            tensors |= {f"adam {key}/{name}": value for key, value in self.optimizer.state[weight].items()}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore a copy of `tensors`."""
        expected = {f"weights/{name}": weight.shape for name, weight in self.weights.items()}
        shapes = {name: tensor.shape for name, tensor in tensors.items() if name.startswith("weights/")}
        if shapes != expected:
            changed = sorted(name for name in {**shapes, **expected} if shapes.get(name) != expected.get(name))
            raise InputError(f"the weights are those of another network: {changed[0]} differs")
        self.optimizer.state.clear()
        with torch.no_grad():
            for key, tensor in tensors.items():
                part, name = key.split("/", 1)
                if part == "weights":
                    self.weights[name].copy_(tensor)
                else:
                    on = self.device if tensor.ndim or self.optimizer.defaults["fused"] else torch.device("cpu")
                    state = self.optimizer.state[self.weights[name]]
                    state[part.removeprefix("adam ")] = tensor.to(on, copy=True)


def part_of(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Return the tensors named ``PART/...``, without that prefix."""
    return {name.removeprefix(f"{part}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{part}/")}
