"""Interning: number the distinct tokens in order of appearance, in one compiled pass over UTF-8 bytes.

An open-addressing hash table with linear probing; tokens with equal hashes are compared byte by byte, so the numbers
are exact. White space is what `str.split` splits at.

Source of the hash: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", RFC 9923 (FNV-1a, 64 bits).
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_FOLD = np.uint64(32)
_N_SLOTS = 1 << 13
# what a byte can begin: 0 no white space, 1 ASCII white space, 2 perhaps white space of several bytes
_KINDS = np.zeros(256, dtype=np.uint8)
_KINDS[[0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20]] = 1
_KINDS[[0xC2, 0xE1, 0xE2, 0xE3]] = 2


Number = TypeVar("Number", np.uint8, np.int64, np.uint64)


class Unit(IntEnum):
    """What is a token: each run without white space, each whole string, or each character."""

    WORD = 0
    STRING = 1
    CHARACTER = 2


class Interner:
    """Distinct tokens in order of first appearance, as bytes, with their hashes; `n_tokens` so far."""

    def __init__(self) -> None:
        self.n_tokens = 0
        self._slots = np.full(_N_SLOTS, -1, dtype=np.int32)
        self._hashes = np.zeros(_N_SLOTS // 2, dtype=np.uint64)
        self._ends = np.zeros(_N_SLOTS // 2 + 1, dtype=np.int64)
        self._store = np.zeros(4 * _N_SLOTS, dtype=np.uint8)

    def add(self, texts: Sequence[str], unit: Unit) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the number of each token, shape (T,), and the number of tokens of each text, shape (n_texts,)."""
        joined = "".join(texts)
        data = np.frombuffer(joined.encode("utf-8"), dtype=np.uint8)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        if not joined.isascii():
            _to_byte_lengths(data, lengths)
        most = {Unit.WORD: (len(data) + len(texts)) // 2, Unit.STRING: len(texts), Unit.CHARACTER: len(joined)}[unit]
        numbers = np.empty(most, dtype=np.int32)
        counts = np.empty(len(texts), dtype=np.int64)
        n_done, position, n_numbers = 0, 0, 0
        while n_done < len(texts):
            self._make_room(int(lengths[n_done]))
            n_done, position, n_numbers, self.n_tokens = _scan(
                data, lengths, int(unit), numbers, counts, n_done, position, n_numbers,
                self.n_tokens, self._slots, self._hashes, self._ends, self._store,
            )  # fmt: skip
        return numbers[:n_numbers].copy(), counts

    def _make_room(self, n_bytes: int) -> None:
        """Make room for a text of `n_bytes`, however many new tokens it has; arrays that grow at least double."""
        most = self.n_tokens + n_bytes + 1
        if most > len(self._hashes):
            self._hashes = _grown(self._hashes, 2 * most)
            self._ends = _grown(self._ends, 2 * most + 1)
            self._slots = np.full(1 << (4 * most).bit_length(), -1, dtype=np.int32)
            _fill_slots(self._slots, self.n_tokens, self._hashes)
        most = int(self._ends[self.n_tokens]) + n_bytes
        if most > len(self._store):
            self._store = _grown(self._store, 2 * most)

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Hash of each distinct token, shape (n_tokens,); the same on every machine."""
        return self._hashes[: self.n_tokens].copy()

    @property
    def encoded(self) -> tuple[bytes, npt.NDArray[np.int64]]:
        """UTF-8 bytes of the distinct tokens, one after another, and their bounds, shape (n_tokens + 1,)."""
        ends = self._ends[: self.n_tokens + 1].copy()
        return self._store[: ends[-1]].tobytes(), ends


def _grown(array: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    larger = np.zeros(size, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _to_byte_lengths(data, lengths):  # type: ignore[no-untyped-def]
    """Replace the number of characters of each text by its number of bytes."""
    position = 0
    for text in range(len(lengths)):
        start = position
        for _ in range(lengths[text]):
            position += _width(data[position])
        lengths[text] = position - start


@njit(cache=True, nogil=True)
def _width(first):  # type: ignore[no-untyped-def]
    """Return the number of bytes of the character that begins with byte `first`."""
    if first < 0x80:
        return 1
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


@njit(cache=True, nogil=True)
def _space_width(data, position):  # type: ignore[no-untyped-def]
    """Return the number of bytes of the non-ASCII white space at `position`, 0 if there is none."""
    first, second = data[position], data[position + 1]
    if first == 0xC2:
        return 2 if second == 0x85 or second == 0xA0 else 0
    third = data[position + 2]
    if first == 0xE2 and second == 0x80:
        return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    if first == 0xE2:
        return 3 if second == 0x81 and third == 0x9F else 0
    if first == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    return 3 if second == 0x80 and third == 0x80 else 0


@njit(cache=True, nogil=True)
def _scan(  # type: ignore[no-untyped-def]
    data, lengths, unit, numbers, counts, n_done, position, n_numbers, n_tokens, slots, hashes, ends, store
):
    """Write the token numbers of `data` from text `n_done` on, until all are done or the next text may not fit.

    A text has at most as many new tokens as bytes (or one, if it is a token itself). Returns the number of texts done,
    where the next begins in `data`, how many numbers are written and how many distinct tokens there are.
    """
    mask = len(slots) - 1
    for text in range(n_done, len(lengths)):
        stop = position + lengths[text]
        if n_tokens + lengths[text] + 1 > len(hashes) or ends[n_tokens] + lengths[text] > len(store):
            return text, position, n_numbers, n_tokens
        before = n_numbers
        first = True
        while position < stop or (first and unit == 1):
            first = False
            start = position
            width = 0
            key = _FNV_OFFSET
            while position < stop:
                if unit == 0:
                    kind = _KINDS[data[position]]
                    if kind != 0:
                        width = 1 if kind == 1 else _space_width(data, position)
                        if width > 0:
                            break
                elif unit == 2 and position > start and data[position] & 0xC0 != 0x80:
                    break
                key = (key ^ np.uint64(data[position])) * _FNV_PRIME
                position += 1
            size = position - start
            if size > 0 or unit == 1:
                slot = np.int64(key ^ (key >> _FOLD)) & mask
                while True:
                    number = slots[slot]
                    if number < 0:
                        number = n_tokens
                        slots[slot] = number
                        hashes[number] = key
                        begin = ends[number]
                        for index in range(size):
                            store[begin + index] = data[start + index]
                        ends[number + 1] = begin + size
                        n_tokens += 1
                        break
                    if hashes[number] == key and ends[number + 1] - ends[number] == size:
                        begin = ends[number]
                        same = 0
                        while same < size and store[begin + same] == data[start + same]:
                            same += 1
                        if same == size:
                            break
                    slot = (slot + 1) & mask
                numbers[n_numbers] = number
                n_numbers += 1
            position += width
        counts[text] = n_numbers - before
    return len(lengths), position, n_numbers, n_tokens


@njit(cache=True, nogil=True)
def _fill_slots(slots, n_tokens, hashes):  # type: ignore[no-untyped-def]
    """Insert tokens 0 to `n_tokens` - 1 into an empty table, whose size is a power of two."""
    mask = len(slots) - 1
    for number in range(n_tokens):
        slot = np.int64(hashes[number] ^ (hashes[number] >> _FOLD)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number
