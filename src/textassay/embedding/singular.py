"""The leading singular vectors of a large sparse matrix that is known only by its products.

Source: Halko, Martinsson, Tropp, "Finding Structure with Randomness", SIAM Review 2011, algorithm 4.4.
Departs from it: columns are made orthonormal by way of their Gram matrix, twenty times as fast as by reflections.
"""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.execution import one_blas_thread, parallel_map

FloatArray = npt.NDArray[np.float64]
Float = TypeVar("Float", np.float32, np.float64)

_ITERATIONS = 3  # products with the matrix and its transpose before the last one
_NOISE = 1e-13  # directions whose squared length is below this share of the longest are rounding errors
_BLOCK = 2048  # rows multiplied at once


class Terms(NamedTuple):
    """One row for each kind of term: words, n-grams of words, n-grams of characters; shapes (n_terms, k)."""

    words: FloatArray
    ngrams: FloatArray
    characters: FloatArray


class TermMatrix:
    """Sentences by terms, where a word stands for itself and for the n-grams of characters inside it.

    Never made: it is ``[word_rows @ diag(own), ngram_rows, word_rows @ profiles]``, and products with the two sparse
    matrices cost a tenth of those with the whole.

    `word_rows`, `ngram_rows`: weights of words and of n-grams in each sentence, shapes (n, n_words), (n, n_ngrams);
    `own`: weight of each word as itself, shape (n_words,); `profiles`: weights of the n-grams of characters in each
    word, shape (n_words, n_characters).
    """

    def __init__(self, word_rows: csr_matrix, ngram_rows: csr_matrix, own: FloatArray, profiles: csr_matrix) -> None:
        self._word_rows, self._word_columns = word_rows, word_rows.T.tocsr()
        self._ngram_rows, self._ngram_columns = ngram_rows, ngram_rows.T.tocsr()
        self._profiles, self._profile_columns = profiles, profiles.T.tocsr()
        self._own = own[:, None]

    def times(self, terms: Terms) -> FloatArray:
        """Return the product with `terms`, shape (n, k)."""
        words = self._own * terms.words
        words += times(self._profiles, terms.characters)
        product = times(self._word_rows, words)
        product += times(self._ngram_rows, terms.ngrams)
        return product

    def transposed_times(self, sentences: FloatArray) -> Terms:
        """Return the product of the transpose with `sentences`, shape (n, k)."""
        words = times(self._word_columns, sentences)
        characters = times(self._profile_columns, words)
        words *= self._own
        return Terms(words, times(self._ngram_columns, sentences), characters)


def times(matrix: csr_matrix, dense: npt.NDArray[Float]) -> npt.NDArray[Float]:
    """Return ``matrix @ dense``, in the precision of `dense`: the same bits with any number of threads."""
    if matrix.shape[0] <= _BLOCK:
        return np.asarray(matrix @ dense, dtype=dense.dtype)
    blocks = [slice(start, start + _BLOCK) for start in range(0, matrix.shape[0], _BLOCK)]
    product = np.empty((matrix.shape[0], dense.shape[1]), dtype=dense.dtype)

    def fill(block: slice) -> None:
        product[block] = matrix[block] @ dense

    parallel_map(fill, blocks)
    return product


def top_directions(matrix: TermMatrix, start: FloatArray, dimensions: int) -> Terms:
    """Return the leading right singular vectors.

    `start`: random columns, shape (n, k).
    """
    with one_blas_thread():
        sentences = _orthonormal(start)
        for _ in range(_ITERATIONS):
            sentences = _orthonormal(matrix.times(matrix.transposed_times(sentences)))
        terms = matrix.transposed_times(sentences)
        values, rotation = _eigen(sum((part.T @ part for part in terms), start=np.zeros(())))
        if len(values) == 0:
            return Terms(*(np.zeros((len(part), 1)) for part in terms))
        turn = rotation[:, :dimensions] / np.sqrt(values[:dimensions])
        return Terms(*(part @ turn for part in terms))


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the space of `columns`; done twice, since the first is only nearly so."""
    for _ in range(2):
        values, rotation = _eigen(columns.T @ columns)
        columns = columns @ (rotation / np.sqrt(values))
    return columns


def _eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, largest first, and eigenvectors in columns, those of rounding errors left out."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _NOISE * values.max(initial=0)
    return values[kept][::-1], vectors[:, kept][:, ::-1]
