"""Leave-one-out n-gram features of texts: smoothed log-ratios of real and generated probability.

The features of a training text are computed as if it had never been counted: its n-grams are subtracted from the counts
of its side, its features are computed, and the counts are restored. They then have the distribution of features of new
texts, so a classifier can be trained on them without held-out text. Texts of one group are left out together.

For each n-gram and each of three sides (real, generated, pooled) there are four counts: occurrences, distinct following
tokens, distinct preceding tokens, and distinct pairs of tokens around it. Witten-Bell and Kneser-Ney smoothing need no
more; the twelve counts of an n-gram are adjacent in memory.

Sources: Chen, Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling", Harvard TR-10-98, 1998
(the smoothings, here with one discount per level); leave-one-out counts: Ney, Essen, Kneser, "On the estimation of
'small' probabilities by leaving-one-out", PAMI 17, 1995.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus import Corpus
from textassay.errors import EmptyCorpusError, OptionError
from textassay.ngram.index import NgramIndex

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

STRENGTHS = (1.0, 4.0)  # pseudo-counts that shrink a ratio to that of the shorter context

_N_SIDES = 3  # real, generated, pooled
_POOLED = 2
_COUNT, _FOLLOWERS, _BEFORE, _AROUND = 0, 3, 6, 9  # columns of the first side
_PER_ORDER = 6  # features for each order, besides those of `STRENGTHS`
_FALLBACK_DISCOUNT = 0.5
_SMALLEST_SHARE = 0.01  # lower limit of the expected share of a side


@dataclass(frozen=True)
class SideCounts:
    """Counts of the n-grams of real and generated texts by side, created by `build`."""

    index: NgramIndex  # The n-grams of both sides
    counts: npt.NDArray[np.int32]  # Shape (n_features + 1, 12); the last row is the empty n-gram
    discounts: FloatArray  # Absolute discounts, shape (3, max_order)
    _ids: npt.NDArray[np.int32]
    _offsets: IntArray
    _sides: IntArray

    @classmethod
    def build(cls, real: Corpus, generated: Corpus, *, max_order: int) -> "SideCounts":
        """Return the counts of two corpora that share a vocabulary."""
        if len(real) == 0 or len(generated) == 0:
            raise EmptyCorpusError(
                f"counting by side needs at least one text per side, got {len(real)} and {len(generated)}"
            )
        index = NgramIndex.build([real, generated], max_order=max_order)
        ids = np.concatenate([index.all_ids(real), index.all_ids(generated)], axis=1)
        offsets = np.concatenate([real.offsets, generated.offsets[1:] + real.offsets[-1]])
        sides = np.repeat([0, 1], [len(real), len(generated)])
        firsts = _firsts(index)
        counts = np.zeros((index.n_features + 1, 4 * _N_SIDES), dtype=np.int32)
        _count_all(ids, offsets, firsts, sides, counts)
        discounts = np.array(
            [
                [
                    _discount(counts[firsts[level] : firsts[level + 1], column + side])
                    for level, column in _columns(max_order)
                ]
                for side in range(_N_SIDES)
            ]
        )
        return cls(index, counts, discounts, ids, offsets, sides)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        of_an_order = ["wb_ratio", "kn_real", "kn_generated", "kn_pooled", "real_over_pooled", "generated_over_pooled"]
        of_an_order += [f"shrunk_ratio({strength:g})" for strength in STRENGTHS]
        return tuple(f"{name}[{order}]" for order in range(1, self.index.max_order + 1) for name in of_an_order)

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the features of new texts, shape (N, n_names): sums over tokens, in nats; see `names`.

        ``wb_ratio``: log-ratio of real to generated probability with Witten-Bell smoothing; ``kn_*``: log-probability
        with Kneser-Ney smoothing; ``*_over_pooled``: log-probability of a side that backs off to pooled counts;
        ``shrunk_ratio``: log-ratio of c real and d generated occurrences, ``ln[(c + a s) / (d + a (1 - s))]`` less that
        of the contexts, where s is the share expected from the ratio of the shorter context and a the strength.
        """
        ids = self.index.all_ids(corpus)
        order = np.arange(len(corpus))
        return self._run(ids, corpus.offsets, np.zeros(len(corpus), dtype=np.int64), order, order, take_out=False)

    def describe_own(self, groups: IntArray | None = None) -> FloatArray:
        """Return the leave-one-out features of the counted texts, real ones first.

        The counts are changed and restored, so no other thread may use them at the same time.

        `groups`: group of each text of both sides, shape (n_real + n_generated,); by default each text is a group.
        """
        n = len(self._sides)
        if groups is not None and len(groups) != n:
            raise OptionError(f"groups must have one number per text: {n}, got {len(groups)}")
        groups = np.arange(n) if groups is None else groups
        order = np.argsort(groups, kind="stable")
        return self._run(self._ids, self._offsets, self._sides, order, groups[order], take_out=True)

    def _run(
        self,
        ids: npt.NDArray[np.int32],
        offsets: IntArray,
        sides: IntArray,
        order: IntArray,
        groups: IntArray,
        *,
        take_out: bool,
    ) -> FloatArray:
        rows = np.zeros((len(order), self.index.max_order * (_PER_ORDER + len(STRENGTHS))))
        _describe(
            ids,
            offsets,
            _firsts(self.index),
            sides,
            order,
            groups,
            take_out,
            self.counts,
            self.discounts,
            np.array(STRENGTHS),
            1.0 / self.index.sizes[0],
            rows,
        )
        return rows


def _firsts(index: NgramIndex) -> IntArray:
    return np.concatenate(([0], np.cumsum(index.sizes, dtype=np.int64)))


