"""Texts as n-grams with rows in a table of counts: each token keeps the longest n-gram that starts there.

The row of an n-gram begins with the row of its prefix, which starts at the same token, so one number a token says all
n-grams of a text. An n-gram that occurs once in all texts needs no row: a text that is described has not been counted,
and nobody else has it. Most n-grams are of that kind. They do count among the followers of their prefix, and so on,
which whoever counts a text sees: an n-gram of it has no row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.ngram.index import NgramIndex, hashed, slot_of

Ids = npt.NDArray[np.int32]
IntArray = npt.NDArray[np.int64]

_WIDTH = 13  # the row of the prefix, and 12 counts
_NO_AROUND, _OCCURRENCES_ALONE = 10, 4  # of the longest n-grams but one, and of the longest
_AT_ONCE = 8_000_000  # n-grams looked for in one pass over the text, to limit memory
_MOST_SLOTS = 2**31 - 1


@dataclass(frozen=True)
class NgramTexts:
    """N texts, and the layout of a table of counts of their n-grams; made by `with_index` or `repeated`."""

    longest: Ids  # Row of the longest n-gram with a row that starts at each token, -1 for none, shape (T,)
    offsets: IntArray  # Shape (N + 1,)
    firsts: IntArray  # First row of each order, and the end of the table, shape (max_order + 1,)
    widths: tuple[int, ...]  # Of rows, one an order
    prefixes: tuple[Ids, ...]  # Row of the prefix of each n-gram, one array an order
    _index: NgramIndex | None  # The ids of all n-grams, so that new texts can be looked up; or none

    @classmethod
    def with_index(cls, corpora: Sequence[Corpus], *, max_order: int) -> "NgramTexts":
        """Return the texts of `corpora`, in order; new texts with the same n-grams can be looked up (`rows_of`)."""
        index = NgramIndex.build(corpora, max_order=max_order)
        widths = _widths(max_order)
        firsts = _firsts(index.sizes, widths)
        rows = [_rows(index, corpus, firsts, widths) for corpus in corpora]
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        prefixes = [np.full(index.sizes[0], -1, dtype=np.int32)]
        for order in range(2, max_order + 1):
            prefixes.append(_row(index.prefixes(order), firsts[order - 2], widths[order - 2]))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return cls(np.concatenate(rows), offsets, firsts, widths, tuple(prefixes), index)

    @classmethod
    def repeated(cls, tokens: Ids, offsets: IntArray, *, max_order: int) -> "NgramTexts":
        """Return texts, shapes (T,) and (N + 1,), in which n-grams that occur once have no row."""
        widths = _widths(max_order)
        longest = np.full(len(tokens), -1, dtype=np.int32)
        firsts, prefixes = [_WIDTH], []
        for order, width in enumerate(widths, start=1):
            lowest = firsts[-2] if order > 1 else -1
            prefixes.append(_number_repeated(tokens, offsets, longest, order, lowest, firsts[-1], width, _AT_ONCE))
            firsts.append(_checked(firsts[-1] + len(prefixes[-1]) * width))
        return cls(longest, offsets, np.array(firsts), widths, tuple(prefixes), None)

    @property
    def index(self) -> NgramIndex:
        """The ids of all n-grams."""
        if self._index is None:
            raise InputError("n-grams that were numbered for one set of texts have no index for others")
        return self._index

    @property
    def max_order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.widths)

    def new_table(self) -> Ids:
        """Return the table without counts: row 0 is the empty n-gram, the others begin with the row of the prefix."""
        table = np.zeros(self.firsts[-1], dtype=np.int32)
        table[0] = -1
        for first, end, width, rows in zip(self.firsts[:-1], self.firsts[1:], self.widths, self.prefixes, strict=True):
            table[first:end:width] = rows
        return table

    def rows_of(self, corpus: Corpus) -> Ids:
        """Return `longest` of other texts."""
        return _rows(self.index, corpus, self.firsts, self.widths)


def _widths(max_order: int) -> tuple[int, ...]:
    """Return the widths of rows: what is never read of the longest n-grams is not kept."""
    return (*[_WIDTH] * (max_order - 2), *([_NO_AROUND] if max_order > 1 else []), _OCCURRENCES_ALONE)


def _firsts(sizes: Sequence[int], widths: Sequence[int]) -> IntArray:
    spans = [_WIDTH, *(size * width for size, width in zip(sizes, widths, strict=True))]
    _checked(sum(spans))
    return np.cumsum(spans, dtype=np.int64)


def _checked(n_slots: int) -> int:
    if n_slots > _MOST_SLOTS:
        raise InputError(f"these texts have too many n-grams to be counted at once: {n_slots} numbers")
    return n_slots


def _row(ids: Ids, first: int, width: int) -> Ids:
    return (first + ids.astype(np.int64) * width).astype(np.int32)


def _rows(index: NgramIndex, corpus: Corpus, firsts: IntArray, widths: Sequence[int]) -> Ids:
    longest = np.full(len(corpus.tokens), -1, dtype=np.int32)
    for ids, first, width in zip(index.all_ids(corpus), firsts[:-1].tolist(), widths, strict=True):
        _mark(ids, first, width, longest)
    return longest


@njit(cache=True, nogil=True)
def _mark(ids, first, width, longest):  # type: ignore[no-untyped-def]
    """Write the rows of the n-grams of one order over those of shorter ones."""
    for start in range(len(ids)):
        if ids[start] >= 0:
            longest[start] = first + np.int64(ids[start]) * width


@njit(cache=True, nogil=True)
def _number_repeated(tokens, offsets, longest, order, lowest, first, width, at_once):  # type: ignore[no-untyped-def]
    """Write over `longest` the rows of n-grams of `order` that occur at least twice; return the rows of their prefixes.

    In `longest` are the rows of shorter n-grams, those of order - 1 from `lowest` on. An n-gram of which a part occurs
    once occurs once, too. Rows of `order` begin at `first`.
    """
    n_candidates = 0
    for text in range(len(offsets) - 1):
        for start in range(offsets[text], offsets[text + 1] - order + 1):
            n_candidates += longest[start] >= lowest and (order == 1 or longest[start + 1] >= lowest)
    n_parts = n_candidates // at_once + 1
    size = 2
    while size < 2 * (n_candidates // n_parts + 1):
        size *= 2
    keys, values = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32)
    prefixes = np.empty(n_candidates // 2 + 1, dtype=np.int32)
    n_ngrams = 0
    for part in range(n_parts):
        keys[:] = -1
        for text in range(len(offsets) - 1):
            for start in range(offsets[text], offsets[text + 1] - order + 1):
                prefix = longest[start]
                if prefix < lowest or prefix >= first or (order > 1 and longest[start + 1] < lowest):
                    continue  # of a part before this one, or it occurs once
                key = (np.int64(prefix + 1) << 32) | np.int64(tokens[start + order - 1])
                if n_parts > 1 and np.int64(hashed(key) >> np.uint64(40)) % n_parts != part:
                    continue
                slot = slot_of(keys, key)
                if keys[slot] != key:
                    keys[slot] = key
                    values[slot] = -start - 2  # where it is, until it is seen again
                    continue
                if values[slot] < 0:
                    prefixes[n_ngrams] = prefix
                    row = first + np.int64(n_ngrams) * width
                    longest[-values[slot] - 2] = row
                    values[slot] = row
                    n_ngrams += 1
                longest[start] = values[slot]
    return prefixes[:n_ngrams].copy()
