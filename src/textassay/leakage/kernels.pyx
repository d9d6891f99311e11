# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of near copies: the rarest parts of training texts, and the search for the nearest by its parts."""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

cdef Py_ssize_t MOST_STEPS = 1 << 19  # of edit distances, for one text
cdef Py_ssize_t MORE_PARTS = 3  # into which a text is cut, than are looked up
cdef int COUNT_BITS = 22  # of a part's hash, by which its frequency is counted
cdef Py_ssize_t FEW = 15  # items that are sorted by insertion
cdef uint64_t BASE = 0x9E3779B97F4A7C15  # of the polynomial hash of a part


def rarest_parts(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int64_t[::1] chosen, const uint64_t[::1] words,
    const int64_t[::1] n_parts,
):
    """Return the hashes of the rarest parts of the `chosen` texts, and of each length of the text, text and start.

    `words`: a random number of each type; `n_parts`: of each length, how many parts are kept. Shapes (n_entries,),
    (3, n_entries).
    """
    cdef Py_ssize_t most = 0, n_entries = 0, entry = 0, number, text, begin, length, n_kept, n, more, best, part, place
    for number in range(chosen.shape[0]):
        length = offsets[chosen[number] + 1] - offsets[chosen[number]]
        most = max(most, n_parts[length] + MORE_PARTS)
        n_entries += n_parts[length]
    hashes_of, entries_of = np.empty(n_entries, dtype=np.uint64), np.empty((3, n_entries), dtype=np.int32)
    cdef uint64_t[::1] hashes = hashes_of
    cdef int32_t[:, ::1] entries = entries_of
    cdef int32_t[::1] counts = np.zeros(1 << COUNT_BITS, dtype=np.int32)  # by the highest bits of a part's hash
    cdef uint64_t[:, ::1] values = np.empty((MORE_PARTS + 1, most), dtype=np.uint64)
    cdef int64_t[::1] numbers = np.empty(most, dtype=np.int64), order = np.empty(most, dtype=np.int64)
    cdef int shift = 64 - COUNT_BITS
    cdef uint64_t value
    cdef int64_t fewest, total
    cdef bint is_counted
    with nogil:
        for is_counted in range(2):  # count parts, then choose the rarest
            for number in range(chosen.shape[0]):
                text = chosen[number]
                begin, length = offsets[text], offsets[text + 1] - offsets[text]
                n_kept = n_parts[length]
                best, fewest = 0, -1
                for more in range(min(MORE_PARTS, length - n_kept) + 1):
                    n = n_kept + more
                    for part in range(n):
                        value = 0
                        for place in range(begin + part * length // n, begin + (part + 1) * length // n):
                            value = value * BASE + words[tokens[place]]
                        values[more, part] = value
                        if is_counted:
                            numbers[part] = counts[value >> shift]
                        else:
                            counts[value >> shift] += 1
                    if is_counted:
                        argsort(numbers, order, n)
                        total = 0
                        for part in range(n_kept):
                            total += numbers[order[part]]
                        if fewest < 0 or total < fewest:
                            best, fewest = more, total
                if is_counted:
                    n = n_kept + best
                    for part in range(n):
                        numbers[part] = counts[values[best, part] >> shift]
                    argsort(numbers, order, n)
                    for place in range(n_kept):
                        part = order[place]
                        hashes[entry] = values[best, part]
                        entries[0, entry] = <int32_t> length
                        entries[1, entry] = <int32_t> text
                        entries[2, entry] = <int32_t> (part * length // n)
                        entry += 1
    return hashes_of, entries_of


cdef void argsort(const int64_t[::1] values, int64_t[::1] order, Py_ssize_t n) noexcept nogil:
    """Fill `order` with the places of the first `n` values, from the least to the largest."""
    cdef Py_ssize_t place
    for place in range(n):
        order[place] = place
    if n > 1:
        sort_places(&values[0], &order[0], n)


cdef void sort_places(const int64_t *values, int64_t *order, Py_ssize_t n) noexcept nogil:
    """Sort `order` by the values at its places: quicksort around the median of three, or by insertion where few."""
    cdef Py_ssize_t left, right, middle
    cdef int64_t place, pivot
    while n > FEW:
        middle = (n - 1) // 2
        swap_unless(values, &order[0], &order[middle])
        swap_unless(values, &order[middle], &order[n - 1])
        swap_unless(values, &order[0], &order[middle])
        pivot = values[order[middle]]
        swap(&order[middle], &order[n - 1])
        left, right = 0, n - 2
        while True:
            while left < n - 1 and values[order[left]] < pivot:
                left += 1
            while right >= 0 and pivot < values[order[right]]:
                right -= 1
            if left >= right:
                break
            swap(&order[left], &order[right])
            left += 1
            right -= 1
        swap(&order[left], &order[n - 1])
        if 2 * left < n:  # recursion into the shorter half
            sort_places(values, order, left)
            order += left + 1
            n -= left + 1
        else:
            sort_places(values, order + left + 1, n - left - 1)
            n = left
    for right in range(1, n):
        place = order[right]
        left = right
        while left > 0 and values[place] < values[order[left - 1]]:
            order[left] = order[left - 1]
            left -= 1
        order[left] = place


cdef inline void swap(int64_t *one, int64_t *other) noexcept nogil:
    one[0], other[0] = other[0], one[0]


cdef inline void swap_unless(const int64_t *values, int64_t *less, int64_t *more) noexcept nogil:
    """Swap two places unless their values are in order."""
    if values[more[0]] < values[less[0]]:
        swap(less, more)


def search_nearest(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int64_t[::1] queries,
    const int32_t[::1] train_tokens, const int64_t[::1] train_offsets, const uint64_t[::1] words,
    const int64_t[::1] directory, int n_bits, const uint64_t[::1] hashes, const int32_t[::1] lengths,
    const int32_t[::1] texts, const int32_t[::1] starts, const int64_t[::1] shortest, const int64_t[::1] longest,
    const int64_t[::1] n_parts, int64_t most_candidates, int64_t[:, ::1] found,
):
    """Fill `found`, shape (3, n): the nearest training text of each query, its distance, whether all were looked at."""
    cdef Py_ssize_t most = 0, most_windows = 0, number, begin, end, n, size, start, place, low, high, first, last
    cdef Py_ssize_t part_low, part_high, n_windows, rank, window, entry, text, allowed
    cdef int64_t best, best_text, left, steps, n_entries, distance
    for number in range(queries.shape[0]):
        n = offsets[queries[number] + 1] - offsets[queries[number]]
        most = max(most, n)
        part_sizes(n, shortest[n], longest[n], n_parts, &part_low, &part_high)
        most_windows = max(most_windows, (part_high - part_low + 1) * n)
    cdef uint64_t[::1] prefix = np.zeros(most + 1, dtype=np.uint64)
    cdef int32_t[::1] verified = np.full(train_offsets.shape[0], -1, dtype=np.int32)
    cdef int64_t[::1] reach = np.empty(2 * (most + 2) + 1, dtype=np.int64)
    cdef int64_t[::1] before = np.empty(2 * (most + 2) + 1, dtype=np.int64)
    # windows of the query: how many entries have its hash, the first of them, where it starts
    cdef int64_t[::1] n_having = np.empty(most_windows, dtype=np.int64), order = np.empty(most_windows, dtype=np.int64)
    cdef int64_t[::1] firsts = np.empty(most_windows, dtype=np.int64), places = np.empty(most_windows, dtype=np.int64)
    cdef int shift = 64 - n_bits
    cdef uint64_t value, power
    with nogil:
        for number in range(queries.shape[0]):
            begin, end = offsets[queries[number]], offsets[queries[number] + 1]
            n = end - begin
            for place in range(n):
                prefix[place + 1] = prefix[place] * BASE + words[tokens[begin + place]]
            part_sizes(n, shortest[n], longest[n], n_parts, &part_low, &part_high)
            n_windows = 0
            power = 1
            for size in range(part_low):
                power *= BASE
            for size in range(part_low, part_high + 1):
                for start in range(n - size + 1):
                    value = prefix[start + size] - prefix[start] * power
                    low, high = directory[value >> shift], directory[(value >> shift) + 1]
                    if low == high:
                        continue
                    first = first_entry(hashes, lengths, low, high, value, shortest[n])
                    if first == high or hashes[first] != value or lengths[first] > longest[n]:
                        continue
                    last = first_entry(hashes, lengths, first, high, value, longest[n] + 1)
                    n_having[n_windows], firsts[n_windows], places[n_windows] = last - first, first, start
                    n_windows += 1
                power *= BASE
            best, best_text, left, steps = -1, -1, most_candidates, 0
            argsort(n_having, order, n_windows)
            for rank in range(n_windows):
                window = order[rank]
                n_entries, first, start = n_having[window], firsts[window], places[window]
                for entry in range(first, first + min(n_entries, left)):
                    text = texts[entry]
                    allowed = max(1, (max(n, lengths[entry]) + 5) // 10)
                    if starts[entry] - start > allowed or start - starts[entry] > allowed or verified[text] == number:
                        continue
                    if best >= 0:
                        allowed = min(allowed, best - 1)
                    if steps > MOST_STEPS:
                        break
                    verified[text] = <int32_t> number
                    steps += (allowed + 1) ** 2
                    distance = edit_distance(
                        &tokens[begin], n, &train_tokens[train_offsets[text]],
                        train_offsets[text + 1] - train_offsets[text], allowed, &reach[0], &before[0],
                    )
                    if distance <= allowed:
                        best, best_text = distance, text
                        if best <= 1:
                            break
                left = 0 if steps > MOST_STEPS else left - min(n_entries, left)
                if left == 0 or 0 <= best <= 1:
                    break
            found[0, number], found[1, number] = best_text, best
            found[2, number] = left > 0 or best >= 0


cdef void part_sizes(
    Py_ssize_t n, Py_ssize_t shortest, Py_ssize_t longest, const int64_t[::1] n_parts,
    Py_ssize_t *least, Py_ssize_t *largest,
) noexcept nogil:
    """Find how many tokens the parts of training texts of `shortest` to `longest` tokens have, at most `n`."""
    cdef Py_ssize_t length
    least[0], largest[0] = n, 1
    for length in range(shortest, longest + 1):
        least[0] = min(least[0], length // (n_parts[length] + min(MORE_PARTS, length - n_parts[length])))
        largest[0] = max(largest[0], (length + n_parts[length] - 1) // n_parts[length])
    least[0], largest[0] = max(1, least[0]), min(largest[0], n)


cdef inline Py_ssize_t first_entry(
    const uint64_t[::1] hashes, const int32_t[::1] lengths, Py_ssize_t low, Py_ssize_t high, uint64_t value,
    Py_ssize_t length,
) noexcept nogil:
    """Return the first entry from `low` to `high` that has the hash `value` and at least `length`, or comes after."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] < value or (hashes[middle] == value and lengths[middle] < length):
            low = middle + 1
        else:
            high = middle
    return low


cdef int64_t edit_distance(
    const int32_t *one, int64_t n, const int32_t *other, int64_t m, int64_t most, int64_t *reach, int64_t *before
) noexcept nogil:
    """Return how many tokens to substitute, insert or delete turn one text into the other; ``most + 1`` if more.

    `n`, `m`: numbers of tokens; `reach`, `before`: room for ``2 * most + 3`` numbers each: how far in `one` so many
    edits lead on each diagonal.
    """
    cdef int64_t middle = most + 1, n_edits, diagonal, at, place
    if n - m > most or m - n > most:
        return most + 1
    for at in range(2 * most + 3):
        before[at] = -(n + m + most + 2)  # unreached
    for n_edits in range(most + 1):
        for diagonal in range(-n_edits, n_edits + 1):  # the place in `one` less that in `other`
            at = middle + diagonal
            place = max(before[at] + 1, before[at - 1] + 1, before[at + 1]) if n_edits else 0
            place = min(place, n, m + diagonal)
            while 0 <= place < n and 0 <= place - diagonal < m and one[place] == other[place - diagonal]:
                place += 1
            reach[at] = place
            if diagonal == n - m and place >= n:
                return n_edits
        for at in range(middle - n_edits, middle + n_edits + 1):
            before[at] = reach[at]
    return most + 1
