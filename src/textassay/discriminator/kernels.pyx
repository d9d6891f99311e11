# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of discriminators: the solver of logistic regression on sparse rows, and what they count in texts."""

from libc.math cimport exp, fabs, log, log1p, sqrt, sqrtf
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

cdef int MAX_NEWTON_STEPS = 100
cdef int MAX_CG_STEPS = 200
cdef double CG_TOLERANCE = 0.1
cdef double SUFFICIENT_DECREASE = 1e-4
cdef int MAX_HALVINGS = 40

cdef uint64_t MIXER = 0x9E3779B97F4A7C15
cdef uint64_t EDGE = 1  # the code of both ends of a text; that of a character is its code point and 2

ctypedef fused index:
    int32_t
    int64_t


def minimise_sparse_logistic(
    const float[::1] data, const index[::1] indices, const index[::1] indptr, const int64_t[::1] rows,
    const double[::1] signs, const double[::1] weights, const double[::1] start, double tolerance, double cg_share,
):
    """Return the coefficients with the least loss, the intercept last, shape (n_features + 1,).

    `data`, `indices`, `indptr`: rows of features; `rows`: those that count; `signs`, `weights`: of each of these, shape
    (n_rows,); `start`: where to start; `tolerance`: of the gradient's length, in that at zero; `cg_share`: what part of
    it a step may miss.
    """
    cdef Py_ssize_t n_rows = rows.shape[0], n_features = start.shape[0] - 1
    theta_of = np.array(start)
    cdef double[::1] theta = theta_of, candidate = np.empty(n_features + 1), gradient = np.zeros(n_features + 1)
    cdef double[::1] diagonal = np.empty(n_features + 1), step = np.empty(n_features + 1)
    cdef double[:, ::1] scratch = np.empty((4, n_features + 1))
    cdef double[::1] margins = np.empty(n_rows), new_margins = np.empty(n_rows), along = np.empty(n_rows)
    cdef double[::1] curvatures = np.empty(n_rows)
    cdef const float* values = NULL
    cdef double goal, value, new_value, wrong, slope, curvature, downhill, size
    cdef Py_ssize_t row, entry, feature
    cdef int newton_step, halving
    cdef bint improved
    with nogil:
        for entry in range(data.shape[0]):
            if data[entry] != 1.0:
                values = &data[0]
                break
        fill_products(values, indices, indptr, rows, theta, margins)
        for row in range(n_rows):
            add_row(values, indices, indptr, rows[row], -0.5 * weights[row] * signs[row], gradient)
        goal = tolerance * length_of(gradient)
        value = loss_of(margins, signs, weights, theta)
        for newton_step in range(MAX_NEWTON_STEPS):
            for feature in range(n_features):
                gradient[feature] = theta[feature]
                diagonal[feature] = 1.0
            gradient[n_features] = 0.0
            diagonal[n_features] = 1e-12
            for row in range(n_rows):
                wrong = 1.0 / (1.0 + exp(signs[row] * margins[row]))
                slope = -weights[row] * signs[row] * wrong
                curvature = curvatures[row] = weights[row] * wrong * (1.0 - wrong)
                for entry in range(indptr[rows[row]], indptr[rows[row] + 1]):
                    gradient[indices[entry]] += slope * value_at(values, entry)
                    diagonal[indices[entry]] += curvature * value_at(values, entry) * value_at(values, entry)
                gradient[n_features] += slope
                diagonal[n_features] += curvature
            if length_of(gradient) <= goal:
                break
            conjugate_gradients(
                values, indices, indptr, rows, curvatures, diagonal, gradient, cg_share * goal, step, scratch
            )
            fill_products(values, indices, indptr, rows, step, along)
            downhill = 0.0
            for feature in range(n_features + 1):
                downhill += gradient[feature] * step[feature]
            size = 1.0
            improved = False
            for halving in range(MAX_HALVINGS):
                move(theta, size, step, candidate)
                move(margins, size, along, new_margins)
                new_value = loss_of(new_margins, signs, weights, candidate)
                if new_value <= value + SUFFICIENT_DECREASE * size * downhill:
                    improved = True
                    break
                size *= 0.5
            if not improved:  # no smaller value can be told from this one in float64
                break
            theta[:] = candidate
            margins[:] = new_margins
            value = new_value
    return theta_of


