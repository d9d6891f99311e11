"""Whether nearest neighbours are of different sides more often than independent texts are.

Pairs are formed of texts that are each other's nearest neighbour; no text is in two pairs. Where a and b are the
densities of both samples at a place, independent texts pair across the sides as 2ab to a^2 + b^2 within them: in at
most half of the pairs, whatever the distributions and sizes, among the nearest pairs as among all. So the upper tail of
a binomial with one half is a p-value, the smallest one counts, times how many there are. Samples that differ cross the
sides less often, which makes it conservative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, stdtr

from textassay.corpus.corpus import Corpus
from textassay.inspection.grouping import connected
from textassay.inspection.nearest import Vectors
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

ALPHA = 0.01  # that texts are dependent
_FEWEST_PAIRS = 16  # the nearest ones that are tested by themselves; then four times as many, and so on
_DECIMALS = 5  # of cosines; what differs by less is rounding
_UNEQUAL = 1.25  # ratio of sizes from which the larger side is thinned for the test
_N_SHOWN = 3


@dataclass(frozen=True)
class CrossingTest:
    """Pairs of nearest neighbours, how many of them are of both sides, and how likely that many are."""

    n_pairs: int = 0
    n_crossing: int = 0
    p_value: float = 1.0
    is_of_nearest: bool = False  # whether these are the nearest of all pairs
    overall: float = 0.5  # Share of all pairs that cross

    def __str__(self) -> str:
        what = "nearest pairs of texts" if self.is_of_nearest else "pairs of nearest neighbours"
        return (
            f"{self.n_crossing:,} of the {self.n_pairs:,} {what} are a generated and a real one, where independent "
            "texts have at most half"
        )


@dataclass(frozen=True, eq=False)
class Tested:
    """The texts that are tested: as many of both sides, drawn from the larger one.

    With more of one side, several answers of one side to each of the other would cross no more often than they may.
    """

    vectors: Vectors
    rows: IntArray  # Which texts of both sides they are, generated ones first
    n_generated: int
    n_texts: int  # Of both sides in all

    @classmethod
    def of(cls, vectors: Vectors, sides: Sequence[Corpus]) -> "Tested":
        """Return as many texts of both sides, or all where the sides have nearly as many."""
        sizes = [len(side) for side in sides]
        if max(sizes) <= _UNEQUAL * min(sizes):
            return cls(vectors, np.arange(sum(sizes)), sizes[0], sum(sizes))
        rows = [
            np.sort(stream(0, "dependence", "thinned").permutation(size)[: min(sizes)]) if size > min(sizes) else None
            for size in sizes
        ]
        parts = [side if row is None else side.take(row) for side, row in zip(sides, rows, strict=True)]
        ids = [np.arange(size) if row is None else row for size, row in zip(sizes, rows, strict=True)]
        return cls(Vectors.of(parts), np.concatenate([ids[0], sizes[0] + ids[1]]), len(ids[0]), sum(sizes))

    @cached_property
    def nearest(self) -> IntArray:
        """The nearest text of each, shape (N,)."""
        return self.vectors.nearest(1)[0][:, 0].astype(np.int64)

    def test(self, groups: IntArray | None) -> CrossingTest:
        """Return the test of neighbours in other groups; `groups`: of all texts of both sides.

        It is that with the smallest p-value, which is corrected for the number of tests. A group is in one of the pairs
        at most, since what is near to a text is near to its copies; and all pairs are tested, too, what groups connect
        being one observation.
        """
        if groups is None:
            ones, others = self._pairs(self.nearest)
        else:
            groups = groups[self.rows]
            ones, others = self._pairs(self.vectors.nearest(1, groups=groups)[0][:, 0].astype(np.int64))
        if not len(ones):
            return CrossingTest()
        crosses = (ones < self.n_generated) != (others < self.n_generated)
        overall, tests = float(crosses.mean()), []
        if groups is not None:
            tests.append(_of_all_pairs(crosses, groups[ones], groups[others]))
            crosses = crosses[_of_new_groups(groups[ones], groups[others], int(groups.max()) + 1)]
        n_all, n = len(crosses), min(_FEWEST_PAIRS, len(crosses))
        while n:
            count = int(np.count_nonzero(crosses[:n]))
            tests.append(CrossingTest(n, count, _binomial_tail(count, n), n < n_all))
            n = min(4 * n, n_all) if n < n_all else 0
        best = min(tests, key=lambda one: one.p_value)
        return replace(best, p_value=min(1.0, best.p_value * len(tests)), overall=overall)

    def _pairs(self, nearest: IntArray) -> tuple[IntArray, IntArray]:
        """Return the texts that are each other's nearest, generated ones first, the nearest pairs first.

        Of pairs that are equally near, those that begin with early rows would cross more often: their order is random.
        """
        ids = np.arange(len(nearest))
        ones = ids[(nearest > ids) & (nearest[nearest] == ids)]
        ones = stream(0, "dependence", "ties").permutation(ones)
        ones = ones[np.argsort(-self.vectors.cosines(ones, nearest[ones]).round(_DECIMALS), kind="stable")]
        return ones, nearest[ones]

    def crossing_pairs(self, generated: Corpus, real: Corpus) -> tuple[tuple[str, str], ...]:
        """Return the nearest pairs across the sides as texts, generated ones first."""
        ones, others = self._pairs(self.nearest)
        crossing = np.flatnonzero((ones < self.n_generated) & (others >= self.n_generated))[:_N_SHOWN]
        pairs = zip(self.rows[ones[crossing]].tolist(), self.rows[others[crossing]].tolist(), strict=True)
        return tuple((generated.texts[one], real.texts[other - len(generated)]) for one, other in pairs)


def _binomial_tail(count: int, n: int) -> float:
    """Return the probability of at least `count` of `n` at one half."""
    return float(bdtrc(count - 1, n, 0.5)) if count > 0 else 1.0


def _of_all_pairs(crosses: npt.NDArray[np.bool_], ones: IntArray, others: IntArray) -> CrossingTest:
    """Return the test of all pairs; `ones`, `others`: the groups that each pair connects."""
    n_groups = int(max(ones.max(), others.max())) + 1
    cluster = connected([np.stack([ones, others])], n_groups)[ones]
    sums = np.bincount(cluster, weights=crosses - 0.5)
    sums = sums[np.bincount(cluster) > 0]
    spread = math.sqrt(float(np.sum(sums**2)))
    p_value = float(stdtr(len(sums) - 1, -float(sums.sum()) / spread)) if len(sums) > 1 and spread else 1.0
    return CrossingTest(len(crosses), int(np.count_nonzero(crosses)), p_value)


@numba.njit(cache=True)
def _of_new_groups(ones, others, n_groups):  # type: ignore[no-untyped-def]
    """Return which pairs are of groups that no pair before has, a mask of shape (n_pairs,)."""
    taken, kept = np.zeros(n_groups, dtype=np.bool_), np.zeros(len(ones), dtype=np.bool_)
    for pair in range(len(ones)):
        kept[pair] = not (taken[ones[pair]] or taken[others[pair]])
        if kept[pair]:
            taken[ones[pair]] = taken[others[pair]] = True
    return kept
