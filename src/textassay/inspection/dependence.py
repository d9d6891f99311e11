"""Whether texts are independent, what belongs together where they are not, and what is left then.

Intervals, bounds and p-values assume independent texts. Translations of the same sentences, answers to the same
prompts, continuations of the same beginnings and files written twice are not: a text's partner stands among the
training texts of a classifier, on the other side, and what is remembered is wrong.

What belongs together. Equal texts, and those of a group that was given, are linked with the nearest other text, and
groups are what links connect. They are made without a look at sides, so under "no difference" sides stay exchangeable
in a group. They cost independent text some of its difference and hide that a generator repeats itself, so they are used
where the test or the order of rows says that texts are dependent, or the real text depends within itself. A side that
depends within itself alone is grouped alone, beside equal texts of the other: of two files that were made alike, the
copies of one may be clear and those of the other not.

What is left. The test again, with neighbours in other groups. While it is significant, or the real text still depends
within itself, each group is linked with its nearest other group; where that does not end it, nothing can be told.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.crossing import ALPHA, CrossingTest, Tested
from textassay.inspection.grouping import (
    MOST_TOGETHER,
    as_links,
    candidate_groups,
    connected,
    declared_groups,
    equal_or_declared,
    largest_share,
    side_by_side,
)
from textassay.inspection.nearest import NONE, Vectors
from textassay.inspection.row_order import rows_together
from textassay.inspection.within import RUNS, WITHIN, Within, depends_within, examine_real, examine_side

IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (generated, real)
Groups = tuple[IntArray, IntArray]  # of the same

UNKNOWN = "unknown"  # what belongs together: said by signatures of what is measured nevertheless, without an interval
CROSSING, ROWS = "across sides", "rows"

_ALPHA_LEFT = 0.05  # that groups leave some of it
_WITHOUT_JOINING, _MOST_LEFT = 3, 0.6  # of joined groups few pairs are left: then at most such a share may cross
_FEW_CROSS = 0.35  # share of pairs up to which rows next to one another belong together, and not to the other side
_FEWEST_GROUPS = 10  # of a side: two for each fold


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
    vectors = Vectors.of(sides)
    tested = Tested.of(vectors, sides)
    test = tested.test(declared)
    kinds, words = [*within.kinds, *own.kinds], [*within.words, *own.words]
    if test.p_value < ALPHA:
        kinds.insert(0, CROSSING)
        words.insert(0, str(test))
    rows = rows_together(vectors, n_generated, len(real)) if declared is None else None
    if rows is not None:
        kinds.append(ROWS)
        words.append("rows of the same number in both files belong together")
    if not kinds:
        given = None if declared is None else _split(declared, n_generated)
        return Dependence(test, groups=given, is_declared=declared is not None)
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
    vectors = Vectors.of([more, both])
    if Tested.of(vectors, [more, both]).test(None).p_value >= ALPHA:
        return None
    near = vectors.nearest(1)[0][:, 0]
    starts = np.flatnonzero(near != NONE)
    ends = near[starts].astype(np.int64)
    crosses = (starts < len(more)) != (ends < len(more))
    pairs = np.sort(np.stack([starts[crosses], ends[crosses]], axis=1), axis=1)
    return np.unique(pairs - [0, len(more)], axis=0)


def _split(groups: IntArray, n_generated: int) -> Groups:
    return groups[:n_generated], groups[n_generated:]
