"""What belongs together: groups of texts, from what was given, equal texts and nearest neighbours.

Neighbours are the nearest texts, whatever their side, by the cosine of tf-idf over words and word pairs. Every text is
a unit vector of its words and pairs of adjacent words, counts times ``log((1 + n) / (1 + df)) + 1``. Products are
summed over an inverted index, which takes the sum of squared numbers of texts that share a feature. Where that is too
much, the features of most texts are left out of the products (not of the lengths of vectors), down to those of 50
texts: what is left tells neighbours best, and the work then grows with the text. Equally near texts are put in an order
that is random, symmetric, and knows nothing of sides and rows.

A group is a number of each text, shape (N,); links are pairs of texts that belong together, shape (2, n_links). Groups
are what links connect.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.inspection.kernels import cosines_of_pairs, search_nearest
from textassay.inspection.sentence_keys import sentence_keys

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_LEAST_TEXTS = 50  # features of at most so many texts always count
_MOST_PRODUCTS = 30_000_000  # about 0.05 s
_TEXTS_AT_ONCE = 4096
NONE = -1

MOST_TOGETHER = 0.2  # of the texts in one group: folds of a fifth cannot hold more
LISTED = 3  # nearest neighbours
_MOST_ROUNDS = 4
_SEVERAL = 0.5  # share of such texts from which, where texts are known to be dependent, they come in threes and more


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
            search_nearest(*arrays, *postings, own, first, min(n, first + _TEXTS_AT_ONCE), places, cosines)

        parallel_map(search, range(0, n, _TEXTS_AT_ONCE))
        return places, cosines.astype(np.float64)

    def cosines(self, ones: IntArray, others: IntArray) -> FloatArray:
        """Return the cosines of pairs of texts, over all features, shape (n_pairs,)."""
        arrays = self.starts, self.features, self.weights, ones.astype(np.int64), others.astype(np.int64)
        return np.asarray(cosines_of_pairs(*arrays), dtype=np.float64)


def _most_texts(n_having: IntArray) -> int:
    """Return in how many texts a feature may stand, so that products do not become too many."""
    sizes, n_features = np.unique(n_having, return_counts=True)
    n_products = np.cumsum(n_features * sizes.astype(np.float64) ** 2)
    few_enough = sizes[n_products <= _MOST_PRODUCTS]
    return max(_LEAST_TEXTS, int(few_enough[-1]) if len(few_enough) else 0)


def connected(links: Iterable[IntArray], n: int) -> IntArray:
    """Return the group of each of `n` things, shape (n,), from links of two that belong together, shapes (2, k)."""
    from scipy.sparse import coo_array  # most texts are independent, and need none of it
    from scipy.sparse.csgraph import connected_components

    ones, others = np.concatenate(list(links), axis=1)
    graph = coo_array((np.ones(len(ones), dtype=np.int8), (ones, others)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def as_links(groups: IntArray) -> IntArray:
    """Return links that connect every group, shape (2, N)."""
    _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
    return np.stack([np.arange(len(groups)), firsts[members.reshape(-1)]])


def largest_share(groups: IntArray) -> float:
    """Return the share of the texts in the largest group."""
    return float(np.bincount(np.unique(groups, return_inverse=True)[1].reshape(-1)).max() / len(groups))


def declared_groups(sides: Sequence[Corpus]) -> IntArray | None:
    """Return the groups that were given, from 0, of all texts of all sides; a text without one is by itself."""
    given = [side.groups for side in sides if side.groups is not None]
    if not given:
        return None
    names = np.unique(np.concatenate(given))
    first, parts = len(names), []
    for side in sides:
        own = np.arange(first, first + len(side))
        parts.append(own if side.groups is None else np.searchsorted(names, side.groups))
        first += len(side)
    return np.concatenate(parts)


def equal_or_declared(sides: Sequence[Corpus]) -> IntArray:
    """Return groups of equal texts and of those that were given, shape (N,)."""
    declared = declared_groups(sides)
    keys = np.concatenate([sentence_keys(side) for side in sides]).view(np.int64)
    return connected([as_links(keys), *([] if declared is None else [as_links(declared)])], len(keys))


def side_by_side(generated: IntArray, real: IntArray, declared: IntArray | None, sides: Sequence[Corpus]) -> IntArray:
    """Return groups of both sides that no text of one shares with the other but by what was given."""
    n = len(sides[0])
    links = [as_links(generated), n + as_links(real)]
    links += [] if declared is None else [as_links(declared)]
    return connected(links, n + len(sides[1]))


def candidate_groups(vectors: Vectors, base: IntArray) -> Iterator[IntArray]:
    """Yield groups that might do, small ones first: `base`, of equal texts and what was given; with neighbours; more.

    Each group is joined with its nearest one; where texts come in threes and more, each text also with the three
    nearest that list it among theirs, too. Last, each group is joined with its nearest one, again and again.
    """
    yield base
    places, cosines = vectors.nearest(LISTED, groups=base)
    groups = _joined_once(base, places[:, 0], cosines[:, 0])
    if share_of_triples(places) >= _SEVERAL:
        mutual = (places[places] == np.arange(len(base))[:, None, None]).any(axis=2) & (places != NONE)
        ones, which = np.nonzero(mutual)
        more = connected([as_links(groups), np.stack([ones, places[ones, which].astype(np.int64)])], len(base))
        if largest_share(more) <= MOST_TOGETHER:
            groups = more
    yield groups
    for _ in range(_MOST_ROUNDS):
        places, cosines = vectors.nearest(1, groups=groups)
        groups = _joined_once(groups, places[:, 0], cosines[:, 0])
        yield groups


def share_of_triples(places: npt.NDArray[np.int32]) -> float:
    """Return the share of texts whose two nearest are near to each other; `places`: their nearest, nearest first."""
    nearest, second = places[:, 0], places[:, 1]
    known = (second != NONE) & (places[nearest] == second[:, None]).any(axis=1)
    return float(np.mean(known & (places[second] == nearest[:, None]).any(axis=1)))


def _joined_once(groups: IntArray, near: npt.NDArray[np.int32], cosines: npt.NDArray[np.float64]) -> IntArray:
    """Return groups of which each is joined with its nearest one; `near`, `cosines`: of the texts, in other groups."""
    order = np.lexsort((-cosines, groups))
    best = order[np.flatnonzero(np.diff(groups[order], prepend=-1))]
    best = best[near[best] != NONE]
    return connected([as_links(groups), np.stack([best, near[best].astype(np.int64)])], len(groups))
