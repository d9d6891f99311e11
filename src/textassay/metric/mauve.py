"""MAUVE: how far apart two texts are in the share of their sentences that falls into each cluster of an embedding.

Source: Pillutla et al., "MAUVE: Measuring the Gap Between Neural Text and Human Text using Divergence Frontiers",
NeurIPS 2021: unit vectors, 90 % of their variance, k-means with a tenth as many clusters as sentences, scale 5.
Departs from it: the value is the mean over several clusterings, which alone move it by 0.005 to 0.02; the encoder is
any that sees real text only, not GPT-2; more than 10,000 sentences a side are clustered in parts. The other divergences
stand on the same clusters: Pimentel, Meister, Cotterell, "On the Usefulness of Embeddings, Clusters and Strings for
Text Generation Evaluation", ICLR 2023.

K-means is Lloyd's, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982, from random
rows. Departs from it: a centre that lost no row and gained none is not compared again with rows whose own centre did
not recede from them, nor are points with centres that share no dimension with them, which leaves the assignments as
they would be; a centre without rows stays where it is. Scores of rows and centres are matrix products in float32, means
are taken in float64. One BLAS thread: its sums would otherwise depend on how many there are.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import FittedEncoder
from textassay.embedding.store import features, fit_encoder
from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.base import MOST_VECTORS, Computed, Effort, EncoderName, SharedEffort, declare_metric
from textassay.metric.kernels_vectors import cluster_sums, hash_rows, highest, improve
from textassay.metric.neighbours import parts_of
from textassay.resampling.jackknife import assign_groups, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_VARIANCE = 0.9  # share of the variance kept in principal components, section 4 of the paper
_PER_CLUSTER = 10  # sentences of the smaller side for each cluster
_SCALE = 5.0  # c of the paper
_WEIGHTS = np.linspace(1e-6, 1 - 1e-6, 25)  # of real text in the mixtures along the frontier
_AT_ONCE = 10_000  # shares of clusters mixed with each weight at once: 2 MB, which stay in the second-level cache
N_CLUSTERINGS: Mapping[Effort, int] = {"quick": 3, "default": 5, "max": 20}

Float32Array = npt.NDArray[np.float32]
HashArray = npt.NDArray[np.uint64]

TOGETHER_UP_TO = 20_000 * 1_000  # points times clusters; more are clustered in parts
_ROWS = 20_000  # projected at once
_MAX_ITERATIONS = 500  # more than ever seen: 10,000 news sentences in 500 clusters settle after 15 to 25
_BLOCK = 1024  # rows compared with all centres at once: their scores stay in the second-level cache


@declare_metric(
    "mauve",
    "MAUVE: area under the frontier of divergences between the shares of sentences in clusters of an embedding",
    unit="area",
    better="higher",
    bounds=(0, 1),
    most=MOST_VECTORS,
    cost="linear",
    at_least=2,
)
def mauve(
    generated: Corpus,
    real: Corpus,
    *,
    encoder: EncoderName = "lsa+lm",
    effort: SharedEffort = "default",
    level: float = 0.95,
    seed: int = 0,
) -> Computed:
    """Return MAUVE, the area under the divergence frontier of two texts.

    Parameters
    ----------
    generated, real
        At least two sentences each.
    encoder
        Turns sentences into vectors: a name, the folder of a model, or an `Encoder`; fitted to the real text.
    effort
        ``quick`` averages 3 clusterings, ``default`` 5, ``max`` 20.
    seed
        Draws the clusterings and the jackknife groups.

    Returns
    -------
    Estimate
        Area in (0, 1], higher is better; 1 where both texts fill all clusters alike. Two samples of one distribution
        stay below 1, the more the smaller they are. Details: `values` of the clusterings and their standard deviation
        `sd_clusterings`; `n_clusters` and `n_components`; `frontier`, (x, y) of 27 points, the mean over clusterings
        at each mixture, x high where generated text lies within real text, y where it leaves none of it out; and on
        the same clusters `total_variation`, `jensen_shannon` and, with half a sentence added to each
        cluster, `kl_generated_real` and `kl_real_generated`, the last three in nats.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has fewer than two sentences.

    Notes
    -----
    With p and q the shares of real and generated sentences in each cluster and ``r = w p + (1 - w) q``, the frontier
    goes through ``(exp(-5 KL(q | r)), exp(-5 KL(p | r)))`` for 25 weights w, and from (0, 1) to (1, 0). There is a
    cluster for every ten sentences of the smaller side. More than 10,000 sentences a side (20,000,000 sentences times
    clusters) are first divided into parts by k-means, and clustered inside each, in time that grows as their number
    (the signature says ``hierarchical``): on pairs of 10,000 and 20,000 a side that moved the value by less than one
    clustering differs from another. The interval comes from leaving out each of 50 groups of
    sentences a side with the clusters as they are, and from the spread of the clusterings: it is the noise at this
    number of sentences, not the distance from what more sentences would give.
    """
    fitted = fit_encoder(encoder, real)
    clusters = _cluster(real, generated, fitted, N_CLUSTERINGS[effort], seed)
    groups = [
        assign_groups(len(corpus), stream(seed, "groups", side), units=corpus.groups)
        for side, corpus in (("real", real), ("generated", generated))
    ]
    one = partial(_without_groups, groups=groups, n_clusters=clusters.n_clusters)
    results = parallel_map(one, list(zip(clusters.real, clusters.generated, strict=True)))
    areas, frontiers, real_replicates, generated_replicates, divergences = zip(*results, strict=True)
    values = np.array(areas)
    value = float(np.mean(values))
    real_terms, generated_terms = (
        jackknife_terms(value, np.mean(replicates, axis=0), np.bincount(group))
        for replicates, group in zip((real_replicates, generated_replicates), groups, strict=True)
    )
    spread = float(values.var(ddof=1)) / len(values)
    n_real_groups, n_groups = (0 if terms is None else len(terms) for terms in (real_terms, generated_terms))
    return Computed(
        value,
        # the spread of clusterings goes with the generated side: each generator has clusterings of its own
        terms={"generated": _with_variance(generated_terms, spread), "real": real_terms},
        interval=terms_interval(
            value,
            _with_clusterings([real_terms, generated_terms], spread),
            level=level,
            method=f"t: jackknife over {n_groups}+{n_real_groups} groups, and spread of clusterings; encoder fixed",
            low=0.0,
            high=1.0,
        ),
        settings={
            **fitted.settings,
            "pca": _VARIANCE,
            "clusters": f"{clusters.n_clusters}{'' if clusters.together else ' hierarchical'}",
            "clusterings": len(values),
            "scale": f"{_SCALE:g}",
        },
        details={
            "values": values.tolist(),
            "sd_clusterings": float(values.std(ddof=1)),
            "n_clusters": clusters.n_clusters,
            "n_components": clusters.n_components,
            "frontier": np.mean(frontiers, axis=0).tolist(),
            **dict(zip(_DIVERGENCES, np.mean(divergences, axis=0).tolist(), strict=True)),
        },
    )


@dataclass(frozen=True)
class _Clusters:
    """Clusterings of both sides together: the cluster of each sentence, shapes (n_clusterings, N)."""

    real: IntArray
    generated: IntArray
    n_clusters: int
    n_components: int
    together: bool  # Whether all sentences were clustered at once, not in parts


def _with_clusterings(terms: Sequence[FloatArray | None], spread: float) -> list[FloatArray | None]:
    """Return terms with the same means, whose variance has `spread`, that of the mean over clusterings, added."""
    known = [side for side in terms if side is not None]
    sampling = sum(float(np.var(side, ddof=1)) / len(side) for side in known)
    factor = math.sqrt(1 + spread / sampling) if sampling > 0 else 1.0
    return [None if side is None else side.mean() + factor * (side - side.mean()) for side in terms]


def _with_variance(terms: FloatArray | None, added: float) -> FloatArray | None:
    """Return terms with the same mean, the variance of which is larger by `added`."""
    if terms is None:
        return None
    mean, own = terms.mean(), float(np.var(terms, ddof=1)) / len(terms)
    if own > 1e-12 * added:  # more than rounding
        return np.asarray(mean + math.sqrt(1 + added / own) * (terms - mean))
    signs = np.resize([1.0, -1.0], len(terms))
    signs -= signs.mean()
    return np.asarray(mean + math.sqrt(added * len(terms) / np.var(signs, ddof=1)) * signs)


def _text_hashes(texts: Iterable[str]) -> IntArray:
    """Return a hash of each sentence's text, shape (N,): the same on every machine, unlike the last bits of vectors."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    return np.array([int.from_bytes(blake2b(text, digest_size=7).digest()) for text in encoded], dtype=np.int64)


