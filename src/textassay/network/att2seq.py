"""Attention attribute-to-sequence: before each token, an LSTM looks at its attributes, most at those that matter then.

Source: Dong, Huang, Wei, Lapata, Zhou, Xu, "Learning to Generate Product Reviews from Attributes", EACL 2017.
Departs from it: trained with Adam, gradients scaled down by their length, where it has RMSProp and clamps each number.
"""

from typing import TYPE_CHECKING, ClassVar

from textassay.network.conditional import ContextModel
from textassay.network.reader import State, Weights

if TYPE_CHECKING:
    from torch import Tensor


class Att2SeqModel(ContextModel):
    """Att2Seq; see `ContextModel` for the settings."""

    kind: ClassVar[str] = "att2seq"

    @property
    def told_shape(self) -> tuple[int, ...]:
        """That of the vectors of all categories."""
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

    def started(self, weights: Weights, categories: "Tensor") -> tuple[State, "Tensor"]:
        """Return the first output of each layer, its memory of zeros, and the vectors of the categories."""
        import torch

        found = self.attribute_vectors(weights, categories)
        state: list[Tensor] = []
        for layer in range(self.layers):
            start, bias = weights[f"layer {layer} start"], weights[f"layer {layer} start bias"]
            output = torch.tanh(torch.nn.functional.linear(found.flatten(1), start, bias))
            state += [output, torch.zeros_like(output)]
        return tuple(state), found

    def attention(self, weights: Weights, vectors: "Tensor", told: "Tensor") -> "Tensor":
        """Return how much each attribute is looked at after outputs (B, L, width): (B, L, K), rows sum to 1."""
        import torch

        of_output = torch.nn.functional.linear(vectors, weights["attention output"])  # (B, L, 1)
        of_attribute = torch.nn.functional.linear(told, weights["attention attribute"])  # (B, K, 1)
        return torch.tanh(of_output + of_attribute.transpose(1, 2)).softmax(2)

    def answered(self, weights: Weights, vectors: "Tensor", told: "Tensor") -> "Tensor":
        """Return tanh of what is looked at and of the vectors, mixed."""
        import torch

        seen = self.attention(weights, vectors, told).to(told.dtype) @ told  # (B, L, context_width)
        mixed = torch.nn.functional.linear(seen, weights["mix attribute"])
        return torch.tanh(mixed + torch.nn.functional.linear(vectors, weights["mix output"]))
