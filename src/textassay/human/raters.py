"""How each rater judged: how often right, how often like the others, and what makes a rater suspicious.

Some limits are relative. A rater is compared with those who judged the same texts: if all were alike, the votes of a
text could be dealt out among its raters in any order, so that each vote of this rater is right with the share of right
votes of its text, independently over texts. The sum of these is the exact distribution to which a rater's number of
right answers is held. Such limits find nobody where all raters are careless in the same way, so others are absolute: a
time too short to read in, one answer to everything, a failed attention check, answers that repeat a pattern, and two
raters with the same mistakes.

Sources: Iglewicz, Hoaglin, "How to Detect and Handle Outliers", 1993 (modified z-scores beyond 3.5), for times far
below those of others. Huang, Curran, Keeney, Poposki, DeShon, "Detecting and Deterring Insufficient Effort Responding
to Surveys", Journal of Business and Psychology 27, 2012, for `MIN_SECONDS`: attentive people hardly ever answer an item
of a questionnaire in less than 2 seconds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from textassay.errors import check_range
from textassay.human.judgements import Judgements
from textassay.resampling import holm

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

MIN_SECONDS = 2.0
_FEWEST_TEXTS = 10  # half of a usual page: below that, equal answers say little
_LONGEST_PATTERN = 4
_PRIOR_WEIGHT = 2.0  # judgements that the share of a writer counts for, beside those of the text itself
_MOST_NAMES = 3
_TOO_FAST = -3.5
_MAD_TO_DEVIATION = 0.6745  # of a normal distribution
_FEWEST_TIMES = 5  # below that, a median says little


@dataclass(frozen=True)
class RaterSummary:
    """One rater."""

    rater: str  # The name
    n: int  # Judgements
    share_real: float  # Of them real; the mean rating on the scale "number"
    accuracy: float  # Share judged as what it is; NaN on the scale "number"
    # Share of judgements like the majority of the others on the same text, ties among them left out; on the scale
    # "number" the correlation with the mean of the others. NaN where there are no others.
    agreement: float
    # Of being right no more often than so, if raters of a text were alike; adjusted by Holm's method over raters. NaN
    # where nobody else judged the rater's texts, and on the scale "number".
    p_value: float
    p_adjusted: float
    seconds: float | None  # A judgement took, on average; none where that is not known
    # What is suspicious, each once: "too fast", "one answer", "pattern", "same as another", "failed check", "below
    # others". Empty for most raters.
    flags: tuple[str, ...]
    reasons: tuple[str, ...] = ()  # For each limit that is broken, in words: which it is and by how much


def summarise_raters(
    judgements: Judgements,
    *,
    seconds: Mapping[str, float] | None = None,
    checks: Mapping[str, tuple[int, int]] | None = None,
    min_seconds: float = MIN_SECONDS,
    level: float = 0.95,
) -> tuple[RaterSummary, ...]:
    """Return a summary of each rater who judged something, in their order."""
    check_range("min_seconds", min_seconds, 0)
    by_rater = np.argsort(judgements.rater, kind="stable")
    ends = np.cumsum(np.bincount(judgements.rater, minlength=len(judgements.raters)))[:-1]
    own = [(place, rows) for place, rows in enumerate(np.split(by_rater, ends)) if len(rows)]
    is_vote = judgements.scale == "real-or-fake"
    is_real = judgements.is_real[judgements.item]
    right = np.where(is_real, judgements.value, 1 - judgements.value)
    counts = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item]
    times = {judgements.raters[number]: (seconds or {}).get(judgements.raters[number]) for number, _ in own}
    reasons: dict[int, list[tuple[str, str]]] = {number: [] for number, _ in own}  # flag and words
    for number, words in _time_reasons(judgements, times, min_seconds):
        reasons[number].append(("too fast", words))
    for number, words in _one_answer_reasons(judgements, own, level):
        reasons[number].append(("one answer", words))
    nan = np.full(len(own), math.nan)
    p_low, low = nan, nan
    if is_vote:
        for number, words in _pattern_reasons(judgements, own, level):
            reasons[number].append(("pattern", words))
        for number, words in _twin_reasons(judgements, own, right, level):
            reasons[number].append(("same as another", words))
    for number, _ in own:
        n_failed, n_checks = (checks or {}).get(judgements.raters[number], (0, 0))
        if n_failed:
            words = f"failed {n_failed} of {n_checks} attention check{'s' * (n_checks != 1)}"
            reasons[number].append(("failed check", words))
    if is_vote:
        right_shares = _share(judgements, right)
        p_low = np.array([_p_low(right[rows], right_shares[rows], counts[rows]) for _, rows in own])
        low = holm(p_low)
        for place, (number, _) in enumerate(own):
            if low[place] < 1 - level:
                words = f"right less often than others on the same texts (p = {low[place]:.2g})"
                reasons[number].append(("below others", words))
    like_others = _likeness(judgements, counts)
    return tuple(
        RaterSummary(
            rater=judgements.raters[number],
            n=len(rows),
            share_real=float(judgements.value[rows].mean()),
            accuracy=float(right[rows].mean()) if is_vote else math.nan,
            agreement=_agreement(judgements.value[rows], like_others[rows], is_vote=is_vote),
            p_value=float(p_low[place]),
            p_adjusted=float(low[place]),
            seconds=times[judgements.raters[number]],
            flags=tuple(dict.fromkeys(flag for flag, _ in reasons[number])),
            reasons=tuple(words for _, words in reasons[number]),
        )
        for place, (number, rows) in enumerate(own)
    )


def _share(judgements: Judgements, values: FloatArray) -> FloatArray:
    """Return for each judgement the mean of `values` over all judgements of its item."""
    n = len(judgements.items)
    sums = np.bincount(judgements.item, weights=values, minlength=n)
    counts = np.bincount(judgements.item, minlength=n)
    return np.asarray(sums[judgements.item] / counts[judgements.item], dtype=np.float64)


def _likeness(judgements: Judgements, counts: npt.NDArray[np.int64]) -> FloatArray:
    """Return for each judgement the mean of the others of its item; NaN where there are none."""
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
    """Return how likely so few right answers or fewer are; NaN where nobody else judged the texts."""
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
    """Return who took less than `min_seconds` a text, and who far less than the others by the logarithm of the time."""
    known = {name: time for name, time in times.items() if time is not None}
    places = {name: place for place, name in enumerate(judgements.raters)}
    found = [
        (places[name], f"{_shown_seconds(time)} s a text, below the limit of {min_seconds:g} s")
        for name, time in known.items()
        if time < min_seconds
    ]
    if len(known) < _FEWEST_TIMES:
        return found
    logs = np.log(np.maximum(np.array(list(known.values())), 1e-3))
    deviations = logs - np.median(logs)
    spread = float(np.median(np.abs(deviations)))
    scores = _MAD_TO_DEVIATION * deviations / spread if spread > 0 else np.zeros(len(logs))
    usual = float(np.median(list(known.values())))
    for (name, time), score in zip(known.items(), scores.tolist(), strict=True):
        if score < _TOO_FAST:
            words = f"{_shown_seconds(time)} s a text, far below the median of {_shown_seconds(usual)} s"
            found.append((places[name], words))
    return found


def _shown_seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.1g}"


def _one_answer_reasons(judgements: Judgements, own: list[tuple[int, IntArray]], level: float) -> list[tuple[int, str]]:
    """Return who gave one answer to all of many texts, or to fewer texts on which others differ."""
    is_vote = judgements.scale == "real-or-fake"
    is_real = judgements.is_real[judgements.item]
    shares = _share(judgements, judgements.value) if is_vote else np.zeros(len(judgements))
    chances = holm(np.array([_p_same(judgements.value[rows], shares[rows]) for _, rows in own])) if is_vote else None
    found = []
    for place, (number, rows) in enumerate(own):
        values, n_real = judgements.value[rows], int(is_real[rows].sum())
        if values.min() != values.max():
            continue
        answer = f"{values[0]:g}" if not is_vote else "real" if values[0] else "fake"
        # Where all texts are generated, "fake" is right for all of them.
        if len(rows) >= _FEWEST_TEXTS and (not is_vote or 0 < n_real < len(rows)):
            which = f", {n_real} of them real" if is_vote else ""
            found.append((number, f"answered {answer} to all {len(rows)} texts{which}"))
        elif chances is not None and chances[place] < 1 - level:
            words = f"answered {answer} to all {len(rows)} texts, on which others differ (p = {chances[place]:.2g})"
            found.append((number, words))
    return found


def _p_same(values: FloatArray, shares: FloatArray) -> float:
    """Return how likely nothing but the one answer given is; 1 where answers differ."""
    if values.min() != values.max():
        return 1.0
    return float(np.prod(shares if values[0] else 1 - shares))


def _pattern_reasons(judgements: Judgements, own: list[tuple[int, IntArray]], level: float) -> list[tuple[int, str]]:
    """Return whose answers repeat a pattern down a page, where pages are in an order that says nothing."""
    pages = np.unique([item.page for item in judgements.items], return_inverse=True)[1][judgements.item]
    found, chances = [], []
    for number, rows in own:
        ordered = rows[np.argsort(judgements.item[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(pages[ordered])) + 1
        parts = np.split(ordered, starts)
        if all(len(part) == 1 for part in parts):  # results without pages: one sequence
            parts = [ordered]
        results = [_pattern("".join("fr"[int(value)] for value in judgements.value[part])) for part in parts]
        chance, pattern = min(results)
        chances.append(min(1.0, chance * len(parts)))
        words = ", ".join("real" if letter == "r" else "fake" for letter in pattern)
        found.append((number, f"answers repeat '{words}' down a page of {max(map(len, parts))} texts"))
    adjusted = holm(np.array(chances))
    return [one for one, chance in zip(found, adjusted.tolist(), strict=True) if chance < 1 - level]


def _pattern(answers: str) -> tuple[float, str]:
    """Return how likely an order as regular as that of `answers` is, and the pattern they repeat; 1 and "" for none.

    One answer may be missing from the sequence, since the attention check of a page is not among `answers`. The chance
    is an upper bound: it counts the regular sequences of any number of "real" against the orders of this many.
    """
    n, n_real = len(answers), answers.count("r")
    if not 0 < n_real < n:
        return 1.0, ""
    n_orders, n_regular = math.comb(n, n_real), 0
    for n_missing in (0, 1):
        for length in range(2, _LONGEST_PATTERN + 1):
            patterns = ["".join(letters) for letters in product("fr", repeat=length)]
            n_regular += (len(patterns) - 2) * (n + 1) ** n_missing
            for pattern in patterns:
                whole = (pattern * (n // length + 2))[: n + n_missing]
                first = next((place for place in range(n) if answers[place] != whole[place]), n)
                if answers[first:] == whole[first + n_missing :]:
                    return min(1.0, n_regular / n_orders), pattern
    return 1.0, ""


def _twin_reasons(
    judgements: Judgements, own: list[tuple[int, IntArray]], right: FloatArray, level: float
) -> list[tuple[int, str]]:
    """Return who gave the same answers as another to all texts that both judged, where chance hardly does that.

    Given how many mistakes a rater made on real and on generated texts, these could lie on any of the texts, more
    likely on those that others mistake, and whose generator's texts are mistaken often. Raters without a mistake, and
    those with one answer to everything, are alike anyway and do not count.
    """
    items, wrong = {}, {}
    for number, rows in own:
        ordered = rows[np.argsort(judgements.item[rows])]
        items[number], wrong[number] = judgements.item[ordered], right[ordered] == 0
    twins, n_pairs = _twins(judgements, right)
    n_wrong = np.bincount(judgements.item, weights=1 - right, minlength=len(judgements.items))
    n_judged = np.bincount(judgements.item, minlength=len(judgements.items)).astype(np.float64)
    writers = np.unique([item.generator or "" for item in judgements.items], return_inverse=True)[1]
    n_wrong_of, n_judged_of = (np.bincount(writers, weights=counts) for counts in (n_wrong, n_judged))
    prior = ((n_wrong_of + 0.5) / (n_judged_of + 1))[writers]  # how often texts of the same writer are mistaken
    is_real = judgements.is_real
    found = []
    for number, others in twins.items():
        rest_wrong, rest_judged = n_wrong.copy(), n_judged.copy()
        for one in (number, *others):
            rest_wrong[items[one]] -= wrong[one]
            rest_judged[items[one]] -= 1
        odds = (rest_wrong + _PRIOR_WEIGHT * prior) / (rest_judged - rest_wrong + _PRIOR_WEIGHT * (1 - prior))
        chances: dict[bytes, float] = {}  # the same where the same texts are shared
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
            names = ", ".join(judgements.raters[other] for _, other, _, _ in close[:_MOST_NAMES])
            more = f" and {len(close) - _MOST_NAMES} more" if len(close) > _MOST_NAMES else ""
            words = f"same answers as {names}{more} to all {n_shared} texts that both judged"
            found.append((number, f"{words}, {n_mistaken} of them mistaken (p = {chance:.2g})"))
    return found


def _twins(judgements: Judgements, right: FloatArray) -> tuple[dict[int, list[int]], int]:
    """Return rater to those with the same answers on many shared texts, and how many pairs share so many."""
    shape = (len(judgements.raters), len(judgements.items))
    where = (judgements.rater, judgements.item)
    judged = sp.csr_array((np.ones(len(judgements)), where), shape=shape)
    votes = sp.csr_array((2 * judgements.value - 1, where), shape=shape)
    shared = sp.triu(judged @ judged.T, k=1).tocoo()
    is_long = shared.data >= _FEWEST_TEXTS
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
    found: dict[int, list[int]] = {}
    for one, other in zip(first[is_alike].tolist(), second[is_alike].tolist(), strict=True):
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found, len(first)


def _chance_of_set(odds: FloatArray, chosen: BoolArray) -> float:
    """Return how likely just `chosen` is among all sets of as many, each as likely as the product of its odds."""
    logs = np.log(odds)
    sums = np.full(int(chosen.sum()) + 1, -math.inf)  # of the products of 0, 1, ... of the odds
    sums[0] = 0.0
    for one in logs.tolist():
        sums[1:] = np.logaddexp(sums[1:], one + sums[:-1])
    return float(min(1.0, np.exp(logs[chosen].sum() - sums[-1])))