def _cluster(real: Corpus, generated: Corpus, fitted: FittedEncoder, n_clusterings: int, seed: int) -> _Clusters:
    """Return clusterings of the sentences of both sides, in an order that only texts and vectors decide."""
    rows = np.concatenate([unit_rows(features(fitted, corpus)) for corpus in (real, generated)])
    kinds = row_hashes(rows)
    order = np.lexsort((kinds, _text_hashes(chain(real.texts, generated.texts))))
    n_clusters = max(2, round(min(len(real), len(generated)) / _PER_CLUSTER))
    with one_blas_thread():
        points = principal_components(rows[order], _VARIANCE)
        parts = points_in_parts(points)
        labels_in_order = parallel_map(
            lambda number: hierarchical_k_means(
                points, kinds[order], n_clusters, stream(seed, "mauve", "clusters", number), parts
            ),
            range(n_clusterings),
        )
    labels = np.empty((n_clusterings, len(rows)), dtype=np.int64)
    labels[:, order] = labels_in_order
    together = is_clustered_together(len(rows), n_clusters)
    return _Clusters(labels[:, : len(real)], labels[:, len(real) :], n_clusters, points.shape[1], together)


_DIVERGENCES = ("total_variation", "jensen_shannon", "kl_generated_real", "kl_real_generated")


