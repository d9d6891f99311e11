# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that look texts up in a sorted collection: see `textassay.ngram.nearest`."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

import numpy as np

from textassay.ngram.positions cimport low_half, text_of

cdef enum:
    EACH_SIDE = 5  # neighbours before and after the insertion point


def pack(const int32_t[::1] tokens, const int64_t[::1] positions, int64_t depth, int64_t n_packed, int64_t n_bits):
    """Return the `n_packed` tokens of each position, after `depth` of them, as one number; shape (n,)."""
    keys_of = np.empty(positions.shape[0], dtype=np.int64)
    cdef int64_t[::1] keys = keys_of
    cdef int64_t entry, place, key, number, token
    with nogil:
        for entry in range(positions.shape[0]):
            place = low_half(positions[entry]) + depth
            key = 0
            for number in range(n_packed):
                token = tokens[place]
                key = (key << n_bits) | (token + 1)
                if token < 0:
                    key <<= n_bits * (n_packed - 1 - number)
                    break
                place += 1
            keys[entry] = key
    return keys_of


cdef inline int64_t n_common(const int32_t* one, int64_t n_one, const int32_t* two, int64_t n_two) noexcept nogil:
    """Return the length of the common prefix of two rows of tokens."""
    cdef int64_t step, n = min(n_one, n_two)
    for step in range(n):
        if one[step] != two[step]:
            return step
    return n


def look_up_nearest(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int32_t[::1] others, const int64_t[::1] positions,
    const int64_t[::1] starts, int64_t n_candidates,
):
    """Return the length of the longest n-gram and the most similar texts of each text in ``offsets``."""
    cdef int64_t n_sentences = offsets.shape[0] - 1, sentence, most = 0
    for sentence in range(n_sentences):
        most = max(most, offsets[sentence + 1] - offsets[sentence])
    longest_of = np.zeros(n_sentences, dtype=np.int64)
    similar_of = np.full((n_sentences, n_candidates), -1, dtype=np.int64)
    cdef int64_t[::1] longest = longest_of, neighbours = np.empty(2 * EACH_SIDE * most, dtype=np.int64)
    cdef int64_t[::1] sums = np.empty(2 * EACH_SIDE * most, dtype=np.int64)
    cdef int64_t[:, ::1] similar = similar_of
    cdef int64_t start, end, low, high, middle, place, shared, number, n_neighbours, n_others = others.shape[0]
    with nogil:
        for sentence in range(n_sentences):
            end = offsets[sentence + 1]
            n_neighbours = 0
            for start in range(offsets[sentence], end):
                low, high = starts[tokens[start]], starts[tokens[start] + 1]
                while low < high:
                    middle = (low + high) // 2
                    place = low_half(positions[middle])
                    shared = n_common(&tokens[start], end - start, &others[place], n_others - place)
                    if start + shared < end and others[place + shared] < tokens[start + shared]:
                        low = middle + 1
                    else:
                        high = middle
                for number in range(max(0, low - EACH_SIDE), min(positions.shape[0], low + EACH_SIDE)):
                    place = low_half(positions[number])
                    shared = n_common(&tokens[start], end - start, &others[place], n_others - place)
                    if shared > 0:
                        longest[sentence] = max(longest[sentence], shared)
                        neighbours[n_neighbours] = (text_of(positions[number]) << 32) | shared
                        n_neighbours += 1
            choose(&neighbours[0], n_neighbours, &sums[0], &similar[sentence, 0], n_candidates)
    return longest_of, similar_of


def longest_runs(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int64_t[::1] own, const int32_t[::1] others,
    const int64_t[::1] positions, const int64_t[::1] starts, int64_t[:, :] found,
):
    """Fill `found`, shape (6, n), with the fields of `Runs`.

    The binary search compares no token twice: what lies between two places shares at least as much as both.
    """
    cdef int64_t sentence, begin, end, start, first, last, low, high, shared_low, shared_high, middle, known, place
    cdef int64_t shared, left, right, before, after, holder, longest, text, longest_start, sole, sole_text, sole_start
    cdef int64_t n_others = others.shape[0]
    cdef const int32_t* here
    cdef const int32_t* there = &others[0]
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            begin, end = offsets[sentence], offsets[sentence + 1]
            longest, text, longest_start = 0, -1, 0
            sole, sole_text, sole_start = 0, -1, 0
            for start in range(begin, end):
                if end - start <= min(longest, sole):
                    break
                here = &tokens[start]
                first, last = starts[tokens[start]], starts[tokens[start] + 1]
                low, high = first, last
                shared_low = shared_high = 1
                while low < high:
                    middle = (low + high) // 2
                    known = min(shared_low, shared_high)
                    place = low_half(positions[middle])
                    shared = known + n_common(
                        here + known, end - start - known, there + place + known, n_others - place - known
                    )
                    if start + shared < end and others[place + shared] < tokens[start + shared]:
                        low, shared_low = middle + 1, shared
                    else:
                        high, shared_high = middle, shared
                right, left = low, low - 1
                while right < last and text_of(positions[right]) == own[sentence]:
                    right += 1
                while left >= first and text_of(positions[left]) == own[sentence]:
                    left -= 1
                after = before = 0
                if right < last:
                    place = low_half(positions[right])
                    after = n_common(here, end - start, there + place, n_others - place)
                if left >= first:
                    place = low_half(positions[left])
                    before = n_common(here, end - start, there + place, n_others - place)
                shared = max(before, after)
                if shared == 0:
                    continue
                holder = text_of(positions[right]) if after >= before else text_of(positions[left])
                if shared > longest:
                    longest, text, longest_start = shared, holder, start - begin
                if shared > sole and is_sole(
                    here, shared, there, n_others, positions, first, left, right, last, holder, own[sentence]
                ):
                    sole, sole_text, sole_start = shared, holder, start - begin
                if start + shared == end:  # what begins later is a part of this run: no longer, and in as many texts
                    break
            found[0, sentence], found[1, sentence], found[2, sentence] = longest, longest_start, text
            found[3, sentence], found[4, sentence], found[5, sentence] = sole, sole_start, sole_text


