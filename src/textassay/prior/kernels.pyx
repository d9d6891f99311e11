# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over the logits of a language model."""

from libc.math cimport logf
from libc.stdint cimport int32_t, int64_t

cdef enum:
    LANES = 8  # running sums of a row, which the compiler keeps in registers


def reduce_rows(const float[:, ::1] logits, const float[:, ::1] probs, const int64_t[::1] own, float[:, ::1] values):
    """Fill the numbers of a `ReadText`; the largest logit of each row is 0."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(own.shape[0]):
            reduce_row(&logits[row, 0], &probs[row, 0], logits.shape[1], own[row], &values[row, 0])


cdef inline void reduce_row(
    const float *logits, const float *probs, Py_ssize_t n, int64_t own, float *values
) noexcept nogil:
    cdef float mean[LANES]
    cdef float square[LANES]
    cdef float mass[LANES]
    cdef float top[LANES]
    cdef int32_t rank[LANES]
    cdef float mine = logits[own], normaliser, logit, prob
    cdef Py_ssize_t block, lane, token
    for lane in range(LANES):
        mean[lane] = square[lane] = mass[lane] = top[lane] = 0
        rank[lane] = 0
    for block in range(n // LANES):
        for lane in range(LANES):
            logit, prob = logits[block * LANES + lane], probs[block * LANES + lane]
            mean[lane] += prob * logit
            square[lane] += prob * logit * logit
            rank[lane] += logit > mine
            mass[lane] += prob if logit > mine else <float> 0
            top[lane] = prob if prob > top[lane] else top[lane]
    for token in range(n - n % LANES, n):
        logit, prob = logits[token], probs[token]
        mean[0] += prob * logit
        square[0] += prob * logit * logit
        rank[0] += logit > mine
        mass[0] += prob if logit > mine else <float> 0
        top[0] = max(top[0], prob)
    for lane in range(1, LANES):
        mean[0] += mean[lane]
        square[0] += square[lane]
        mass[0] += mass[lane]
        rank[0] += rank[lane]
        top[0] = max(top[0], top[lane])
    normaliser = -logf(top[0])
    values[0] = mine - normaliser
    values[1] = <float> rank[0]
    values[2] = normaliser - mean[0]
    values[3] = max(square[0] - mean[0] * mean[0], <float> 0)
    values[4] = mass[0]
