"""Human verdicts on each side and generator: H1 counts every judgement, H2 the majority on each text.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", 2019, section 3 (H1 and H2).
Departs from it: intervals and differences are clustered by page and rater. What raters add to the difference of two
generators, by liking one more than others do, is taken from all pairs of generators: three raters are few, but twelve
generators show how such likings vary. Where raters are few, differences as these very raters judge stand beside.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, unknown_name
from textassay.estimate import Interval
from textassay.resampling.multiplicity import holm
from textassay_lab.human.clusters import ClusteredMeans, clustered_means
from textassay_lab.human.judgements import Judgements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Ties = Literal["fake", "real", "drop"]

REAL = "(real)"
_TIES: tuple[Ties, ...] = ("fake", "real", "drop")


@dataclass(frozen=True)
class Share:
    """A fraction of judgements, or a mean rating; no interval with a single page."""

    value: float
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class GeneratorVerdict:
    generator: str  # `REAL` for texts by people
    share: Share  # Fraction judged fake, lower is better; on the scale "number" the mean rating, higher is better
    n_items: int  # Number of texts
    # 1 is best; from 1 + the number of significantly better generators to the number of those not significantly worse.
    # None for `REAL`.
    rank_low: int | None = None
    rank_high: int | None = None


@dataclass(frozen=True)
class Certainty:
    """Interval and p-values of a difference; `p_adjusted` as in `GeneratorDifference`."""

    low: float
    high: float
    p: float
    p_adjusted: float


@dataclass(frozen=True)
class GeneratorDifference:
    """Difference of the shares (or mean ratings) of generators `a` and `b`; `b` may be real text.

    The interval is for this difference alone; `p_adjusted` is by Holm's method over all pairs of generators or, for
    differences from real text, over all generators. NaN if a side is on a single page.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    these_raters: Certainty | None = None  # As these raters judge other texts; the others are of raters like them


@dataclass(frozen=True)
class Verdict:
    """All results by one rule of counting."""

    name: str  # "H1", "H2" or "ratings"
    rule: str  # What is counted, and how ties are broken
    # Fraction judged correctly: of all, of real (judged real), of generated (judged fake). None for ratings, and if
    # there are no such items.
    accuracy: Share | None
    true_positive_rate: Share | None
    true_negative_rate: Share | None
    generators: tuple[GeneratorVerdict, ...]  # In the order of their first items
    real: GeneratorVerdict | None  # The same for real texts; None without any
    pairs: tuple[GeneratorDifference, ...]  # All pairs of generators
    from_real: tuple[GeneratorDifference, ...]  # Each generator against real text; empty without any
    n_items: int  # Number of texts
    n_ties: int | None = None  # Texts with enough votes that were tied; None for H1 and ratings
    n_raters: int | None = None  # Raters whose texts cross, so that intervals are of raters like them; else None

    @property
    def rates(self) -> tuple[Share | None, Share | None, Share | None]:
        """Accuracy, true positive and true negative rate."""
        return self.accuracy, self.true_positive_rate, self.true_negative_rate

    def of_these_raters(self, level: float) -> tuple[GeneratorDifference, ...]:
        """Return the differences that are significant as these raters judge, and not so for raters like them."""
        return tuple(
            pair
            for pair in (*self.pairs, *self.from_real)
            if pair.these_raters is not None and pair.these_raters.p_adjusted < 1 - level <= pair.p_adjusted
        )

    @property
    def rows(self) -> dict[str, GeneratorVerdict]:
        """All verdicts by generator, that on real text last, under `REAL`."""
        return {row.generator: row for row in (*self.generators, self.real) if row is not None}


def check_ties(ties: str) -> Ties:
    """Return `ties`; raise unless it is a known rule."""
    for known in _TIES:
        if ties == known:
            return known
    raise unknown_name("ties", str(ties), _TIES)


def usual_votes(judgements: Judgements) -> int:
    """Return the most common number of judgements per item, the largest if several are; 0 without judgements."""
    counts = np.bincount(judgements.item, minlength=len(judgements.items))
    common = Counter(counts[counts > 0].tolist())
    return max(common, key=lambda votes: (common[votes], votes), default=0)


def judgement_verdict(judgements: Judgements, *, level: float = 0.95) -> Verdict:
    """Return the verdict by single judgements: H1, or mean ratings. Clustered by page, and by rater if they cross."""
    is_vote = judgements.scale == "real-or-fake"
    name, rule = ("H1", "every judgement counts") if is_vote else ("ratings", "mean of all ratings")
    page = _pages(judgements)[judgements.item]
    pairs = np.unique(np.stack([judgements.rater, page]), axis=1)
    crosses = len(np.unique(pairs[0])) not in (1, pairs.shape[1])
    rater = judgements.rater if crosses else None
    return _verdict(name, rule, judgements, judgements.item, judgements.value, page, rater, level)


def majority_verdict(
    judgements: Judgements, *, ties: Ties = "fake", votes: int | None = None, level: float = 0.95
) -> Verdict:
    """Return the verdict by the majority of each item's raters: H2."""
    check_ties(ties)
    by_label = judgements.votes()
    totals = by_label.sum(axis=1)
    is_counted = totals > 0 if votes is None else totals == votes
    if not is_counted.any():
        have = ", ".join(str(n) for n in sorted(set(totals.tolist())))
        raise InputError(
            f"no text has {'a judgement' if votes is None else f'exactly {votes} judgements'}: they have {have}"
        )
    tied = by_label[:, 0] == by_label[:, 1]
    item = np.flatnonzero(is_counted & ~tied if ties == "drop" else is_counted)
    if not len(item):
        raise InputError("all texts are tied, so nothing is left without ties: count ties as fake or real")
    value = np.where(tied, float(ties == "real"), by_label[:, 1] > by_label[:, 0])[item].astype(np.float64)
    what = "all items" if votes is None else f"items with {votes} votes"
    rule = f"majority of each item's votes, {what}, ties {'left out' if ties == 'drop' else f'count as {ties}'}"
    verdict = _verdict("H2", rule, judgements, item, value, _pages(judgements)[item], None, level)
    return replace(verdict, n_ties=int((is_counted & tied).sum()))