cdef bint is_sole(
    const int32_t* here, int64_t shared, const int32_t* others, int64_t n_others, const int64_t[::1] positions,
    int64_t first, int64_t left, int64_t right, int64_t last, int64_t holder, int64_t own,
) noexcept nogil:
    """Return whether no text but `holder` and `own` has the `shared` tokens, which `left` and `right` may have."""
    cdef int64_t number, place
    for number in range(right, last):
        place = low_half(positions[number])
        if n_common(here, shared, others + place, n_others - place) < shared:
            break
        if text_of(positions[number]) != holder and text_of(positions[number]) != own:
            return False
    for number in range(left, first - 1, -1):
        place = low_half(positions[number])
        if n_common(here, shared, others + place, n_others - place) < shared:
            break
        if text_of(positions[number]) != holder and text_of(positions[number]) != own:
            return False
    return True


cdef int compare(const void* one, const void* two) noexcept nogil:
    cdef int64_t first = (<const int64_t*> one)[0], second = (<const int64_t*> two)[0]
    return (first > second) - (first < second)


cdef void choose(
    int64_t* neighbours, int64_t n, int64_t* sums, int64_t* chosen, int64_t n_chosen
) noexcept nogil:
    """Write the texts with the largest summed weights into `chosen`, the largest first, of equals the first text.

    `neighbours`: the text in the upper 32 bits, the weight in the lower.
    """
    cdef int64_t n_distinct = 0, entry = 0, text, total, number
    qsort(neighbours, n, sizeof(int64_t), compare)
    while entry < n:
        text, total = text_of(neighbours[entry]), 0
        while entry < n and text_of(neighbours[entry]) == text:
            total += low_half(neighbours[entry])
            entry += 1
        sums[n_distinct] = -(total << 32) | text  # minus the sum, and the text, in the same way
        n_distinct += 1
    qsort(sums, n_distinct, sizeof(int64_t), compare)
    for number in range(min(n_distinct, n_chosen)):
        chosen[number] = low_half(sums[number])


def match_each_pair(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int32_t[::1] others, const int64_t[::1] other_offsets,
    const int64_t[:, :] pairs, int64_t n_types, int32_t[:, :, ::1] counts,
):
    """Add the clipped matches of each pair to `counts`, shape (n, k, max_order)."""
    cdef int64_t max_order = counts.shape[2], most = 0, sentence, begin, end, position, before, order, number, reference
    cdef int64_t n_taken, other, other_end, best, shared, common, entry
    for sentence in range(pairs.shape[0]):
        most = max(most, offsets[sentence + 1] - offsets[sentence])
    cdef int64_t[::1] first = np.full(n_types, -1, dtype=np.int64)  # position of each token in the hypothesis
    cdef int64_t[::1] following = np.empty(most, dtype=np.int64)  # next position with the same token
    # first position of the n-gram that starts at each position, and how often it is not matched yet
    cdef int64_t[:, ::1] names = np.empty((max_order, most), dtype=np.int64)
    cdef int64_t[:, ::1] left = np.zeros((max_order, most), dtype=np.int64)
    cdef int64_t[:, ::1] taken = np.empty((max_order * most, 2), dtype=np.int64)
    with nogil:
        for sentence in range(pairs.shape[0]):
            begin, end = offsets[sentence], offsets[sentence + 1]
            for position in range(end - 1, begin - 1, -1):
                following[position - begin] = first[tokens[position]]
                first[tokens[position]] = position
            for position in range(begin, end):
                for order in range(max_order):
                    names[order, position - begin] = position - begin
                before = first[tokens[position]]
                while before < position:
                    common = n_common(&tokens[position], min(max_order, end - position), &tokens[before], end - before)
                    for order in range(common):
                        names[order, position - begin] = min(
                            names[order, position - begin], names[order, before - begin]
                        )
                    before = following[before - begin]
                for order in range(min(max_order, end - position)):
                    left[order, names[order, position - begin]] += 1
            for number in range(pairs.shape[1]):
                reference = pairs[sentence, number]
                if reference < 0:
                    continue
                n_taken, other_end = 0, other_offsets[reference + 1]
                for other in range(other_offsets[reference], other_end):
                    best, shared = -1, 0
                    position = first[others[other]]
                    while position >= 0 and shared < max_order:
                        common = n_common(
                            &tokens[position], min(max_order, end - position), &others[other], other_end - other
                        )
                        if common > shared:
                            best, shared = position - begin, common
                        position = following[position - begin]
                    for order in range(shared):
                        if left[order, names[order, best]] > 0:
                            left[order, names[order, best]] -= 1
                            counts[sentence, number, order] += 1
                            taken[n_taken, 0], taken[n_taken, 1] = order, names[order, best]
                            n_taken += 1
                for entry in range(n_taken):
                    left[taken[entry, 0], taken[entry, 1]] += 1
            for position in range(begin, end):
                first[tokens[position]] = -1
                for order in range(max_order):
                    left[order, position - begin] = 0
