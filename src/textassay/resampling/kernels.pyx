# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of the certified bound: whether a sum of two proportions is rejected, wherever it is divided."""

from libc.math cimport ceil, exp, lgamma, log, log1p, sqrt
from libc.stdint cimport int64_t

import numpy as np

cdef int DIVISIONS = 9  # grid points of the search, before the bound is proved
cdef int64_t CELLS = 1 << 12  # largest number of initial cells
cdef int SPLITS = 8  # how often a cell is halved before the proof fails
cdef double WIDTH = 9.0, MARGIN = 30.0  # standard deviations and counts around the mean; the rest counts as extreme


def is_rejected(
    double total, const double[:, ::1] limits, int64_t weighted, int64_t n_a, int64_t n_b, double alpha
):
    """Return whether, on the grid of divisions, a sum of `total` is rejected at level `alpha`.

    `limits`: of both proportions, shape (2, 2); `weighted`: the observed ``count_a * n_b + count_b * n_a``.
    """
    cdef double low = least_first(total, limits), high = largest_first(total, limits), share
    cdef double[::1] masses_a = np.empty(most_masses(n_a)), masses_b = np.empty(most_masses(n_b))
    cdef int division
    cdef bint rejected = True
    with nogil:
        if low <= high:
            for division in range(DIVISIONS):
                share = low + (high - low) * division / (DIVISIONS - 1)
                if tail(share, min(total - share, limits[1, 1]), weighted, n_a, n_b, masses_a, masses_b) > alpha:
                    rejected = False
                    break
    return rejected


def is_proved(
    double total, const double[:, ::1] limits, double width, int64_t weighted, int64_t n_a, int64_t n_b, double alpha
):
    """Return whether `total` is rejected at every division within `limits`, by the upper corners of cells."""
    cdef double low = least_first(total, limits), high = largest_first(total, limits), begin, end, middle
    cdef int64_t n_cells, cell
    cdef double[::1] begins = np.empty(SPLITS + 2), ends = np.empty(SPLITS + 2)
    cdef double[::1] masses_a = np.empty(most_masses(n_a)), masses_b = np.empty(most_masses(n_b))
    cdef int waiting
    if low > high:
        return True
    n_cells = max(1, min(CELLS, <int64_t> ceil((high - low) / (8 * width))))
    with nogil:
        for cell in range(n_cells):
            begins[0] = low + (high - low) * cell / n_cells
            ends[0] = low + (high - low) * (cell + 1) / n_cells
            waiting = 1
            while waiting > 0:
                waiting -= 1
                begin, end = begins[waiting], ends[waiting]
                if tail(end, min(total - begin, limits[1, 1]), weighted, n_a, n_b, masses_a, masses_b) <= alpha:
                    continue
                if (end - begin) * n_cells * (1 << SPLITS) <= (high - low) * 1.5:
                    with gil:
                        return False
                middle = (begin + end) / 2
                begins[waiting], ends[waiting] = begin, middle
                begins[waiting + 1], ends[waiting + 1] = middle, end
                waiting += 2
    return True


cdef double least_first(double total, const double[:, ::1] limits) noexcept nogil:
    """Return the smallest first proportion in a sum of at most `total`, above `largest_first` if there is none.

    If the upper limits of both sum to less than `total`, only that of the first matters.
    """
    return min(limits[0, 1], max(limits[0, 0], total - limits[1, 1]))


cdef double largest_first(double total, const double[:, ::1] limits) noexcept nogil:
    return min(limits[0, 1], total - limits[1, 0])


cdef Py_ssize_t most_masses(int64_t n) noexcept nogil:
    """Return at least how many numbers `fill_masses` may write."""
    return <Py_ssize_t> (2 * (WIDTH * sqrt(n * 0.25) + MARGIN)) + 3


cdef double tail(
    double share_a, double share_b, int64_t weighted, int64_t n_a, int64_t n_b, double[::1] masses_a,
    double[::1] masses_b,
) noexcept nogil:
    """Return the probability of ``count_a * n_b + count_b * n_a >= weighted``, rounded up rather than down."""
    cdef int64_t first_a, first_b, size_a, size_b, place, place_b, needed
    cdef double total = fill_masses(n_a, min(1.0, max(0.0, share_a)), masses_a, &first_a, &size_a)
    total += fill_masses(n_b, min(1.0, max(0.0, share_b)), masses_b, &first_b, &size_b)
    for place in range(size_b - 2, -1, -1):
        masses_b[place] += masses_b[place + 1]  # now upper tail probabilities
    for place in range(size_a):
        needed = weighted - (first_a + place) * n_b  # of n_a times the other count
        place_b = 0 if needed <= 0 else max(0, (needed + n_a - 1) // n_a - first_b)
        if place_b < size_b:
            total += masses_a[place] * masses_b[place_b]
    return total


cdef double fill_masses(
    int64_t n, double share, double[::1] masses, int64_t *first, int64_t *size
) noexcept nogil:
    """Fill the probabilities of `size` counts from `first` on; return the probability of all other counts."""
    cdef double spread = WIDTH * sqrt(n * share * (1 - share)) + MARGIN, log_mass, odds, total = 0.0
    cdef int64_t last, mode, count
    if share == 0.0 or share == 1.0:
        first[0], size[0], masses[0] = <int64_t> (n * share), 1, 1.0
        return 0.0
    first[0] = max(0, <int64_t> (n * share - spread))
    last = min(n, <int64_t> (n * share + spread))
    size[0] = last - first[0] + 1
    mode = min(last, <int64_t> ((n + 1) * share))
    log_mass = (
        lgamma(n + 1)
        - lgamma(mode + 1)
        - lgamma(n - mode + 1)
        + mode * log(share)
        + (n - mode) * log1p(-share)
    )
    masses[mode - first[0]] = exp(log_mass)
    odds = share / (1 - share)
    for count in range(mode, last):
        masses[count + 1 - first[0]] = masses[count - first[0]] * odds * (n - count) / (count + 1)
    for count in range(mode, first[0], -1):
        masses[count - 1 - first[0]] = masses[count - first[0]] * count / (odds * (n - count + 1))
    for count in range(size[0]):
        total += masses[count]
    return max(0.0, 1.0 - total)
