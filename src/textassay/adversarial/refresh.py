"""Training of a discriminator of whole sentences between the generator's steps."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.adversarial.player import Player
from textassay.adversarial.roll_outs import Actions, variety
from textassay.discriminator import seeded

if TYPE_CHECKING:
    from torch import Tensor


IntArray = npt.NDArray[np.int64]


def refresh(
    discriminator: Player,
    loss: "Callable[[IntArray, IntArray], Tensor]",
    drawn: Actions,
    real: Actions,
    *,
    epochs: Iterable[int],
    batch_size: int,
    seed: int,
) -> dict[str, float]:
    """Train `discriminator`, in place, on drawn sentences and, in each epoch, as many real ones.

    `loss`: from numbers of real sentences, shape (N,), and rows of drawn ones, shape (N, limit).

    Returns ``judge_loss``, the mean over the batches, each before its update, and ``variety``, see `variety`.
    """
    batches = seeded(len(drawn), len(real), batch_size, seed)
    losses = [
        discriminator.descend(loss(real_rows, drawn.tokens[rows]))
        for epoch in epochs
        for rows, real_rows in batches(epoch)
    ]
    return {"judge_loss": float(np.mean(losses)), "variety": variety(drawn, real)}
