"""Interpolated Kneser-Ney n-gram models of any order, with exact counts, also without each group of texts.

Source: Chen, Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling", Harvard TR-10-98, 1998
(interpolated and modified Kneser-Ney; discounts from counts of counts).
Departs from it: a text starts with one ``<sos>``, which has no context, and n-grams that start with it keep their raw
counts at every order, because nothing can precede them (as in SRILM and KenLM); unigrams are interpolated with the
uniform distribution over all predictable tokens, so no text has probability 0.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import EmptyCorpusError, TooFewSentencesError
from textassay.execution.threads import parallel_map
from textassay.ngram.backoff import BackoffModel, Trace, with_ends
from textassay.ngram.kernels_backoff import adjust, interpolate

DiscountKind = Literal["modified", "single"]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

FALLBACK_DISCOUNT = 0.5  # ours, for levels without n-grams seen once or without n-grams seen twice

MAX_ORDER = 5  # ten thousand sentences support no longer context


@dataclass(frozen=True)
class Discounts:
    """The absolute discounts of one level."""

    # For counts of 1, of 2, and of 3 or more; each above 0 and below the count
    once: float
    twice: float
    more: float
    # "modified" (three discounts), "single" (one for all counts) or "fixed" (too few n-grams to estimate one)
    kind: Literal["modified", "single", "fixed"]


@dataclass(frozen=True)
class _Level:
    """All n-grams of one order, sorted by context and last token."""

    parents: IntArray  # (n,) index of the context among the n-grams of the order below
    tokens: IntArray  # (n,)
    suffixes: IntArray  # (n,) index of the n-gram without its first token
    counts: IntArray  # (n,)
    at_start: npt.NDArray[np.bool_]  # (n,) whether it starts with <sos>
    grams: npt.NDArray[np.int32]  # (m,) n-gram of each occurrence, sorted by group
    bounds: IntArray  # (n_groups + 1,) bounds of the groups in `grams`; (1,) without groups


def estimate_discounts(counts: IntArray, kind: DiscountKind = "modified") -> Discounts:
    """Return the discounts for the (adjusted) `counts` of one level, shape (n,); zeros are ignored.

    If a count of counts is zero or a discount leaves its range, "modified" falls back to "single", and "single" to a
    fixed 0.5.

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


@dataclass(frozen=True)
class NgramCounts:
    """The n-grams of a corpus, counted once, for models of any order up to `order` without some groups of texts.

    All models of one order share the trie of the whole corpus, so that a text is traced only once (see
    `BackoffModel.trace`). An n-gram that occurs only in groups left out has a count of 0: its probability is that of
    the shorter contexts, as if it were not stored.
    """

    order: int  # Length of the longest n-gram
    n_types: int  # Size of the vocabulary, specials included
    n_groups: int  # Groups of texts; 0 without groups
    levels: "tuple[_Level, ...]"  # The n-grams of each order

    @cached_property
    def _tries(self) -> dict[int, BackoffModel]:
        return {}

    def fit(
        self, order: int | None = None, *, discounts: DiscountKind = "modified", without: Collection[int] = ()
    ) -> tuple[BackoffModel, tuple[Discounts, ...]]:
        """Return the model of all texts but the groups `without`, and the discounts of its levels, unigrams first."""
        order = self.order if order is None else order
        levels = self.levels[:order]
        counts = [_counts_without(level, without) for level in levels]
        probs: list[FloatArray] = []
        backoffs: list[FloatArray] = []
        estimated: list[Discounts] = []
        lower = np.full(self.n_types, 1 / (self.n_types - 2))
        lower[[PAD, SOS]] = 0.0
        for number, level in enumerate(levels):
            adjusted = counts[number]
            if number + 1 < order:
                at_start = level.at_start.view(np.uint8)
                adjusted = adjust(adjusted, at_start, levels[number + 1].suffixes, counts[number + 1])
            if number == 0:
                adjusted = np.where(np.arange(self.n_types) == SOS, 0, adjusted)
            discount = estimate_discounts(adjusted, discounts)
            discount_by_count = np.array([0.0, discount.once, discount.twice, discount.more])
            backoff = np.ones(1 if number == 0 else len(levels[number - 1].tokens))
            prob = np.empty(len(adjusted))
            suffixes = level.tokens if number == 0 else level.suffixes
            interpolate(level.parents, adjusted, discount_by_count, suffixes, lower, backoff, prob)
            probs.append(prob)
            backoffs.append(backoff)
            estimated.append(discount)
            lower = prob
        if order not in self._tries:
            self._tries[order] = _trie(levels, order, self.n_types)
        model = replace(self._tries[order], probs=np.concatenate([[0.0], *probs]), backoffs=np.concatenate(backoffs))
        return model, tuple(estimated)


