"""Raters: accuracy, agreement with the others, and signs of careless judging.

Some criteria are relative to the raters of the same texts. If all raters were equally good, the votes on a text could
be permuted among its raters, so that each vote of a rater is correct with the fraction of correct votes on its text,
independently over texts; a rater's number of correct answers is tested against the distribution of this sum. Relative
criteria fail if all raters are equally careless, so others are absolute: too little time to read, one answer to
everything, a failed attention check, answers in a pattern, and two raters with the same mistakes.

Sources: Iglewicz, Hoaglin, "How to Detect and Handle Outliers", 1993 (modified z-scores beyond 3.5), for times far
below those of others. Huang, Curran, Keeney, Poposki, DeShon, "Detecting and Deterring Insufficient Effort Responding
to Surveys", Journal of Business and Psychology 27, 2012, for `MIN_SECONDS`: attentive people rarely answer an item of a
questionnaire in less than 2 seconds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from textassay.errors import check_range
from textassay.resampling.multiplicity import holm
from textassay_lab.human.judgements import Judgements

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

MIN_SECONDS = 2.0
_MIN_TEXTS = 10  # half of a typical page; with fewer, equal answers are no evidence
_MAX_PATTERN = 4
_PRIOR_WEIGHT = 2.0  # of the writer's error rate, in judgements, besides those of the text itself
_MAX_NAMES = 3
_TOO_FAST = -3.5
_MAD_TO_DEVIATION = 0.6745  # of a normal distribution
_MIN_TIMES = 5  # for a median


@dataclass(frozen=True)
class RaterSummary:
    rater: str
    n: int  # Number of judgements
    mean: float  # Fraction judged real; on the scale "number" the mean rating
    lowest: float  # Of the rater's judgements, as `highest`
    highest: float
    accuracy: float  # NaN on the scale "number"
    # Fraction of judgements equal to the majority of the others on the same text, without ties; on the scale "number"
    # the correlation with the mean of the others. NaN without others.
    agreement: float
    # Of so few correct answers if all raters were equally good; adjusted by Holm's method over raters. NaN if nobody
    # else judged the rater's texts, and on the scale "number".
    p_value: float
    p_adjusted: float
    seconds: float | None  # Mean time of a judgement; None if unknown
    # Among "too fast", "one answer", "pattern", "same as another", "failed check", "below others"
    flags: tuple[str, ...]
    reasons: tuple[str, ...] = ()  # An explanation of each flag


def summarise_raters(
    judgements: Judgements,
    *,
    seconds: Mapping[str, float] | None = None,
    checks: Mapping[str, tuple[int, int]] | None = None,
    min_seconds: float = MIN_SECONDS,
    level: float = 0.95,
) -> tuple[RaterSummary, ...]:
    """Return a summary of each rater with judgements, in the order of `Judgements.raters`."""
    check_range("min_seconds", min_seconds, 0)
    by_rater = np.argsort(judgements.rater, kind="stable")
    ends = np.cumsum(np.bincount(judgements.rater, minlength=len(judgements.raters)))[:-1]
    rows_by_rater = [(place, rows) for place, rows in enumerate(np.split(by_rater, ends)) if len(rows)]
    is_vote = judgements.scale == "real-or-fake"
    is_real = judgements.is_real[judgements.item]
    right = np.where(is_real, judgements.value, 1 - judgements.value)
    counts = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item]
    times = {judgements.raters[number]: (seconds or {}).get(judgements.raters[number]) for number, _ in rows_by_rater}
    reasons: dict[int, list[tuple[str, str]]] = {number: [] for number, _ in rows_by_rater}  # flag and words
    for number, words in _time_reasons(judgements, times, min_seconds):
        reasons[number].append(("too fast", words))
    for number, words in _one_answer_reasons(judgements, rows_by_rater, level):
        reasons[number].append(("one answer", words))
    nan = np.full(len(rows_by_rater), math.nan)
    p_low, low = nan, nan
    if is_vote:
        for number, words in _pattern_reasons(judgements, rows_by_rater, level):
            reasons[number].append(("pattern", words))
        for number, words in _twin_reasons(judgements, rows_by_rater, right, level):
            reasons[number].append(("same as another", words))
    for number, _ in rows_by_rater:
        n_failed, n_checks = (checks or {}).get(judgements.raters[number], (0, 0))
        if n_failed:
            words = f"failed {n_failed} of {n_checks} attention check{'s' * (n_checks != 1)}"
            reasons[number].append(("failed check", words))
    if is_vote:
        right_shares = _share(judgements, right)
        p_low = np.array([_p_low(right[rows], right_shares[rows], counts[rows]) for _, rows in rows_by_rater])
        low = holm(p_low)
        for place, (number, _) in enumerate(rows_by_rater):
            if low[place] < 1 - level:
                words = f"right less often than others on the same texts (p = {low[place]:.2g})"
                reasons[number].append(("below others", words))
    like_others = _mean_of_others(judgements, counts)
    return tuple(
        RaterSummary(
            rater=judgements.raters[number],
            n=len(rows),
            mean=float(judgements.value[rows].mean()),
            lowest=float(judgements.value[rows].min()),
            highest=float(judgements.value[rows].max()),
            accuracy=float(right[rows].mean()) if is_vote else math.nan,
            agreement=_agreement(judgements.value[rows], like_others[rows], is_vote=is_vote),
            p_value=float(p_low[place]),
            p_adjusted=float(low[place]),
            seconds=times[judgements.raters[number]],
            flags=tuple(dict.fromkeys(flag for flag, _ in reasons[number])),
            reasons=tuple(words for _, words in reasons[number]),
        )
        for place, (number, rows) in enumerate(rows_by_rater)
    )


def _share(judgements: Judgements, values: FloatArray) -> FloatArray:
    """Return the mean of `values` over all judgements of the same item, for each judgement."""
    n = len(judgements.items)
    sums = np.bincount(judgements.item, weights=values, minlength=n)
    counts = np.bincount(judgements.item, minlength=n)
    return np.asarray(sums[judgements.item] / counts[judgements.item], dtype=np.float64)


def _mean_of_others(judgements: Judgements, counts: npt.NDArray[np.int64]) -> FloatArray:
    """Return the mean of the other judgements of the same item, for each judgement; NaN without others."""
    others = counts - 1
    rest = _share(judgements, judgements.value) * counts - judgements.value
    return np.asarray(np.where(others > 0, rest / np.maximum(others, 1), math.nan), dtype=np.float64)


def _agreement(values: FloatArray, others: FloatArray, *, is_vote: bool) -> float:
    shared = np.isfinite(others)
    if is_vote:
        shared &= np.abs(others - 0.5) > 1e-9
        return float((values[shared] == (others[shared] > 0.5)).mean()) if shared.any() else math.nan
    first, second = values[shared], others[shared]
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _p_low(right: FloatArray, shares: FloatArray, counts: npt.NDArray[np.int64]) -> float:
    """Return the probability of so few correct answers or fewer; NaN if nobody else judged the texts."""
    shared = counts > 1
    if not shared.any():
        return math.nan
    masses = np.ones(1)
    for share in shares[shared].tolist():
        masses = np.convolve(masses, (1 - share, share))
    return float(min(1.0, masses[: round(float(right[shared].sum())) + 1].sum()))


def _time_reasons(
    judgements: Judgements, times: Mapping[str, float | None], min_seconds: float
) -> list[tuple[int, str]]:
    """Return raters with less than `min_seconds` per text, or far less than the others on the log scale."""
    known = {name: time for name, time in times.items() if time is not None}
    places = {name: place for place, name in enumerate(judgements.raters)}
    reasons = [
        (places[name], f"{_shown_seconds(time)} s per text, below the limit of {min_seconds:g} s")
        for name, time in known.items()
        if time < min_seconds
    ]
    if len(known) < _MIN_TIMES:
        return reasons
    logs = np.log(np.maximum(np.array(list(known.values())), 1e-3))
    deviations = logs - np.median(logs)
    spread = float(np.median(np.abs(deviations)))
    scores = _MAD_TO_DEVIATION * deviations / spread if spread > 0 else np.zeros(len(logs))
    usual = float(np.median(list(known.values())))
    for (name, time), score in zip(known.items(), scores.tolist(), strict=True):
        if score < _TOO_FAST:
            words = f"{_shown_seconds(time)} s per text, far below the median of {_shown_seconds(usual)} s"
            reasons.append((places[name], words))
    return reasons


def _shown_seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.1g}"


def _one_answer_reasons(
    judgements: Judgements, rows_by_rater: list[tuple[int, IntArray]], level: float
) -> list[tuple[int, str]]:
    """Return raters with one answer to all of many texts, or to fewer texts on which the others disagree."""
    is_vote = judgements.scale == "real-or-fake"
    is_real = judgements.is_real[judgements.item]
    shares = _share(judgements, judgements.value) if is_vote else np.zeros(len(judgements))
    chances = (
        holm(np.array([_p_same(judgements.value[rows], shares[rows]) for _, rows in rows_by_rater]))
        if is_vote
        else None
    )
    reasons = []
    for place, (number, rows) in enumerate(rows_by_rater):
        values, n_real = judgements.value[rows], int(is_real[rows].sum())
        if values.min() != values.max():
            continue
        answer = f"{values[0]:g}" if not is_vote else "real" if values[0] else "fake"
        # Where all texts are generated, "fake" is right for all of them.
        if len(rows) >= _MIN_TEXTS and (not is_vote or 0 < n_real < len(rows)):
            which = f", {n_real:,} of them real" if is_vote else ""
            reasons.append((number, f"answered {answer} to all {len(rows):,} texts{which}"))
        elif chances is not None and chances[place] < 1 - level:
            words = f"answered {answer} to all {len(rows):,} texts, on which others disagree (p = {chances[place]:.2g})"
            reasons.append((number, words))
    return reasons


def _p_same(values: FloatArray, shares: FloatArray) -> float:
    """Return the probability that all answers are equal; 1 if they are not."""
    if values.min() != values.max():
        return 1.0
    return float(np.prod(shares if values[0] else 1 - shares))


def _pattern_reasons(
    judgements: Judgements, rows_by_rater: list[tuple[int, IntArray]], level: float
) -> list[tuple[int, str]]:
    """Return raters whose answers repeat a pattern on a page; pages are in random order."""
    pages = np.unique([item.page for item in judgements.items], return_inverse=True)[1][judgements.item]
    reasons, chances = [], []
    for number, rows in rows_by_rater:
        ordered = rows[np.argsort(judgements.item[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(pages[ordered])) + 1
        parts = np.split(ordered, starts)
        if all(len(part) == 1 for part in parts):  # results without pages: one sequence
            parts = [ordered]
        results = [_pattern("".join("fr"[int(value)] for value in judgements.value[part])) for part in parts]
        chance, pattern = min(results)
        chances.append(min(1.0, chance * len(parts)))
        words = ", ".join("real" if letter == "r" else "fake" for letter in pattern)
        reasons.append((number, f"answers repeat '{words}' down a page of {max(map(len, parts))} texts"))
    adjusted = holm(np.array(chances))
    return [one for one, chance in zip(reasons, adjusted.tolist(), strict=True) if chance < 1 - level]


def _pattern(answers: str) -> tuple[float, str]:
    """Return an upper bound of the probability of such a regular order, and the repeated pattern; 1 and "" for none.

    One answer may be missing from the sequence, because the attention check of a page is not among `answers`. The bound
    divides all regular sequences, with any number of "real", by the orders with this number.
    """
    n, n_real = len(answers), answers.count("r")
    if not 0 < n_real < n:
        return 1.0, ""
    n_orders, n_regular = math.comb(n, n_real), 0
    for n_missing in (0, 1):
        for length in range(2, _MAX_PATTERN + 1):
            patterns = ["".join(letters) for letters in product("fr", repeat=length)]
            n_regular += (len(patterns) - 2) * (n + 1) ** n_missing
            for pattern in patterns:
                repeated = (pattern * (n // length + 2))[: n + n_missing]
                first = next((place for place in range(n) if answers[place] != repeated[place]), n)
                if answers[first:] == repeated[first + n_missing :]:
                    return min(1.0, n_regular / n_orders), pattern
    return 1.0, ""


def _twin_reasons(
    judgements: Judgements, rows_by_rater: list[tuple[int, IntArray]], right: FloatArray, level: float
) -> list[tuple[int, str]]:
    """Return raters with the same answers as another to all texts that both judged, which is unlikely by chance.

    Under the null hypothesis the rater's mistakes on real and on generated texts could fall on any texts, with odds
    from the mistakes of others on the text and on texts of the same generator. Raters without mistakes, and those
    with one answer to everything, are excluded.
    """
    items, wrong = {}, {}
    for number, rows in rows_by_rater:
        ordered = rows[np.argsort(judgements.item[rows])]
        items[number], wrong[number] = judgements.item[ordered], right[ordered] == 0
    twins, n_pairs = _twins(judgements, right)
    n_wrong = np.bincount(judgements.item, weights=1 - right, minlength=len(judgements.items))
    n_judged = np.bincount(judgements.item, minlength=len(judgements.items)).astype(np.float64)
    writers = np.unique([item.generator or "" for item in judgements.items], return_inverse=True)[1]
    n_wrong_of, n_judged_of = (np.bincount(writers, weights=counts) for counts in (n_wrong, n_judged))
    prior = ((n_wrong_of + 0.5) / (n_judged_of + 1))[writers]  # error rate on texts of the same writer
    is_real = judgements.is_real
    reasons = []
    for number, others in twins.items():
        rest_wrong, rest_judged = n_wrong.copy(), n_judged.copy()
        for one in (number, *others):
            rest_wrong[items[one]] -= wrong[one]
            rest_judged[items[one]] -= 1
        odds = (rest_wrong + _PRIOR_WEIGHT * prior) / (rest_judged - rest_wrong + _PRIOR_WEIGHT * (1 - prior))
        chances: dict[bytes, float] = {}  # by shared texts
        close = []
        for other in sorted(others):
            shared = np.intersect1d(items[number], items[other], assume_unique=True)
            mistaken = wrong[number][np.searchsorted(items[number], shared)]
            key = shared.tobytes()
            if key not in chances:
                sides = (is_real[shared], ~is_real[shared])
                chances[key] = math.prod(_chance_of_set(odds[shared[side]], mistaken[side]) for side in sides)
            if chances[key] * n_pairs < 1 - level:
                close.append((chances[key] * n_pairs, other, len(shared), int(mistaken.sum())))
        if close:
            chance, _, n_shared, n_mistaken = min(close)
            names = ", ".join(judgements.raters[other] for _, other, _, _ in close[:_MAX_NAMES])
            more = f" and {len(close) - _MAX_NAMES} more" if len(close) > _MAX_NAMES else ""
            words = f"same answers as {names}{more} to all {n_shared:,} texts that both judged"
            reasons.append((number, f"{words}, {n_mistaken:,} of them mistaken (p = {chance:.2g})"))
    return reasons


def _twins(judgements: Judgements, right: FloatArray) -> tuple[dict[int, list[int]], int]:
    """Return rater to raters with the same answers on many shared texts, and the number of pairs that share so many."""
    shape = (len(judgements.raters), len(judgements.items))
    where = (judgements.rater, judgements.item)
    judged = sp.csr_array((np.ones(len(judgements)), where), shape=shape)
    votes = sp.csr_array((2 * judgements.value - 1, where), shape=shape)
    shared = sp.triu(judged @ judged.T, k=1).tocoo()
    is_long = shared.data >= _MIN_TEXTS
    first, second, n_shared = shared.row[is_long], shared.col[is_long], shared.data[is_long]
    if not len(first):
        return {}, 0
    n_texts, n_mistakes = (
        np.bincount(judgements.rater, weights=weights, minlength=shape[0]) for weights in (None, 1 - right)
    )
    n_real = np.bincount(judgements.rater, weights=judgements.value, minlength=shape[0])
    has_choice = (n_mistakes > 0) & (n_real > 0) & (n_real < n_texts)
    is_alike = np.asarray((votes @ votes.T).tocsr()[first, second]).ravel() == n_shared
    is_alike &= has_choice[first] & has_choice[second]
    twins: dict[int, list[int]] = {}
    for one, other in zip(first[is_alike].tolist(), second[is_alike].tolist(), strict=True):
        twins.setdefault(one, []).append(other)
        twins.setdefault(other, []).append(one)
    return twins, len(first)


def _chance_of_set(odds: FloatArray, chosen: BoolArray) -> float:
    """Return the probability of the set `chosen` among all sets of its size, weighted by the product of odds."""
    logs = np.log(odds)
    sums = np.full(int(chosen.sum()) + 1, -math.inf)  # log elementary symmetric polynomials of the odds
    sums[0] = 0.0
    for one in logs.tolist():
        sums[1:] = np.logaddexp(sums[1:], one + sums[:-1])
    return float(min(1.0, np.exp(logs[chosen].sum() - sums[-1])))
