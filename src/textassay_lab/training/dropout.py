"""Dropout with a random generator of its own, so that a resumed training gives the same bits.

Source: Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def dropped(vectors: "Tensor", share: float, rng: "torch.Generator | None") -> "Tensor":
    """Apply dropout with probability `share` to `vectors`; return them unchanged without `rng`."""
    import torch

    if rng is None or share == 0:
        return vectors
    kept = torch.rand(vectors.shape, generator=rng, device=vectors.device) >= share
    return vectors * kept / (1 - share)
