"""The longest n-gram that a text shares with a collection, and the most similar texts of the collection.

A suffix array sorts all positions of the collection by the tokens that follow, up to the end of the text. The
neighbours of the insertion point of a suffix share the most tokens with it. The longest shared n-gram is exact.

Source: Manber, Myers, "Suffix arrays: a new method for on-line string searches", SIAM Journal on Computing 22, 1993.
Departs from it: sorted part by part of first tokens, by as many following tokens at a time as fit 63 bits.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.matches import each_part, lay_out

IntArray = npt.NDArray[np.int64]

_BLOCK = 2048  # texts per task
_LOW = np.int64(0xFFFFFFFF)
_EACH_SIDE = 5  # neighbours before and after the insertion point


@dataclass(frozen=True)
class Nearest:
    """Longest shared n-grams and most similar texts of N texts."""

    # Length in tokens of the longest n-gram shared with the collection, shape (N,); 0 if none is
    lengths: IntArray
    # Indices of the most similar texts of the collection, best first, shape (N, n_candidates); -1 if there are fewer
    sentences: IntArray


@dataclass(frozen=True)
class Runs:
    """The longest n-gram that each of N texts shares with a collection; all shapes (N,)."""

    lengths: IntArray  # In tokens; 0 if none is shared
    starts: IntArray  # Where it starts in the text
    texts: IntArray  # A text of the collection that holds it; -1 if none is shared
    # The same for the longest n-gram that stands in one text of the collection only; 0 where each stands in several
    sole_lengths: IntArray
    sole_starts: IntArray
    sole_texts: IntArray


class SuffixArray:
    """The positions of a corpus sorted by the tokens that follow them; created by `build`."""

    def __init__(self, corpus: Corpus, tokens: npt.NDArray[np.int32], places: IntArray) -> None:
        self._corpus = corpus
        self._tokens = tokens  # all texts in one row, -1 after each
        self._places = places  # positions in the row, with the number of the text in the upper 32 bits
        counts = np.bincount(corpus.tokens, minlength=len(corpus.vocabulary))
        self._starts = np.concatenate(([0], np.cumsum(counts)))  # of the places of each first token

    def __repr__(self) -> str:
        return f"SuffixArray({len(self._corpus)} texts, {len(self._places)} positions)"

    @classmethod
    def build(cls, corpus: Corpus) -> "SuffixArray":
        n_bits = len(corpus.vocabulary).bit_length()  # of a token's number plus 1; 0 is the end of a text
        n_packed = max(1, 63 // n_bits)

        def sort_part(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> IntArray:
            unsorted, groups, depth = np.arange(len(places)), np.zeros(len(places), dtype=np.int64), 0
            while len(unsorted):
                keys = _pack(tokens, places[unsorted], depth, n_packed, n_bits)
                order = np.lexsort((keys, groups))
                places[unsorted] = places[unsorted[order]]
                keys, groups = keys[order], groups[order]
                is_first = np.ones(len(keys), dtype=np.bool_)
                is_first[1:] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
                groups = np.cumsum(is_first)
                goes_on = (np.bincount(groups)[groups] > 1) & (keys & ((1 << n_bits) - 1) != 0)
                unsorted, groups, depth = unsorted[goes_on], groups[goes_on], depth + n_packed
            return places

        parts = each_part([corpus], sort_part)
        return cls(corpus, lay_out([corpus]), np.concatenate([np.zeros(0, dtype=np.int64), *parts]))

    def nearest(self, corpus: Corpus, *, n_candidates: int = 20) -> Nearest:
        """Return the longest shared n-gram and the most similar texts of the collection for each text of `corpus`."""

        def look_up(start: int) -> tuple[IntArray, IntArray]:
            offsets = corpus.offsets[start : start + _BLOCK + 1]
            result: tuple[IntArray, IntArray] = _look_up(
                corpus.tokens, offsets, self._tokens, self._places, self._starts, n_candidates
            )
            return result

        parts = parallel_map(look_up, range(0, len(corpus), _BLOCK))
        if not parts:
            return Nearest(np.zeros(0, dtype=np.int64), np.zeros((0, n_candidates), dtype=np.int64))
        return Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))

    def runs(self, corpus: Corpus, *, own: IntArray | None = None) -> Runs:
        """Return the longest n-gram that each text of `corpus` shares with the collection.

        `own`: the number of a text of the collection that does not count for each text, shape (N,): the text itself.
        """
        own = np.full(len(corpus), -1, dtype=np.int64) if own is None else own
        found = np.zeros((6, len(corpus)), dtype=np.int64)

        def look_up(start: int) -> None:
            block = slice(start, start + _BLOCK)
            offsets = corpus.offsets[start : start + _BLOCK + 1]
            _longest_runs(
                corpus.tokens, offsets, own[block], self._tokens, self._places, self._starts, found[:, block]
            )  # fmt: skip

        parallel_map(look_up, range(0, len(corpus), _BLOCK))
        return Runs(*found)


def match_pairs(hypotheses: Corpus, references: Corpus, pairs: IntArray, *, max_order: int) -> npt.NDArray[np.int32]:
    """Return the clipped n-gram matches of hypotheses with single references.

    `pairs`: indices of the references of each hypothesis, shape (N, k), -1 for none.

    Shape (N, k, max_order), int32: an n-gram that occurs c times in the hypothesis and m times in the reference counts
    min(c, m).
    """
    counts = np.zeros((*pairs.shape, max_order), dtype=np.int32)

    def match(start: int) -> None:
        offsets, block = hypotheses.offsets[start : start + _BLOCK + 1], slice(start, start + _BLOCK)
        others, n_types = references, len(references.vocabulary)
        _match_pairs(hypotheses.tokens, offsets, others.tokens, others.offsets, pairs[block], n_types, counts[block])

    parallel_map(match, range(0, len(hypotheses), _BLOCK))
    return counts


@njit(cache=True, nogil=True)
def _pack(tokens, places, depth, n_packed, n_bits):  # type: ignore[no-untyped-def]
    """Return the `n_packed` tokens of each place, after `depth` of them, as one number; shape (n,)."""
    keys = np.zeros(len(places), dtype=np.int64)
    for entry in range(len(places)):
        position = (places[entry] & _LOW) + depth
        key = np.int64(0)
        for number in range(n_packed):
            token = np.int64(tokens[position])
            key = (key << n_bits) | (token + 1)
            if token < 0:
                key <<= n_bits * (n_packed - 1 - number)
                break
            position += 1
        keys[entry] = key
    return keys


@njit(cache=True, nogil=True)
def _common(tokens, start, end, others, place, other_end):  # type: ignore[no-untyped-def]
    """Return the length of the common prefix of two rows of tokens."""
    n = min(end - start, other_end - place)
    for step in range(n):
        if tokens[start + step] != others[place + step]:
            return step
    return n


@njit(cache=True, nogil=True)
def _look_up(tokens, offsets, others, places, starts, n_candidates):  # type: ignore[no-untyped-def]
    """Return the length of the longest n-gram and the most similar texts of each text in ``offsets``."""
    n_sentences = len(offsets) - 1
    longest = np.zeros(n_sentences, dtype=np.int64)
    similar = np.full((n_sentences, n_candidates), -1, dtype=np.int64)
    most = 0
    for sentence in range(n_sentences):
        most = max(most, offsets[sentence + 1] - offsets[sentence])
    neighbours = np.empty(2 * _EACH_SIDE * most, dtype=np.int64)
    for sentence in range(n_sentences):
        end = offsets[sentence + 1]
        n_neighbours = 0
        for start in range(offsets[sentence], end):
            low, high = starts[tokens[start]], starts[tokens[start] + 1]
            while low < high:
                middle = (low + high) // 2
                position = places[middle] & _LOW
                shared = _common(tokens, start, end, others, position, len(others))
                if start + shared < end and others[position + shared] < tokens[start + shared]:
                    low = middle + 1
                else:
                    high = middle
            for number in range(max(0, low - _EACH_SIDE), min(len(places), low + _EACH_SIDE)):
                shared = _common(tokens, start, end, others, places[number] & _LOW, len(others))
                if shared > 0:
                    longest[sentence] = max(longest[sentence], shared)
                    neighbours[n_neighbours] = (places[number] >> 32 << 32) | shared
                    n_neighbours += 1
        _choose(neighbours[:n_neighbours], similar[sentence])
    return longest, similar


@njit(cache=True, nogil=True)
def _longest_runs(tokens, offsets, own, others, places, starts, found):  # type: ignore[no-untyped-def]
    """Fill `found`, shape (6, n), with the fields of `Runs`.

    The binary search compares no token twice: what lies between two places shares at least as much as both.
    """
    for sentence in range(len(offsets) - 1):
        begin, end = offsets[sentence], offsets[sentence + 1]
        longest, text, longest_start = np.int64(0), np.int64(-1), np.int64(0)
        sole, sole_text, sole_start = np.int64(0), np.int64(-1), np.int64(0)
        for start in range(begin, end):
            if end - start <= min(longest, sole):
                break
            first, last = starts[tokens[start]], starts[tokens[start] + 1]
            low, high = first, last
            shared_low, shared_high = np.int64(1), np.int64(1)
            while low < high:
                middle = (low + high) // 2
                known = min(shared_low, shared_high)
                position = places[middle] & _LOW
                shared = known + _common(tokens, start + known, end, others, position + known, len(others))
                if start + shared < end and others[position + shared] < tokens[start + shared]:
                    low, shared_low = middle + 1, shared
                else:
                    high, shared_high = middle, shared
            right, left = low, low - 1
            while right < last and places[right] >> 32 == own[sentence]:
                right += 1
            while left >= first and places[left] >> 32 == own[sentence]:
                left -= 1
            after = _common(tokens, start, end, others, places[right] & _LOW, len(others)) if right < last else 0
            before = _common(tokens, start, end, others, places[left] & _LOW, len(others)) if left >= first else 0
            shared = np.int64(max(before, after))
            if shared == 0:
                continue
            holder = places[right] >> 32 if after >= before else places[left] >> 32
            if shared > longest:
                longest, text, longest_start = shared, holder, start - begin
            if shared > sole:
                is_sole = True
                place = right
                while is_sole and place < last:
                    if _common(tokens, start, start + shared, others, places[place] & _LOW, len(others)) < shared:
                        break
                    is_sole = places[place] >> 32 == holder or places[place] >> 32 == own[sentence]
                    place += 1
                place = left
                while is_sole and place >= first:
                    if _common(tokens, start, start + shared, others, places[place] & _LOW, len(others)) < shared:
                        break
                    is_sole = places[place] >> 32 == holder or places[place] >> 32 == own[sentence]
                    place -= 1
                if is_sole:
                    sole, sole_text, sole_start = shared, holder, start - begin
            if start + shared == end:  # what begins later is a part of this run: no longer, and in as many texts
                break
        found[0, sentence], found[1, sentence], found[2, sentence] = longest, longest_start, text
        found[3, sentence], found[4, sentence], found[5, sentence] = sole, sole_start, sole_text


@njit(cache=True, nogil=True)
def _choose(neighbours, chosen):  # type: ignore[no-untyped-def]
    """Write the texts with the largest summed weights into `chosen`, the largest first, of equals the first text.

    `neighbours`: the text in the upper 32 bits, the weight in the lower.
    """
    neighbours.sort()
    sums = np.empty(len(neighbours), dtype=np.int64)  # minus the sum, and the text, in the same way
    n_distinct, entry = 0, 0
    while entry < len(neighbours):
        name, total = neighbours[entry] >> 32, np.int64(0)
        while entry < len(neighbours) and neighbours[entry] >> 32 == name:
            total += neighbours[entry] & _LOW
            entry += 1
        sums[n_distinct] = (-total << 32) | name
        n_distinct += 1
    sums[:n_distinct].sort()
    for number in range(min(n_distinct, len(chosen))):
        chosen[number] = sums[number] & _LOW


@njit(cache=True, nogil=True)
def _match_pairs(tokens, offsets, others, other_offsets, pairs, n_types, counts):  # type: ignore[no-untyped-def]
    """Add the clipped matches of each pair to `counts`, shape (n, k, max_order)."""
    max_order = counts.shape[2]
    most = 0
    for sentence in range(len(pairs)):
        most = max(most, offsets[sentence + 1] - offsets[sentence])
    first = np.full(n_types, -1, dtype=np.int64)  # position of each token in the hypothesis
    following = np.empty(most, dtype=np.int64)  # next position with the same token
    names = np.empty((max_order, most), dtype=np.int64)  # first position of the n-gram that starts at each position
    left = np.zeros((max_order, most), dtype=np.int64)  # how often it is not matched yet
    taken = np.empty((max_order * most, 2), dtype=np.int64)
    for sentence in range(len(pairs)):
        begin, end = offsets[sentence], offsets[sentence + 1]
        for position in range(end - 1, begin - 1, -1):
            following[position - begin] = first[tokens[position]]
            first[tokens[position]] = position
        for position in range(begin, end):
            names[:, position - begin] = position - begin
            before = first[tokens[position]]
            while before < position:
                longest = min(max_order, end - position)
                for order in range(_common(tokens, position, position + longest, tokens, before, end)):
                    names[order, position - begin] = min(names[order, position - begin], names[order, before - begin])
                before = following[before - begin]
            for order in range(min(max_order, end - position)):
                left[order, names[order, position - begin]] += 1
        for number in range(pairs.shape[1]):
            reference = pairs[sentence, number]
            if reference < 0:
                continue
            n_taken, other_end = 0, other_offsets[reference + 1]
            for other in range(other_offsets[reference], other_end):
                best, shared = -1, 0
                position = first[others[other]]
                while position >= 0 and shared < max_order:
                    longest = min(max_order, end - position)
                    common = _common(tokens, position, position + longest, others, other, other_end)
                    if common > shared:
                        best, shared = position - begin, common
                    position = following[position - begin]
                for order in range(shared):
                    if left[order, names[order, best]] > 0:
                        left[order, names[order, best]] -= 1
                        counts[sentence, number, order] += 1
                        taken[n_taken, 0], taken[n_taken, 1] = order, names[order, best]
                        n_taken += 1
            for entry in range(n_taken):
                left[taken[entry, 0], taken[entry, 1]] += 1
        for position in range(begin, end):
            first[tokens[position]] = -1
            left[:, position - begin] = 0
