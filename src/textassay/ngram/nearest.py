"""The longest n-gram that a text shares with a collection, and the most similar texts of the collection.

A suffix array sorts all positions of the collection by the tokens that follow, up to the end of the text. The
neighbours of the insertion point of a suffix share the most tokens with it. The longest shared n-gram is exact.

Source: Manber, Myers, "Suffix arrays: a new method for on-line string searches", SIAM Journal on Computing 22, 1993
(sorted by doubling).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus import Corpus
from textassay.errors import EmptyCorpusError, OptionError
from textassay.execution import parallel_map
from textassay.ngram.index import NgramIndex

IntArray = npt.NDArray[np.int64]

_BLOCK = 2048  # texts per task
_EACH_SIDE = 5  # neighbours before and after the insertion point


@dataclass(frozen=True)
class Nearest:
    """Longest shared n-grams and most similar texts of N texts."""

    # Length in tokens of the longest n-gram shared with the collection, shape (N,); 0 if none is
    lengths: IntArray
    # Indices of the most similar texts of the collection, best first, shape (N, n_candidates); -1 if there are fewer
    sentences: IntArray


class SuffixArray:
    """The positions of a corpus sorted by the tokens that follow them; created by `build`."""

    def __init__(self, corpus: Corpus, places: IntArray) -> None:
        self._corpus = corpus
        self._places = places
        self._sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)

    def __repr__(self) -> str:
        return f"SuffixArray({len(self._corpus)} texts, {len(self._places)} positions)"

    @classmethod
    def build(cls, corpus: Corpus) -> "SuffixArray":
        """Return the suffix array of `corpus`, at least one text."""
        if len(corpus) == 0:
            raise EmptyCorpusError("a suffix array needs at least one text, got 0")
        n = len(corpus.tokens)
        left = np.repeat(corpus.offsets[1:], corpus.lengths) - np.arange(n)  # tokens to the end of the text
        ranks = corpus.tokens.astype(np.int64) + 1  # 0 is the end of a text, before every token
        step, longest = 1, int(corpus.lengths.max(initial=0))
        while step < longest:
            goes_on = np.flatnonzero(left > step)
            keys = ranks * (int(ranks.max()) + 1)
            keys[goes_on] += ranks[goes_on + step]
            _, inverse = np.unique(keys, return_inverse=True)
            ranks = inverse.astype(np.int64) + 1
            step *= 2
        return cls(corpus, np.argsort(ranks, kind="stable"))

    def nearest(self, corpus: Corpus, *, n_candidates: int = 20) -> Nearest:
        """Return the longest shared n-gram and the most similar texts of the collection for each text of `corpus`."""
        if corpus.vocabulary is not self._corpus.vocabulary:
            raise OptionError(
                "suffix array: the corpora have different vocabularies; build them with one call of corpora_from_texts"
            )
        if n_candidates < 1:
            raise OptionError(f"n_candidates must be at least 1, got {n_candidates}")

        def look_up(start: int) -> tuple[IntArray, IntArray]:
            offsets = corpus.offsets[start : start + _BLOCK + 1]
            result: tuple[IntArray, IntArray] = _look_up(
                corpus.tokens,
                offsets,
                self._corpus.tokens,
                self._corpus.offsets,
                self._places,
                self._sentences,
                n_candidates,
            )
            return result

        parts = parallel_map(look_up, range(0, len(corpus), _BLOCK))
        if not parts:
            return Nearest(np.zeros(0, dtype=np.int64), np.zeros((0, n_candidates), dtype=np.int64))
        return Nearest(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def match_pairs(hypotheses: Corpus, references: Corpus, pairs: IntArray, *, max_order: int) -> npt.NDArray[np.int32]:
    """Return the clipped n-gram matches of hypotheses with single references.

    `pairs`: indices of the references of each hypothesis, shape (N, k), -1 for none.

    Shape (N, k, max_order), int32: an n-gram that occurs c times in the hypothesis and m times in the reference counts
    min(c, m).
    """
    index = NgramIndex.build([hypotheses], max_order=max_order)
    ids, reference_ids = index.all_ids(hypotheses), index.all_ids(references)

    def match(order: int) -> npt.NDArray[np.int32]:
        counts: npt.NDArray[np.int32] = _match_pairs(
            ids[order], hypotheses.offsets, reference_ids[order], references.offsets, pairs, index.sizes[order]
        )
        return counts

    return np.stack(parallel_map(match, range(max_order)), axis=-1)


@njit(cache=True, nogil=True)
def _common(tokens, start, end, others, other_start, other_end):  # type: ignore[no-untyped-def]
    """Return the length of the common prefix of two suffixes."""
    n = min(end - start, other_end - other_start)
    for step in range(n):
        if tokens[start + step] != others[other_start + step]:
            return step
    return n


@njit(cache=True, nogil=True)
def _look_up(  # type: ignore[no-untyped-def]
    tokens, offsets, others, other_offsets, places, sentences, n_candidates
):
    """Return the length of the longest n-gram and the most similar texts of each text in ``offsets``."""
    n_sentences = len(offsets) - 1
    longest = np.zeros(n_sentences, dtype=np.int64)
    similar = np.full((n_sentences, n_candidates), -1, dtype=np.int64)
    most = 0
    for sentence in range(n_sentences):
        most = max(most, offsets[sentence + 1] - offsets[sentence])
    neighbours = np.empty(2 * _EACH_SIDE * most, dtype=np.int64)
    weights = np.empty(2 * _EACH_SIDE * most, dtype=np.int64)
    for sentence in range(n_sentences):
        end = offsets[sentence + 1]
        n_neighbours = 0
        for start in range(offsets[sentence], end):
            low, high = 0, len(places)
            while low < high:
                middle = (low + high) // 2
                place = places[middle]
                place_end = other_offsets[sentences[place] + 1]
                shared = _common(tokens, start, end, others, place, place_end)
                if start + shared == end:
                    is_before = False
                elif place + shared == place_end:
                    is_before = True
                else:
                    is_before = others[place + shared] < tokens[start + shared]
                if is_before:
                    low = middle + 1
                else:
                    high = middle
            for number in range(max(0, low - _EACH_SIDE), min(len(places), low + _EACH_SIDE)):
                place = places[number]
                other = sentences[place]
                shared = _common(tokens, start, end, others, place, other_offsets[other + 1])
                if shared > 0:
                    longest[sentence] = max(longest[sentence], shared)
                    neighbours[n_neighbours], weights[n_neighbours] = other, shared
                    n_neighbours += 1
        _choose(neighbours[:n_neighbours], weights[:n_neighbours], similar[sentence])
    return longest, similar


@njit(cache=True, nogil=True)
def _choose(neighbours, weights, chosen):  # type: ignore[no-untyped-def]
    """Write the texts with the largest summed weights into `chosen`, the largest first."""
    order = np.argsort(neighbours, kind="mergesort")
    n_distinct = 0
    names = np.empty(len(neighbours), dtype=np.int64)
    sums = np.empty(len(neighbours), dtype=np.int64)
    for entry in order:
        if n_distinct == 0 or names[n_distinct - 1] != neighbours[entry]:
            names[n_distinct] = neighbours[entry]
            sums[n_distinct] = 0
            n_distinct += 1
        sums[n_distinct - 1] += weights[entry]
    best = np.argsort(-sums[:n_distinct], kind="mergesort")
    for number in range(min(n_distinct, len(chosen))):
        chosen[number] = names[best[number]]


@njit(cache=True, nogil=True)
def _match_pairs(ids, offsets, reference_ids, reference_offsets, pairs, n_ids):  # type: ignore[no-untyped-def]
    """Return the clipped matches of one order, shape (N, k)."""
    counts = np.zeros(pairs.shape, dtype=np.int32)
    left = np.zeros(n_ids, dtype=np.int32)
    for sentence in range(len(pairs)):
        for position in range(offsets[sentence], offsets[sentence + 1]):
            if ids[position] >= 0:
                left[ids[position]] += 1
        for number in range(pairs.shape[1]):
            reference = pairs[sentence, number]
            if reference < 0:
                continue
            for position in range(reference_offsets[reference], reference_offsets[reference + 1]):
                ngram = reference_ids[position]
                if ngram >= 0:
                    if left[ngram] > 0:
                        counts[sentence, number] += 1
                    left[ngram] -= 1
            for position in range(reference_offsets[reference], reference_offsets[reference + 1]):
                if reference_ids[position] >= 0:
                    left[reference_ids[position]] += 1
        for position in range(offsets[sentence], offsets[sentence + 1]):
            if ids[position] >= 0:
                left[ids[position]] -= 1
    return counts
