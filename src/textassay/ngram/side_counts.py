"""Leave-one-out n-gram features of texts: smoothed log-ratios of real and generated probability.

The features of a training text are computed as if it had never been counted: its n-grams are subtracted from the counts
of its side, its features are computed, and the counts are restored. They then have the distribution of features of new
texts, so a classifier can be trained on them without held-out text. Texts of one group are left out together.

For each n-gram and each of three sides (real, generated, pooled) there are four counts: occurrences, distinct following
tokens, distinct preceding tokens, and distinct pairs of tokens around it. Witten-Bell and Kneser-Ney smoothing need no
more; the twelve counts of an n-gram are adjacent in memory, a row of a table (`NgramTexts`).

Sources: Chen, Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling", Harvard TR-10-98, 1998
(the smoothings, here with one discount per level); leave-one-out counts: Ney, Essen, Kneser, "On the estimation of
'small' probabilities by leaving-one-out", PAMI 17, 1995.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.ngram.index import NgramIndex
from textassay.ngram.kernels_sides import count_sides, describe_sides, mark_rows, number_repeated

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

STRENGTHS = (1.0, 4.0)  # pseudo-counts that shrink a ratio to that of the shorter context

_N_SIDES = 3  # real, generated, pooled
_POOLED = 2
_COUNT, _BEFORE = 1, 7  # columns of the first side; the row of the prefix comes first
_PER_ORDER = 6  # features for each order, besides those of `STRENGTHS`
_FALLBACK_DISCOUNT = 0.5

Ids = npt.NDArray[np.int32]

_WIDTH = 13  # the row of the prefix, and 12 counts
_NO_AROUND, _OCCURRENCES_ALONE = 10, 4  # of the longest n-grams but one, and of the longest
_AT_ONCE = 8_000_000  # n-grams looked for in one pass over the text, to limit memory
_MOST_SLOTS = 2**31 - 1


@dataclass(frozen=True)
class NgramTexts:
    """N texts, and the layout of a table of counts of their n-grams; made by `with_index` or `repeated`.

    Each token keeps the row of the longest n-gram that starts there. The row of an n-gram begins with the row of its
    prefix, which starts at the same token, so one number a token says all n-grams of a text. An n-gram that occurs once
    in all texts needs no row: a text that is described has not been counted, and nobody else has it. Most n-grams are
    of that kind. They do count among the followers of their prefix, and so on, which whoever counts a text sees: an
    n-gram of it has no row.
    """

    longest: Ids  # Row of the longest n-gram with a row that starts at each token, -1 for none, shape (T,)
    offsets: IntArray  # Shape (N + 1,)
    firsts: IntArray  # First row of each order, and the end of the table, shape (max_order + 1,)
    widths: tuple[int, ...]  # Of rows, one an order
    prefixes: tuple[Ids, ...]  # Row of the prefix of each n-gram, one array an order
    _index: NgramIndex | None  # The ids of all n-grams, so that new texts can be looked up; or none

    @classmethod
    def with_index(cls, corpora: Sequence[Corpus], *, max_order: int) -> "NgramTexts":
        """Return the texts of `corpora`, in order; new texts with the same n-grams can be looked up (`rows_of`)."""
        index = NgramIndex.build(corpora, max_order=max_order)
        widths = _widths(max_order)
        firsts = _firsts(index.sizes, widths)
        rows = [_rows(index, corpus, firsts, widths) for corpus in corpora]
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        prefixes = [np.full(index.sizes[0], -1, dtype=np.int32)]
        for order in range(2, max_order + 1):
            prefixes.append(_row(index.prefixes(order), firsts[order - 2], widths[order - 2]))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return cls(np.concatenate(rows), offsets, firsts, widths, tuple(prefixes), index)

    @classmethod
    def repeated(cls, tokens: Ids, offsets: IntArray, *, max_order: int) -> "NgramTexts":
        """Return texts, shapes (T,) and (N + 1,), in which n-grams that occur once have no row."""
        widths = _widths(max_order)
        longest = np.full(len(tokens), -1, dtype=np.int32)
        firsts, prefixes = [_WIDTH], []
        for order, width in enumerate(widths, start=1):
            lowest = firsts[-2] if order > 1 else -1
            prefixes.append(number_repeated(tokens, offsets, longest, order, lowest, firsts[-1], width, _AT_ONCE))
            firsts.append(_checked(firsts[-1] + len(prefixes[-1]) * width))
        return cls(longest, offsets, np.array(firsts), widths, tuple(prefixes), None)

    @property
    def index(self) -> NgramIndex:
        if self._index is None:
            raise InputError("n-grams indexed for one set of texts cannot be looked up in another")
        return self._index

    @property
    def max_order(self) -> int:
        return len(self.widths)

    def new_table(self) -> Ids:
        """Return the table without counts: row 0 is the empty n-gram, the others begin with the row of the prefix."""
        table = np.zeros(self.firsts[-1], dtype=np.int32)
        table[0] = -1
        for first, end, width, rows in zip(self.firsts[:-1], self.firsts[1:], self.widths, self.prefixes, strict=True):
            table[first:end:width] = rows
        return table

    def rows_of(self, corpus: Corpus) -> Ids:
        """Return `longest` of other texts."""
        return _rows(self.index, corpus, self.firsts, self.widths)


@dataclass(eq=False)
class SideCounts:
    """Counts of the n-grams of real and generated texts by side: all are counted (`build`), or parts (`count`)."""

    texts: NgramTexts
    sides: npt.NDArray[np.int8]  # 0 for real and 1 for generated texts, shape (N,)
    table: npt.NDArray[np.int32] = field(init=False)  # As `NgramTexts.new_table` lays it out
    discounts: FloatArray = field(init=False)  # Absolute discounts, shape (3, max_order)
    n_types: int = field(default=0, init=False)  # Distinct tokens counted
    n_ngrams: int = field(default=0, init=False)  # Distinct n-grams of all orders counted
    _n_single: IntArray = field(init=False)  # N-grams without a row that were counted, shape (max_order, 3)
    _n_preceded: IntArray = field(init=False)  # Of these, the ones with a token before them

    def __post_init__(self) -> None:
        self.table = self.texts.new_table()
        self._n_single, self._n_preceded = np.zeros((2, self.texts.max_order, _N_SIDES), dtype=np.int64)

    @classmethod
    def build(cls, real: Corpus, generated: Corpus, *, max_order: int) -> "SideCounts":
        """Return the counts of two corpora that share a vocabulary; new texts can be described."""
        texts = NgramTexts.with_index([real, generated], max_order=max_order)
        counts = cls(texts, np.repeat(np.array([0, 1], dtype=np.int8), [len(real), len(generated)]))
        counts.count(np.arange(len(counts.sides)))
        return counts

    def count(self, rows: IntArray) -> None:
        """Count the texts `rows`, too."""
        texts = self.texts
        count_sides(
            texts.longest, texts.offsets, texts.firsts, self.sides, rows, self.table, self._n_single, self._n_preceded
        )
        once = [self._n_preceded] * (texts.max_order - 1) + [self._n_single]
        self.discounts = np.array(
            [
                [
                    _discount(self._column(level, column + side), int(once[level][level, side]))
                    for level, column in _columns(texts.max_order)
                ]
                for side in range(_N_SIDES)
            ]
        )
        counted = [
            int(np.count_nonzero(self._column(level, _COUNT + _POOLED)) + self._n_single[level, _POOLED])
            for level in range(texts.max_order)
        ]
        self.n_types, self.n_ngrams = counted[0], sum(counted)

    def _column(self, level: int, column: int) -> npt.NDArray[np.int32]:
        first, end = self.texts.firsts[level : level + 2].tolist()
        return self.table[first + column : end : self.texts.widths[level]]

    def occurrences(self, order: int, ids: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Return how often n-grams occur on both sides, shape (n, 2); `ids`: those of the index, at least 0."""
        return np.stack([self._column(order - 1, _COUNT + side)[ids] for side in (0, 1)], axis=1)

    @property
    def names(self) -> tuple[str, ...]:
        of_an_order = ["wb_ratio", "kn_real", "kn_generated", "kn_pooled", "real_over_pooled", "generated_over_pooled"]
        of_an_order += [f"shrunk_ratio({strength:g})" for strength in STRENGTHS]
        return tuple(f"{name}[{order}]" for order in range(1, self.texts.max_order + 1) for name in of_an_order)

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the features of new texts, shape (N, n_names): sums over tokens, in nats; see `names`.

        ``wb_ratio``: log-ratio of real to generated probability with Witten-Bell smoothing; ``kn_*``: log-probability
        with Kneser-Ney smoothing; ``*_over_pooled``: log-probability of a side that backs off to pooled counts;
        ``shrunk_ratio``: log-ratio of c real and d generated occurrences, ``ln[(c + a s) / (d + a (1 - s))]`` less that
        of the contexts, where s is the share expected from the ratio of the shorter context and a the strength.
        """
        return self._run(self.texts.rows_of(corpus), corpus.offsets, np.arange(len(corpus)))

    def describe_uncounted(self, rows: IntArray) -> FloatArray:
        """Return the features of texts of `texts` that were not counted."""
        return self._run(self.texts.longest, self.texts.offsets, rows)

    def describe_own(
        self,
        groups: IntArray | None = None,
        *,
        rows: IntArray | None = None,
        drawn: npt.NDArray[np.bool_] | None = None,
    ) -> FloatArray:
        """Return the leave-one-out features of counted texts, each as if its group had not been counted.

        The counts are changed and restored, so no other thread may use them at the same time.

        `rows`: all counted texts, by default all texts; `groups`: group of each of these, by default each text is a
        group; `drawn`: which of these are described, by default all.
        """
        rows = np.arange(len(self.sides)) if rows is None else rows
        if drawn is None:
            drawn = np.ones(len(rows), dtype=np.bool_)
        if groups is None:
            return self._run(self.texts.longest, self.texts.offsets, rows[drawn], np.arange(np.count_nonzero(drawn)))
        order = np.argsort(groups, kind="stable")
        features = self._run(self.texts.longest, self.texts.offsets, rows[order], groups[order], drawn[order])
        places = np.empty(len(rows), dtype=np.int64)
        places[order] = np.cumsum(drawn[order]) - 1
        return features[places[drawn]]

    def _run(
        self,
        longest: npt.NDArray[np.int32],
        offsets: IntArray,
        rows: IntArray,
        groups: IntArray | None = None,
        drawn: npt.NDArray[np.bool_] | None = None,
    ) -> FloatArray:
        """Describe those of `rows` that are `drawn`; texts of a group are adjacent and leave the counts together."""
        drawn = np.ones(len(rows), dtype=np.bool_) if drawn is None else drawn
        features = np.zeros((np.count_nonzero(drawn), self.texts.max_order * (_PER_ORDER + len(STRENGTHS))))
        describe_sides(
            longest,
            offsets,
            self.texts.firsts,
            self.sides,
            rows,
            np.arange(len(rows)) if groups is None else groups,
            drawn.view(np.uint8),
            groups is not None,
            self.table,
            self.discounts,
            np.array(STRENGTHS),
            1.0 / self.n_types,
            features,
        )
        return features


def _columns(max_order: int) -> list[tuple[int, int]]:
    """Return the column of the counts that smoothing uses at each level: raw counts for the longest n-grams only."""
    return [(level, _COUNT if level == max_order - 1 else _BEFORE) for level in range(max_order)]


def _discount(counts: npt.NDArray[np.int32], n_once: int) -> float:
    """Return the discount of n-grams of which `n_once`, beside those of `counts`, were counted once."""
    once, twice = int(np.count_nonzero(counts == 1)) + n_once, int(np.count_nonzero(counts == 2))
    return once / (once + 2 * twice) if once > 0 and twice > 0 else _FALLBACK_DISCOUNT


def _widths(max_order: int) -> tuple[int, ...]:
    """Return the widths of rows: what is never read of the longest n-grams is not kept."""
    return (*[_WIDTH] * (max_order - 2), *([_NO_AROUND] if max_order > 1 else []), _OCCURRENCES_ALONE)


def _firsts(sizes: Sequence[int], widths: Sequence[int]) -> IntArray:
    spans = [_WIDTH, *(size * width for size, width in zip(sizes, widths, strict=True))]
    _checked(sum(spans))
    return np.cumsum(spans, dtype=np.int64)


def _checked(n_slots: int) -> int:
    if n_slots > _MOST_SLOTS:
        raise InputError(f"these texts have too many n-grams to be counted at once: {n_slots} numbers")
    return n_slots


def _row(ids: Ids, first: int, width: int) -> Ids:
    return (first + ids.astype(np.int64) * width).astype(np.int32)


def _rows(index: NgramIndex, corpus: Corpus, firsts: IntArray, widths: Sequence[int]) -> Ids:
    longest = np.full(len(corpus.tokens), -1, dtype=np.int32)
    for ids, first, width in zip(index.all_ids(corpus), firsts[:-1].tolist(), widths, strict=True):
        mark_rows(ids, first, width, longest)
    return longest
