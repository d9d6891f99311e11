# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops of distances between next-word distributions: in float64, and in float32 with polynomials."""

from libc.math cimport INFINITY, NAN, exp, fabs, isnan, log

import numpy as np

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    /* Loops that compilers turn into operations on vectors as they stand: each does one thing, without a branch, and
       sums are sixteen that do not depend on each other. So the order of all operations is the same everywhere. */
    enum { LANES = 16, STRETCH = 512 };  /* so many words are summed in float32 */

    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute)
    #if __has_attribute(target_clones)
    #define FOR_EACH_WIDTH __attribute__((target_clones("avx2", "default")))
    #endif
    #endif
    #ifndef FOR_EACH_WIDTH
    #define FOR_EACH_WIDTH
    #endif

    /* Return exp(x) for x from -87 to 0. */
    static inline float exponential(float x) {
        float scaled = x * 1.44269504088896f + 0.5f;
        int32_t n = (int32_t) scaled;
        n -= (float) n > scaled;
        float rest = x - (float) n * 0.693359375f + (float) n * 2.12194440e-4f;
        float power = 1.9875691500e-4f;
        power = power * rest + 1.3981999507e-3f;
        power = power * rest + 8.3334519073e-3f;
        power = power * rest + 4.1665795894e-2f;
        power = power * rest + 1.6666665459e-1f;
        power = power * rest + 5.0000001201e-1f;
        power = power * rest * rest + rest + 1.0f;
        int32_t bits = (n + 127) * (1 << 23);
        float two_to_n;
        memcpy(&two_to_n, &bits, sizeof bits);
        return power * two_to_n;
    }

    /* Return the logarithm of x from 1e-37 to 1. */
    static inline float logarithm(float x) {
        int32_t bits;
        memcpy(&bits, &x, sizeof bits);
        /* the mantissa is taken from [sqrt(1/2), sqrt(2)): 0x3F3504F3 are the bits of sqrt(1/2) */
        int32_t exponent = (bits - 0x3F3504F3) >> 23;
        bits -= exponent * (1 << 23);
        float rest;
        memcpy(&rest, &bits, sizeof bits);
        rest -= 1.0f;
        float power = 7.0376836292e-2f;
        power = power * rest - 1.1514610310e-1f;
        power = power * rest + 1.1676998740e-1f;
        power = power * rest - 1.2420140846e-1f;
        power = power * rest + 1.4249322787e-1f;
        power = power * rest - 1.6668057665e-1f;
        power = power * rest + 2.0000714765e-1f;
        power = power * rest - 2.4999993993e-1f;
        power = power * rest + 3.3333331174e-1f;
        float n = (float) exponent, square = rest * rest;
        float low = power * rest * square + n * -2.12194440e-4f - 0.5f * square;
        return rest + low + n * 0.693359375f;
    }

    static inline float sum_of(const float *values, Py_ssize_t n) {
        float sums[LANES] = {0}, total = 0.0f;
        Py_ssize_t word = 0;
        for (; word + LANES <= n; word += LANES)
            for (int lane = 0; lane < LANES; lane++) sums[lane] += values[word + lane];
        for (int lane = 0; word < n; word++, lane++) sums[lane] += values[word];
        for (int lane = 0; lane < LANES; lane++) total += sums[lane];
        return total;
    }

    /* Return the highest of `n` logits, NaN where one is infinite or NaN: those have all bits of the exponent set. As
       whole numbers, with those below 0 turned round, logits are in the same order. */
    FOR_EACH_WIDTH
    static float highest_finite(const float *row, Py_ssize_t n) {
        int32_t highest = INT32_MIN, n_wild = 0;
        for (Py_ssize_t word = 0; word < n; word++) {
            int32_t bits;
            memcpy(&bits, row + word, sizeof bits);
            int32_t ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF);
            highest = ordered > highest ? ordered : highest;
            n_wild += (bits & 0x7F800000) == 0x7F800000;
        }
        if (n_wild > 0) return NAN;
        highest ^= (highest >> 31) & 0x7FFFFFFF;
        float top;
        memcpy(&top, &highest, sizeof top);
        return top;
    }

    /* Return how many of `n` numbers equal `value`. */
    FOR_EACH_WIDTH
    static int count_equal(const float *row, Py_ssize_t n, float value) {
        int count = 0;
        for (Py_ssize_t word = 0; word < n; word++) count += row[word] == value;
        return count;
    }

    /* Write exp(row - top) of `n` logits, exp(-87) where it is less, and return its sum. */
    FOR_EACH_WIDTH
    static double fill_exponentials(const float *restrict row, float top, Py_ssize_t n, float *restrict out) {
        double total = 0.0;
        for (; n > 0; n -= STRETCH, row += STRETCH, out += STRETCH) {
            Py_ssize_t size = n < STRETCH ? n : STRETCH;
            for (Py_ssize_t word = 0; word < size; word++) {
                float below = row[word] - top;
                out[word] = below > -87.0f ? below : -87.0f;
            }
            for (Py_ssize_t word = 0; word < size; word++) out[word] = exponential(out[word]);
            total += sum_of(out, size);
        }
        return total;
    }

    /* Write the sums over `n` words of |p - q|, of twice the Jensen-Shannon divergence, and of KL(oracle || model). */
    FOR_EACH_WIDTH
    static void fill_sums(const float *restrict model, const float *restrict oracle, const float *restrict here,
                          const float *restrict there, float norm, float oracle_norm, float scale, float oracle_scale,
                          Py_ssize_t n, double *restrict totals) {
        float middle[STRETCH], tv[STRETCH], js[STRETCH], kl[STRETCH];
        totals[0] = totals[1] = totals[2] = 0.0;
        for (Py_ssize_t first = 0; first < n; first += STRETCH) {
            Py_ssize_t size = n - first < STRETCH ? n - first : STRETCH;
            for (Py_ssize_t word = 0; word < size; word++) {
                float mean = 0.5f * (here[first + word] * scale + there[first + word] * oracle_scale);
                middle[word] = mean > 1e-37f ? mean : 1e-37f;
            }
            for (Py_ssize_t word = 0; word < size; word++) {
                float p = here[first + word] * scale, q = there[first + word] * oracle_scale;
                float log_p = model[first + word] - norm, log_q = oracle[first + word] - oracle_norm;
                float log_middle = logarithm(middle[word]);
                tv[word] = fabsf(p - q);
                js[word] = p * (log_p - log_middle) + q * (log_q - log_middle);
                kl[word] = q * (log_q - log_p);
            }
            totals[0] += sum_of(tv, size);
            totals[1] += sum_of(js, size);
            totals[2] += sum_of(kl, size);
        }
    }
    """
    float highest_finite(const float *row, Py_ssize_t n) noexcept nogil
    int count_equal(const float *row, Py_ssize_t n, float value) noexcept nogil
    double fill_exponentials(const float *row, float top, Py_ssize_t n, float *out) noexcept nogil
    void fill_sums(
        const float *model, const float *oracle, const float *here, const float *there, float norm, float oracle_norm,
        float scale, float oracle_scale, Py_ssize_t n, double *totals,
    ) noexcept nogil


def fast_distances(const float[:, ::1] model, const float[:, ::1] oracle, Py_ssize_t first, double[:, ::1] distances):
    """Fill the distances of each pair of rows of logits, from column `first` on, in float32 where all are finite."""
    cdef Py_ssize_t n = model.shape[1] - first, row, best, oracle_best
    cdef float[::1] of_model = np.empty(n, dtype=np.float32), of_oracle = np.empty(n, dtype=np.float32)
    cdef const float *here
    cdef const float *there
    cdef float top, oracle_top, near, oracle_near
    cdef double total, oracle_total, norm, oracle_norm, missed, oracle_missed
    cdef double[3] totals
    cdef bint tie
    with nogil:
        for row in range(model.shape[0]):
            here, there = &model[row, first], &oracle[row, first]
            top, oracle_top = highest_finite(here, n), highest_finite(there, n)
            if isnan(top) or isnan(oracle_top):
                exact_row(here, there, n, &distances[row, 0])
                continue
            total = fill_exponentials(here, top, n, &of_model[0])
            oracle_total = fill_exponentials(there, oracle_top, n, &of_oracle[0])
            norm, oracle_norm = top + log(total), oracle_top + log(oracle_total)
            near, oracle_near = <float> norm, <float> oracle_norm
            missed, oracle_missed = near - norm, oracle_near - oracle_norm  # what rounding takes off log-probabilities
            fill_sums(
                here, there, &of_model[0], &of_oracle[0], near, oracle_near, <float> (1 / total),
                <float> (1 / oracle_total), n, totals,
            )
            best, oracle_best = 0, 0
            while here[best] != top:
                best += 1
            while there[oracle_best] != oracle_top:
                oracle_best += 1
            tie = count_equal(here, n, top) > 1 or count_equal(there, n, oracle_top) > 1
            write_distances(
                &distances[row, 0], totals[0] / 2, (totals[1] + missed + oracle_missed) / 2, best != oracle_best,
                totals[2] + oracle_missed - missed, tie,
            )


def exact_distances(
    const double[:, ::1] model, const double[:, ::1] oracle, Py_ssize_t first, double[:, ::1] distances
):
    """Fill the distances of each pair of rows of logits, from column `first` on, in float64."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(model.shape[0]):
            exact_row(&model[row, first], &oracle[row, first], model.shape[1] - first, &distances[row, 0])


