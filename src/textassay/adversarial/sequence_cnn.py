"""The discriminator of SeqGAN: a convolutional network over drawn sentences as rows of ids.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017, and its public code:
windows of 1 to 20 words, a highway layer, dropout, an L2 penalty on the output layer. The network is the one in
`textassay.discriminator.cnn` with these windows.
Departs from it: windows wider than the longest sentence are left out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.discriminator import Sentences, cnn_logits, cnn_loss, cnn_weights
from textassay.execution import parallel_map
from textassay.training import single_threaded

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, "Tensor"]

_TOGETHER = 2048  # sentences scored in one block


def fitting_filters(filters: Mapping[int, int], limit: int) -> dict[int, int]:
    """Return the windows, with their filters, that are not wider than `limit` tokens."""
    return {window: count for window, count in filters.items() if window <= limit}


def new_discriminator(
    n_types: int, *, dimension: int, filters: Mapping[int, int], seed: int, device: "torch.device"
) -> "dict[str, Tensor]":
    """Return initial weights of a discriminator; see `cnn_weights`."""
    return cnn_weights(n_types, dimension=dimension, filters=filters, seed=seed, device=device)


def sequence_cnn_loss(
    weights: Weights, real: IntArray, drawn: IntArray, rng: "torch.Generator", *, dropout: float
) -> "Tensor":
    """Return the mean cross-entropy of a batch with the penalty on the output layer, a scalar.

    `real`, `drawn`: rows of ids, padded, shapes (N, limit) and (M, limit).
    """
    is_real = np.repeat([1, 0], [len(real), len(drawn)])
    return cnn_loss(weights, sentences_of(np.concatenate((real, drawn))), is_real, rng, dropout=dropout)


def prob_real(weights: Weights, rows: IntArray) -> FloatArray:
    """Return the probability that each row of ids, shape (R, limit), is real, shape (R,)."""
    import torch

    def score(start: int) -> FloatArray:
        with single_threaded(), torch.no_grad():
            logits = cnn_logits(weights, sentences_of(rows[start : start + _TOGETHER])).cpu().double().numpy()
        return np.asarray(expit(logits[:, 1] - logits[:, 0]))

    return np.concatenate(parallel_map(score, range(0, len(rows), _TOGETHER)))


def sentences_of(rows: IntArray) -> Sentences:
    """Return padded rows as input of the network; ``<pad>`` has the same id in both."""
    n, limit = rows.shape
    return Sentences(rows.reshape(-1), np.arange(n + 1) * limit)
