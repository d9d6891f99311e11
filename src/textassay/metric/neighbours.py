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
from scipy.sparse.csgraph import connected_components

from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.kernels_vectors import ball_radii, count_balls, keep_nearest

Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

_ROWS, _COLUMNS = 512, 2048  # a block of distances: 4 MB
_MOST_PATTERNS = 16  # of zeros in the rows of a block, looked for one by one


@dataclass(frozen=True)
class Vectors:
    """Sentence vectors, shape (N, d), and their squared lengths, shape (N,)."""

    rows: Float32Array
    squares: Float32Array

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, chosen: IntArray, columns: IntArray) -> "Vectors":
        """Return some vectors in some of their dimensions, outside which they have no part in any product."""
        return Vectors(self.rows[np.ix_(chosen, columns)], self.squares[chosen])


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


def parts_of(*sides: npt.NDArray[np.floating[Any]]) -> list[tuple[IntArray, list[IntArray]]]:
    """Return groups of columns such that each row is zero outside one of them, and the rows of each side in each.

    Rows of different groups are at right angles, so that no product of them need be computed: a cross-fitted encoder
    has dimensions of its own for each fold.
    """
    n_columns = sides[0].shape[1]
    together = np.zeros((n_columns, n_columns), dtype=np.bool_)  # whether a row has both columns not zero
    group_of_column = np.zeros(n_columns, dtype=np.int64)
    for side in sides:
        for start in range(0, len(side), _COLUMNS):
            filled = _patterns(side[start : start + _COLUMNS]).astype(np.float32)
            both = filled.T @ filled > 0
            if np.all(both <= together):
                continue
            together |= both
            n_groups, numbers = connected_components(together, directed=False)
            group_of_column = numbers.astype(np.int64)
            if n_groups == 1:
                return [(np.arange(n_columns), [np.arange(len(rows)) for rows in sides])]
    group_of_rows = [group_of_column[(side != 0).argmax(axis=1)] for side in sides]
    return [
        (np.flatnonzero(group_of_column == group), [np.flatnonzero(of_rows == group) for of_rows in group_of_rows])
        for group in np.unique(np.concatenate(group_of_rows))
    ]


def _patterns(rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
    """Return where rows are not zero, without most repetitions."""
    left = rows != 0
    kinds: list[npt.NDArray[np.bool_]] = []
    while len(left) > 0 and len(kinds) < _MOST_PATTERNS:
        kinds.append(left[:1])
        left = left[(left != left[0]).any(axis=1)]
    return np.concatenate([*kinds, left])


def find_neighbours(vectors: Vectors, n_kept: int) -> Neighbours:
    """Return the `n_kept` nearest other vectors of each; all others where there are fewer."""
    n_kept = min(n_kept, len(vectors) - 1)
    neighbours = Neighbours(
        np.empty((len(vectors), n_kept), dtype=np.float32), np.empty((len(vectors), n_kept), dtype=np.int64)
    )
    for columns, (own,) in parts_of(vectors.rows):
        others = np.delete(np.arange(len(vectors)), own)
        shortest = others[np.argsort(vectors.squares[others], kind="stable")[:n_kept]]
        among = np.concatenate((own, shortest))
        squared_distances, positions = _find_among(vectors.part(among, columns), len(own), n_kept)
        neighbours.squared_distances[own], neighbours.positions[own] = squared_distances, among[positions]
    return neighbours


def _find_among(vectors: Vectors, n_own: int, n_kept: int) -> tuple[Float32Array, IntArray]:
    """Return the nearest other vectors of each of the first `n_own`: squared distances and positions."""

    def block(start: int) -> tuple[Float32Array, IntArray]:
        rows = vectors.rows[start : min(start + _ROWS, n_own)]
        nearest = np.full((len(rows), n_kept), np.inf, dtype=np.float32)
        who = np.zeros((len(rows), n_kept), dtype=np.int64)
        for column in range(0, len(vectors), _COLUMNS):
            products = rows @ vectors.rows[column : column + _COLUMNS].T
            keep_nearest(products, vectors.squares, start, column, nearest, who)
        return nearest, who

    with one_blas_thread():
        parts = parallel_map(block, range(0, n_own, _ROWS))
    squared_distances, positions = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return squared_distances, positions


def squared_radii(neighbours: Neighbours, groups: IntArray, k: int) -> Float32Array:
    """Return the squared distance of each vector to its k-th nearest other one, and that without each group.

    `groups`: jackknife group of each vector, shape (N,).

    Shape (N, 1 + G); -inf where the vector itself is in the group: no ball.
    """
    their_groups, n_groups = groups[neighbours.positions], int(groups.max()) + 1
    return np.asarray(ball_radii(neighbours.squared_distances, their_groups, groups, n_groups, k))


def find_members(centres: Vectors, radii: Float32Array, groups: IntArray, queries: Vectors) -> Members:
    """Return which balls hold each query, and how near the nearest centre is.

    `radii`: what `squared_radii` gave for them, shape (C, 1 + G); `groups`: their jackknife groups, shape (C,).
    """
    members = Members(
        np.empty((len(queries), radii.shape[1]), dtype=np.int32),
        np.empty((len(queries), 2), dtype=np.float32),
        np.empty(len(queries), dtype=np.int64),
    )
    for columns, (own, asking) in parts_of(centres.rows, queries.rows):
        if len(asking) > 0:
            others = np.delete(np.arange(len(centres)), own)
            reached = _reached(centres.squares[others], radii[others], groups[others], queries.squares[asking].min())
            among = np.concatenate((own, others[reached]))
            members.n_balls[asking], members.nearest[asking], members.nearest_group[asking] = _members_among(
                centres.part(among, columns), radii[among], groups[among], queries.part(asking, columns)
            )
    return members


def _reached(squares: Float32Array, radii: Float32Array, groups: IntArray, least: np.float32) -> IntArray:
    """Return the centres that matter to queries at right angles to them, whose squared lengths are at least `least`.

    They are those whose ball may hold one, and the nearest, and the nearest of another group than that one.
    """
    order = np.argsort(squares, kind="stable")
    of_another_group = order[groups[order] != groups[order[:1]]]
    holding = np.flatnonzero(radii.max(axis=1) >= squares + least)
    return np.union1d(holding, np.concatenate((order[:1], of_another_group[:1])))


def _members_among(
    centres: Vectors, radii: Float32Array, groups: IntArray, queries: Vectors
) -> tuple[npt.NDArray[np.int32], Float32Array, IntArray]:
    widest = radii.max(axis=1)

    def block(start: int) -> tuple[npt.NDArray[np.int32], Float32Array, IntArray]:
        rows = queries.rows[start : start + _ROWS]
        n_balls = np.zeros((len(rows), radii.shape[1]), dtype=np.int32)
        nearest = np.full((len(rows), 2), np.inf, dtype=np.float32)
        nearest_group = np.full(len(rows), -1, dtype=np.int64)
        for column in range(0, len(centres), _COLUMNS):
            columns = slice(column, column + _COLUMNS)
            count_balls(
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
    n_balls, nearest, nearest_group = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return n_balls, nearest, nearest_group
