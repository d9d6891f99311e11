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
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.inspection.sentence_keys import sentence_keys
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

SHORTEST = 8  # tokens of a text that can be a near copy: of shorter ones, one token is more than one in eight
_MOST_CANDIDATES = 1 << 11  # looked at for one text
_MOST_STEPS = 1 << 19  # of edit distances, for one text
_MORE_PARTS = 3  # into which a text is cut, than are looked up
_COUNT_BITS = 22  # of a part's hash, by which its frequency is counted
_BLOCK = 1 << 13  # texts per task
_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial hash of a part
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
        search: Any = _nearest
        search(corpus.tokens, corpus.offsets, first[places], *parts.arrays(), _MOST_CANDIDATES, found)
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
        n_entries = int(n_parts[train.lengths[chosen]].sum())
        hashes = np.empty(n_entries, dtype=np.uint64)
        entries = np.empty((3, n_entries), dtype=np.int32)
        counts = np.zeros(1 << _COUNT_BITS, dtype=np.int32)
        cut: Any = _cut
        for is_counted in (False, True):  # count parts, then choose the rarest
            cut(train.tokens, train.offsets, chosen, words, n_parts, counts, is_counted, hashes, entries)
        order = np.lexsort((entries[0], hashes))
        hashes, entries = hashes[order], entries[:, order]
        n_bits = max(1, int(n_entries).bit_length())
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