cdef void conjugate_gradients(
    const float* values, const index[::1] indices, const index[::1] indptr, const int64_t[::1] rows,
    const double[::1] curvatures, const double[::1] diagonal, const double[::1] gradient, double least,
    double[::1] step, double[:, ::1] scratch,
) noexcept nogil:
    """Fill a step s with (I + X' diag(curvatures) X) s near -gradient; the intercept's column of X is all ones.

    It ends where the residual is a share of the gradient, or as short as `least`. `scratch`: shape (4, n_features + 1).
    Few loops over features, each of several sums: these wait for memory.
    """
    cdef double[::1] residual = scratch[0], scaled = scratch[1], direction = scratch[2], image = scratch[3]
    cdef Py_ssize_t n_features = gradient.shape[0] - 1, feature, row
    cdef double goal = max(CG_TOLERANCE * length_of(gradient), least)
    cdef double energy = 0.0, new_energy, squares, bend, length, ratio, product
    cdef int cg_step
    for feature in range(n_features + 1):
        step[feature] = 0.0
        residual[feature] = -gradient[feature]
        scaled[feature] = residual[feature] / diagonal[feature]
        direction[feature] = image[feature] = scaled[feature]
        energy += residual[feature] * scaled[feature]
    for cg_step in range(MAX_CG_STEPS):
        image[n_features] = 0.0
        for row in range(rows.shape[0]):
            product = curvatures[row] * product_of(values, indices, indptr, rows[row], direction)
            add_row(values, indices, indptr, rows[row], product, image)
        bend = 0.0
        for feature in range(n_features + 1):
            bend += direction[feature] * image[feature]
        if bend <= 0.0:
            break
        length = energy / bend
        squares = new_energy = 0.0
        for feature in range(n_features + 1):
            step[feature] += length * direction[feature]
            residual[feature] -= length * image[feature]
            scaled[feature] = residual[feature] / diagonal[feature]
            squares += residual[feature] * residual[feature]
            new_energy += residual[feature] * scaled[feature]
        if sqrt(squares) <= goal:
            break
        ratio = new_energy / energy
        energy = new_energy
        for feature in range(n_features + 1):
            direction[feature] = image[feature] = scaled[feature] + ratio * direction[feature]


cdef inline double value_at(const float* values, Py_ssize_t entry) noexcept nogil:
    """Return a value of the features; all are 1 where `values` is NULL, and need not be read."""
    return 1.0 if values == NULL else values[entry]


cdef inline double product_of(
    const float* values, const index[::1] indices, const index[::1] indptr, int64_t row, const double[::1] theta
) noexcept nogil:
    """Return the product of a row with `theta`, intercept included."""
    cdef double product = theta[theta.shape[0] - 1]
    cdef Py_ssize_t entry
    for entry in range(indptr[row], indptr[row + 1]):
        product += value_at(values, entry) * theta[indices[entry]]
    return product


cdef inline void add_row(
    const float* values, const index[::1] indices, const index[::1] indptr, int64_t row, double factor,
    double[::1] sums,
) noexcept nogil:
    """Add a row times `factor` to `sums`, intercept included."""
    cdef Py_ssize_t entry
    for entry in range(indptr[row], indptr[row + 1]):
        sums[indices[entry]] += value_at(values, entry) * factor
    sums[sums.shape[0] - 1] += factor


cdef void move(const double[::1] start, double size, const double[::1] step, double[::1] end) noexcept nogil:
    """Fill `end` with the point `size` times `step` away from `start`."""
    cdef Py_ssize_t place
    for place in range(start.shape[0]):
        end[place] = start[place] + size * step[place]


