"""Leading singular vectors of a large sparse matrix, by randomised subspace iteration.

Source: Halko, Martinsson, Tropp, "Finding Structure with Randomness", SIAM Review 2011, algorithm 4.4.
Departs from it: columns are orthonormalised by their Gram matrix, twenty times as fast as by Householder reflections.
Own code since scikit-learn's `randomized_svd` needs the product of the factors, and is four to six times as slow.
"""

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.execution.threads import one_blas_thread, parallel_map

FloatArray = npt.NDArray[np.float64]
Float = TypeVar("Float", np.float32, np.float64)

_ITERATIONS = 3  # products with the matrix and its transpose before the last one
_NOISE = 1e-13  # directions whose squared length is below this share of the longest are rounding errors
_BLOCK = 2048  # rows multiplied at once


class Terms(NamedTuple):
    """One matrix per kind of term: words, word n-grams, character n-grams; shapes (n_terms, k)."""

    words: FloatArray
    ngrams: FloatArray
    characters: FloatArray


class TermMatrix:
    """Texts by terms, where a word counts as itself and as its character n-grams.

    The matrix ``[word_rows @ diag(own), ngram_rows, word_rows @ profiles]`` is never built: products with its sparse
    factors cost a tenth.

    `word_rows`, `ngram_rows`: weights of words and of n-grams in each text, shapes (n, n_words), (n, n_ngrams);
    `own`: weight of each word as itself, shape (n_words,); `profiles`: weights of the character n-grams of each word,
    shape (n_words, n_characters).
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
    """Return ``matrix @ dense`` in the precision of `dense`, with the same bits for any number of threads."""
    if matrix.shape[0] <= _BLOCK:
        return np.asarray(matrix @ dense, dtype=dense.dtype)
    blocks = [slice(start, start + _BLOCK) for start in range(0, matrix.shape[0], _BLOCK)]
    product = np.empty((matrix.shape[0], dense.shape[1]), dtype=dense.dtype)

    def fill(block: slice) -> None:
        product[block] = matrix[block] @ dense

    parallel_map(fill, blocks)
    return product


def top_directions(matrix: TermMatrix, start: FloatArray, dimensions: int) -> Terms:
    """Return the leading right singular vectors, from random columns `start`, shape (n, k)."""
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
    """Return an orthonormal basis of the span of `columns`, in two passes for precision."""
    for _ in range(2):
        values, rotation = _eigen(columns.T @ columns)
        columns = columns @ (rotation / np.sqrt(values))
    return columns


def _eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, largest first, and eigenvectors in columns, without those of rounding errors."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _NOISE * values.max(initial=0)
    return values[kept][::-1], vectors[:, kept][:, ::-1]
