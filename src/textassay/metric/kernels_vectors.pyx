# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops over vectors of sentences and over their products: clusters, balls and nearest references."""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

cdef float ROUNDING = 1e-6  # of a squared distance, relative to the squared lengths of the two vectors
cdef double SLACK = 1e-9  # of a bound, far above its rounding

cdef enum:
    LANES = 16  # float32 numbers in a register of the widest kind

ctypedef fused index:  # of sparse matrices
    int32_t
    int64_t


def hash_rows(const uint32_t[:, ::1] words):
    """Return a hash of each row, shape (N,)."""
    hashes_of = np.empty(words.shape[0], dtype=np.uint64)
    cdef uint64_t[::1] hashes = hashes_of
    cdef Py_ssize_t row, column
    cdef uint64_t state
    with nogil:
        for row in range(words.shape[0]):
            state = 0x9E3779B97F4A7C15
            for column in range(words.shape[1]):
                state = (state ^ words[row, column]) * <uint64_t> 0xBF58476D1CE4E5B9
                state ^= state >> 29
            hashes[row] = state
    return hashes_of


cdef inline float maximum(const float *values, Py_ssize_t n) noexcept nogil:
    """Return the highest of `values`; in lanes, since one running maximum is a chain that no compiler vectorises."""
    cdef float lanes[LANES]
    cdef float value, highest = -INFINITY
    cdef Py_ssize_t block, lane, place
    for lane in range(LANES):
        lanes[lane] = -INFINITY
    for block in range(n // LANES):
        for lane in range(LANES):
            value = values[block * LANES + lane]
            lanes[lane] = value if value > lanes[lane] else lanes[lane]
    for lane in range(LANES):
        highest = max(highest, lanes[lane])
    for place in range(n - n % LANES, n):
        highest = max(highest, values[place])
    return highest


def highest(
    float[:, ::1] new, const int64_t[::1] centres, int64_t[::1] labels, float[::1] scores, float[::1] bounds
):
    """Set label, score and bound of each row of `new`, the scores of `centres`; it is overwritten."""
    cdef Py_ssize_t row, at, n = new.shape[1]
    cdef float best
    with nogil:
        for row in range(labels.shape[0]):
            best = maximum(&new[row, 0], n)
            at = 0
            while new[row, at] != best:
                at += 1
            labels[row] = centres[at]
            scores[row] = best
            new[row, at] = -INFINITY
            bounds[row] = maximum(&new[row, 0], n)


def improve(
    float[:, ::1] new, const int64_t[::1] changed, const int64_t[::1] column_of, int64_t[::1] labels,
    float[::1] scores, float[::1] bounds,
):
    """Update rows by the scores of changed centres, `new`, which are overwritten; return those that stay open."""
    open_of = np.empty(labels.shape[0], dtype=np.int64)
    cdef int64_t[::1] open_rows = open_of
    cdef Py_ssize_t row, at, n = new.shape[1], n_open = 0
    cdef int64_t own
    cdef float score, best
    with nogil:
        for row in range(labels.shape[0]):
            own = column_of[labels[row]]
            score = scores[row]
            if own >= 0:
                score = new[row, own]
                new[row, own] = -INFINITY
            best = maximum(&new[row, 0], n)
            if score >= best and score >= bounds[row]:
                scores[row] = score
                bounds[row] = max(best, bounds[row])
            elif best >= bounds[row]:
                at = 0
                while new[row, at] != best:
                    at += 1
                new[row, at] = -INFINITY
                bounds[row] = max(max(score, bounds[row]), maximum(&new[row, 0], n))
                scores[row] = best
                labels[row] = changed[at]
            else:
                open_rows[n_open] = row
                n_open += 1
    return open_of[:n_open]


def cluster_sums(const float[:, ::1] points, const int64_t[::1] labels, const uint8_t[::1] affected):
    """Return the sums of the affected clusters, shape (k, m)."""
    sums_of = np.zeros((affected.shape[0], points.shape[1]))
    cdef double[:, ::1] sums = sums_of
    cdef Py_ssize_t row, column
    cdef int64_t label
    with nogil:
        for row in range(points.shape[0]):
            label = labels[row]
            if affected[label]:
                for column in range(points.shape[1]):
                    sums[label, column] += points[row, column]
    return sums_of


def keep_nearest(
    const float[:, ::1] products, const float[::1] squares, Py_ssize_t start, Py_ssize_t column,
    float[:, ::1] nearest, int64_t[:, ::1] who,
):
    """Sort the vectors of a block of products into the nearest ones found so far."""
    cdef Py_ssize_t last = nearest.shape[1] - 1, row, other, place
    cdef double distance
    with nogil:
        for row in range(products.shape[0]):
            for other in range(products.shape[1]):
                distance = <double> (squares[start + row] + squares[column + other]) - 2.0 * products[row, other]
                if distance >= nearest[row, last] or start + row == column + other:
                    continue
                place = last
                while place > 0 and nearest[row, place - 1] > distance:
                    nearest[row, place] = nearest[row, place - 1]
                    who[row, place] = who[row, place - 1]
                    place -= 1
                nearest[row, place] = <float> max(distance, 0.0)
                who[row, place] = column + other


def ball_radii(
    const float[:, ::1] distances, const int64_t[:, ::1] their_groups, const int64_t[::1] groups, Py_ssize_t n_groups,
    Py_ssize_t k,
):
    """Return the distance of each vector to its k-th nearest, and that without each group, shape (N, 1 + G)."""
    radii_of = np.empty((groups.shape[0], 1 + n_groups), dtype=np.float32)
    cdef float[:, ::1] radii = radii_of
    cdef Py_ssize_t last = distances.shape[1] - 1, row, column, neighbour, left, place
    cdef int64_t group
    with nogil:
        for row in range(groups.shape[0]):
            for column in range(radii.shape[1]):
                radii[row, column] = distances[row, k - 1]
            for neighbour in range(k):
                group = their_groups[row, neighbour]
                left = 0
                place = -1
                while left < k and place < last:
                    place += 1
                    if their_groups[row, place] != group:
                        left += 1
                radii[row, 1 + group] = distances[row, place]
            radii[row, 1 + groups[row]] = -INFINITY
    return radii_of


def count_balls(
    const float[:, ::1] products, const float[::1] query_squares, const float[::1] centre_squares,
    const float[:, ::1] radii, const float[::1] widest, const int64_t[::1] groups, int32_t[:, ::1] n_balls,
    float[:, ::1] nearest, int64_t[::1] nearest_group,
):
    """Add the centres of a block of products to what is known of the queries."""
    cdef Py_ssize_t query, centre, column
    cdef int64_t group
    cdef float squares
    cdef double distance
    with nogil:
        for query in range(products.shape[0]):
            for centre in range(products.shape[1]):
                squares = query_squares[query] + centre_squares[centre]
                distance = squares - 2.0 * products[query, centre]
                if distance > ROUNDING * squares:
                    distance += ROUNDING * squares
                else:
                    distance = 0.0
                if distance <= widest[centre]:
                    for column in range(radii.shape[1]):
                        n_balls[query, column] += distance <= radii[centre, column]
                if distance < nearest[query, 1]:
                    group = groups[centre]
                    if group == nearest_group[query]:
                        nearest[query, 0] = <float> min(<double> nearest[query, 0], distance)
                    elif distance < nearest[query, 0]:
                        nearest[query, 1] = nearest[query, 0]
                        nearest[query, 0] = <float> distance
                        nearest_group[query] = group
                    else:
                        nearest[query, 1] = <float> distance


def keep_most_similar(
    const float[:, ::1] products, Py_ssize_t column, const int64_t[::1] low, const int64_t[::1] high,
    float[:, ::1] cosines, int64_t[:, ::1] found,
):
    """Sort the references of a block of products into the nearest ones found so far; of equals the first stays."""
    cdef Py_ssize_t last = found.shape[1] - 1, row, other, place
    cdef float cosine
    with nogil:
        for row in range(products.shape[0]):
            for other in range(products.shape[1]):
                cosine = products[row, other]
                if cosine <= cosines[row, last] or low[row] <= column + other < high[row]:
                    continue
                place = last
                while place > 0 and cosines[row, place - 1] < cosine:
                    cosines[row, place] = cosines[row, place - 1]
                    found[row, place] = found[row, place - 1]
                    place -= 1
                cosines[row, place] = cosine
                found[row, place] = column + other


def search(
    const index[::1] starts, const index[::1] words, const double[::1] weights,
    const index[::1] row_starts, const index[::1] row_words, const double[::1] row_weights,
    const index[::1] posting_starts, const index[::1] postings, const double[::1] posting_weights,
    const int64_t[::1] low, const int64_t[::1] high, Py_ssize_t k,
):
    """Return the places of the `k` nearest rows of each query, shape (n_queries, k); -1 where there are fewer.

    The words of each query come by falling weight.
    """
    cdef Py_ssize_t n_queries = starts.shape[0] - 1, n_rows = row_starts.shape[0] - 1, query, n_met, place, number
    cdef int64_t entry, word, first, end, posting, row
    cdef double square, rest, threshold
    found_of = np.full((n_queries, k), -1, dtype=np.int64)
    cdef int64_t[:, ::1] found = found_of
    cdef double[::1] sums = np.zeros(n_rows)  # of what is known of a row's product with the query
    cdef int64_t[::1] met = np.empty(n_rows, dtype=np.int64)
    cdef double[::1] dense = np.zeros(posting_starts.shape[0] - 1), best = np.empty(k)
    with nogil:
        for query in range(n_queries):
            square = 0.0
            for entry in range(starts[query], starts[query + 1]):
                square += weights[entry] * weights[entry]
                dense[words[entry]] = weights[entry]
            # Rows have length 1: the words that are left add at most the length of the query's vector of them.
            n_met, rest = 0, sqrt(square)
            for entry in range(starts[query], starts[query + 1]):
                word = words[entry]
                first, end = posting_starts[word], posting_starts[word + 1]
                if n_met >= k and end - first > n_met and kth(sums, met, n_met, best) > rest * (1 + SLACK) + SLACK:
                    break
                for posting in range(first, end):
                    row = postings[posting]
                    if low[query] <= row < high[query]:
                        continue
                    if sums[row] == 0:
                        met[n_met] = row
                        n_met += 1
                    sums[row] += weights[entry] * posting_weights[posting]
                square = max(0.0, square - weights[entry] * weights[entry])
                rest = sqrt(square)
            threshold = -1.0 if n_met < k else kth(sums, met, n_met, best)
            choose(
                sums, met, n_met, rest, threshold, dense, row_starts, row_words, row_weights, best, &found[query, 0]
            )
            place, row = min(n_met, k), 0
            while place < k and row < n_rows:  # no word in common: the first rows
                if sums[row] == 0 and not low[query] <= row < high[query]:
                    found[query, place] = row
                    place += 1
                row += 1
            for number in range(n_met):
                sums[met[number]] = 0.0
            for entry in range(starts[query], starts[query + 1]):
                dense[words[entry]] = 0.0
    return found_of


cdef double kth(const double[::1] sums, const int64_t[::1] met, Py_ssize_t n_met, double[::1] best) noexcept nogil:
    """Return the ``len(best)``-th largest of the sums of the rows that were met, as many at least."""
    cdef Py_ssize_t last = best.shape[0] - 1, number, place
    cdef double value
    best[:] = -1.0
    for number in range(n_met):
        value = sums[met[number]]
        if value <= best[last]:
            continue
        place = last
        while place > 0 and best[place - 1] < value:
            best[place] = best[place - 1]
            place -= 1
        best[place] = value
    return best[last]


cdef void choose(
    const double[::1] sums, const int64_t[::1] met, Py_ssize_t n_met, double rest, double threshold,
    const double[::1] dense, const index[::1] row_starts, const index[::1] row_words, const double[::1] row_weights,
    double[::1] best, int64_t *chosen,
) noexcept nogil:
    """Write the nearest of the rows that were met into `chosen`; products are summed anew, in one order of words."""
    cdef Py_ssize_t last = best.shape[0] - 1, number, place
    cdef int64_t row, entry
    cdef double product
    best[:] = -1.0
    for number in range(n_met):
        row = met[number]
        if sums[row] + rest * (1 + SLACK) + SLACK < threshold:
            continue
        product = 0.0
        for entry in range(row_starts[row], row_starts[row + 1]):
            product += row_weights[entry] * dense[row_words[entry]]
        place = last
        if product < best[last] or (product == best[last] and row > chosen[last]):
            continue
        while place > 0 and (best[place - 1] < product or (best[place - 1] == product and chosen[place - 1] > row)):
            best[place] = best[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        best[place] = product
        chosen[place] = row
