"""Running text: concatenated sentences, cut into parallel streams that are read segment by segment.

The end of a sentence is ``<eos>`` as a target and ``<sos>`` as an input, so that a sentence in running text begins
as one that stands alone.

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
    """Columns `start` to `stop` of all streams, and how many columns before them are in memory."""

    start: int
    stop: int
    remembered: int


def running(tokens: TokenArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return inputs and targets, each of shape (T + N,), of N sentences with T tokens, in order."""
    n_sentences = len(offsets) - 1
    places = np.arange(len(tokens)) + np.repeat(np.arange(n_sentences), np.diff(offsets))
    inputs = np.full(len(tokens) + n_sentences, SOS, dtype=np.int64)
    targets = np.full(len(tokens) + n_sentences, EOS, dtype=np.int64)
    inputs[places + 1] = tokens
    targets[places] = tokens
    return inputs, targets


def streams(tokens: TokenArray, offsets: IntArray, n_streams: int) -> tuple[IntArray, IntArray]:
    """Return inputs and targets in at most `n_streams` streams of equal length, the last padded: (streams, length)."""
    length = -(-(len(tokens) + len(offsets) - 1) // n_streams)
    rows = []
    for flat in running(tokens, offsets):
        n_rows = -(-len(flat) // length)
        rows.append(np.pad(flat, (0, n_rows * length - len(flat)), constant_values=PAD).reshape(n_rows, length))
    return rows[0], rows[1]


def segments(
    length: int, *, segment: int, memory: int, reset_prob: float = 0.0, seed: int = 0, epoch: int = 0
) -> list[Segment]:
    """Return the segments of streams of `length` columns; memory is reset with probability `reset_prob` before each."""
    starts = range(0, length, segment)
    resets = stream(seed, "emptied", epoch).random(len(starts)) < reset_prob
    parts: list[Segment] = []
    remembered = 0
    for start, is_reset in zip(starts, resets.tolist(), strict=True):
        stop = min(start + segment, length)
        parts.append(Segment(start, stop, 0 if is_reset else remembered))
        remembered = min(memory, parts[-1].remembered + stop - start)
    return parts
