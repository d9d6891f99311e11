# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over neighbours: the nearest texts by an inverted index, cosines of pairs, pairs of new groups."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np


def search_nearest(
    const int64_t[::1] starts, const int32_t[::1] features, const float[::1] weights,
    const int64_t[::1] posting_starts, const int32_t[::1] posting_texts, const float[::1] posting_weights,
    const int64_t[::1] groups, Py_ssize_t first, Py_ssize_t last, int32_t[:, ::1] places, float[:, ::1] cosines,
):
    """Fill the rows `first` to `last` of `places` and `cosines`, shapes (N, k), with the nearest of other groups."""
    cdef Py_ssize_t n = starts.shape[0] - 1, k = places.shape[1]
    cdef float[::1] sums = np.zeros(n, dtype=np.float32)
    cdef int32_t[::1] reached = np.empty(n, dtype=np.int32)
    cdef Py_ssize_t text, entry, posting, number, n_reached, place, lower
    cdef int32_t other, feature
    cdef float weight, cosine
    with nogil:
        for text in range(first, last):
            n_reached = 0
            for entry in range(starts[text], starts[text + 1]):
                feature, weight = features[entry], weights[entry]
                for posting in range(posting_starts[feature], posting_starts[feature + 1]):
                    other = posting_texts[posting]
                    if sums[other] == 0:
                        reached[n_reached] = other
                        n_reached += 1
                    sums[other] += weight * posting_weights[posting]
            for number in range(n_reached):
                other = reached[number]
                cosine = sums[other]
                sums[other] = 0
                if other == text or groups[other] == groups[text]:
                    continue
                place = k
                while place > 0 and is_nearer(cosine, text, other, cosines[text, place - 1], places[text, place - 1]):
                    place -= 1
                if place < k:
                    for lower in range(k - 1, place, -1):
                        places[text, lower] = places[text, lower - 1]
                        cosines[text, lower] = cosines[text, lower - 1]
                    places[text, place] = other
                    cosines[text, place] = cosine


cdef inline bint is_nearer(float cosine, int64_t text, int64_t other, float best_cosine, int64_t best) noexcept nogil:
    """Return whether `other` is nearer to `text` than `best`; what differs by rounding alone is equally near."""
    if best < 0 or cosine > best_cosine + 1e-5:
        return True
    return cosine >= best_cosine - 1e-5 and lot(text, other) > lot(text, best)


cdef inline uint64_t lot(int64_t one, int64_t other) noexcept nogil:
    """Return a random number of two texts, in either order."""
    cdef uint64_t low = min(one, other), high = max(one, other)
    cdef uint64_t mixed = (low << 32 | high) * <uint64_t> 0x9E3779B97F4A7C15
    mixed = (mixed ^ (mixed >> 29)) * <uint64_t> 0xBF58476D1CE4E5B9
    return mixed ^ (mixed >> 32)


def cosines_of_pairs(
    const int64_t[::1] starts, const int32_t[::1] features, const float[::1] weights,
    const int64_t[::1] ones, const int64_t[::1] others,
):
    """Return the cosine of each pair of texts, shape (n_pairs,)."""
    cosines_of = np.zeros(ones.shape[0])
    cdef double[::1] cosines = cosines_of
    cdef Py_ssize_t pair
    cdef int64_t here, there, here_end, there_end
    cdef int32_t one, other
    with nogil:
        for pair in range(ones.shape[0]):
            here, here_end = starts[ones[pair]], starts[ones[pair] + 1]
            there, there_end = starts[others[pair]], starts[others[pair] + 1]
            while here < here_end and there < there_end:
                one, other = features[here], features[there]
                if one == other:
                    cosines[pair] += weights[here] * weights[there]
                here += one <= other
                there += other <= one
    return cosines_of


def pairs_of_new_groups(const int64_t[::1] ones, const int64_t[::1] others, Py_ssize_t n_groups):
    """Return which pairs are of groups that no pair before has, a mask of shape (n_pairs,)."""
    kept_of = np.zeros(ones.shape[0], dtype=np.bool_)
    cdef uint8_t[::1] taken = np.zeros(n_groups, dtype=np.uint8), kept = kept_of.view(np.uint8)
    cdef Py_ssize_t pair
    with nogil:
        for pair in range(ones.shape[0]):
            kept[pair] = not (taken[ones[pair]] or taken[others[pair]])
            if kept[pair]:
                taken[ones[pair]] = taken[others[pair]] = 1
    return kept_of
