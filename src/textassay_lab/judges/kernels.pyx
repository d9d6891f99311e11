# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of the convolution by look-up: the largest sum of each filter over a sentence, and its gradient."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np


def pool(
    const float[:, ::1] table, Py_ssize_t column, const int32_t[::1] words, const int64_t[::1] offsets,
    Py_ssize_t window, float[:, ::1] pooled, int32_t[:, ::1] where, Py_ssize_t first, Py_ssize_t n_filters,
):
    """Fill `n_filters` columns from `first` on: the largest sum over the windows of each sentence, and its start.

    `table`: from `column` on, for each place in the window, what a word adds to each filter; `pooled`, `where`: shape
    (N, filters).
    """
    cdef float[::1] total_of = np.empty(n_filters, dtype=np.float32)
    cdef float *total = &total_of[0]
    cdef float *best
    cdef const float *row
    cdef int32_t *start
    cdef int32_t here
    cdef bint larger
    cdef Py_ssize_t sentence, position, shift, place
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            best, start = &pooled[sentence, first], &where[sentence, first]
            for place in range(n_filters):
                best[place] = -INFINITY
                start[place] = <int32_t> offsets[sentence]
            for position in range(offsets[sentence], offsets[sentence + 1] - window + 1):
                row = &table[words[position], column]
                for place in range(n_filters):
                    total[place] = row[place]
                for shift in range(1, window):
                    row = &table[words[position + shift], column + shift * n_filters]
                    for place in range(n_filters):
                        total[place] += row[place]
                here = <int32_t> position
                for place in range(n_filters):
                    larger = total[place] > best[place]
                    best[place] = total[place] if larger else best[place]
                    start[place] = here if larger else start[place]


def spread(
    const float[:, ::1] gradient, const int32_t[::1] words, const int32_t[:, ::1] where, Py_ssize_t first,
    Py_ssize_t n_filters, Py_ssize_t window, float[:, ::1] table, Py_ssize_t column,
):
    """Add each sentence's gradient to the rows of the window that was largest; columns are those of `pool`."""
    cdef Py_ssize_t sentence, place, shift, position
    cdef float value
    with nogil:
        for sentence in range(gradient.shape[0]):
            for place in range(n_filters):
                value = gradient[sentence, first + place]
                if value != 0:
                    position = where[sentence, first + place]
                    for shift in range(window):
                        table[words[position + shift], column + shift * n_filters + place] += value