ctypedef fused logit:
    float
    double


cdef void exact_row(const logit *model, const logit *oracle, Py_ssize_t n, double *distances) noexcept nogil:
    """Write the distances of one pair of rows, in float64."""
    cdef Py_ssize_t best, oracle_best, n_best, n_oracle_best, word
    cdef double total = 0.0, oracle_total = 0.0, tv = 0.0, js = 0.0, kl = 0.0
    cdef double norm, oracle_norm, log_p, log_q, p, q, middle
    cdef double top = highest(model, n, &best, &n_best)
    cdef double oracle_top = highest(oracle, n, &oracle_best, &n_oracle_best)
    if not (-INFINITY < top < INFINITY and -INFINITY < oracle_top < INFINITY):
        for word in range(5):
            distances[word] = NAN
        return
    for word in range(n):
        total += exp(model[word] - top)
        oracle_total += exp(oracle[word] - oracle_top)
    norm, oracle_norm = top + log(total), oracle_top + log(oracle_total)
    for word in range(n):
        log_p, log_q = model[word] - norm, oracle[word] - oracle_norm
        p, q = exp(log_p), exp(log_q)
        tv += fabs(p - q)
        if p + q > 0:
            middle = log((p + q) / 2)
            if p > 0:
                js += p * (log_p - middle)
            if q > 0:
                js += q * (log_q - middle)
                kl += q * (log_q - log_p)
    write_distances(distances, tv / 2, js / 2, best != oracle_best, kl, n_best > 1 or n_oracle_best > 1)


cdef double highest(const logit *row, Py_ssize_t n, Py_ssize_t *best, Py_ssize_t *n_best) noexcept nogil:
    """Return the highest logit, NaN where one is; find the first place where it stands, and how many there are."""
    cdef double top = -INFINITY
    cdef Py_ssize_t word
    best[0], n_best[0] = 0, 0
    for word in range(n):
        if row[word] > top:
            top, best[0], n_best[0] = row[word], word, 1
        elif row[word] == top:
            n_best[0] += 1
        elif isnan(row[word]):
            return NAN
    return top


cdef void write_distances(double *distances, double tv, double js, bint greedy, double kl, bint tie) noexcept nogil:
    if tv == 0:  # nothing differs: what is left in the logarithms is rounding
        js, kl = 0.0, 0.0
    distances[0], distances[1], distances[2] = min(tv, 1.0), min(max(js, 0.0), log(2.0)), greedy
    distances[3], distances[4] = max(kl, 0.0), tie
