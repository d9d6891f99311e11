"""The critic of a Wasserstein GAN with gradient penalty: a GRU that scores sequences of distributions.

Sources: Gulrajani et al., "Improved Training of Wasserstein GANs", NeurIPS 2017 (the penalty); Press et al., "Language
Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017 (the critic).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from textassay.generator import WORD_SPREAD, GruCell, Network

Score = Callable[[Tensor], Tensor]


class WganCritic(Network):
    """The critic; `width`: embedding and hidden dimension, at least 1."""

    def __init__(self, n_types: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, width)
        self.cell = GruCell(width, width)
        self.head = nn.ParameterDict({"weight": torch.empty(width), "bias": torch.empty(())})

    def initialise(self, rng: torch.Generator) -> None:
        """Draw the weights."""
        self.words.weight.uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.cell.initialise(rng)
        self.head["weight"].uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.head["bias"].zero_()

    def forward(self, rows: Tensor) -> Tensor:
        """Return the critic's score of each row, shape (R,); higher is more real.

        `rows`: distributions or one-hot vectors, left-padded with zeros, shape (R, L, V).
        """
        inputs = self.cell.input(rows @ self.words.weight)
        state = inputs.new_zeros(len(rows), self.cell.state.in_features)
        for part in inputs.unbind(1):
            state = self.cell(part, state)
        scores: Tensor = state @ self.head["weight"] + self.head["bias"]
        return scores


def gradient_norms(score: Score, rows: Tensor) -> Tensor:
    """Return the norm of the gradient of `score` at each row (R, ...), shape (R,), to differentiate again.

    `score` gives one number a row, which depends on no other row.
    """
    at = rows.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(score(at).sum(), at, create_graph=True)
    squares = gradient.flatten(1).square().sum(1)
    return (squares + torch.finfo(squares.dtype).tiny).sqrt()  # at 0 the root has no derivative


def gradient_penalty(score: Score, real: Tensor, generated: Tensor, shares: Tensor) -> Tensor:
    """Return the mean of (norm of the gradient - 1)^2 between real and generated rows, a scalar.

    `real`, `generated`: shape (R, L, V); `shares`: how far from real to generated each row is taken, in [0, 1], shape
    (R,).
    """
    between = real + shares[:, None, None] * (generated - real)
    return (gradient_norms(score, between) - 1).square().mean()


def critic_loss(
    score: Score, real: Tensor, generated: Tensor, shares: Tensor, *, penalty: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the critic's loss, the distance between the sides, and the gradient penalty.

    The loss is E[score(generated)] - E[score(real)] + `penalty` * gradient penalty; the distance is E[score(real)] -
    E[score(generated)]. The parameters are those of `gradient_penalty`.
    """
    scores = score(torch.cat((real, generated)))
    distance = scores[: len(real)].mean() - scores[len(real) :].mean()
    gradient_term = gradient_penalty(score, real, generated, shares)
    return penalty * gradient_term - distance, distance, gradient_term
