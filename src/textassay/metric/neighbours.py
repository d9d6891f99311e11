"""Balls around sentence vectors that reach to the k-th nearest neighbour, and who lies in them; exact, in blocks.

Distances are matrix products in float32 of vectors less a common mean; memory holds one block of them a thread. Two
squared distances that agree to the rounding of such a product count as equal, so that copies are at distance 0. What
lies on the rim of a ball lies outside, as in the authors' code, but for copies of its centre, which are always inside:
else a sentence that is equally far from all others would hold all of them in its ball.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.execution import one_blas_thread, parallel_map

Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

_ROWS, _COLUMNS = 512, 2048  # a block of distances: 4 MB
_ROUNDING = np.float32(1e-6)  # of a squared distance, relative to the squared lengths of the two vectors


@dataclass(frozen=True)
class Vectors:
    """Sentence vectors, shape (N, d), and their squared lengths, shape (N,)."""

    rows: Float32Array
    squares: Float32Array

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Neighbours:
    """The nearest other vectors of each, nearest first: squared distances and positions, shapes (N, n_kept)."""

    squared_distances: Float32Array
    positions: IntArray


@dataclass(frozen=True)
class Members:
    """Where queries lie among balls."""

    # Balls that hold each query; in column 1 + g, those there are without group g of the centres; shape (Q, 1 + G)
    n_balls: npt.NDArray[np.int32]
    # Squared distance of each query to the nearest centre, and to the nearest of another group than that centre's
    # (infinite where there is none), with what rounding may have taken off; 0 for copies; shape (Q, 2)
    nearest: Float32Array
    nearest_group: IntArray  # Group of the nearest centre, shape (Q,)


def centred(features: npt.NDArray[Any], mean: npt.NDArray[np.float64]) -> Vectors:
    """Return `features`, shape (N, d), less `mean`, shape (d,): small numbers keep more digits of a difference."""
    rows = np.ascontiguousarray(features - mean, dtype=np.float32)
    return Vectors(rows, np.einsum("nd,nd->n", rows, rows, dtype=np.float64).astype(np.float32))


def find_neighbours(vectors: Vectors, n_kept: int) -> Neighbours:
    """Return the `n_kept` nearest other vectors of each; all others where there are fewer."""
    n_kept = min(n_kept, len(vectors) - 1)

    def block(start: int) -> tuple[Float32Array, IntArray]:
        rows = vectors.rows[start : start + _ROWS]
        nearest = np.full((len(rows), n_kept), np.inf, dtype=np.float32)
        who = np.zeros((len(rows), n_kept), dtype=np.int64)
        for column in range(0, len(vectors), _COLUMNS):
            products = rows @ vectors.rows[column : column + _COLUMNS].T
            _keep_nearest(products, vectors.squares, start, column, nearest, who)
        return nearest, who

    with one_blas_thread():
        parts = parallel_map(block, range(0, len(vectors), _ROWS))
    return Neighbours(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@njit(cache=True, nogil=True)
def _keep_nearest(
    products: Float32Array, squares: Float32Array, start: int, column: int, nearest: Float32Array, who: IntArray
) -> None:  # pragma: no cover (compiled)
    """Sort the vectors of a block of products into the nearest ones found so far."""
    last = nearest.shape[1] - 1
    for row in range(products.shape[0]):
        for other in range(products.shape[1]):
            distance = squares[start + row] + squares[column + other] - 2 * products[row, other]
            if distance >= nearest[row, last] or start + row == column + other:
                continue
            place = last
            while place > 0 and nearest[row, place - 1] > distance:
                nearest[row, place] = nearest[row, place - 1]
                who[row, place] = who[row, place - 1]
                place -= 1
            nearest[row, place] = max(distance, np.float32(0))
            who[row, place] = column + other


def squared_radii(neighbours: Neighbours, groups: IntArray, k: int) -> Float32Array:
    """Return the squared distance of each vector to its k-th nearest other one, and that without each group.

    `groups`: jackknife group of each vector, shape (N,).

    Shape (N, 1 + G); -inf where the vector itself is in the group: no ball.
    """
    return np.asarray(_squared_radii(neighbours.squared_distances, groups[neighbours.positions], groups, k))


@njit(cache=True, nogil=True)
def _squared_radii(
    distances: Float32Array, their_groups: IntArray, groups: IntArray, k: int
) -> Float32Array:  # pragma: no cover (compiled)
    radii = np.empty((len(groups), 1 + groups.max() + 1), dtype=np.float32)
    last = distances.shape[1] - 1
    for row in range(len(groups)):
        radii[row] = distances[row, k - 1]
        for neighbour in range(k):
            group = their_groups[row, neighbour]
            left = 0
            place = -1
            while left < k and place < last:
                place += 1
                if their_groups[row, place] != group:
                    left += 1
            radii[row, 1 + group] = distances[row, place]
        radii[row, 1 + groups[row]] = -np.inf
    return radii


def find_members(centres: Vectors, radii: Float32Array, groups: IntArray, queries: Vectors) -> Members:
    """Return which balls hold each query, and how near the nearest centre is.

    `radii`: what `squared_radii` gave for them, shape (C, 1 + G); `groups`: their jackknife groups, shape (C,).
    """
    widest = radii.max(axis=1)

    def block(start: int) -> tuple[npt.NDArray[np.int32], Float32Array, IntArray]:
        rows = queries.rows[start : start + _ROWS]
        n_balls = np.zeros((len(rows), radii.shape[1]), dtype=np.int32)
        nearest = np.full((len(rows), 2), np.inf, dtype=np.float32)
        nearest_group = np.full(len(rows), -1)
        for column in range(0, len(centres), _COLUMNS):
            columns = slice(column, column + _COLUMNS)
            _count(
                rows @ centres.rows[columns].T,
                queries.squares[start : start + _ROWS],
                centres.squares[columns],
                radii[columns],
                widest[columns],
                groups[columns],
                n_balls,
                nearest,
                nearest_group,
            )
        return n_balls, nearest, nearest_group

    with one_blas_thread():
        parts = parallel_map(block, range(0, len(queries), _ROWS))
    return Members(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


@njit(cache=True, nogil=True)
def _count(
    products: Float32Array,
    query_squares: Float32Array,
    centre_squares: Float32Array,
    radii: Float32Array,
    widest: Float32Array,
    groups: IntArray,
    n_balls: npt.NDArray[np.int32],
    nearest: Float32Array,
    nearest_group: IntArray,
) -> None:  # pragma: no cover (compiled)
    """Add the centres of a block of products to what is known of the queries."""
    for query in range(products.shape[0]):
        for centre in range(products.shape[1]):
            squares = query_squares[query] + centre_squares[centre]
            distance = squares - 2 * products[query, centre]
            if distance > _ROUNDING * squares:
                distance += _ROUNDING * squares
            else:
                distance = np.float32(0)
            if distance <= widest[centre]:
                for column in range(radii.shape[1]):
                    n_balls[query, column] += distance <= radii[centre, column]
            if distance < nearest[query, 1]:
                group = groups[centre]
                if group == nearest_group[query]:
                    nearest[query, 0] = min(nearest[query, 0], distance)
                elif distance < nearest[query, 0]:
                    nearest[query, 1] = nearest[query, 0]
                    nearest[query, 0] = distance
                    nearest_group[query] = group
                else:
                    nearest[query, 1] = distance
