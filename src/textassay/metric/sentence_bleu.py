"""BLEU of single sentences from their n-gram matches, with and without each group of references.

Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002.
Departs from it: a sentence is scored by itself, smoothed by method 1 of Chen and Cherry, "A Systematic Comparison of
Smoothing Techniques for Sentence-Level BLEU", WMT 2014, with epsilon 0.1 as in NLTK.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.matches import Matches

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_ORDER = 5
_EPSILON = 0.1  # stands for a precision's zero numerator
_BLOCK = 4096  # sentences scored at a time


@dataclass(frozen=True)
class SentenceScores:
    """BLEU of each sentence for orders 1 to MAX_ORDER, and what it depends on."""

    values: FloatArray  # Shape (N, MAX_ORDER)
    # What the sum of scores gains without each group of references, shape (G, MAX_ORDER). Where the references are the
    # other sentences of the same corpus, a group's own sentences are no part of its row.
    changes: FloatArray
    closest: npt.NDArray[np.int32]  # Closest reference length of each sentence, shape (N,)


def score_sentences(
    corpus: Corpus, matches: Matches, reference_lengths: IntArray, groups: IntArray, *, leave_one_out: bool = False
) -> SentenceScores:
    """Return the BLEU of every sentence from its n-gram matches.

    `reference_lengths`, `groups`: tokens and jackknife group of each reference, shapes (n_references,).
    """
    lengths, members = _distinct(corpus.lengths)
    closest = closest_lengths(lengths, reference_lengths, groups, leave_one_out=leave_one_out)
    log_numbers = np.log(np.maximum(np.arange(int(lengths[-1]) + 2), _EPSILON))
    values = np.empty((len(corpus), matches.marks.shape[1]))
    no_groups = np.full(_BLOCK, -1)

    def score_block(start: int) -> FloatArray:
        offsets = corpus.offsets[start : start + _BLOCK + 1]
        block = slice(start, start + len(offsets) - 1)
        own_groups = groups[block] if leave_one_out else no_groups
        changes: FloatArray = _score_block(
            offsets, matches.marks, closest, members[block], own_groups, log_numbers, values[block]
        )
        return changes

    changes = np.sum(parallel_map(score_block, range(0, len(corpus), _BLOCK)), axis=0)
    return SentenceScores(values, changes, closest[-1].astype(np.int32)[members])


def _distinct(lengths: IntArray) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return the distinct lengths, ascending, and the place of each length among them."""
    is_there = np.bincount(lengths) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there, dtype=np.int32) - 1)[lengths]


def closest_lengths(
    lengths: IntArray, reference_lengths: IntArray, groups: IntArray, *, leave_one_out: bool = False
) -> IntArray:
    """Return the reference length closest to each of `lengths`; of two equally close, the shorter.

    `lengths`: distinct, ascending, shape (n_lengths,); `reference_lengths`, `groups`: tokens and jackknife group of
    each reference, shapes (n_references,).
    """
    distinct, places = _distinct(reference_lengths)
    n_groups = int(groups.max()) + 1
    in_group = np.bincount(groups * len(distinct) + places, minlength=n_groups * len(distinct))
    total = np.bincount(places)
    left = np.vstack((total - in_group.reshape(n_groups, len(distinct)), total))
    closest = np.zeros((n_groups + 1, len(lengths)), dtype=np.int64)
    for row, counts in zip(closest, left, strict=True):
        present, counts = distinct[counts > 0], counts[counts > 0]
        # Two sentinels too far to be chosen stand at the ends; `above` skips a length that is only the sentence's own.
        far = np.iinfo(np.int64).max // 4
        padded = np.concatenate(([-far], present, [far]))
        above = np.searchsorted(present, lengths) + 1
        below = above - 1
        if leave_one_out:
            above = above + ((padded[above] == lengths) & (np.append(counts, 0)[above - 1] == 1))
        nearer_below = lengths - padded[below] <= padded[above] - lengths
        nearest = np.where(nearer_below, padded[below], padded[above])
        row[:] = np.where(np.abs(nearest) == far, 0, nearest)
    return closest


def length_details(corpus: Corpus, closest: npt.NDArray[np.int32], order: int) -> dict[str, Any]:
    """Return what the lengths did to BLEU: see the details of `bleu`."""
    return {
        "brevity_share": float((corpus.lengths < closest).mean()),
        "mean_length": float(corpus.lengths.mean()),
        "mean_closest_length": float(closest.mean()),
        "short_share": float((corpus.lengths < order).mean()),
    }


@njit(cache=True, nogil=True)
def _score_block(  # type: ignore[no-untyped-def]
    offsets, marks, closest, members, own_groups, log_numbers, values
):
    """Write the scores of sentences, shape (n, max_order); return what their sum gains without each group."""
    n_sentences, max_order = values.shape
    n_groups = len(closest) - 1
    length_matters = np.zeros(closest.shape[1], dtype=np.bool_)
    for group in range(n_groups):
        length_matters |= closest[group] != closest[n_groups]
    changes = np.zeros((n_groups, max_order))
    counts = np.empty(max_order, dtype=np.int32)
    lost = np.zeros((n_groups, max_order), dtype=np.int32)
    touched = np.empty(n_groups, dtype=np.int64)
    is_touched = np.zeros(n_groups, dtype=np.bool_)
    numerators = np.empty(max_order, dtype=np.int32)
    changed = np.empty(max_order)
    for sentence in range(n_sentences):
        length = offsets[sentence + 1] - offsets[sentence]
        member = members[sentence]
        n_touched = 0
        counts[:] = 0
        for position in range(offsets[sentence], offsets[sentence + 1]):
            for order in range(max_order):
                mark = marks[position, order]
                counts[order] += mark > 0
                if mark >= 2:
                    group = mark - 2
                    lost[group, order] += 1
                    if not is_touched[group]:
                        is_touched[group] = True
                        touched[n_touched] = group
                        n_touched += 1
        _score(counts, length, closest[n_groups, member], log_numbers, values[sentence])
        if length_matters[member]:
            for group in range(n_groups):
                if (
                    closest[group, member] != closest[n_groups, member]
                    and group != own_groups[sentence]
                    and not is_touched[group]
                ):
                    is_touched[group] = True
                    touched[n_touched] = group
                    n_touched += 1
        for number in range(n_touched):
            group = touched[number]
            for order in range(max_order):
                numerators[order] = counts[order] - lost[group, order]
                lost[group, order] = 0
            _score(numerators, length, closest[group, member], log_numbers, changed)
            for order in range(max_order):
                changes[group, order] += changed[order] - values[sentence, order]
            is_touched[group] = False
    return changes


@njit(cache=True, nogil=True)
def _score(numerators, length, closest_length, log_numbers, scores):  # type: ignore[no-untyped-def]
    """Write the BLEU of every order into `scores`; ``log_numbers[k]`` is log k, and log epsilon for k = 0."""
    if numerators[0] == 0:
        scores[:] = 0.0
        return
    log_brevity = min(0.0, 1.0 - closest_length / length)
    log_precisions = 0.0
    for order in range(len(scores)):
        log_precisions += log_numbers[numerators[order]] - log_numbers[max(1, length - order)]
        scores[order] = math.exp(log_brevity + log_precisions / (order + 1))
