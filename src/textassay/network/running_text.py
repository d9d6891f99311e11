"""Running text: sentences one after another, cut into streams that are read side by side, segment by segment.

A sentence's end is written ``<eos>`` and read as ``<sos>``, so that what begins a sentence in running text is also
what begins one that stands alone.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, PAD, SOS
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Segment:
    """Columns `start` to `stop` of all streams, and how many of those before are remembered: 0 is an empty memory."""

    start: int
    stop: int
    remembered: int


def running(tokens: TokenArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return what is read and what is to come, each of shape (T + N,), of N sentences with T tokens, in order."""
    n_sentences = len(offsets) - 1
    places = np.arange(len(tokens)) + np.repeat(np.arange(n_sentences), np.diff(offsets))
    inputs = np.full(len(tokens) + n_sentences, SOS, dtype=np.int64)
    targets = np.full(len(tokens) + n_sentences, EOS, dtype=np.int64)
    inputs[places + 1] = tokens
    targets[places] = tokens
    return inputs, targets


def streams(tokens: TokenArray, offsets: IntArray, n_streams: int) -> tuple[IntArray, IntArray]:
    """Return what `running` does in at most `n_streams` streams of equal length, the end of the last padded.

    Both have the shape (streams, length).
    """
    length = -(-(len(tokens) + len(offsets) - 1) // n_streams)
    rows = []
    for flat in running(tokens, offsets):
        n_rows = -(-len(flat) // length)
        rows.append(np.pad(flat, (0, n_rows * length - len(flat)), constant_values=PAD).reshape(n_rows, length))
    return rows[0], rows[1]


def segments(
    length: int, *, segment: int, memory: int, emptied: float = 0.0, seed: int = 0, epoch: int = 0
) -> list[Segment]:
    """Return the segments of streams of `length` columns, in order."""
    starts = range(0, length, segment)
    forgets = stream(seed, "emptied", epoch).random(len(starts)) < emptied
    found: list[Segment] = []
    remembered = 0
    for start, forgotten in zip(starts, forgets.tolist(), strict=True):
        stop = min(start + segment, length)
        found.append(Segment(start, stop, 0 if forgotten else remembered))
        remembered = min(memory, found[-1].remembered + stop - start)
    return found
