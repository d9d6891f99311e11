"""What says that texts are dependent, written plainly: every text against every other, to check the fast way by.

Vectors are scikit-learn's: counts of words and pairs of words times ``log((1 + n) / (1 + df)) + 1``, of unit length.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom
from sklearn.feature_extraction.text import TfidfVectorizer

from textassay.corpus.corpus import Corpus

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COPY_COSINE, COPY_TOKENS = 0.95, 5
_TIE = 1e-5


@dataclass(frozen=True)
class Crossing:
    """Pairs of texts that are each other's nearest, and those of a real and a generated text."""

    n_pairs: int
    n_crossing: int

    @property
    def p_value(self) -> float:
        """The chance of so many and more, were half of all pairs expected to cross."""
        return float(binom.sf(self.n_crossing - 1, self.n_pairs, 0.5)) if self.n_pairs else 1.0


@dataclass(frozen=True)
class Reference:
    """The statistics of one pair of sides."""

    test: Crossing
    left: Crossing  # between groups of nearest neighbours
    groups: IntArray  # of generated, then real texts: nearest neighbours and equal texts are connected
    # Of the real text alone, shares of its texts: nearest of their nearest; two nearest among each other's three
    # nearest; of those of five tokens or more, repeated nearly word by word
    mutual: float
    triples: float
    copies: float


def reference(generated: Corpus, real: Corpus, *, seed: int = 0) -> Reference:
    """Return the statistics; equally near texts are put in an order drawn from `seed`, the same from both."""
    texts = token_lists(generated) + token_lists(real)
    is_real = np.arange(len(texts)) >= len(generated)
    cosines = shuffled_ties(cosines_of(texts), seed)
    nearest = nearest_of(cosines, 1)[:, 0]
    groups = connected(nearest, texts)
    apart = np.where(groups[:, None] == groups[None, :], -1.0, cosines)
    test = crossing(nearest, is_real)
    left = crossing(nearest_of(apart, 1)[:, 0], is_real, groups=groups, seed=seed)
    return Reference(test, left, groups, *of_one_side(token_lists(real), seed))


def token_lists(corpus: Corpus) -> list[list[int]]:
    """Return the tokens of each text."""
    return [part.tolist() for part in np.split(corpus.tokens, np.cumsum(corpus.lengths)[:-1])]


def words_and_pairs(tokens: list[int]) -> list[tuple[int, ...]]:
    return [*zip(tokens, strict=True), *pairwise(tokens)]


def cosines_of(texts: list[list[int]]) -> FloatArray:
    """Return the cosine of every two texts, -1 of a text with itself, shape (n_texts, n_texts)."""
    vectors = TfidfVectorizer(analyzer=words_and_pairs).fit_transform(texts)
    cosines = np.asarray((vectors @ vectors.T).todense(), dtype=np.float64)
    np.fill_diagonal(cosines, -1.0)
    return cosines


def shuffled_ties(cosines: FloatArray, seed: int) -> FloatArray:
    """Return cosines with something too small to matter added where they are above 0, to put ties in an order."""
    draws = np.random.default_rng(seed).random(cosines.shape)
    return np.where(cosines > 0, np.round(cosines / _TIE) * _TIE + _TIE / 4 * (draws + draws.T), cosines)


def nearest_of(cosines: FloatArray, k: int) -> IntArray:
    """Return the `k` nearest of each text, nearest first, -1 where no other shares a word, shape (n_texts, k)."""
    nearest = np.argsort(-cosines, axis=1)[:, :k]
    return np.where(np.take_along_axis(cosines, nearest, axis=1) > 0, nearest, -1)


def crossing(
    nearest: IntArray, is_real: npt.NDArray[np.bool_], *, groups: IntArray | None = None, seed: int = 0
) -> Crossing:
    """Count the pairs of mutual nearest; with groups, in random order, those of groups that no pair before has."""
    pairs = [(one, other) for one, other in enumerate(nearest.tolist()) if other > one and nearest[other] == one]
    if groups is not None:
        taken: set[int] = set()
        kept = []
        for row in np.random.default_rng(seed).permutation(len(pairs)).tolist():
            both = {int(groups[text]) for text in pairs[row]}
            if taken.isdisjoint(both):
                taken |= both
                kept.append(pairs[row])
        pairs = kept
    return Crossing(len(pairs), sum(bool(is_real[one] != is_real[other]) for one, other in pairs))


def connected(nearest: IntArray, texts: list[list[int]]) -> IntArray:
    """Return the group of each text: it is with its nearest, and with its equals."""
    first: dict[tuple[int, ...], int] = {}
    links = [(row, first.setdefault(tuple(text), row)) for row, text in enumerate(texts)]
    links += [(row, near) for row, near in enumerate(nearest.tolist()) if near >= 0]
    ones, others = np.array(links).T
    graph = coo_array((np.ones(len(ones)), (ones, others)), shape=(len(texts), len(texts)))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def of_one_side(texts: list[list[int]], seed: int) -> tuple[float, float, float]:
    """Return the shares of texts that have a mutual nearest, that come in threes, and that are nearly repeated."""
    cosines = cosines_of(texts)
    long = np.array([len(text) >= COPY_TOKENS for text in texts])
    copies = float(np.mean(cosines[long].max(axis=1) >= COPY_COSINE)) if long.any() else 0.0
    three = nearest_of(shuffled_ties(cosines, seed), 3)
    first, second = three[:, 0], three[:, 1]
    mutual = (first >= 0) & (first[first] == np.arange(len(texts)))
    one_knows = (three[first] == second[:, None]).any(axis=1)
    other_knows = (three[second] == first[:, None]).any(axis=1)
    return float(mutual.mean()), float(np.mean(one_knows & other_knows & (second >= 0))), copies
