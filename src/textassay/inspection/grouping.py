"""What belongs together: groups of texts, from what was given, equal texts and nearest neighbours.

A group is a number of each text, shape (N,); links are pairs of texts that belong together, shape (2, n_links). Groups
are what links connect.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.inspection.nearest import NONE, Vectors
from textassay.inspection.sentence_keys import sentence_keys

IntArray = npt.NDArray[np.int64]

MOST_TOGETHER = 0.2  # of the texts in one group: folds of a fifth cannot hold more
LISTED = 3  # nearest neighbours
_MOST_ROUNDS = 4
_SEVERAL = 0.5  # share of such texts from which, where texts are known to be dependent, they come in threes and more


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
