"""Warnings about a comparison whose numbers are hard to compare with each other, or with real text."""

from collections.abc import Collection, Iterable, Sequence

from textassay.comparison.comparison import FLOOR, TRAIN, Result
from textassay.comparison.verdicts import chance_level
from textassay.corpus.corpus import Corpus
from textassay.estimate import Estimate
from textassay.inspection.finding import HELDOUT, LANGUAGE_UNKNOWN, REAL, Finding
from textassay.metric.base import Metric
from textassay.metric.catalog import LEFT_OUT_OF_DOCUMENTS, OF_SENTENCES
from textassay.report.text import shown_p

MATCHED = " at the floor's size"  # suffix of the name of a generator measured at that size
_REFERENCES = (FLOOR, HELDOUT, TRAIN)
N_CLUSTERS = "n_clusters"  # the detail that holds the number of clusters
MOST_CLUSTERS = 1.1  # largest ratio of numbers of clusters to compare at: mauve of poor text then moves by 6 %
_LONG = 40  # tokens of an average text, which is then no single sentence
_PLENTY = 10_000  # such texts a side from which nothing is said; chosen, not measured
_MUCH = 1.25  # ratio of numbers of texts from which size-sensitive values are not comparable


def learns_english_alone(metrics: Sequence[Metric], real: Corpus, others: Iterable[Corpus]) -> bool:
    """Return whether dd learns English from few long texts alone, where a language model as a prior would know it."""
    judges = [metric for metric in metrics if metric.declaration.name == "dd"]
    if (
        len(real.tokens) < _LONG * len(real)
        or not judges
        or any(metric.settings["prior"] is not None for metric in judges)
    ):
        return False
    from textassay.prior.catalog import is_english

    return min(len(real), *map(len, others)) < _PLENTY and is_english(real)


def language_unknown(n: int) -> Finding:
    """Return the finding that dd knows of the language what these texts show, and no more."""
    return Finding(
        LANGUAGE_UNKNOWN,
        "note",
        REAL,
        f"dd learnt English from {n:,} texts alone: fluent text of a language model may look closer than it is.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Give dd a language model as a prior: --prior smollm2 (pip install 'textassay[prior-lm]').",
    )


def heldout_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric whose p-value separates held-out real text from the real text."""
    messages = []
    for result in results:
        p = None if result.estimate is None else result.estimate.details.get("p_value")
        if result.generator == HELDOUT and p is not None and p < alpha:
            assert result.estimate is not None
            messages.append(
                f"the held-out real text itself differs from the real text "
                f"({result.metric} {result.estimate.value:.2f}, "
                f"p {shown_p(result.estimate.details)}): no generator can be expected to come closer than that"
            )
    return messages


def train_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric by which the training text is further from the real text than the floor is.

    The p-value must be significant and the interval lie above guessing, or the floor where that is clearly higher.
    Where no metric has a p-value, the first one with a direction decides, by its intervals at the floor's size.
    """
    rows = [result for result in results if result.generator == TRAIN and result.better != "neither"]
    tests = [result for result in rows if result.estimate is not None and "p_value" in result.estimate.details]
    apart = (
        [result for result in tests if _is_apart(result, alpha)] if tests else list(filter(_intervals_apart, rows[:1]))
    )
    messages = []
    for result in apart:
        estimate = result.estimate if tests else result.matched
        assert estimate is not None
        p = shown_p(estimate.details)
        evidence = f"{result.metric} {estimate.value:.2f}" + (f", p {p}" if p else "")
        evidence += "" if result.floor is None else f"; real text against itself {result.floor.value:.2f}"
        messages.append(
            f"the training text itself differs from the real text ({evidence}): no generator that learnt from it can "
            "be expected to come closer. Use real text of the source of the training text"
        )
    return messages


def _is_apart(result: Result, alpha: float) -> bool:
    estimate, floor = result.estimate, result.floor
    assert estimate is not None
    if not estimate.details["p_value"] < alpha:
        return False
    return estimate.interval is None or estimate.interval.low > chance_level(floor)


def _intervals_apart(result: Result) -> bool:
    intervals = [None if each is None else each.interval for each in (result.matched, result.floor)]
    if intervals[0] is None or intervals[1] is None:
        return False
    return intervals[0].low > intervals[1].high or intervals[0].high < intervals[1].low