def _without_groups(
    labels: tuple[IntArray, IntArray], *, groups: Sequence[IntArray], n_clusters: int
) -> tuple[float, FloatArray, FloatArray, FloatArray, list[float]]:
    """Return of one clustering the area, the frontier, the area without each real or generated group, divergences."""
    counts = [
        np.bincount(group * n_clusters + label, minlength=(int(group.max()) + 1) * n_clusters).reshape(-1, n_clusters)
        for label, group in zip(labels, groups, strict=True)
    ]
    filled = np.flatnonzero(sum(count.sum(axis=0) for count in counts))
    real, generated = (count.sum(axis=0)[filled] for count in counts)
    p, q = real / real.sum(), generated / generated.sum()
    frontier = _frontier(p, q)
    replicates = []
    for side, count in enumerate(counts):
        left = count.sum(axis=0)[filled] - count[:, filled]
        if len(left) == 1:  # all sentences belong to one document
            replicates.append(np.full(1, np.nan))
            continue
        shares = left / left.sum(axis=1, keepdims=True)
        some = max(1, _AT_ONCE // shares.shape[1])
        parts = [shares[start : start + some] for start in range(0, len(shares), some)]
        areas = [_area(_frontier(part, q) if side == 0 else _frontier(p, part)) for part in parts]
        replicates.append(np.concatenate(areas))
    half = (p + q) / 2
    smooth_p, smooth_q = ((count + 0.5) / (count + 0.5).sum() for count in (real, generated))
    divergences = [
        float(np.abs(p - q).sum() / 2),
        float(rel_entr(p, half).sum() + rel_entr(q, half).sum()) / 2,
        float(rel_entr(smooth_q, smooth_p).sum()),
        float(rel_entr(smooth_p, smooth_q).sum()),
    ]
    return float(_area(frontier)), frontier, replicates[0], replicates[1], divergences


def _frontier(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the points of the frontier from (0, 1) to (1, 0), shape (..., 27, 2), of shares of shape (..., k)."""
    p, q = np.broadcast_arrays(p, q)
    weights = _WEIGHTS[::-1, None]
    log_r = weights * p[..., None, :] + (1 - weights) * q[..., None, :]
    np.log(np.maximum(log_r, np.finfo(float).tiny, out=log_r), out=log_r)
    points = np.zeros((*p.shape[:-1], len(_WEIGHTS) + 2, 2))
    for axis, shares in enumerate((q, p)):
        entropy = (shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
        cross = np.einsum("...k,...wk->...w", shares, log_r)
        points[..., 1:-1, axis] = np.exp(-_SCALE * np.maximum(entropy[..., None] - cross, 0.0))
    points[..., 0, 1] = points[..., -1, 0] = 1.0
    return points


def _area(frontier: FloatArray) -> FloatArray:
    """Return the area below frontiers of shape (..., n, 2) by trapezoids, shape (...)."""
    x, y = frontier[..., 0], frontier[..., 1]
    return np.asarray((np.diff(x, axis=-1) * (y[..., 1:] + y[..., :-1])).sum(axis=-1) / 2)


def unit_rows(features: npt.NDArray[Any]) -> Float32Array:
    """Return the rows of `features`, shape (N, d), divided by their Euclidean lengths; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("nd,nd->n", features, features, dtype=np.float64))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(features * scale[:, None] + 0.0, dtype=np.float32)  # + 0.0: no negative zero


def row_hashes(rows: Float32Array) -> HashArray:
    """Return a hash of each row's bits, shape (N,): equal rows have equal ones."""
    return np.asarray(hash_rows(np.ascontiguousarray(rows).view(np.uint32)))


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


@dataclass(frozen=True)
class Part:
    """Some of the points, which have nothing outside the dimensions `used`."""

    used: IntArray
    own: IntArray  # places of the points
    extended: Float32Array  # a point in these dimensions, and 1, in each row


def points_in_parts(points: Float32Array) -> list[Part]:
    """Return `points`, shape (N, m), divided for `k_means`."""
    ones = np.ones((len(points), 1), dtype=np.float32)
    return [
        Part(used, own, np.concatenate((np.take(points[own], used, axis=1), ones[own]), axis=1))
        for used, (own,) in parts_of(points)
    ]


def hierarchical_k_means(
    points: Float32Array,
    kinds: HashArray,
    n_clusters: int,
    rng: np.random.Generator,
    parts: Sequence[Part] | None = None,
) -> IntArray:
    """Return the cluster of each point, in time linear in `n_clusters` even where that grows with their number.

    Up to `TOGETHER_UP_TO` it is `k_means`. Beyond, a coarse one divides the points into parts that are small enough, or
    are divided again; each has a share of the clusters that goes with its number of distinct points.
    """
    if is_clustered_together(len(points), n_clusters):
        return k_means(points, kinds, n_clusters, rng, parts)
    n_parts = min(math.ceil(math.sqrt(len(points) * n_clusters / TOGETHER_UP_TO)), n_clusters)
    part_of = k_means(points, kinds, n_parts, rng, parts)
    _, first = np.unique(kinds, return_index=True)
    n_distinct = np.bincount(part_of[first], minlength=n_parts)
    if np.count_nonzero(n_distinct) == 1:
        return k_means(points, kinds, n_clusters, rng, parts)
    ends = np.round(np.cumsum(n_distinct) / n_distinct.sum() * (n_clusters - n_parts)).astype(np.int64)
    ends += np.arange(1, n_parts + 1)  # each part has one cluster at least
    labels = np.empty(len(points), dtype=np.int64)
    for part, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        own = np.flatnonzero(part_of == part)
        if len(own) > 0:
            labels[own] = start + hierarchical_k_means(points[own], kinds[own], end - start, rng)
    return labels


def k_means(
    points: Float32Array,
    kinds: HashArray,
    n_clusters: int,
    rng: np.random.Generator,
    parts: Sequence[Part] | None = None,
) -> IntArray:
    """Return the cluster of each point once Lloyd's iterations have settled.

    `points`: shape (N, m); `kinds`: equal for equal points, shape (N,); `parts`: what `points_in_parts` gave for them.

    Shape (N,), from 0 to `n_clusters` - 1; some may be empty.
    """
    order = rng.permutation(len(points))
    _, first = np.unique(kinds[order], return_index=True)
    centres = points[order[np.sort(first)[:n_clusters]]].astype(np.float64)
    n_clusters = len(centres)
    parts = parts or points_in_parts(points)
    centres = np.take(centres, np.concatenate([part.used for part in parts]), axis=1)
    ends = np.cumsum([(len(part.own), len(part.used)) for part in parts], axis=0)
    pieces = [
        _Piece.of(part.extended, slice(row, row_end), slice(column, column_end), n_clusters)
        for part, ((row, column), (row_end, column_end)) in zip(parts, pairwise([(0, 0), *ends.tolist()]), strict=True)
    ]
    halves = np.empty(n_clusters)
    labels = np.zeros(len(points), dtype=np.int64)
    changed = np.arange(n_clusters, dtype=np.int64)
    for iteration in range(_MAX_ITERATIONS):
        halves[changed] = -0.5 * np.einsum("kd,kd->k", centres[changed], centres[changed])
        before = labels.copy()
        for piece in pieces:
            piece.move(centres, halves, changed)
            piece.assign(halves, changed, labels[piece.rows])
        moved = labels != before
        if iteration > 0 and not moved.any():
            break
        affected = np.full(n_clusters, iteration == 0)
        affected[before[moved]] = affected[labels[moved]] = True
        sums, sizes = np.zeros_like(centres), np.zeros(n_clusters)
        for piece in pieces:
            of_piece = cluster_sums(piece.extended, labels[piece.rows], affected.view(np.uint8))
            sums[:, piece.columns] = of_piece[:, :-1]
            sizes += of_piece[:, -1]
        changed = np.flatnonzero(affected & (sizes > 0))
        centres[changed] = sums[changed] / sizes[changed, None]
    labels_in_order = np.empty_like(labels)
    labels_in_order[np.concatenate([part.own for part in parts])] = labels
    return labels_in_order


@dataclass(frozen=True)
class _Piece:
    """The points of a part, and what is known of the centres there.

    `scores` holds a point's score ``x c - |c|^2 / 2`` with its own centre, the nearest one, which has the highest;
    `bounds` what no other centre's score is above.
    """

    rows: slice  # of all points, part by part
    columns: slice
    extended: Float32Array
    centres: Float32Array  # a centre and its ``-|c|^2 / 2`` in each row
    reached: npt.NDArray[np.bool_]  # whether a centre has anything in these dimensions
    scores: Float32Array
    bounds: Float32Array

    @classmethod
    def of(cls, extended: Float32Array, rows: slice, columns: slice, n_clusters: int) -> "_Piece":
        centres = np.zeros((n_clusters, extended.shape[1]), dtype=np.float32)
        scores, bounds = np.zeros((2, len(extended)), dtype=np.float32)
        return cls(rows, columns, extended, centres, np.zeros(n_clusters, dtype=np.bool_), scores, bounds)

    def move(self, centres: FloatArray, halves: FloatArray, changed: IntArray) -> None:
        """Take over the centres that changed; `halves`: ``-|c|^2 / 2`` of each."""
        here = centres[changed, self.columns]
        self.centres[changed, :-1] = here
        self.centres[changed, -1] = halves[changed]
        self.reached[changed] = here.any(axis=1)

    def assign(self, halves: FloatArray, changed: IntArray, labels: IntArray) -> None:
        """Set the label of each point to the centre of the highest score.

        While the score of a point's own centre stays above the bound, and no changed centre has a higher one, there is
        no need to look at the other centres.
        """
        is_changed = np.zeros(len(halves), dtype=np.bool_)
        is_changed[changed] = True
        needed = self.reached.copy()
        needed[labels] = True
        # of centres at right angles to all points, the shortest is the nearest; of those that changed, too
        for apart in (np.flatnonzero(~needed), np.flatnonzero(~needed & is_changed)):
            needed[apart[halves[apart].argmax(axis=0, keepdims=True)] if len(apart) > 0 else apart] = True
        some = np.flatnonzero(needed & is_changed)
        if len(some) == 0:
            return
        every = np.flatnonzero(needed)
        column_of = np.full(len(halves), -1, dtype=np.int64)
        column_of[some] = np.arange(len(some))
        all_centres, some_centres = self.centres[every].T.copy(), self.centres[some].T.copy()
        for start in range(0, len(labels), _BLOCK):
            block = slice(start, start + _BLOCK)
            known = labels[block], self.scores[block], self.bounds[block]
            if len(changed) == len(halves):
                highest(self.extended[block] @ all_centres, every, *known)
                continue
            open_rows = start + improve(self.extended[block] @ some_centres, some, column_of, *known)
            if len(open_rows):
                updated = labels[open_rows], self.scores[open_rows], self.bounds[open_rows]
                highest(self.extended[open_rows] @ all_centres, every, *updated)
                labels[open_rows], self.scores[open_rows], self.bounds[open_rows] = updated
