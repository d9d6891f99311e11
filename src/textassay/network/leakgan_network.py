"""The network of LeakGAN's generator: features of what was written, a manager that sets goals, a worker that writes.

The features are those of the discriminator: windows of words with filters, the largest value of each so far, a highway
layer. The manager turns them into a goal, a direction of length 1 in their space; the worker heeds the last few goals.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018.
Departs from it: padding stands before a sentence, not behind it, so that the features of a beginning are a running
maximum; windows reach the start of the sentence and its end, which are tokens of their own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.corpus import PAD
from textassay.network.reader import State, Weights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_FORGET_BIAS = 1.0  # memory is kept to begin with
_SMALL = 0.1  # deviation of filters and output as they begin


@dataclass(frozen=True)
class Reading:
    """What the network computes at each of L tokens of B sentences."""

    features: "Tensor"  # Shape (B, L, F), at least 0
    goals: "Tensor"  # Of length 1, shape (B, L, F)
    heeded: "Tensor"  # Sum of the last goals before this token's own, shape (B, L, F)
    vectors: "Tensor"  # The worker's state, with a 1, times the embedded goals, shape (B, L, (width + 1) x goal)
    state: State  # What reading on begins with


def leakgan_shapes(
    n_types: int, *, width: int, goal: int, dimension: int, filters: Mapping[int, int]
) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the weights."""
    n_features = sum(filters.values())
    shapes: dict[str, tuple[int, ...]] = {"features words": (n_types, dimension)}
    for window, count in filters.items():
        shapes[f"features filters {window}"] = (count, dimension, window)
    shapes["features bias"] = (n_features,)
    for part in ("highway", "highway gate"):
        shapes |= {f"features {part}": (n_features, n_features), f"features {part} bias": (n_features,)}
    shapes |= _lstm_shapes("manager", n_features, width)
    shapes |= {"manager goal": (n_features, width), "manager goal bias": (n_features,)}
    shapes |= {"worker words": (n_types, width), **_lstm_shapes("worker", width, width)}
    shapes |= {"worker first goal": (n_features,), "worker goals": (goal, n_features)}
    return {**shapes, "worker output": (n_types, (width + 1) * goal)}


