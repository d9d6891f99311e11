"""Sentences of different lengths in one table, and what networks do with such tables.

Every sentence keeps one row of padding: its end, a token like any other to a network, so that an empty sentence has
one.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.discriminator.word_rows import N_PADS, Sentences

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_FAR = 1e4  # beyond any value that is pooled


def padded_words(sentences: Sentences, device: "torch.device") -> "tuple[Tensor, Tensor]":
    """Return the rows of the word vectors of N sentences and their ends, and which they are, both (N, length)."""
    import torch

    table = sentences.padded()[:, : 1 - N_PADS]
    inside: npt.NDArray[np.bool_] = np.arange(table.shape[1]) < (np.diff(sentences.offsets) - N_PADS + 1)[:, None]
    return torch.from_numpy(table).to(device), torch.from_numpy(inside).to(device)


def pooled(vectors: "Tensor", inside: "Tensor") -> "tuple[Tensor, Tensor]":
    """Return mean and maximum over each sentence, both (N, width), of vectors (N, length, width)."""
    here = inside[..., None].to(vectors)
    mean = (vectors * here).sum(1) / here.sum(1)
    return mean, (vectors - _FAR * (1 - here)).amax(1)
