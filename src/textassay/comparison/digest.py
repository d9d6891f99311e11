"""How a comparison is laid out: families of metrics, decimals, footnotes, warnings told once.

Every renderer (terminal, Markdown, page, figures) reads the same digest, so that they never disagree.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from textassay.comparison.comparison import FLOOR, TRAIN, Comparison, Result
from textassay.comparison.metric_kinds import Kind, family_of, group_by_kind, with_encoder
from textassay.comparison.standings import Standings
from textassay.corpus.encoding import EOS, SOS, SPECIAL_TOKENS
from textassay.corpus.tokenizer import join_letters
from textassay.estimate import Estimate
from textassay.inspection.finding import LANGUAGE_UNKNOWN
from textassay.prior.catalog import ENGLISH, name_of
from textassay.report.text import count, join_words, places_for, rank_range

_ENDS = (SPECIAL_TOKENS[SOS], SPECIAL_TOKENS[EOS])


@dataclass(frozen=True)
class Digest(Standings):
    """A comparison with look-ups; see the module. Metrics of sentence vectors have their encoder in their names."""

    spelt: Comparison = field(init=False)  # with the names of metrics as `compare` takes them

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelt", self.comparison)
        object.__setattr__(self, "comparison", _with_encoders(self.comparison))

    @cached_property
    def floor_note(self) -> str:
        """Return what the row of real text is: which halves were compared, of how many texts."""
        found = (self.estimate(FLOOR, metric) for metric in self.comparison.metrics)
        sizes: Mapping[str, int] = next((one.sizes for one in found if one is not None and "n_real" in one.sizes), {})
        n, against = sizes.get("n_generated"), sizes.get("n_real")
        told = "" if n is None or against is None else f"{count(n)} a side" if n == against else f"{count(n)} texts "
        told += "" if against is None or n == against else f"against {count(against)}"
        n_groups, n_shared = (self.comparison.floor_groups.get(key, 0) for key in ("n_groups", "n_shared"))
        if not n_groups:
            what = "one half of the real text against the other"
        elif not self.comparison.settings.get("prompts"):
            what, told = "whole groups of real texts against the others", f"{told}, {count(n_groups)} groups"
        elif not n_shared:
            what = "real answers to some prompts against those to the others, since no prompt has two"
        else:
            what = "real answers against other real answers to the same prompts"
            told += f", {count(n_shared)} of {count(n_groups)} prompts have several" * (n_shared < n_groups)
        return f"{FLOOR}: {what} ({told.strip(', ')})" if told else f"{FLOOR}: {what}"

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
            else f"{count(size)} of its {count(drawn_from)} texts, drawn at random, "
        )
        return f"{TRAIN}: the generators' training text, {part}measured as if it were generated."

    @cached_property
    def learnt_note(self) -> str:
        """Return from what text dd learnt beside what it was tested on; empty where there is none."""
        more = self.setting("fit_real")
        learnt = [] if more is None else [f"{count(int(more.split('-')[0]))} more real texts"]
        learnt += ["the generators' training text"] * (self.setting("trained_on") is not None)
        prior = self.setting("prior", of="dd")
        if prior == ENGLISH:
            learnt.append("general counts of English words and pairs of words")
        elif prior is not None:
            learnt.append(f"what the language model {name_of(prior)} says of each text")
        told = [f"dd learnt from {' and '.join(learnt)}"] if learnt else []
        if any(finding.kind == LANGUAGE_UNKNOWN for finding in self.comparison.findings):
            told.append("dd learnt English from these texts alone (--prior smollm2 adds a language model)")
        return "; ".join(told)

    @cached_property
    def units_note(self) -> str:
        """Return what belongs together, beyond single texts, in the numbers of each generator; empty where nothing."""
        if self.comparison.settings.get("independent"):
            return "texts were treated as independent, without a check (--independent)"
        found: dict[str, list[str]] = {}
        for name in self.generators:
            cells = [self.cells[name, metric].estimate for metric in self.metrics if (name, metric) in self.cells]
            signed = [estimate.signature.settings for estimate in cells if estimate is not None]
            label = next((settings["units"] for settings in signed if "units" in settings), None)
            if label is None and any(settings.get("split") == "group" for settings in signed):
                label = "the groups that were given"
            if label is not None:
                found.setdefault(label, []).append(name)
        told = [f"{re.sub('^[0-9]+', lambda n: count(int(n[0])), each)} ({join_words(names)})"
                for each, names in found.items()]  # fmt: skip
        return f"kept together as units: {join_words(told)}" if told else ""

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

    def unit_beside_values(self, metric: str) -> str:
        """Return the unit of a metric where a number has to be read with it, such as "nats per token"; else empty.

        A single word ("fraction", "ratio", "area") says what the number is, not what it is measured in.
        """
        found = (self.cells[name, metric].estimate for name in self.generators if (name, metric) in self.cells)
        unit = next((estimate.unit for estimate in found if estimate is not None), "")
        return unit if " " in unit else ""

    def own_floor_name(self, generator: str, metric: str) -> str:
        """Return what to call `own_floor`."""
        floor, row = self.floor(generator, metric), self.estimate(FLOOR, metric)
        size = 0 if floor is None else floor.sizes.get("n_generated", 0)
        if row is None or size == row.sizes.get("n_generated"):
            return f"{FLOOR} beside {generator}"
        return f"{FLOOR} of {size:,}"

    def own_floors(self, metric: str) -> Mapping[str, Estimate]:
        """Return what real text scores beside generators with a floor of their own, by names of rows.

        Only for a metric that is ranked at the floor's size.
        """
        if not self.at_floor_size(metric):
            return {}
        found = {}
        for generator in self.order:
            own = self.own_floor(generator, metric)
            if own is not None and self.shown(generator, metric) is not None:
                found[self.own_floor_name(generator, metric)] = own
        return dict(sorted(found.items(), key=lambda item: -item[1].sizes.get("n_generated", 0)))

    def bound(self, generator: str, metric: str) -> float | None:
        """Return the certified bound; None where the metric certifies nothing."""
        found = self.detail(generator, metric, "certified_bound")
        return None if found is None else found["value"]

    def places(self, metric: str) -> int:
        """Return the decimals of a metric's column."""
        return places_for(self.shown(generator, metric) for generator in self.generators)

    @cached_property
    def sizes_text(self) -> str:
        """How many texts the generators have, such as "200 to 300"; empty where it is not known."""
        sizes = {size for name in self.generators if (size := self.size(name)) is not None}
        return f"{count(min(sizes))} to {count(max(sizes))}" if len(sizes) > 1 else "".join(map(count, sizes))

    def setting(self, key: str, *, of: str | None = None) -> str | None:
        """Return one setting of the signatures, such as ``tok``, or of those of one metric; none where none has it."""
        for result in self.comparison.results:
            if of is not None and family_of(result.metric) != of:
                continue
            if result.estimate is not None and key in result.estimate.signature.settings:
                return result.estimate.signature.settings[key]
        return None

    def rank_text(self, generator: str, metric: str) -> str:
        """Return "1" or "1-3", empty where there is no rank."""
        rank = self.ranks.get((generator, metric))
        return "" if rank is None else rank_range(rank.low, rank.high)

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
        reason = result.error or "it is undefined for this text"
        if result.error is None and self.estimate(result.generator, result.metric) is not None:
            reason = f"it has no value at the size of the {FLOOR} row, which is shown"
        family = family_of(result.metric)
        return re.sub(rf"(?<![\w-]){re.escape(family)}\([^)]*\)", family, reason)

    def errors(self, metrics: Sequence[str]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        """Return the reasons of missing values among `metrics`, each with the (generator, metric) cells it explains."""
        reasons: dict[str, list[tuple[str, str]]] = {}
        for result in self.comparison.results:
            if result.metric in metrics and self.shown(result.generator, result.metric) is None:
                reasons.setdefault(self.reason(result), []).append((result.generator, result.metric))
        return tuple((reason, tuple(cells)) for reason, cells in reasons.items())


def phrase_of(ngram: str) -> str:
    """Return an n-gram as it is written, without the marks of beginning and end."""
    return join_letters(token for token in ngram.split(" ") if token not in _ENDS)


def _with_encoders(comparison: Comparison) -> Comparison:
    names: dict[str, str] = {}
    for result in comparison.results:
        encoder = "" if result.estimate is None else result.estimate.signature.settings.get("encoder", "")
        if encoder:
            # the hash of a model says which model it is, that of `lsa` what it learnt from the real text
            names[result.metric] = with_encoder(
                result.metric, encoder.split(":")[0] if encoder.startswith("lsa") else encoder
            )
    return replace(
        comparison,
        metrics=tuple(names.get(metric, metric) for metric in comparison.metrics),
        results=tuple(replace(result, metric=names.get(result.metric, result.metric)) for result in comparison.results),
        pairs=tuple(replace(pair, metric=names.get(pair.metric, pair.metric)) for pair in comparison.pairs),
        ranks=tuple(replace(rank, metric=names.get(rank.metric, rank.metric)) for rank in comparison.ranks),
        equivalence=tuple(replace(one, metric=names.get(one.metric, one.metric)) for one in comparison.equivalence),
    )