def unequal_sizes(results: Sequence[Result], size_sensitive: Collection[str]) -> list[str]:
    """Return a warning where generators have different numbers of texts and metrics depend on that number."""
    known: dict[str, Estimate] = {}
    metrics: dict[str, None] = {}
    for result in results:
        if result.generator in _REFERENCES or result.estimate is None or "n_generated" not in result.estimate.sizes:
            continue
        known.setdefault(result.generator, result.estimate)
        if N_CLUSTERS in result.estimate.details:
            continue
        if result.metric in size_sensitive and result.better in ("lower", "higher"):
            metrics[result.metric.split("(")[0]] = None
    sizes = {name: estimate.sizes["n_generated"] for name, estimate in known.items()}
    most = max(sizes.values(), default=0)
    fewer = [name for name, size in sizes.items() if size * _MUCH < most]
    if not fewer or not metrics:
        return []
    listed = ", ".join(f"{name} {sizes[name]:,}" for name in fewer)
    return [
        f"the generators have different numbers of texts ({listed}; the largest {most:,}), on which "
        f"{', '.join(metrics)} depend. Do not compare their values of all texts, ranks or pairs; give every "
        "generator the same number"
    ]


def unlike_clusters(results: Sequence[Result]) -> list[str]:
    """Return a warning for every clustering metric that has far fewer clusters for some generators than for others."""
    messages = []
    for metric in dict.fromkeys(result.metric for result in results):
        counts = {
            result.generator: result.estimate.details[N_CLUSTERS]
            for result in results
            if result.metric == metric and result.estimate is not None and N_CLUSTERS in result.estimate.details
            if result.generator not in _REFERENCES
        }
        most = max(counts.values(), default=0)
        fewer = {name: n for name, n in counts.items() if most > MOST_CLUSTERS * n}
        if fewer:
            listed = ", ".join(f"{name} {n:,}" for name, n in fewer.items())
            messages.append(
                f"{metric} has fewer clusters for some generators ({listed}; the largest {most:,}): one for every "
                "ten texts of the smaller side. Fewer clusters raise the value, so these are not compared with the "
                "others. Give every generator the same number of texts"
            )
    return messages


def of_documents(metrics: Sequence[Metric], *, left_out: bool) -> list[str]:
    """Return a warning about metrics that are made for sentences, where texts are documents.

    `left_out`: whether they are missing because nobody named them.
    """
    if left_out:
        return [
            f"these are documents: {' and '.join(LEFT_OUT_OF_DOCUMENTS)} are left out, since long texts share most "
            "short n-grams. Name them (--metrics), or treat texts as sentences (--unit sentence)"
        ]
    named = dict.fromkeys(metric.declaration.name for metric in metrics if metric.declaration.name in OF_SENTENCES)
    if not named:
        return []
    verb = "is" if len(named) == 1 else "are"
    return [
        f"these are documents, but {' and '.join(named)} {verb} made for sentences. N-grams match anywhere in a long "
        "text, so values do not reflect the structure of a document. Compare only values of texts of equal length"
    ]


def mixed_log_probs(results: Sequence[Result]) -> list[str]:
    """Return a warning for every metric that used log-probabilities of some generators but not of others."""
    messages = []
    for metric in dict.fromkeys(result.metric for result in results):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for result in results:
            if result.metric == metric and result.estimate is not None and result.generator not in _REFERENCES:
                sides["log_probs" in result.estimate.signature.settings].append(result.generator)
        if sides[True] and sides[False]:
            messages.append(
                f"{metric} of {', '.join(sides[True])} was measured with the generator's log-probabilities, {metric} "
                f"of {', '.join(sides[False])} without, which detects less. Do not compare the two groups; give "
                "--log-probs for all generators or none"
            )
    return messages


def supported(warnings: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Drop warnings that text is likelier than real text where the intervals overlap."""
    if not warnings:
        return []

    from textassay.metric.lm_score import LIKELIER

    unsupported = tuple(
        f"{result.metric} of {result.generator}{size}: {LIKELIER}"
        for result in results
        for size in ("", MATCHED)
        if not _is_below_floor(result)
    )
    return [warning for warning in warnings if not warning.startswith(unsupported)]


def _is_below_floor(result: Result) -> bool:
    """Return whether the interval at the floor's size lies below the floor's."""
    if result.matched is None or result.floor is None:
        return False
    own, floor = result.matched.interval, result.floor.interval
    return own is not None and floor is not None and own.high < floor.low