def fit_kneser_ney(
    tokens: TokenArray, offsets: IntArray, *, order: int, n_types: int, discounts: DiscountKind = "modified"
) -> tuple[BackoffModel, tuple[Discounts, ...]]:
    """Return the model of N texts and the discounts of its levels, unigrams first.

    `tokens`, `offsets`: the texts, shapes (T,) and (N + 1,), N at least 1, without ``<pad>``, ``<sos>`` and ``<eos>``.

    p(w | c) = max(a(c w) - D, 0) / a(c .) + gamma(c) p(w | c without its first token), with a the raw count for the
    full order and for n-grams that start with ``<sos>``, else the number of distinct tokens seen before the n-gram;
    gamma(c) is the discounted mass. An unseen context backs off to the shorter one.
    """
    return count_ngrams(tokens, offsets, order=order, n_types=n_types).fit(discounts=discounts)


def count_ngrams(
    tokens: TokenArray, offsets: IntArray, *, order: int, n_types: int, groups: IntArray | None = None
) -> NgramCounts:
    """Return the n-grams of orders 1 to `order`; each ends in a token or ``<eos>`` and may start with ``<sos>``.

    `groups`: group of each text, shape (N,), consecutive numbers from 0.
    """
    n_sentences = len(offsets) - 1
    n_groups = 0 if groups is None else int(groups.max()) + 1
    starts = offsets[:-1] + 2 * np.arange(n_sentences)
    text = np.empty(len(tokens) + 2 * n_sentences, dtype=np.int64)
    inside = np.ones(len(text), dtype=np.bool_)
    inside[starts] = inside[offsets[1:] + 2 * np.arange(n_sentences) + 1] = False
    text[inside] = tokens
    text[starts] = SOS
    text[offsets[1:] + 2 * np.arange(n_sentences) + 1] = EOS
    depth = np.arange(len(text)) - np.repeat(starts, np.diff(offsets) + 2)  # position in the text
    owners = None if groups is None else np.repeat(groups, np.diff(offsets) + 2)

    def occurrences(places: IntArray, grams: IntArray) -> tuple[npt.NDArray[np.int32], IntArray]:
        if owners is None:
            return np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        own = owners[places]
        by_group = grams[np.argsort(own, kind="stable")].astype(np.int32)
        return by_group, np.concatenate(([0], np.cumsum(np.bincount(own, minlength=n_groups))))

    counts = np.bincount(text, minlength=n_types)
    types, zeros = np.arange(n_types), np.zeros(n_types, dtype=np.int64)
    places, grams = np.arange(len(text)), text  # end positions and ids of the n-grams of the last level
    levels = [_Level(zeros, types, zeros, counts, types == SOS, *occurrences(places, grams))]
    at = text.copy()  # at[i]: the n-gram of the last level that ends at i
    for length in range(2, order + 1):
        keep = depth[places] >= length - 1
        places, suffixes = places[keep], grams[keep]
        keys = at[places - 1] * n_types + text[places]
        ranking = np.argsort(keys)
        ranked = keys[ranking]
        is_new = np.empty(len(ranked), dtype=np.bool_)
        is_new[:1] = True
        np.not_equal(ranked[1:], ranked[:-1], out=is_new[1:])
        first_of_each = np.flatnonzero(is_new)
        grams = np.empty(len(keys), dtype=np.int64)
        grams[ranking] = np.cumsum(is_new) - 1
        at[places] = grams
        parents, last = np.divmod(ranked[first_of_each], n_types)
        levels.append(
            _Level(
                parents,
                last,
                suffixes[ranking[first_of_each]],
                np.diff(np.append(first_of_each, len(ranked))),
                levels[-1].at_start[parents],
                *occurrences(places, grams),
            )
        )
    return NgramCounts(order, n_types, n_groups, tuple(levels))


def _counts_without(level: _Level, without: Collection[int]) -> IntArray:
    """Return the counts of one level's n-grams in all groups but those of `without`."""
    counts = level.counts
    for group in without:
        begin, end = level.bounds[group : group + 2]
        counts = counts - np.bincount(level.grams[begin:end], minlength=len(counts))
    return counts


