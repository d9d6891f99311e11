"""Dropout that draws from a generator of its own, so that a training goes on to the same bits, whatever else draws.

Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def dropped(vectors: "Tensor", share: float, rng: "torch.Generator | None") -> "Tensor":
    """Return `vectors` with a `share` set to 0 and the rest scaled up, drawn from `rng`; as they are where none."""
    import torch

    if rng is None or share == 0:
        return vectors
    kept = torch.rand(vectors.shape, generator=rng, device=vectors.device) >= share
    return vectors * kept / (1 - share)
