# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that number and count n-grams: see `textassay.ngram.index`."""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from textassay.ngram.hash_table cimport FREE, pair, slot_of


cdef inline bint is_alive(const int32_t* ids, int64_t start, int64_t end, int64_t order) noexcept nogil:
    """Return whether the n-gram of `order` at `start` ends in the text and both n-grams of order - 1 in it are kept."""
    return start + order <= end and ids[start] >= 0 and (order == 1 or ids[start + 1] >= 0)


def _new_table(int64_t n_entries):
    size = 2
    while size < 2 * n_entries:
        size *= 2
    return np.full(size, FREE, dtype=np.int64), np.full(size, -1, dtype=np.int32)


def grow(
    const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] ids, int64_t order, int64_t min_sentences
):
    """Turn `ids` of order - 1, shape (T,), into ids of `order`, in place; return the new n-grams and their table."""
    cdef int64_t n_candidates = 0, largest = -1, n_ngrams, n_kept = 0
    with nogil:
        count_candidates(tokens, offsets, ids, order, &n_candidates, &largest)
    if order == 1:
        n_candidates = min(n_candidates, largest + 1)
    keys, values = _new_table(n_candidates)
    prefixes_of = np.empty(n_candidates, dtype=np.int32)
    last_tokens_of = np.empty(n_candidates, dtype=np.int32)
    cdef int32_t[::1] prefixes = prefixes_of, last_tokens = last_tokens_of
    cdef int32_t[::1] n_sentences = np.zeros(n_candidates, dtype=np.int32)
    cdef int32_t[::1] last_sentence = np.full(n_candidates, -1, dtype=np.int32)
    cdef int64_t[::1] table_keys = keys
    cdef int32_t[::1] table_values = values
    with nogil:
        n_ngrams = number_ngrams(
            tokens, offsets, ids, order, table_keys, table_values, prefixes, last_tokens, n_sentences, last_sentence
        )
    if min_sentences <= 1:
        return prefixes_of[:n_ngrams].copy(), last_tokens_of[:n_ngrams].copy(), keys, values
    with nogil:
        n_kept = keep_frequent(ids, n_ngrams, min_sentences, n_sentences, prefixes, last_tokens, last_sentence)
    keys, values = _new_table(n_kept)
    table_keys, table_values = keys, values
    with nogil:
        fill_table(n_kept, prefixes, last_tokens, table_keys, table_values)
    return prefixes_of[:n_kept].copy(), last_tokens_of[:n_kept].copy(), keys, values


cdef void count_candidates(
    const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] ids, int64_t order,
    int64_t* n_candidates, int64_t* largest,
) noexcept nogil:
    cdef int64_t sentence, start, end, n = 0
    cdef int32_t most = -1
    for sentence in range(offsets.shape[0] - 1):
        end = offsets[sentence + 1]
        for start in range(offsets[sentence], end):
            n += is_alive(&ids[0], start, end, order)
            most = max(most, tokens[start])
    n_candidates[0], largest[0] = n, most


cdef int64_t number_ngrams(
    const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] ids, int64_t order,
    int64_t[::1] keys, int32_t[::1] values, int32_t[::1] prefixes, int32_t[::1] last_tokens,
    int32_t[::1] n_sentences, int32_t[::1] last_sentence,
) noexcept nogil:
    """Number distinct n-grams and count the texts of each; return how many there are."""
    cdef int64_t sentence, start, end, key, n_ngrams = 0
    cdef uint64_t slot, mask = keys.shape[0] - 1
    cdef int32_t token, number
    for sentence in range(offsets.shape[0] - 1):
        end = offsets[sentence + 1]
        for start in range(offsets[sentence], end):
            if not is_alive(&ids[0], start, end, order):
                ids[start] = -1
                continue
            token = tokens[start + order - 1]
            key = pair(ids[start], token)
            slot = slot_of(&keys[0], mask, key)
            if keys[slot] == FREE:
                keys[slot] = key
                values[slot] = <int32_t> n_ngrams
                prefixes[n_ngrams] = ids[start]
                last_tokens[n_ngrams] = token
                n_ngrams += 1
            number = values[slot]
            if last_sentence[number] != sentence:
                last_sentence[number] = <int32_t> sentence
                n_sentences[number] += 1
            ids[start] = number
    return n_ngrams


cdef int64_t keep_frequent(
    int32_t[::1] ids, int64_t n_ngrams, int64_t min_sentences, int32_t[::1] n_sentences,
    int32_t[::1] prefixes, int32_t[::1] last_tokens, int32_t[::1] renumbered,
) noexcept nogil:
    """Renumber the n-grams of at least `min_sentences` texts, all others -1; return how many there are."""
    cdef int64_t number, start, n_kept = 0
    for number in range(n_ngrams):
        renumbered[number] = -1
        if n_sentences[number] >= min_sentences:
            renumbered[number] = <int32_t> n_kept
            prefixes[n_kept] = prefixes[number]
            last_tokens[n_kept] = last_tokens[number]
            n_kept += 1
    for start in range(ids.shape[0]):
        if ids[start] >= 0:
            ids[start] = renumbered[ids[start]]
    return n_kept


