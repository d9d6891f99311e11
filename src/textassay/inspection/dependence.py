"""Whether texts are independent, what belongs together where they are not, what is left then, and what people are told.

Intervals, bounds and p-values assume independent texts. Translations of the same sentences, answers to the same
prompts, continuations of the same beginnings and files written twice are not: a text's partner stands among the
training texts of a classifier, on the other side, and what is remembered is wrong.

The test. Pairs are formed of texts that are each other's nearest neighbour; no text is in two pairs. Where a and b are
the densities of both samples at a place, independent texts pair across the sides as 2ab to a^2 + b^2 within them: in at
most half of the pairs, whatever the distributions and sizes, among the nearest pairs as among all. So the upper tail of
a binomial with one half is a p-value, the smallest one counts, times how many there are. Samples that differ cross the
sides less often, which makes it conservative.

What belongs together. Equal texts, and those of a group that was given, are linked with the nearest other text, and
groups are what links connect. They are made without a look at sides, so under "no difference" sides stay exchangeable
in a group. They cost independent text some of its difference and hide that a generator repeats itself, so they are used
where the test or the order of rows says that texts are dependent, or the real text depends within itself. A side that
depends within itself alone is grouped alone, beside equal texts of the other: of two files that were made alike, the
copies of one may be clear and those of the other not.

What is left. The test again, with neighbours in other groups. While it is significant, or the real text still depends
within itself, each group is linked with its nearest other group; where that does not end it, nothing can be told.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, stdtr

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.drawn_by_content import drawn_by_content
from textassay.inspection.finding import REAL, Finding
from textassay.inspection.grouping import (
    MOST_TOGETHER,
    NONE,
    Vectors,
    as_links,
    candidate_groups,
    connected,
    declared_groups,
    equal_or_declared,
    largest_share,
    side_by_side,
)
from textassay.inspection.kernels import pairs_of_new_groups
from textassay.inspection.within import (
    MOST_EXAMINED,
    RUNS,
    WITHIN,
    Within,
    check_few,
    depends_within,
    examine_real,
    examine_side,
    rows_together,
)
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (generated, real)
Groups = tuple[IntArray, IntArray]  # of the same

UNKNOWN = "unknown"  # what belongs together: said by signatures of what is measured nevertheless, without an interval
CROSSING, ROWS = "across sides", "rows"

_ALPHA_LEFT = 0.05  # that groups leave some of it
_WITHOUT_JOINING, _MOST_LEFT = 3, 0.6  # of joined groups few pairs are left: then at most such a share may cross
_FEW_CROSS = 0.35  # share of pairs up to which rows next to one another belong together, and not to the other side
_FEWEST_GROUPS = 10  # of a side: two for each fold

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
            f"{self.n_crossing:,} of the {self.n_pairs:,} {what} join a generated and a real text; of independent "
            "texts, at most half would"
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
        return self.holds and self.largest <= MOST_TOGETHER and self.fewest >= _FEWEST_GROUPS

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
        elif self.largest <= MOST_TOGETHER:
            left = f"they leave {self.fewest} groups"
        return (
            f"not valid: texts depend on each other, and grouping nearest neighbours does not remove this ({left}). "
            "Name the column of groups (--group-column, --prompt-column), or add --independent"
        )

    def to_dict(self) -> dict[str, Any]:
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
        sides = generated(self.generated), real(self.real)
        declared = (
            sides[0] if self.declared[0] is self.generated else generated(self.declared[0]),
            sides[1] if self.declared[1] is self.real else real(self.declared[1]),
        )
        return Examined(*sides, self.dependence, declared)


def examine(generated: Corpus, real: Corpus, *, within: Within | None = None) -> Dependence:
    """Return what is known of the independence of generated and real texts.

    `generated`, `real`: share a vocabulary; groups that they have are believed, and what goes beyond them is examined.
    `within`: what `examine_real` says of the real text, to save doing it again.
    """
    within = examine_real(real) if within is None else within
    own = examine_side(generated, "generated", neighbours=WITHIN in within.kinds)
    sides, n_generated = [generated, real], len(generated)
    declared = declared_groups(sides)
    few = drawn_by_content(sides, 2 * MOST_EXAMINED)
    vectors = Vectors.of(few)
    tested = Tested.of(vectors, few)
    test = tested.test(declared_groups(few))
    kinds, words = [*within.kinds, *own.kinds], [*within.words, *own.words]
    if test.p_value < ALPHA:
        kinds.insert(0, CROSSING)
        words.insert(0, str(test))
    rows = None
    if declared is None and n_generated == len(real):
        n_first = min(n_generated, MOST_EXAMINED)
        of_first = vectors if n_first == n_generated else Vectors.of([side.take(np.arange(n_first)) for side in sides])
        if rows_together(of_first, n_first):
            rows = np.stack([np.arange(n_generated), n_generated + np.arange(n_generated)])
            kinds.append(ROWS)
            words.append("rows with the same number in both files belong together")
    if not kinds:
        given = None if declared is None else _split(declared, n_generated)
        return Dependence(test, groups=given, is_declared=declared is not None)
    check_few(n_generated + len(real))
    if few[0] is not generated:
        vectors = Vectors.of(sides)
        tested = Tested.of(vectors, sides)
    base = equal_or_declared(sides)
    is_across = test.p_value < ALPHA or rows is not None
    is_divided = test.overall >= _FEW_CROSS and (WITHIN in within.kinds or RUNS in {*within.kinds} & {*own.kinds})
    is_alone = not (is_across or is_divided)
    of_real = Vectors.of([real]) if WITHIN in within.kinds else None

    def real_holds(groups: IntArray) -> bool:
        return of_real is None or not depends_within(of_real, real, "real", groups[n_generated:])

    if is_alone:
        alone = [
            equal_or_declared([side]) if each.groups is None else each.groups
            for each, side in zip((own, within), sides, strict=True)
        ]
        groups = side_by_side(alone[0], alone[1], declared, sides)
        left = tested.test(groups)
        is_alone = left.p_value >= ALPHA  # else copies hid what crosses the sides
        is_across = not is_alone
        holds = real_holds(groups)
        base = connected([as_links(groups), as_links(base)], len(vectors))  # what rows say stays together
    if not is_alone:
        candidates = candidate_groups(vectors, base)
        if rows is not None:
            candidates = chain([connected([as_links(base), rows], len(vectors))], candidates)
        for number, groups in enumerate(candidates):
            left = tested.test(groups)
            holds = left.p_value >= _ALPHA_LEFT and (number < _WITHOUT_JOINING or left.overall <= _MOST_LEFT)
            holds = holds and real_holds(groups)
            if holds or (largest_share(groups) > MOST_TOGETHER and (number or rows is None)):
                break
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
    few = drawn_by_content([more, both], 2 * MOST_EXAMINED)
    vectors = Vectors.of(few)
    if Tested.of(vectors, few).test(None).p_value >= ALPHA:
        return None
    if few[0] is not more:
        vectors = Vectors.of([more, both])
    near = vectors.nearest(1)[0][:, 0]
    starts = np.flatnonzero(near != NONE)
    ends = near[starts].astype(np.int64)
    crosses = (starts < len(more)) != (ends < len(more))
    pairs = np.sort(np.stack([starts[crosses], ends[crosses]], axis=1), axis=1)
    return np.unique(pairs - [0, len(more)], axis=0)


def _split(groups: IntArray, n_generated: int) -> Groups:
    return groups[:n_generated], groups[n_generated:]


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
            crosses = crosses[pairs_of_new_groups(groups[ones], groups[others], int(groups.max()) + 1)]
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


def dependent_texts(name: str, found: Dependence, n_generated: int, n_real: int) -> Finding | None:
    """Return the finding that texts are not independent, or None, also where that is true of real text by itself."""
    if not found.is_found or (found.is_of_real and found.can_be_told):
        return None
    done, remedy, partners = "Even so, dd is not valid", "Name", ""
    if found.is_across:
        partners = "Metrics of overlap and of vectors mistake a partner for closeness. "
    if found.can_be_told:
        done = f"Dependent texts are kept together in {found.n_groups:,} groups, the units of folds and intervals"
        remedy = "For exact units, name"
        if found.is_across and ROWS not in found.kinds:
            done += "; undetected partners make dd smaller, not larger"
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
        f"{remedy} the column of groups (--group-column, --prompt-column). If the texts are independent draws, add "
        "--independent.",
        found.pairs,
    )


def _p(test: CrossingTest) -> str:
    """Return a p-value that says something, in brackets."""
    p_value = test.p_value
    return "" if p_value >= ALPHA else f" (p {p_value:.2g})" if p_value > 1e-300 else " (p below 1e-300)"


def dependent_real_texts(within: Within, n_real: int) -> Finding | None:
    """Return the finding that real text depends within itself, or None."""
    if not within.kinds or within.groups is None:
        return None
    n_groups = len(np.unique(within.groups))
    return Finding(
        "dependent-texts",
        "warning",
        REAL,
        f"Real texts are not independent: {'; '.join(within.words)}. Dependent texts are kept together: {n_groups:,} "
        "groups are the units of folds and intervals.",
        0,
        n_real,
        0,
        n_real,
        None,
        None,
        "Name the column of groups (--group-column, --prompt-column), or give each text once. If the texts are "
        "independent draws, add --independent.",
    )


def shared_ids(column: str) -> Finding:
    """Return the finding that texts with the same id in both files were taken to belong together."""
    return Finding(
        "shared-ids",
        "note",
        REAL,
        f"Texts with the same '{column}' in several files belong together: they form one unit of folds and intervals.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Name another column (--group-column, --prompt-column), or add --independent if ids are equal by chance.",
    )
