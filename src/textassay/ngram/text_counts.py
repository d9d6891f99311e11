"""How often each of some texts holds each n-gram, counted once: what learns from some of the texts takes their rows.

A discriminator looks at the n-grams that several of its training texts hold. Cross-fitting gives it other training
texts in each fold, and counting n-grams anew each time would take longer than most fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from textassay.corpus.corpus import Corpus
from textassay.ngram.index import NgramIndex, mark_ends

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeptNgrams:
    """Some n-grams of an index, the features of a model."""

    index: NgramIndex
    columns: IntArray  # of `NgramIndex.count_matrix`, ascending
    with_ends: bool  # whether texts are counted with a start and an end token

    def counts(self, corpus: Corpus) -> csr_matrix:
        """Return how often texts with the index's vocabulary hold each of them, shape (N, n_columns)."""
        marked = mark_ends(corpus) if self.with_ends else corpus
        return self.index.count_matrix(marked)[:, self.columns]

    def columns_of(self, marked: Corpus) -> Iterator[IntArray]:
        """Yield, for each order, which column is the n-gram that starts at each token, -1 for none of them, shape (T,).

        `marked`: texts with start and end tokens where they were counted with them.
        """
        column_of = np.full(self.index.n_features + 1, -1)  # the last: of an n-gram that is not in the index
        column_of[self.columns] = np.arange(len(self.columns))
        first = 0
        for ids, size in zip(self.index.all_ids(marked), self.index.sizes, strict=True):
            yield column_of[np.where(ids >= 0, first + ids, -1)]
            first += size


@dataclass(frozen=True)
class TextCounts:
    """Counts of the n-grams that at least `min_sentences` of all texts hold; made by `of`."""

    index: NgramIndex
    matrix: csr_matrix  # shape (N, index.n_features)
    min_sentences: int
    with_ends: bool

    @classmethod
    def of(cls, corpora: Sequence[Corpus], *, max_order: int, min_sentences: int, with_ends: bool) -> "TextCounts":
        """Return the counts of the texts of `corpora`, in order."""
        marked = [mark_ends(corpus) if with_ends else corpus for corpus in corpora]
        index = NgramIndex.build(marked, max_order=max_order, min_sentences=min_sentences)
        matrix = vstack([index.count_matrix(corpus) for corpus in marked], format="csr")
        return cls(index, matrix, min_sentences, with_ends)

    def learnt_from(self, rows: IntArray) -> tuple[KeptNgrams, csr_matrix]:
        """Return the n-grams that at least `min_sentences` of the texts `rows` hold, and their counts in these."""
        counts = self.matrix[rows]
        held_by = np.bincount(counts.indices, minlength=self.index.n_features)
        columns = np.flatnonzero(held_by >= self.min_sentences)
        return KeptNgrams(self.index, columns, self.with_ends), counts[:, columns]

    def of_rows(self, rows: IntArray, kept: KeptNgrams) -> csr_matrix:
        """Return the counts of `kept` in the texts `rows`."""
        return self.matrix[rows][:, kept.columns]
