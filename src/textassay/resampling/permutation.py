"""Permutation tests of whether real and generated texts differ by chance.

If both samples come from one distribution, all assignments of the labels "real" and "generated" are equally likely.
Texts in groups (of one document, of one prompt) are permuted by group.

`permutation_p_value` is a test of scores. For a kernel summed over pairs of texts a permutation costs n^2 steps: texts
are assigned to blocks once, at random, and blocks are permuted, which needs only the sums over pairs of blocks.
Exchanging blocks of equal size is a subgroup of exchanging texts, so the p-value stays exact, and a few hundred blocks
lose almost no power.

Sources: Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
Molecular Biology 9, 2010 (the observed difference counts as one of the draws); Hemerik and Goeman, "Exact testing with
random permutations", TEST 27, 2018, on subgroups.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.errors import EmptyCorpusError
from textassay.resampling.jackknife import assign_groups

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Labels = npt.NDArray[np.bool_]

_SCORES_AT_ONCE = 1_000_000
# Blocks of texts that are exchanged
BLOCKS = 200  # on the side with fewer texts
MAX_BLOCKS = 2000  # on the other side; the rest of it keeps its label
_MIN_BLOCKS = 20  # on a side whose groups are exchanged whole
_MIN_SLOTS = 4  # of a group with texts on both sides, on the side with fewer of them


def permutation_p_value(
    real: FloatArray,
    generated: FloatArray,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
    real_groups: IntArray | None = None,
    generated_groups: IntArray | None = None,
) -> float:
    """Return the one-sided p-value of a permutation test of the difference of means.

    `real`, `generated`: scores, shapes (n_real,) and (n_generated,), at least one each.

    ``(count + 1) / (n_resamples + 1)``, small if real scores are higher. Exact if the scores come from a function that
    saw none of these texts.
    """
    if len(real) == 0 or len(generated) == 0:
        raise EmptyCorpusError(
            f"a permutation test needs at least one score per side, got {len(real)} and {len(generated)}"
        )
    scores = np.concatenate([real, generated]).astype(np.float64)
    observed = np.mean(real) - np.mean(generated)
    margin = 1e-12 * (1 + abs(observed))  # so that rounding does not break ties
    if real_groups is None and generated_groups is None:
        differences = _permute_texts(scores, len(real), rng, n_resamples)
    else:
        groups = joint_groups(real_groups, generated_groups, len(real), len(generated))
        differences = _permute_groups(scores, groups, len(real), rng, n_resamples)
    return float((np.count_nonzero(differences >= observed - margin) + 1) / (n_resamples + 1))


def _permute_texts(scores: FloatArray, n_real: int, rng: np.random.Generator, n_resamples: int) -> FloatArray:
    """Return the differences of means under `n_resamples` random permutations, shape (n_resamples,)."""
    n_generated = len(scores) - n_real
    smaller = min(n_real, n_generated)
    block = max(1, _SCORES_AT_ONCE // len(scores))
    sums = np.empty(n_resamples)
    for start in range(0, n_resamples, block):
        stop = min(start + block, n_resamples)
        permuted = rng.permuted(np.tile(scores, (stop - start, 1)), axis=1)
        sums[start:stop] = permuted[:, :smaller].sum(axis=1)
    rest: FloatArray = scores.sum() - sums
    of_real, of_generated = (sums, rest) if smaller == n_real else (rest, sums)
    differences: FloatArray = of_real / n_real - of_generated / n_generated
    return differences


def joint_groups(real: IntArray | None, generated: IntArray | None, n_real: int, n_generated: int) -> IntArray:
    """Return group numbers from 0 of all texts; on a side without groups each text is a group of its own."""
    used = max((int(groups.max()) for groups in (real, generated) if groups is not None), default=-1) + 1
    parts = [
        np.arange(first, first + n, dtype=np.int64) if groups is None else groups
        for groups, first, n in ((real, used, n_real), (generated, used + n_real, n_generated))
    ]
    return np.unique(np.concatenate(parts), return_inverse=True)[1].astype(np.int64)


def _permute_groups(
    scores: FloatArray, groups: IntArray, n_real: int, rng: np.random.Generator, n_resamples: int
) -> FloatArray:
    """Return the differences of means under `n_resamples` random permutations by group, shape (n_resamples,).

    IntArray of one side are exchanged whole, so the number of texts labelled real varies with their sizes.
    """
    is_real = np.arange(len(scores)) < n_real
    n_groups = int(groups.max()) + 1
    reals = np.bincount(groups, weights=is_real, minlength=n_groups)
    sizes = np.bincount(groups, minlength=n_groups)
    mixed = (reals > 0) & (reals < sizes)
    pure = np.flatnonzero(~mixed)
    pure_sums = np.bincount(groups, weights=scores, minlength=n_groups)[pure]
    pure_is_real = reals[pure] > 0
    inside = np.flatnonzero(mixed[groups])
    inside = inside[np.argsort(groups[inside], kind="stable")]  # real texts first within each group
    differences = np.empty(n_resamples)
    for resample in range(n_resamples):
        chosen = rng.permutation(pure_is_real)
        sum_real, count_real = pure_sums[chosen].sum(), sizes[pure][chosen].sum()
        if len(inside):
            order = np.argsort(groups[inside] + rng.random(len(inside)))  # shuffles inside each group
            labels = is_real[inside]
            sum_real += scores[inside[order]][labels].sum()
            count_real += labels.sum()
        rest = len(scores) - count_real
        differences[resample] = sum_real / count_real - (scores.sum() - sum_real) / rest
    return differences


@dataclass(frozen=True)
class Blocks:
    """Blocks of texts, numbered from 0; those of one stratum are consecutive."""

    # Block of each text, shapes (n_real,) and (n_generated,)
    real: IntArray
    generated: IntArray
    # Stratum of each block, shape (n_blocks,), in increasing order: labels are exchanged inside a stratum
    strata: IntArray
    is_real: Labels  # Label of each block, shape (n_blocks,)


def exchange_blocks(
    n_real: int,
    n_generated: int,
    *,
    real_rng: np.random.Generator,
    generated_rng: np.random.Generator,
    real_groups: IntArray | None = None,
    generated_groups: IntArray | None = None,
) -> Blocks:
    if min(n_real, n_generated) < 1:
        raise EmptyCorpusError(f"a permutation test needs at least one text per side, got {n_real} and {n_generated}")
    n = n_real + n_generated
    is_real = np.arange(n) < n_real
    if real_groups is None and generated_groups is None:
        groups = np.zeros(n, dtype=np.int64)
    else:
        groups = joint_groups(real_groups, generated_groups, n_real, n_generated)
    counts = np.stack([np.bincount(groups[side], minlength=int(groups.max()) + 1) for side in (is_real, ~is_real)])
    shared = counts.min(axis=0) > 0
    rngs = (real_rng, generated_rng)
    keys = np.full((n, 2), -1, dtype=np.int64)  # stratum, and block in it; -1 if never exchanged
    inside = shared[groups]
    n_strata = _exchange_inside(keys, groups, counts, is_real, inside, rngs) if inside.any() else 0
    rows_by_side = [np.flatnonzero(~inside & side) for side in (is_real, ~is_real)]
    if min(map(len, rows_by_side)) > 0:
        for label, (rows, rng) in enumerate(zip(rows_by_side, rngs, strict=True)):
            share = round(2 * BLOCKS * len(rows) / sum(map(len, rows_by_side)))
            block_numbers = assign_groups(len(rows), rng, n_groups=max(share, _MIN_BLOCKS), units=groups[rows])
            keys[rows] = np.stack(
                [np.full(len(rows), n_strata), block_numbers + label * (block_numbers.max() + n)], axis=1
            )
    left = keys[:, 0] < 0
    keys[left] = np.stack([int(keys[:, 0].max()) + 1 + is_real[left], np.zeros(np.count_nonzero(left))], axis=1)
    blocks, members = np.unique(keys, axis=0, return_inverse=True)
    members = members.reshape(-1).astype(np.int64)
    labels = np.zeros(len(blocks), dtype=np.bool_)
    labels[members[:n_real]] = True
    return Blocks(members[:n_real], members[n_real:], blocks[:, 0].astype(np.int64), labels)


def permute_labels(blocks: Blocks, rng: np.random.Generator, n_resamples: int) -> Labels:
    """Return `n_resamples` random permutations of the block labels inside strata, shape (n_resamples, n_blocks)."""
    labels = np.tile(blocks.is_real, (n_resamples, 1))
    for stratum in np.split(labels, np.flatnonzero(np.diff(blocks.strata)) + 1, axis=1):
        if stratum.shape[1] > 1:
            rng.permuted(stratum, axis=1, out=stratum)
    return labels


def _exchange_inside(
    keys: IntArray,
    groups: IntArray,
    counts: IntArray,
    is_real: Labels,
    inside: Labels,
    rngs: tuple[np.random.Generator, np.random.Generator],
) -> int:
    """Set the keys of texts in groups with both sides; return the number of strata.

    The texts of a group are assigned to slots of equal size, some real and some generated. Groups with equal numbers of
    both kinds of slots are bundled; a block is one slot of all groups in a bundle.
    """
    shared = np.flatnonzero(counts.min(axis=0) > 0)
    sizes = np.ones(counts.shape[1], dtype=np.int64)
    sizes[shared] = np.maximum(counts[:, shared].min(axis=0) // max(BLOCKS // len(shared), _MIN_SLOTS), 1)
    slots = np.minimum(counts // sizes, max(MAX_BLOCKS // len(shared), 10))  # (2, groups)
    patterns, pattern_of = np.unique(slots[:, shared], axis=1, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    stratum_of = np.full(counts.shape[1], -1, dtype=np.int64)
    n_slots = slots[:, shared].sum()
    n_strata = 0
    order = rngs[0].permutation(len(shared))
    for pattern in range(patterns.shape[1]):
        members = order[pattern_of[order] == pattern]
        n_bundles = int(min(max(2 * BLOCKS * len(members) // n_slots, 1), len(members)))
        stratum_of[shared[members]] = n_strata + np.arange(len(members)) * n_bundles // len(members)
        n_strata += n_bundles
    for label, (side, rng) in enumerate(zip((is_real, ~is_real), rngs, strict=True)):
        rows = np.flatnonzero(inside & side)
        rows = rows[rng.permutation(len(rows))]
        rows = rows[np.argsort(groups[rows], kind="stable")]
        own = groups[rows]
        first = np.concatenate(([0], np.flatnonzero(np.diff(own)) + 1))
        ranks = np.arange(len(rows)) - np.repeat(first, np.diff(np.append(first, len(rows))))
        slot = ranks // sizes[own]
        used = slot < slots[label, own]
        keys[rows[used], 0] = stratum_of[own[used]]
        keys[rows[used], 1] = slot[used] + label * slots[0, own[used]]
    return n_strata
