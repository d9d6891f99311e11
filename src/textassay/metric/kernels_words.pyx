# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that compare the words and n-grams of sentences with those of their references."""

from libc.math cimport exp, pow
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport llabs

import numpy as np

# METEOR's constants, of the paper
cdef double ALPHA = 0.9  # how much more recall counts than precision
cdef double BETA = 3.0  # how fast the penalty grows with the number of runs
cdef double GAMMA = 0.5  # the largest penalty

cdef int BITS = 64  # places of a sentence in one number

ctypedef fused index:  # of sparse matrices
    int32_t
    int64_t


def score_block(
    const int64_t[::1] offsets, const uint8_t[:, ::1] marks, const int64_t[:, ::1] closest, const int32_t[::1] members,
    const int64_t[::1] own_groups, const double[::1] log_numbers, double[:, ::1] values,
):
    """Write the BLEU of sentences, shape (n, max_order); return what their sum gains without each group."""
    cdef Py_ssize_t n_sentences = values.shape[0], max_order = values.shape[1], n_groups = closest.shape[0] - 1
    changes_of = np.zeros((n_groups, max_order))
    cdef double[:, ::1] changes = changes_of
    cdef uint8_t[::1] length_matters = np.zeros(closest.shape[1], dtype=np.uint8)
    cdef int32_t[::1] counts = np.empty(max_order, dtype=np.int32)
    cdef int32_t[:, ::1] lost = np.zeros((n_groups, max_order), dtype=np.int32)
    cdef int64_t[::1] touched = np.empty(n_groups, dtype=np.int64)
    cdef uint8_t[::1] is_touched = np.zeros(n_groups, dtype=np.uint8)
    cdef int32_t[::1] numerators = np.empty(max_order, dtype=np.int32)
    cdef double[::1] changed = np.empty(max_order)
    cdef Py_ssize_t sentence, position, order, group, column, number, n_touched, member
    cdef int64_t length
    cdef int mark
    with nogil:
        for group in range(n_groups):
            for column in range(closest.shape[1]):
                length_matters[column] |= closest[group, column] != closest[n_groups, column]
        for sentence in range(n_sentences):
            length = offsets[sentence + 1] - offsets[sentence]
            member = members[sentence]
            n_touched = 0
            for order in range(max_order):
                counts[order] = 0
            for position in range(offsets[sentence], offsets[sentence + 1]):
                for order in range(max_order):
                    mark = marks[position, order]
                    counts[order] += mark > 0
                    if mark >= 2:
                        group = mark - 2
                        lost[group, order] += 1
                        if not is_touched[group]:
                            is_touched[group] = True
                            touched[n_touched] = group
                            n_touched += 1
            score(counts, length, closest[n_groups, member], log_numbers, values[sentence])
            if length_matters[member]:
                for group in range(n_groups):
                    if (
                        closest[group, member] != closest[n_groups, member]
                        and group != own_groups[sentence]
                        and not is_touched[group]
                    ):
                        is_touched[group] = True
                        touched[n_touched] = group
                        n_touched += 1
            for number in range(n_touched):
                group = touched[number]
                for order in range(max_order):
                    numerators[order] = counts[order] - lost[group, order]
                    lost[group, order] = 0
                score(numerators, length, closest[group, member], log_numbers, changed)
                for order in range(max_order):
                    changes[group, order] += changed[order] - values[sentence, order]
                is_touched[group] = False
    return changes_of


cdef inline void score(
    const int32_t[::1] numerators, int64_t length, int64_t closest_length, const double[::1] log_numbers,
    double[::1] scores,
) noexcept nogil:
    """Write the BLEU of every order into `scores`; ``log_numbers[k]`` is log k, and log epsilon for k = 0."""
    cdef Py_ssize_t order
    cdef double log_brevity, log_precisions = 0.0
    if numerators[0] == 0:
        scores[:] = 0.0
        return
    log_brevity = min(0.0, 1.0 - <double> closest_length / <double> length)
    for order in range(scores.shape[0]):
        log_precisions += log_numbers[numerators[order]] - log_numbers[max(1, length - order)]
        scores[order] = exp(log_brevity + log_precisions / <double> (order + 1))