def _columns(max_order: int) -> list[tuple[int, int]]:
    """Return the column of the counts that smoothing uses at each level: raw counts for the longest n-grams only."""
    return [(level, _COUNT if level == max_order - 1 else _BEFORE) for level in range(max_order)]


def _discount(counts: npt.NDArray[np.int32]) -> float:
    once, twice = int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))
    return once / (once + 2 * twice) if once > 0 and twice > 0 else _FALLBACK_DISCOUNT


@njit(cache=True, nogil=True)
def _add_text(ids, begin, end, firsts, side, step, counts):  # type: ignore[no-untyped-def]
    """Add the n-grams of a text to one side (step 1) or subtract them (step -1)."""
    empty = len(counts) - 1
    for level in range(len(ids)):
        for start in range(begin, end - level):
            gram = firsts[level] + ids[level, start]
            counts[gram, _COUNT + side] += step
            if level == 0:
                if start == begin:  # the first token is never predicted
                    continue
                counts[empty, _COUNT + side] += step
            now = counts[gram, _COUNT + side]
            if now == (1 if step == 1 else 0):  # it is new or gone
                prefix = empty if level == 0 else firsts[level - 1] + ids[level - 1, start]
                counts[prefix, _FOLLOWERS + side] += step
                if level > 0:
                    counts[firsts[level - 1] + ids[level - 1, start + 1], _BEFORE + side] += step
                    middle = empty if level == 1 else firsts[level - 2] + ids[level - 2, start + 1]
                    counts[middle, _AROUND + side] += step


@njit(cache=True, nogil=True)
def _count_all(ids, offsets, firsts, sides, counts):  # type: ignore[no-untyped-def]
    for sentence in range(len(sides)):
        for side in (sides[sentence], _POOLED):
            _add_text(ids, offsets[sentence], offsets[sentence + 1], firsts, side, 1, counts)


@njit(cache=True, nogil=True)
def _describe(ids, offsets, firsts, sides, order, groups, take_out, counts, discounts, strengths, uniform, rows):  # type: ignore[no-untyped-def]
    """Fill the rows of `rows`; texts are visited in `order`, in which groups are adjacent."""
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and groups[end] == groups[begin]:
            end += 1
        for step in (-1, 0, 1):
            for place in range(begin, end):
                sentence = order[place]
                first, last = offsets[sentence], offsets[sentence + 1]
                if step == 0:
                    _sum_tokens(ids, first, last, firsts, counts, discounts, strengths, uniform, rows[sentence])
                elif take_out:
                    _add_text(ids, first, last, firsts, sides[sentence], step, counts)
                    _add_text(ids, first, last, firsts, _POOLED, step, counts)
        begin = end


@njit(cache=True, nogil=True)
def _sum_tokens(ids, begin, end, firsts, counts, discounts, strengths, uniform, sums):  # type: ignore[no-untyped-def]
    n_levels, n_strengths = len(ids), len(strengths)
    empty = len(counts) - 1
    width = _PER_ORDER + n_strengths
    witten_bell, kneser_ney, over_pooled = np.empty(_N_SIDES), np.empty(_N_SIDES), np.empty(2)
    ratios = np.empty(n_strengths)
    for position in range(begin + 1, end):
        witten_bell[:] = uniform
        kneser_ney[:] = uniform
        over_pooled[:] = uniform
        ratios[:] = 1.0
        for level in range(n_levels):
            start = position - level
            if start >= begin:
                context = empty
                if level > 0:
                    context = firsts[level - 1] + ids[level - 1, start] if ids[level - 1, start] >= 0 else -1
                lower = kneser_ney[_POOLED]
                over_pooled[:] = lower
                # a context that occurs in this text alone is as unknown as one that is not in the index
                if context >= 0 and counts[context, _COUNT + _POOLED] > 0:
                    gram = firsts[level] + ids[level, start] if ids[level, start] >= 0 else -1
                    raw = start == begin or level == n_levels - 1
                    for side in range(_N_SIDES):
                        n_context = counts[context, _COUNT + side]
                        if n_context == 0:
                            continue
                        n_gram = counts[gram, _COUNT + side] if gram >= 0 else 0
                        n_followers = counts[context, _FOLLOWERS + side]
                        witten_bell[side] = (n_gram + n_followers * witten_bell[side]) / (n_context + n_followers)
                        off = discounts[side, level]
                        if side < _POOLED:
                            over_pooled[side] = (max(n_gram - off, 0.0) + off * n_followers * lower) / n_context
                        if not raw:
                            n_context = counts[context, _AROUND + side]
                            n_gram = counts[gram, _BEFORE + side] if gram >= 0 else 0
                        if n_context > 0:
                            left = min(off * n_followers, float(n_context))
                            kneser_ney[side] = (max(n_gram - off, 0.0) + left * kneser_ney[side]) / n_context
                    n_real, n_generated = counts[context, 0] + 1.0, counts[context, 1] + 1.0
                    real, generated = 0, 0
                    if gram >= 0:
                        real, generated = counts[gram, 0], counts[gram, 1]
                    for which in range(n_strengths):
                        share = n_real * ratios[which] / (n_real * ratios[which] + n_generated)
                        share = min(max(share, _SMALLEST_SHARE), 1.0 - _SMALLEST_SHARE)
                        ratios[which] = (
                            (real + strengths[which] * share)
                            / (generated + strengths[which] * (1.0 - share))
                            * (n_generated / n_real)
                        )
            column = level * width
            sums[column] += np.log(witten_bell[0] / witten_bell[1])
            for side in range(_N_SIDES):
                sums[column + 1 + side] += np.log(kneser_ney[side])
            for side in range(2):
                sums[column + 4 + side] += np.log(over_pooled[side])
            for which in range(n_strengths):
                sums[column + _PER_ORDER + which] += np.log(ratios[which])
