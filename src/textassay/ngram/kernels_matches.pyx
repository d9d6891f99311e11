# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that match n-grams of texts: see `textassay.ngram.matches`."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from textassay.ngram.positions cimport low_half, text_of

cdef enum:
    NONE = -1


def separate(const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] row):
    """Fill `row` with the tokens of all texts, -1 after each text."""
    cdef int64_t sentence, position, place = 0
    with nogil:
        for sentence in range(offsets.shape[0] - 1):
            for position in range(offsets[sentence], offsets[sentence + 1]):
                row[place] = tokens[position]
                place += 1
            row[place] = -1
            place += 1


def collect(const int32_t[::1] tokens, int64_t first, int64_t last, const int64_t[::1] starts):
    """Return the positions of tokens from `first` to `last` - 1, each token's from its number of `starts` on."""
    positions_of = np.empty(starts[starts.shape[0] - 1], dtype=np.int64)
    cdef int64_t[::1] positions = positions_of, following = np.array(starts)
    cdef int64_t place, number, sentence = 0
    with nogil:
        for place in range(tokens.shape[0]):
            number = tokens[place] - first
            if <uint64_t> number < <uint64_t> (last - first):  # one branch: two are hard to predict
                positions[following[number]] = (sentence << 32) | place
                following[number] += 1
            sentence += tokens[place] < 0
    return positions_of


def match_part(
    const int32_t[::1] tokens, const int64_t[::1] starts, const int64_t[::1] positions, int64_t n_types,
    bint one_side, int64_t n_hypotheses, const uint8_t[::1] groups, uint8_t[:, ::1] marks,
):
    """Match all n-grams whose first tokens are those of `starts`; fill `marks`."""
    cdef int64_t max_order = marks.shape[1], number, begin, end, level, start, n, slot, size, n_there, n_kept, n_slots
    cdef const int64_t* here
    cdef int64_t[::1] n_groups = np.zeros(max_order, dtype=np.int64), at = np.zeros(max_order, dtype=np.int64)
    cdef int64_t[:, ::1] rows, bounds
    cdef int32_t[::1] slots, table
    cdef int64_t[::1] sizes, firsts, lasts
    rows, bounds, slots, sizes, firsts, lasts, table = _scratch(max_order, longest_run(starts), n_types)
    with nogil:
        for number in range(starts.shape[0] - 1):
            begin, end = starts[number], starts[number + 1]
            if end - begin < 2 or not can_match(positions[begin], positions[end - 1], one_side, n_hypotheses):
                continue
            bounds[0, 0], bounds[0, 1] = begin, end
            n_groups[0], at[0] = 1, 0
            level = 0
            while level >= 0:
                if at[level] == n_groups[level]:
                    level -= 1
                    continue
                start = bounds[level, at[level]]
                n = bounds[level, at[level] + 1] - start
                at[level] += 1
                here = &positions[start] if level == 0 else &rows[level - 1, start]
                if one_side:
                    mark_each_other(here, n, groups, marks, level)
                else:
                    mark_hypotheses(here, n, n_hypotheses, groups, marks, level)
                if level + 1 == max_order:
                    continue
                n_slots = next_tokens(
                    &tokens[0], here, n, level, &slots[0], &sizes[0], &firsts[0], &lasts[0], &table[0]
                )
                n_there = n_kept = 0
                for slot in range(n_slots):
                    size = sizes[slot]
                    sizes[slot] = -1
                    if size < 2 or not can_match(firsts[slot], lasts[slot], one_side, n_hypotheses):
                        continue
                    if size == 2:  # needs no further splitting
                        mark_pair(tokens, firsts[slot], lasts[slot], one_side, groups, marks, level + 1)
                        continue
                    sizes[slot] = n_there
                    bounds[level + 1, n_kept] = n_there
                    n_there += size
                    n_kept += 1
                if n_kept:
                    bounds[level + 1, n_kept] = n_there
                    split(here, n, &slots[0], &sizes[0], &rows[level, 0])
                    level += 1
                    n_groups[level], at[level] = n_kept, 0


