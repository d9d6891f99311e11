# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled loop of the stopping rule."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

import numpy as np


def rule_sums(const int32_t[:, :] drawn, Py_ssize_t n_types, Py_ssize_t alpha, const double[:, :] probs):
    """Compute `rule_of_draws` in one pass over the draws of each position; `probs`: shape (0, n_types) if unknown."""
    cdef Py_ssize_t n_steps = drawn.shape[1] // alpha, row, step, number, kind
    totals_of = np.zeros((2, n_steps))
    cdef double[:, ::1] totals = totals_of
    cdef int64_t[::1] counts = np.empty(n_types, dtype=np.int64), previous = np.empty(n_types, dtype=np.int64)
    cdef double now, then, share, change, error
    cdef bint is_known = probs.shape[0] > 0
    with nogil:
        for row in range(drawn.shape[0]):
            for kind in range(n_types):
                counts[kind] = 0
            for step in range(n_steps):
                for kind in range(n_types):
                    previous[kind] = counts[kind]
                for number in range(step * alpha, (step + 1) * alpha):
                    counts[drawn[row, number]] += 1
                now, then = alpha * (step + 1), max(alpha * step, 1)
                change, error = 0.0, 0.0
                for kind in range(n_types):
                    share = counts[kind] / now
                    change = max(change, fabs(share - previous[kind] / then))
                    if is_known:
                        error = max(error, fabs(share - probs[row, kind]))
                if step > 0:
                    totals[0, step] += change
                totals[1, step] += error
    return totals_of
