"""What a network is that reads sentences token by token: names and shapes of weights, and what it computes from them.

It holds no weights itself: training, scoring and drawing hand them over, each in its own precision.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textassay.corpus import PAD, SOS
from textassay.network.cross_entropy import linear_cross_entropy

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]
State = tuple["Tensor", ...]

_ROWS = 64
_COLDEST = 1e-37  # float32 can hardly tell smaller temperatures from 0; draws are greedy long before


class Reader(ABC):
    """A network that reads; a subclass says how."""

    @abstractmethod
    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights for `n_types` of tokens and sentences up to `longest` tokens."""

    @abstractmethod
    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> dict[str, "Tensor"]:
        """Return weights of these shapes as they begin."""

    @abstractmethod
    def read(self, weights: Weights, tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the vector after each token, shape (B, L, width), of whole sentences (B, L); dropout from `rng`."""

    @abstractmethod
    def begin(self, weights: Weights, n: int) -> State:
        """Return the state of `n` sentences before their first token; sentences are the first axis of each part."""

    @abstractmethod
    def step(self, weights: Weights, state: State, tokens: "Tensor", position: int) -> tuple["Tensor", State]:
        """Return the vector after the token at `position`, from 0, shape (B, width), as `read` does, and the state."""

    def output(self, weights: Weights) -> tuple["Tensor", "Tensor | None"]:
        """Return matrix, shape (V, width), and bias, (V,), of the output layer."""
        return weights["output"], weights["output bias"]

    def longest(self, weights: Weights) -> int | None:
        """Return how many tokens a sentence may have at most; None where there is no limit."""
        return None

    def loss(self, weights: Weights, vectors: "Tensor", wanted: "Tensor") -> "Tensor":
        """Return the mean cross-entropy of the types `wanted`, (N,), after vectors (N, width), to differentiate."""
        return linear_cross_entropy(vectors, *self.output_layer(weights), wanted)

    def logits(self, weights: Weights, vectors: "Tensor", temperature: float = 1.0) -> "Tensor":
        """Return the logits of the next token, (B, V), for vectors (B, width); -inf for what never comes."""
        import torch

        n = len(vectors)
        more = rows_to_add(n, next(iter(weights.values())))
        logits = self.plain_logits(weights, torch.nn.functional.pad(vectors, (0, 0, 0, more)))[:n]
        if temperature == 1:
            return logits
        below = (logits - logits.amax(1, keepdim=True)).float()  # the highest is 0, whatever it is divided by
        return below / max(temperature, _COLDEST)

    def plain_logits(self, weights: Weights, vectors: "Tensor") -> "Tensor":
        """Return the logits at temperature 1, (B, V)."""
        import torch

        return torch.nn.functional.linear(vectors, *self.output_layer(weights))

    def output_layer(self, weights: Weights) -> tuple["Tensor", "Tensor"]:
        """Return matrix and bias of the output layer; the bias is -inf for what never comes."""
        matrix, bias = self.output(weights)
        blocked = matrix.new_zeros(len(matrix))
        blocked[[PAD, SOS]] = -math.inf
        return matrix, blocked if bias is None else bias + blocked


def rows_to_add(n: int, weight: "Tensor") -> int:
    """Return how many rows make `n` one of few numbers of rows, where `weight` is bfloat16 on a CPU; else 0.

    There, PyTorch keeps code for each shape of a product that it meets, megabytes.
    """
    import torch

    return -n % _ROWS if weight.dtype == torch.bfloat16 and weight.device.type == "cpu" else 0
