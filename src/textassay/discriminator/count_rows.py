"""Sentences as rows of n-gram counts, for networks: how often what ends at each token stands in each side's text.

A sentence the counts were made of is counted without itself (and without its group), so that what it shows is what a
new sentence would show: with its own counts, every training sentence would say which side it is from.

Source: leave-one-out estimation: Ney, Essen, Kneser, "On the estimation of 'small' probabilities by leaving-one-out",
PAMI 17, 1995.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Pair
from textassay.discriminator.logistic import mark_ends
from textassay.discriminator.word_rows import Sentences, WordRows
from textassay.ngram.index import NgramIndex
from textassay.resampling.permutation import joint_groups

__all__ = ["CountRows", "CountedSentences"]

IntArray = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]


@dataclass(frozen=True)
class CountedSentences:
    """Sentences with their ends, as rows of word vectors, padded; and `counts`, shape (T, max_order, 2).

    ``counts[t, k - 1]`` is how often the k tokens that end at t stand in real and generated text; -1 where they would
    begin before the sentence, and in padding.
    """

    sentences: Sentences
    counts: Counts

    def __len__(self) -> int:
        return len(self.sentences)

    @classmethod
    def concatenate(cls, parts: Sequence["CountedSentences"]) -> "CountedSentences":
        """Return the sentences of all `parts`, at least one, in order."""
        return cls(
            Sentences.concatenate([part.sentences for part in parts]), np.concatenate([part.counts for part in parts])
        )

    def take(self, rows: IntArray) -> "CountedSentences":
        """Return the sentences numbered `rows`, in that order."""
        taken = self.sentences.take(rows)
        lengths = np.diff(taken.offsets)
        positions = np.arange(taken.offsets[-1]) + np.repeat(self.sentences.offsets[rows] - taken.offsets[:-1], lengths)
        return CountedSentences(taken, self.counts[positions])

    def padded_counts(self) -> Counts:
        """Return the counts as a table beside `Sentences.padded`, shape (N, length, max_order, 2)."""
        lengths = np.diff(self.sentences.offsets)
        table = np.full((len(self), lengths.max(), *self.counts.shape[1:]), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < lengths[:, None]] = self.counts
        return table


@dataclass(frozen=True)
class CountRows:
    """n-grams of both sides with their counts, and which word has a vector; made by `build`."""

    words: WordRows
    index: NgramIndex
    counts: tuple[Counts, ...]  # one an order, (n-grams, 2)

    @property
    def n_rows(self) -> int:
        """How many word vectors there are."""
        return self.words.n_rows

    @classmethod
    def build(
        cls, train: Pair, *, max_order: int, min_sentences: int
    ) -> tuple["CountRows", tuple[CountedSentences, CountedSentences]]:
        """Return the counts of `train`, and both its sides, each sentence without its own counts.

        Parameters
        ----------
        train
            Real and generated sentences. Those of a group, which may stand on both sides, leave the counts together.
        max_order
            Longest n-grams, in tokens, at least 1.
        min_sentences
            Words of fewer sentences share a vector.
        """
        marked = [mark_ends(corpus) for corpus in train]
        index = NgramIndex.build(marked, max_order=max_order)
        ids = np.concatenate([index.all_ids(corpus) for corpus in marked], axis=1)
        side = np.repeat([0, 1], [len(corpus.tokens) for corpus in marked])
        groups = joint_groups(train[0].groups, train[1].groups, len(train[0]), len(train[1]))
        sentence = np.repeat(groups, np.concatenate([corpus.lengths for corpus in marked]))
        counts, own = [], np.zeros((len(side), max_order, 2), dtype=np.int32)
        for level, size in enumerate(index.sizes):
            here = np.flatnonzero(ids[level] >= 0)
            grams = ids[level][here]
            counts.append(_by_side(grams, side[here], size))
            distinct, number = np.unique(sentence[here] * size + grams, return_inverse=True)
            own[here + level, level] = _by_side(number, side[here], len(distinct))[number]
        built = cls(WordRows.build((marked[0], marked[1]), min_sentences), index, tuple(counts))
        parts = np.split(own, [len(marked[0].tokens)])
        real, generated = (built._rows(corpus, part) for corpus, part in zip(marked, parts, strict=True))
        return built, (real, generated)

    def encode(self, corpus: Corpus) -> CountedSentences:
        """Return new sentences: none of them was counted."""
        if corpus.vocabulary is not self.words.vocabulary:
            corpus = corpus.with_vocabulary(self.words.vocabulary)
        return self._rows(mark_ends(corpus), 0)

    def _rows(self, marked: Corpus, own: Counts | int) -> CountedSentences:
        ids = self.index.all_ids(marked)
        n_orders = len(self.counts)
        counts = np.full((len(marked.tokens), n_orders, 2), -1, dtype=np.int32)
        place = np.arange(len(marked.tokens)) - np.repeat(marked.offsets[:-1], marked.lengths)
        for level, table in enumerate(self.counts):
            ends = np.flatnonzero(place >= level)
            grams = ids[level][ends - level]
            counts[ends, level] = np.where(grams[:, None] >= 0, table[grams], 0)
        counts -= np.where(counts >= 0, own, 0)
        sentences = self.words.encode(marked)
        table = np.full((len(sentences.words), n_orders, 2), -1, dtype=np.int32)
        pads = (len(sentences.words) - len(marked.tokens)) // max(len(marked), 1)
        table[np.arange(len(counts)) + pads * np.repeat(np.arange(len(marked)), marked.lengths)] = counts
        return CountedSentences(sentences, table)


def _by_side(numbers: npt.NDArray[np.integer], side: IntArray, size: int) -> Counts:
    """Return how often each number stands on each side, shape (size, 2)."""
    found = np.bincount(2 * numbers.astype(np.int64) + side, minlength=2 * size)
    return found.reshape(size, 2).astype(np.int32)