def count_part(
    const int32_t[::1] tokens, const int64_t[::1] starts, const int64_t[::1] positions, int64_t n_types,
    const uint8_t[::1] groups, int64_t[::1] n_distinct, int64_t[:, ::1] n_sole,
):
    """Count all n-grams whose first tokens are those of `starts`; add to `n_distinct` and `n_sole`."""
    cdef int64_t max_order = n_distinct.shape[0], number, begin, end, level, start, n, slot, size, n_there, n_kept
    cdef int64_t n_slots, entry, place, order
    cdef uint8_t sole
    cdef const int64_t* here
    cdef int64_t[::1] n_groups = np.zeros(max_order, dtype=np.int64), at = np.zeros(max_order, dtype=np.int64)
    cdef int64_t[:, ::1] rows, bounds
    cdef int32_t[::1] slots, table
    cdef int64_t[::1] sizes, firsts, lasts
    rows, bounds, slots, sizes, firsts, lasts, table = _scratch(max_order, longest_run(starts), n_types)
    with nogil:
        for number in range(starts.shape[0] - 1):
            begin, end = starts[number], starts[number + 1]
            if begin == end:
                continue
            bounds[0, 0], bounds[0, 1] = begin, end
            n_groups[0], at[0] = 1, 0
            level = 0
            while level >= 0:
                if at[level] == n_groups[level]:
                    level -= 1
                    continue
                start = bounds[level, at[level]]
                n = bounds[level, at[level] + 1] - start
                at[level] += 1
                here = &positions[start] if level == 0 else &rows[level - 1, start]
                n_distinct[level] += 1
                sole = groups[text_of(here[0])]
                entry = 1
                while entry < n and groups[text_of(here[entry])] == sole:
                    entry += 1
                n_sole[level, sole] += entry == n
                if level + 1 == max_order:
                    continue
                n_slots = next_tokens(
                    &tokens[0], here, n, level, &slots[0], &sizes[0], &firsts[0], &lasts[0], &table[0]
                )
                n_there = n_kept = 0
                for slot in range(n_slots):
                    size = sizes[slot]
                    sizes[slot] = -1
                    if size == 1:  # so is every longer n-gram
                        place = low_half(firsts[slot])
                        sole = groups[text_of(firsts[slot])]
                        order = level + 1
                        while order < max_order and tokens[place + order] >= 0:
                            n_distinct[order] += 1
                            n_sole[order, sole] += 1
                            order += 1
                        continue
                    sizes[slot] = n_there
                    bounds[level + 1, n_kept] = n_there
                    n_there += size
                    n_kept += 1
                if n_kept:
                    bounds[level + 1, n_kept] = n_there
                    split(here, n, &slots[0], &sizes[0], &rows[level, 0])
                    level += 1
                    n_groups[level], at[level] = n_kept, 0


cdef int64_t longest_run(const int64_t[::1] starts) noexcept nogil:
    cdef int64_t number, longest = 0
    for number in range(starts.shape[0] - 1):
        longest = max(longest, starts[number + 1] - starts[number])
    return longest


