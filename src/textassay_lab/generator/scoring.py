"""Log-probabilities of a text under a network, token by token, in batches of similar length; sums in float64.

Padding stands behind the sentences and is masked, so it does not change the result.
"""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.encoding import EOS, PAD
from textassay.execution.threads import parallel_map
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.objective import padded
from textassay_lab.training.backend import single_threaded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_TOGETHER = 128  # sentences scored at once
_LOGITS = 1 << 24  # most at once, to limit memory


def token_scores(
    network: SentenceNetwork,
    tokens: TokenArray,
    offsets: IntArray,
    temperature: float,
    first: IntArray | None = None,
) -> FloatArray:
    """Return the log-probability of each token and end, shape (T + N,), of sentences that `padded` takes."""
    lengths = np.diff(offsets)
    order = np.argsort(lengths, kind="stable")
    scores = np.empty(len(tokens) + len(lengths))
    longest = network.longest
    device = network.device

    def score(rows: IntArray) -> None:
        inputs, targets = padded(tokens, offsets, rows, first)
        inside = targets != PAD
        with single_threaded(), torch.no_grad():
            vectors = network(torch.from_numpy(inputs).to(device))[torch.from_numpy(inside).to(device)]
            wanted = torch.from_numpy(targets[inside]).to(device)
            step = max(1, _LOGITS // len(network.output()[0]))
            parts = zip(torch.split(vectors, step), torch.split(wanted, step), strict=True)
            log_probs = [log_probs_of(network.logits(part, temperature).float(), hits) for part, hits in parts]
            values = torch.cat(log_probs).cpu().numpy()
        if longest is not None:
            values[np.nonzero(inside)[1] == longest] = 0.0  # nothing but the end can follow
        places = (offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
        scores[places[inside]] = values

    parallel_map(score, [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)])
    return scores


def log_probs_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the log-probability of the target of each row, shape (N,), float64; `logits`, (N, V), are overwritten."""
    top = logits.amax(1, keepdim=True)
    hit = logits.gather(1, targets[:, None])[:, 0].double()
    total = logits.sub_(top).exp_().sum(1, dtype=torch.float64)
    return hit - top[:, 0].double() - total.log()


def next_scores(
    network: SentenceNetwork,
    tokens: TokenArray,
    offsets: IntArray,
    temperature: float,
    first: IntArray | None = None,
) -> FloatArray:
    """Return the log-probability of each token after each of N beginnings of sentences, shape (N, V)."""
    lengths = np.diff(offsets)
    device = network.device
    inputs, _ = padded(tokens, offsets, np.arange(len(lengths)), first)
    with single_threaded(), torch.no_grad():
        vectors = network(torch.from_numpy(inputs).to(device))
        last = vectors[torch.arange(len(lengths)), torch.from_numpy(lengths)]
        scores = torch.log_softmax(network.logits(last, temperature).double(), 1).cpu().numpy()
    full = lengths == network.longest
    scores[full] = -math.inf
    scores[full, EOS] = 0.0
    return np.asarray(scores)
