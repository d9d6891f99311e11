"""Rows for the critic of a recurrent Wasserstein GAN: curriculum of lengths, windows of real text, teacher helping.

Source: Press et al., "Language Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017:
curriculum, variable length and teacher helping. Rows shorter than the present length are padded with zeros on the left.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, Corpus
from textassay.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


IntArray = npt.NDArray[np.int64]


class TextWindows:
    """Windows of a text, of any length.

    `ends`: whether windows begin where sentences begin, and ``<eos>`` fills what is behind their ends; else a window
    may begin at any token, as long as it lies inside a sentence.
    """

    def __init__(self, text: Corpus, longest: int, *, ends: bool) -> None:
        self._text = text
        self._ends = ends
        self._bounds: tuple[int, IntArray] = (0, np.zeros(0, dtype=np.int64))  # of the last length
        if not ends and int(text.lengths.max(initial=0)) < longest:
            raise InputError(
                f"no sentence has {longest} tokens, the longest {int(text.lengths.max(initial=0))}: use shorter windows"
            )

    def draw(self, n: int, length: int, rng: np.random.Generator) -> IntArray:
        """Return `n` windows of `length` tokens, drawn with replacement, shape (n, length)."""
        lengths, starts = self._text.lengths, self._text.offsets[:-1]
        if self._ends:
            rows = rng.integers(len(lengths), size=n)
            first, inside = starts[rows], np.arange(length) < lengths[rows, None]
        else:
            if self._bounds[0] != length:
                self._bounds = (length, np.cumsum(np.maximum(lengths - length + 1, 0)))
            bounds = self._bounds[1]
            chosen = rng.integers(bounds[-1], size=n)
            rows = np.searchsorted(bounds, chosen, side="right")
            first = starts[rows] + chosen - np.concatenate(([0], bounds))[rows]
            inside = np.ones((n, length), dtype=np.bool_)
        windows = np.full((n, length), EOS, dtype=np.int64)
        windows[inside] = self._text.tokens[(first[:, None] + np.arange(length))[inside]]
        return windows


def left_padded(rows: "Tensor", which: "Tensor", last: "Tensor") -> "Tensor":
    """Return prefixes of rows, left-padded with zeros, shape (R, L, V).

    `rows`: distributions or one-hot vectors, shape (B, L, V); `which`: row of each prefix, shape (R,); `last`: its last
    position, from 0, shape (R,).
    """
    import torch

    length = rows.shape[1]
    places = torch.arange(length, device=rows.device) - (length - 1 - last[:, None])
    return rows[which[:, None], places.clamp(min=0)] * (places >= 0)[:, :, None]


def helped(gold: "Tensor", predicted: "Tensor", which: "Tensor", last: "Tensor") -> "Tensor":
    """Return real prefixes with the prediction at their last position, left-padded, shape (R, L, V).

    `gold`: one-hot vectors of real text, shape (B, L, V); `predicted`: distributions at each position with teacher
    forcing, shape (B, L, V).
    """
    import torch

    beginnings = left_padded(gold, which, last)
    return torch.cat((beginnings[:, :-1], predicted[which, last][:, None]), 1)