def _scratch(int64_t max_order, int64_t longest, int64_t n_types):
    """Return room for one group: its subgroups of each length, where each starts, and `next_tokens`."""
    return (
        np.empty((max_order, longest), dtype=np.int64),
        np.empty((max_order, longest // 2 + 2), dtype=np.int64),
        np.empty(longest, dtype=np.int32),
        *np.empty((3, longest), dtype=np.int64),
        np.full(n_types, -1, dtype=np.int32),
    )


cdef int64_t next_tokens(
    const int32_t* tokens, const int64_t* here, int64_t n, int64_t level, int32_t* slots, int64_t* sizes,
    int64_t* firsts, int64_t* lasts, int32_t* table,
) noexcept nogil:
    """Give every token that follows an n-gram of `level` + 1 tokens at `n` positions a slot; return how many there are.

    `slots`: of each position, -1 at the end of a text; `sizes`, `firsts`, `lasts`: positions of each slot, the first
    and the last of them; `table`: -1 for each token, before and after.
    """
    cdef int64_t entry, position
    cdef int32_t following, slot, n_slots = 0
    for entry in range(n):
        position = here[entry]
        following = tokens[low_half(position) + level + 1]
        if following < 0:
            slots[entry] = -1
            continue
        slot = table[following]
        if slot < 0:
            slot = n_slots
            table[following] = slot
            sizes[slot] = 0
            firsts[slot] = position
            n_slots += 1
        slots[entry] = slot
        sizes[slot] += 1
        lasts[slot] = position
    for slot in range(n_slots):
        table[tokens[low_half(firsts[slot]) + level + 1]] = -1
    return n_slots


cdef void split(
    const int64_t* here, int64_t n, const int32_t* slots, int64_t* following, int64_t* there
) noexcept nogil:
    """Copy each position to the next free place of its slot, -1 for none."""
    cdef int64_t entry
    cdef int32_t slot
    for entry in range(n):
        slot = slots[entry]
        if slot >= 0 and following[slot] >= 0:
            there[following[slot]] = here[entry]
            following[slot] += 1


cdef inline bint can_match(int64_t first, int64_t last, bint one_side, int64_t n_hypotheses) noexcept nogil:
    """Return whether positions from `first` to `last` can match."""
    return text_of(first) != text_of(last) if one_side else text_of(first) < n_hypotheses <= text_of(last)


cdef void mark_pair(
    const int32_t[::1] tokens, int64_t one, int64_t two, bint one_side, const uint8_t[::1] groups,
    uint8_t[:, ::1] marks, int64_t order,
) noexcept nogil:
    """Mark the matches of two positions that share an n-gram of `order` + 1 tokens, and of all longer ones."""
    cdef int64_t place = low_half(one), other = low_half(two), sentence = text_of(one), other_sentence = text_of(two)
    cdef int64_t row
    cdef uint8_t group = groups[sentence], other_group = groups[other_sentence]
    cdef int32_t token
    for row in range(order, marks.shape[1]):
        token = tokens[place + row]
        if token < 0 or token != tokens[other + row]:
            break
        if one_side:
            marks[place - sentence, row] = 1 if group == other_group else 2 + other_group
            marks[other - other_sentence, row] = 1 if group == other_group else 2 + group
        else:
            marks[place - sentence, row] = 2 + other_group


cdef inline int64_t run_end(const int64_t* here, int64_t n, int64_t entry) noexcept nogil:
    """Return the end of the run of positions in one text that starts at `entry`."""
    cdef int64_t sentence = text_of(here[entry])
    entry += 1
    while entry < n and text_of(here[entry]) == sentence:
        entry += 1
    return entry


cdef inline void mark_run(
    const int64_t* here, int64_t n, int64_t matched, int64_t left, int64_t group, uint8_t[:, ::1] marks, int64_t row
) noexcept nogil:
    """Mark the first `matched` places of a run of `n`; only `left` of them match without `group`."""
    cdef int64_t number, mark
    matched = min(matched, n)
    for number in range(matched):
        mark = 2 + group if number < matched - left else 1
        marks[low_half(here[number]) - text_of(here[number]), row] = <uint8_t> mark


cdef void mark_hypotheses(
    const int64_t* here, int64_t n, int64_t n_hypotheses, const uint8_t[::1] groups, uint8_t[:, ::1] marks, int64_t row
) noexcept nogil:
    """Mark the matches of one n-gram in hypotheses with references, given its positions in ascending order."""
    cdef int64_t largest = 0, entry = 0, end, n_here, group, count
    # The largest count in a reference, the group it is in, and the largest count in any other group.
    cdef int64_t most = 0, owner = NONE, second = 0
    while entry < n and text_of(here[entry]) < n_hypotheses:
        end = run_end(here, n, entry)
        largest = max(largest, end - entry)
        entry = end
    n_here = entry
    while entry < n and second < largest:
        group = groups[text_of(here[entry])]
        end = run_end(here, n, entry)
        count = end - entry
        entry = end
        if group == owner:
            most = max(most, count)
        elif count > most:
            most, owner, second = count, group, most
        else:
            second = max(second, count)
    entry = 0
    while entry < n_here:
        end = run_end(here, n, entry)
        mark_run(here + entry, end - entry, most, second, owner, marks, row)
        entry = end


cdef void mark_each_other(
    const int64_t* here, int64_t n, const uint8_t[::1] groups, uint8_t[:, ::1] marks, int64_t row
) noexcept nogil:
    """Mark the matches of each text's run of an n-gram with the largest run of another text.

    That is the best run, or for its own text the second best; without the group of that run, the best run in any other
    group is left. Ties do not change the result.
    """
    cdef int64_t largest = 0, entry = 0, end, best, most, owner, other, second, other_owner
    cdef int64_t elsewhere, most_elsewhere, next_elsewhere, next_best, matched, lost, left
    while entry < n:
        end = run_end(here, n, entry)
        largest = max(largest, end - entry)
        entry = end
    best, most = best_run(here, n, groups, largest, NONE, NONE)
    owner = groups[text_of(here[best])]
    other, second = best_run(here, n, groups, largest, best, NONE)
    other_owner = groups[text_of(here[other])]
    elsewhere, most_elsewhere = best_run(here, n, groups, largest, NONE, owner)
    next_elsewhere = best_run(here, n, groups, largest, elsewhere, owner)[1]
    next_best = best_run(here, n, groups, largest, best, other_owner)[1]
    entry = 0
    while entry < n:
        end = run_end(here, n, entry)
        if entry == best:
            matched, lost, left = second, other_owner, next_best
        else:
            matched, lost, left = most, owner, next_elsewhere if entry == elsewhere else most_elsewhere
        if groups[text_of(here[entry])] == lost:
            left = matched
        mark_run(here + entry, end - entry, matched, left, lost, marks, row)
        entry = end


cdef (int64_t, int64_t) best_run(
    const int64_t* here, int64_t n, const uint8_t[::1] groups, int64_t largest, int64_t but_run, int64_t but_group
) noexcept nogil:
    """Return the first run with the largest count, and the count, but one run and one group; -1 and 0 for none."""
    cdef int64_t best = NONE, most = 0, entry = 0, end
    while entry < n:
        end = run_end(here, n, entry)
        if end - entry > most and entry != but_run and groups[text_of(here[entry])] != but_group:
            best, most = entry, end - entry
            if most == largest:
                break
        entry = end
    return best, most
