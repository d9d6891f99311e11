"""Batches of sentences of similar length, as padded tables."""

import math

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, PAD, SOS
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_SORTED_BATCHES = 16  # sentences are sorted by length within this many batches, so that there is little padding


def padded(
    tokens: TokenArray, offsets: IntArray, rows: IntArray, first: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return inputs (begun by ``<sos>``) and targets (ended by ``<eos>``), padded.

    `tokens`, `offsets`: sentences, shapes (T,) and (N + 1,); `rows`: which of them, shape (B,); `first`: input in place
    of ``<sos>`` of each of the N sentences, shape (N,), for conditional networks.

    Each of shape (B, L + 1), where L is the length of the longest of these sentences.
    """
    lengths = np.diff(offsets)[rows]
    length = int(lengths.max(initial=0))
    inputs = np.full((len(rows), length + 1), PAD, dtype=np.int64)
    inside = np.arange(length) < lengths[:, None]
    positions = np.arange(lengths.sum()) + np.repeat(offsets[rows] - np.cumsum(lengths) + lengths, lengths)
    inputs[:, 1:][inside] = tokens[positions]
    targets = np.roll(inputs, -1, axis=1)
    targets[np.arange(len(rows)), lengths] = EOS
    inputs[:, 0] = SOS if first is None else first[rows]
    return inputs, targets


def epoch_batches(lengths: IntArray, batch_size: int, seed: int, epoch: int) -> list[IntArray]:
    """Return the sentences of each batch, shuffled anew in each epoch; similar lengths share a batch."""
    n_batches = math.ceil(len(lengths) / batch_size)
    rng = stream(seed, str(epoch))
    order = rng.permutation(len(lengths))
    parts = np.array_split(order, math.ceil(n_batches / _SORTED_BATCHES))
    ordered = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    chosen = np.array_split(ordered, n_batches)
    return [chosen[number] for number in rng.permutation(n_batches)]