def count_rows(
    const int64_t[::1] sentences, const int64_t[:, :] chosen, const int32_t[:, ::1] ids, const int64_t[::1] offsets,
    const int32_t[:, ::1] their_ids, const int64_t[::1] their_offsets, Py_ssize_t n_ids,
):
    """Return matches and n-grams of each order, length and closest length of each sentence, shape (m, 2 S + 2)."""
    cdef Py_ssize_t n_orders = ids.shape[0], number, order, column, position, place, n_places
    cdef int64_t sentence, reference, start, end, length, closest, gap, best, most = 1
    cdef int32_t ngram
    rows_of = np.zeros((sentences.shape[0], 2 * n_orders + 2))
    cdef double[:, ::1] rows = rows_of
    cdef int64_t[::1] place_of = np.full(n_ids, -1, dtype=np.int64)
    for number in range(sentences.shape[0]):
        most = max(most, offsets[sentences[number] + 1] - offsets[sentences[number]])
    # of an n-gram: in the sentence, in one reference, most in any
    cdef int64_t[:, ::1] counts = np.zeros((3, most), dtype=np.int64)
    with nogil:
        for number in range(sentences.shape[0]):
            sentence = sentences[number]
            start, end = offsets[sentence], offsets[sentence + 1]
            closest = -1
            for column in range(chosen.shape[1]):
                reference = chosen[number, column]
                if reference >= 0:
                    length = their_offsets[reference + 1] - their_offsets[reference]
                    gap, best = llabs(length - (end - start)), llabs(closest - (end - start))
                    if closest < 0 or gap < best or (gap == best and length < closest):
                        closest = length
            rows[number, 2 * n_orders] = <double> (end - start)
            rows[number, 2 * n_orders + 1] = <double> max(closest, 0)
            for order in range(n_orders):
                n_places = 0
                for position in range(start, end):
                    ngram = ids[order, position]
                    if ngram < 0:
                        continue
                    if place_of[ngram] < 0:
                        place_of[ngram] = n_places
                        counts[0, n_places] = counts[1, n_places] = counts[2, n_places] = 0
                        n_places += 1
                    counts[0, place_of[ngram]] += 1
                    rows[number, n_orders + order] += 1
                for column in range(chosen.shape[1]):
                    reference = chosen[number, column]
                    if reference < 0:
                        continue
                    for position in range(their_offsets[reference], their_offsets[reference + 1]):
                        ngram = their_ids[order, position]
                        if ngram >= 0 and place_of[ngram] >= 0:
                            counts[1, place_of[ngram]] += 1
                    for place in range(n_places):
                        counts[2, place] = max(counts[2, place], counts[1, place])
                        counts[1, place] = 0
                for place in range(n_places):
                    rows[number, order] += <double> min(counts[0, place], counts[2, place])
                for position in range(start, end):
                    if ids[order, position] >= 0:
                        place_of[ids[order, position]] = -1
    return rows_of


