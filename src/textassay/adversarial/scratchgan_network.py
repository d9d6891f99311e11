"""The discriminator of ScratchGAN, with a logit for every prefix of a sentence, and the rewards and returns from it.

An LSTM with layer normalisation reads embeddings (learnt, fixed, and positional, as cosines); an output layer turns
each hidden state into a logit of being real so far.

Source: de Masson d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019, and its public code; Ba, Kiros,
Hinton, "Layer Normalization", 2016 (all four gates together).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textassay.training import dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]

POSITIONS = 8  # dimensions of the position encoding
_LONGEST_WAVE = 10_000.0  # steps of the slowest cosine; the fastest has one radian a step
_FORGET_BIAS = 1.0


def new_step_discriminator(
    n_types: int, *, dimension: int, fixed: int, width: int, rng: "torch.Generator"
) -> "dict[str, Tensor]":
    """Return initial weights by name, on the CPU."""
    import torch

    n_inputs = dimension + fixed + POSITIONS
    shapes = {
        "words": (n_types, dimension),
        "input": (4 * width, n_inputs),
        "state": (4 * width, width),
        "output": (1, width),
    }
    spreads = {"words": math.sqrt(3 / dimension), "input": math.sqrt(3 / n_inputs)}
    weights = {}
    for name, shape in shapes.items():
        spread = spreads.get(name, math.sqrt(1 / width))
        weights[name] = torch.empty(shape).uniform_(-spread, spread, generator=rng)
    weights |= {"scale": torch.ones(4 * width), "bias": torch.zeros(4 * width), "output bias": torch.zeros(1)}
    weights["bias"][width : 2 * width] = _FORGET_BIAS
    return weights


def step_logits(
    weights: Weights,
    fixed: "Tensor | None",
    tokens: "Tensor",
    *,
    dropout: float = 0.0,
    rng: "torch.Generator | None" = None,
) -> "Tensor":
    """Return the logit, after each token, that the sentence is real, shape (B, L).

    `fixed`: fixed embeddings, shape (V, fixed); `tokens`: rows of ids, shape (B, L), ``<pad>`` behind their
    ends.
    """
    import torch

    linear = torch.nn.functional.linear
    table = weights["words"] if fixed is None else torch.cat((weights["words"], fixed), 1)
    vectors = torch.nn.functional.embedding(tokens, table)
    places = _positions(tokens.shape[1], vectors.device).expand(len(tokens), -1, -1)
    vectors = dropped(torch.cat((vectors, places), 2), dropout, rng)
    inputs = linear(vectors, weights["input"])  # (B, L, 4 x width)
    state = cell = inputs.new_zeros(len(tokens), weights["state"].shape[1])
    states = []
    for part in inputs.unbind(1):
        gates = part + linear(state, weights["state"])
        gates = torch.nn.functional.layer_norm(gates, gates.shape[1:], weights["scale"], weights["bias"])
        input_gate, forget_gate, new, output_gate = gates.chunk(4, 1)
        cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(new)
        state = torch.sigmoid(output_gate) * torch.tanh(cell)
        states.append(state)
    read = dropped(torch.stack(states, 1), dropout, rng)
    return linear(read, weights["output"], weights["output bias"])[:, :, 0]


def step_loss(real: "Tensor", drawn: "Tensor") -> "Tensor":
    """Return the cross-entropy of all steps, given logits (B, L): the mean over real and that over drawn, averaged."""
    import torch

    softplus = torch.nn.functional.softplus
    return (softplus(-real).mean() + softplus(drawn).mean()) / 2


def step_rewards(logits: "Tensor") -> "Tensor":
    """Return 2 sigmoid(logit) - 1 of each step, in (-1, 1)."""
    return 2 * logits.sigmoid() - 1


def returns_of(rewards: "Tensor", *, discount: float) -> "Tensor":
    """Return R_t = sum over s >= t of discount^(s - t) r_s of each step, shape (B, L)."""
    import torch

    returns, after = [], rewards.new_zeros(len(rewards))
    for reward in reversed(rewards.unbind(1)):
        after = reward + discount * after
        returns.append(after)
    return torch.stack(returns[::-1], 1)


def _positions(length: int, device: "torch.device") -> "Tensor":
    """Return cosines of each position, shape (L, POSITIONS), from one radian a step to the longest wave."""
    import torch

    exponents = torch.arange(POSITIONS, device=device) / (POSITIONS - 1)
    return torch.cos(torch.arange(length, device=device)[:, None] * _LONGEST_WAVE**-exponents)
