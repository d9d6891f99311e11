"""Nearest neighbours among texts, whatever their side: cosine of tf-idf over words and word pairs.

Every text is a unit vector of its words and pairs of adjacent words, counts times ``log((1 + n) / (1 + df)) + 1``.
Products are summed over an inverted index, which takes the sum of squared numbers of texts that share a feature. Where
that is too much, the features of most texts are left out of the products (not of the lengths of vectors), down to those
of 50 texts: what is left tells neighbours best, and the work then grows with the text.

Equally near texts are put in an order that is random, symmetric, and knows nothing of sides and rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_LEAST_TEXTS = 50  # features of at most so many texts always count
_MOST_PRODUCTS = 30_000_000  # about 0.05 s
_TEXTS_AT_ONCE = 4096
NONE = -1


@dataclass(frozen=True, eq=False)
class Vectors:
    """Unit vectors of N texts, sparse, and which texts have each feature that counts."""

    starts: IntArray  # Where the features of each text start, shape (N + 1,)
    features: npt.NDArray[np.int32]  # In increasing order within a text
    weights: npt.NDArray[np.float32]
    # The same, feature by feature, but for features of one text and of too many
    posting_starts: IntArray
    posting_texts: npt.NDArray[np.int32]
    posting_weights: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, corpora: Sequence[Corpus]) -> "Vectors":
        """Return the vectors of all texts of corpora that share a vocabulary, in order."""
        tokens = np.concatenate([corpus.tokens for corpus in corpora]).astype(np.int64)
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        n_texts, n_types = len(lengths), len(corpora[0].vocabulary)
        text = np.repeat(np.arange(n_texts), lengths)
        paired = text[1:] == text[:-1]
        pairs = tokens[:-1][paired] * n_types + tokens[1:][paired]
        kinds, pair_of = np.unique(pairs, return_inverse=True)
        n_features = n_types + len(kinds)
        keys = np.concatenate([tokens, n_types + pair_of]) + n_features * np.concatenate([text, text[1:][paired]])
        keys, counts = np.unique(keys, return_counts=True)
        of_text, features = np.divmod(keys, n_features)
        n_having = np.bincount(features, minlength=n_features)
        weights = counts * (np.log((1 + n_texts) / (1 + n_having)) + 1)[features]
        norms = np.sqrt(np.bincount(of_text, weights=weights**2, minlength=n_texts))
        weights /= norms[of_text]
        counts_here = (n_having >= 2) & (n_having <= _most_texts(n_having))
        kept = counts_here[features]
        order = np.argsort(features[kept], kind="stable")
        return cls(
            np.searchsorted(of_text, np.arange(n_texts + 1)),
            features.astype(np.int32),
            weights.astype(np.float32),
            np.concatenate([[0], np.cumsum(np.where(counts_here, n_having, 0))]),
            of_text[kept][order].astype(np.int32),
            weights[kept][order].astype(np.float32),
        )

    def nearest(self, k: int = 1, *, groups: IntArray | None = None) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other texts of each text and their cosines, shapes (N, k), nearest first.

        `groups`: of each text, shape (N,); then those of other groups. `NONE` and 0 where no text shares a feature.
        """
        n = len(self)
        places = np.full((n, k), NONE, dtype=np.int32)
        cosines = np.zeros((n, k), dtype=np.float32)
        own = np.arange(n) if groups is None else groups

        def search(first: int) -> None:
            arrays = (self.starts, self.features, self.weights)
            postings = (self.posting_starts, self.posting_texts, self.posting_weights)
            _search(*arrays, *postings, own, first, min(n, first + _TEXTS_AT_ONCE), places, cosines)

        parallel_map(search, range(0, n, _TEXTS_AT_ONCE))
        return places, cosines.astype(np.float64)

    def cosines(self, ones: IntArray, others: IntArray) -> FloatArray:
        """Return the cosines of pairs of texts, over all features, shape (n_pairs,)."""
        arrays = self.starts, self.features, self.weights, ones.astype(np.int64), others.astype(np.int64)
        return np.asarray(_cosines(*arrays), dtype=np.float64)


def _most_texts(n_having: IntArray) -> int:
    """Return in how many texts a feature may stand, so that products do not become too many."""
    sizes, n_features = np.unique(n_having, return_counts=True)
    n_products = np.cumsum(n_features * sizes.astype(np.float64) ** 2)
    few_enough = sizes[n_products <= _MOST_PRODUCTS]
    return max(_LEAST_TEXTS, int(few_enough[-1]) if len(few_enough) else 0)


@numba.njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    starts, features, weights, posting_starts, posting_texts, posting_weights, groups, first, last, places, cosines
):
    n, k = len(starts) - 1, places.shape[1]
    sums = np.zeros(n, dtype=np.float32)
    reached = np.empty(n, dtype=np.int32)
    for text in range(first, last):
        n_reached = 0
        for entry in range(starts[text], starts[text + 1]):
            feature, weight = features[entry], weights[entry]
            for posting in range(posting_starts[feature], posting_starts[feature + 1]):
                other = posting_texts[posting]
                if sums[other] == 0:
                    reached[n_reached] = other
                    n_reached += 1
                sums[other] += weight * posting_weights[posting]
        for number in range(n_reached):
            other = reached[number]
            cosine = sums[other]
            sums[other] = 0
            if other == text or groups[other] == groups[text]:
                continue
            place = k
            while place > 0 and _is_nearer(cosine, text, other, cosines[text, place - 1], places[text, place - 1]):
                place -= 1
            if place < k:
                for lower in range(k - 1, place, -1):
                    places[text, lower] = places[text, lower - 1]
                    cosines[text, lower] = cosines[text, lower - 1]
                places[text, place] = other
                cosines[text, place] = cosine


@numba.njit(cache=True, nogil=True)
def _cosines(starts, features, weights, ones, others):  # type: ignore[no-untyped-def]
    cosines = np.zeros(len(ones))
    for pair in range(len(ones)):
        here, there = starts[ones[pair]], starts[others[pair]]
        ends = starts[ones[pair] + 1], starts[others[pair] + 1]
        while here < ends[0] and there < ends[1]:
            if features[here] == features[there]:
                cosines[pair] += weights[here] * weights[there]
            here, there = here + (features[here] <= features[there]), there + (features[there] <= features[here])
    return cosines


@numba.njit(cache=True, nogil=True)
def _is_nearer(cosine, text, other, best_cosine, best):  # type: ignore[no-untyped-def]
    """Return whether `other` is nearer to `text` than `best`; what differs by rounding alone is equally near."""
    if best < 0 or cosine > best_cosine + 1e-5:
        return True
    return cosine >= best_cosine - 1e-5 and _lot(text, other) > _lot(text, best)


@numba.njit(cache=True, nogil=True)
def _lot(one, other):  # type: ignore[no-untyped-def]
    """Return a random number of two texts, in either order."""
    low, high = np.uint64(min(one, other)), np.uint64(max(one, other))
    mixed = (low << np.uint64(32) | high) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))
