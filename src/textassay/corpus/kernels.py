"""Compiled loops over the bytes and tokens of many texts; a module of their own, since they load the compiler."""

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.array_files import Number, new_array, read_only


def gather(
    array: npt.NDArray[Number], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[Number]:
    """Return the runs of `array` that begin at `starts`, one after another."""
    result = new_array(int(lengths.sum()), array.dtype.type)
    _copy_runs(read_only(array), starts, lengths, np.asarray(result))
    return result


@njit(cache=True, nogil=True)
def _copy_runs(array, starts, lengths, result):  # type: ignore[no-untyped-def]
    position = 0
    for run in range(len(starts)):
        start = starts[run]
        for index in range(lengths[run]):
            result[position + index] = array[start + index]
        position += lengths[run]


# what a byte can begin: 0 no white space, 1 ASCII white space, 2 perhaps white space of several bytes
KINDS = np.zeros(256, dtype=np.uint8)
KINDS[[0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20]] = 1
KINDS[[0xC2, 0xE1, 0xE2, 0xE3]] = 2


def count_words(data: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of words of each text, shape (N,), from the bytes of all texts and the number of each."""
    counts = np.empty(len(lengths), dtype=np.int64)
    _count_words(data, lengths, counts)
    return counts


@njit(cache=True, nogil=True)
def _count_words(data, lengths, counts):  # type: ignore[no-untyped-def]
    position = np.int64(0)
    for text in range(len(lengths)):
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


@njit(cache=True, nogil=True)
def space_width(data, position):  # type: ignore[no-untyped-def]
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
