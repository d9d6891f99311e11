"""Batches of sentence pairs by number of tokens, as padded tables."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, ParallelText
from textassay.generator.batching import padded
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


class PairBatch(NamedTuple):
    """Sources (B, S) with their ends; inputs, begun by ``<sos>``, and targets, (B, L + 1); padded."""

    source: IntArray
    inputs: IntArray
    targets: IntArray


def pair_batch(pairs: ParallelText, rows: IntArray) -> PairBatch:
    """Return the pairs of these numbers, shape (B,), as tables."""
    target = pairs.target
    return PairBatch(source_table(pairs.source, rows), *padded(target.tokens, target.offsets, rows))


def source_table(source: Corpus, rows: IntArray) -> IntArray:
    """Return the sentences of these numbers, each with its end, padded to the longest, shape (B, S)."""
    _, ended = padded(source.tokens, source.offsets, rows)
    return ended


def token_batches(pairs: ParallelText, n_tokens: int, seed: int, epoch: int) -> list[IntArray]:
    """Return the numbers of the pairs of each batch, shuffled anew in each epoch; similar lengths together."""
    rng = stream(seed, "pairs", str(epoch))
    order = rng.permutation(len(pairs))
    source, target = pairs.source.lengths[order], pairs.target.lengths[order]
    order = order[np.lexsort((source, target))]
    sizes = np.maximum(pairs.source.lengths, pairs.target.lengths)[order] + 1
    starts, longest = [0], 0
    for place, size in enumerate(sizes.tolist()):
        longest = max(longest, size)
        if longest * (place + 1 - starts[-1]) > n_tokens and place > starts[-1]:
            starts.append(place)
            longest = size
    batches = np.split(order, starts[1:])
    return [batches[number] for number in rng.permutation(len(batches))]


def heaviest_batch(pairs: ParallelText, n_tokens: int) -> IntArray:
    """Return the batch of longest pairs."""
    sizes = np.maximum(pairs.source.lengths, pairs.target.lengths) + 1
    return np.argsort(-sizes, kind="stable")[: max(1, n_tokens // int(sizes.max()))]