cdef void fill_products(
    const float* values, const index[::1] indices, const index[::1] indptr, const int64_t[::1] rows,
    const double[::1] theta, double[::1] products,
) noexcept nogil:
    """Fill `products` with each row's product with `theta`, intercept included."""
    cdef Py_ssize_t row
    for row in range(rows.shape[0]):
        products[row] = product_of(values, indices, indptr, rows[row], theta)


cdef double loss_of(
    const double[::1] margins, const double[::1] signs, const double[::1] weights, const double[::1] theta
) noexcept nogil:
    cdef double total = 0.0, score
    cdef Py_ssize_t feature, row
    for feature in range(theta.shape[0] - 1):
        total += theta[feature] * theta[feature]
    total *= 0.5
    for row in range(margins.shape[0]):
        score = signs[row] * margins[row]
        total += weights[row] * (log1p(exp(-fabs(score))) + max(0.0, -score))
    return total


cdef double length_of(const double[::1] vector) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t place
    for place in range(vector.shape[0]):
        total += vector[place] * vector[place]
    return sqrt(total)


def count_characters(
    const uint32_t[::1] codes, const int64_t[::1] lengths, int max_order, int64_t[::1] table, int32_t[::1] slots,
    float[::1] counts, int64_t[::1] sizes,
):
    """Fill the slots of each text, in order of appearance, their counts and their number; return how many in all.

    `table`: zeros, one a slot, whose number is a power of two.
    """
    cdef Py_ssize_t n = 0, first = 0, begin, text, length, place, at, entry
    cdef uint64_t key, code, mask = table.shape[0] - 1
    cdef int32_t slot
    with nogil:
        for text in range(lengths.shape[0]):
            begin, length = n, lengths[text]
            for place in range(-1, length + 1):
                key = 0
                for at in range(place, min(place + max_order, length + 1)):
                    code = <uint64_t> codes[first + at] + 2 if 0 <= at < length else EDGE
                    key = (key ^ code) * MIXER
                    key ^= key >> 32
                    slot = <int32_t> (key & mask)
                    if table[slot] == 0:
                        slots[n] = slot
                        n += 1
                    table[slot] += 1
            for entry in range(begin, n):
                counts[entry] = <float> table[slots[entry]]
                table[slots[entry]] = 0
            sizes[text] = n - begin
            first += length
    return n


def weigh(
    const float[::1] counts, const index[::1] slots, const index[::1] offsets, const float[::1] importance,
    float[::1] data,
):
    """Fill `data` with rows of length 1: square roots of counts times the importance of slots."""
    cdef Py_ssize_t row, entry
    cdef double squares
    with nogil:
        for row in range(offsets.shape[0] - 1):
            squares = 0.0
            for entry in range(offsets[row], offsets[row + 1]):
                data[entry] = sqrtf(counts[entry]) * importance[slots[entry]]
                squares += data[entry] * data[entry]
            squares = sqrt(squares)
            for entry in range(offsets[row], offsets[row + 1]):
                data[entry] = <float> (data[entry] / squares)


def sentence_moments(
    const int32_t[::1] tokens, const int64_t[::1] offsets, const uint8_t[::1] ends, double[:, ::1] values
):
    """Fill mean and standard deviation of the tokens of each text's sentences, shape (N, 2); `ends`: of each type."""
    cdef Py_ssize_t text, place, n
    cdef double total, squares, length, mean
    with nogil:
        for text in range(offsets.shape[0] - 1):
            n, total, squares, length = 0, 0.0, 0.0, 0.0
            for place in range(offsets[text], offsets[text + 1]):
                length += 1.0
                if ends[tokens[place]] or place == offsets[text + 1] - 1:
                    n += 1
                    total += length
                    squares += length * length
                    length = 0.0
            if n > 0:
                mean = total / n
                values[text, 0] = mean
                values[text, 1] = sqrt(max(squares / n - mean * mean, 0.0))


