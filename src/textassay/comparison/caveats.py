"""What makes the numbers of a comparison hard to compare with each other, or with real text."""

from collections.abc import Collection, Sequence

from textassay.comparison.comparison import FLOOR, HELDOUT, TRAIN, Result
from textassay.estimate import Estimate

MATCHED = " at the floor's size"  # behind the name of a generator that is measured there
_REFERENCES = (FLOOR, HELDOUT, TRAIN)
N_CLUSTERS = "n_clusters"  # the detail of a metric of clusters that says how many there are
MOST_CLUSTERS = 1.1  # times as many at which values are still compared: mauve of poor text then moves by 6 %
_MUCH = 1.25  # times as many sentences: values that move with their number can no longer be compared


def heldout_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric that tells held-out real text from the real text, by its p-value."""
    found = []
    for result in results:
        p = None if result.estimate is None else result.estimate.details.get("p_value")
        if result.generator == HELDOUT and p is not None and p < alpha:
            assert result.estimate is not None
            found.append(
                f"the held-out real text itself differs from the real text "
                f"({result.metric} {result.estimate.value:.2f}, "
                f"p {p:.2g}): no generator can be expected to come closer than that"
            )
    return found


def train_differs(results: Sequence[Result], *, alpha: float) -> list[str]:
    """Return a warning for every metric by which the training text is further from the real text than the floor is.

    The p-value decides and the interval, which must lie above the floor. Where no metric has a p-value, the first one
    with a direction speaks, by its intervals at the floor's size.
    """
    rows = [result for result in results if result.generator == TRAIN and result.better != "neither"]
    tests = [result for result in rows if result.estimate is not None and "p_value" in result.estimate.details]
    apart = (
        [result for result in tests if _is_apart(result, alpha)] if tests else list(filter(_intervals_apart, rows[:1]))
    )
    found = []
    for result in apart:
        estimate = result.estimate if tests else result.matched
        assert estimate is not None
        p = estimate.details.get("p_value")
        shown = f"{result.metric} {estimate.value:.2f}" + ("" if p is None else f", p {p:.2g}")
        shown += "" if result.floor is None else f"; real text against itself {result.floor.value:.2f}"
        found.append(
            f"the training text itself differs from the real text ({shown}): no generator that learnt from it can be "
            "expected to come closer than that; compare with real text of the same source as the training text"
        )
    return found


def _is_apart(result: Result, alpha: float) -> bool:
    estimate, floor = result.estimate, result.floor
    assert estimate is not None
    if not estimate.details["p_value"] < alpha:
        return False
    return floor is None or estimate.interval is None or estimate.interval.low > max(floor.value, 0.0)


def _intervals_apart(result: Result) -> bool:
    intervals = [None if each is None else each.interval for each in (result.matched, result.floor)]
    if intervals[0] is None or intervals[1] is None:
        return False
    return intervals[0].low > intervals[1].high or intervals[0].high < intervals[1].low


def unequal_sizes(results: Sequence[Result], size_sensitive: Collection[str]) -> list[str]:
    """Return a warning where generators have unlike numbers of sentences, of metrics that move with that number."""
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
    listed = ", ".join(f"{name} {sizes[name]}" for name in fewer)
    return [
        f"the generators have unlike numbers of sentences ({listed}; the most {most}), and values of "
        f"{', '.join(metrics)} move with it: do not compare theirs with those of the others; give all the same number"
    ]


def unlike_clusters(results: Sequence[Result]) -> list[str]:
    """Return a warning for every metric of clusters whose values for some generators stand on far fewer of them."""
    found = []
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
            listed = ", ".join(f"{name} stands on {n}" for name, n in fewer.items())
            found.append(
                f"{metric} of {listed} clusters, of others on up to {most}: there is one for every ten sentences of "
                "the smaller side, and fewer make the value higher, so these are not compared with the others; give "
                "all generators the same number of sentences"
            )
    return found


def mixed_log_probs(results: Sequence[Result]) -> list[str]:
    """Return a warning for every metric of which some generators have log-probabilities and others do not."""
    found = []
    for metric in dict.fromkeys(result.metric for result in results):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for result in results:
            if result.metric == metric and result.estimate is not None and result.generator not in _REFERENCES:
                sides["log_probs" in result.estimate.signature.settings].append(result.generator)
        if sides[True] and sides[False]:
            found.append(
                f"{metric} of {', '.join(sides[True])} was measured with the generator's log-probabilities, that of "
                f"{', '.join(sides[False])} without: the first finds more, so differences and ranks between the two "
                "say nothing; give --log-probs of all or of none"
            )
    return found


def supported(warnings: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Return `warnings` without those that call text likelier than real text though the intervals overlap."""
    if not warnings:
        return []

    from textassay.metric import LIKELIER

    unsupported = tuple(
        f"{result.metric} of {result.generator}{size}: {LIKELIER}"
        for result in results
        for size in ("", MATCHED)
        if not _is_below_floor(result)
    )
    return [warning for warning in warnings if not warning.startswith(unsupported)]


def _is_below_floor(result: Result) -> bool:
    """Return whether the interval at the floor's size lies below that of what real text scores there."""
    if result.matched is None or result.floor is None:
        return False
    own, floor = result.matched.interval, result.floor.interval
    return own is not None and floor is not None and own.high < floor.low
