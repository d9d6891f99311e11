# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over the bytes and tokens of many texts; none holds the interpreter lock while it runs."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

# what a byte can begin: 0 no white space, 1 ASCII white space, 2 perhaps white space of several bytes
cdef uint8_t KINDS[256]
for _byte in range(256):
    KINDS[_byte] = 1 if _byte in b"\t\n\v\f\r\x1c\x1d\x1e\x1f " else 2 if _byte in b"\xc2\xe1\xe2\xe3" else 0

cdef uint64_t FNV_OFFSET = 0xCBF29CE484222325
cdef uint64_t FNV_PRIME = 0x100000001B3
cdef int FOLD = 32

ctypedef fused item:
    uint8_t
    int32_t
    int64_t


def copy_runs(const item[::1] array, const int64_t[:] starts, const int64_t[:] lengths, item[::1] result):
    """Fill `result` with the runs of `array` that begin at `starts`, one after another."""
    cdef Py_ssize_t run, index, position = 0
    with nogil:
        for run in range(starts.shape[0]):
            for index in range(lengths[run]):
                result[position + index] = array[starts[run] + index]
            position += lengths[run]


def count_words(const uint8_t[::1] data, const int64_t[::1] lengths):
    """Return the number of words of each text, shape (N,), from the bytes of all texts and the number of each."""
    counts_of = np.empty(lengths.shape[0], dtype=np.int64)
    cdef int64_t[::1] counts = counts_of
    cdef Py_ssize_t text, position = 0, stop
    cdef int64_t n_words
    cdef int kind, width
    cdef bint in_word
    with nogil:
        for text in range(lengths.shape[0]):
            stop = position + lengths[text]
            n_words, in_word = 0, False
            while position < stop:
                kind = KINDS[data[position]]
                width = 0 if kind == 0 else 1 if kind == 1 else space_width(data, position)
                if width == 0 and not in_word:
                    n_words += 1
                in_word = width == 0
                position += max(width, 1)
            counts[text] = n_words
    return counts_of


cdef int space_width(const uint8_t[::1] data, Py_ssize_t position) noexcept nogil:
    """Return the number of bytes of the non-ASCII white space at `position`, 0 if there is none."""
    cdef uint8_t first = data[position], second = data[position + 1], third
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


def number_tokens(
    const uint8_t[::1] data, const int64_t[::1] lengths, int unit, int32_t[::1] numbers, int64_t[::1] counts,
    Py_ssize_t n_done, Py_ssize_t position, Py_ssize_t n_numbers, int64_t n_tokens,
    int32_t[::1] slots, uint64_t[::1] hashes, int64_t[::1] ends, uint8_t[::1] store,
):
    """Write the token numbers of `data` from text `n_done` on, until all are done or the next text may not fit.

    A text has at most as many new tokens as bytes (or one, if it is a token itself). Returns the number of texts done,
    where the next begins in `data`, how many numbers are written and how many distinct tokens there are.
    """
    cdef int64_t mask = slots.shape[0] - 1, slot, number, begin, size, same, index
    cdef Py_ssize_t text, stop, before, start
    cdef uint64_t key
    cdef int kind, width
    cdef bint first
    with nogil:
        for text in range(n_done, lengths.shape[0]):
            stop = position + lengths[text]
            if n_tokens + lengths[text] + 1 > hashes.shape[0] or ends[n_tokens] + lengths[text] > store.shape[0]:
                break
            before = n_numbers
            first = True
            while position < stop or (first and unit == 1):
                first = False
                start = position
                width = 0
                key = FNV_OFFSET
                while position < stop:
                    if unit == 0:
                        kind = KINDS[data[position]]
                        if kind != 0:
                            width = 1 if kind == 1 else space_width(data, position)
                            if width > 0:
                                break
                    elif unit == 2 and position > start and data[position] & 0xC0 != 0x80:
                        break
                    key = (key ^ data[position]) * FNV_PRIME
                    position += 1
                size = position - start
                if size > 0 or unit == 1:
                    slot = <int64_t> (key ^ (key >> FOLD)) & mask
                    while True:
                        number = slots[slot]
                        if number < 0:
                            number = n_tokens
                            slots[slot] = <int32_t> number
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
                    numbers[n_numbers] = <int32_t> number
                    n_numbers += 1
                position += width
            counts[text] = n_numbers - before
            n_done = text + 1
    return n_done, position, n_numbers, n_tokens


def fill_slots(int32_t[::1] slots, int64_t n_tokens, const uint64_t[::1] hashes):
    """Insert tokens 0 to `n_tokens` - 1 into an empty table, whose size is a power of two."""
    cdef int64_t mask = slots.shape[0] - 1, slot, number
    with nogil:
        for number in range(n_tokens):
            slot = <int64_t> (hashes[number] ^ (hashes[number] >> FOLD)) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = <int32_t> number
