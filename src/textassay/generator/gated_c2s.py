"""Gated Contexts to Sequences (gC2S): C2S with a gated skip connection from the context to each output.

Source: Tang, Yang, Carton, Zhang, Mei, "Context-aware Natural Language Generation with Recurrent Neural
Networks", 2016.
Departs from it: the sources say that the next token depends on h_t and, through a gate, on h_C; here it is
h_t + m_t * (V h_C) with the gate m_t = sigmoid(W [h_t; h_C] + b).
"""

from typing import TYPE_CHECKING, ClassVar

from textassay.generator.c2s import C2sModel
from textassay.generator.reader import Weights

if TYPE_CHECKING:
    from torch import Tensor


class GatedC2sModel(C2sModel):
    """gC2S; see `ContextModel` for the settings. With the gate closed it is `C2sModel`."""

    kind: ClassVar[str] = "gc2s"

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        gate = {"gate": (self.width, 2 * self.width), "gate bias": (self.width,), "skip": (self.width, self.width)}
        return {**super().shapes(n_types, longest), **gate}

    def gate(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return the gate after outputs (B, L, width) of the LSTM: in (0, 1), of their shape."""
        import torch

        both = torch.cat((vectors, context[:, None].expand_as(vectors).to(vectors.dtype)), 2)
        return torch.sigmoid(torch.nn.functional.linear(both, weights["gate"], weights["gate bias"]))

    def conditioned(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return the outputs of the LSTM plus the gated context."""
        import torch

        return (
            vectors
            + self.gate(weights, vectors, context) * torch.nn.functional.linear(context, weights["skip"])[:, None]
        )
