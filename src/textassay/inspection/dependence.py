"""Whether texts are independent, what belongs together where they are not, and what is left then.

Intervals, bounds and p-values assume independent texts. Translations of the same sentences, answers to the same
prompts, continuations of the same beginnings and files written twice are not: a text's partner stands among the
training texts of a classifier, on the other side, and what is remembered is wrong.

The test. Texts of both sides are pooled, and pairs are formed of texts that are each other's nearest neighbour; no text
is in two pairs. Where a and b are the densities of both samples at a place, independent texts pair across the sides as
2ab to a^2 + b^2 within them: in at most half of the pairs, whatever the distributions and sizes, among the nearest
pairs as among all. So the upper tail of a binomial with one half is a p-value, the smallest one counts, times how many
there are. Samples that differ cross the sides less often, which makes it conservative.

What belongs together. Equal texts, and those of a group that was given, are linked with the nearest other text, and
groups are what links connect. They are made without a look at sides, so under "no difference" sides stay exchangeable
in a group. They cost independent text some of its difference and hide that a generator repeats itself, so they are used
where the test or the order of rows says that texts are dependent, or the real text depends within itself. A side that
depends within itself alone is grouped alone, beside equal texts of the other: of two files that were made alike, the
copies of one may be clear and those of the other not.

What is left. The test again, with neighbours in other groups. While it is significant, or the real text still depends
within itself, each group is linked with its nearest other group; where that does not end it, nothing can be told.

Copies within a side can be chance: some texts are frequent, and a collapsed generator has few. Then numbers of texts
that stand once, twice, three times are a mixture of Poisson distributions, for which ``j! d_j`` is log-convex in j
(Cauchy and Schwarz). A file written three times breaks that.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, chdtri, pdtr, stdtr

from textassay.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.finding import REAL, Finding
from textassay.inspection.nearest import NONE, Vectors
from textassay.inspection.sentence_keys import sentence_keys
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (generated, real)
Groups = tuple[IntArray, IntArray]  # of the same

_ALPHA = 0.01  # that texts are dependent
_ALPHA_LEFT = 0.05  # that groups leave some of it
_WITHOUT_JOINING, _MOST_LEFT = 3, 0.6  # of joined groups few pairs are left: then at most such a share may cross
_FEWEST_PAIRS = 16  # the nearest ones that are tested by themselves; then four times as many, and so on
_MOST_ROUNDS = 4
_TOO_UNLIKE = (0.6, 0.9)  # share of the farthest quarter of pairs that cross, where partners are found in part
# Of real text alone, shares from which it depends within itself; see `_within`
_COPIES = 0.12
_SEVERAL = 0.5  # share of such texts from which, where texts are known to be dependent, they come in threes and more
_LISTED = 3  # nearest neighbours
_COPY_COSINE, _COPY_TOKENS = 0.95, 5
_DECIMALS = 5  # of cosines; what differs by less is rounding
_FEWEST, _FEWEST_WITHIN = 40, 150  # texts, for the order of rows, and for these shares
_ORDERED = 8.0  # standard deviations from shifted rows; independent files: at most 3
_N_SHIFTS = 20
_LEAST_RUNS = 1.3  # sentences of paragraphs: 6; captions in the order of a public file: 1.2
_NEXT_TO, _BLOCK = 10, 20  # rows
_FEW_CROSS = 0.35  # share of pairs up to which rows next to one another belong together, and not to the other side
_UNEQUAL = 1.25  # ratio of sizes from which the larger side is thinned for the test
_TOO_REGULAR = 1e-3  # chance of so few texts that stand once more often
_LACKING, _LACKING_BESIDE = 3.0, 1.75  # the same in standard errors; where near-copies are many, independent text: 1.5
_MOST_TOGETHER = 0.2  # of the texts in one group: folds of a fifth cannot hold more
_FEWEST_GROUPS = 10  # of a side: two for each fold
_N_SHOWN = 3

UNKNOWN = "unknown"  # what belongs together: said by signatures of what is measured nevertheless, without an interval
CROSSING, WITHIN, ROWS, RUNS, COPIES = "across sides", "within a side", "rows", "runs", "copies"


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


@dataclass(frozen=True)
class Dependence:
    """What is known of the independence of the texts of two sides."""

    test: CrossingTest
    kinds: tuple[str, ...] = ()  # what was found; empty where nothing says that texts are dependent
    words: tuple[str, ...] = ()  # the same for people, one clause each
    remaining: CrossingTest | None = None  # the test of what the groups leave; None where nothing was found
    groups: Groups | None = field(default=None, repr=False, compare=False)  # generated, real
    pairs: tuple[tuple[str, str], ...] = ()  # generated and real texts that are nearest to one another
    is_declared: bool = False  # whether groups were given
    is_of_real: bool = False  # whether all that was found is true of the real text by itself
    is_across: bool = False  # whether texts of both sides depend on each other; else texts of a side, among themselves
    may_be_collapse: bool = False  # whether generated texts are alike in a way that may be the generator's own doing
    holds: bool = True  # whether groups leave no dependence that can be seen
    is_independent: bool = False  # whether texts were said to be independent, and not examined

    @property
    def is_found(self) -> bool:
        """Whether texts are dependent beyond the groups that were given."""
        return bool(self.kinds)

    @property
    def can_be_told(self) -> bool:
        """Whether the groups hold what belongs together."""
        if self.remaining is None:
            return True
        return self.holds and self.largest <= _MOST_TOGETHER and self.fewest >= _FEWEST_GROUPS

    @cached_property
    def largest(self) -> float:
        """Share of the texts in the largest group, in [0, 1]."""
        if self.groups is None:
            return 0.0
        joined = np.concatenate(self.groups)
        return float(np.unique(joined, return_counts=True)[1].max() / len(joined))

    @cached_property
    def fewest(self) -> int:
        """Number of groups with texts of a side, of that which has fewer; 0 where there are none."""
        return 0 if self.groups is None else min(len(np.unique(of_side)) for of_side in self.groups)

    @property
    def n_groups(self) -> int | None:
        """Number of groups of both sides together; None where there are none."""
        return None if self.groups is None else len(np.unique(np.concatenate(self.groups)))

    @property
    def label(self) -> str:
        """What signatures say of the groups; empty where texts are independent, or in the groups they came with."""
        if self.is_independent:
            return "none (independent)"
        if not self.is_found:
            return ""
        if not self.can_be_told:
            return UNKNOWN
        return f"{self.n_groups} groups of {'given ones and ' if self.is_declared else ''}nearest neighbours"

    @property
    def reason(self) -> str:
        """Why nothing can be told, and what to do."""
        assert self.remaining is not None
        left = f"nearest neighbours connect {100 * self.largest:.0f} % of the texts"
        if not self.holds:
            left = f"p {self.remaining.p_value:.2g} where neighbours are kept together"
        elif self.largest <= _MOST_TOGETHER:
            left = f"they leave {self.fewest} groups"
        if not self.holds and self.remaining.p_value >= _ALPHA_LEFT:
            left = "only the more alike of them are found"
        return (
            f"not valid: texts depend on each other in ways that nearest neighbours do not hold ({left}); say which "
            "belong together (--group-column, --prompt-column), or that they are independent (--independent)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        left = self.remaining
        return {
            "kinds": list(self.kinds),
            "n_pairs": self.test.n_pairs,
            "n_crossing": self.test.n_crossing,
            "p_value": self.test.p_value,
            "n_groups": self.n_groups,
            "declared": self.is_declared,
            "remaining_p_value": None if left is None else left.p_value,
            "can_be_told": self.can_be_told,
            "independent": self.is_independent,
            "pairs": [list(pair) for pair in self.pairs],
        }


@dataclass(frozen=True, eq=False)
class Examined:
    """Generated and real text with the groups by which they are measured."""

    generated: Corpus
    real: Corpus
    dependence: Dependence
    declared: Sides  # The same with the groups that they came with, for what asks about these

    @classmethod
    def of(
        cls, generated: Corpus, real: Corpus, *, within: "Within | None" = None, independent: bool = False
    ) -> "Examined":
        """Return both sides in the groups that `examine` finds; as they are where they are said to be independent."""
        found = Dependence(CrossingTest(), is_independent=True)
        if not independent:
            found = examine(generated, real, within=within)
        declared = generated, real
        if found.groups is not None and found.is_found:
            generated, real = (replace(side, groups=own) for side, own in zip(declared, found.groups, strict=True))
        return cls(generated, real, found, declared)

    @classmethod
    def unexamined(cls, generated: Corpus, real: Corpus) -> "Examined":
        """Return both sides in the groups that they have."""
        return cls(generated, real, Dependence(CrossingTest()), (generated, real))

    def taken(self, generated: IntArray | None, real: IntArray) -> "Examined":
        """Return some of the texts, all generated ones where `generated` is None, in the groups of the whole."""
        return self.changed(
            lambda side: side if generated is None else side.take(generated), lambda side: side.take(real)
        )

    def changed(self, generated: Callable[[Corpus], Corpus], real: Callable[[Corpus], Corpus]) -> "Examined":
        """Return both sides changed, each text still in its place."""
        declared = generated(self.declared[0]), real(self.declared[1])
        return Examined(generated(self.generated), real(self.real), self.dependence, declared)


@dataclass(frozen=True, eq=False)
class Within:
    """What is known of one side alone."""

    kinds: tuple[str, ...]
    words: tuple[str, ...]
    groups: IntArray | None  # Of the rows, shape (N,): those given, with nearest neighbours where they are dependent


def examine_real(real: Corpus) -> Within:
    """Return whether real text depends within itself, beyond the groups that it has."""
    return _examine_side(real, "real", neighbours=True)


def _examine_side(side: Corpus, name: str, *, neighbours: bool) -> Within:
    """Return whether texts of one side depend on each other; `neighbours`: whether pairs and threes say so, too.

    A generator that repeats itself has these by its own doing.
    """
    vectors = Vectors.of([side])
    kinds, words = [], []
    if neighbours and (clause := _within(vectors, side, name, side.groups)):
        kinds.append(WITHIN)
        words.append(clause)
    if side.groups is None:
        if copied := _copies(side, name):
            kinds.append(COPIES)
            words.append(copied)
        if _are_runs(vectors, side):
            kinds.append(RUNS)
            words.append(f"neighbouring rows of the {name} text have words in common")
    if not kinds:
        return Within((), (), side.groups)
    base = _together([side])
    if RUNS in kinds:
        return Within(tuple(kinds), tuple(words), connected([_as_links(base), _blocks(vectors, side)], len(side)))
    for groups in _candidates(vectors, base):
        if not _within(vectors, side, name, groups):
            break
    return Within(tuple(kinds), tuple(words), groups)


def examine(generated: Corpus, real: Corpus, *, within: Within | None = None) -> Dependence:
    """Return what is known of the independence of generated and real texts.

    `generated`, `real`: share a vocabulary; groups that they have are believed, and what goes beyond them is examined.
    `within`: what `examine_real` says of the real text, to save doing it again.
    """
    within = examine_real(real) if within is None else within
    own = _examine_side(generated, "generated", neighbours=WITHIN in within.kinds)
    sides, n_generated = [generated, real], len(generated)
    declared = _declared(sides)
    vectors = Vectors.of(sides)
    tested = _Tested.of(vectors, sides)
    test = tested.test(declared)
    kinds, words = [*within.kinds, *own.kinds], [*within.words, *own.words]
    if test.p_value < _ALPHA:
        kinds.insert(0, CROSSING)
        words.insert(0, str(test))
    rows = _rows(vectors, n_generated, len(real)) if declared is None else None
    if rows is not None:
        kinds.append(ROWS)
        words.append("rows of the same number in both files belong together")
    if not kinds:
        given = None if declared is None else _split(declared, n_generated)
        return Dependence(test, groups=given, is_declared=declared is not None)
    base = _together(sides)
    is_across = test.p_value < _ALPHA or rows is not None
    is_divided = test.overall >= _FEW_CROSS and (WITHIN in within.kinds or RUNS in {*within.kinds} & {*own.kinds})
    is_alone = not (is_across or is_divided)
    of_real = Vectors.of([real]) if WITHIN in within.kinds else None

    def real_holds(groups: IntArray) -> bool:
        return of_real is None or not _within(of_real, real, "real", groups[n_generated:])

    if is_alone:
        alone = [
            _together([side]) if each.groups is None else each.groups
            for each, side in zip((own, within), sides, strict=True)
        ]
        groups = _side_by_side(alone[0], alone[1], declared, sides)
        left = tested.test(groups)
        is_alone = left.p_value >= _ALPHA  # else copies hid what crosses the sides
        is_across = not is_alone
        holds = real_holds(groups)
        base = connected([_as_links(groups), _as_links(base)], len(vectors))  # what rows say stays together
    if not is_alone:
        candidates = _candidates(vectors, base)
        if rows is not None:
            candidates = chain([connected([_as_links(base), rows], len(vectors))], candidates)
        for number, groups in enumerate(candidates):
            left = tested.test(groups)
            holds = left.p_value >= _ALPHA_LEFT and (number < _WITHOUT_JOINING or left.overall <= _MOST_LEFT)
            holds = holds and real_holds(groups)
            if holds or (_largest(groups) > _MOST_TOGETHER and (number or rows is None)):
                break
    if rows is None and declared is None and CROSSING in kinds:
        holds = holds and not tested.are_too_unlike()
    return Dependence(
        test,
        tuple(dict.fromkeys(kinds)),
        tuple(words),
        left,
        _split(groups, n_generated),
        tested.crossing_pairs(generated, real) if is_across else (),
        is_declared=declared is not None,
        is_of_real=not is_across and not own.kinds,
        is_across=is_across,
        may_be_collapse=is_alone and own.kinds in ((), (WITHIN,)),
        holds=holds,
    )


def _side_by_side(generated: IntArray, real: IntArray, declared: IntArray | None, sides: Sequence[Corpus]) -> IntArray:
    """Return groups of both sides that no text of one shares with the other but by what was given."""
    n = len(sides[0])
    links = [_as_links(generated), n + _as_links(real)]
    links += [] if declared is None else [_as_links(declared)]
    return connected(links, n + len(sides[1]))


def independent_units(generated: Corpus, real: Corpus, *, independent: bool = False) -> Sides:
    """Return generated and real text in groups that are independent; raise where none are known."""
    texts = Examined.of(generated, real, independent=independent)
    if not texts.dependence.can_be_told:
        raise InputError(f"dd is {texts.dependence.reason}")
    return texts.generated, texts.real


def neighbours_of(more: Corpus, generated: Corpus, real: Corpus) -> IntArray | None:
    """Return which of `more` texts, that are only learnt from, are near to which others, where they depend on them.

    Pairs of a text of `more` and a text of both sides, generated ones first, shape (n, 2): one is the nearest of the
    other. None where nothing says that `more` depends on the others.
    """
    both = Corpus.concatenate([replace(side, groups=None, columns={}) for side in (generated, real)])
    vectors = Vectors.of([more, both])
    if _Tested.of(vectors, [more, both]).test(None).p_value >= _ALPHA:
        return None
    near = vectors.nearest(1)[0][:, 0]
    starts = np.flatnonzero(near != NONE)
    ends = near[starts].astype(np.int64)
    crosses = (starts < len(more)) != (ends < len(more))
    pairs = np.sort(np.stack([starts[crosses], ends[crosses]], axis=1), axis=1)
    return np.unique(pairs - [0, len(more)], axis=0)


def connected(links: Iterable[IntArray], n: int) -> IntArray:
    """Return the group of each of `n` things, shape (n,), from links of two that belong together, shapes (2, k)."""
    from scipy.sparse import coo_array  # most texts are independent, and need none of it
    from scipy.sparse.csgraph import connected_components

    ones, others = np.concatenate(list(links), axis=1)
    graph = coo_array((np.ones(len(ones), dtype=np.int8), (ones, others)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Tested:
    """The texts that are tested: as many of both sides, drawn from the larger one.

    With more of one side, several answers of one side to each of the other would cross no more often than they may.
    """

    vectors: Vectors
    rows: IntArray  # Which texts of both sides they are, generated ones first
    n_generated: int
    n_texts: int  # Of both sides in all

    @classmethod
    def of(cls, vectors: Vectors, sides: Sequence[Corpus]) -> "_Tested":
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

    def are_too_unlike(self) -> bool:
        """Return whether partners across the sides are so unlike that some of them are found and others not.

        Where all are found, pairs with little in common cross as often as others; where only some texts have partners,
        at most half of these pairs cross.
        """
        if len(self.rows) < self.n_texts:  # some partners were not drawn
            return False
        ones, others = self._pairs(self.nearest)
        n = len(ones) // 4
        crosses = (ones < self.n_generated) != (others < self.n_generated)
        count = int(np.count_nonzero(crosses[len(ones) - n :]))
        low, high = _TOO_UNLIKE
        return bool(_binomial_tail(count, n) < _ALPHA and low * n <= count < high * n)

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


def _declared(sides: Sequence[Corpus]) -> IntArray | None:
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


def _together(sides: Sequence[Corpus]) -> IntArray:
    """Return groups of equal texts and of those that were given, shape (N,)."""
    declared = _declared(sides)
    keys = np.concatenate([sentence_keys(side) for side in sides]).view(np.int64)
    return connected([_as_links(keys), *([] if declared is None else [_as_links(declared)])], len(keys))


def _candidates(vectors: Vectors, base: IntArray) -> Iterator[IntArray]:
    """Yield groups that might do, small ones first: `base`, of equal texts and what was given; with neighbours; more.

    Each group is joined with its nearest one; where texts come in threes and more, each text also with the three
    nearest that list it among theirs, too. Last, each group is joined with its nearest one, again and again.
    """
    yield base
    places, cosines = vectors.nearest(_LISTED, groups=base)
    groups = _joined_once(base, places[:, 0], cosines[:, 0])
    if _triples(places) >= _SEVERAL:
        mutual = (places[places] == np.arange(len(base))[:, None, None]).any(axis=2) & (places != NONE)
        ones, which = np.nonzero(mutual)
        more = connected([_as_links(groups), np.stack([ones, places[ones, which].astype(np.int64)])], len(base))
        if _largest(more) <= _MOST_TOGETHER:
            groups = more
    yield groups
    for _ in range(_MOST_ROUNDS):
        places, cosines = vectors.nearest(1, groups=groups)
        groups = _joined_once(groups, places[:, 0], cosines[:, 0])
        yield groups


def _triples(places: npt.NDArray[np.int32]) -> float:
    """Return the share of texts whose two nearest are near to each other; `places`: their nearest, nearest first."""
    nearest, second = places[:, 0], places[:, 1]
    known = (second != NONE) & (places[nearest] == second[:, None]).any(axis=1)
    return float(np.mean(known & (places[second] == nearest[:, None]).any(axis=1)))


def _blocks(vectors: Vectors, side: Corpus) -> IntArray:
    """Return links that connect so many neighbouring rows as a document may have, shape (2, N).

    A block ends where rows before and after it have least in common.
    """
    n = len(side)
    rows, common = np.arange(n), np.zeros(n)
    for lag in range(1, 6):
        pairs = vectors.cosines(rows[:-lag], rows[lag:])
        for before in range(max(0, lag - 3), min(lag, 3)):  # rows from a row to the end of its block
            common[before : before + n - lag] += pairs
    starts = [0]
    while starts[-1] + 2 * _BLOCK < n:
        low = starts[-1] + _BLOCK // 2
        starts.append(low + int(np.argmin(common[low : low + _BLOCK])) + 1)
    return np.stack([rows, np.repeat(starts, np.diff([*starts, n]))])


def _joined_once(groups: IntArray, near: npt.NDArray[np.int32], cosines: npt.NDArray[np.float64]) -> IntArray:
    """Return groups of which each is joined with its nearest one; `near`, `cosines`: of the texts, in other groups."""
    order = np.lexsort((-cosines, groups))
    best = order[np.flatnonzero(np.diff(groups[order], prepend=-1))]
    best = best[near[best] != NONE]
    return connected([_as_links(groups), np.stack([best, near[best].astype(np.int64)])], len(groups))


def _largest(groups: IntArray) -> float:
    """Return the share of the texts in the largest group."""
    return float(np.bincount(np.unique(groups, return_inverse=True)[1].reshape(-1)).max() / len(groups))


def _within(vectors: Vectors, side: Corpus, name: str, groups: IntArray | None) -> str:
    """Return how texts of different groups of a side come in pairs and more, in words; empty where they do not.

    Limits lie above what independent text of 25 kinds has: of texts that are the nearest of their nearest .51 at 200
    texts and .44 at 2,000, and of those whose two nearest are near to each other .67 and .44. Four short answers a
    prompt have .91 of these at 400 texts and .79 at 8,000. In larger groups that overlap, neither share is high:
    nothing in the texts tells these from a kind of text with many topics. Near-copies count unless so many texts stand
    twice that others would stand three times by chance, as they do.
    """
    n = len(side)
    if n < _FEWEST_WITHIN:
        return ""
    places, _ = vectors.nearest(_LISTED, groups=groups)
    ids = np.arange(n)
    nearest = places[:, 0].astype(np.int64)
    mutual = float(np.mean((nearest != NONE) & (nearest[nearest] == ids)))
    if mutual >= 0.5 + 1.6 / math.sqrt(n):
        return f"{name} texts come in pairs ({100 * mutual:.0f} % are the nearest of their nearest)"
    if (triples := _triples(places)) >= 0.55 + 3.5 / math.sqrt(n):
        return f"{name} texts come in groups of three and more ({100 * triples:.0f} % have such neighbours)"
    share = _near_copies(vectors, nearest, side.lengths)
    if share >= _COPIES and not _repeat_by_chance(side):
        return f"{100 * share:.0f} % of the {name} texts are copied nearly word by word"
    return ""


def _as_links(groups: IntArray) -> IntArray:
    """Return links that connect every group, shape (2, N)."""
    _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
    return np.stack([np.arange(len(groups)), firsts[members.reshape(-1)]])


def _split(groups: IntArray, n_generated: int) -> Groups:
    return groups[:n_generated], groups[n_generated:]


def _near_copies(vectors: Vectors, nearest: IntArray, lengths: IntArray) -> float:
    """Return the share of texts of five tokens and more that another one repeats nearly word by word."""
    long = np.flatnonzero((lengths >= _COPY_TOKENS) & (nearest != NONE))
    n_long = int(np.count_nonzero(lengths >= _COPY_TOKENS))
    return float(np.sum(vectors.cosines(long, nearest[long]) >= _COPY_COSINE)) / n_long if n_long else 0.0


def _copies(side: Corpus, name: str) -> str:
    """Return how texts are repeated as independent draws do not repeat texts, in words; empty where they are not.

    Of all texts, then of the longer half: short ones are repeated by chance, which hides copies of others.
    """
    for which, rows in ((f"{name} texts", side.lengths > 0), (f"of the longer {name} texts", _longer(side))):
        for j, expected, lacking, n_times in _repeats(side, rows):
            if pdtr(n_times[j + 1], expected) < _TOO_REGULAR or lacking > _LACKING:
                return f"{int(n_times[j]):,} {which} stand exactly {_times(j)}{_passes(side, rows)}"
    return ""


def _longer(side: Corpus) -> npt.NDArray[np.bool_]:
    """Return which texts are longer than half of them, a mask of shape (N,)."""
    return side.lengths > (np.median(side.lengths) if len(side) else 0)


def _repeat_by_chance(side: Corpus) -> bool:
    """Return whether so many texts stand twice that others would stand three times by chance, and do."""
    repeats = list(_repeats(side, side.lengths > 0))
    expected = max((expected for _, expected, _, _ in repeats), default=0.0)
    lacking = max((lacking for _, _, lacking, _ in repeats), default=0.0)
    return expected >= -math.log(_TOO_REGULAR) and lacking < _LACKING_BESIDE


def _repeats(side: Corpus, rows: npt.NDArray[np.bool_]) -> Iterator[tuple[int, float, float, IntArray]]:
    """Yield numbers j from 2, how many texts would stand j + 1 times by chance, and how many stand j times.

    The first is a limit that chance seldom falls below; then, by how many standard errors more are expected than there
    are.
    """
    _, times = np.unique(sentence_keys(side)[rows], return_counts=True)
    n_times = np.bincount(times, minlength=int(times.max(initial=0)) + 2)
    for j in range(2, len(n_times) - 1):
        before, here, after = n_times[j - 1] + 1, n_times[j], n_times[j + 1]
        at_least = chdtri(2 * here, 1 - _TOO_REGULAR) / 2 if here else 0.0
        at_most = chdtri(2 * before, _TOO_REGULAR) / 2
        likely = j / (j + 1) * here * (here - 1) / before
        lacking = (likely - after) / math.sqrt(likely + likely**2 * (4 / here + 1 / before)) if here > 1 else 0.0
        yield j, j / (j + 1) * at_least**2 / at_most, lacking, n_times


def _times(j: int) -> str:
    return "twice" if j == 2 else f"{j} times"


def _passes(side: Corpus, rows: npt.NDArray[np.bool_]) -> str:
    """Return how many rows lie between copies, in words, where most lie equally far apart."""
    keys = sentence_keys(side)[rows]
    order = np.argsort(keys, kind="stable")
    gaps = np.diff(np.flatnonzero(rows)[order])[keys[order][1:] == keys[order][:-1]]
    lags, counts = np.unique(gaps, return_counts=True)
    if not len(lags) or counts.max() < 0.5 * counts.sum():
        return ""
    lag = int(lags[np.argmax(counts)])
    return ", one after the other" if lag == 1 else f", {lag:,} rows apart"


def _rows(vectors: Vectors, n_generated: int, n_real: int) -> IntArray | None:
    """Return links of rows of the same number, shape (2, n), where such rows belong together; else None."""
    if n_generated != n_real or n_real < _FEWEST:
        return None
    rows = np.arange(n_real)
    lags = stream(0, "dependence", "rows").permutation(np.arange(1, n_real))[:_N_SHIFTS]
    together = _exceeds(vectors, rows, n_generated + rows, n_generated, n_real, lags)
    return np.stack([rows, n_generated + rows]) if together else None


def _are_runs(vectors: Vectors, side: Corpus) -> bool:
    """Return whether neighbouring rows have more in common than rows some way off."""
    n = len(side)
    if n < _FEWEST + 6 * _NEXT_TO or _is_sorted(side):
        return False
    rows = np.arange(n)
    lags = stream(0, "dependence", "runs").permutation(np.arange(_NEXT_TO, 5 * _NEXT_TO))[:_N_SHIFTS]
    return _exceeds(vectors, rows, (rows + 1) % n, 0, n, lags, least=_LEAST_RUNS)


def _is_sorted(side: Corpus) -> bool:
    """Return whether texts stand in alphabetical order, where neighbours are alike however they were drawn."""
    texts = list(side.texts[: 10 * _FEWEST])
    return texts == sorted(texts)


def _exceeds(
    vectors: Vectors, ones: IntArray, others: IntArray, first: int, n: int, lags: IntArray, *, least: float = 1.0
) -> bool:
    """Return whether pairs have more in common than those that are shifted by each of `lags` among `n` rows.

    `least`: how many times as much.
    """
    here = float(vectors.cosines(ones, others).mean())
    shifted = np.array([vectors.cosines(ones, first + (others - first + lag) % n).mean() for lag in lags.tolist()])
    mean, spread = float(shifted.mean()), float(shifted.std(ddof=1))
    return here - mean > _ORDERED * max(spread, 1e-12) and here > least * mean


def dependent_texts(name: str, found: Dependence, n_generated: int, n_real: int) -> Finding | None:
    """Return the finding that texts are not independent, or None, also where that is true of real text by itself."""
    if not found.is_found or (found.is_of_real and found.can_be_told):
        return None
    done, remedy, partners = "Even so, nothing can be told", "Give", ""
    if found.is_across:
        partners = "Metrics of overlap and of vectors take a partner for closeness. "
    if found.can_be_told:
        done = (
            f"What was found together is kept together in {found.n_groups:,} groups, the units of folds and intervals"
        )
        remedy = "To be exact, give"
        if found.is_across and ROWS not in found.kinds:
            done += "; partners that were not found make dd smaller, not larger"
    return Finding(
        "dependent-texts",
        "warning",
        name,
        f"Texts are not independent: {'; '.join(found.words)}{_p(found.test)}. {partners}{done}.",
        found.test.n_crossing,
        found.test.n_crossing,
        n_generated,
        n_real,
        found.pairs[0][0] if found.pairs else None,
        found.pairs[0][1] if found.pairs else None,
        f"{remedy} the column that says which texts belong together (--group-column, --prompt-column); where they are "
        "independent draws nevertheless, say --independent.",
        found.pairs,
    )


def _p(test: CrossingTest) -> str:
    """Return a p-value that says something, in brackets."""
    p_value = test.p_value
    return "" if p_value >= _ALPHA else f" (p {p_value:.2g})" if p_value > 1e-300 else " (p below 1e-300)"


def dependent_real_texts(within: Within, n_real: int) -> Finding | None:
    """Return the finding that real text depends within itself, or None."""
    if not within.kinds or within.groups is None:
        return None
    n_groups = len(np.unique(within.groups))
    return Finding(
        "dependent-texts",
        "warning",
        REAL,
        f"Real texts are not independent: {'; '.join(within.words)}. What belongs together is kept together: "
        f"{n_groups:,} groups are the units of folds and intervals.",
        0,
        n_real,
        0,
        n_real,
        None,
        None,
        "Give the column that says which texts belong together (--group-column, --prompt-column), or each text once; "
        "where they are independent draws nevertheless, say --independent.",
    )


@dataclass(frozen=True)
class Independence:
    """What is known of the independence of several texts beside the same real text."""

    real: Corpus
    within: Within  # The real text alone
    texts: Mapping[str, Examined]  # Every other text beside it

    @classmethod
    def of(cls, real: Corpus, others: Mapping[str, Corpus], *, independent: bool = False) -> "Independence":
        """Examine every text beside the real text, unless they are said to be independent."""
        within = Within((), (), real.groups) if independent else examine_real(real)
        return cls(
            real,
            within,
            {
                name: Examined.of(corpus, real, within=within, independent=independent)
                for name, corpus in others.items()
            },
        )

    def findings(self, generators: Iterable[str]) -> list[Finding]:
        """Return what people are told: of the real text, then of each generator."""
        found = [dependent_real_texts(self.within, len(self.real))]
        for name in generators:
            texts = self.texts[name]
            found.append(dependent_texts(name, texts.dependence, len(texts.generated), len(texts.real)))
        return [one for one in found if one is not None]


def shared_ids(column: str) -> Finding:
    """Return the finding that texts with the same id in both files were taken to belong together."""
    return Finding(
        "shared-ids",
        "note",
        REAL,
        f"Texts with the same '{column}' in several files belong together: they are one unit of folds and errors.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Name another column (--group-column, --prompt-column), or say --independent where ids are the same by chance.",
    )
