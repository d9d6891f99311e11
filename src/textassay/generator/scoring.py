"""How likely a text is under a network, token by token: sentences of like length together, sums in float64.

Padding stands behind the sentences and what is padded is never looked at, so it changes no number.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.vocabulary import EOS, PAD, SOS
from textassay.execution import parallel_map
from textassay.generator.cross_entropy import linear_cross_entropy
from textassay.training.backend import single_threaded

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from textassay.generator.network import NetworkLanguageModel, Weights

__all__ = ["mean_loss", "next_scores", "padded", "token_scores"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_TOGETHER = 128  # sentences scored at once


def padded(tokens: TokenArray, offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return what is read (begun by ``<sos>``) and what is to come (ended by ``<eos>``), padded.

    Parameters
    ----------
    tokens, offsets
        Sentences, shapes (T,) and (N + 1,).
    rows
        Which of them, shape (B,).

    Returns
    -------
    tuple of arrays
        Each of shape (B, L + 1), where L is the length of the longest of these sentences.
    """
    lengths = np.diff(offsets)[rows]
    length = int(lengths.max(initial=0))
    inputs = np.full((len(rows), length + 1), PAD, dtype=np.int64)
    inside = np.arange(length) < lengths[:, None]
    positions = np.arange(lengths.sum()) + np.repeat(offsets[rows] - np.cumsum(lengths) + lengths, lengths)
    inputs[:, 1:][inside] = tokens[positions]
    targets = np.roll(inputs, -1, axis=1)
    targets[np.arange(len(rows)), lengths] = EOS
    inputs[:, 0] = SOS
    return inputs, targets


def mean_loss(
    network: "NetworkLanguageModel", weights: "Weights", inputs: IntArray, targets: IntArray, rng: "torch.Generator"
) -> "Tensor":
    """Return the mean cross-entropy of what is to come, a scalar to differentiate; arrays as `padded` gives them."""
    import torch

    inside = targets != PAD
    device = rng.device
    vectors = network.read(weights, torch.from_numpy(inputs).to(device), rng)[torch.from_numpy(inside).to(device)]
    wanted = torch.from_numpy(targets[inside]).to(device)
    return linear_cross_entropy(vectors, *network.output_layer(weights), wanted)


def token_scores(
    network: "NetworkLanguageModel", weights: "Weights", tokens: TokenArray, offsets: IntArray, temperature: float
) -> FloatArray:
    """Return the log-probability of each token and end, shape (T + N,), of sentences that `padded` takes."""
    import torch

    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    scores = np.empty(len(tokens) + len(lengths))
    longest = network.longest(weights)
    device = next(iter(weights.values())).device

    def score(rows: IntArray) -> None:
        inputs, targets = padded(tokens, offsets, rows)
        inside = targets != PAD
        with single_threaded(), torch.no_grad():
            vectors = network.read(weights, torch.from_numpy(inputs).to(device))[torch.from_numpy(inside).to(device)]
            logits = network.logits(weights, vectors, temperature).float()
            top = logits.amax(1, keepdim=True)
            hit = logits.gather(1, torch.from_numpy(targets[inside]).to(device)[:, None])[:, 0].double()
            total = logits.sub_(top).exp_().sum(1, dtype=torch.float64)
            found = (hit - top[:, 0].double() - total.log()).cpu().numpy()
        if longest is not None:
            found[np.nonzero(inside)[1] == longest] = 0.0  # nothing but the end can follow
        places = (offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
        scores[places[inside]] = found

    parallel_map(score, [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)])
    return scores


def next_scores(
    network: "NetworkLanguageModel", weights: "Weights", tokens: TokenArray, offsets: IntArray, temperature: float
) -> FloatArray:
    """Return the log-probability of each token after each of N beginnings of sentences, shape (N, V)."""
    import torch

    lengths = np.diff(offsets)
    device = next(iter(weights.values())).device
    inputs, _ = padded(tokens, offsets, np.arange(len(lengths)))
    with single_threaded(), torch.no_grad():
        vectors = network.read(weights, torch.from_numpy(inputs).to(device))
        last = vectors[torch.arange(len(lengths)), torch.from_numpy(lengths)]
        scores = torch.log_softmax(network.logits(weights, last, temperature).double(), 1).cpu().numpy()
    full = lengths == network.longest(weights)
    scores[full] = -math.inf
    scores[full, EOS] = 0.0
    return np.asarray(scores)
