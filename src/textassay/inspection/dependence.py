"""Whether texts are independent, what belongs together where they are not, and what is left then.

Intervals, bounds and p-values assume independent texts. Translations of the same sentences, answers to the same
prompts, continuations of the same beginnings and files written twice are not: a text's partner stands among the
training texts of a classifier, on the other side, and what is remembered is wrong.

The test. Texts of both sides are pooled, and pairs are formed of texts that are each other's nearest neighbour; no text
is in two pairs. Where a and b are the densities of both samples at a place, independent texts pair across the sides as
2ab to a^2 + b^2 within them: in at most half of the pairs, whatever the distributions and sizes. So the upper tail of a
binomial with one half is a p-value. Samples that differ pair across the sides less often, which makes it conservative.

What belongs together. Each text is linked with its nearest neighbour, equal texts with one another, and groups are what
links connect. They are made without a look at sides, so under "no difference" sides stay exchangeable in a group. They
cost independent text some of its difference and hide that a generator repeats itself, so they are used where the test
or the order of rows says that texts are dependent, or the real text depends within itself.

What is left. The test again, with neighbours in other groups: where it is still significant, nothing can be told.

Copies within a side can be chance: some texts are frequent, and a collapsed generator has few. Then numbers of texts
that stand once, twice, three times are a mixture of Poisson distributions, for which ``j! d_j`` is log-convex in j
(Cauchy and Schwarz). A file written three times breaks that.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom, chi2, poisson

from textassay.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.finding import REAL, Finding
from textassay.inspection.nearest import NONE, Vectors
from textassay.inspection.sentence_keys import sentence_keys
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (generated, real)
Groups = tuple[IntArray, IntArray]  # of the same

ALPHA = 0.01
# Of real text alone: shares from which it depends within itself. Independent text of 16 kinds: at most .49, .46, .05
_MUTUAL, _TRIPLES, _COPIES = 0.57, 0.55, 0.1
_COPY_COSINE, _COPY_TOKENS = 0.95, 5
_FEWEST = 40  # texts, for these shares and the order of rows
_ORDERED = 8.0  # standard deviations from shifted rows; independent files: at most 3
_N_SHIFTS = 20
_NEXT_TO = 10  # rows
_TOO_REGULAR = 1e-3  # chance of so few texts that stand once more often
_MOST_TOGETHER = 0.2  # of the texts in one group: folds of a fifth cannot hold more
_N_SHOWN = 3

CROSSING, REAL_WITHIN, ROWS, RUNS, COPIES = "across sides", "within real", "rows", "runs", "copies"


@dataclass(frozen=True)
class PairTest:
    """Mutual nearest neighbours, and how many of them are a real and a generated text."""

    n_pairs: int
    n_crossing: int

    @property
    def p_value(self) -> float:
        """Of independence: the chance of so many, if each crosses with one half."""
        return float(binom.sf(self.n_crossing - 1, self.n_pairs, 0.5)) if self.n_pairs else 1.0


@dataclass(frozen=True)
class Dependence:
    """What is known of the independence of the texts of two sides."""

    test: PairTest
    kinds: tuple[str, ...] = ()  # what was found; empty where nothing says that texts are dependent
    words: tuple[str, ...] = ()  # the same for people, one clause each
    remaining: PairTest | None = None  # the test of what the groups leave; None where nothing was found
    groups: Groups | None = field(default=None, repr=False, compare=False)  # generated, real
    pairs: tuple[tuple[str, str], ...] = ()  # generated and real texts that are nearest to one another
    is_declared: bool = False  # whether groups were given
    is_independent: bool = False  # whether texts were said to be independent, and not examined

    @property
    def is_found(self) -> bool:
        """Whether texts are dependent beyond the groups that were given."""
        return bool(self.kinds)

    @property
    def can_be_told(self) -> bool:
        """Whether the groups hold what belongs together."""
        return self.remaining is None or (self.remaining.p_value >= ALPHA and self.largest <= _MOST_TOGETHER)

    @property
    def may_be_collapse(self) -> bool:
        """Whether all that was found could be a generator, or real text, that repeats itself by its own doing."""
        return self.is_found and CROSSING not in self.kinds and ROWS not in self.kinds

    @cached_property
    def largest(self) -> float:
        """Share of the texts in the largest group, in [0, 1]."""
        if self.groups is None:
            return 0.0
        joined = np.concatenate(self.groups)
        return float(np.unique(joined, return_counts=True)[1].max() / len(joined))

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
        return f"{'given and ' if self.is_declared else ''}nearest neighbours {self.n_groups}"

    @property
    def reason(self) -> str:
        """Why nothing can be told, and what to do."""
        assert self.remaining is not None
        left = (
            f"p {self.remaining.p_value:.2g} where the nearest neighbours are kept together"
            if self.remaining.p_value < ALPHA
            else f"nearest neighbours connect {100 * self.largest:.0f} % of the texts"
        )
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
        found = Dependence(PairTest(0, 0), is_independent=True)
        if not independent:
            found = examine(generated, real, within=within)
        sides = generated, real
        if found.groups is not None and found.is_found:
            sides = tuple(replace(side, groups=own) for side, own in zip(sides, found.groups, strict=True))
        return cls(sides[0], sides[1], found, (generated, real))

    @classmethod
    def unexamined(cls, generated: Corpus, real: Corpus) -> "Examined":
        """Return both sides in the groups that they have."""
        return cls(generated, real, Dependence(PairTest(0, 0)), (generated, real))

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
    vectors = Vectors.of([real])
    places, _ = vectors.nearest(3, groups=real.groups)
    nearest, second = places[:, 0].astype(np.int64), places[:, 1].astype(np.int64)
    ids = np.arange(len(real))
    kinds, words = [], []
    if len(real) >= _FEWEST:
        returned = (nearest != NONE) & (nearest[nearest] == ids)
        one_knows = (places[nearest] == second[:, None]).any(axis=1)
        both_know = one_knows & (places[second] == nearest[:, None]).any(axis=1) & (second != NONE)
        mutual, triples = float(returned.mean()), float(both_know.mean())
        if mutual >= _MUTUAL:
            kinds.append(REAL_WITHIN)
            words.append(f"real texts come in pairs ({100 * mutual:.0f} % are the nearest of their nearest)")
        elif triples >= _TRIPLES:
            kinds.append(REAL_WITHIN)
            words.append(f"real texts come in groups of three and more ({100 * triples:.0f} % have such neighbours)")
    if real.groups is None:
        share = _near_copies(vectors, nearest, real.lengths)
        copied = _copies(real, "real", share=share if len(real) >= _FEWEST else 0.0)
        in_order = _runs(vectors, real, 0, "real")
        for kind, clause in (copied, in_order):
            if clause:
                kinds.append(kind)
                words.append(clause)
    if not kinds:
        return Within((), (), real.groups)
    links = [np.stack([ids, np.where(nearest == NONE, ids, nearest)]), _equal(real)]
    links += [] if real.groups is None else [_as_links(real.groups)]
    return Within(tuple(kinds), tuple(words), connected(links, len(real)))


def examine(
    generated: Corpus, real: Corpus, *, within: Within | None = None, more: Sequence[Corpus] = ()
) -> Dependence:
    """Return what is known of the independence of generated and real texts.

    `generated`, `real`: share a vocabulary; groups that they have are believed, and what goes beyond them is examined.
    `within`: what `examine_real` says of the real text, to save doing it again.
    """
    within = examine_real(real) if within is None else within
    n_generated, n = len(generated), len(generated) + len(real)
    declared = _declared(generated, real)
    vectors = Vectors.of([generated, real])
    nearest = vectors.nearest(1, groups=declared)[0][:, 0].astype(np.int64)
    test, crossing = _test(nearest, n_generated, declared)
    kinds, words = [], []
    if test.p_value < ALPHA:
        kinds.append(CROSSING)
        words.append(
            f"{test.n_crossing} of {test.n_pairs} pairs of nearest neighbours are a generated and a real text, where "
            "independent texts have at most half"
        )
    rows = _rows(vectors, n_generated, len(real)) if declared is None else 0
    if rows:
        kinds.append(ROWS)
        words.append("rows of the same number in both files belong together")
    kinds += within.kinds
    words += within.words
    if generated.groups is None:
        for kind, clause in (
            _copies(generated, "generated"),
            _runs(vectors, generated, 0, "generated"),
        ):
            if clause:
                kinds.append(kind)
                words.append(clause)
    if not kinds:
        groups = None if declared is None else _split(declared, n_generated)
        return Dependence(test, groups=groups, is_declared=declared is not None)
    ids = np.arange(n)
    links = [np.stack([ids, np.where(nearest == NONE, ids, nearest)]), _equal(generated, real)]
    if rows:
        same = np.arange(rows)
        links.append(np.stack([same, same + n_generated]))
    if declared is not None:
        links.append(_as_links(declared))
    joined = connected(links, n)
    left, _ = _test(vectors.nearest(1, groups=joined)[0][:, 0].astype(np.int64), n_generated, joined)
    return Dependence(
        test,
        tuple(kinds),
        tuple(words),
        left,
        _split(joined, n_generated),
        _shown(crossing, vectors, generated, real),
        is_declared=declared is not None,
    )


def independent_units(generated: Corpus, real: Corpus, *, independent: bool = False) -> Sides:
    """Return generated and real text in groups that are independent; raise where none are known."""
    texts = Examined.of(generated, real, independent=independent)
    if not texts.dependence.can_be_told:
        raise InputError(f"dd is {texts.dependence.reason}")
    return texts.generated, texts.real


def connected(links: Iterable[IntArray], n: int) -> IntArray:
    """Return the group of each of `n` things, shape (n,), from links of two that belong together, shapes (2, k)."""
    ones, others = np.concatenate(list(links), axis=1)
    graph = coo_array((np.ones(len(ones), dtype=np.int8), (ones, others)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _test(nearest: IntArray, n_generated: int, groups: IntArray | None) -> tuple[PairTest, IntArray]:
    """Return the test, and the pairs that cross the sides, generated ones first, shape (n_crossing, 2).

    No group is in two pairs, since what is near to a text is near to its copies, too.
    """
    ids = np.arange(len(nearest))
    ones = ids[(nearest > ids) & (nearest[nearest] == ids)]
    if groups is not None:
        ones = stream(0, "dependence", "pairs").permutation(ones)
        ones = np.sort(ones[_of_new_groups(groups[ones], groups[nearest[ones]], int(groups.max(initial=0)) + 1)])
    crosses = (ones < n_generated) & (nearest[ones] >= n_generated)
    pairs = np.stack([ones[crosses], nearest[ones[crosses]]], axis=1)
    return PairTest(len(ones), int(np.count_nonzero(crosses))), pairs


@numba.njit(cache=True)
def _of_new_groups(ones, others, n_groups):  # type: ignore[no-untyped-def]
    """Return which pairs are of groups that no pair before has, a mask of shape (n_pairs,)."""
    taken, kept = np.zeros(n_groups, dtype=np.bool_), np.zeros(len(ones), dtype=np.bool_)
    for pair in range(len(ones)):
        kept[pair] = not (taken[ones[pair]] or taken[others[pair]])
        if kept[pair]:
            taken[ones[pair]] = taken[others[pair]] = True
    return kept


def _declared(generated: Corpus, real: Corpus) -> IntArray | None:
    """Return the groups that were given, of generated, then real texts; a text without one is by itself."""
    if generated.groups is None and real.groups is None:
        return None
    first = 1 + max(int(side.groups.max(initial=-1)) for side in (generated, real) if side.groups is not None)
    parts = []
    for side in (generated, real):
        parts.append(np.arange(first, first + len(side)) if side.groups is None else side.groups)
        first += len(side)
    return np.concatenate(parts)


def _as_links(groups: IntArray) -> IntArray:
    """Return links that connect every group, shape (2, N)."""
    _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
    return np.stack([np.arange(len(groups)), firsts[members.reshape(-1)]])


def _split(groups: IntArray, n_generated: int) -> Groups:
    return groups[:n_generated], groups[n_generated:]


def _equal(*sides: Corpus) -> IntArray:
    """Return links that connect equal texts."""
    return _as_links(np.concatenate([sentence_keys(side) for side in sides]).view(np.int64))


def _shown(crossing: IntArray, vectors: Vectors, generated: Corpus, real: Corpus) -> tuple[tuple[str, str], ...]:
    """Return some pairs across the sides, those with more in common first."""
    if not len(crossing):
        return ()
    common = vectors.cosines(crossing[:, 0], crossing[:, 1])
    best = crossing[np.argsort(-common, kind="stable")[:_N_SHOWN]]
    return tuple((generated.texts[one], real.texts[other - len(generated)]) for one, other in best.tolist())


def _near_copies(vectors: Vectors, nearest: IntArray, lengths: IntArray) -> float:
    """Return the share of texts of five tokens and more that another one repeats nearly word by word."""
    long = np.flatnonzero((lengths >= _COPY_TOKENS) & (nearest != NONE))
    n_long = int(np.count_nonzero(lengths >= _COPY_TOKENS))
    return float(np.sum(vectors.cosines(long, nearest[long]) >= _COPY_COSINE)) / n_long if n_long else 0.0


def _copies(side: Corpus, name: str, *, share: float = 0.0) -> tuple[str, str]:
    """Return the kind, and a clause if texts are repeated in a way that independent draws do not repeat texts.

    `share`: of near-copies; where there are many, and too few texts stand twice to say, they are taken for copies.
    """
    keys = sentence_keys(side)[side.lengths > 0]
    if not len(keys):
        return COPIES, ""
    _, times = np.unique(keys, return_counts=True)
    n_times = np.bincount(times, minlength=int(times.max()) + 2)
    most = 0.0
    for j in range(2, len(n_times) - 1):
        at_least = chi2.ppf(_TOO_REGULAR, 2 * n_times[j]) / 2 if n_times[j] else 0.0
        at_most = chi2.isf(_TOO_REGULAR, 2 * (n_times[j - 1] + 1)) / 2
        expected = j / (j + 1) * at_least**2 / at_most
        most = max(most, expected)
        if poisson.cdf(n_times[j + 1], expected) < _TOO_REGULAR:
            return COPIES, f"{int(n_times[j]):,} {name} texts stand exactly {_times(j)}{_passes(side, keys)}"
    if share >= _COPIES and most < -math.log(_TOO_REGULAR):
        return COPIES, f"{100 * share:.0f} % of the {name} texts are copied nearly word by word"
    return COPIES, ""


def _times(j: int) -> str:
    return "twice" if j == 2 else f"{j} times"


def _passes(side: Corpus, keys: npt.NDArray[np.uint64]) -> str:
    """Return how many rows lie between copies, in words, where most lie equally far apart."""
    order = np.argsort(keys, kind="stable")
    gaps = np.diff(np.flatnonzero(side.lengths > 0)[order])[keys[order][1:] == keys[order][:-1]]
    lags, counts = np.unique(gaps, return_counts=True)
    if not len(lags) or counts.max() < 0.5 * counts.sum():
        return ""
    lag = int(lags[np.argmax(counts)])
    return ", one after the other" if lag == 1 else f", {lag:,} rows apart"


def _rows(vectors: Vectors, n_generated: int, n_real: int) -> int:
    """Return how many rows of both files belong together, row by row; 0 where they do not."""
    if n_generated != n_real or n_real < _FEWEST:
        return 0
    rows = np.arange(n_real)
    return n_real if _exceeds(vectors, rows, rows + n_generated, n_generated, n_real, _all_lags(n_real)) else 0


def _runs(vectors: Vectors, side: Corpus, first: int, name: str) -> tuple[str, str]:
    """Return the kind, and a clause if rows next to one another have more in common than rows some way off.

    `first`: where the texts of `side` begin among the vectors.
    """
    n = len(side)
    if n < _FEWEST + 6 * _NEXT_TO or _is_sorted(side):
        return RUNS, ""
    rows = np.arange(n)
    lags = stream(0, "dependence", "runs").permutation(np.arange(_NEXT_TO, 5 * _NEXT_TO))[:_N_SHIFTS]
    found = _exceeds(vectors, first + rows, first + (rows + 1) % n, first, n, lags)
    return RUNS, f"neighbouring rows of the {name} text have words in common" if found else ""


def _is_sorted(side: Corpus) -> bool:
    """Return whether texts stand in alphabetical order, where neighbours are alike however they were drawn."""
    texts = list(side.texts[: 10 * _FEWEST])
    return texts == sorted(texts)


def _all_lags(n: int) -> IntArray:
    return stream(0, "dependence", "rows").permutation(np.arange(1, n))[:_N_SHIFTS]


def _exceeds(vectors: Vectors, ones: IntArray, others: IntArray, first: int, n: int, lags: IntArray) -> bool:
    """Return whether pairs have far more in common than those that are shifted by each lag."""
    here = float(vectors.cosines(ones, others).mean())
    shifted = np.array([vectors.cosines(ones, first + (others - first + lag) % n).mean() for lag in lags.tolist()])
    return here - float(shifted.mean()) > _ORDERED * max(float(shifted.std(ddof=1)), 1e-12)


def dependent_texts(name: str, found: Dependence, n_generated: int, n_real: int) -> Finding | None:
    """Return the finding that texts of both sides are not independent, or None."""
    if not found.is_found:
        return None
    done, remedy = "Even so, nothing can be told", "Give"
    if found.can_be_told:
        done = f"Neighbours are kept together in {found.n_groups:,} groups, the units of every fold and interval"
        remedy = "To be exact, give"
    return Finding(
        "dependent-texts",
        "warning",
        name,
        f"Texts are not independent: {'; '.join(found.words)} (p {found.test.p_value:.2g}). {done}.",
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


def dependent_real_texts(within: Within, n_real: int) -> Finding | None:
    """Return the finding that real text depends within itself, or None."""
    if not within.kinds:
        return None
    return Finding(
        "dependent-texts",
        "warning",
        REAL,
        f"Real texts are not independent: {'; '.join(within.words)}.",
        0,
        n_real,
        0,
        n_real,
        None,
        None,
        "Give the column that says which texts belong together (--group-column, --prompt-column), or each text once; "
        "where they are independent draws nevertheless, say --independent.",
    )