def _verdict(
    name: str,
    rule: str,
    judgements: Judgements,
    item: IntArray,
    value: FloatArray,
    page: IntArray,
    rater: IntArray | None,
    level: float,
) -> Verdict:
    """Return the verdict on values of items: 1 for real and 0 for fake, or ratings."""
    if not len(item):
        raise InputError("there is no judgement to analyse")
    is_vote, is_real = judgements.scale == "real-or-fake", judgements.is_real[item]
    how = "pages" if rater is None else "pages and raters"
    rates: list[Share | None] = [None, None, None]
    if is_vote:
        right = np.where(is_real, value, 1 - value)
        for place, side in enumerate((np.ones_like(is_real), is_real, ~is_real)):
            if side.any():
                means = clustered_means(
                    right[side],
                    np.zeros(side.sum(), dtype=np.int64),
                    page[side],
                    None if rater is None else rater[side],
                )
                rates[place] = _share(means, 0, level, how, is_vote=True)
    numbers = {generator: place for place, generator in enumerate(judgements.generators)}
    writers = np.array([numbers.get(one.generator or "", len(numbers)) for one in judgements.items], dtype=np.int64)
    writers[judgements.is_real] = len(numbers)
    present, groups = np.unique(writers[item], return_inverse=True)
    names = [(*judgements.generators, REAL)[place] for place in present.tolist()]
    means = clustered_means(1 - value if is_vote else value, groups, page, rater)
    n_items = np.bincount(writers[np.unique(item)], minlength=len(numbers) + 1)[present].tolist()
    rows = [
        GeneratorVerdict(one, _share(means, group, level, how, is_vote=is_vote), n_items[group])
        for group, one in enumerate(names)
    ]
    real = next((row for row in rows if row.generator == REAL), None)
    generators = [row for row in rows if row is not real]
    places = range(len(generators))
    of_generators = list(itertools.combinations(places, 2))
    pairs = _differences(means, names, of_generators, level, is_vote=is_vote, alike=of_generators)
    beside_real = [(place, len(generators)) for place in places] if real else []
    from_real = _differences(means, names, beside_real, level, is_vote=is_vote)
    n_raters = None if rater is None else len(np.unique(rater))
    return Verdict(
        name=name,
        rule=rule,
        accuracy=rates[0],
        true_positive_rate=rates[1],
        true_negative_rate=rates[2],
        generators=_ranked(generators, pairs, level, sign=-1.0 if is_vote else 1.0),
        real=real,
        pairs=pairs,
        from_real=from_real,
        n_items=sum(n_items),
        n_raters=n_raters,
    )


def _share(means: ClusteredMeans, group: int, level: float, how: str, *, is_vote: bool) -> Share:
    if is_vote:
        method = f"wilson with the effective size, t, clustered by {how}"
        interval = means.share_interval(group, level=level, method=method)
    else:
        interval = means.interval(group, level=level, method=f"t, clustered by {how}")
    return Share(float(means.values[group]), interval, int(means.sizes[group]))


def _differences(
    means: ClusteredMeans,
    names: list[str],
    pairs: list[tuple[int, int]],
    level: float,
    *,
    is_vote: bool,
    alike: Sequence[tuple[int, int]] = (),
) -> tuple[GeneratorDifference, ...]:
    """Return differences of `pairs`; `alike`: as in `ClusteredMeans.difference`."""

    def certain(means: ClusteredMeans) -> list[tuple[float, Certainty]]:
        found = [means.difference(*pair, level=level, shares=is_vote, alike=alike) for pair in pairs]
        adjusted = holm(np.array([one.p_value for one in found])).tolist() if found else []
        return [
            (one.value, Certainty(one.low, one.high, one.p_value, p)) for one, p in zip(found, adjusted, strict=True)
        ]

    fixed = certain(means.of_first_kind()) if means.crosses else [None] * len(pairs)
    return tuple(
        GeneratorDifference(
            names[first], names[second], value, **asdict(one), these_raters=None if these is None else these[1]
        )
        for (first, second), (value, one), these in zip(pairs, certain(means), fixed, strict=True)
    )


def _ranked(
    generators: list[GeneratorVerdict], pairs: tuple[GeneratorDifference, ...], level: float, *, sign: float
) -> tuple[GeneratorVerdict, ...]:
    better, worse = Counter[str](), Counter[str]()
    for pair in pairs:
        if not math.isnan(pair.p_adjusted) and pair.p_adjusted < 1 - level:
            winner, loser = (pair.a, pair.b) if sign * pair.difference > 0 else (pair.b, pair.a)
            better[loser] += 1
            worse[winner] += 1
    n = len(generators)
    return tuple(
        replace(row, rank_low=1 + better[row.generator], rank_high=n - worse[row.generator]) for row in generators
    )


def _pages(judgements: Judgements) -> IntArray:
    """Return the page number of each item, shape (N,)."""
    return np.unique([item.page for item in judgements.items], return_inverse=True)[1].astype(np.int64)
