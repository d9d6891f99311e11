"""The longest n-gram that a text shares with a collection, and the most similar texts of the collection.

A suffix array sorts all positions of the collection by the tokens that follow, up to the end of the text. The
neighbours of the insertion point of a suffix share the most tokens with it. The longest shared n-gram is exact.

Source: Manber, Myers, "Suffix arrays: a new method for on-line string searches", SIAM Journal on Computing 22, 1993.
Departs from it: sorted part by part of first tokens, by as many following tokens at a time as fit 63 bits.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.kernels_nearest import longest_runs, look_up_nearest, match_each_pair, pack
from textassay.ngram.matches import each_part, lay_out

IntArray = npt.NDArray[np.int64]

_BLOCK = 2048  # texts per task


@dataclass(frozen=True)
class Nearest:
    """Longest shared n-grams and most similar texts of N texts."""

    # Length in tokens of the longest n-gram shared with the collection, shape (N,); 0 if none is
    lengths: IntArray
    # Indices of the most similar texts of the collection, best first, shape (N, n_candidates); -1 if there are fewer
    sentences: IntArray


@dataclass(frozen=True)
class Runs:
    """The longest n-gram that each of N texts shares with a collection; all shapes (N,)."""

    lengths: IntArray  # In tokens; 0 if none is shared
    starts: IntArray  # Where it starts in the text
    texts: IntArray  # A text of the collection that holds it; -1 if none is shared
    # The same for the longest n-gram that stands in one text of the collection only; 0 where each stands in several
    sole_lengths: IntArray
    sole_starts: IntArray
    sole_texts: IntArray


class SuffixArray:
    """The positions of a corpus sorted by the tokens that follow them; created by `build`."""

    def __init__(self, corpus: Corpus, tokens: npt.NDArray[np.int32], places: IntArray) -> None:
        self._corpus = corpus
        self._tokens = tokens  # all texts in one row, -1 after each
        self._places = places  # positions in the row, with the number of the text in the upper 32 bits
        counts = np.bincount(corpus.tokens, minlength=len(corpus.vocabulary))
        self._starts = np.concatenate(([0], np.cumsum(counts)))  # of the places of each first token

    def __repr__(self) -> str:
        return f"SuffixArray({len(self._corpus)} texts, {len(self._places)} positions)"

    @classmethod
    def build(cls, corpus: Corpus) -> "SuffixArray":
        n_bits = len(corpus.vocabulary).bit_length()  # of a token's number plus 1; 0 is the end of a text
        n_packed = max(1, 63 // n_bits)

        def sort_part(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> IntArray:
            unsorted, groups, depth = np.arange(len(places)), np.zeros(len(places), dtype=np.int64), 0
            while len(unsorted):
                keys = pack(tokens, places[unsorted], depth, n_packed, n_bits)
                order = np.lexsort((keys, groups))
                places[unsorted] = places[unsorted[order]]
                keys, groups = keys[order], groups[order]
                is_first = np.ones(len(keys), dtype=np.bool_)
                is_first[1:] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
                groups = np.cumsum(is_first)
                goes_on = (np.bincount(groups)[groups] > 1) & (keys & ((1 << n_bits) - 1) != 0)
                unsorted, groups, depth = unsorted[goes_on], groups[goes_on], depth + n_packed
            return places

        parts = each_part([corpus], sort_part)
        return cls(corpus, lay_out([corpus]), np.concatenate([np.zeros(0, dtype=np.int64), *parts]))

    def nearest(self, corpus: Corpus, *, n_candidates: int = 20) -> Nearest:
        """Return the longest shared n-gram and the most similar texts of the collection for each text of `corpus`."""

        def look_up(start: int) -> tuple[IntArray, IntArray]:
            offsets = corpus.offsets[start : start + _BLOCK + 1]
            result: tuple[IntArray, IntArray] = look_up_nearest(
                corpus.tokens, offsets, self._tokens, self._places, self._starts, n_candidates
            )
            return result

        parts = parallel_map(look_up, range(0, len(corpus), _BLOCK))
        if not parts:
            return Nearest(np.zeros(0, dtype=np.int64), np.zeros((0, n_candidates), dtype=np.int64))
        return Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))

    def runs(self, corpus: Corpus, *, own: IntArray | None = None) -> Runs:
        """Return the longest n-gram that each text of `corpus` shares with the collection.

        `own`: the number of a text of the collection that does not count for each text, shape (N,): the text itself.
        """
        own = np.full(len(corpus), -1, dtype=np.int64) if own is None else own
        found = np.zeros((6, len(corpus)), dtype=np.int64)

        def look_up(start: int) -> None:
            block = slice(start, start + _BLOCK)
            offsets = corpus.offsets[start : start + _BLOCK + 1]
            longest_runs(
                corpus.tokens, offsets, own[block], self._tokens, self._places, self._starts, found[:, block]
            )  # fmt: skip

        parallel_map(look_up, range(0, len(corpus), _BLOCK))
        return Runs(*found)


def match_pairs(hypotheses: Corpus, references: Corpus, pairs: IntArray, *, max_order: int) -> npt.NDArray[np.int32]:
    """Return the clipped n-gram matches of hypotheses with single references.

    `pairs`: indices of the references of each hypothesis, shape (N, k), -1 for none.

    Shape (N, k, max_order), int32: an n-gram that occurs c times in the hypothesis and m times in the reference counts
    min(c, m).
    """
    counts = np.zeros((*pairs.shape, max_order), dtype=np.int32)

    def match(start: int) -> None:
        offsets, block = hypotheses.offsets[start : start + _BLOCK + 1], slice(start, start + _BLOCK)
        others, n_types = references, len(references.vocabulary)
        match_each_pair(hypotheses.tokens, offsets, others.tokens, others.offsets, pairs[block], n_types, counts[block])

    parallel_map(match, range(0, len(hypotheses), _BLOCK))
    return counts