def mean_cosines(
    const index[::1] starts, const index[::1] ngrams, const double[::1] weights, const double[:, ::1] lengths,
    const index[::1] their_starts, const index[::1] their_ngrams, const double[::1] their_weights,
    const double[:, ::1] their_lengths, const int64_t[:, :] pairs, const int64_t[::1] firsts, bint is_d,
):
    """Return the mean over orders of the cosine of each pair, shape (N, k), from rows of n-grams with their weights."""
    cdef Py_ssize_t n_orders = firsts.shape[0] - 1, sentence, number, order
    cdef int64_t reference, entry, end, other, other_end
    cdef double weight
    means_of = np.zeros((pairs.shape[0], pairs.shape[1]))
    cdef double[:, ::1] means = means_of
    cdef double[::1] products = np.empty(n_orders)
    with nogil:
        for sentence in range(pairs.shape[0]):
            for number in range(pairs.shape[1]):
                reference = pairs[sentence, number]
                if reference < 0:
                    continue
                for order in range(n_orders):
                    products[order] = 0.0
                entry, end = starts[sentence], starts[sentence + 1]
                other, other_end = their_starts[reference], their_starts[reference + 1]
                order = 0
                while entry < end and other < other_end:
                    if ngrams[entry] < their_ngrams[other]:
                        entry += 1
                    elif ngrams[entry] > their_ngrams[other]:
                        other += 1
                    else:
                        while ngrams[entry] >= firsts[order + 1]:
                            order += 1
                        weight = min(weights[entry], their_weights[other]) if is_d else weights[entry]
                        products[order] += weight * their_weights[other]
                        entry += 1
                        other += 1
                for order in range(n_orders):
                    if products[order] > 0:
                        products[order] /= lengths[sentence, order] * their_lengths[reference, order]
                        means[sentence, number] += min(products[order], 1.0) / <double> n_orders
    return means_of


def set_frequency(const index[::1] starts, const index[::1] ngrams, const int64_t[:, :] sets, Py_ssize_t n_ngrams):
    """Return the number of sets of references that contain each n-gram."""
    cdef Py_ssize_t number, column
    cdef int64_t reference, entry
    frequency_of = np.zeros(n_ngrams, dtype=np.int64)
    cdef int64_t[::1] frequency = frequency_of, last = np.full(n_ngrams, -1, dtype=np.int64)
    with nogil:
        for number in range(sets.shape[0]):
            for column in range(sets.shape[1]):
                reference = sets[number, column]
                if reference < 0:
                    continue
                for entry in range(starts[reference], starts[reference + 1]):
                    if last[ngrams[entry]] != number:
                        last[ngrams[entry]] = number
                        frequency[ngrams[entry]] += 1
    return frequency_of


def score_pairs(
    const int32_t[::1] words, const int64_t[::1] offsets, const int32_t[::1] their_words,
    const int64_t[::1] their_offsets, const int64_t[:, :] pairs, const int32_t[::1] stems,
    const int64_t[::1] synonym_starts, const int32_t[::1] synonyms,
):
    """Return the METEOR of each pair, shape (N, k)."""
    cdef Py_ssize_t sentence, number, longest = 1
    cdef int64_t reference, start, length, their_start, their_length, place, their_place, n_matches, n_runs
    cdef int32_t word, stem
    cdef int stage, n_stages = 3 if synonyms.shape[0] else 2
    cdef double precision, recall, mean
    scores_of = np.zeros((pairs.shape[0], pairs.shape[1]))
    cdef double[:, ::1] scores = scores_of
    for sentence in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[sentence + 1] - offsets[sentence])
    for sentence in range(their_offsets.shape[0] - 1):
        longest = max(longest, their_offsets[sentence + 1] - their_offsets[sentence])
    # place in the reference that each word of the sentence is matched with
    cdef int64_t[::1] partner = np.empty(longest, dtype=np.int64)
    cdef uint8_t[::1] is_taken = np.empty(longest, dtype=np.uint8)
    with nogil:
        for sentence in range(pairs.shape[0]):
            start, length = offsets[sentence], offsets[sentence + 1] - offsets[sentence]
            for number in range(pairs.shape[1]):
                reference = pairs[sentence, number]
                if reference < 0:
                    continue
                their_start = their_offsets[reference]
                their_length = their_offsets[reference + 1] - their_start
                for place in range(length):
                    partner[place] = -1
                for their_place in range(their_length):
                    is_taken[their_place] = False
                n_matches = 0
                for stage in range(n_stages):
                    for place in range(length - 1, -1, -1):
                        if partner[place] >= 0:
                            continue
                        word = words[start + place]
                        their_place = their_length - 1
                        if stage == 0:
                            while their_place >= 0 and (
                                word != their_words[their_start + their_place] or is_taken[their_place]
                            ):
                                their_place -= 1
                        elif stage == 1:
                            stem = stems[word]
                            while their_place >= 0 and (
                                stem != stems[their_words[their_start + their_place]] or is_taken[their_place]
                            ):
                                their_place -= 1
                        else:
                            while their_place >= 0 and (
                                is_taken[their_place]
                                or not are_synonyms(
                                    word, their_words[their_start + their_place], synonym_starts, synonyms
                                )
                            ):
                                their_place -= 1
                        if their_place >= 0:
                            partner[place] = their_place
                            is_taken[their_place] = True
                            n_matches += 1
                if n_matches == 0:
                    continue
                n_runs = 0
                for place in range(length):
                    if partner[place] >= 0 and (
                        place == 0 or partner[place - 1] < 0 or partner[place] != partner[place - 1] + 1
                    ):
                        n_runs += 1
                precision, recall = <double> n_matches / <double> length, <double> n_matches / <double> their_length
                mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
                scores[sentence, number] = mean * (1 - GAMMA * pow(<double> n_runs / <double> n_matches, BETA))
    return scores_of