def _trie(levels: Sequence[_Level], order: int, n_types: int) -> BackoffModel:
    """Return the levels as one trie without probabilities: node 0 is the empty context, then the n-grams by order."""
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
        probs=np.empty(0),
        backoffs=np.empty(0),
    )


@dataclass(frozen=True)
class OrderChoice:
    """The `order` chosen, and the cross-entropy of each order on the validation text, nats per token, ends counted."""

    order: int
    nll_per_token: Mapping[int, float]


def choose_order(counts: NgramCounts, valid: Corpus, *, without: Collection[int] = ()) -> OrderChoice:
    """Return the order, from 1 to that of `counts`, with the smallest cross-entropy; of equals the lowest."""
    if len(valid) == 0:
        raise EmptyCorpusError("the validation text, on which the order of an n-gram model is chosen, has no sentence")
    text, offsets = with_ends(valid.tokens, valid.offsets)
    nll_per_token = {}
    for order in range(1, counts.order + 1):
        model, _ = counts.fit(order, without=without)
        nll_per_token[order] = -float(model.traced_log_probs(model.trace(text, offsets)).mean())
    return OrderChoice(min(nll_per_token, key=lambda order: (nll_per_token[order], order)), nll_per_token)


@dataclass(frozen=True)
class LeaveOutModels:
    """Interpolated modified Kneser-Ney models of one corpus: of all of it, and without each group.

    Those without a group say two things: what a sentence costs under a model that never saw it (cross-fitting), and how
    much a score would change with another training text (delete-a-group jackknife). Text is counted once; a model
    without a group is a matter of subtraction, and a text is looked up in the trie once for all of them.
    """

    train: Corpus
    groups: IntArray  # group of each sentence, shape (N,), from 0, none left out
    counts: NgramCounts
    choice: OrderChoice  # the order of all models
    model: BackoffModel  # of the whole corpus
    discounts: tuple[Discounts, ...]  # of `model`

    @classmethod
    def fit(cls, train: Corpus, groups: IntArray, *, valid: Corpus | None = None) -> "LeaveOutModels":
        """Return the models of `train`.

        `groups`: group of each sentence, shape (N,), from 0, none left out.
        """
        n_groups = int(groups.max()) + 1
        if n_groups < 2:
            raise TooFewSentencesError(
                "a language model needs at least two sentences from different groups to be tested"
            )
        n_types = len(train.vocabulary)
        counts = count_ngrams(train.tokens, train.offsets, order=MAX_ORDER, n_types=n_types, groups=groups)
        if valid is None:
            kept_apart = range(max(1, n_groups // 10))
            choice = choose_order(counts, train.take(np.flatnonzero(groups < len(kept_apart))), without=kept_apart)
        else:
            choice = choose_order(counts, valid)
        return cls(train, groups, counts, choice, *counts.fit(choice.order))

    def nll(self, corpus: Corpus) -> FloatArray:
        """Return what each sentence costs under the model of the whole corpus, in nats, its end included: (N,)."""
        trace, offsets = self._trace(corpus)
        return sentence_nll(self.model.traced_log_probs(trace), offsets)

    def nll_without(self, corpus: Corpus) -> FloatArray:
        """Return what all of `corpus` costs in nats under the model without each group: shape (G,)."""
        trace, _ = self._trace(corpus)
        return np.array(parallel_map(lambda group: -self._without(group).traced_log_probs(trace).sum(), self._all()))

    def nll_held_out(self) -> FloatArray:
        """Return what each training sentence costs, in nats, under the model without its group: shape (N,)."""

        def score(group: int) -> FloatArray:
            trace, offsets = self._trace(self.train.take(np.flatnonzero(self.groups == group)))
            return sentence_nll(self._without(group).traced_log_probs(trace), offsets)

        nll = np.empty(len(self.train))
        for group, group_nll in enumerate(parallel_map(score, self._all())):
            nll[self.groups == group] = group_nll
        return nll

    def _all(self) -> range:
        return range(self.counts.n_groups)

    def _without(self, group: int) -> BackoffModel:
        return self.counts.fit(self.choice.order, without=(group,))[0]

    def _trace(self, corpus: Corpus) -> tuple[Trace, IntArray]:
        text, offsets = with_ends(corpus.tokens, corpus.offsets)
        return self.model.trace(text, offsets), offsets


def sentence_nll(log_probs: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the sums of ``-log_probs``, shape (T,), over sentences that each have at least one: shape (N,)."""
    return -np.add.reduceat(log_probs, offsets[:-1])
