"""The texts that raters disagree on most, and those that mislead them most.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges", 2019 (samples with the lowest agreement).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError
from textassay_lab.human.judgements import Judgements

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JudgedText:
    """One item and its judgements."""

    id: str
    generator: str | None  # None for a person
    text: str
    n: int  # Number of judgements
    mean: float  # Fraction judged real, or mean rating
    # Fraction of pairs of raters who agree; on the scale "number", minus the variance. NaN with a single judgement.
    agreement: float


@dataclass(frozen=True)
class DisputedTexts:
    """Texts of one generator (None: people) with the lowest agreement, lowest first.

    `n_alike`: number of texts with at most the agreement of the last one listed; among ties the first are listed.
    """

    generator: str | None
    texts: tuple[JudgedText, ...]
    n_alike: int


def judged_texts(judgements: Judgements) -> list[JudgedText | None]:
    """Return each item with its judgements, None for items without judgement."""
    n = np.bincount(judgements.item, minlength=len(judgements.items))
    sums = np.bincount(judgements.item, weights=judgements.value, minlength=len(judgements.items))
    means = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0)
    spread = np.bincount(
        judgements.item, weights=(judgements.value - means[judgements.item]) ** 2, minlength=len(judgements.items)
    )
    variances = np.divide(spread, n - 1, out=np.full(len(n), np.nan), where=n > 1)
    agreement = 1 - 2 * variances if judgements.scale == "real-or-fake" else -variances
    return [
        JudgedText(item.id, item.generator, item.text, int(n[place]), float(means[place]), float(agreement[place]))
        if n[place]
        else None
        for place, item in enumerate(judgements.items)
    ]


def most_disputed(judgements: Judgements, *, k: int = 4, votes: int | None = None) -> tuple[DisputedTexts, ...]:
    """Return for each generator, and finally for people, the `k` texts with the lowest agreement."""
    _check(k)
    texts = [text for text in judged_texts(judgements) if text is not None and text.n > 1]
    texts = [text for text in texts if votes is None or text.n == votes]
    results = []
    for generator in (*judgements.generators, None):
        own = sorted((text for text in texts if text.generator == generator), key=lambda text: round(text.agreement, 9))
        if own:
            last = own[: min(k, len(own))][-1].agreement
            results.append(DisputedTexts(generator, tuple(own[:k]), sum(text.agreement <= last + 1e-9 for text in own)))
    return tuple(results)


def most_misleading(judgements: Judgements, *, k: int = 4) -> tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]]:
    """Return the `k` generated texts most often judged real, and the `k` real texts most often judged fake.

    Ties are ordered by number of judgements, then by position; texts that the majority judged correctly are left out.
    On the scale "number": the generated texts rated highest, the real ones rated lowest.
    """
    _check(k)
    texts = [text for text in judged_texts(judgements) if text is not None]
    is_vote = judgements.scale == "real-or-fake"

    def worst(chosen: Sequence[JudgedText], sign: float) -> tuple[JudgedText, ...]:
        wrong = [text for text in chosen if not is_vote or sign * (text.mean - 0.5) > 1e-9]
        return tuple(sorted(wrong, key=lambda text: (-sign * round(text.mean, 9), -text.n))[:k])

    return (
        worst([text for text in texts if text.generator is not None], 1.0),
        worst([text for text in texts if text.generator is None], -1.0),
    )


def _check(k: int) -> None:
    if k < 1:
        raise OptionError(f"k must be at least 1, got {k}")
