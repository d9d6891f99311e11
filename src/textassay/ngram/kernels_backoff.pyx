# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over tries of n-grams: see `textassay.ngram.backoff` and `textassay.ngram.kneser_ney`."""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

import numpy as np


cdef inline int64_t upper_bound(const int32_t* tokens, int64_t low, int64_t high, int32_t token) noexcept nogil:
    """Return the first index in the sorted `tokens` [low, high) with a larger value than `token`."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if tokens[middle] <= token:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t child(const int64_t* first, const int32_t* tokens, int64_t state, int32_t token) noexcept nogil:
    """Return the node of `token` after `state`, or -1."""
    cdef int64_t place
    if state == 0:
        return 1 + token
    place = upper_bound(tokens, first[state], first[state + 1], token) - 1
    return place if place >= first[state] and tokens[place] == token else -1


def walk(
    const int64_t[::1] first, const int32_t[::1] tokens, const int32_t[::1] suffixes, const double[::1] probs,
    const double[::1] backoffs, const int32_t[::1] text, const int64_t[::1] offsets, int64_t start,
    double[::1] scores, int64_t[::1] before, int64_t[::1] after,
):
    """Fill `scores` and `before`, the probability of each token and the state before it; `after`, that after a text."""
    cdef int64_t n_contexts = first.shape[0] - 1, sentence, position, state, node
    cdef double weight
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            state = start
            for position in range(offsets[sentence], offsets[sentence + 1]):
                before[position] = state
                weight = 1.0
                node = child(&first[0], &tokens[0], state, text[position])
                while node < 0:
                    weight *= backoffs[state]
                    state = suffixes[state]
                    node = child(&first[0], &tokens[0], state, text[position])
                scores[position] = weight * probs[node]
                state = node
                while state >= n_contexts:  # shorten to the longest context seen
                    state = suffixes[state]
            after[sentence] = state


def trace(
    const int64_t[::1] first, const int32_t[::1] tokens, const int32_t[::1] suffixes, const int32_t[::1] text,
    const int64_t[::1] offsets, int64_t start, int32_t[::1] states, int32_t[::1] nodes, uint16_t[::1] n_backoffs,
):
    """Fill the fields of `Trace`."""
    cdef int64_t n_contexts = first.shape[0] - 1, sentence, position, state, node
    cdef uint16_t times
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            state = start
            for position in range(offsets[sentence], offsets[sentence + 1]):
                states[position] = <int32_t> state
                times = 0
                node = child(&first[0], &tokens[0], state, text[position])
                while node < 0:
                    times += 1
                    state = suffixes[state]
                    node = child(&first[0], &tokens[0], state, text[position])
                n_backoffs[position] = times
                nodes[position] = <int32_t> node
                state = node
                while state >= n_contexts:
                    state = suffixes[state]


def score(
    const int32_t[::1] suffixes, const double[::1] probs, const double[::1] backoffs, const int32_t[::1] states,
    const int32_t[::1] nodes, const uint16_t[::1] n_backoffs, double[::1] scores,
):
    """Fill `scores` with the log-probabilities of a traced text."""
    cdef int64_t position, state, step
    cdef double weight
    with nogil:
        for position in range(states.shape[0]):
            state = states[position]
            weight = 1.0
            for step in range(n_backoffs[position]):
                weight *= backoffs[state]
                state = suffixes[state]
            scores[position] = log(weight * probs[nodes[position]])


def fill_dense(
    const int64_t[::1] first, const int32_t[::1] tokens, const int32_t[::1] suffixes, const double[::1] probs,
    const double[::1] backoffs, const int64_t[::1] states, double[:, ::1] dense,
):
    """Fill `dense` with the probability of every token in each state."""
    cdef int64_t row, state, node, token
    cdef double weight
    with nogil:
        for row in range(states.shape[0]):
            for token in range(dense.shape[1]):
                dense[row, token] = -1.0
            state = states[row]
            weight = 1.0
            while True:
                for node in range(first[state], first[state + 1]):
                    if dense[row, tokens[node]] < 0:
                        dense[row, tokens[node]] = weight * probs[node]
                if state == 0:
                    break
                weight *= backoffs[state]
                state = suffixes[state]


def temper(
    const int64_t[::1] first, const int32_t[::1] suffixes, const double[::1] weights, const double[::1] backoffs,
    double[::1] cumulative, double[::1] cumulative_lower, double[::1] totals,
):
    """Fill the sums of `Tempered`."""
    cdef int64_t state, node
    cdef double here, lower, rest
    with nogil:
        cumulative[0] = cumulative_lower[0] = 0.0
        for state in range(first.shape[0] - 1):
            here = lower = 0.0
            for node in range(first[state], first[state + 1]):
                here += weights[node]
                lower += weights[suffixes[node]]
                cumulative[node] = here
                cumulative_lower[node] = lower
            rest = 0.0 if state == 0 else max(totals[suffixes[state]] - lower, 0.0)
            totals[state] = here + backoffs[state] * rest


def draw(
    const int64_t[::1] first, const int32_t[::1] tokens, const int32_t[::1] suffixes, const double[::1] cumulative,
    const double[::1] cumulative_lower, const double[::1] backoffs, const double[::1] totals,
    const int64_t[::1] states, const double[::1] uniforms, int32_t[::1] drawn, int64_t[::1] after,
):
    """Fill `drawn` with a token for each state and number, and `after` with the state after it."""
    cdef int64_t n_contexts = first.shape[0] - 1
    cdef int64_t row, state, begin, end, longer_begin, longer_end, low, high, middle, place
    cdef double target, mass, reached
    with nogil:
        for row in range(states.shape[0]):
            state = states[row]
            target = uniforms[row] * totals[state]
            begin, end = first[state], first[state + 1]
            longer_begin = longer_end = 0  # the row of the longer context, whose tokens are excluded
            while state > 0:
                mass = cumulative[end - 1] if end > begin else 0.0
                if longer_end > longer_begin:
                    mass -= cumulative_lower[longer_end - 1]
                if target < mass:
                    break
                target = max(target - mass, 0.0) / backoffs[state]
                longer_begin, longer_end = begin, end
                state = suffixes[state]
                begin, end = first[state], first[state + 1]
            low, high = begin, end - 1
            while low < high:
                middle = (low + high) // 2
                reached = cumulative[middle]
                place = upper_bound(&tokens[0], longer_begin, longer_end, tokens[middle])
                if place > longer_begin:
                    reached -= cumulative_lower[place - 1]
                if reached > target:
                    high = middle
                else:
                    low = middle + 1
            drawn[row] = tokens[low]
            while low >= n_contexts:
                low = suffixes[low]
            after[row] = low


def adjust(
    const int64_t[::1] counts, const uint8_t[::1] at_start, const int64_t[::1] suffixes,
    const int64_t[::1] longer_counts,
):
    """Return raw counts of n-grams that start with <sos>, and for others the number of distinct preceding tokens."""
    adjusted_of = np.zeros(counts.shape[0], dtype=np.int64)
    cdef int64_t[::1] adjusted = adjusted_of
    cdef int64_t longer, gram
    with nogil:
        for longer in range(suffixes.shape[0]):
            if longer_counts[longer] > 0:
                adjusted[suffixes[longer]] += 1
        for gram in range(counts.shape[0]):
            if at_start[gram]:
                adjusted[gram] = counts[gram]
    return adjusted_of


def interpolate(
    const int64_t[::1] parents, const int64_t[::1] adjusted, const double[::1] discounts, const int64_t[::1] suffixes,
    const double[::1] lower, double[::1] backoffs, double[::1] probs,
):
    """Fill the back-off weights of the contexts (1 for unseen ones) and the probabilities of their n-grams.

    `discounts`: of counts of 0, 1, 2, and 3 or more.
    """
    cdef int64_t begin = 0, end, gram, total
    cdef double removed
    with nogil:
        while begin < parents.shape[0]:
            end, total, removed = begin, 0, 0.0
            while end < parents.shape[0] and parents[end] == parents[begin]:
                total += adjusted[end]
                removed += discounts[min(adjusted[end], 3)]
                end += 1
            if total > 0:
                backoffs[parents[begin]] = removed / total
            for gram in range(begin, end):
                probs[gram] = backoffs[parents[begin]] * lower[suffixes[gram]]
                if total > 0:
                    probs[gram] += (adjusted[gram] - discounts[min(adjusted[gram], 3)]) / total
            begin = end
