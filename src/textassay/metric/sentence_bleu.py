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

from textassay.corpus import Corpus
from textassay.execution import parallel_map
from textassay.ngram import Matches

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
    closest: IntArray  # Closest reference length of each sentence, shape (N,)


def score_sentences(
    corpus: Corpus, matches: Matches, reference_lengths: IntArray, groups: IntArray, *, leave_one_out: bool = False
) -> SentenceScores:
    """Return the BLEU of every sentence from its n-gram matches.

    `reference_lengths`, `groups`: tokens and jackknife group of each reference, shapes (n_references,).
    """
    lengths, members = np.unique(corpus.lengths, return_inverse=True)
    closest = closest_lengths(lengths, reference_lengths, groups, leave_one_out=leave_one_out)
    own_groups = groups if leave_one_out else np.full(len(corpus), -1)
    log_numbers = np.log(np.maximum(np.arange(int(lengths[-1]) + 2), _EPSILON))

    def score_block(start: int) -> tuple[FloatArray, FloatArray]:
        block = slice(start, start + _BLOCK)
        offsets = corpus.offsets[start : start + _BLOCK + 1]
        result: tuple[FloatArray, FloatArray] = _score_block(
            offsets, matches.counts[block], matches.losses, closest, members[block], own_groups[block], log_numbers
        )
        return result

    blocks = parallel_map(score_block, range(0, len(corpus), _BLOCK))
    values = np.concatenate([values for values, _ in blocks])
    return SentenceScores(values, np.sum([changes for _, changes in blocks], axis=0), closest[-1, members])


def closest_lengths(
    lengths: IntArray, reference_lengths: IntArray, groups: IntArray, *, leave_one_out: bool = False
) -> IntArray:
    """Return the reference length closest to each of `lengths`; of two equally close, the shorter.

    `lengths`: distinct, ascending, shape (n_lengths,); `reference_lengths`, `groups`: tokens and jackknife group of
    each reference, shapes (n_references,).
    """
    distinct, places = np.unique(reference_lengths, return_inverse=True)
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


def length_details(corpus: Corpus, closest: IntArray, order: int) -> dict[str, Any]:
    """Return what the lengths did to BLEU: see the details of `bleu`."""
    return {
        "brevity_share": float((corpus.lengths < closest).mean()),
        "mean_length": float(corpus.lengths.mean()),
        "mean_closest_length": float(closest.mean()),
        "short_share": float((corpus.lengths < order).mean()),
    }


@njit(cache=True, nogil=True)
def _score_block(  # type: ignore[no-untyped-def]
    offsets, counts, losses, closest, members, own_groups, log_numbers
):
    """Return the scores of sentences, shape (n, max_order), and what their sum gains without each group."""
    n_sentences, max_order = counts.shape
    n_groups = len(closest) - 1
    length_matters = np.zeros(closest.shape[1], dtype=np.bool_)
    for group in range(n_groups):
        length_matters |= closest[group] != closest[n_groups]
    values = np.zeros((n_sentences, max_order))
    changes = np.zeros((n_groups, max_order))
    lost = np.zeros((n_groups, max_order), dtype=np.int32)
    touched = np.empty(n_groups, dtype=np.int64)
    is_touched = np.zeros(n_groups, dtype=np.bool_)
    numerators = np.empty(max_order, dtype=np.int32)
    changed = np.empty(max_order)
    for sentence in range(n_sentences):
        length = offsets[sentence + 1] - offsets[sentence]
        member = members[sentence]
        _score(counts[sentence], length, closest[n_groups, member], log_numbers, values[sentence])
        n_touched = 0
        for order in range(max_order):
            for position in range(offsets[sentence], offsets[sentence + 1]):
                loss = losses[order, position]
                if loss > 0:
                    group = loss & 127
                    lost[group, order] += loss >> 7
                    if not is_touched[group]:
                        is_touched[group] = True
                        touched[n_touched] = group
                        n_touched += 1
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
                numerators[order] = counts[sentence, order] - lost[group, order]
                lost[group, order] = 0
            _score(numerators, length, closest[group, member], log_numbers, changed)
            for order in range(max_order):
                changes[group, order] += changed[order] - values[sentence, order]
            is_touched[group] = False
    return values, changes


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
