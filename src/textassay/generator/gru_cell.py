"""The gated recurrent unit (GRU) in plain tensor operations, and its initial weights.

A gradient penalty differentiates twice, which the fused kernels of GPUs do not support.

Sources: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
EMNLP 2014; Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.
Departs from it: the reset gate works after the product with the state, as in cuDNN, so that a step has one product.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]

_WORD_SPREAD = 0.1  # of initial embeddings and output layer (public code of the recurrent WGAN)
_GATE_BIAS = 1.0


def gru_shapes(n_inputs: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the weights; the first axis holds reset gate, update gate and candidate state."""
    return {
        "input": (3 * width, n_inputs),
        "input bias": (3 * width,),
        "state": (3 * width, width),
        "state bias": (3 * width,),
    }


def new_gru_weights(shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
    """Return initial weights of a network with a GRU, by name.

    `shapes`: those of `gru_shapes`, ``words`` and ``output`` are drawn from `rng` in this order; all others are zeros,
    but for the bias of gates.
    """
    import torch

    weights, width = {}, shapes["state"][1]
    for name, shape in shapes.items():
        weights[name] = torch.zeros(shape)
        if name in ("words", "output"):
            weights[name].uniform_(-_WORD_SPREAD, _WORD_SPREAD, generator=rng)
        elif len(shape) == 2:
            spread = math.sqrt(6 / (shape[1] + width))  # as Glorot and Bengio, for each gate
            weights[name].uniform_(-spread, spread, generator=rng)
    weights["input bias"][: 2 * width] = _GATE_BIAS
    return weights


def gru_inputs(weights: Weights, vectors: "Tensor") -> "Tensor":
    """Return the contribution of inputs (..., n_inputs) to gates and candidate state, (..., 3 x width)."""
    import torch

    return torch.nn.functional.linear(vectors, weights["input"], weights["input bias"])


def gru_step(weights: Weights, inputs: "Tensor", state: "Tensor") -> "Tensor":
    """Return the next state, (B, width), from `state` and one step of `gru_inputs`, (B, 3 x width)."""
    import torch

    width = state.shape[1]
    from_state = torch.nn.functional.linear(state, weights["state"], weights["state bias"])
    reset, update = torch.sigmoid(inputs[:, : 2 * width] + from_state[:, : 2 * width]).chunk(2, 1)
    candidate = torch.tanh(inputs[:, 2 * width :] + reset * from_state[:, 2 * width :])
    return candidate + update * (state - candidate)


def gru_run(weights: Weights, inputs: "Tensor", state: "Tensor") -> "Tensor":
    """Return the states after each of L steps of `inputs`, (B, L, 3 x width), shape (B, L, width), from `state` on."""
    import torch

    states = []
    for part in inputs.unbind(1):
        state = gru_step(weights, part, state)
        states.append(state)
    return torch.stack(states, 1)