cdef inline bint are_synonyms(
    int32_t word, int32_t other, const int64_t[::1] synonym_starts, const int32_t[::1] synonyms
) noexcept nogil:
    cdef int64_t entry
    if word == other:
        return True
    for entry in range(synonym_starts[word], synonym_starts[word + 1]):
        if synonyms[entry] == other:
            return True
    return False


def longest_subsequences(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int32_t[::1] their_tokens,
    const int64_t[::1] their_offsets, const int64_t[:, :] pairs, Py_ssize_t n_types,
):
    """Return the lengths by the rule of Crochemore et al., "A fast and practical bit-vector algorithm", IPL 2001.

    A cleared bit of `row` is a place of the sentence where the longest subsequence grows by one.
    """
    cdef Py_ssize_t sentence, number, position, word, n_words, n_longest = 1
    cdef int64_t reference, start, end
    cdef int32_t token, n_common
    cdef uint64_t carry, before, here, added, total, cleared
    lengths_of = np.zeros((pairs.shape[0], pairs.shape[1]), dtype=np.int32)
    cdef int32_t[:, ::1] lengths = lengths_of
    for sentence in range(offsets.shape[0] - 1):
        n_longest = max(n_longest, (offsets[sentence + 1] - offsets[sentence] + BITS - 1) // BITS)
    cdef uint64_t[:, ::1] places = np.zeros((n_types, n_longest), dtype=np.uint64)  # of a token, a bit each
    cdef uint64_t[::1] row = np.empty(n_longest, dtype=np.uint64)
    with nogil:
        for sentence in range(pairs.shape[0]):
            start, end = offsets[sentence], offsets[sentence + 1]
            n_words = (end - start + BITS - 1) // BITS
            for position in range(end - start):
                places[tokens[start + position], position // BITS] |= <uint64_t> 1 << <uint64_t> (position % BITS)
            for number in range(pairs.shape[1]):
                reference = pairs[sentence, number]
                if reference < 0:
                    continue
                for word in range(n_words):
                    row[word] = ~<uint64_t> 0
                for position in range(their_offsets[reference], their_offsets[reference + 1]):
                    token, carry = their_tokens[position], 0
                    for word in range(n_words):
                        before, here = row[word], places[token, word]
                        added = (before & here) + carry
                        total = before + added
                        carry = added < carry or total < added
                        row[word] = total | (before & ~here)
                n_common = 0
                for word in range(n_words):
                    cleared = ~row[word]
                    while cleared != 0:
                        cleared &= cleared - 1
                        n_common += 1
                lengths[sentence, number] = n_common
            for position in range(start, end):
                for word in range(n_words):
                    places[tokens[position], word] = 0
    return lengths_of