@njit(cache=True, nogil=True)
def _cut(tokens, offsets, chosen, words, n_parts, counts, is_counted, hashes, entries):  # type: ignore[no-untyped-def]
    """Count all parts of the `chosen` texts; once they are counted, fill `hashes` and `entries` with the rarest.

    `counts`: by the highest bits of a part's hash; `entries`: length of the text, text, start, shape (3, n_entries).
    """
    most = 0
    for text in chosen:
        most = max(most, n_parts[offsets[text + 1] - offsets[text]] + _MORE_PARTS)
    values, numbers = np.empty((_MORE_PARTS + 1, most), dtype=np.uint64), np.empty(most, dtype=np.int64)
    shift = np.uint64(64 - _COUNT_BITS)
    entry = 0
    for text in chosen:
        begin, length = offsets[text], offsets[text + 1] - offsets[text]
        n_kept = n_parts[length]
        best, fewest = 0, np.int64(-1)
        for more in range(min(_MORE_PARTS, length - n_kept) + 1):
            n = n_kept + more
            for part in range(n):
                value = np.uint64(0)
                for place in range(begin + part * length // n, begin + (part + 1) * length // n):
                    value = value * _BASE + words[tokens[place]]
                values[more, part] = value
                if is_counted:
                    numbers[part] = counts[value >> shift]
                else:
                    counts[value >> shift] += 1
            if is_counted:
                total = np.sum(np.sort(numbers[:n])[:n_kept])
                if fewest < 0 or total < fewest:
                    best, fewest = more, total
        if not is_counted:
            continue
        n = n_kept + best
        for part in range(n):
            numbers[part] = counts[values[best, part] >> shift]
        for part in np.argsort(numbers[:n])[:n_kept]:
            hashes[entry] = values[best, part]
            entries[0, entry], entries[1, entry], entries[2, entry] = length, text, part * length // n
            entry += 1


@njit(cache=True, nogil=True)
def _first_entry(hashes, lengths, low, high, value, length):  # type: ignore[no-untyped-def]
    """Return the first entry from `low` to `high` that has the hash `value` and at least `length`, or comes after."""
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] < value or (hashes[middle] == value and lengths[middle] < length):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _nearest(  # type: ignore[no-untyped-def]
    tokens, offsets, queries, train_tokens, train_offsets, words, directory, n_bits, hashes, lengths, texts, starts,
    shortest, longest, n_parts, most_candidates, found,
):  # fmt: skip
    """Fill `found`, shape (3, n): the nearest training text of each query, its distance, whether all were looked at."""
    most = 0
    for query in queries:
        most = max(most, offsets[query + 1] - offsets[query])
    prefix = np.zeros(most + 1, dtype=np.uint64)
    verified = np.full(len(train_offsets), -1, dtype=np.int32)
    width = 2 * (most + 2) + 1
    reach, before = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    shift = np.uint64(64 - n_bits)
    for number in range(len(queries)):
        begin, end = offsets[queries[number]], offsets[queries[number] + 1]
        n = end - begin
        for place in range(n):
            prefix[place + 1] = prefix[place] * _BASE + words[tokens[begin + place]]
        least, largest = shortest[n], longest[n]
        part_low, part_high = n, np.int64(1)
        for length in range(least, largest + 1):
            part_low = min(part_low, length // (n_parts[length] + min(_MORE_PARTS, length - n_parts[length])))
            part_high = max(part_high, -(-length // n_parts[length]))
        part_low, part_high = max(1, part_low), min(part_high, n)
        n_windows = 0
        windows = np.empty(((part_high - part_low + 1) * n, 3), dtype=np.int64)  # how many entries, the first, place
        power = np.uint64(1)
        for _ in range(part_low):
            power *= _BASE
        for size in range(part_low, part_high + 1):
            for start in range(n - size + 1):
                value = prefix[start + size] - prefix[start] * power
                bucket = value >> shift
                low, high = directory[bucket], directory[bucket + np.uint64(1)]
                if low == high:
                    continue
                first = _first_entry(hashes, lengths, low, high, value, least)
                if first == high or hashes[first] != value or lengths[first] > largest:
                    continue
                last = _first_entry(hashes, lengths, first, high, value, largest + 1)
                windows[n_windows, 0], windows[n_windows, 1], windows[n_windows, 2] = last - first, first, start
                n_windows += 1
            power *= _BASE
        best, best_text, left, steps = np.int64(-1), np.int64(-1), most_candidates, np.int64(0)
        for window in np.argsort(windows[:n_windows, 0]):
            n_entries, first, start = windows[window]
            for entry in range(first, first + min(n_entries, left)):
                allowed = max(1, (max(n, lengths[entry]) + 5) // 10)
                if abs(starts[entry] - start) > allowed or verified[texts[entry]] == number:
                    continue
                if best >= 0:
                    allowed = min(allowed, best - 1)
                if steps > _MOST_STEPS:
                    break
                text = texts[entry]
                verified[text] = number
                steps += (allowed + 1) ** 2
                distance = edit_distance(
                    tokens, begin, end, train_tokens, train_offsets[text], train_offsets[text + 1], allowed, reach,
                    before,
                )  # fmt: skip
                if distance <= allowed:
                    best, best_text = distance, text
                    if best <= 1:
                        break
            left = 0 if steps > _MOST_STEPS else left - min(n_entries, left)
            if left == 0 or 0 <= best <= 1:
                break
        found[0, number], found[1, number] = best_text, best
        found[2, number] = left > 0 or best >= 0


@njit(cache=True, nogil=True)
def edit_distance(one, begin, end, other, other_begin, other_end, most, reach, before):  # type: ignore[no-untyped-def]
    """Return how many tokens to substitute, insert or delete turn one text into the other; ``most + 1`` if more.

    `reach`, `before`: room for ``2 * most + 3`` numbers each: how far in `one` so many edits lead on each diagonal.
    """
    n, m = end - begin, other_end - other_begin
    if abs(n - m) > most:
        return most + 1
    unreached = -(n + m + most + 2)
    middle = most + 1
    before[: 2 * most + 3] = unreached
    for n_edits in range(most + 1):
        for diagonal in range(-n_edits, n_edits + 1):  # the place in `one` less that in `other`
            at = middle + diagonal
            reached = max(before[at] + 1, before[at - 1] + 1, before[at + 1]) if n_edits else np.int64(0)
            place = min(reached, n, m + diagonal)
            while (
                0 <= place < n
                and 0 <= place - diagonal < m
                and one[begin + place] == other[other_begin + place - diagonal]
            ):
                place += 1
            reach[at] = place
            if diagonal == n - m and place >= n:
                return n_edits
        for diagonal in range(-n_edits, n_edits + 1):
            before[middle + diagonal] = reach[middle + diagonal]
    return most + 1
