"""What makes the numbers of a comparison hard to compare with each other."""

from collections.abc import Sequence

from textassay.comparison.comparison import FLOOR, HELDOUT, Result

__all__ = ["mixed_log_probs"]


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
