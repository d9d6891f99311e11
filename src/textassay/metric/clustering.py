"""Clusters of sentence vectors: principal components, then Lloyd's k-means from random rows.

Source: Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982.
Departs from it: a centre that lost no row and gained none is not compared again with rows whose own centre did not
recede from them, nor are points with centres that share no dimension with them, which leaves the assignments as they
would be; a centre without rows stays where it is.

Scores of rows and centres are matrix products in float32, means are taken in float64. One BLAS thread: its sums would
otherwise depend on how many there are. Several clusterings run on the threads of `parallel_map`.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.metric.neighbours import parts_of

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
HashArray = npt.NDArray[np.uint64]

TOGETHER_UP_TO = 20_000 * 1_000  # points times clusters; more are clustered in parts
_ROWS = 20_000  # projected at once
_MAX_ITERATIONS = 500  # more than ever seen: 10,000 news sentences in 500 clusters settle after 15 to 25
_BLOCK = 1024  # rows compared with all centres at once: their scores stay in the second-level cache
_LANES = 16  # float32 numbers in a register of the widest kind


def unit_rows(features: npt.NDArray[Any]) -> Float32Array:
    """Return the rows of `features`, shape (N, d), divided by their Euclidean lengths; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("nd,nd->n", features, features, dtype=np.float64))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(features * scale[:, None] + 0.0, dtype=np.float32)  # + 0.0: no negative zero


def row_hashes(rows: Float32Array) -> HashArray:
    """Return a hash of each row's bits, shape (N,): equal rows have equal ones."""
    return np.asarray(_row_hashes(np.ascontiguousarray(rows).view(np.uint32)))


@njit(cache=True, nogil=True)
def _row_hashes(words: npt.NDArray[np.uint32]) -> HashArray:  # pragma: no cover (compiled)
    hashes = np.full(words.shape[0], np.uint64(0x9E3779B97F4A7C15), dtype=np.uint64)
    for row in range(words.shape[0]):
        state = hashes[row]
        for column in range(words.shape[1]):
            state = (state ^ np.uint64(words[row, column])) * np.uint64(0xBF58476D1CE4E5B9)
            state ^= state >> np.uint64(29)
        hashes[row] = state
    return hashes


def principal_components(rows: Float32Array, variance: float) -> Float32Array:
    """Return `rows`, shape (N, d), in the fewest principal components that hold a share `variance` of their variance.

    Shape (N, m), m at least 1. Parts of the rows that have dimensions of their own keep such: each has components
    around its mean, and one more along that mean, which holds the parts as far apart as they are; the variance that
    this distance adds is kept.
    """
    parts = parts_of(rows)
    found = [_components(rows, used, own) for used, (own,) in parts]
    values = np.concatenate([of_part for _, of_part, _ in found])
    order = np.argsort(-values, kind="stable")
    means, sizes = [mean for mean, _, _ in found], [len(own) for _, (own,) in parts]
    squares = [float(mean @ mean) for mean in means]
    apart = sum(size * square * (1 - size / len(rows)) for size, square in zip(sizes, squares, strict=True))
    shares = (apart if len(parts) > 1 else 0.0) + np.cumsum(np.maximum(values[order], 0.0))
    n_components = min(int(np.searchsorted(shares, variance * shares[-1])) + 1, len(shares))
    kept = np.zeros(len(values), dtype=np.bool_)
    kept[order[:n_components]] = True
    projected: list[Float32Array] = []
    first = 0
    for (used, (own,)), (mean, of_part, vectors) in zip(parts, found, strict=True):
        directions = vectors[:, kept[first : first + len(of_part)]]
        first += len(of_part)
        if len(parts) > 1:
            directions, mean = np.linalg.qr(np.column_stack([mean, directions]))[0], np.zeros(len(mean))
        blocks = [own[start : start + _ROWS] for start in range(0, len(own), _ROWS)]
        projected.append(
            np.concatenate([((rows[np.ix_(block, used)] - mean) @ directions).astype(np.float32) for block in blocks])
        )
    if len(parts) == 1:
        return projected[0]
    points = np.zeros((len(rows), sum(part.shape[1] for part in projected)), dtype=np.float32)
    column = 0
    for (_, (own,)), part in zip(parts, projected, strict=True):
        points[own, column : column + part.shape[1]] = part
        column += part.shape[1]
    return points


