"""The critic of a Wasserstein GAN with gradient penalty: a GRU that scores sequences of distributions.

Sources: Gulrajani et al., "Improved Training of Wasserstein GANs", NeurIPS 2017 (the penalty); Press et al., "Language
Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017 (the critic).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.generator import gru_inputs, gru_shapes, gru_step, new_gru_weights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]
Score = Callable[["Tensor"], "Tensor"]


@dataclass(frozen=True)
class WganCritic:
    """The critic's settings; methods take the weights."""

    width: int  # embedding and hidden dimension, at least 1

    def shapes(self, n_types: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        output: dict[str, tuple[int, ...]] = {"output": (self.width,), "output bias": ()}
        return {"words": (n_types, self.width), **gru_shapes(self.width, self.width), **output}

    def new_weights(self, n_types: int, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        return new_gru_weights(self.shapes(n_types), rng)

    def score(self, weights: Weights, rows: "Tensor") -> "Tensor":
        """Return the critic's score of each row, shape (R,); higher is more real.

        `rows`: distributions or one-hot vectors, left-padded with zeros, shape (R, L, V).
        """
        inputs = gru_inputs(weights, rows @ weights["words"])
        state = inputs.new_zeros(len(rows), self.width)
        for part in inputs.unbind(1):
            state = gru_step(weights, part, state)
        return state @ weights["output"] + weights["output bias"]


def gradient_norms(score: Score, rows: "Tensor") -> "Tensor":
    """Return the norm of the gradient of `score` at each row (R, ...), shape (R,), to differentiate again.

    `score` gives one number a row, which depends on no other row.
    """
    import torch

    at = rows.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(score(at).sum(), at, create_graph=True)
    squares = gradient.flatten(1).square().sum(1)
    return (squares + torch.finfo(squares.dtype).tiny).sqrt()  # at 0 the root has no derivative


def gradient_penalty(score: Score, real: "Tensor", generated: "Tensor", shares: "Tensor") -> "Tensor":
    """Return the mean of (norm of the gradient - 1)^2 between real and generated rows, a scalar.

    `real`, `generated`: shape (R, L, V); `shares`: how far from real to generated each row is taken, in [0, 1], shape
    (R,).
    """
    between = real + shares[:, None, None] * (generated - real)
    return (gradient_norms(score, between) - 1).square().mean()


def critic_loss(
    score: Score, real: "Tensor", generated: "Tensor", shares: "Tensor", *, penalty: float
) -> "tuple[Tensor, Tensor, Tensor]":
    """Return the critic's loss, the distance between the sides, and the gradient penalty.

    The loss is E[score(generated)] - E[score(real)] + `penalty` * gradient penalty; the distance is E[score(real)] -
    E[score(generated)]. The parameters are those of `gradient_penalty`.
    """
    import torch

    scores = score(torch.cat((real, generated)))
    distance = scores[: len(real)].mean() - scores[len(real) :].mean()
    gradient_term = gradient_penalty(score, real, generated, shares)
    return penalty * gradient_term - distance, distance, gradient_term
