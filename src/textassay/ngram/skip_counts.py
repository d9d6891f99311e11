"""Leave-one-out features of skip-grams: n-grams with a gap.

A model with a short context gets adjacent words right, but not pairs of words with others between them. For each of
`PATTERNS` a token is predicted from the tokens at these distances before it, on the real, the generated and the pooled
side, with absolute discounting towards the frequency of the token.

Sources: Guthrie et al., "A Closer Look at Skip-gram Modelling", LREC 2006; discounting and leaving out as in
`textassay.ngram.side_counts`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus import Corpus

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Distances from the predicted token to the tokens that predict it
PATTERNS = ((2,), (3,), (4,), (3, 2))
SKIP_PATTERNS_LABEL = f"skip-grams {', '.join('+'.join(map(str, places)) for places in PATTERNS)} back"

_N_SIDES = 3  # real, generated, pooled
_POOLED = 2
_UNKNOWN, _OUTSIDE = -1, -2  # never counted; the pattern extends beyond the start of the text
_FALLBACK_DISCOUNT = 0.5


@dataclass(frozen=True)
class _Pattern:
    """The counted contexts and n-grams of one pattern, as sorted keys, with their counts on each side."""

    distances: tuple[int, ...]
    pair_keys: IntArray  # of contexts of two tokens
    context_keys: IntArray
    gram_keys: IntArray
    contexts: npt.NDArray[np.int32]  # (n_contexts, 3) occurrences
    followers: npt.NDArray[np.int32]  # (n_contexts, 3) distinct following tokens
    grams: npt.NDArray[np.int32]  # (n_grams, 3) occurrences
    discounts: FloatArray  # (3,)
    own_contexts: IntArray  # (T,) context of each counted token
    own_grams: IntArray  # (T,) n-gram that ends in each counted token


@dataclass(frozen=True)
class SkipCounts:
    """Counts of the skip-grams of real and generated texts by side, created by `build`."""

    n_types: int  # Size of the vocabulary
    unigrams: IntArray  # How often each token was counted, both sides together, shape (n_types,)
    _patterns: tuple[_Pattern, ...]
    _train: Corpus
    _sides: IntArray

    @classmethod
    def build(cls, real: Corpus, generated: Corpus) -> "SkipCounts":
        """Return the counts of two corpora that share a vocabulary, with start and end tokens (`mark_ends`)."""
        train = Corpus.concatenate([_tokens_only(real), _tokens_only(generated)])
        sides = np.repeat([0, 1], [len(real), len(generated)])
        n_types = len(train.vocabulary)
        of_tokens = np.repeat(sides, train.lengths)
        patterns = tuple(_count(train, distances, of_tokens, n_types) for distances in PATTERNS)
        return cls(n_types, np.bincount(train.tokens, minlength=n_types), patterns, train, sides)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        kinds = ("real", "generated", "pooled", "shrunk_ratio")
        return tuple(f"skip_{kind}[{','.join(map(str, places))}]" for places in PATTERNS for kind in kinds)

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the features of new texts, shape (N, n_names): sums over tokens, in nats.

        For each side, the log-ratio of the token's probability in the pattern to its frequency; and the shrunk
        log-ratio of real to generated counts, with expected counts that sum to 1 added.
        """
        order = np.arange(len(corpus))
        return self._run(corpus, np.zeros(len(corpus), dtype=np.int64), order, order, take_out=False)

    def describe_own(self, groups: IntArray | None = None) -> FloatArray:
        """Return the leave-one-out features of the counted texts, real ones first.

        The counts are changed and restored, so no other thread may use them at the same time.
        """
        groups = np.arange(len(self._train)) if groups is None else groups
        order = np.argsort(groups, kind="stable")
        return self._run(self._train, self._sides, order, groups[order], take_out=True)

    def _run(self, corpus: Corpus, sides: IntArray, order: IntArray, groups: IntArray, *, take_out: bool) -> FloatArray:
        rows = np.zeros((len(corpus), len(self.names)))
        for number, pattern in enumerate(self._patterns):
            if take_out:
                own_contexts, own_grams = pattern.own_contexts, pattern.own_grams
            else:
                context_keys, gram_keys = _keys(corpus, pattern.distances, self.n_types, pattern.pair_keys)
                own_contexts = _places(pattern.context_keys, context_keys)
                own_grams = _places(pattern.gram_keys, gram_keys)
            _describe(
                corpus.tokens,
                own_contexts,
                own_grams,
                corpus.offsets,
                sides,
                order,
                groups,
                take_out,
                pattern.contexts,
                pattern.followers,
                pattern.grams,
                self.unigrams,
                int(self.unigrams.sum()),
                int(np.count_nonzero(self.unigrams)),
                pattern.discounts,
                rows[:, 4 * number : 4 * number + 4],
            )
        return rows


def _tokens_only(corpus: Corpus) -> Corpus:
    """Return `corpus` without groups and columns."""
    return Corpus(corpus.tokens, corpus.offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer)


