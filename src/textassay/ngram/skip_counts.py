"""Leave-one-out features of skip-grams: n-grams with a gap.

A model with a short context gets adjacent words right, but not pairs of words with others between them. For each of
`PATTERNS` a token is predicted from the tokens at these distances before it, on the real, the generated and the pooled
side, with absolute discounting towards the frequency of the token.

All texts are numbered once (`SkipTexts`), of which any are counted. As in `textassay.ngram.side_counts`, what occurs
once in all texts needs no row of its own: a text that is described has not been counted, and nobody else has it.

Sources: Guthrie et al., "A Closer Look at Skip-gram Modelling", LREC 2006; discounting and leaving out as in
`textassay.ngram.side_counts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.ngram.kernels_sides import count_skips, count_tokens, describe_skips, number_extended

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]

# Distances from the predicted token to the tokens that predict it
PATTERNS = ((2,), (3,), (4,), (3, 2))
SKIP_PATTERNS_LABEL = f"skip-grams {', '.join('+'.join(map(str, places)) for places in PATTERNS)} back"

_N_SIDES = 3  # real, generated, pooled
_UNKNOWN, _OUTSIDE = -1, -2  # never counted; the pattern extends beyond the start of the text
_FALLBACK_DISCOUNT = 0.5
_AT_ONCE = 8_000_000  # skip-grams looked for in one pass over the text, to limit memory


@dataclass(frozen=True)
class _Keys:
    """Sorted keys of contexts and n-grams, by which those of new texts are looked up."""

    pairs: IntArray  # of contexts of two tokens
    contexts: IntArray
    grams: IntArray


@dataclass(frozen=True)
class _Pattern:
    """The contexts and n-grams of one pattern, numbered."""

    distances: tuple[int, ...]
    contexts: Ids  # (T,) context of each token
    grams: Ids  # (T,) n-gram that ends in each token
    n_contexts: int
    n_grams: int
    keys: _Keys | None


@dataclass(frozen=True)
class SkipTexts:
    """N texts whose skip-grams are numbered; made by `with_index` or `repeated`."""

    texts: Corpus
    patterns: tuple[_Pattern, ...]

    @classmethod
    def with_index(cls, corpora: Sequence[Corpus]) -> "SkipTexts":
        """Return the texts of corpora that share a vocabulary, with start and end tokens; others can be described."""
        texts = _joined(corpora)
        return cls(texts, tuple(_numbered(texts, distances) for distances in PATTERNS))

    @classmethod
    def repeated(cls, corpora: Sequence[Corpus]) -> "SkipTexts":
        """Return the same, where skip-grams that occur once have no number; no other texts can be described."""
        texts = _joined(corpora)
        return cls(texts, tuple(_numbered_repeated(texts, distances) for distances in PATTERNS))

    @property
    def n_types(self) -> int:
        return len(self.texts.vocabulary)


@dataclass(eq=False)
class SkipCounts:
    """Counts of the skip-grams of real and generated texts by side: all are counted (`build`), or parts (`count`)."""

    texts: SkipTexts
    sides: npt.NDArray[np.int8]  # 0 for real and 1 for generated texts, shape (N,)
    unigrams: IntArray = field(init=False)  # How often each token was counted, both sides together, shape (n_types,)
    contexts: tuple[Ids, ...] = field(init=False)  # of each pattern (n_contexts, 6): occurrences, distinct followers
    grams: tuple[Ids, ...] = field(init=False)  # of each pattern (n_grams, 3): occurrences
    discounts: FloatArray = field(init=False)  # (n_patterns, 3)

    def __post_init__(self) -> None:
        self.unigrams = np.zeros(self.texts.n_types, dtype=np.int64)
        patterns = self.texts.patterns
        self.contexts = tuple(np.zeros((pattern.n_contexts, 2 * _N_SIDES), dtype=np.int32) for pattern in patterns)
        self.grams = tuple(np.zeros((pattern.n_grams, _N_SIDES), dtype=np.int32) for pattern in patterns)
        self._n_single = np.zeros((len(patterns), _N_SIDES), dtype=np.int64)
        self.discounts = np.full((len(patterns), _N_SIDES), _FALLBACK_DISCOUNT)

    @classmethod
    def build(cls, real: Corpus, generated: Corpus) -> "SkipCounts":
        """Return the counts of two corpora that share a vocabulary, with start and end tokens (`mark_ends`)."""
        sides = np.repeat(np.array([0, 1], dtype=np.int8), [len(real), len(generated)])
        counts = cls(SkipTexts.with_index([real, generated]), sides)
        counts.count(np.arange(len(sides)))
        return counts

    def count(self, rows: IntArray) -> None:
        """Count the texts `rows`, too."""
        texts = self.texts.texts
        count_tokens(texts.tokens, texts.offsets, rows, self.unigrams)
        for number, pattern in enumerate(self.texts.patterns):
            tables = self.contexts[number], self.grams[number]
            count_skips(
                pattern.contexts, pattern.grams, texts.offsets, self.sides, rows, *tables, self._n_single[number]
            )
            for side in range(_N_SIDES):
                of_side = self.grams[number][:, side]
                once = int(np.count_nonzero(of_side == 1)) + int(self._n_single[number, side])
                twice = int(np.count_nonzero(of_side == 2))
                known = once > 0 and twice > 0
                self.discounts[number, side] = once / (once + 2 * twice) if known else _FALLBACK_DISCOUNT

    @property
    def names(self) -> tuple[str, ...]:
        kinds = ("real", "generated", "pooled", "shrunk_ratio")
        return tuple(f"skip_{kind}[{','.join(map(str, places))}]" for places in PATTERNS for kind in kinds)

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the features of new texts, shape (N, n_names): sums over tokens, in nats.

        For each side, the log-ratio of the token's probability in the pattern to its frequency; and the shrunk
        log-ratio of real to generated counts, with expected counts that sum to 1 added.
        """
        numbers = [_looked_up(corpus, pattern, self.texts.n_types) for pattern in self.texts.patterns]
        return self._run(corpus, numbers, np.arange(len(corpus)))

    def describe_uncounted(self, rows: IntArray) -> FloatArray:
        """Return the features of texts of `texts` that were not counted."""
        return self._run(self.texts.texts, self._numbers, rows)

    def describe_own(
        self,
        groups: IntArray | None = None,
        *,
        rows: IntArray | None = None,
        drawn: npt.NDArray[np.bool_] | None = None,
    ) -> FloatArray:
        """Return the leave-one-out features of counted texts, each as if its group had not been counted.

        The counts are changed and restored, so no other thread may use them at the same time. `rows`, `groups` and
        `drawn` are as in `textassay.ngram.SideCounts.describe_own`.
        """
        rows = np.arange(len(self.sides)) if rows is None else rows
        drawn = np.ones(len(rows), dtype=np.bool_) if drawn is None else drawn
        groups = np.arange(len(rows)) if groups is None else groups
        order = np.argsort(groups, kind="stable")
        features = self._run(self.texts.texts, self._numbers, rows[order], groups[order], drawn[order])
        places = np.empty(len(rows), dtype=np.int64)
        places[order] = np.cumsum(drawn[order]) - 1
        return features[places[drawn]]

    @property
    def _numbers(self) -> list[tuple[Ids, Ids]]:
        return [(pattern.contexts, pattern.grams) for pattern in self.texts.patterns]

    def _run(
        self,
        texts: Corpus,
        numbers: Sequence[tuple[Ids, Ids]],
        rows: IntArray,
        groups: IntArray | None = None,
        drawn: npt.NDArray[np.bool_] | None = None,
    ) -> FloatArray:
        """Describe those of `rows` that are `drawn`; texts of a group are adjacent and leave the counts together."""
        drawn = np.ones(len(rows), dtype=np.bool_) if drawn is None else drawn
        features = np.zeros((np.count_nonzero(drawn), len(self.names)))
        for number, (contexts, grams) in enumerate(numbers):
            describe_skips(
                texts.tokens,
                contexts,
                grams,
                texts.offsets,
                self.sides,
                rows,
                np.arange(len(rows)) if groups is None else groups,
                drawn.view(np.uint8),
                groups is not None,
                self.contexts[number],
                self.grams[number],
                self.unigrams,
                int(self.unigrams.sum()),
                int(np.count_nonzero(self.unigrams)),
                self.discounts[number],
                features,
                4 * number,
            )
        return features