cdef void fill_table(
    int64_t n_ngrams, int32_t[::1] prefixes, int32_t[::1] last_tokens, int64_t[::1] keys, int32_t[::1] values
) noexcept nogil:
    cdef int64_t number, key
    cdef uint64_t slot, mask = keys.shape[0] - 1
    for number in range(n_ngrams):
        key = pair(prefixes[number], last_tokens[number])
        slot = slot_of(&keys[0], mask, key)
        keys[slot] = key
        values[slot] = <int32_t> number


def look_up(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int32_t[::1] shorter, int32_t[::1] ids,
    int64_t order, const int64_t[::1] keys, const int32_t[::1] values,
):
    """Fill `ids` with the ids of n-grams of `order`, given those of order - 1 in `shorter`; both shape (T,)."""
    cdef int64_t sentence, start, end
    cdef uint64_t mask = keys.shape[0] - 1
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            end = offsets[sentence + 1]
            for start in range(offsets[sentence], end):
                if is_alive(&shorter[0], start, end, order):
                    ids[start] = values[slot_of(&keys[0], mask, pair(shorter[start], tokens[start + order - 1]))]
                else:
                    ids[start] = -1


def count_by_text(const int32_t[:, ::1] ids, const int64_t[::1] offsets, const int64_t[::1] firsts):
    """Return data, indices and indptr of the count matrix of `ids`, shape (max_order, T).

    Texts are listed per feature first; reading features in order then fills every row with sorted columns and adjacent
    repeats.
    """
    cdef int64_t n_sentences = offsets.shape[0] - 1, n_features = firsts[firsts.shape[0] - 1], sentence
    cdef int64_t[::1] starts = np.zeros(n_features + 2, dtype=np.int64)
    with nogil:
        count_features(ids, firsts, starts)
    indptr_of = np.zeros(n_sentences + 1, dtype=np.int64)
    cdef int32_t[::1] listed = np.empty(starts[n_features + 1], dtype=np.int32)
    cdef int64_t[::1] row_ends = np.zeros(n_sentences, dtype=np.int64)
    cdef int64_t[::1] indptr = indptr_of
    with nogil:
        list_texts(ids, offsets, firsts, starts, listed)
        count_columns(n_features, starts, listed, row_ends)
        for sentence in range(n_sentences):
            indptr[sentence + 1] = indptr[sentence] + row_ends[sentence]
            row_ends[sentence] = indptr[sentence] - 1
    data_of = np.zeros(indptr[n_sentences], dtype=np.float64)
    indices_of = np.empty(indptr[n_sentences], dtype=np.int32)
    cdef double[::1] data = data_of
    cdef int32_t[::1] indices = indices_of
    with nogil:
        fill_rows(n_features, starts, listed, row_ends, data, indices)
    return data_of, indices_of, indptr_of


cdef void count_features(
    const int32_t[:, ::1] ids, const int64_t[::1] firsts, int64_t[::1] starts
) noexcept nogil:
    """Fill ``starts[feature + 1]`` with the number of occurrences of all features before it."""
    cdef int64_t order, position, feature
    for order in range(ids.shape[0]):
        for position in range(ids.shape[1]):
            if ids[order, position] >= 0:
                starts[firsts[order] + ids[order, position] + 2] += 1
    for feature in range(2, starts.shape[0]):
        starts[feature] += starts[feature - 1]


cdef void list_texts(
    const int32_t[:, ::1] ids, const int64_t[::1] offsets, const int64_t[::1] firsts, int64_t[::1] starts,
    int32_t[::1] listed,
) noexcept nogil:
    """Fill `listed` with the texts that hold each feature, from ``starts[feature]`` on."""
    cdef int64_t order, sentence, position, feature
    for order in range(ids.shape[0]):
        for sentence in range(offsets.shape[0] - 1):
            for position in range(offsets[sentence], offsets[sentence + 1]):
                if ids[order, position] >= 0:
                    feature = firsts[order] + ids[order, position] + 1
                    listed[starts[feature]] = <int32_t> sentence
                    starts[feature] += 1


cdef void count_columns(
    int64_t n_features, int64_t[::1] starts, int32_t[::1] listed, int64_t[::1] n_columns
) noexcept nogil:
    """Count the distinct features of each text."""
    cdef int64_t feature, entry
    for feature in range(n_features):
        for entry in range(starts[feature], starts[feature + 1]):
            if entry == starts[feature] or listed[entry] != listed[entry - 1]:
                n_columns[listed[entry]] += 1


cdef void fill_rows(
    int64_t n_features, int64_t[::1] starts, int32_t[::1] listed, int64_t[::1] row_ends,
    double[::1] data, int32_t[::1] indices,
) noexcept nogil:
    cdef int64_t feature, entry
    cdef int32_t sentence
    for feature in range(n_features):
        for entry in range(starts[feature], starts[feature + 1]):
            sentence = listed[entry]
            if entry == starts[feature] or sentence != listed[entry - 1]:
                row_ends[sentence] += 1
                indices[row_ends[sentence]] = <int32_t> feature
            data[row_ends[sentence]] += 1.0