def _keys(
    corpus: Corpus, distances: tuple[int, ...], n_types: int, pair_keys: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return a key of the context of each token and one of the whole n-gram, shapes (T,)."""
    tokens = corpus.tokens.astype(np.int64)
    place = np.arange(len(tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    inside = place >= max(distances)
    contexts = np.zeros(len(tokens), dtype=np.int64)
    for number, distance in enumerate(distances):
        before = np.zeros(len(tokens), dtype=np.int64)
        before[distance:] = tokens[: max(0, len(tokens) - distance)]
        if number == 1 and pair_keys is not None:
            contexts = _places(pair_keys, contexts * n_types + before)  # so that keys stay below 2^63
        else:
            contexts = contexts * n_types + before
    grams = np.where(contexts >= 0, contexts * n_types + tokens, _UNKNOWN)
    return np.where(inside, contexts, _OUTSIDE), np.where(inside, grams, _OUTSIDE)


def _places(keys: IntArray, wanted: IntArray) -> IntArray:
    """Return the index of each of `wanted` in the sorted `keys`, -1 if absent; negative ones are unchanged."""
    if len(keys) == 0:
        return np.where(wanted < 0, wanted, _UNKNOWN)
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(wanted < 0, wanted, np.where(keys[place] == wanted, place, _UNKNOWN))


def _count(train: Corpus, distances: tuple[int, ...], sides: IntArray, n_types: int) -> _Pattern:
    pair_keys = np.empty(0, dtype=np.int64)
    if len(distances) == 2:
        raw, _ = _keys(train, distances, n_types, None)
        pair_keys = np.unique(raw[raw >= 0])
    context_keys, gram_keys = _keys(train, distances, n_types, pair_keys)
    used = context_keys >= 0
    contexts, where_context = np.unique(context_keys[used], return_inverse=True)
    grams, first, where_gram = np.unique(gram_keys[used], return_index=True, return_inverse=True)
    own = [np.full(len(train.tokens), _OUTSIDE, dtype=np.int64) for _ in range(2)]
    own[0][used], own[1][used] = where_context, where_gram
    parents = where_context[first]
    tables = [np.zeros((size, _N_SIDES), dtype=np.int32) for size in (len(contexts), len(contexts), len(grams))]
    discounts = np.empty(_N_SIDES)
    for side in range(_N_SIDES):
        mine = np.ones(int(used.sum()), dtype=np.bool_) if side == _POOLED else sides[used] == side
        tables[0][:, side] = np.bincount(where_context[mine], minlength=len(contexts))
        tables[2][:, side] = np.bincount(where_gram[mine], minlength=len(grams))
        there = tables[2][:, side] > 0
        tables[1][:, side] = np.bincount(parents[there], minlength=len(contexts))
        once, twice = (int(np.count_nonzero(tables[2][:, side] == times)) for times in (1, 2))
        discounts[side] = once / (once + 2 * twice) if once > 0 and twice > 0 else _FALLBACK_DISCOUNT
    return _Pattern(distances, pair_keys, contexts, grams, tables[0], tables[1], tables[2], discounts, own[0], own[1])


@njit(cache=True, nogil=True)
def _describe(  # type: ignore[no-untyped-def]
    tokens,
    contexts,
    grams,
    offsets,
    sides,
    order,
    groups,
    take_out,
    of_context,
    followers,
    of_gram,
    unigrams,
    n_tokens,
    n_known,
    discounts,
    rows,
):
    """Fill `rows`; texts are visited in `order`, in which groups are adjacent."""
    probs = np.empty(_N_SIDES)
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and groups[end] == groups[begin]:
            end += 1
        for step in (-1, 0, 1):
            for number in range(begin, end):
                sentence = order[number]
                for place in range(offsets[sentence], offsets[sentence + 1]):
                    context, gram, token = contexts[place], grams[place], tokens[place]
                    if step != 0:
                        if not take_out:
                            break
                        unigrams[token] += step
                        n_tokens += step
                        if context == _OUTSIDE:
                            continue
                        for side in (sides[sentence], _POOLED):
                            of_context[context, side] += step
                            of_gram[gram, side] += step
                            if of_gram[gram, side] == (1 if step == 1 else 0):
                                followers[context, side] += step
                        continue
                    if context < 0 or of_context[context, _POOLED] == 0:
                        continue
                    frequency = (unigrams[token] + 1.0) / (n_tokens + n_known)
                    for side in range(_N_SIDES):
                        probs[side] = frequency
                        if of_context[context, side] > 0:
                            n_gram = of_gram[gram, side] if gram >= 0 else 0
                            gain = max(n_gram - discounts[side], 0.0)
                            left = discounts[side] * followers[context, side]
                            probs[side] = (gain + left * frequency) / of_context[context, side]
                        rows[sentence, side] += np.log(probs[side] / frequency)
                    n_real, n_generated = of_context[context, 0] + 1.0, of_context[context, 1] + 1.0
                    share = n_real / (n_real + n_generated)
                    real, generated = 0, 0
                    if gram >= 0:
                        real, generated = of_gram[gram, 0], of_gram[gram, 1]
                    ratio = (real + share) / (generated + 1.0 - share) * (n_generated / n_real)
                    rows[sentence, 3] += np.log(ratio)
        begin = end
