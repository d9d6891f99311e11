"""The network of LeakGAN's generator: leaked features, a manager that sets goals, a worker that draws words.

The features are those of the discriminator: convolutions over windows of words, max-pooling, a highway layer. The
manager turns them into a goal, a unit vector in feature space; the worker is guided by the sum of the last goals.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018.
Departs from it: padding stands before a sentence, not behind it, so that the features of a beginning are a running
maximum; windows reach the start of the sentence and its end, which are tokens of their own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.corpus import PAD
from textassay.generator.reader import State, Weights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_FORGET_BIAS = 1.0  # so that the cell is kept at first
_SMALL = 0.1  # standard deviation of initial filters and output layer


@dataclass(frozen=True)
class Reading:
    """What the network computes at each of L tokens of B sentences."""

    features: "Tensor"  # shape (B, L, F), at least 0
    goals: "Tensor"  # unit vectors, shape (B, L, F)
    goal_sums: "Tensor"  # sum of the last goals before this token's own, shape (B, L, F)
    vectors: "Tensor"  # the worker's state, with a 1, times the embedded goals, shape (B, L, (width + 1) x goal)
    state: State  # after the last token


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
    """Return initial weights of these shapes."""
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
    """Return the state of `n` sentences before their first token, with `memory` goals.

    Its parts: the last tokens, the pooled filters, hidden state and cell of manager and worker, the last goals.
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
    """Return what the network computes for `tokens`, shape (B, L), from `state` on."""
    import torch
    from torch.nn.functional import embedding, linear, normalize

    recent, largest, *recurrent, last_goals = state
    length, memory = tokens.shape[1], last_goals.shape[1]
    window_tokens = torch.cat((recent, tokens), 1)
    pooled = pooled_windows(weights, window_tokens)  # (batch, length, features)
    pooled = torch.cat((largest[:, None].to(pooled.dtype), pooled), 1).cummax(1).values[:, 1:]
    features = highway_features(weights, pooled)
    manager_output, manager_state = _lstm(weights, "manager", features, recurrent[:2])
    goals = normalize(linear(manager_output, weights["manager goal"], weights["manager goal bias"]), dim=-1)
    all_goals = torch.cat((last_goals.to(goals.dtype), goals), 1)
    goal_sums = torch.stack([all_goals[:, i : i + length] for i in range(memory)]).sum(0)  # (36)
    directions = linear(goal_sums, weights["worker goals"])  # (batch, length, goal)
    worker_output, worker_state = _lstm(weights, "worker", embedding(tokens, weights["worker words"]), recurrent[2:])
    worker_output = torch.cat((worker_output, torch.ones_like(worker_output[..., :1])), -1)
    vectors = (worker_output[..., None] * directions[..., None, :]).flatten(2)  # (batch, length, (width + 1) x goal)
    after = (window_tokens[:, length:], pooled[:, -1], *manager_state, *worker_state, all_goals[:, length:])
    return Reading(features, goals, goal_sums, vectors, after)


def pooled_windows(weights: Weights, tokens: "Tensor") -> "Tensor":
    """Return the value of each filter on the window that ends at each token, shape (B, L, F).

    `tokens`, shape (B, widest - 1 + L), begin with those before the first of the L.
    """
    import torch

    banks = _banks(weights)
    widest = max(banks)
    vectors = torch.nn.functional.embedding(tokens, weights["features words"]).transpose(1, 2)
    values = [torch.nn.functional.conv1d(vectors[:, :, widest - window :], bank) for window, bank in banks.items()]
    return torch.cat(values, 1).transpose(1, 2)


def highway_features(weights: Weights, pooled: "Tensor") -> "Tensor":
    """Return the features, after a highway layer, of the pooled filters; both of shape (..., F)."""
    import torch
    from torch.nn.functional import linear

    y = torch.relu(pooled + weights["features bias"])
    gate = torch.sigmoid(linear(y, weights["features highway gate"], weights["features highway gate bias"]))
    return gate * torch.relu(linear(y, weights["features highway"], weights["features highway bias"])) + (1 - gate) * y


def _banks(weights: Weights) -> "dict[int, Tensor]":
    """Return the filters by window, in the order of the features."""
    return {bank.shape[2]: bank for name, bank in weights.items() if name.startswith("features filters")}


def _lstm_shapes(name: str, entering: int, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name} input": (4 * width, entering), f"{name} state": (4 * width, width), f"{name} bias": (4 * width,)}


def _lstm(weights: Weights, name: str, vectors: "Tensor", state: "list[Tensor]") -> "tuple[Tensor, tuple[Tensor, ...]]":
    """Return the outputs of one layer, shape (B, L, width), and the output and memory after the last, (B, width)."""
    import torch

    bias = weights[f"{name} bias"]
    parameters = [weights[f"{name} input"], weights[f"{name} state"], bias, torch.zeros_like(bias)]
    before = [part[None].to(vectors.dtype).contiguous() for part in state]
    learns = torch.is_grad_enabled()  # else a GPU saves nothing for the backward pass
    vectors, output, memory = torch.lstm(vectors, before, parameters, True, 1, 0.0, learns, False, True)
    return vectors, (output[0], memory[0])
