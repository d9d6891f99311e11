"""Attention attribute-to-sequence (Att2Seq): an LSTM that attends to the attributes before each token.

Source: Dong, Huang, Wei, Lapata, Zhou, Xu, "Learning to Generate Product Reviews from Attributes", EACL 2017.
Trained with Adam and gradients clipped by norm, or, as there, by RMSProp with each number clamped (preset ``paper``).
"""

from typing import Any

import torch
from torch import Tensor, nn

from textassay_lab.generator.conditional_model import ContextModel, ContextNetwork
from textassay_lab.generator.module import State


class Att2SeqNetwork(ContextNetwork):
    """The network."""

    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        width, context = self.width, settings["context_width"]
        n_attributes = len(self.attributes)
        self.starts = nn.ModuleList(nn.Linear(n_attributes * context, width) for _ in self.layers)
        self.attention_output = nn.Linear(width, 1, bias=False)
        self.attention_attribute = nn.Linear(context, 1, bias=False)
        self.mix_attribute = nn.Linear(context, width, bias=False)
        self.mix_output = nn.Linear(width, width, bias=False)

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of the embeddings of all categories."""
        return (len(self.attributes), self.attributes[0].embedding_dim)

    def initial_state(self, vectors: Tensor) -> tuple[State, Tensor]:
        """Return the first hidden state of each layer, its cell of zeros, and the embeddings of the categories."""
        state: list[Tensor] = []
        for start in self.starts:
            output = torch.tanh(start(vectors.flatten(1)))
            state += [output, torch.zeros_like(output)]
        return tuple(state), vectors

    def attention(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the attention weights of the attributes after outputs (B, L, width): (B, L, K), rows sum to 1."""
        of_attribute = self.attention_attribute(context).transpose(1, 2)  # (B, 1, K)
        return torch.tanh(self.attention_output(vectors) + of_attribute).softmax(2)

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return tanh of the attended context and the LSTM outputs, each through a linear layer, added."""
        attended = self.attention(vectors, context).to(context.dtype) @ context  # (B, L, context_width)
        return torch.tanh(self.mix_attribute(attended) + self.mix_output(vectors))


class Att2SeqModel(ContextModel):
    """Att2Seq; see `ContextModel` for the settings."""

    kind = "att2seq"

    def new_module(self, n_types: int, longest: int) -> Att2SeqNetwork:
        """Return the network; `longest` does not matter."""
        return Att2SeqNetwork(n_types, **self.network_settings)
