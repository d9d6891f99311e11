"""Contexts to Sequences (C2S), where the context sets the first state of an LSTM, and its gated form (gC2S).

In gC2S a gated skip connection leads from the context to each output.

Source: Tang, Yang, Carton, Zhang, Mei, "Context-aware Natural Language Generation with Recurrent Neural
Networks", 2016.
Departs from it: the context vector is the first hidden state and cell of every layer; weights as `LstmModel`. The
sources say that the next token depends on h_t and, through a gate, on h_C; here it is h_t + m_t * (V h_C) with the gate
m_t = sigmoid(W [h_t; h_C] + b).
"""

from typing import Any

import torch
from torch import Tensor, nn

from textassay_lab.generator.conditional_model import ContextModel, ContextNetwork
from textassay_lab.generator.module import State


class C2sNetwork(ContextNetwork):
    """The network: h_C = tanh of a linear layer of all category embeddings."""

    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        self.context = nn.Linear(len(self.attributes) * settings["context_width"], self.width)

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of h_C."""
        return (self.width,)

    def initial_state(self, vectors: Tensor) -> tuple[State, Tensor]:
        """Return h_C as hidden state and cell of each layer, and h_C, (B, width)."""
        context = torch.tanh(self.context(vectors.flatten(1)))
        return (context,) * (2 * len(self.layers)), context

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the outputs of the LSTM unchanged."""
        return vectors


class GatedC2sNetwork(C2sNetwork):
    """The network of gC2S."""

    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        self.gate_layer = nn.Linear(2 * self.width, self.width)
        self.skip = nn.Linear(self.width, self.width, bias=False)

    def gate(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the gate after outputs (B, L, width) of the LSTM: in (0, 1), of their shape."""
        both = torch.cat((vectors, context[:, None].expand_as(vectors).to(vectors.dtype)), 2)
        return torch.sigmoid(self.gate_layer(both))

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the outputs of the LSTM plus the gated context."""
        gated: Tensor = self.gate(vectors, context) * self.skip(context)[:, None]
        return vectors + gated


class C2sModel(ContextModel):
    """C2S; see `ContextModel` for the settings."""

    kind = "c2s"

    def new_module(self, n_types: int, longest: int) -> C2sNetwork:
        """Return the network; `longest` does not matter."""
        return C2sNetwork(n_types, **self.network_settings)


class GatedC2sModel(ContextModel):
    """gC2S; see `ContextModel` for the settings. With the gate closed it is `C2sModel`."""

    kind = "gc2s"

    def new_module(self, n_types: int, longest: int) -> GatedC2sNetwork:
        """Return the network; `longest` does not matter."""
        return GatedC2sNetwork(n_types, **self.network_settings)
