"""The ranker of RankGAN: the rank of a sentence in a comparison set by its similarity to human text.

The similarity of s to a human sentence u is alpha(s|u) = cos(y_s, y_u), where y are the features before the output
layer of SeqGAN's convolutional discriminator. In a comparison set C, P(s|u, C) = exp(gamma alpha(s|u)) / sum of the
same over C and s; the rank is R(s|U, C), the mean of P over the reference set U of human text.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017, equations 1 to 5.
Departs from their public code, which sums cosines over U before the softmax, and takes log R of generated sentences
with the opposite sign where the paper has log(1 - R): here it is as in the paper.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.adversarial.sequence_cnn import sentences_of
from textassay.discriminator import cnn_features
from textassay.execution import parallel_map
from textassay.training import single_threaded

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, "Tensor"]

_TOGETHER = 2048  # sentences ranked in one block


def without_output(weights: Weights) -> "dict[str, Tensor]":
    """Return the weights of a ranker: those of a discriminator without its output layer."""
    return {name: weight for name, weight in weights.items() if not name.startswith("output")}


def features(
    weights: Weights, rows: IntArray, rng: "torch.Generator | None" = None, *, dropout: float = 0.0
) -> "Tensor":
    """Return y of each row of ids, padded, shape (N, limit), as (N, filters); dropout is drawn from `rng`."""
    return cnn_features(weights, sentences_of(rows), rng, dropout=dropout)


def log_ranks(ranked: "Tensor", references: "Tensor", compared: "Tensor", *, gamma: float) -> "tuple[Tensor, Tensor]":
    """Return log R and log(1 - R) of each sentence, in nats, shapes (N,).

    `ranked`, `references`, `compared`: features of the sentences to rank, of U and of C, shapes (N, F), (K, F), (M, F).
    """
    import torch
    from torch.nn.functional import normalize

    human = normalize(references, dim=1).T  # (f, k)
    mine = gamma * (normalize(ranked, dim=1) @ human)  # (n, k)
    others = torch.logsumexp(gamma * (normalize(compared, dim=1) @ human), dim=0)  # (k,)
    all_of_them = torch.logaddexp(mine, others)
    log_n = math.log(len(references))
    log_rank = torch.logsumexp(mine - all_of_them, dim=1) - log_n
    log_rest = torch.logsumexp(others - all_of_them, dim=1) - log_n
    return log_rank, log_rest


def ranker_loss(
    weights: Weights,
    real: IntArray,
    drawn: IntArray,
    references: IntArray,
    rng: "torch.Generator",
    *,
    gamma: float,
    dropout: float,
) -> "Tensor":
    """Return the ranker's loss, -E log R(real | U, drawn) - E log(1 - R(drawn | U, real)), a scalar.

    `real`, `drawn`: rows of ids, padded, shapes (N, limit) and (M, limit); `references`: U, shape (K, limit).
    """
    import torch

    both = features(weights, np.concatenate((real, drawn, references)), rng, dropout=dropout)
    y_real, y_drawn, y_references = torch.split(both, [len(real), len(drawn), len(references)])
    ranks_of_real, _ = log_ranks(y_real, y_references, y_drawn, gamma=gamma)
    _, rest_of_drawn = log_ranks(y_drawn, y_references, y_real, gamma=gamma)
    return -ranks_of_real.mean() - rest_of_drawn.mean()


def log_rank_of(
    weights: Weights, rows: IntArray, references: IntArray, compared: IntArray, *, gamma: float
) -> FloatArray:
    """Return log R of each row of ids, shape (R, limit), among `compared`, in nats, shape (R,), without gradient."""
    import torch

    with torch.no_grad():
        y_references, y_compared = features(weights, references), features(weights, compared)

    def rank(start: int) -> FloatArray:
        with single_threaded(), torch.no_grad():
            y = features(weights, rows[start : start + _TOGETHER])
            log_rank, _ = log_ranks(y, y_references, y_compared, gamma=gamma)
            return np.asarray(log_rank.cpu().double().numpy())

    return np.concatenate(parallel_map(rank, range(0, len(rows), _TOGETHER)))
