"""Sparse counts, inverse document frequencies and row norms for latent semantic analysis."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def count_matrix(ids: IntArray, offsets: IntArray, n_columns: int) -> csr_matrix:
    """Return the count of each id in each row, shape (len(offsets) - 1, n_columns), float64, for ids of at least 0."""
    is_known = ids >= 0
    starts: IntArray = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(is_known, dtype=np.int64)))[offsets]
    matrix: csr_matrix = csr_matrix((np.ones(starts[-1]), ids[is_known], starts), shape=(len(offsets) - 1, n_columns))
    matrix.sum_duplicates()
    return matrix


def inverse_document_frequency(frequency: npt.NDArray[np.integer], n_documents: int) -> FloatArray:
    """Return ln((1 + n_documents) / (1 + frequency)) + 1, at least 1."""
    return np.asarray(np.log((1 + n_documents) / (1 + frequency)) + 1, dtype=np.float64)


def tfidf(counts: csr_matrix, idf: FloatArray) -> csr_matrix:
    """Return (1 + ln count) times `idf` for every count above 0."""
    data = (1 + np.log(counts.data)) * idf[counts.indices]
    return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def row_lengths(matrix: csr_matrix) -> FloatArray:
    """Return the Euclidean length of each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(np.sqrt(np.bincount(rows, weights=matrix.data**2, minlength=matrix.shape[0])))
