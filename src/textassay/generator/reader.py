"""The interface of a network that reads sentences token by token.

It holds no weights itself: training, scoring and drawing pass them, each in its own precision.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textassay.corpus import PAD, SOS
from textassay.generator.cross_entropy import linear_cross_entropy

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]
State = tuple["Tensor", ...]

_ROWS = 64
_COLDEST = 1e-37  # float32 can hardly represent smaller temperatures; draws are greedy long before


class Reader(ABC):
    """A network; subclasses define its weights and how it reads."""

    @abstractmethod
    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights for `n_types` of tokens and sentences up to `longest` tokens."""

    @abstractmethod
    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> dict[str, "Tensor"]:
        """Return initial weights of these shapes."""

    @abstractmethod
    def read(self, weights: Weights, tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the hidden state after each token, shape (B, L, width), of sentences (B, L); dropout from `rng`."""

    @abstractmethod
    def begin(self, weights: Weights, n: int) -> State:
        """Return the state of `n` sentences before their first token; sentences are the first axis of each part."""

    @abstractmethod
    def step(self, weights: Weights, state: State, tokens: "Tensor", position: int) -> tuple["Tensor", State]:
        """Return the hidden state after the token at `position`, from 0, shape (B, width), and the next state."""

    def output(self, weights: Weights) -> tuple["Tensor", "Tensor | None"]:
        """Return matrix, shape (V, width), and bias, (V,), of the output layer."""
        return weights["output"], weights["output bias"]

    def longest(self, weights: Weights) -> int | None:
        """Return how many tokens a sentence may have at most; None where there is no limit."""
        return None

    def loss(self, weights: Weights, vectors: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the mean cross-entropy of the types `targets`, (N,), after hidden states (N, width)."""
        return linear_cross_entropy(vectors, *self.output_layer(weights), targets)

    def logits(self, weights: Weights, vectors: "Tensor", temperature: float = 1.0) -> "Tensor":
        """Return the logits of the next token, (B, V), for hidden states (B, width); -inf for excluded types."""
        import torch

        n = len(vectors)
        padding = rows_to_add(n, next(iter(weights.values())))
        logits = self.plain_logits(weights, torch.nn.functional.pad(vectors, (0, 0, 0, padding)))[:n]
        if temperature == 1:
            return logits
        below = (logits - logits.amax(1, keepdim=True)).float()  # the highest is 0 at every temperature
        return below / max(temperature, _COLDEST)

    def plain_logits(self, weights: Weights, vectors: "Tensor") -> "Tensor":
        """Return the logits at temperature 1, (B, V)."""
        import torch

        return torch.nn.functional.linear(vectors, *self.output_layer(weights))

    def output_layer(self, weights: Weights) -> tuple["Tensor", "Tensor"]:
        """Return matrix and bias of the output layer; the bias is -inf for excluded types."""
        matrix, bias = self.output(weights)
        blocked = matrix.new_zeros(len(matrix))
        blocked[[PAD, SOS]] = -math.inf
        return matrix, blocked if bias is None else bias + blocked


def rows_to_add(n: int, weight: "Tensor") -> int:
    """Return the rows of padding that make `n` a multiple of 64 where `weight` is bfloat16 on a CPU; else 0.

    There, PyTorch caches megabytes of code for each shape of a product.
    """
    import torch

    return -n % _ROWS if weight.dtype == torch.bfloat16 and weight.device.type == "cpu" else 0
