"""Attention attribute-to-sequence (Att2Seq): an LSTM that attends to the attributes before each token.

Source: Dong, Huang, Wei, Lapata, Zhou, Xu, "Learning to Generate Product Reviews from Attributes", EACL 2017.
Departs from it: trained with Adam, gradients clipped by norm, where it has RMSProp and clips each value.
"""

from typing import TYPE_CHECKING, ClassVar

from textassay.generator.conditional import ContextModel
from textassay.generator.reader import State, Weights

if TYPE_CHECKING:
    from torch import Tensor


class Att2SeqModel(ContextModel):
    """Att2Seq; see `ContextModel` for the settings."""

    kind: ClassVar[str] = "att2seq"

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of the embeddings of all categories."""
        return (len(self.attributes), self.context_width)

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        width, context = self.width, self.context_width
        shapes = super().shapes(n_types, longest)
        for layer in range(self.layers):
            shapes[f"layer {layer} start"] = (width, len(self.attributes) * context)
            shapes[f"layer {layer} start bias"] = (width,)
        attention = {"attention output": (1, width), "attention attribute": (1, context)}
        return {**shapes, **attention, "mix attribute": (width, context), "mix output": (width, width)}

    def initial_state(self, weights: Weights, categories: "Tensor") -> tuple[State, "Tensor"]:
        """Return the first hidden state of each layer, its cell of zeros, and the embeddings of the categories."""
        import torch

        vectors = self.attribute_vectors(weights, categories)
        state: list[Tensor] = []
        for layer in range(self.layers):
            start, bias = weights[f"layer {layer} start"], weights[f"layer {layer} start bias"]
            output = torch.tanh(torch.nn.functional.linear(vectors.flatten(1), start, bias))
            state += [output, torch.zeros_like(output)]
        return tuple(state), vectors

    def attention(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return the attention weights of the attributes after outputs (B, L, width): (B, L, K), rows sum to 1."""
        import torch

        of_output = torch.nn.functional.linear(vectors, weights["attention output"])  # (B, L, 1)
        of_attribute = torch.nn.functional.linear(context, weights["attention attribute"])  # (B, K, 1)
        return torch.tanh(of_output + of_attribute.transpose(1, 2)).softmax(2)

    def conditioned(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return tanh of the attended context and the LSTM outputs, each through a linear layer, added."""
        import torch

        attended = self.attention(weights, vectors, context).to(context.dtype) @ context  # (B, L, context_width)
        mixed = torch.nn.functional.linear(attended, weights["mix attribute"])
        return torch.tanh(mixed + torch.nn.functional.linear(vectors, weights["mix output"]))
