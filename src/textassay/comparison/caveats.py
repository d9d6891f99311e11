"""What makes the numbers of a comparison hard to compare with each other."""

from collections.abc import Sequence

from textassay.comparison.comparison import FLOOR, HELDOUT, Result
from textassay.metric.lm_score import LIKELIER

__all__ = ["MATCHED", "mixed_log_probs", "supported"]

MATCHED = " at the floor's size"  # behind the name of a generator that is measured there


def mixed_log_probs(results: Sequence[Result]) -> list[str]:
    """Return a warning for every metric of which some generators have log-probabilities and others do not.

    Parameters
    ----------
    results
        Of all generators and metrics; rows of real text are passed over, since nothing is to be found there.
    """
    found = []
    for metric in dict.fromkeys(result.metric for result in results):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for result in results:
            if result.metric == metric and result.estimate is not None and result.generator not in (FLOOR, HELDOUT):
                sides["log_probs" in result.estimate.signature.settings].append(result.generator)
        if sides[True] and sides[False]:
            found.append(
                f"{metric} of {', '.join(sides[True])} was measured with the generator's log-probabilities, that of "
                f"{', '.join(sides[False])} without: the first finds more, so differences and ranks between the two "
                "say nothing; give --log-probs of all or of none"
            )
    return found


def supported(warnings: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Return `warnings` without those that call text likelier than real text though the intervals overlap.

    Parameters
    ----------
    warnings
        Of all metrics, each with the metric's name and the generator's.
    results
        Of all generators and metrics, with what real text scores at the same size.
    """
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
