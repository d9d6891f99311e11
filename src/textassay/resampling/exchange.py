"""Permutation tests by blocks, for statistics that are sums over pairs of texts.

A kernel summed over pairs of texts costs n^2 steps per permutation. Texts are therefore assigned to blocks once, at
random, and blocks are permuted, which needs only the sums over pairs of blocks. Exchanging blocks of equal size is a
subgroup of exchanging texts, so the p-value stays exact, and a few hundred blocks lose almost no power.

Source: Hemerik and Goeman, "Exact testing with random permutations", TEST 27, 2018, on subgroups.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.errors import EmptyCorpusError
from textassay.resampling.jackknife import assign_groups
from textassay.resampling.permutation import joint_groups

IntArray = npt.NDArray[np.int64]
Labels = npt.NDArray[np.bool_]

BLOCKS = 200  # on the side with fewer texts
MAX_BLOCKS = 2000  # on the other side; the rest of it keeps its label
_MIN_BLOCKS = 20  # on a side whose groups are exchanged whole
_MIN_SLOTS = 4  # of a group with texts on both sides, on the side with fewer of them


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
    """Return the blocks of two samples."""
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
