"""BLEU: how much of each generated sentence stands in the real text, averaged over the generated sentences.

Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002; as a score of
generators (every real sentence is a reference of every generated one): Zhu et al., "Texygen", SIGIR 2018.
Departs from the first: sentence scores are averaged instead of counts, and smoothed by method 1 of Chen and Cherry,
"A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", WMT 2014, with epsilon 0.1 as in NLTK.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution import parallel_map
from textassay.metric.base import check_corpora, check_level, check_range, make_signature, measure
from textassay.ngram.matches import Matches, match_references
from textassay.resampling.jackknife import assign_groups, cluster_terms, jackknife_terms, terms_interval
from textassay.seeding import stream

__all__ = ["MAX_ORDER", "Bleu", "SentenceScores", "bleu", "closest_lengths", "length_details", "score_sentences"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_ORDER = 5
_EPSILON = 0.1  # stands for a precision's zero numerator
_BLOCK = 4096  # sentences scored at a time


def bleu(generated: Corpus, real: Corpus, *, order: int = 5, level: float = 0.95, seed: int = 0) -> Estimate:
    """Return the mean BLEU of generated sentences, each against all real sentences.

    Parameters
    ----------
    generated
        The hypotheses. One shorter than `order` has smoothed precisions; an empty one, or one without a token of the
        real text, scores 0.
    real
        The references.
    order
        Longest n-grams, in tokens, from 1 to 5; all orders up to it weigh the same.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which references form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in [0, 1], higher is better: 1 where every generated sentence of at least `order` tokens also stands
        in the real text. It rises with the number of references. Details: `brevity_share`, the share of sentences
        shorter than the closest reference; `mean_length` and `mean_closest_length`, in tokens; `short_share`, the share
        of sentences with fewer than `order` tokens.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    ``BP exp(mean over n of log p_n)`` with p_n the clipped matches of order n over ``max(1, length - n + 1)``, a zero
    numerator replaced by 0.1, and BP = ``min(1, exp(1 - r / length))`` with r the reference length closest to the
    sentence's (of two, the shorter). The interval joins the spread of the sentences' scores and that of the references,
    the latter by leaving out each of 50 groups of them; it errs on the wide side (see `self_bleu`).
    """
    return measure(Bleu(order=order, level=level), generated, real, seed=seed)


@dataclass(frozen=True)
class Bleu:
    """Mean sentence BLEU of one order as a `Metric`; all orders share what is computed."""

    order: int = MAX_ORDER
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("order", self.order, 1, MAX_ORDER)
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric with its order."""
        return f"bleu(order={self.order})"

    @property
    def better(self) -> Better:
        """More overlap with real text is better."""
        return "higher"

    @property
    def shares(self) -> Hashable:
        """All orders share."""
        return ("bleu",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the references as they are."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the scores of all orders, with and without each group of references."""
        check_corpora(generated, state, metric="bleu")
        groups = assign_groups(len(state), stream(seed, "groups", "real"), units=state.groups)
        matches = match_references(generated, state, max_order=MAX_ORDER, groups=groups)
        scores = score_sentences(generated, matches, state.lengths, groups)
        return _Statistics(
            generated=generated,
            real=state,
            seed=seed,
            scores=scores,
            without=scores.values.mean(axis=0) + scores.changes / len(generated),
            group_sizes=np.bincount(groups),
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the mean score of one order."""
        generated, real = statistics.generated, statistics.real
        scores = statistics.scores.values[:, self.order - 1].copy()
        value = math.fsum(scores) / len(scores)
        generated_terms = cluster_terms(scores, generated.groups)
        real_terms = jackknife_terms(value, statistics.without[:, self.order - 1], statistics.group_sizes)
        n_groups = len(statistics.group_sizes)
        interval = terms_interval(
            value,
            [generated_terms, real_terms],
            level=self.level,
            method=f"t: variance over generated sentences, jackknife over {n_groups} groups of references",
            low=0.0,
            high=1.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), "n_references": len(real)},
            signature=make_signature(
                self.name,
                generated,
                real,
                seed=statistics.seed,
                smooth="method1",
                refs="all",
                groups=n_groups,
            ),
            details=length_details(generated, statistics.scores.closest, self.order),
            evidence=None if interval is None else Evidence(real_terms, generated_terms, generated_scores=scores),
        )


@dataclass(frozen=True)
class _Statistics:
    """Scores of all orders; `without` is the mean score without each group of references, shape (G, MAX_ORDER)."""

    generated: Corpus
    real: Corpus
    seed: int
    scores: "SentenceScores"
    without: FloatArray
    group_sizes: IntArray


@dataclass(frozen=True)
class SentenceScores:
    """BLEU of each sentence for orders 1 to MAX_ORDER, and what it depends on.

    Attributes
    ----------
    values
        Shape (N, MAX_ORDER).
    changes
        What the sum of scores gains without each group of references, shape (G, MAX_ORDER). Where the references are
        the other sentences of the same corpus, a group's own sentences are no part of its row.
    closest
        Closest reference length of each sentence, shape (N,).
    """

    values: FloatArray
    changes: FloatArray
    closest: IntArray


def score_sentences(
    corpus: Corpus, matches: Matches, reference_lengths: IntArray, groups: IntArray, *, leave_one_out: bool = False
) -> SentenceScores:
    """Return the BLEU of every sentence from its n-gram matches.

    Parameters
    ----------
    corpus, matches
        N sentences and their matches up to `MAX_ORDER`.
    reference_lengths, groups
        Tokens and jackknife group of each reference, shapes (n_references,).
    leave_one_out
        Whether the references are the other sentences of `corpus`.
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

    Parameters
    ----------
    lengths
        Distinct, ascending, shape (n_lengths,).
    reference_lengths, groups
        Tokens and jackknife group of each reference, shapes (n_references,).
    leave_one_out
        Whether a sentence of each length is itself one of the references, to be left out once.

    Returns
    -------
    IntArray
        Shape (G + 1, n_lengths): row g without group g, the last row with all references; 0 where none is left.
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
        found = np.where(nearer_below, padded[below], padded[above])
        row[:] = np.where(np.abs(found) == far, 0, found)
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
