"""Standings of the generators in a comparison: the values that rank them, who is first, and how sure that is.

No metric is treated by name: the headline is the first metric that has a direction and a value.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from textassay.comparison.comparison import FLOOR, TRAIN, Comparison, PairDifference, Rank, Result
from textassay.comparison.verdicts import MARGIN, Verdict, chance_level, is_clear, verdict_of
from textassay.estimate import Better, Estimate
from textassay.inspection.finding import HELDOUT
from textassay.metric.blindness import blindness
from textassay.report.text import shown_p


@dataclass(frozen=True)
class Standings:
    """A comparison with look-ups."""

    comparison: Comparison

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], Result]:
        return {(result.generator, result.metric): result for result in self.comparison.results}

    @cached_property
    def ranks(self) -> Mapping[tuple[str, str], Rank]:
        return {(rank.generator, rank.metric): rank for rank in self.comparison.ranks}

    @cached_property
    def alpha(self) -> float:
        """One minus the level: a p-value below it is significant."""
        return 1 - self.comparison.level

    @cached_property
    def headline(self) -> str | None:
        """Return the first metric that has a direction and a value for some generator."""
        for metric in self.comparison.metrics:
            if self.better(metric) != "neither" and any(self.value(g, metric) is not None for g in self.generators):
                return metric
        return None

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The metrics before the headline that have a direction but no value: one of them should have answered."""
        metrics = self.comparison.metrics
        n = len(metrics) if self.headline is None else metrics.index(self.headline)
        return tuple(metric for metric in metrics[:n] if self.better(metric) != "neither")

    @property
    def generators(self) -> tuple[str, ...]:
        return self.comparison.generators

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Generators by rank under the headline metric; as given where there is none."""
        return self.generators if self.headline is None else self.order_by(self.headline)

    def order_by(self, metric: str) -> tuple[str, ...]:
        """Return the generators by rank under a metric, best first; ties by value, then in the order given."""

        def key(generator: str) -> tuple[float, float, float]:
            rank = self.ranks.get((generator, metric))
            badness = self.badness(generator, metric)
            return (math.inf, math.inf, badness) if rank is None else (rank.low, rank.high, badness)

        return tuple(sorted(self.generators, key=key))

    @cached_property
    def floors(self) -> tuple[str, ...]:
        """Reference rows of the comparison: real text, held-out real text, training text."""
        present = {result.generator for result in self.comparison.results}
        return tuple(name for name in (FLOOR, HELDOUT, TRAIN) if name in present)

    @cached_property
    def _betters(self) -> Mapping[str, Better]:
        return {result.metric: result.better for result in self.comparison.results}

    @cached_property
    def _pairs(self) -> Mapping[str, tuple[PairDifference, ...]]:
        pairs_by_metric: dict[str, list[PairDifference]] = {}
        for pair in self.comparison.pairs:
            pairs_by_metric.setdefault(pair.metric, []).append(pair)
        return {metric: tuple(pairs) for metric, pairs in pairs_by_metric.items()}

    def better(self, metric: str) -> Better:
        """Return the direction of a metric; "neither" where it has no result."""
        return self._betters.get(metric, "neither")

    def estimate(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate of a cell, none where it has none or the value is undefined."""
        cell = self.cells.get((generator, metric))
        if cell is None or cell.estimate is None or not math.isfinite(cell.estimate.value):
            return None
        return cell.estimate

    def value(self, generator: str, metric: str) -> float | None:
        """Return the value of a cell as it is shown, none where there is none."""
        estimate = self.shown(generator, metric)
        return None if estimate is None else estimate.value

    def at_floor_size(self, metric: str) -> bool:
        """Return whether a metric is shown at the floor's size: see `Result.shown_by`; the floor must be known."""
        return metric in self._at_floor_size

    @cached_property
    def _at_floor_size(self) -> frozenset[str]:
        return frozenset(
            metric
            for (name, metric), cell in self.cells.items()
            if cell.shown_by == "matched_value"
            and name in self.generators
            and self.matched(name, metric) is not None
            and self.floor(name, metric) is not None
        )

    def ranked_at_floor_size(self, metric: str) -> bool:
        """Return whether the values at the floor's size are those that rank generators; else those of all texts do."""
        return self.better(metric) == "closer" and self.at_floor_size(metric)

    def shown(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate that tables show: it can be compared with the floor."""
        return (self.matched if self.at_floor_size(metric) else self.estimate)(generator, metric)

    def beside(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate that stands beside the one shown: at the floor's size, or of all texts if it ranks."""
        if not self.at_floor_size(metric):
            return self.matched(generator, metric)
        is_shown = generator == FLOOR or self.ranked_at_floor_size(metric)
        return None if is_shown else self.estimate(generator, metric)

    def matched(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate at the floor's size; for the floor row itself its own."""
        if generator == FLOOR:
            return self.estimate(FLOOR, metric)
        cell = self.cells.get((generator, metric))
        if cell is None or cell.matched is None or not math.isfinite(cell.matched.value):
            return None
        return cell.matched

    def floor(self, generator: str, metric: str) -> Estimate | None:
        """Return what real text scores at the size of `matched`: the floor row, or a smaller one for a small corpus."""
        cell = self.cells.get((generator, metric))
        if generator == FLOOR or cell is None or cell.floor is None or not math.isfinite(cell.floor.value):
            return self.estimate(FLOOR, metric)
        return cell.floor

    def own_floor(self, generator: str, metric: str) -> Estimate | None:
        """Return `floor` where it is not the floor row itself; None where the two are the same.

        It is another one for a generator with fewer sentences, or with log-probabilities or ratings of its own.
        """
        floor = self.floor(generator, metric)
        return None if floor == self.estimate(FLOOR, metric) else floor

    def detail(self, generator: str, metric: str, key: str) -> Any:
        estimate = self.estimate(generator, metric)
        return None if estimate is None else estimate.details.get(key)

    def p_text(self, generator: str, metric: str) -> str:
        """Return the p-value of a metric that has one, for people; else nothing."""
        estimate = self.estimate(generator, metric)
        return "" if estimate is None else shown_p(estimate.details)

    def first_detail(self, generator: str, key: str) -> tuple[str, Any] | None:
        """Return the first metric whose estimate of a generator has this detail, and the detail."""
        details = ((metric, self.detail(generator, metric, key)) for metric in self.comparison.metrics)
        return next((one for one in details if one[1] is not None), None)

    def badness(self, generator: str, metric: str) -> float:
        """Return a number that grows with the distance from best, infinite where there is no value."""
        value = self.value(generator, metric)
        if value is None:
            return math.inf
        better = self.better(metric)
        floor = self.floor(generator, metric)
        if better == "closer" and floor is not None:
            return abs(value - floor.value)
        return {"lower": value, "higher": -value}.get(better, 0.0)

    def _rank_badness(self, generator: str, metric: str) -> float:
        """Return `badness` of the value that ranks the generator."""
        if self.ranked_at_floor_size(metric) or not self.at_floor_size(metric):
            return self.badness(generator, metric)
        estimate = self.estimate(generator, metric)
        return math.inf if estimate is None else {"lower": 1, "higher": -1}[self.better(metric)] * estimate.value

    def best(self, metric: str) -> frozenset[str]:
        """Return the generators that none is significantly better than; none where the metric has no direction.

        Of several generators, those whose difference from every other is undefined are left out.
        """
        if self.better(metric) == "neither":
            return frozenset()
        return frozenset(name for name in self._compared(metric) if self.ranks[name, metric].low == 1)

    def is_last(self, generator: str, metric: str) -> bool:
        """Return whether a generator is significantly better than none."""
        rank = self.ranks.get((generator, metric))
        return rank is not None and rank.high == sum(ranked == metric for _, ranked in self.ranks)

    def is_white_box(self, generator: str, metric: str) -> bool:
        """Return whether the classifier also saw the log-probabilities of a generator."""
        return self.detail(generator, metric, "log_probs") is not None

    def marked(self, metric: str) -> frozenset[str]:
        """Return the generators that tables mark as best: none where all share first place.

        They are those that none is significantly better than, but for those whose value is worse than that of another
        which is not among them: a wide interval alone makes no mark.
        """
        return self._marked.get(metric, frozenset())

    @cached_property
    def _marked(self) -> Mapping[str, frozenset[str]]:
        return {metric: self._mark(metric) for metric in self.comparison.metrics}

    def _mark(self, metric: str) -> frozenset[str]:
        first, compared = self.best(metric), self._compared(metric)
        ranks, others = self.ranks, [name for name in compared if name not in first]
        first = frozenset(
            name
            for name in first
            if not any(
                ranks[other, metric].low <= ranks[name, metric].high
                and self._rank_badness(other, metric) < self._rank_badness(name, metric)
                for other in others
            )
        )
        return frozenset() if len(first) == len(compared) else first

    def disagreeing(self, metric: str) -> dict[tuple[str, ...], list[str]]:
        """Return the metrics whose marked generators have none in common with those of `metric`, by whom they mark."""
        first = self.marked(metric)
        others: dict[tuple[str, ...], list[str]] = {}
        for other in self.comparison.metrics:
            best = self.marked(other)
            if first and best and not first & best:
                others.setdefault(tuple(name for name in self.order if name in best), []).append(other)
        return others

    def _compared(self, metric: str) -> list[str]:
        """Return the ranked generators that could be compared with another, or the only one."""
        compared = {name for pair in self.pairs(metric) if pair.p_adjusted is not None for name in (pair.a, pair.b)}
        alone = len(self.generators) == 1
        return [name for name in self.generators if (name, metric) in self.ranks and (alone or name in compared)]

    def pairs(self, metric: str) -> tuple[PairDifference, ...]:
        return self._pairs.get(metric, ())

    def separated(self, pair: PairDifference) -> bool:
        """Return whether the adjusted p-value is below one minus the level."""
        return pair.p_adjusted is not None and pair.p_adjusted < self.alpha

    def verdict(self, generator: str, metric: str) -> Verdict | None:
        """Return whether `metric` separates a generator's text from real text, by the rules of `verdicts`.

        With a p-value, the interval on all text is compared with `chance`; where it is not significant and the
        classifier could not see most texts, the verdict is "blind". Without one, the difference from the floor at its
        size counts. None where nothing is known.
        """
        p, estimate = self.detail(generator, metric, "p_value"), self.estimate(generator, metric)
        margin = self.margin(metric)
        if p is not None and p >= self.alpha and self.blindness(generator, metric) is not None:
            return "blind"
        if p is not None and estimate is not None:
            if estimate.interval is None:
                return "separated" if p < self.alpha else "open"
            none = self.chance(generator, metric)
            low, high = estimate.interval.low, estimate.interval.high
            verdict = verdict_of(low, high, none=none, p=p, alpha=self.alpha)
            if verdict == "separated" and high < none:
                return "hardly"
            most = self.most_apart(generator, metric)
            is_small = margin is not None and most is not None and most <= margin
            return "negligible" if verdict == "open" and is_small else verdict
        gap = self.gap(generator, metric)
        if gap is None:
            return None
        difference, half_width, _ = gap
        if half_width == 0 == difference:  # texts that are all alike to this metric: the interval says nothing
            return None
        return verdict_of(difference - half_width, difference + half_width, margin=margin)

    def chance(self, generator: str, metric: str) -> float:
        """Return what a metric with a p-value gives text like real text: 0, or the floor where it is clearly above."""
        return chance_level(self.floor(generator, metric))

    def gap(self, generator: str, metric: str) -> tuple[float, float, int] | None:
        """Return how far a generator is from real text, half the interval, and the number of texts behind it.

        With a p-value: on all text, from `chance`. Without: at the floor's size, from the floor, with the
        two half intervals added, so that the two are separated where their intervals do not overlap.
        """
        floor, like = self.floor(generator, metric), self.matched(generator, metric)
        own = self.estimate(generator, metric)
        if self.detail(generator, metric, "p_value") is not None and own is not None and own.interval is not None:
            half_width = (own.interval.high - own.interval.low) / 2
            return own.value - self.chance(generator, metric), half_width, _n_sentences(own)
        if floor is None or like is None or floor.interval is None or like.interval is None:
            return None
        difference = like.value - floor.value
        ends = (like.interval, floor.interval) if difference > 0 else (floor.interval, like.interval)
        return difference, max(0.0, abs(difference) - (ends[0].low - ends[1].high)), _n_sentences(like)

    def most_apart(self, generator: str, metric: str) -> float | None:
        """Return the largest distance from real text that the interval allows; None where unknown.

        A value below 0 is noise: it shows no smaller distance than one of 0 does, which is half the interval.
        """
        own = self.estimate(generator, metric)
        if self.detail(generator, metric, "p_value") is not None and own is not None and own.interval is not None:
            return max(own.interval.high, (own.interval.high - own.interval.low) / 2)
        gap = self.gap(generator, metric)
        return None if gap is None else abs(gap[0]) + gap[1]

    def clearness(self, generator: str, metric: str) -> float | None:
        """Return how clearly a metric with a direction puts a generator behind real text; None where it does not."""
        gap = self.gap(generator, metric)
        if gap is None:
            return None
        difference, half_width, _ = gap
        behind = {"lower": difference, "higher": -difference, "closer": abs(difference)}.get(self.better(metric), 0.0)
        if not is_clear(behind, half_width):
            return None
        return behind / half_width if half_width > 0 else math.inf

    def clearest(self, generator: str, besides: str) -> tuple[str, ...]:
        """Return the metrics that clearly separate a generator from real text at the floor's size, clearest first."""
        found = {
            metric: how_clear
            for metric in self.comparison.metrics
            if metric != besides
            and (how_clear := self.clearness(generator, metric)) is not None
            and self.matched(generator, metric) is not None
            and self.floor(generator, metric) is not None
        }
        return tuple(sorted(found, key=lambda metric: -found[metric]))

    def margin(self, metric: str) -> float | None:
        """Return the smallest difference by a metric that matters; known for fractions only."""
        units = {found.unit for name in self.generators if (found := self.estimate(name, metric)) is not None}
        return MARGIN if units == {"fraction"} else None

    def blindness(self, generator: str, metric: str) -> str | None:
        """Return in words why the classifier of `metric` could not see most texts; None where it could."""
        alike, unseen = (self.detail(generator, metric, key) for key in ("alike", "unseen"))
        return blindness(alike or 0.0, unseen or {})

    def size(self, generator: str) -> int | None:
        """Return the number of texts of a generator; None where no estimate has it."""
        for metric in self.comparison.metrics:
            estimate = self.estimate(generator, metric)
            if estimate is not None and "n_generated" in estimate.sizes:
                return estimate.sizes["n_generated"]
        return None


def _n_sentences(estimate: Estimate) -> int:
    return min((estimate.sizes[key] for key in ("n_generated", "n_real") if key in estimate.sizes), default=0)
