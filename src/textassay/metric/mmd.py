"""Maximum mean discrepancy (mmd): whether sentence vectors of real and generated text differ, in mean over a kernel.

Source: Gretton et al., "A Kernel Two-Sample Test", JMLR 13, 2012, equation (3), the unbiased estimate.
Departs from it: the bandwidth is the root mean square of the distances between real sentences, which is exact and the
same for all generators, instead of the median of all; blocks of sentences are permuted (see
`textassay.resampling.permutation`); there is an interval, by linearising.

The test stands and falls with an encoder that never met the sentences it encodes: with one that was fitted to the very
real text that is compared, samples of one distribution were called different every time. The default encoder is
cross-fitted (`textassay.embedding.encoder`).

Sums of the kernel over all pairs take bounded memory: squared distances come from products of matrices in single
precision, a tile of the pairs at a time; sums inside a tile are over at most a thousand values, and all tiles add up in
double precision, in a fixed order, whatever the number of threads. In linear time the kernel is the mean of
``cos(w'(x - y))`` over random w: Rahimi and Recht, "Random Features for Large-Scale Kernel Machines", NeurIPS 2007.
That is a kernel itself, so a test by permutation stays exact.
"""

import math
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.store import features, fit_encoder, resolve_encoder
from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.base import MOST_VECTORS, Computed, EncoderName, compute_once, declare_metric
from textassay.metric.neighbours import parts_of
from textassay.resampling.jackknife import text_terms
from textassay.resampling.permutation import Blocks, exchange_blocks, permute_labels
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

N_PERMUTATIONS = 999
EXACT_UP_TO = 30_000  # sentences of the larger side whose pairs are all formed
N_FREQUENCIES = 1024  # beyond; other ones move the value by about 1.5 % (benchmarks/embedding_scale.py)

Float32Array = npt.NDArray[np.float32]

_TILE = 512  # a tile stays in the second-level cache


@declare_metric(
    "mmd",
    "maximum mean discrepancy between the sentence vectors: a kernel two-sample test with its p-value",
    unit="squared distance",
    better="lower",
    bounds=(-1, 2),
    size_sensitive=False,
    exact_under_reordering=False,  # to 1e-7: distances in single precision
    most=MOST_VECTORS,
    cost="linear",
    at_least=2,
)
def mmd(generated: Corpus, real: Corpus, *, encoder: EncoderName = "lsa+lm", seed: int = 0) -> Computed:
    """Return the squared maximum mean discrepancy between the sentence vectors of two corpora, unbiased.

    Parameters
    ----------
    generated, real
        At least two sentences each.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`; fitted to `real` alone.
    seed
        Decides the blocks and the permutations of the test.

    Returns
    -------
    Estimate
        In [-1, 2], lower is closer; 0 on average for samples of one distribution, whatever their number, so that half
        of those values are slightly negative. NaN, with a warning, where all real vectors are equal. Details: `p_value`
        of no difference (permutation of blocks of sentences, 999 times), `n_permutations`, `bandwidth`.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has too few sentences.
    UnavailableError
        If the encoder needs what a corpus does not come with.

    Notes
    -----
    ``mean k(x, x') + mean k(y, y') - 2 mean k(x, y)`` over pairs of different sentences, with
    ``k(x, y) = exp(-|x - y|^2 / (2 s^2))`` and s^2 the mean squared distance of two real sentences. The interval
    linearises it with bandwidth and encoder as they are: it is Student's where text differs clearly. Where there is no
    difference the linear part vanishes, and the interval is about 1.4 times too wide: trust the p-value there.

    Up to 30,000 sentences on the larger side every pair is formed. Beyond, the kernel is the mean of ``cos(w'(x - y))``
    over 1,024 random w, of which k is the expectation, and the time grows as the number of sentences; the signature
    says so. The test stays exact; another seed moves the value by about 1.5 % of itself.
    """
    state = compute_once(_real_side, real, resolve_encoder(encoder))
    vectors = features(state.encoder, generated)
    value, p_value, real_terms, generated_terms = math.nan, math.nan, None, None
    if state.bandwidth > 0:
        blocks = exchange_blocks(
            len(real),
            len(generated),
            real_rng=stream(seed, "mmd", "blocks", "real"),
            generated_rng=stream(seed, "mmd", "blocks", "generated"),
            real_groups=real.groups,
            generated_groups=generated.groups,
        )
        (real_ids, of_real), (generated_ids, of_generated) = (
            np.unique(side, return_inverse=True) for side in (blocks.real, blocks.generated)
        )
        within_real, within_generated, across = state.all_sums(of_real, vectors, of_generated, seed)
        sums = np.zeros((len(blocks.strata), len(blocks.strata)))
        sums[np.ix_(real_ids, real_ids)] = within_real.blocks
        sums[np.ix_(generated_ids, generated_ids)] = within_generated.blocks
        sums[np.ix_(real_ids, generated_ids)] = across.blocks
        sums[np.ix_(generated_ids, real_ids)] = across.blocks.T
        n, m = len(real), len(generated)
        to_real, to_generated = within_real.rows / (n - 1), within_generated.rows / (m - 1)
        value = float(to_real.mean() + to_generated.mean() - 2 * across.rows.mean() / m)
        p_value = _p_value(sums, blocks, stream(seed, "mmd", "permutation"))
        real_influence = 2 * (to_real - across.rows / m)
        generated_influence = 2 * (to_generated - across.columns / n)
        real_terms = text_terms(value + (real_influence - real_influence.mean()), real.groups)
        generated_terms = text_terms(value + (generated_influence - generated_influence.mean()), generated.groups)
    return Computed(
        value,
        terms={"generated": generated_terms, "real": real_terms},
        method="t: influence of each sentence, encoder fixed; too wide near 0",
        undefined="all real vectors are equal" if math.isnan(value) else None,
        settings={
            **state.encoder.settings,
            "kernel": "rbf" if _is_exact(generated, real) else f"rbf by {N_FREQUENCIES} random frequencies",
            "bandwidth": "rms-real",
            "permutations": N_PERMUTATIONS,
        },
        details={"p_value": p_value, "n_permutations": N_PERMUTATIONS, "bandwidth": state.bandwidth},
    )


