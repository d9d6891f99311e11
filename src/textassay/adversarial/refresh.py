"""How a discriminator that says of whole sentences whether they are real is refreshed between a generator's steps."""

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
    judge: Player,
    loss: "Callable[[IntArray, IntArray], Tensor]",
    drawn: Actions,
    real: Actions,
    *,
    epochs: Iterable[int],
    batch_size: int,
    seed: int,
) -> dict[str, float]:
    """Let `judge` learn from drawn sentences and, in each epoch, as many real ones.

    `judge`: changed; `loss`: what it descends, from numbers of real sentences and rows of drawn ones, shapes (N,) and
    (N, limit).

    ``judge_loss``: mean over the batches, each before it was learnt from; ``variety``, see `variety`.
    """
    batches = seeded(len(drawn), len(real), batch_size, seed)
    losses = [
        judge.descend(loss(real_rows, drawn.tokens[rows])) for epoch in epochs for rows, real_rows in batches(epoch)
    ]
    return {"judge_loss": float(np.mean(losses)), "variety": variety(drawn, real)}
