"""Near copies: generated texts that become a training text by changing at most one token in ten.

A change is a substitution, an insertion or a deletion of a token. A text that at most k of them separate from another,
which is cut into k + 1 parts or more, holds one of any k + 1 of these parts as it is, at most k tokens from its place
(the pigeonhole principle). So the k + 1 rarest parts of each training text are looked up in the generated texts by
their hash, and what is found is verified by the edit distance: none is missed and none is wrong. Into how many parts a
training text is cut is chosen so that these are rare, which parts of a template are not. Where all are frequent
nevertheless, the search ends after some thousands of training texts, and `Near.is_complete` says so.

Sources: Li, Deng, Wang, Feng, "Pass-Join: A Partition-based Method for Similarity Joins", PVLDB 5, 2011 (parts);
Ukkonen, "Algorithms for approximate string matching", Information and Control 64, 1985 (the bounded distance).
Departs from them: parts have a key of their own content, whatever the length of their text, so that one pass over the
parts of a few lengths finds those of all texts of similar length; and only the rarest are looked up.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.inspection.sentence_keys import sentence_keys
from textassay.leakage.kernels import rarest_parts, search_nearest
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

SHORTEST = 8  # tokens of a text that can be a near copy: of shorter ones, one token is more than one in eight
_MOST_CANDIDATES = 1 << 11  # looked at for one text
_BLOCK = 1 << 13  # texts per task
_NONE = np.int64(-1)


@dataclass(frozen=True, eq=False)
class Near:
    """The nearest training text of each of N texts; all shapes (N,)."""

    texts: IntArray  # Its number; -1 where no training text is near enough
    distances: IntArray  # Tokens to change; -1 where there is none
    is_complete: npt.NDArray[np.bool_]  # Whether all that could be near was looked at


def allowed_edits(n_tokens: IntArray) -> IntArray:
    """Return how many tokens may differ where the longer of both texts has `n_tokens`: one in ten, rounded, or one."""
    return np.maximum(1, (np.asarray(n_tokens, dtype=np.int64) + 5) // 10)


def near_copies(corpus: Corpus, train: Corpus) -> Near:
    """Return the nearest training text of each text of `corpus` that has at least `SHORTEST` tokens.

    Of several that are as near, one; exact copies are found, too.
    """
    keys = sentence_keys(corpus)
    distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    texts = np.full(len(distinct), _NONE)
    distances = np.full(len(distinct), _NONE)
    is_complete = np.ones(len(distinct), dtype=np.bool_)
    exact = first_of_each(distinct, train)
    texts[exact >= 0], distances[exact >= 0] = exact[exact >= 0], 0
    long = corpus.lengths[first] >= SHORTEST
    texts[~long], distances[~long] = _NONE, _NONE
    left = np.flatnonzero(long & (exact < 0))
    left = left[np.argsort(first[left])]
    parts = _Parts.of(train, corpus)

    def look_up(start: int) -> None:
        places = left[start : start + _BLOCK]
        found = np.empty((3, len(places)), dtype=np.int64)
        search_nearest(corpus.tokens, corpus.offsets, first[places], *parts.arrays(), _MOST_CANDIDATES, found)
        texts[places], distances[places], is_complete[places] = found[0], found[1], found[2] == 1

    if len(parts):
        parallel_map(look_up, range(0, len(left), _BLOCK))
    return Near(texts[which], distances[which], is_complete[which])


def first_of_each(keys: npt.NDArray[np.uint64], train: Corpus) -> IntArray:
    """Return the first training text with each key of `sentence_keys`, -1 where there is none; shape of `keys`."""
    known, firsts = np.unique(sentence_keys(train), return_index=True)
    if not len(known):
        return np.full(len(keys), _NONE)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, firsts[places], _NONE)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of all different training texts, in the order of their hashes, then of the lengths of their texts."""

    train: Corpus
    words: npt.NDArray[np.uint64]  # A random number of each token
    directory: IntArray  # Where the hashes with the same highest bits start
    n_bits: int  # So many
    hashes: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.int32]  # Of the text of each part
    texts: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    # By the number of tokens of a text: the shortest and longest training text that may be near, and, by that of a
    # training text, into how many parts it is cut
    shortest: IntArray
    longest: IntArray
    n_parts: IntArray

    def __len__(self) -> int:
        return len(self.hashes)

    @classmethod
    def of(cls, train: Corpus, corpus: Corpus) -> "_Parts":
        most = max(int(train.lengths.max(initial=0)), int(corpus.lengths.max(initial=0)))
        numbers = np.arange(2 * most + 2 * SHORTEST)
        allowed = allowed_edits(numbers)
        largest = np.searchsorted(numbers - allowed, numbers, side="right") - 1  # that may be as far off as it may
        words = stream(0, "near-copies", "tokens").integers(
            0, np.iinfo(np.uint64).max, size=len(train.vocabulary), dtype=np.uint64, endpoint=True
        )
        n_parts = allowed[largest] + 1
        distinct = np.unique(sentence_keys(train), return_index=True)[1]
        chosen = np.sort(distinct[train.lengths[distinct] >= SHORTEST - 1])
        hashes, entries = rarest_parts(train.tokens, train.offsets, chosen, words, n_parts)
        order = np.lexsort((entries[0], hashes))
        hashes, entries = hashes[order], entries.take(order, axis=1)
        n_bits = max(1, len(hashes).bit_length())
        directory = np.searchsorted(hashes >> np.uint64(64 - n_bits), np.arange((1 << n_bits) + 1, dtype=np.uint64))
        return cls(
            train, words, directory, n_bits, hashes, entries[0], entries[1], entries[2],
            numbers - allowed, largest, n_parts,
        )  # fmt: skip

    def arrays(self) -> tuple[object, ...]:
        return (
            self.train.tokens, self.train.offsets, self.words, self.directory, self.n_bits, self.hashes, self.lengths,
            self.texts, self.starts, self.shortest, self.longest, self.n_parts,
        )  # fmt: skip
