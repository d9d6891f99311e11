"""Splits of a corpus into disjoint parts that cover it, as arrays of indices.

Shares such as 0.9 are exact decimal numbers here, so that counts are exact: 70 % of 10 is 7.
"""

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError, TooFewSentencesError

IntArray = npt.NDArray[np.int64]

DISCRIMINATOR_SHARES = (0.7, 0.1, 0.2)  # Garbacea et al., "Judge the Judges", EMNLP 2019, table 2


def split_last(n_sentences: int, n_last: int) -> tuple[IntArray, IntArray]:
    """Return the indices of all but the last `n_last` texts, and of the last (for validation, say)."""
    if n_last < 1:
        raise OptionError(f"n_last must be at least 1, got {n_last}")
    if n_last >= n_sentences:
        raise TooFewSentencesError(f"cannot hold out the last {n_last:,} of {n_sentences:,} texts: none would be left")
    return np.arange(n_sentences - n_last), np.arange(n_sentences - n_last, n_sentences)


def nested_fractions(n_sentences: int, fractions: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 1.0)) -> list[IntArray]:
    """Return, for each fraction in (0, 1], the indices of the first ceil(fraction * n_sentences) texts."""
    exact = [_exact(fraction) for fraction in fractions]
    if not all(0 < fraction <= 1 for fraction in exact):
        raise OptionError(f"fractions must be above 0 and at most 1, got {tuple(fractions)}")
    if n_sentences < 1:
        raise TooFewSentencesError("there is no text to take a fraction of")
    return [np.arange(math.ceil(fraction * n_sentences)) for fraction in exact]


def contiguous_bounds(n_items: int, shares: Sequence[float] = (0.9, 0.05, 0.05), *, items: str = "texts") -> list[int]:
    """Return where consecutive parts begin, and where the last ends."""
    exact = [_exact(share) for share in shares]
    if min(exact, default=0) <= 0 or sum(exact) != 1:
        raise OptionError(f"shares must be above 0 and sum to 1, got {tuple(shares)}")
    bounds = [0, *(math.floor(share * n_items) for share in accumulate(exact))]
    if any(start == stop for start, stop in pairwise(bounds)):
        raise TooFewSentencesError(f"{n_items} {items} are too few for parts of {_listed(shares)}")
    return bounds


def contiguous_split(n_sentences: int, shares: Sequence[float] = (0.9, 0.05, 0.05)) -> list[IntArray]:
    """Return the indices of consecutive parts, in order."""
    bounds = contiguous_bounds(n_sentences, shares)
    return [np.arange(start, stop) for start, stop in pairwise(bounds)]


def random_split(
    n_sentences: int, rng: np.random.Generator, shares: Sequence[float] = (0.8, 0.1, 0.1)
) -> list[IntArray]:
    """Return the indices of parts drawn at random, each in increasing order, with the sizes of `contiguous_split`."""
    order = rng.permutation(n_sentences)
    return [np.sort(order[part]) for part in contiguous_split(n_sentences, shares)]


def fold_numbers(n_sentences: int, n_folds: int, rng: np.random.Generator, groups: IntArray | None = None) -> IntArray:
    """Return a random fold, 0 to n_folds - 1, for each text, shape (n_sentences,).

    `groups`: group number of each text, shape (n_sentences,); a group is never split. Fold sizes differ by at most one,
    with groups by at most the largest group.
    """
    if n_folds < 2:
        raise OptionError(f"folds must be at least 2, got {n_folds}")
    if n_sentences < n_folds:
        raise TooFewSentencesError(f"{n_sentences:,} texts are too few for {n_folds} folds")
    if groups is None:
        folds = np.empty(n_sentences, dtype=np.int64)
        folds[rng.permutation(n_sentences)] = np.arange(n_sentences) % n_folds
        return folds
    _, members, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < n_folds:
        raise TooFewSentencesError(f"{len(sizes)} groups are too few for {n_folds} folds")
    shuffled = rng.permutation(len(sizes))
    heap = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")].tolist():
        size, fold = heap[0]
        fold_of_group[group] = fold
        heapq.heapreplace(heap, (size + int(sizes[group]), fold))
    return fold_of_group[members.reshape(-1)]


def halves(n_sentences: int, rng: np.random.Generator, groups: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return the indices of two random halves, each in increasing order; groups as in `fold_numbers`.

    Without groups and with an odd number of texts, the first half has one more.
    """
    folds = fold_numbers(n_sentences, 2, rng, groups)
    return np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)


def halves_within(groups: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the indices of two random halves of each group, of as many texts: odd texts of groups fall evenly.

    `groups`: group number of each text, shape (n_sentences,). With an odd number of texts, the first half has one more.
    """
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    _, starts, members = np.unique(groups[order], return_index=True, return_inverse=True)
    ranks = np.arange(len(order)) - starts[members]
    shifts = rng.integers(0, 2, len(starts))
    is_odd = np.diff(starts, append=len(order)) % 2 == 1
    shifts[is_odd] = rng.permutation(np.count_nonzero(is_odd)) % 2
    second = (ranks + shifts[members]) % 2 == 1
    return np.sort(order[~second]), np.sort(order[second])


def _exact(share: float) -> Fraction:
    """Return `share` as the decimal number that it prints as."""
    if not math.isfinite(share):
        raise OptionError(f"a share must be finite, got {share}")
    return Fraction(str(float(share)))


def _listed(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:g}" for share in shares)