@dataclass(frozen=True)
class KernelSums:
    """Kernel sums over pairs of vectors of two sets, or of one set without pairs of a vector with itself."""

    # Over all pairs of each vector, shapes (n,) and (m,)
    rows: FloatArray
    columns: FloatArray
    blocks: FloatArray  # Over all pairs of each block of vectors with each other, shape (n_blocks, m_blocks)


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


@dataclass(frozen=True)
class _RealSide:
    """The vectors of real text, and the sums over its pairs, by its blocks."""

    encoder: FittedEncoder
    centre: FloatArray
    bandwidth: float
    vectors: Vectors
    known: dict[bytes, KernelSums] = field(default_factory=dict)
    known_features: dict[tuple[int, bytes], FeatureSums] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)  # several generators are measured at once

    def scaled(self, vectors: Vectors) -> FloatArray:
        return np.asarray((vectors - self.centre) / self.bandwidth, dtype=np.float64)

    def sums(self, blocks: IntArray) -> KernelSums:
        key = blocks.tobytes()
        with self.lock:
            if key not in self.known:
                self.known[key] = own_sums(self.vectors / self.bandwidth, blocks)
            return self.known[key]

    def feature_sums(self, blocks: IntArray, frequencies: npt.NDArray[np.float32], seed: int) -> FeatureSums:
        key = (seed, blocks.tobytes())
        with self.lock:
            if key not in self.known_features:
                self.known_features[key] = FeatureSums(self.scaled(self.vectors), blocks, frequencies)
            return self.known_features[key]

    def all_sums(self, of_real: IntArray, vectors: Vectors, of_generated: IntArray, seed: int) -> list[KernelSums]:
        """Return the sums within the real text, within the generated one, and across."""
        if _is_exact(of_real, of_generated):
            scaled = vectors / self.bandwidth
            across = cross_sums(self.vectors / self.bandwidth, of_real, scaled, of_generated)
            return [self.sums(of_real), own_sums(scaled, of_generated), across]
        frequencies = orthogonal_frequencies(vectors.shape[1], N_FREQUENCIES, stream(seed, "mmd", "frequencies"))
        real = self.feature_sums(of_real, frequencies, seed)
        generated = FeatureSums(self.scaled(vectors), of_generated, frequencies)
        return [real.with_itself(), generated.with_itself(), real.with_other(generated)]


def _real_side(real: Corpus, encoder: Encoder) -> _RealSide:
    fitted = fit_encoder(encoder, real)
    vectors = features(fitted, real)
    spread = 2 * float(vectors.var(axis=0, ddof=1, dtype=np.float64).sum())
    return _RealSide(fitted, vectors.mean(axis=0, dtype=np.float64), math.sqrt(spread), vectors)


def _is_exact(*sides: Sized) -> bool:
    return max(map(len, sides)) <= EXACT_UP_TO


def _p_value(sums: FloatArray, blocks: Blocks, rng: np.random.Generator) -> float:
    """Return how often exchanged labels give at least the observed discrepancy, from the sums over pairs of blocks."""
    labels = np.concatenate([blocks.is_real[None], permute_labels(blocks, rng, N_PERMUTATIONS)]).astype(np.float64)
    sizes = np.bincount(np.concatenate([blocks.real, blocks.generated])).astype(np.float64)
    with one_blas_thread():
        with_real = labels @ sums
    real = np.einsum("pb,pb->p", with_real, labels)
    across = with_real.sum(axis=1) - real
    generated = sums.sum() - real - 2 * across
    n = labels @ sizes
    m = sizes.sum() - n
    pairs = (n * (n - 1), m * (m - 1), n * m)
    within = sum(part / np.maximum(count, 1) for part, count in zip((real, generated), pairs[:2], strict=True))
    values = within - 2 * across / np.maximum(pairs[2], 1)
    margin = 1e-12 * (1 + abs(values[0]))  # equal sums added in another order still count as ties
    return float((np.count_nonzero(values[1:] >= values[0] - margin) + 1) / (N_PERMUTATIONS + 1))


def own_sums(vectors: Vectors, blocks: IntArray) -> KernelSums:
    """Return the sums of ``exp(-|x - y|^2 / 2)`` over the pairs of one set, each pair counted in both orders.

    `vectors`: shape (n, d); `blocks`: block of each, shape (n,), numbers from 0, none left out.
    """
    return _sums((vectors, blocks), (vectors, blocks), same=True)


def cross_sums(first: Vectors, first_blocks: IntArray, second: Vectors, second_blocks: IntArray) -> KernelSums:
    """Return the sums of ``exp(-|x - y|^2 / 2)`` over the pairs of two sets; shapes as in `own_sums`."""
    return _sums((first, first_blocks), (second, second_blocks), same=False)


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
