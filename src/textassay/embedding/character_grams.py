"""Words as bags of character n-grams, which forms of one word and unseen words share.

Source: the subword n-grams of Bojanowski et al., "Enriching Word Vectors with Subword Information", TACL 2017.
Departs from it: n-grams are exact instead of hashed, weighted by inverse frequency among words, and not trained.
Own code since scikit-learn's `TfidfVectorizer`, which gives the same to 1e-15, takes 1 s to load and twice as long.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.embedding.weighting import count_matrix, inverse_document_frequency, row_lengths

Codes = npt.NDArray[np.int64]

_START, _END = 0x110000, 0x110001  # no character has these codes


class CharacterGrams:
    """The character n-grams that occur in at least two words."""

    def __init__(self, words: Sequence[str], orders: tuple[int, int]) -> None:
        self._orders = orders
        self._keys: list[Codes] = []  # of each order from 1: its n-grams as sorted pairs (prefix, last character)
        counts = self._counts(words, learn=True)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        self._kept = np.flatnonzero(frequency > 1)
        self._idf = inverse_document_frequency(frequency[self._kept], len(words))

    @property
    def n_features(self) -> int:
        """Number of n-grams."""
        return len(self._kept)

    def profiles(self, words: Sequence[str]) -> csr_matrix:
        """Return one row per word, shape (len(words), n_features), float64, of length 1 (0 without known n-grams)."""
        counts = self._counts(words, learn=False)[:, self._kept]
        counts.data *= self._idf[counts.indices]
        counts.data /= np.repeat(row_lengths(counts), np.diff(counts.indptr))
        return counts

    def _counts(self, words: Sequence[str], *, learn: bool) -> csr_matrix:
        """Return the count of each n-gram in each word; with `learn`, of new n-grams."""
        codes, offsets = _codes(words)
        ends = np.repeat(offsets[1:], np.diff(offsets))
        ids = np.zeros(len(codes), dtype=np.int64)
        columns, firsts, n_columns = [], [], 0
        for order in range(1, self._orders[1] + 1):
            starts = np.flatnonzero((np.arange(len(codes)) + order <= ends) & (ids >= 0))
            keys = ids[starts] * (_END + 1) + codes[starts + order - 1]
            if learn:
                self._keys.append(np.unique(keys))
            known = self._keys[order - 1]
            ids = np.full(len(codes), -1)
            ids[starts] = _find(known, keys)
            if order >= self._orders[0]:
                columns.append(np.where(ids >= 0, ids + n_columns, -1))
                n_columns += len(known)
                firsts.append(offsets)
        together = np.stack(columns, axis=1).ravel()
        return count_matrix(together, offsets * len(columns), n_columns)


def _codes(words: Sequence[str]) -> tuple[Codes, Codes]:
    """Return the characters of all words, each between a start and an end mark, and the offsets of words."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words)) + 2
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    codes = np.full(offsets[-1], _START, dtype=np.int64)
    codes[offsets[1:] - 1] = _END
    inner = np.ones(len(codes), dtype=bool)
    inner[offsets[:-1]] = False
    inner[offsets[1:] - 1] = False
    codes[inner] = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return codes, offsets


def _find(known: Codes, keys: Codes) -> Codes:
    """Return the index of each of `keys` in the sorted `known`; -1 if absent."""
    if len(known) == 0:
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)
