"""Some texts of a large sample, drawn by what they say: texts with much in common are drawn together.

Of a random tenth of the texts, a tenth of the partners would be left. So every pair of adjacent words gets a random
number, a text that of its pair with the least one, and texts with the least numbers are drawn: two texts that share
half of their pairs are drawn together in half of the cases (min-wise hashing: Broder, "On the resemblance and
containment of documents", 1997). Pairs of very many texts do not count, or all of these would be drawn at once.

The draw knows nothing of sides and rows, so what is true of independent texts at each place of the text space is true
of those that are drawn.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.inspection.sentence_keys import Keys, pair_keys

IntArray = npt.NDArray[np.int64]

_BUCKETS = 22  # bits: of pairs that are counted
_FREQUENT = 100  # a pair of more than this part of the texts that are wanted does not count
_TEXTS_AT_ONCE = 1 << 18
_LAST = np.iinfo(np.uint64).max


def drawn_by_content(sides: Sequence[Corpus], most: int) -> list[Corpus]:
    """Return at most `most` texts of corpora that share a vocabulary, in their order; all where there are no more."""
    if sum(map(len, sides)) <= most:
        return list(sides)
    counts = np.zeros(1 << _BUCKETS, dtype=np.int64)
    for side in sides:
        for keys, _ in _blocks(side):
            counts += np.bincount(_bucket(keys), minlength=len(counts))
    is_frequent = counts > max(1, most // _FREQUENT)
    least = [_least(side, is_frequent) for side in sides]
    limit = np.partition(np.concatenate(least), most)[most]
    return [side.take(np.flatnonzero(of_texts < limit)) for side, of_texts in zip(sides, least, strict=True)]


def _least(side: Corpus, is_frequent: npt.NDArray[np.bool_]) -> Keys:
    """Return the least key of each text, shape (N,); the last one where it has no pair that counts."""
    least = []
    for keys, starts in _blocks(side):
        keys[is_frequent[_bucket(keys)]] = _LAST
        least.append(np.minimum.reduceat(keys, starts))
    return np.concatenate(least)


def _blocks(side: Corpus) -> Iterator[tuple[Keys, IntArray]]:
    for first in range(0, len(side), _TEXTS_AT_ONCE):
        yield pair_keys(side, first, first + _TEXTS_AT_ONCE)


def _bucket(keys: Keys) -> IntArray:
    return (keys >> np.uint64(64 - _BUCKETS)).astype(np.int64)
