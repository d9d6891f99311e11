# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled loop of drawing: the tokens that uniform numbers stand for."""

from libc.stdint cimport int32_t, int64_t

import numpy as np


def tokens_of_draws(const double[:, :] sums, const int64_t[::1] which, const double[:, :] draws):
    """Return the token that each uniform draw stands for, shape (N, n), like `draws`.

    Row ``which[i]`` of `sums`, shape (U, V), holds the running sums of the probabilities for row i of `draws`.
    """
    tokens_of = np.empty((draws.shape[0], draws.shape[1]), dtype=np.int32)
    cdef int32_t[:, ::1] tokens = tokens_of
    cdef Py_ssize_t number, draw, row, last, n_types = sums.shape[1]
    cdef double total
    with nogil:
        for number in range(draws.shape[0]):
            row = which[number]
            total = sums[row, n_types - 1]
            last = first_at_least(sums, row, total)  # the last that can be drawn, where rounding leaves nothing
            for draw in range(draws.shape[1]):
                tokens[number, draw] = <int32_t> min(first_above(sums, row, draws[number, draw] * total), last)
    return tokens_of


cdef inline Py_ssize_t first_at_least(const double[:, :] sums, Py_ssize_t row, double value) noexcept nogil:
    cdef Py_ssize_t low = 0, high = sums.shape[1], middle
    while low < high:
        middle = (low + high) // 2
        if sums[row, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline Py_ssize_t first_above(const double[:, :] sums, Py_ssize_t row, double value) noexcept nogil:
    cdef Py_ssize_t low = 0, high = sums.shape[1], middle
    while low < high:
        middle = (low + high) // 2
        if sums[row, middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
