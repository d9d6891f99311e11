# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that count n-grams and skip-grams by side: see `side_counts` and `skip_counts`."""

from libc.math cimport log
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from textassay.ngram.hash_table cimport FREE, hashed, pair, slot_of

cdef enum:
    N_SIDES = 3  # real, generated, pooled
    POOLED = 2
    COUNT = 1  # columns of the first side; the row of the prefix comes first
    FOLLOWERS = 4
    BEFORE = 7
    AROUND = 10
    EMPTY = 0  # row of the empty n-gram
    PER_ORDER = 6  # features for each order, besides those of strengths
    TOKENS_AT_ONCE = 4  # probabilities of so many tokens are multiplied before a logarithm is taken


def mark_rows(const int32_t[::1] ids, int64_t first, int64_t width, int32_t[::1] longest):
    """Write the rows of the n-grams of one order over those of shorter ones."""
    cdef int64_t start
    with nogil:
        for start in range(ids.shape[0]):
            if ids[start] >= 0:
                longest[start] = <int32_t> (first + ids[start] * width)


def number_repeated(
    const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] longest,
    int64_t order, int64_t lowest, int64_t first, int64_t width, int64_t at_once,
):
    """Write over `longest` the rows of n-grams of `order` that occur at least twice; return the rows of their prefixes.

    In `longest` are the rows of shorter n-grams, those of order - 1 from `lowest` on. An n-gram of which a part occurs
    once occurs once, too. Rows of `order` begin at `first`. At most about `at_once` n-grams are looked for in one pass
    over the text, to limit memory.
    """
    cdef int64_t text, start, part, n_candidates = 0, n_ngrams = 0
    with nogil:
        for text in range(offsets.shape[0] - 1):
            for start in range(offsets[text], offsets[text + 1] - order + 1):
                n_candidates += longest[start] >= lowest and (order == 1 or longest[start + 1] >= lowest)
    cdef int64_t n_parts = n_candidates // at_once + 1, size = 2
    while size < 2 * (n_candidates // n_parts + 1):
        size *= 2
    prefixes_of = np.empty(n_candidates // 2 + 1, dtype=np.int32)
    cdef int64_t[::1] keys = np.empty(size, dtype=np.int64)
    cdef int32_t[::1] values = np.empty(size, dtype=np.int32), prefixes = prefixes_of
    with nogil:
        for part in range(n_parts):
            keys[:] = FREE
            n_ngrams = number_part(
                tokens, offsets, longest, order, lowest, first, width, part, n_parts, keys, values, prefixes, n_ngrams
            )
    return prefixes_of[:n_ngrams].copy()


cdef int64_t number_part(
    const int32_t[::1] tokens, const int64_t[::1] offsets, int32_t[::1] longest,
    int64_t order, int64_t lowest, int64_t first, int64_t width, int64_t part, int64_t n_parts,
    int64_t[::1] keys, int32_t[::1] values, int32_t[::1] prefixes, int64_t n_ngrams,
) noexcept nogil:
    cdef int64_t text, start, key
    cdef uint64_t slot, mask = keys.shape[0] - 1
    cdef int32_t prefix, row
    for text in range(offsets.shape[0] - 1):
        for start in range(offsets[text], offsets[text + 1] - order + 1):
            prefix = longest[start]
            if prefix < lowest or prefix >= first or (order > 1 and longest[start + 1] < lowest):
                continue  # of a part before this one, or it occurs once
            key = pair(<int64_t> prefix + 1, tokens[start + order - 1])
            if n_parts > 1 and <int64_t> (hashed(key) >> 40) % n_parts != part:
                continue
            slot = slot_of(&keys[0], mask, key)
            if keys[slot] != key:
                keys[slot] = key
                values[slot] = <int32_t> (-start - 2)  # where it is, until it is seen again
                continue
            if values[slot] < 0:
                prefixes[n_ngrams] = prefix
                row = <int32_t> (first + n_ngrams * width)
                longest[-<int64_t> values[slot] - 2] = row
                values[slot] = row
                n_ngrams += 1
            longest[start] = values[slot]
    return n_ngrams


def count_sides(
    const int32_t[::1] longest, const int64_t[::1] offsets, const int64_t[::1] firsts, const int8_t[::1] sides,
    const int64_t[::1] rows, int32_t[::1] table, int64_t[:, ::1] n_single, int64_t[:, ::1] n_preceded,
):
    """Count the texts `rows` in `table`; those of their n-grams without a row in `n_single` and `n_preceded`."""
    cdef int64_t place, row
    cdef int32_t[:, ::1] grams = np.empty((firsts.shape[0] - 1, longest_text(offsets, rows)), dtype=np.int32)
    with nogil:
        for place in range(rows.shape[0]):
            row = rows[place]
            read_text(longest, offsets[row], offsets[row + 1], firsts, table, grams)
            add_text(grams, offsets[row + 1] - offsets[row], sides[row], 1, table, n_single, n_preceded)


def describe_sides(
    const int32_t[::1] longest, const int64_t[::1] offsets, const int64_t[::1] firsts, const int8_t[::1] sides,
    const int64_t[::1] rows, const int64_t[::1] groups, const uint8_t[::1] drawn, bint take_out,
    int32_t[::1] table, const double[:, ::1] discounts, const double[::1] strengths, double uniform,
    double[:, ::1] features,
):
    """Fill `features`, one row for each text of `rows` that is drawn; texts of a group are adjacent.

    `take_out`: whether each group is taken out of the counts while its texts are described.
    """
    cdef int64_t first = 0, last, place, begin, end, n_described = 0
    cdef int step
    cdef bint is_drawn
    cdef int32_t[:, ::1] grams = np.empty((firsts.shape[0] - 1, longest_text(offsets, rows)), dtype=np.int32)
    cdef int64_t[:, ::1] ignored = np.zeros((firsts.shape[0] - 1, N_SIDES), dtype=np.int64)
    cdef double[::1] products = np.ones(features.shape[1]), ratios = np.empty(strengths.shape[0])
    with nogil:
        while first < rows.shape[0]:
            last = first + 1
            is_drawn = drawn[first]
            while last < rows.shape[0] and groups[last] == groups[first]:
                is_drawn |= drawn[last]
                last += 1
            for step in range(-1, 2):
                if not is_drawn or (step != 0 and not take_out):
                    continue
                for place in range(first, last):
                    begin, end = offsets[rows[place]], offsets[rows[place] + 1]
                    if step == -1 or last > first + 1 or not take_out:  # else it is the text that was just taken out
                        read_text(longest, begin, end, firsts, table, grams)
                    if step != 0:
                        add_text(grams, end - begin, sides[rows[place]], step, table, ignored, ignored)
                    elif drawn[place]:
                        sum_tokens(
                            grams, end - begin, table, discounts, strengths, uniform, products, ratios,
                            &features[n_described, 0],
                        )
                        n_described += 1
            first = last


cdef int64_t longest_text(const int64_t[::1] offsets, const int64_t[::1] rows) noexcept nogil:
    cdef int64_t place, longest = 1
    for place in range(rows.shape[0]):
        longest = max(longest, offsets[rows[place] + 1] - offsets[rows[place]])
    return longest


cdef void read_text(
    const int32_t[::1] longest, int64_t begin, int64_t end, const int64_t[::1] firsts, int32_t[::1] table,
    int32_t[:, ::1] grams,
) noexcept nogil:
    """Fill `grams` with the rows of the n-grams that start at each token of a text, -1 for those without a row."""
    cdef int64_t start, level
    cdef int32_t row
    for start in range(begin, end):
        row = longest[start]
        for level in range(grams.shape[0] - 1, -1, -1):
            if row < firsts[level]:
                grams[level, start - begin] = -1
            else:
                grams[level, start - begin] = row
                row = table[row]


cdef void add_text(
    int32_t[:, ::1] grams, int64_t n_tokens, int own_side, int step, int32_t[::1] table, int64_t[:, ::1] n_single,
    int64_t[:, ::1] n_preceded,
) noexcept nogil:
    """Add the n-grams of a text to its side and the pooled one (step 1) or subtract them (step -1)."""
    cdef int64_t level, start
    cdef int32_t gram, prefix, suffix, middle
    cdef int which, side
    cdef bint changes
    for level in range(grams.shape[0]):
        for start in range(n_tokens - level):
            gram = grams[level, start]
            for which in range(2):
                side = own_side if which == 0 else POOLED
                if gram < 0:  # it occurs nowhere else
                    changes = True
                    n_single[level, side] += step
                    n_preceded[level, side] += step * (start > 0)
                else:
                    table[gram + COUNT + side] += step
                    changes = table[gram + COUNT + side] == (1 if step == 1 else 0)  # it is new or gone
                if level == 0:
                    if start > 0:  # the first token is never predicted
                        table[EMPTY + COUNT + side] += step
                        if changes:
                            table[EMPTY + FOLLOWERS + side] += step
                elif changes:
                    prefix, suffix = grams[level - 1, start], grams[level - 1, start + 1]
                    middle = EMPTY if level == 1 else grams[level - 2, start + 1]
                    if prefix >= 0:
                        table[prefix + FOLLOWERS + side] += step
                    if suffix >= 0:
                        table[suffix + BEFORE + side] += step
                    if middle >= 0:
                        table[middle + AROUND + side] += step


cdef inline void add_logs(double* products, double* sums, int64_t n) noexcept nogil:
    """Add the logarithms of `products` to `sums`, and set them to 1."""
    cdef int64_t column
    for column in range(n):
        if products[column] != 1.0:
            sums[column] += log(products[column])
            products[column] = 1.0


cdef void sum_tokens(
    int32_t[:, ::1] grams, int64_t n_tokens, int32_t[::1] table, const double[:, ::1] discounts,
    const double[::1] strengths, double uniform, double[::1] products, double[::1] ratios, double* sums,
) noexcept nogil:
    cdef int64_t n_levels = grams.shape[0], n_strengths = strengths.shape[0], width = PER_ORDER + n_strengths
    cdef int64_t position, level, start, column, which, n_context, n_gram, n_followers, real, generated
    cdef int32_t context, gram
    cdef int side
    cdef bint raw
    cdef double witten_bell[2]
    cdef double kneser_ney[N_SIDES]
    cdef double over_pooled[2]
    cdef double lower, off, left, n_real, n_generated, odds, share, smallest_share = 0.01
    for position in range(1, n_tokens):
        kneser_ney[POOLED] = uniform
        for side in range(2):
            witten_bell[side] = kneser_ney[side] = over_pooled[side] = uniform
        for which in range(n_strengths):
            ratios[which] = 1.0
        for level in range(n_levels):
            start = position - level
            if start >= 0:
                context = EMPTY if level == 0 else grams[level - 1, start]
                lower = kneser_ney[POOLED]
                over_pooled[0] = over_pooled[1] = lower
                # a context that occurs in this text alone is as unknown as one without a row
                if context >= 0 and table[context + COUNT + POOLED] > 0:
                    gram = grams[level, start]
                    raw = start == 0 or level == n_levels - 1
                    for side in range(N_SIDES):
                        n_context = table[context + COUNT + side]
                        if n_context == 0:
                            continue
                        n_gram = table[gram + COUNT + side] if gram >= 0 else 0
                        n_followers = table[context + FOLLOWERS + side]
                        off = discounts[side, level]
                        if side < POOLED:
                            witten_bell[side] = (n_gram + n_followers * witten_bell[side]) / (n_context + n_followers)
                            over_pooled[side] = (max(n_gram - off, 0.0) + off * n_followers * lower) / n_context
                        if not raw:
                            n_context = table[context + AROUND + side]
                            n_gram = table[gram + BEFORE + side] if gram >= 0 else 0
                        if n_context > 0:
                            left = min(off * n_followers, <double> n_context)
                            kneser_ney[side] = (max(n_gram - off, 0.0) + left * kneser_ney[side]) / n_context
                    n_real, n_generated = table[context + COUNT] + 1.0, table[context + COUNT + 1] + 1.0
                    odds = n_generated / n_real
                    real = generated = 0
                    if gram >= 0:
                        real, generated = table[gram + COUNT], table[gram + COUNT + 1]
                    for which in range(n_strengths):
                        share = n_real * ratios[which] / (n_real * ratios[which] + n_generated)
                        share = min(max(share, smallest_share), 1.0 - smallest_share)  # the expected share of a side
                        ratios[which] = (
                            (real + strengths[which] * share)
                            / (generated + strengths[which] * (1.0 - share))
                            * odds
                        )
            column = level * width
            products[column] *= witten_bell[0] / witten_bell[1]
            for side in range(N_SIDES):
                products[column + 1 + side] *= kneser_ney[side]
            for side in range(2):
                products[column + 4 + side] *= over_pooled[side]
            for which in range(n_strengths):
                products[column + PER_ORDER + which] *= ratios[which]
        if position % TOKENS_AT_ONCE == 0:
            add_logs(&products[0], sums, products.shape[0])
    add_logs(&products[0], sums, products.shape[0])


# Skip-grams by side: see `skip_counts`.

cdef enum:
    ONCE = -1  # it occurs nowhere else
    OUTSIDE = -2  # the pattern extends beyond the start of the text
    SKIP_FOLLOWERS = 3  # column of the first side, after the occurrences of contexts


def number_extended(
    const int32_t[::1] contexts, const int32_t[::1] tokens, const int64_t[::1] offsets, int64_t distance,
    int64_t reach, int32_t[::1] extended, int64_t at_once,
):
    """Number the contexts with the token `distance` before each place that occur at least twice; return how many.

    `extended`: filled with -1 for those that occur once; OUTSIDE where less than `reach` tokens come before in the
    text. At most about `at_once` are looked for in one pass, to limit memory.
    """
    cdef int64_t text, place, key, part, n_candidates = 0, n_known = 0, size = 2
    with nogil:
        for text in range(offsets.shape[0] - 1):
            for place in range(offsets[text], offsets[text + 1]):
                extended[place] = OUTSIDE if place < offsets[text] + reach else ONCE
                n_candidates += extended[place] == ONCE and contexts[place] >= 0
    cdef int64_t n_parts = n_candidates // at_once + 1
    while size < 2 * (n_candidates // n_parts + 1):
        size *= 2
    cdef int64_t[::1] keys = np.empty(size, dtype=np.int64)
    cdef int32_t[::1] values = np.empty(size, dtype=np.int32)
    cdef uint64_t slot
    with nogil:
        for part in range(n_parts):
            keys[:] = FREE
            for place in range(contexts.shape[0]):
                if extended[place] != ONCE or contexts[place] < 0:
                    continue
                key = pair(contexts[place], tokens[place - distance])
                if n_parts > 1 and <int64_t> (hashed(key) >> 40) % n_parts != part:
                    continue
                slot = slot_of(&keys[0], size - 1, key)
                if keys[slot] != key:
                    keys[slot] = key
                    values[slot] = <int32_t> (-place - 1)  # where it is, until it is seen again
                    continue
                if values[slot] < 0:
                    extended[-<int64_t> values[slot] - 1] = <int32_t> n_known
                    values[slot] = <int32_t> n_known
                    n_known += 1
                extended[place] = values[slot]
    return n_known


def count_tokens(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const int64_t[::1] rows, int64_t[::1] unigrams
):
    """Count the tokens of the texts `rows`, too."""
    cdef int64_t place, position
    with nogil:
        for place in range(rows.shape[0]):
            for position in range(offsets[rows[place]], offsets[rows[place] + 1]):
                unigrams[tokens[position]] += 1


def count_skips(
    const int32_t[::1] contexts, const int32_t[::1] grams, const int64_t[::1] offsets, const int8_t[::1] sides,
    const int64_t[::1] rows, int32_t[:, ::1] of_context, int32_t[:, ::1] of_gram, int64_t[::1] n_single,
):
    """Count the skip-grams of the texts `rows`, too; those without a number in `n_single`."""
    cdef int64_t place, position
    cdef int32_t context, gram
    cdef int which, side
    with nogil:
        for place in range(rows.shape[0]):
            for position in range(offsets[rows[place]], offsets[rows[place] + 1]):
                context, gram = contexts[position], grams[position]
                if context == OUTSIDE:
                    continue
                for which in range(2):
                    side = sides[rows[place]] if which == 0 else POOLED
                    if gram < 0:  # it occurs nowhere else
                        n_single[side] += 1
                    else:
                        of_gram[gram, side] += 1
                    if context >= 0:
                        of_context[context, side] += 1
                        if gram < 0 or of_gram[gram, side] == 1:
                            of_context[context, SKIP_FOLLOWERS + side] += 1


def describe_skips(
    const int32_t[::1] tokens, const int32_t[::1] contexts, const int32_t[::1] grams, const int64_t[::1] offsets,
    const int8_t[::1] sides, const int64_t[::1] rows, const int64_t[::1] groups, const uint8_t[::1] drawn,
    bint take_out, int32_t[:, ::1] of_context, int32_t[:, ::1] of_gram, int64_t[::1] unigrams,
    int64_t n_tokens, int64_t n_known, const double[::1] discounts, double[:, ::1] features, int64_t column,
):
    """Fill the columns of `features` from `column` on, one row for each text of `rows` that is drawn.

    Texts of a group are adjacent; `take_out`: whether it is taken out of the counts while its texts are described.
    """
    cdef int64_t first = 0, last, place, row, n_described = 0
    cdef int step
    cdef bint is_drawn
    with nogil:
        while first < rows.shape[0]:
            last = first + 1
            is_drawn = drawn[first]
            while last < rows.shape[0] and groups[last] == groups[first]:
                is_drawn |= drawn[last]
                last += 1
            for step in range(-1, 2):
                if not is_drawn or (step != 0 and not take_out):
                    continue
                for place in range(first, last):
                    row = rows[place]
                    if step != 0:
                        n_tokens += step * (offsets[row + 1] - offsets[row])
                        add_skips(
                            tokens, contexts, grams, offsets[row], offsets[row + 1], sides[row], step,
                            of_context, of_gram, unigrams,
                        )
                    elif drawn[place]:
                        sum_skips(
                            tokens, contexts, grams, offsets[row], offsets[row + 1], of_context, of_gram, unigrams,
                            n_tokens + n_known, discounts, &features[n_described, column],
                        )
                        n_described += 1
            first = last


cdef void add_skips(
    const int32_t[::1] tokens, const int32_t[::1] contexts, const int32_t[::1] grams, int64_t begin, int64_t end,
    int own_side, int step, int32_t[:, ::1] of_context, int32_t[:, ::1] of_gram, int64_t[::1] unigrams,
) noexcept nogil:
    """Add the skip-grams of a text to its side and the pooled one (step 1) or subtract them (step -1)."""
    cdef int64_t place
    cdef int32_t context, gram, limit = 1 if step == 1 else 0
    cdef int own, pooled
    for place in range(begin, end):
        context, gram = contexts[place], grams[place]
        unigrams[tokens[place]] += step
        if context == OUTSIDE:
            continue
        own = pooled = step  # of how many distinct followers: none, unless the n-gram is new or gone
        if gram >= 0:
            of_gram[gram, own_side] += step
            of_gram[gram, POOLED] += step
            own *= of_gram[gram, own_side] == limit
            pooled *= of_gram[gram, POOLED] == limit
        if context >= 0:
            of_context[context, own_side] += step
            of_context[context, POOLED] += step
            of_context[context, SKIP_FOLLOWERS + own_side] += own
            of_context[context, SKIP_FOLLOWERS + POOLED] += pooled


cdef void sum_skips(
    const int32_t[::1] tokens, const int32_t[::1] contexts, const int32_t[::1] grams, int64_t begin, int64_t end,
    int32_t[:, ::1] of_context, int32_t[:, ::1] of_gram, int64_t[::1] unigrams, int64_t n_all,
    const double[::1] discounts, double* sums,
) noexcept nogil:
    """Add the features of a text to `sums`; `n_all`: tokens counted, and one more of each type."""
    cdef double products[N_SIDES + 1]
    cdef double frequency, gain, n_real, n_generated, share
    cdef int64_t place, real, generated
    cdef int32_t context, gram
    cdef int side
    for side in range(N_SIDES + 1):
        products[side] = 1.0
    for place in range(begin, end):
        context, gram = contexts[place], grams[place]
        if (place - begin) % TOKENS_AT_ONCE == 0:
            add_logs(products, sums, N_SIDES + 1)
        if context < 0 or of_context[context, POOLED] == 0:
            continue
        frequency = (unigrams[tokens[place]] + 1.0) / n_all
        for side in range(N_SIDES):
            if of_context[context, side] > 0:
                gain = discounts[side] * of_context[context, SKIP_FOLLOWERS + side]
                if gram >= 0:
                    gain += max(of_gram[gram, side] - discounts[side], 0.0) / frequency
                products[side] *= gain / of_context[context, side]
        n_real, n_generated = of_context[context, 0] + 1.0, of_context[context, 1] + 1.0
        share = n_real / (n_real + n_generated)
        real = generated = 0
        if gram >= 0:
            real, generated = of_gram[gram, 0], of_gram[gram, 1]
        products[N_SIDES] *= (real + share) / (generated + 1.0 - share) * (n_generated / n_real)
    add_logs(products, sums, N_SIDES + 1)
