"""What a comparison says, ready to be shown: order of generators, families of metrics, bests and ties, footnotes.

Every renderer (terminal, Markdown, page, figures) reads the same digest, so that they never disagree. Nothing here
knows a metric by its name: the headline is the first metric that has a direction and a value.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from textassay.comparison.comparison import FLOOR, HELDOUT, TRAIN, Comparison, PairDifference, Rank, Result
from textassay.estimate import Better, Estimate
from textassay.inspection.inspection import Finding
from textassay.metric.blindness import blindness
from textassay.report.claims import MARGIN, Claim, claim, is_clear
from textassay.report.kinds import Kind, family_of, group_by_kind
from textassay.report.number import count, places_for

__all__ = ["Digest", "group_findings", "join_words", "printable", "shorten"]

# Unicode's embeddings, overrides and isolates, by which a text turns the order of what follows.
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


@dataclass(frozen=True)
class Digest:
    """A comparison with look-ups; see the module."""

    comparison: Comparison

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], Result]:
        """Results by generator and metric."""
        return {(result.generator, result.metric): result for result in self.comparison.results}

    @cached_property
    def ranks(self) -> Mapping[tuple[str, str], Rank]:
        """Rank intervals by generator and metric."""
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

    @property
    def generators(self) -> tuple[str, ...]:
        """The generators as they came."""
        return self.comparison.generators

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Generators by rank under the headline metric, best first; ties by value, then as they came."""
        metric = self.headline
        if metric is None:
            return self.generators

        def key(generator: str) -> tuple[float, float, float]:
            rank = self.ranks.get((generator, metric))
            badness = self.badness(generator, metric)
            if rank is None:
                return (math.inf, math.inf, badness)
            return (rank.low, rank.high, badness)

        return tuple(sorted(self.generators, key=key))

    @cached_property
    def floors(self) -> tuple[str, ...]:
        """Which rows of reference the comparison has: real text, held-out real text, the training text."""
        present = {result.generator for result in self.comparison.results}
        return tuple(name for name in (FLOOR, HELDOUT, TRAIN) if name in present)

    @cached_property
    def train_note(self) -> str:
        """Return what the row of the training text is; empty where there is none."""
        if TRAIN not in self.floors:
            return ""
        drawn_from = next(filter(None, (self.detail(TRAIN, m, "drawn_from") for m in self.comparison.metrics)), None)
        size = self.size(TRAIN)
        part = (
            ""
            if drawn_from is None or size is None
            else f"{count(size)} of its {count(drawn_from)} sentences, drawn at random, "
        )
        return f"{TRAIN}: the generators' training text, {part}measured as if it were generated."

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Metrics by kind and table, but for the headline, which has a table of its own."""
        return group_by_kind(metric for metric in self.comparison.metrics if metric != self.headline)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """All metrics in the order of their kinds, the headline first."""
        head = () if self.headline is None else (self.headline,)
        return (*head, *(metric for kind in self.kinds for table in kind.tables for metric in table))

    @cached_property
    def families(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Metrics by family (the name before the bracket), in the order of `metrics`."""
        groups: dict[str, list[str]] = {}
        for metric in self.metrics:
            groups.setdefault(family_of(metric), []).append(metric)
        return tuple((family, tuple(metrics)) for family, metrics in groups.items())

    @cached_property
    def _betters(self) -> Mapping[str, Better]:
        return {result.metric: result.better for result in self.comparison.results}

    @cached_property
    def _pairs(self) -> Mapping[str, tuple[PairDifference, ...]]:
        found: dict[str, list[PairDifference]] = {}
        for pair in self.comparison.pairs:
            found.setdefault(pair.metric, []).append(pair)
        return {metric: tuple(pairs) for metric, pairs in found.items()}

    def better(self, metric: str) -> Better:
        """Return the direction of a metric; "neither" where no result tells it."""
        return self._betters.get(metric, "neither")

    def told_unit(self, metric: str) -> str:
        """Return the unit of a metric where a number has to be read with it, such as "nats per token"; else empty.

        A single word ("fraction", "ratio", "area") says what the number is, not what it is measured in.
        """
        found = (self.cells[name, metric].estimate for name in self.generators if (name, metric) in self.cells)
        unit = next((estimate.unit for estimate in found if estimate is not None), "")
        return unit if " " in unit else ""

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
        """Return whether a metric's generators are ranked, and so shown, at the floor's size.

        So it is where closer to real text is better, and what real text scores is known.
        """
        return self.better(metric) == "closer" and any(
            self.matched(name, metric) is not None and self.floor(name, metric) is not None for name in self.generators
        )

    def shown(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate that tables show and mark: the one by which generators are ranked."""
        return (self.matched if self.at_floor_size(metric) else self.estimate)(generator, metric)

    def beside(self, generator: str, metric: str) -> Estimate | None:
        """Return the estimate at the floor's size where that is not the one shown, but of use beside it."""
        return None if self.at_floor_size(metric) else self.matched(generator, metric)

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

    def own_floor_name(self, generator: str, metric: str) -> str:
        """Return what to call `own_floor`."""
        floor, row = self.floor(generator, metric), self.estimate(FLOOR, metric)
        size = 0 if floor is None else floor.sizes.get("n_generated", 0)
        if row is None or size == row.sizes.get("n_generated"):
            return f"{FLOOR} beside {generator}"
        return f"{FLOOR} of {size:,}"

    def own_floors(self, metric: str) -> Mapping[str, Estimate]:
        """Return what real text scores beside generators with a floor of their own, by names of rows."""
        found = {}
        for generator in self.order:
            own = self.own_floor(generator, metric)
            if own is not None and self.shown(generator, metric) is not None:
                found[self.own_floor_name(generator, metric)] = own
        return dict(sorted(found.items(), key=lambda item: -item[1].sizes.get("n_generated", 0)))

    def detail(self, generator: str, metric: str, key: str) -> Any:
        """Return one detail of a cell's estimate, none where there is none."""
        estimate = self.estimate(generator, metric)
        return None if estimate is None else estimate.details.get(key)

    def bound(self, generator: str, metric: str) -> tuple[float | None, str | None] | None:
        """Return the certified bound, or none and why; None where the metric certifies nothing."""
        found = self.detail(generator, metric, "certified_bound")
        return None if found is None else (found.get("value"), found.get("reason"))

    def bound_reasons(self, metric: str) -> tuple[str, ...]:
        """Return why certified bounds are missing."""
        bounds = [self.bound(generator, metric) for generator in (*self.order, *self.floors)]
        return tuple(dict.fromkeys(bound[1] for bound in bounds if bound is not None and bound[1] is not None))

    def places(self, metric: str) -> int:
        """Return the decimals of a metric's column."""
        return places_for(self.shown(generator, metric) for generator in self.generators)

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

    def best(self, metric: str) -> frozenset[str]:
        """Return the generators that none is significantly better than.

        Empty where the metric has no direction, where there is one generator only, and where no two are separated: a
        mark on all rows says nothing. Generators that could be compared with none are passed over.
        """
        if self.better(metric) == "neither":
            return frozenset()
        compared = {name for pair in self.pairs(metric) if pair.p_adjusted is not None for name in (pair.a, pair.b)}
        ranked = [name for name in self.generators if (name, metric) in self.ranks and name in compared]
        first = frozenset(generator for generator in ranked if self.ranks[generator, metric].low == 1)
        return frozenset() if len(first) == len(ranked) else first

    def pairs(self, metric: str) -> tuple[PairDifference, ...]:
        """Return the differences of one metric."""
        return self._pairs.get(metric, ())

    def separated(self, pair: PairDifference) -> bool:
        """Return whether the adjusted p-value is below one minus the level."""
        return pair.p_adjusted is not None and pair.p_adjusted < self.alpha

    def verdict(self, generator: str, metric: str) -> Claim | None:
        """Return whether `metric` tells a generator's text from real text, by the rules of `textassay.report.claims`.

        With a p-value: the interval on all text against guessing, which is 0, and what real text scores; where it is
        not significant and the judge could not see most texts, that is said instead. Without: the difference from
        what real text scores, at the floor's size. None where nothing can be said.
        """
        p, estimate = self.detail(generator, metric, "p_value"), self.estimate(generator, metric)
        floor, margin = self.floor(generator, metric), self.margin(metric)
        if p is not None and p >= self.alpha and self.blindness(generator, metric) is not None:
            return "blind"
        if p is not None and estimate is not None:
            if estimate.interval is None:
                return "separated" if p < self.alpha else "open"
            none = 0.0 if floor is None else max(floor.value, 0.0)
            low, high = estimate.interval.low, estimate.interval.high
            said = claim(low, high, none=none, margin=margin, p=p, alpha=self.alpha)
            if said == "separated" and high < none:
                return "hardly"
            return "negligible" if said == "open" and margin is not None and high - none <= margin else said
        gap = self.gap(generator, metric)
        if gap is None:
            return None
        difference, half_width, _ = gap
        return claim(difference - half_width, difference + half_width, margin=margin)

    def gap(self, generator: str, metric: str) -> tuple[float, float, int] | None:
        """Return how far a generator is from real text, half the interval of that, and the sentences it rests on.

        With a p-value, on all text from guessing or what real text scores; without, at the floor's size from that, the
        two half intervals added, so that it is separated where they do not overlap.
        """
        floor, like = self.floor(generator, metric), self.matched(generator, metric)
        own = self.estimate(generator, metric)
        if self.detail(generator, metric, "p_value") is not None and own is not None and own.interval is not None:
            none = 0.0 if floor is None else max(floor.value, 0.0)
            return own.value - none, (own.interval.high - own.interval.low) / 2, _n_sentences(own)
        if floor is None or like is None or floor.interval is None or like.interval is None:
            return None
        difference = like.value - floor.value
        ends = (like.interval, floor.interval) if difference > 0 else (floor.interval, like.interval)
        return difference, max(0.0, abs(difference) - (ends[0].low - ends[1].high)), _n_sentences(like)

    def most_apart(self, generator: str, metric: str) -> float | None:
        """Return how far from real text a generator may be for all that its interval says; None where unknown."""
        gap = self.gap(generator, metric)
        if gap is None:
            return None
        difference, half_width, _ = gap
        one_sided = self.detail(generator, metric, "p_value") is not None
        return max(0.0, difference + half_width) if one_sided else abs(difference) + half_width

    def clearness(self, generator: str, metric: str) -> float | None:
        """Return how clearly a metric with a direction separates a generator from real text; None where it does not."""
        gap = None if self.better(metric) == "neither" else self.gap(generator, metric)
        if gap is None or not is_clear(abs(gap[0]), gap[1]):
            return None
        return abs(gap[0]) / gap[1] if gap[1] > 0 else math.inf

    def margin(self, metric: str) -> float | None:
        """Return the smallest difference by a metric that matters, as far as that is known: of fractions."""
        units = {found.unit for name in self.generators if (found := self.estimate(name, metric)) is not None}
        return MARGIN if units == {"fraction"} else None

    def blindness(self, generator: str, metric: str) -> str | None:
        """Return in words why the judge of `metric` could not see most texts of both sides; None where it could."""
        alike, unseen = (self.detail(generator, metric, key) for key in ("alike", "unseen"))
        return blindness(alike or 0.0, unseen or {})

    def size(self, generator: str) -> int | None:
        """Return the number of sentences of a generator, none where no estimate tells it."""
        for metric in self.comparison.metrics:
            estimate = self.estimate(generator, metric)
            if estimate is not None and "n_generated" in estimate.sizes:
                return estimate.sizes["n_generated"]
        return None

    def setting(self, key: str) -> str | None:
        """Return one setting of the signatures, such as ``tok``; none where no estimate has it."""
        for result in self.comparison.results:
            if result.estimate is not None and key in result.estimate.signature.settings:
                return result.estimate.signature.settings[key]
        return None

    def grouped_findings(self) -> tuple[tuple[Finding, ...], ...]:
        """Return the findings as `group_findings` does."""
        return group_findings(self.comparison.findings)

    def rank_text(self, generator: str, metric: str) -> str:
        """Return "1" or "1-3", empty where there is no rank."""
        rank = self.ranks.get((generator, metric))
        if rank is None:
            return ""
        return str(rank.low) if rank.low == rank.high else f"{rank.low}-{rank.high}"

    def grouped_warnings(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return each warning once, with what else it is said of: (the first, other generators and metrics)."""
        groups: dict[str, tuple[str, list[str]]] = {}
        subjects: dict[str, set[str]] = {}
        for warning in dict.fromkeys(self.comparison.warnings):
            pattern, named = warning, []
            for names in (self.generators, self.comparison.metrics, [family_of(m) for m in self.comparison.metrics]):
                words = {name: rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in names}
                name = max((name for name, word in words.items() if re.search(word, pattern)), key=len, default="")
                if name:
                    pattern = re.sub(words[name], "\0", pattern)
                    named.append(family_of(name) if names is not self.generators else name)
            pattern = re.sub(r"\d[\d.,]*", "0", pattern)
            if pattern in groups:
                groups[pattern][1].extend(name for name in named if name not in subjects[pattern])
            else:
                groups[pattern] = (warning, [])
                subjects[pattern] = set(named)
        return tuple((first, tuple(dict.fromkeys(others))) for first, others in groups.values())

    def reason(self, result: Result) -> str:
        """Return why a result has no value, without the variant of its metric: one reason for a whole family."""
        reason = result.error or "it is undefined on this text"
        if result.error is None and self.estimate(result.generator, result.metric) is not None:
            reason = f"it has no value at the size of the {FLOOR} row, by which it is ranked"
        return reason.replace(result.metric, family_of(result.metric))

    def errors(self, metrics: Sequence[str]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        """Return the reasons of missing values among `metrics`, each with the (generator, metric) cells it explains."""
        reasons: dict[str, list[tuple[str, str]]] = {}
        for result in self.comparison.results:
            if result.metric in metrics and self.shown(result.generator, result.metric) is None:
                reasons.setdefault(self.reason(result), []).append((result.generator, result.metric))
        return tuple((reason, tuple(cells)) for reason, cells in reasons.items())


def _n_sentences(estimate: Estimate) -> int:
    return min((estimate.sizes[key] for key in ("n_generated", "n_real") if key in estimate.sizes), default=0)


def group_findings(findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], ...]:
    """Return `findings`, those of one kind and remedy together, warnings first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.severity != "warning"):
        groups.setdefault((finding.severity, finding.kind, finding.remedy), []).append(finding)
    return tuple(tuple(group) for group in groups.values())


def join_words(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def printable(text: str) -> str:
    """Return `text` with what could steer a terminal or reorder a page replaced: controls, line breaks, directions."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    if character.isprintable():
        return False
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTIONS


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` characters, cut in the middle: both ends of a sentence tell something."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 3
    return f"{text[: width - 3 - tail].rstrip()} … {text[len(text) - tail :].lstrip()}"
