"""Interpolated Kneser-Ney n-gram models of any order, by exact counts.

Source: Chen, Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling", Harvard TR-10-98, 1998
(interpolated and modified Kneser-Ney; discounts from counts of counts).
Departs from it: a sentence starts with one ``<sos>``, before which nothing is looked at, and n-grams that start with it
keep their raw counts at every order, since nothing can precede them (as SRILM and KenLM have it); the unigrams are
interpolated with the uniform distribution over everything that can be predicted, so no sentence has probability 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.vocabulary import EOS, PAD, SOS
from textassay.ngram.backoff import BackoffModel

__all__ = ["DiscountKind", "Discounts", "estimate_discounts", "fit_kneser_ney"]

DiscountKind = Literal["modified", "single"]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

FALLBACK_DISCOUNT = 0.5  # ours: where a level has no n-gram seen once or none seen twice, nothing can be estimated


@dataclass(frozen=True)
class Discounts:
    """What is taken off the counts of one level.

    Attributes
    ----------
    once, twice, more
        Taken off a count of 1, of 2, and of 3 or more; each above 0 and below the count.
    kind
        "modified" (three discounts), "single" (one for all counts) or "fixed" (too few n-grams to estimate one).
    """

    once: float
    twice: float
    more: float
    kind: Literal["modified", "single", "fixed"]


@dataclass(frozen=True)
class _Level:
    """All n-grams of one order, sorted by context and last token."""

    parents: IntArray  # (n,) place of the context among the n-grams of the order below
    tokens: IntArray  # (n,)
    suffixes: IntArray  # (n,) place of the n-gram without its first token
    counts: IntArray  # (n,)
    at_start: npt.NDArray[np.bool_]  # (n,) whether it starts with <sos>


def estimate_discounts(counts: IntArray, kind: DiscountKind = "modified") -> Discounts:
    """Return the discounts for the (adjusted) `counts` of one level, shape (n,); zeros are ignored.

    Where a count of counts is missing or a discount leaves its range, "modified" falls back to "single", and "single"
    to a fixed 0.5.

    Notes
    -----
    With n_k the number of n-grams counted k times and Y = n1 / (n1 + 2 n2): a single discount is Y; the modified ones
    are D1 = 1 - 2 Y n2 / n1, D2 = 2 - 3 Y n3 / n2, D3 = 3 - 4 Y n4 / n3.
    """
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == times)) for times in (1, 2, 3, 4))
    if n1 == 0 or n2 == 0:
        return Discounts(FALLBACK_DISCOUNT, FALLBACK_DISCOUNT, FALLBACK_DISCOUNT, "fixed")
    single = n1 / (n1 + 2 * n2)
    if kind == "modified" and n3 > 0 and n4 > 0:
        once, twice, more = 1 - 2 * single * n2 / n1, 2 - 3 * single * n3 / n2, 3 - 4 * single * n4 / n3
        if twice > 0 and more > 0:
            return Discounts(once, twice, more, "modified")
    return Discounts(single, single, single, "single")


def fit_kneser_ney(
    tokens: TokenArray, offsets: IntArray, *, order: int, n_types: int, discounts: DiscountKind = "modified"
) -> tuple[BackoffModel, tuple[Discounts, ...]]:
    """Return the model of N sentences and the discounts of its levels, unigrams first.

    Parameters
    ----------
    tokens, offsets
        The sentences, shapes (T,) and (N + 1,), N at least 1; no ``<pad>``, ``<sos>`` or ``<eos>`` among the tokens.
    order
        Length of the longest n-gram, at least 1; 1 draws tokens and the end of the sentence independently.
    n_types
        Size of the vocabulary, specials included.
    discounts
        "modified" (three a level) or "single".

    Notes
    -----
    p(w | c) = max(a(c w) - D, 0) / a(c .) + gamma(c) p(w | c without its first token), with a the raw count for the
    full order and for n-grams that start with ``<sos>``, else the number of distinct tokens seen before the n-gram;
    gamma(c) is the discounted mass. In a context never seen the shorter one decides.
    """
    levels = _count(tokens, offsets, order=order, n_types=n_types)
    probs: list[FloatArray] = []
    backoffs: list[FloatArray] = []
    estimated: list[Discounts] = []
    for number, level in enumerate(levels):
        adjusted = level.counts
        if number + 1 < order:
            continuations = np.bincount(levels[number + 1].suffixes, minlength=len(adjusted))
            adjusted = np.where(level.at_start, adjusted, continuations)
        if number == 0:
            adjusted = np.where(np.arange(n_types) == SOS, 0, adjusted)
        discount = estimate_discounts(adjusted, discounts)
        off = np.array([0.0, discount.once, discount.twice, discount.more])[np.minimum(adjusted, 3)]
        n_contexts = 1 if number == 0 else len(levels[number - 1].tokens)
        totals = np.bincount(level.parents, weights=adjusted, minlength=n_contexts)
        removed = np.bincount(level.parents, weights=off, minlength=n_contexts)
        backoff = np.divide(removed, totals, out=np.ones(n_contexts), where=totals > 0)
        if number == 0:
            lower = np.full(n_types, 1 / (n_types - 2))
            lower[[PAD, SOS]] = 0.0
        else:
            lower = probs[-1][level.suffixes]
        probs.append((adjusted - off) / totals[level.parents] + backoff[level.parents] * lower)
        backoffs.append(backoff)
        estimated.append(discount)
    return _model(levels, probs, backoffs, order, n_types), tuple(estimated)


def _count(tokens: TokenArray, offsets: IntArray, *, order: int, n_types: int) -> list[_Level]:
    """Return the n-grams of orders 1 to `order`; each ends in a token or ``<eos>`` and may start with ``<sos>``."""
    n_sentences = len(offsets) - 1
    starts = offsets[:-1] + 2 * np.arange(n_sentences)
    text = np.empty(len(tokens) + 2 * n_sentences, dtype=np.int64)
    inside = np.ones(len(text), dtype=np.bool_)
    inside[starts] = inside[offsets[1:] + 2 * np.arange(n_sentences) + 1] = False
    text[inside] = tokens
    text[starts] = SOS
    text[offsets[1:] + 2 * np.arange(n_sentences) + 1] = EOS
    depth = np.arange(len(text)) - np.repeat(starts, np.diff(offsets) + 2)  # tokens before it in the sentence

    counts = np.bincount(text, minlength=n_types)
    types = np.arange(n_types)
    levels = [_Level(np.zeros(n_types, dtype=np.int64), types, np.zeros(n_types, dtype=np.int64), counts, types == SOS)]
    places, grams = np.arange(len(text)), text  # where the n-grams of the last level end, and which they are
    at = text.copy()  # at[i]: the n-gram of the last level that ends at i
    for length in range(2, order + 1):
        keep = depth[places] >= length - 1
        places, suffixes = places[keep], grams[keep]
        keys = at[places - 1] * n_types + text[places]
        ranking = np.argsort(keys)
        ranked = keys[ranking]
        fresh = np.empty(len(ranked), dtype=np.bool_)
        fresh[:1] = True
        np.not_equal(ranked[1:], ranked[:-1], out=fresh[1:])
        found = np.flatnonzero(fresh)
        grams = np.empty(len(keys), dtype=np.int64)
        grams[ranking] = np.cumsum(fresh) - 1
        at[places] = grams
        parents, last = np.divmod(ranked[found], n_types)
        levels.append(
            _Level(
                parents,
                last,
                suffixes[ranking[found]],
                np.diff(np.append(found, len(ranked))),
                levels[-1].at_start[parents],
            )
        )
    return levels


def _model(
    levels: Sequence[_Level], probs: Sequence[FloatArray], backoffs: Sequence[FloatArray], order: int, n_types: int
) -> BackoffModel:
    """Return the levels as one trie: node 0 is the empty context, then the n-grams of each order."""
    sizes = [1] + [len(level.tokens) for level in levels]
    bases = np.cumsum([0, *sizes])  # bases[m]: number of the first n-gram of order m
    children = [np.bincount(level.parents, minlength=size) for level, size in zip(levels, sizes, strict=False)]
    suffixes = [np.zeros(1, dtype=np.int64), levels[0].suffixes]
    suffixes += [level.suffixes + bases[number + 1] for number, level in enumerate(levels[1:])]
    return BackoffModel(
        order=order,
        n_types=n_types,
        first=np.concatenate(([1], 1 + np.cumsum(np.concatenate(children)))),
        tokens=np.concatenate([[0], *(level.tokens for level in levels)]).astype(np.int32),
        suffixes=np.concatenate(suffixes).astype(np.int32),
        probs=np.concatenate([[0.0], *probs]),
        backoffs=np.concatenate(backoffs),
    )
