"""`assert_close`: a test that generated text is close to real text, by a statistical rule.

The rule is about the confidence interval of each metric named, at `level`. A limit is broken where the whole interval
is beyond it; with `strict`, it is kept only where the whole interval is within it. So of texts that are just at the
limit at most (1 - level) / 2 break it by luck, or, with `strict`, keep it by luck; each limit is a test of its own. The
limit is one of what the metric measures: dd finds at most the true distance, so it may keep a limit that this breaks.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textassay.comparison.comparison import Comparison
from textassay.comparison.discriminative_ngrams import find_discriminative_ngrams
from textassay.comparison.run import compare
from textassay.comparison.standings import Standings
from textassay.corpus.corpus import TextOptions, Texts, corpora_from_texts
from textassay.corpus.named_texts import one_text
from textassay.errors import OptionError, unknown_name
from textassay.inspection.finding import REAL
from textassay.metric.catalog import CATALOG, MetricLike, as_metric
from textassay.report.text import count, decimals, join_words, number, shorten, span
from textassay.report.text import level as percent

GENERATED = "generated"
_TEXT = tuple(TextOptions.__annotations__)
SETTINGS = (  # of `compare`, beside the texts; the others name metrics
    *("device", "effort", "encoder", "fit_real", "folds", "independent", "prior", "prompts", "train", "workers"),
    *_TEXT,
)
_WIDTH, _MOST_PHRASES, _MOST_FINDINGS = 100, 3, 3


@dataclass(frozen=True)
class Limit:
    """A limit and what was measured: the value, or how far it is from what real text scores, with its interval."""

    metric: str
    limit: float
    is_least: bool  # whether the value may not be below it
    of: str  # what is measured, such as "dd"
    value: float
    low: float | None
    high: float | None
    floor: float | None  # what real text itself scores
    like: float | None = None  # the value at the floor's size, where size moves it
    reason: str = ""  # why there is no value

    def is_broken(self, *, strict: bool) -> bool:
        """Return whether the rule of the module says that the text is not close; undefined is never close."""
        if not math.isfinite(self.value):
            return True
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        if self.is_least:
            return not low >= self.limit if strict else high < self.limit
        return not high <= self.limit if strict else low > self.limit

    def line(self, level: float) -> str:
        """Return the value, its interval, the limit and what real text scores, in a line."""
        allowed = f"at {'least' if self.is_least else 'most'} {self.limit:g} allowed"
        if not math.isfinite(self.value):
            return f"{self.of} has no value ({self.reason or 'it is undefined for this text'}), {allowed}"
        width = None if self.low is None or self.high is None else (self.high - self.low) / 2
        places = max(decimals(self.value, width), 2)
        bounds = f", {percent(level)} interval {span(self.low, self.high, places)}" if width is not None else ""
        floor = "" if self.floor is None else f"; real text scores {number(self.floor, places)}"
        if floor and self.like is not None:
            floor = f"; at equal size {number(self.like, places)}, and real text {number(self.floor, places)}"
        return f"{self.of} {number(self.value, places)}{bounds}, {allowed}{floor}"


@dataclass(frozen=True)
class Check:
    """What one call of `assert_close` found."""

    limits: tuple[Limit, ...]
    strict: bool
    level: float

    @property
    def broken(self) -> tuple[Limit, ...]:
        return tuple(limit for limit in self.limits if limit.is_broken(strict=self.strict))

    def lines(self) -> list[str]:
        """Return a line for each limit; of a text that passes, whether it was shown to be close."""
        shown = []
        for limit in self.limits:
            unsure = not limit.is_broken(strict=False) and limit.is_broken(strict=True)
            told = "broken: " if limit in self.broken else "kept, not proven: " if unsure else "kept: "
            shown.append(told + limit.line(self.level))
        return shown


# Of this process, each with `lines`, for the plugin of pytest, which takes them out after each test
checks: list[Any] = []


def assert_close(
    generated: Texts,
    real: Texts,
    *,
    limits: Mapping[MetricLike, float] | None = None,
    strict: bool = False,
    level: float = 0.95,
    seed: int = 0,
    **named: Any,
) -> Comparison:
    """Raise an AssertionError if generated text is not close to real text.

    By default it fails only where it is clear that the text is too far: the whole interval is beyond the limit. Few
    texts give wide intervals, so that little can fail; with `strict`, it fails unless the interval shows that the text
    is within the limit (a test of equivalence), and few texts cannot pass.

    Parameters
    ----------
    generated, real
        As in `compare`. dd needs 50 texts a side.
    limits
        Metric to limit, for names with settings, ``{"bleu(order=4)": 0.3}``, and metrics of your own.
    strict
        Whether closeness has to be shown, instead of distance.
    level
        Of the intervals, which have two sides: of texts just at a limit, at most ``(1 - level) / 2`` get the verdict
        that has to be shown. Each limit is a test of its own.
    seed
        As in `compare`: the same texts and seed give the same verdict.
    named
        Limits by name, such as ``dd=0.1`` or ``mauve=0.9``: the largest value where lower is better, the least where
        higher is better, and where closer to real text is better, the largest difference from what real text scores
        at the same size. And settings of `compare`: `effort`, `encoder`, `folds`, `independent`, `prior`, `prompts`,
        `train`, `fit_real`, `tokenizer`, `lowercase`, `normalize`, `max_tokens`, `workers`, `device`.

    Returns
    -------
    Comparison
        Everything that was measured.

    Raises
    ------
    AssertionError
        With the value, its interval, the rule, and what gives the text away, on one screen.
    OptionError
        If no limit is given, a metric has no direction, or has no interval where `strict` needs one.
    TooFewSentencesError
        If a metric needs more texts.
    """
    __tracebackhide__ = True
    _, generated = one_text(generated)
    settings = {name: named.pop(name) for name in SETTINGS if name in named}
    given: dict[MetricLike, Any] = {**{_metric_name(name): limit for name, limit in named.items()}, **(limits or {})}
    wanted = _limits(given, {"folds": settings["folds"]} if "folds" in settings else {})
    comparison = compare(
        {GENERATED: generated}, real, metrics=list(wanted), level=level, seed=seed, explain=False, **settings
    )
    standings = Standings(comparison)
    pairs = zip(comparison.metrics, wanted.values(), strict=True)  # its names may have more settings
    found = tuple(_measured(standings, name, limit) for name, limit in pairs)
    check = Check(found, strict, level)
    if strict:
        for limit in found:
            if limit.low is None and math.isfinite(limit.value):
                raise OptionError(f"strict needs an interval, and {limit.metric} has none here")
    checks.append(check)
    if check.broken:
        text = {name: value for name, value in settings.items() if name in _TEXT}
        raise AssertionError(_message(check, comparison, text))
    return comparison


def _limits(given: Mapping[MetricLike, Any], settings: Mapping[str, Any]) -> dict[MetricLike, float]:
    """Return the limits, checked; no two are of the same metric with these settings."""
    if not given:
        raise OptionError("assert_close needs a limit, such as dd=0.1")
    names: set[str] = set()
    for one, limit in given.items():
        metric = as_metric(one, settings)
        if metric.better == "neither":
            raise OptionError(f"{metric.name} has no direction, so no limit can define what is close")
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not math.isfinite(limit):
            raise OptionError(f"the limit of {metric.name} must be a finite number, got {limit!r}")
        if metric.name in names:
            raise OptionError(f"two limits are given for {metric.name}: leave one of them out")
        names.add(metric.name)
    return {one: float(limit) for one, limit in given.items()}


def _metric_name(name: str) -> str:
    spelt = name.replace("_", "-")
    if spelt not in CATALOG:
        raise unknown_name("metric or setting of assert_close", name, [*CATALOG, *SETTINGS])
    return spelt


def _measured(standings: Standings, metric: str, limit: float) -> Limit:
    """Return the value and its interval or, where closer is better, the difference from real text and its interval."""
    better = standings.better(metric)
    result = standings.comparison.result(GENERATED, metric)
    floor = standings.floor(GENERATED, metric)
    estimate, reason, bounds = result.estimate, result.error or "", None
    value, low, high = math.nan, None, None
    if better == "closer":
        gap = standings.gap(GENERATED, metric)
        matched = standings.matched(GENERATED, metric)
        if gap is not None:
            value = abs(gap[0])
            low, high = max(0.0, value - gap[1]), value + gap[1]
        elif matched is not None and floor is not None:
            value = abs(matched.value - floor.value)
        return Limit(metric, limit, False, f"{metric} away from real text", value, low, high, None, reason=reason)
    if estimate is not None:
        value, bounds = estimate.value, estimate.interval
    if bounds is not None and not math.isnan(bounds.low + bounds.high):
        low, high = bounds.low, bounds.high
    like = standings.shown(GENERATED, metric) if standings.at_floor_size(metric) else None
    return Limit(metric, limit, better == "higher", metric, value, low, high, None if floor is None else floor.value,
                 None if like is None else like.value, reason)  # fmt: skip


def _message(check: Check, comparison: Comparison, text: Mapping[str, Any]) -> str:
    """Return one screen: what is broken, the rule, what gives the text away, what was compared."""
    names = join_words([limit.metric for limit in check.broken])
    end = "beyond" if not check.strict else "not within"
    sides = percent(check.level)
    lines = [f"generated text is not close to real text by {names}", *(f"  {line}" for line in check.lines())]
    lines.append(f"rule: it fails if the {sides} interval is {'wholly ' * (not check.strict)}{end} the limit")
    giveaways = _giveaways(comparison, check.level, text)
    if giveaways:
        lines += ["most distinctive n-grams", *(f"  {line}" for line in giveaways)]
    warnings = [one for one in comparison.findings if one.severity == "warning" and one.generator != REAL]
    if warnings:
        lines += ["trivial differences, which may explain it", *(f"  {shorten(one.message, _WIDTH)}"
                                                                for one in warnings[:_MOST_FINDINGS])]  # fmt: skip
        lines += [f"  and {len(warnings) - _MOST_FINDINGS} more"] * (len(warnings) > _MOST_FINDINGS)
    n_generated = next((one.estimate.sizes.get("n_generated") for one in comparison.results
                        if one.generator == GENERATED and one.estimate is not None), None)  # fmt: skip
    sizes = "" if n_generated is None else f"{count(n_generated)} generated and "
    lines.append(f"{sizes}{count(comparison.real.n_sentences)} real texts, seed {comparison.seed}, "
                 f"textassay {comparison.version}")  # fmt: skip
    return "\n".join(lines)


def _giveaways(comparison: Comparison, level: float, text: Mapping[str, Any]) -> list[str]:
    """Return the phrases that generated text has too often and too rarely, a line each."""
    assert comparison.texts is not None
    corpora = corpora_from_texts({name: comparison.texts[name] for name in (GENERATED, REAL)}, **text)
    found = find_discriminative_ngrams(corpora[REAL], corpora[GENERATED], level=level, top=_MOST_PHRASES)
    sides = {"too often": (*found.boilerplate, *found.more_generated), "too rarely": found.more_real}
    lines = []
    for title, phrases in sides.items():
        shown = [
            f"'{shorten(one.ngram, 40)}' {100 * one.share_generated:.1f} % (real {100 * one.share_real:.1f} %)"
            for one in list(phrases)[:_MOST_PHRASES]
        ]
        lines += [f"{title}: {'; '.join(shown)}"] if shown else []
    return lines
