"""The rewards of LeakGAN's manager and worker.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018. Numbers in
brackets are those of Garbacea et al., "Judge the Judges", EMNLP 2019.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import rankdata

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def rank_rescaled(rewards: FloatArray, taken: BoolArray, *, rescaling: float) -> FloatArray:
    """Return rewards by their rank in the batch: sigmoid(`rescaling` x (0.5 - rank / n)), the highest has rank 1.

    `rewards`: of each action, shape (B, T); `taken`: where there are actions, shape (B, T): n of them at a time.
    """
    rescaled = np.zeros(rewards.shape)
    for column in range(rewards.shape[1]):
        rows = taken[:, column]
        ranks = rankdata(-rewards[rows, column])
        rescaled[rows, column] = expit(rescaling * (0.5 - ranks / max(int(rows.sum()), 1)))
    return rescaled


def intrinsic_rewards(features: "Tensor", goals: "Tensor", *, memory: int) -> "Tensor":
    """Return the agreement of each token with the last `memory` goals, shape (B, T), in [-1, 1].

    (40): the mean of cos(f_t - f_(t-i), g_(t-i)) over i from 1 to `memory`; terms before the first token are 0.

    `features`, `goals`: before the first token and after each of T, shape (B, T + 1, F).
    """
    import torch

    total = features.new_zeros(features.shape[0], features.shape[1] - 1)
    for back in range(1, min(memory, total.shape[1]) + 1):
        moved = features[:, back:] - features[:, :-back]
        total[:, back - 1 :] += torch.cosine_similarity(moved, goals[:, :-back], dim=-1)
    return (total / memory).clamp(-1, 1)  # rounding


def goal_agreement(features: "Tensor", goals: "Tensor", lengths: "Tensor", *, memory: int) -> "Tensor":
    """Return the cosine of each goal with the move of the features over the next `memory` tokens, shape (B, T).

    `features`, `goals`: before the first token and after each of T, shape (B, T + 1, F); `lengths`: tokens of each
    sentence, (B,): where fewer follow, over these.
    """
    import torch

    places = torch.arange(features.shape[1] - 1, device=features.device)
    later = torch.minimum(places + memory, lengths[:, None])  # (batch, T)
    reached = features.gather(1, later[..., None].expand(-1, -1, features.shape[2]))
    return torch.cosine_similarity(reached - features[:, :-1], goals[:, :-1], dim=-1)