def _joined(corpora: Sequence[Corpus]) -> Corpus:
    """Return all texts, without groups and columns."""
    return Corpus.concatenate(
        [Corpus(one.tokens, one.offsets, one.vocabulary, one.texts, tokenizer=one.tokenizer) for one in corpora]
    )


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


def _numbered(texts: Corpus, distances: tuple[int, ...]) -> _Pattern:
    n_types = len(texts.vocabulary)
    pair_keys = np.empty(0, dtype=np.int64)
    if len(distances) == 2:
        raw, _ = _keys(texts, distances, n_types, None)
        pair_keys = np.unique(raw[raw >= 0])
    keys = _keys(texts, distances, n_types, pair_keys)
    used = keys[0] >= 0
    sorted_keys, numbers = [], []
    for of_tokens in keys:
        known, where = np.unique(of_tokens[used], return_inverse=True)
        own = np.full(len(texts.tokens), _OUTSIDE, dtype=np.int32)
        own[used] = where
        sorted_keys.append(known)
        numbers.append(own)
    index = _Keys(pair_keys, sorted_keys[0], sorted_keys[1])
    return _Pattern(distances, numbers[0], numbers[1], len(sorted_keys[0]), len(sorted_keys[1]), index)


def _numbered_repeated(texts: Corpus, distances: tuple[int, ...]) -> _Pattern:
    numbers, sizes = [np.zeros(len(texts.tokens), dtype=np.int32)], []
    for distance in (*distances, 0):
        extended = np.empty(len(texts.tokens), dtype=np.int32)
        of_texts = texts.tokens, texts.offsets, distance, max(distances)
        sizes.append(number_extended(numbers[-1], *of_texts, extended, _AT_ONCE))
        numbers.append(extended)
    return _Pattern(distances, numbers[-2], numbers[-1], sizes[-2], sizes[-1], None)


def _looked_up(corpus: Corpus, pattern: _Pattern, n_types: int) -> tuple[Ids, Ids]:
    """Return the numbers of the contexts and n-grams of new texts."""
    if pattern.keys is None:
        raise InputError("skip-grams indexed for one set of texts cannot be looked up in another")
    contexts, grams = _keys(corpus, pattern.distances, n_types, pattern.keys.pairs)
    found = _places(pattern.keys.contexts, contexts), _places(pattern.keys.grams, grams)
    return found[0].astype(np.int32), found[1].astype(np.int32)
