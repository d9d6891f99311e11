"""Contexts to Sequences (C2S): the context sets the first state of an LSTM, and nothing else.

Source: Tang, Yang, Carton, Zhang, Mei, "Context-aware Natural Language Generation with Recurrent Neural
Networks", 2016.
Departs from it: the context vector is the first hidden state and cell of every layer; weights as `LstmModel`.
"""

from typing import TYPE_CHECKING, ClassVar

from textassay.generator.conditional import ContextModel
from textassay.generator.reader import State, Weights

if TYPE_CHECKING:
    from torch import Tensor


class C2sModel(ContextModel):
    """C2S: h_C = tanh of a linear layer of all category embeddings; see `ContextModel` for the settings."""

    kind: ClassVar[str] = "c2s"

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of h_C."""
        return (self.width,)

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        size = len(self.attributes) * self.context_width
        return {**super().shapes(n_types, longest), "context": (self.width, size), "context bias": (self.width,)}

    def initial_state(self, weights: Weights, categories: "Tensor") -> tuple[State, "Tensor"]:
        """Return h_C as hidden state and cell of each layer, and h_C, (B, width)."""
        import torch

        vectors = self.attribute_vectors(weights, categories).flatten(1)
        context = torch.tanh(torch.nn.functional.linear(vectors, weights["context"], weights["context bias"]))
        return (context,) * (2 * self.layers), context

    def conditioned(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return the outputs of the LSTM unchanged."""
        return vectors
