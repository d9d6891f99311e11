"""Verdicts on a difference from its interval: the rules behind every answer in words.

separated
    The interval leaves out "no difference", and the p-value, where there is one, is significant. Said: "told apart",
    "closer", "exposure bias".
hardly
    The p-value is significant, but the interval reaches what real text scores. Said: "hardly told apart", and why.
negligible
    The interval holds "no difference" and stays within a margin named beforehand. Said: no more than so much.
open
    It holds "no difference" and reaches beyond the margin, or no margin is known. Said: "cannot be told", how large the
    difference may be, and about how many more sentences would show it.
blind
    It is not significant, and the classifier could not see most texts: they share nothing with its training text.
    Said: "cannot be told", and why (`textassay.metric.discrepancy_interval`); `Comparison.verdict` decides.
unknown
    There is no interval. Nothing is said.

A margin is the smallest difference that matters: `MARGIN` for fractions such as dd, the smallest default of
`textassay plan`; `RATIO_MARGIN` for ratios such as EB-C; for other units none is known. The number of texts needed
follows from the square-root law of intervals, for the measured difference, or the margin if that is larger, with the
power of `textassay plan`.

Where one metric cannot separate two texts and another of the same comparison clearly does, the answer names it. Clearly
means that the gap between the two intervals exceeds the sum of their half widths, which is unlikely by chance even
among thirty metrics. If first place goes to a text that is mostly (`MOSTLY`) repeats or copies, the answer says so.
"""

import math
from typing import Literal

from scipy.special import ndtri

from textassay.estimate import Estimate

Verdict = Literal["separated", "hardly", "negligible", "open", "blind", "unknown"]

MARGIN = 0.02
POWER = 0.8
RATIO_MARGIN = 0.05
MOSTLY = 0.5
_MOST_TIMES = 100  # beyond this multiple, the number of texts needed is not given


def verdict_of(
    low: float | None,
    high: float | None,
    *,
    none: float = 0.0,
    margin: float | None = None,
    p: float | None = None,
    alpha: float | None = None,
) -> Verdict:
    """Return the verdict on a difference with the interval from `low` to `high`; `none` stands for no difference.

    With `p` and `alpha` of a test, a difference that is not significant is not separated.
    """
    if low is None or high is None or not math.isfinite(low + high):
        return "unknown"
    significant = p is None or alpha is None or p < alpha
    if not low <= none <= high and significant:
        return "separated"
    if p is not None and significant:
        return "hardly"
    return "negligible" if margin is not None and max(none - low, high - none) <= margin else "open"


def chance_level(floor: Estimate | None) -> float:
    """Return what a metric that tests itself against guessing, which is 0, gives text like real text.

    It is the floor only where that is clearly above 0: elsewhere it is the noise of half the real text.
    """
    is_noise = floor is None or (floor.interval is not None and floor.interval.low <= 0)
    return 0.0 if floor is None or is_noise else max(floor.value, 0.0)


def is_clear(gap: float, widths: float) -> bool:
    """Return whether values `gap` apart differ clearly; `widths` is the sum of their half intervals."""
    return gap > 2 * widths


def more_sentences(
    difference: float,
    half_width: float,
    n: int,
    *,
    level: float,
    margin: float | None = None,
    n_tests: int = 1,
    what: str = "texts a side",
) -> tuple[str, float] | None:
    """Return, in words, how many more texts a side would show a difference, and that difference.

    None where there are enough already, or nothing can be computed.
    """
    effect = max(abs(difference), margin or 0.0)
    if not (effect > 0 and half_width > 0 and math.isfinite(half_width) and n > 0):
        return None
    if (half_width / effect) ** 2 > _MOST_TIMES:
        return f"more than {_MOST_TIMES} times as many {what}", effect
    needed = sentences_to_settle(effect, half_width, n, level=level, n_tests=n_tests)
    more = needed - n
    if more <= 0:
        return None
    return f"about {rounded(more):,} more {what}", effect


def sentences_to_settle(difference: float, half_width: float, n: int, *, level: float, n_tests: int = 1) -> int:
    """Return roughly how many texts a side would show a difference by any metric, from the interval with `n` texts.

    The half width of an interval shrinks with the square root of the number of texts.
    """
    error = half_width / float(ndtri((1 + level) / 2))
    z = -float(ndtri((1 - level) / (2 * n_tests))) + float(ndtri(POWER))
    return math.ceil(n * (z * error / difference) ** 2)


def rounded(n: int) -> int:
    """Return `n`, rounded up to two significant figures."""
    step: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // step) * step