def new_leakgan_weights(shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
    """Return weights of these shapes as they begin."""
    import torch

    weights = {}
    for name, shape in shapes.items():
        weights[name] = weight = torch.zeros(shape)
        if name in ("manager bias", "worker bias"):
            weight[shape[0] // 4 : shape[0] // 2] = _FORGET_BIAS
        elif name == "features bias":
            weight.fill_(_SMALL)
        elif name == "features words":
            weight.uniform_(-1, 1, generator=rng)
        elif name.startswith("features highway") and len(shape) > 1:
            torch.nn.init.xavier_uniform_(weight, generator=rng)
        elif name.startswith("features filters") or name == "worker output":
            torch.nn.init.trunc_normal_(weight, std=_SMALL, a=-2 * _SMALL, b=2 * _SMALL, generator=rng)
        elif name == "worker first goal":
            weight.normal_(generator=rng)
        elif not name.endswith("bias"):
            spread = (math.sqrt(3) if name in ("worker words", "worker goals") else 1) / math.sqrt(shape[-1])
            weight.uniform_(-spread, spread, generator=rng)
    return weights


def begin_reading(weights: Weights, n: int, memory: int) -> State:
    """Return the state of `n` sentences before their first token, where the worker heeds `memory` goals.

    It is the last tokens, the largest values of the filters, both states of manager and worker, and the last goals.
    """
    import torch

    output, width = weights["worker output"], weights["worker words"].shape[1]
    widest = max(_banks(weights))
    tokens = torch.full((n, widest - 1), PAD, dtype=torch.int64, device=output.device)
    largest = output.new_full((n, len(weights["features bias"])), -math.inf)
    zeros = output.new_zeros(n, width)
    first = torch.nn.functional.normalize(weights["worker first goal"], dim=0)
    return tokens, largest, zeros, zeros, zeros, zeros, first.expand(n, memory, -1)


def read_on(weights: Weights, tokens: "Tensor", state: State) -> Reading:
    """Return what comes of reading `tokens`, shape (B, L), from `state` on."""
    import torch
    from torch.nn.functional import embedding, linear, normalize

    recent, largest, *recurrent, last_goals = state
    length, memory = tokens.shape[1], last_goals.shape[1]
    seen = torch.cat((recent, tokens), 1)
    pooled = pooled_windows(weights, seen)  # (batch, length, features)
    pooled = torch.cat((largest[:, None].to(pooled.dtype), pooled), 1).cummax(1).values[:, 1:]
    features = through(weights, pooled)
    managed, manager_state = _lstm(weights, "manager", features, recurrent[:2])
    goals = normalize(linear(managed, weights["manager goal"], weights["manager goal bias"]), dim=-1)
    known = torch.cat((last_goals.to(goals.dtype), goals), 1)
    heeded = torch.stack([known[:, i : i + length] for i in range(memory)]).sum(0)  # (36)
    directions = linear(heeded, weights["worker goals"])  # (batch, length, goal)
    worked, worker_state = _lstm(weights, "worker", embedding(tokens, weights["worker words"]), recurrent[2:])
    worked = torch.cat((worked, torch.ones_like(worked[..., :1])), -1)
    vectors = (worked[..., None] * directions[..., None, :]).flatten(2)  # (batch, length, (width + 1) x goal)
    after = (seen[:, length:], pooled[:, -1], *manager_state, *worker_state, known[:, length:])
    return Reading(features, goals, heeded, vectors, after)


def pooled_windows(weights: Weights, tokens: "Tensor") -> "Tensor":
    """Return the value of each filter on the window that ends at each token, shape (B, L, F).

    `tokens`, shape (B, widest - 1 + L), begin with those before the first of the L.
    """
    import torch

    banks = _banks(weights)
    widest = max(banks)
    vectors = torch.nn.functional.embedding(tokens, weights["features words"]).transpose(1, 2)
    found = [torch.nn.functional.conv1d(vectors[:, :, widest - window :], bank) for window, bank in banks.items()]
    return torch.cat(found, 1).transpose(1, 2)


def through(weights: Weights, pooled: "Tensor") -> "Tensor":
    """Return the features that the largest values of the filters give, both of shape (..., F)."""
    import torch
    from torch.nn.functional import linear

    y = torch.relu(pooled + weights["features bias"])
    gate = torch.sigmoid(linear(y, weights["features highway gate"], weights["features highway gate bias"]))
    return gate * torch.relu(linear(y, weights["features highway"], weights["features highway bias"])) + (1 - gate) * y


def _banks(weights: Weights) -> "dict[int, Tensor]":
    """Return window to filters, in the order of the features."""
    return {bank.shape[2]: bank for name, bank in weights.items() if name.startswith("features filters")}


def _lstm_shapes(name: str, entering: int, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name} input": (4 * width, entering), f"{name} state": (4 * width, width), f"{name} bias": (4 * width,)}


def _lstm(weights: Weights, name: str, vectors: "Tensor", state: "list[Tensor]") -> "tuple[Tensor, tuple[Tensor, ...]]":
    """Return the outputs of one layer, shape (B, L, width), and the output and memory after the last, (B, width)."""
    import torch

    bias = weights[f"{name} bias"]
    parameters = [weights[f"{name} input"], weights[f"{name} state"], bias, torch.zeros_like(bias)]
    before = [part[None].to(vectors.dtype).contiguous() for part in state]
    learns = torch.is_grad_enabled()  # else a GPU keeps nothing for a way back
    vectors, output, memory = torch.lstm(vectors, before, parameters, True, 1, 0.0, learns, False, True)
    return vectors, (output[0], memory[0])