def describe_quarters(
    const int32_t[::1] tokens, const int64_t[::1] offsets, Py_ssize_t n_types, double[:, ::1] values
):
    """Fill the share of distinct tokens of each quarter, then its entropy over the largest that there can be."""
    cdef int64_t[::1] counts = np.zeros(n_types, dtype=np.int64)
    cdef Py_ssize_t n_quarters = values.shape[1] // 2, text, quarter, n, n_tokens, begin, end, place
    cdef int64_t distinct, count
    cdef double sum_of_logs
    with nogil:
        for text in range(offsets.shape[0] - 1):
            n = offsets[text + 1] - offsets[text]
            for quarter in range(n_quarters):
                begin = offsets[text] + n * quarter // n_quarters
                end = offsets[text] + n * (quarter + 1) // n_quarters
                n_tokens = end - begin
                if n_tokens == 0:
                    continue
                distinct, sum_of_logs = 0, 0.0
                for place in range(begin, end):
                    counts[tokens[place]] += 1
                    distinct += counts[tokens[place]] == 1
                for place in range(begin, end):
                    count = counts[tokens[place]]
                    if count > 0:
                        sum_of_logs += count * log(<double> count)
                        counts[tokens[place]] = 0
                values[text, quarter] = <double> distinct / n_tokens
                if n_tokens > 1:
                    values[text, n_quarters + quarter] = 1.0 - sum_of_logs / (n_tokens * log(<double> n_tokens))


def repeated_share(const int32_t[::1] tokens, const int64_t[::1] offsets, int order, double[:] shares):
    """Fill the share of n-grams of `order` in the second half that stand in the first, compared token by token."""
    cdef Py_ssize_t longest = 1, size = 2, text, begin, end, middle, place, step, n_found, n_looked
    for text in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    while size < 2 * longest:
        size *= 2
    cdef int64_t[::1] slots = np.empty(size, dtype=np.int64)  # where an n-gram of the first half begins
    cdef int64_t[::1] used = np.full(size, -1, dtype=np.int64)  # by which text
    cdef uint64_t key
    cdef int64_t slot
    cdef bint is_first, found
    with nogil:
        for text in range(offsets.shape[0] - 1):
            begin, end = offsets[text], offsets[text + 1]
            middle = begin + (end - begin) // 2
            n_found, n_looked = 0, 0
            for place in range(begin, end - order + 1):
                is_first = place + order <= middle
                if not is_first and place < middle:
                    continue  # across the middle
                key = 0
                for step in range(order):
                    key = (key ^ <uint64_t> (<int64_t> tokens[place + step] + 1)) * MIXER
                    key ^= key >> 32
                slot = <int64_t> (key & <uint64_t> (size - 1))
                found = False
                while used[slot] == text and not found:
                    step = 0
                    while step < order and tokens[slots[slot] + step] == tokens[place + step]:
                        step += 1
                    found = step == order
                    if not found:
                        slot = (slot + 1) & (size - 1)
                if is_first and not found:
                    used[slot] = text
                    slots[slot] = place
                if not is_first:
                    n_looked += 1
                    n_found += found
            if n_looked > 0:
                shares[text] = <double> n_found / n_looked


def count_absent(const int8_t[::1] depths, const int64_t[::1] offsets, int longest):
    """Return the counts of n-grams of 2 to `longest` tokens that are new, and the longest run of known ones.

    `depths`: tokens of the longest known n-gram that ends at each place. Shape (longest, N), one count a row.
    """
    absent_of = np.zeros((longest, offsets.shape[0] - 1))
    cdef double[:, ::1] absent = absent_of
    cdef Py_ssize_t text, place, run, longest_run
    cdef int length, whole
    with nogil:
        for text in range(offsets.shape[0] - 1):
            run, longest_run = 0, 0
            for place in range(offsets[text], offsets[text + 1]):
                whole = <int> min(longest, place - offsets[text] + 2)  # with <sos>
                for length in range(2, whole + 1):
                    if depths[place] < length:
                        absent[length - 2, text] += 1
                run = run + 1 if depths[place] >= whole else 0
                longest_run = max(longest_run, run)
            absent[longest - 1, text] = longest_run
    return absent_of