def _components(rows: Float32Array, used: IntArray, own: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, the variances and the directions of some rows in some dimensions."""
    mean = rows[np.ix_(own, used)].mean(axis=0, dtype=np.float64)
    scatter = np.zeros((len(used), len(used)))
    for start in range(0, len(own), _ROWS):
        centred = rows[np.ix_(own[start : start + _ROWS], used)] - mean
        scatter += centred.T @ centred
    values, vectors = np.linalg.eigh(scatter)
    return mean, values[::-1], vectors[:, ::-1]


def is_clustered_together(n_points: int, n_clusters: int) -> bool:
    """Return whether `hierarchical_k_means` is `k_means` for so many points and clusters."""
    return n_points * n_clusters <= TOGETHER_UP_TO


def hierarchical_k_means(points: Float32Array, kinds: HashArray, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """Return the cluster of each point, in time linear in `n_clusters` even where that grows with their number.

    Up to `TOGETHER_UP_TO` it is `k_means`. Beyond, a coarse one divides the points into parts that are small enough, or
    are divided again; each has a share of the clusters that goes with its number of distinct points.
    """
    if is_clustered_together(len(points), n_clusters):
        return k_means(points, kinds, n_clusters, rng)
    n_parts = min(math.ceil(math.sqrt(len(points) * n_clusters / TOGETHER_UP_TO)), n_clusters)
    parts = k_means(points, kinds, n_parts, rng)
    _, first = np.unique(kinds, return_index=True)
    n_distinct = np.bincount(parts[first], minlength=n_parts)
    if np.count_nonzero(n_distinct) == 1:
        return k_means(points, kinds, n_clusters, rng)
    ends = np.round(np.cumsum(n_distinct) / n_distinct.sum() * (n_clusters - n_parts)).astype(np.int64)
    ends += np.arange(1, n_parts + 1)  # each part has one cluster at least
    labels = np.empty(len(points), dtype=np.int64)
    for part, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        own = np.flatnonzero(parts == part)
        if len(own) > 0:
            labels[own] = start + hierarchical_k_means(points[own], kinds[own], end - start, rng)
    return labels


def k_means(points: Float32Array, kinds: HashArray, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """Return the cluster of each point once Lloyd's iterations have settled.

    `points`: shape (N, m); `kinds`: equal for equal points, shape (N,).

    Shape (N,), from 0 to `n_clusters` - 1; some may be empty.
    """
    order = rng.permutation(len(points))
    _, first = np.unique(kinds[order], return_index=True)
    centres = points[order[np.sort(first)[:n_clusters]]].astype(np.float64)
    n_clusters = len(centres)
    parts = parts_of(points)
    order = np.concatenate([own for _, (own,) in parts])
    points = points[order]
    pieces = []
    begin = 0
    for used, (own,) in parts:
        rows = slice(begin, begin + len(own))
        ones = np.ones((len(own), 1), dtype=np.float32)
        pieces.append((used, rows, np.concatenate((points[rows][:, used], ones), axis=1)))
        begin += len(own)
    labels = np.zeros(len(points), dtype=np.int64)
    scores, bounds = np.zeros((2, len(points)), dtype=np.float32)
    changed = np.arange(n_clusters)
    for iteration in range(_MAX_ITERATIONS):
        before = labels.copy()
        for used, rows, extended in pieces:
            _assign(extended, centres, used, changed, labels[rows], scores[rows], bounds[rows])
        moved = labels != before
        if iteration > 0 and not moved.any():
            break
        affected = np.full(n_clusters, iteration == 0)
        affected[before[moved]] = affected[labels[moved]] = True
        sums, sizes = _sums(points, labels, affected)
        changed = np.flatnonzero(affected & (sizes > 0))
        centres[changed] = sums[changed] / sizes[changed, None]
    labels_in_order = np.empty_like(labels)
    labels_in_order[order] = labels
    return labels_in_order


def _assign(
    extended: Float32Array,
    centres: FloatArray,
    used: IntArray,
    changed: IntArray,
    labels: IntArray,
    scores: Float32Array,
    bounds: Float32Array,
) -> None:
    """Give each point the centre of the highest score ``x c - |c|^2 / 2``, that is, the nearest one.

    The points have nothing outside the dimensions `used`. `scores` holds that score, `bounds` what no other centre's
    score is above. While the score of a point's own centre stays above the bound, and no changed centre has a higher
    one, there is no need to look at the other centres.
    """
    halves = -0.5 * np.einsum("kd,kd->k", centres, centres)
    is_changed = np.zeros(len(centres), dtype=np.bool_)
    is_changed[changed] = True
    every = np.arange(len(centres))
    if len(used) < centres.shape[1]:
        needed: npt.NDArray[np.bool_] = np.asarray(centres[:, used].any(axis=1))
        needed[labels] = True
        # of centres at right angles to all points, the shortest is the nearest; of those that changed, too
        for apart in (np.flatnonzero(~needed), np.flatnonzero(~needed & is_changed)):
            needed[apart[halves[apart].argmax(keepdims=True)] if len(apart) > 0 else apart] = True
        every = np.flatnonzero(needed)
    some = every[is_changed[every]]
    column_of = np.full(len(centres), -1)
    column_of[some] = np.arange(len(some))
    columns = np.concatenate((centres[:, used], halves[:, None]), axis=1).astype(np.float32)
    all_columns, some_columns = columns[every].T.copy(), columns[some].T.copy()
    for start in range(0, len(extended), _BLOCK):
        block = slice(start, start + _BLOCK)
        if len(changed) == len(centres):
            _highest(extended[block] @ all_columns, every, labels[block], scores[block], bounds[block])
            continue
        if len(some) == 0:
            continue
        products = extended[block] @ some_columns
        open_rows = _improve(products, some, column_of, labels[block], scores[block], bounds[block])
        if len(open_rows):
            rows = start + open_rows
            updated = labels[rows], scores[rows], bounds[rows]
            _highest(extended[rows] @ all_columns, every, *updated)
            labels[rows], scores[rows], bounds[rows] = updated


@njit(cache=True, nogil=True)
def _maximum(values: Float32Array, lanes: Float32Array) -> np.float32:  # pragma: no cover (compiled)
    """Return the highest of `values`; in lanes, since one running maximum is a chain that no compiler vectorises."""
    width = len(lanes)
    n_vectorised = len(values) - len(values) % width
    lanes[:] = -np.inf
    for start in range(0, n_vectorised, width):
        for lane in range(width):
            value = values[start + lane]
            lanes[lane] = value if value > lanes[lane] else lanes[lane]
    highest = np.float32(-np.inf)
    for lane in range(width):
        highest = max(highest, lanes[lane])
    for column in range(n_vectorised, len(values)):
        highest = max(highest, values[column])
    return highest


@njit(cache=True, nogil=True)
def _highest(
    new: Float32Array, centres: IntArray, labels: IntArray, scores: Float32Array, bounds: Float32Array
) -> None:  # pragma: no cover (compiled)
    """Set label, score and bound of each row of `new`, the scores of `centres`; it is overwritten."""
    lanes = np.empty(_LANES, dtype=np.float32)
    for row in range(len(labels)):
        best = _maximum(new[row], lanes)
        at = 0
        while new[row, at] != best:
            at += 1
        labels[row] = centres[at]
        scores[row] = best
        new[row, at] = -np.inf
        bounds[row] = _maximum(new[row], lanes)


@njit(cache=True, nogil=True)
def _improve(
    new: Float32Array,
    changed: IntArray,
    column_of: IntArray,
    labels: IntArray,
    scores: Float32Array,
    bounds: Float32Array,
) -> IntArray:  # pragma: no cover (compiled)
    """Update rows by the scores of changed centres, `new`, which are overwritten; return those that stay open."""
    n_open = 0
    lanes = np.empty(_LANES, dtype=np.float32)
    open_rows = np.empty(len(labels), dtype=np.int64)
    for row in range(len(labels)):
        own = column_of[labels[row]]
        score = scores[row]
        if own >= 0:
            score = new[row, own]
            new[row, own] = -np.inf
        best = _maximum(new[row], lanes)
        if score >= best and score >= bounds[row]:
            scores[row] = score
            bounds[row] = max(best, bounds[row])
        elif best >= bounds[row]:
            at = 0
            while new[row, at] != best:
                at += 1
            new[row, at] = -np.inf
            bounds[row] = max(score, bounds[row], _maximum(new[row], lanes))
            scores[row] = best
            labels[row] = changed[at]
        else:
            open_rows[n_open] = row
            n_open += 1
    return open_rows[:n_open]


@njit(cache=True, nogil=True)
def _sums(
    points: Float32Array, labels: IntArray, affected: npt.NDArray[np.bool_]
) -> tuple[FloatArray, IntArray]:  # pragma: no cover (compiled)
    """Return the sums and sizes of the affected clusters, shapes (k, m) and (k,)."""
    sums = np.zeros((len(affected), points.shape[1]))
    sizes = np.zeros(len(affected), dtype=np.int64)
    for row in range(len(points)):
        label = labels[row]
        if affected[label]:
            sizes[label] += 1
            for column in range(points.shape[1]):
                sums[label, column] += points[row, column]
    return sums, sizes
