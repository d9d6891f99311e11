"""Sentences as rows of word vectors, for networks: which word has which vector is learnt from the training text.

Source: section 5 of Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation".
Departs from it: words of too few training sentences share a vector, and no sentence is cut. Each is padded as if all
were `N_PADS` tokens longer than the longest; more padding would only repeat a window that is there already.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus import UNK, Corpus, Vocabulary
from textassay.discriminator.base import Pair

IntArray = npt.NDArray[np.int64]

PAD, RARE = 0, 1  # the first two rows
N_PADS = 3  # as many as the widest window of a network


@dataclass(frozen=True)
class Sentences:
    """Sentences as rows of word vectors, `words` (T,), each followed by its padding; `offsets` (N + 1,)."""

    words: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def concatenate(cls, parts: Sequence["Sentences"]) -> "Sentences":
        """Return the sentences of all `parts`, at least one, in order."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(np.concatenate([part.words for part in parts]), np.concatenate(([0], np.cumsum(lengths))))

    def take(self, rows: IntArray) -> "Sentences":
        """Return the sentences numbered `rows`, in that order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Sentences(self.words[positions], offsets)

    def padded(self) -> IntArray:
        """Return the words as a table, all sentences as long as the longest, shape (N, length)."""
        lengths = np.diff(self.offsets)
        table = np.full((len(self), lengths.max()), PAD)
        table[np.arange(table.shape[1]) < lengths[:, None]] = self.words
        return table


@dataclass(frozen=True)
class WordRows:
    """Which word has which vector."""

    vocabulary: Vocabulary  # Of the training text
    rows: IntArray  # Row of each token id, shape (V,); `RARE` for those without a row of their own
    n_rows: int  # How many rows there are, `PAD` and `RARE` among them

    @classmethod
    def build(cls, train: Pair, min_sentences: int) -> "WordRows":
        """Return the words of `train`, ordered by their hashes: the order of ids depends on what else was read."""
        vocabulary = train[0].vocabulary
        n_sentences = np.zeros(len(vocabulary), dtype=np.int64)
        for corpus in train:
            keys = np.repeat(np.arange(len(corpus)), corpus.lengths) * len(vocabulary) + corpus.tokens
            n_sentences += np.bincount(np.unique(keys) % len(vocabulary), minlength=len(vocabulary))
        n_sentences[UNK] = 0
        kept = np.flatnonzero(n_sentences >= min_sentences)
        kept = kept[np.argsort(vocabulary.hashes[kept])]
        rows = np.full(len(vocabulary), RARE)
        rows[kept] = np.arange(len(kept)) + 2
        return cls(vocabulary, rows, len(kept) + 2)

    def encode(self, corpus: Corpus) -> Sentences:
        """Return `corpus` as rows, padded."""
        if corpus.vocabulary is not self.vocabulary:
            corpus = corpus.with_vocabulary(self.vocabulary)
        offsets = corpus.offsets + N_PADS * np.arange(len(corpus) + 1)
        words = np.full(offsets[-1], PAD)
        positions = np.arange(len(corpus.tokens)) + N_PADS * np.repeat(np.arange(len(corpus)), corpus.lengths)
        words[positions] = self.rows[corpus.tokens]
        return Sentences(words, offsets)
