"""Sums of a Gaussian kernel over all pairs of vectors, exact or in linear time, in bounded memory.

Squared distances come from products of matrices in single precision, a tile of the pairs at a time; sums inside a tile
are over at most a thousand values, and all tiles add up in double precision, in a fixed order, whatever the number of
threads. Vectors at right angles to each other, such as those of different folds of a cross-fitted encoder, need no
product: their kernel is a number of the first times a number of the second.

In linear time the kernel is the mean of ``cos(w'(x - y))`` over random w: Rahimi and Recht, "Random Features for
Large-Scale Kernel Machines", NeurIPS 2007. That is a kernel itself, so a test by permutation stays exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.neighbours import parts_of

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

_TILE = 512  # a tile stays in the second-level cache


@dataclass(frozen=True)
class KernelSums:
    """Kernel sums over pairs of vectors of two sets, or of one set without pairs of a vector with itself."""

    # Over all pairs of each vector, shapes (n,) and (m,)
    rows: FloatArray
    columns: FloatArray
    blocks: FloatArray  # Over all pairs of each block of vectors with each other, shape (n_blocks, m_blocks)


def own_sums(vectors: Vectors, blocks: IntArray) -> KernelSums:
    """Return the sums of ``exp(-|x - y|^2 / 2)`` over the pairs of one set, each pair counted in both orders.

    `vectors`: shape (n, d); `blocks`: block of each, shape (n,), numbers from 0, none left out.
    """
    return _sums((vectors, blocks), (vectors, blocks), same=True)


def cross_sums(first: Vectors, first_blocks: IntArray, second: Vectors, second_blocks: IntArray) -> KernelSums:
    """Return the sums of ``exp(-|x - y|^2 / 2)`` over the pairs of two sets; shapes as in `own_sums`."""
    return _sums((first, first_blocks), (second, second_blocks), same=False)


class FeatureSums:
    """Sums over random features of the vectors of one set, from which those over pairs follow without forming pairs.

    `vectors`: shape (n, d); `blocks`: as in `own_sums`; `frequencies`: shape (d, n_frequencies).
    """

    def __init__(self, vectors: Vectors, blocks: IntArray, frequencies: Float32Array) -> None:
        self._order = np.argsort(blocks, kind="stable")
        self._vectors = vectors[self._order].astype(np.float32)
        self._frequencies = frequencies
        self._sizes = np.bincount(blocks)
        sorted_blocks = blocks[self._order]

        def tile(start: int) -> tuple[IntArray, Float32Array]:
            own = sorted_blocks[start : start + _TILE]
            starts = _starts(own)
            return own[starts], np.add.reduceat(self._features(start), starts, axis=0)

        with one_blas_thread():
            parts = parallel_map(tile, range(0, len(vectors), _TILE))
        self._blocks = np.zeros((len(self._sizes), 2 * frequencies.shape[1]))
        for ids, sums in parts:
            self._blocks[ids] += sums

    def with_itself(self) -> KernelSums:
        """Return the sums over pairs of its vectors, without those of a vector with itself."""
        rows = self._rows(self) - 1
        return KernelSums(rows, rows, self._blocks @ self._blocks.T - np.diag(self._sizes))

    def with_other(self, other: "FeatureSums") -> KernelSums:
        """Return the sums over pairs of one of its vectors and one of `other`."""
        return KernelSums(self._rows(other), other._rows(self), self._blocks @ other._blocks.T)

    def _rows(self, other: "FeatureSums") -> FloatArray:
        """Return the kernel sums of each vector with all of `other`, shape (n,)."""
        total = other._blocks.sum(axis=0)
        with one_blas_thread():
            parts = parallel_map(
                lambda start: self._features(start) @ total.astype(np.float32), range(0, len(self._vectors), _TILE)
            )
        rows = np.concatenate(parts).astype(np.float64)
        rows += (self._blocks.sum(axis=0) @ total - rows.sum()) / len(rows)  # add up to the sum in double precision
        return _unsorted(rows, self._order)

    def _features(self, start: int) -> Float32Array:
        """Return the features of a tile, whose products are the kernel, shape (rows, 2 n_frequencies)."""
        angles = self._vectors[start : start + _TILE] @ self._frequencies
        waves = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
        return np.asarray(waves / math.sqrt(angles.shape[1]), dtype=np.float32)


def orthogonal_frequencies(n_dimensions: int, n_frequencies: int, rng: np.random.Generator) -> Float32Array:
    """Return Gaussian frequencies, shape (n_dimensions, n_frequencies), `n_dimensions` at a time at right angles.

    Source: Yu et al., "Orthogonal Random Features", NeurIPS 2016. Here they have a quarter to a tenth of the variance.
    """
    parts = []
    for _ in range(0, n_frequencies, n_dimensions):
        directions, _ = np.linalg.qr(rng.standard_normal((n_dimensions, n_dimensions)))
        parts.append(directions * np.sqrt(rng.chisquare(n_dimensions, n_dimensions)))
    return np.concatenate(parts, axis=1)[:, :n_frequencies].astype(np.float32)


def _sums(first: tuple[Vectors, IntArray], second: tuple[Vectors, IntArray], *, same: bool) -> KernelSums:
    rows, columns = np.zeros(len(first[0])), np.zeros(len(second[0]))
    blocks = np.zeros((int(first[1].max()) + 1, int(second[1].max()) + 1))
    parts = parts_of(first[0], second[0])
    for used, (own, other) in parts:
        if len(own) == 0 or len(other) == 0:
            continue
        mean = first[0][np.ix_(own, used)].mean(axis=0, dtype=np.float64)  # small numbers keep the most digits
        sides = [
            (side[0][np.ix_(chosen, used)] - mean, side[1][chosen])
            for side, chosen in ((first, own), (second, other))
        ]  # fmt: skip
        _add_pairs(sides[0], sides[1], (own, other), rows, columns, blocks, same=same)
    if len(parts) > 1:
        _add_right_angles(first, second, [chosen for _, chosen in parts], rows, columns, blocks)
    return KernelSums(rows, rows if same else columns, blocks)


def _add_right_angles(
    first: tuple[Vectors, IntArray],
    second: tuple[Vectors, IntArray],
    parts: Sequence[Sequence[IntArray]],
    rows: FloatArray,
    columns: FloatArray,
    blocks: FloatArray,
) -> None:
    """Add the sums over pairs of different parts, where the kernel is that with 0 of one times that of the other."""
    lengths = [np.exp(-0.5 * np.einsum("ij,ij->i", side[0], side[0], dtype=np.float64)) for side in (first, second)]
    of_blocks = [
        np.stack(
            [
                np.bincount(side[1][part[place]], weights=of_side[part[place]], minlength=blocks.shape[place])
                for part in parts
            ]
        )
        for place, (side, of_side) in enumerate(zip((first, second), lengths, strict=True))
    ]
    for number, (own, other) in enumerate(parts):
        others = [np.delete(of_side, number, axis=0).sum(axis=0) for of_side in of_blocks]
        rows[own] += lengths[0][own] * others[1].sum()
        columns[other] += lengths[1][other] * others[0].sum()
        blocks += np.outer(of_blocks[0][number], others[1])


def _add_pairs(
    first: tuple[FloatArray, IntArray],
    second: tuple[FloatArray, IntArray],
    places: tuple[IntArray, IntArray],
    rows: FloatArray,
    columns: FloatArray,
    blocks: FloatArray,
    *,
    same: bool,
) -> None:
    """Add the sums over all pairs of two sets, whose places in `rows` and `columns` are `places`."""
    order, other = (np.argsort(numbers, kind="stable") for _, numbers in (first, second))
    own_blocks, other_blocks = first[1][order], second[1][other]
    left, right = _factors(first[0][order], turn=False), _factors(second[0][other], turn=True)
    own_places, other_places = places[0][order], places[1][other]
    own_starts, other_starts = (
        {start: _starts(side[start : start + _TILE]) for start in range(0, len(side), _TILE)}
        for side in (own_blocks, other_blocks)
    )
    tiles = [
        (row, column) for row in range(0, len(left), _TILE) for column in range(row if same else 0, len(right), _TILE)
    ]

    def tile(corner: tuple[int, int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        row, column = corner
        kernel = left[row : row + _TILE] @ right[column : column + _TILE].T  # (rows, columns)
        np.exp(kernel, out=kernel)
        if same and row == column:
            np.fill_diagonal(kernel, 0)
        of_blocks = np.add.reduceat(kernel, own_starts[row], axis=0).astype(np.float64)
        return (
            kernel.sum(axis=1).astype(np.float64),
            of_blocks.sum(axis=0),
            np.add.reduceat(of_blocks, other_starts[column], axis=1),
        )

    with one_blas_thread():
        sums = parallel_map(tile, tiles)
    for (row, column), (row_sums, column_sums, block_sums) in zip(tiles, sums, strict=True):
        of_tile = np.ix_(own_blocks[row + own_starts[row]], other_blocks[column + other_starts[column]])
        rows[own_places[row : row + _TILE]] += row_sums
        columns[other_places[column : column + _TILE]] += column_sums
        blocks[of_tile] += block_sums
        if same and row != column:
            rows[own_places[column : column + _TILE]] += column_sums
            blocks[of_tile[1].T, of_tile[0].T] += block_sums.T


def _factors(vectors: Vectors, *, turn: bool) -> npt.NDArray[np.float32]:
    """Return rows whose products with those of the other turn are ``-|x - y|^2 / 2``, shape (n, d + 2)."""
    squares = -0.5 * np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)[:, None]
    ones = np.ones_like(squares)
    ends = (ones, squares) if turn else (squares, ones)
    return np.concatenate([vectors.astype(np.float32), *(end.astype(np.float32) for end in ends)], axis=1)


def _starts(blocks: IntArray) -> IntArray:
    """Return where each block starts in a sorted list."""
    return np.flatnonzero(np.diff(blocks, prepend=blocks[0] - 1))


def _unsorted(values: FloatArray, order: IntArray) -> FloatArray:
    back = np.empty_like(values)
    back[order] = values
    return back
