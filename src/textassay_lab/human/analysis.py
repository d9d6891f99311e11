"""Analysis of judgements: verdicts, agreement, raters, disputed and misleading texts, reasons.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", 2019. With its published judgements the numbers are the paper's: its majority votes and its
kappa are of the texts with exactly five judgements.
"""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.display import Displayed
from textassay.errors import InputError, OptionError, check_range
from textassay.estimate import Interval, json_ready
from textassay.metric.base import check_level
from textassay.report.text import join_words, p_value
from textassay_lab.human.agreement import Agreement, agreements
from textassay_lab.human.judgements import Judgements, Scale
from textassay_lab.human.raters import MIN_SECONDS, RaterSummary, summarise_raters
from textassay_lab.human.reasons import ReasonCounts, Reasons, code_comments
from textassay_lab.human.verdicts import (
    REAL,
    GeneratorDifference,
    GeneratorVerdict,
    Share,
    Ties,
    Verdict,
    judgement_verdict,
    majority_verdict,
    usual_votes,
)

FloatArray = npt.NDArray[np.float64]

_MOST_PAIRS = 4  # that a warning names


@dataclass(frozen=True)
class JudgedText:
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


@dataclass(frozen=True)
class Variant:
    """H2 under another rule: accuracy on all, on real and on generated texts; None if there are none."""

    rule: str
    n_items: int
    n_ties: int
    accuracy: float | None
    true_positive_rate: float | None
    true_negative_rate: float | None


@dataclass(frozen=True)
class HumanAnalysis(Displayed, document="textassay_lab.human.document:analysis_document"):
    scale: Scale  # "real-or-fake" or "number"
    settings: Mapping[str, Any]  # ties and votes (None: all items), which ratings have not; level, seed, min_seconds
    # n_items, n_real, n_generated, n_judged (items with a judgement), n_raters, n_judgements; n_pages where texts share
    sizes: Mapping[str, int]
    votes: Mapping[int, int]  # Number of judgements to number of items with so many
    by_judgement: Verdict  # H1, or mean ratings
    by_majority: Verdict | None  # H2; None for ratings
    variants: tuple[Variant, ...]  # H2 under the other rules
    agreement: tuple[Agreement, ...]
    raters: tuple[RaterSummary, ...]
    disputed: tuple[DisputedTexts, ...]  # Texts with the lowest agreement, of each generator and of people
    # Generated and real texts most often misjudged; for ratings, those rated highest and lowest
    taken_for_real: tuple[JudgedText, ...]
    taken_for_fake: tuple[JudgedText, ...]
    reasons: ReasonCounts | None  # Reasons in comments; None without comments
    texts: tuple[JudgedText, ...]  # All items that were judged
    notes: tuple[str, ...]  # What was left out when the file was read
    warnings: tuple[str, ...]  # Undefined results and other caveats

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """H1 and H2, or ratings."""
        return (self.by_judgement,) if self.by_majority is None else (self.by_judgement, self.by_majority)

    @property
    def is_vote(self) -> bool:
        """Whether people said real or fake; else they gave ratings."""
        return self.by_majority is not None

    @property
    def best_first(self) -> tuple[GeneratorVerdict, ...]:
        """Verdicts by single judgements: fewest judged fake, or rated highest, first."""
        sign = 1.0 if self.is_vote else -1.0
        return tuple(sorted(self.by_judgement.generators, key=lambda row: sign * row.share.value))

    def to_dict(self) -> dict[str, Any]:
        """Return all but `texts`, JSON-ready; undefined values are None."""
        document: dict[str, Any] = {
            "version": version("textassay"),
            "scale": self.scale,
            "settings": dict(self.settings),
            "sizes": dict(self.sizes),
            "votes": {str(votes): n for votes, n in self.votes.items()},
        }
        document |= {verdict.name.lower(): _verdict_dict(verdict) for verdict in self.verdicts}
        document |= {
            "variants": [asdict(variant) for variant in self.variants],
            "agreement": [{**_without(asdict(one), "interval"), **_bounds(one.interval)} for one in self.agreement],
            "raters": [_rater_dict(rater, is_vote=self.is_vote) for rater in self.raters],
            "disputed": [{**asdict(one), "texts": self._text_dicts(one.texts)} for one in self.disputed],
            "taken_for_real" if self.is_vote else "rated_highest": self._text_dicts(self.taken_for_real),
            "taken_for_fake" if self.is_vote else "rated_lowest": self._text_dicts(self.taken_for_fake),
            "reasons": None if self.reasons is None else asdict(self.reasons),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }
        ready: dict[str, Any] = json_ready(document)
        return ready

    def _text_dicts(self, texts: Sequence[JudgedText]) -> list[dict[str, Any]]:
        if self.is_vote:
            return [asdict(text) for text in texts]
        return [{**_without(asdict(text), "agreement"), "variance": -text.agreement} for text in texts]


def analyse(
    judgements: Judgements,
    *,
    ties: Ties = "fake",
    votes: int | Literal["all"] | None = None,
    level: float = 0.95,
    k: int = 4,
    reasons: Reasons | None = None,
    seconds: Mapping[str, float] | None = None,
    checks: Mapping[str, tuple[int, int]] | None = None,
    min_seconds: float = MIN_SECONDS,
    seed: int = 0,
) -> HumanAnalysis:
    """Analyse `judgements` of texts: verdicts on generators, agreement, raters, reasons."""
    check_level(level)
    check_range("seed", seed, 0)
    if isinstance(votes, str) and votes != "all":
        raise OptionError(f"votes must be a number or 'all', got '{votes}'")
    if isinstance(votes, int):
        check_range("votes", votes, 1)
    if not len(judgements):
        raise InputError("there is no judgement to analyse yet")
    counts = np.bincount(judgements.item, minlength=len(judgements.items))
    is_vote = judgements.scale == "real-or-fake"
    if votes is not None and not is_vote:
        raise OptionError(f"votes apply to judgements of real or fake, but these are ratings: got votes {votes}")
    usual = usual_votes(judgements)
    required_votes = usual if votes is None else None if votes == "all" else votes
    kappa_votes = usual if required_votes is None else required_votes
    by_majority = majority_verdict(judgements, ties=ties, votes=required_votes, level=level) if is_vote else None
    agreement = agreements(judgements, votes=kappa_votes, level=level, seed=seed)
    taken_for_real, taken_for_fake = most_misleading(judgements, k=k)
    by_judgement = judgement_verdict(judgements, level=level)
    raters = summarise_raters(judgements, seconds=seconds, checks=checks, min_seconds=min_seconds, level=level)
    warnings = _warnings(judgements, counts, agreement, kappa_votes)
    if by_majority is not None and by_majority.n_ties:
        warnings.append(_tie_warning(judgements, by_judgement, by_majority, ties, required_votes))
    if few := by_judgement.of_these_raters(level):
        warnings.append(_few_raters(few, by_judgement.n_raters or 0))
    n_suspicious = sum(bool(rater.flags) for rater in raters)
    if n_suspicious:
        warnings.append(
            f"{n_suspicious} of {len(raters)} raters {'is' if n_suspicious == 1 else 'are'} suspicious, but counted "
            "like all others: to leave one out, add --exclude NAME"
        )
    n_pages = len({item.page for item in judgements.items})
    return HumanAnalysis(
        scale=judgements.scale,
        settings={
            **({"ties": ties, "votes": required_votes} if is_vote else {}),
            "level": level,
            "seed": seed,
            "min_seconds": min_seconds,
        },
        sizes={
            "n_items": len(judgements.items),
            "n_real": int(judgements.is_real.sum()),
            "n_generated": int((~judgements.is_real).sum()),
            "n_judged": int(np.count_nonzero(counts)),
            **({"n_pages": n_pages} if n_pages < len(judgements.items) else {}),
            "n_raters": len(np.unique(judgements.rater)),
            "n_judgements": len(judgements),
        },
        votes=dict(sorted(Counter(counts.tolist()).items())),
        by_judgement=by_judgement,
        by_majority=by_majority,
        variants=_variants(judgements, ties, required_votes, usual) if is_vote else (),
        agreement=agreement,
        raters=raters,
        disputed=most_disputed(judgements, k=k, votes=kappa_votes if is_vote and required_votes is not None else None),
        taken_for_real=taken_for_real,
        taken_for_fake=taken_for_fake,
        reasons=code_comments(judgements.comments, reasons) if judgements.comments else None,
        texts=tuple(text for text in judged_texts(judgements) if text is not None),
        notes=judgements.notes,
        warnings=tuple(warnings),
    )


def _variants(judgements: Judgements, ties: Ties, votes: int | None, usual: int) -> tuple[Variant, ...]:
    """Return H2 under all other rules, without those that give the same result."""
    votes_by_label = judgements.votes()
    totals = votes_by_label.sum(axis=1)

    def key(ties: Ties, votes: int | None) -> tuple[int, int, str]:
        is_counted = totals > 0 if votes is None else totals == votes
        n_ties = int((is_counted & (votes_by_label[:, 0] == votes_by_label[:, 1])).sum())
        return int(is_counted.sum()), n_ties, ties if n_ties else ""

    seen, variants = {key(ties, votes)}, []
    rules: tuple[tuple[int | None, Ties], ...] = tuple(itertools.product((usual, None), ("fake", "real", "drop")))
    for rule_votes, rule_ties in rules:
        n_counted, n_ties, _ = rule_key = key(rule_ties, rule_votes)
        if rule_key in seen or (rule_ties == "drop" and n_ties == n_counted):
            continue
        seen.add(rule_key)
        one = majority_verdict(judgements, ties=rule_ties, votes=rule_votes)
        rates = [None if share is None else share.value for share in one.rates]
        variants.append(Variant(one.rule, one.n_items, n_ties, *rates))
    return tuple(variants)


def _warnings(
    judgements: Judgements, counts: npt.NDArray[np.int64], agreement: tuple[Agreement, ...], votes: int
) -> list[str]:
    messages = []
    real = judgements.is_real
    for side, name in ((real, "real"), (~real, "generated")):
        if not counts[side].any():
            messages.append(f"no {name} text was judged: results on {name} text are undefined")
    n_raters = len(np.unique(judgements.rater))
    if n_raters == 1:
        messages.append("there is only one rater: intervals do not cover differences between people")
    if len({judgements.items[place].page for place in np.flatnonzero(counts)}) == 1:
        messages.append("all judgements are of one page: there are no intervals")
    if n_raters > 1 and counts.max() == 1:
        messages.append("no text was judged twice: agreement is undefined")
    undefined = [f"{one.measure} of {one.labels} on {one.items} items" for one in agreement if math.isnan(one.value)]
    if undefined:
        messages.append(f"undefined, because all judgements are equal: {'; '.join(undefined)}")
    if judgements.scale == "real-or-fake":
        n_unequal = int(((counts > 0) & (counts != votes)).sum())
        if n_unequal:
            messages.append(f"Fleiss' kappa leaves out {n_unequal:,} texts that do not have exactly {votes} judgements")
    return messages


def _few_raters(pairs: Sequence[GeneratorDifference], n_raters: int) -> str:
    """Return a warning that names what these raters find different, and raters like them perhaps not."""
    named = [
        f"{pair.a} and {'real text' if pair.b == REAL else pair.b} (p {p_value(pair.these_raters.p_adjusted)})"
        for pair in pairs[:_MOST_PAIRS]
        if pair.these_raters is not None
    ]
    rest = [f"{len(pairs) - len(named)} more"] if len(pairs) > len(named) else []
    return (
        f"{n_raters} raters are few: intervals, ranks and p-values are for raters like them, whose differences so "
        f"few cannot show. For these {n_raters} raters alone, these differ, too: {join_words([*named, *rest])}. More "
        "raters would decide it, more texts hardly"
    )


def _tie_warning(
    judgements: Judgements, by_judgement: Verdict, by_majority: Verdict, ties: Ties, votes: int | None
) -> str:
    """Return a warning with the number of tied texts, and H2 under each rule for ties."""
    votes_by_label = judgements.votes()
    tied = votes_by_label[:, 0] == votes_by_label[:, 1]
    numbers = sorted({int(n) for n in votes_by_label[tied].sum(axis=1) if n and votes in (None, n)})
    rules: list[tuple[str, Verdict]] = []
    for rule, words in (("fake", "ties as fake"), ("real", "ties as real"), ("drop", "ties left out")):
        if rule == ties:
            rules.append((words, by_majority))
        elif rule != "drop" or by_majority.n_ties != by_majority.n_items:
            rules.append((words, majority_verdict(judgements, ties=rule, votes=votes)))  # type: ignore[arg-type]
    rules.append(("H1, which has no ties", by_judgement))
    sides = (("real text judged real", 1), ("generated text judged fake", 2))
    rates = [
        f"{side} in " + ", ".join(f"{100 * share.value:.1f} % ({words})" for words, share in shares)
        for side, place in sides
        if (shares := [(words, share) for words, one in rules if (share := one.rates[place]) is not None])
    ]
    n_texts = by_majority.n_items + (by_majority.n_ties or 0) * (ties == "drop")
    return (
        f"{by_majority.n_ties:,} of {n_texts:,} texts are tied in H2, because they have an even number of judgements "
        f"({', '.join(map(str, numbers))}): {'; '.join(rates)}. An odd number of judges per text avoids ties"
    )


def _verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a JSON object; a share has its value (or own name), low, high and n."""
    name = "mean_rating" if verdict.name == "ratings" else "judged_fake"
    rows = [*verdict.generators, *((verdict.real,) if verdict.real is not None else ())]
    rates = ("accuracy", "true_positive_rate", "true_negative_rate")
    return {
        "rule": verdict.rule,
        "n_items": verdict.n_items,
        "n_ties": verdict.n_ties,
        **({} if verdict.name == "ratings" else {rate: _share_dict("value", getattr(verdict, rate)) for rate in rates}),
        "generators": [
            {
                "generator": row.generator,
                **(_share_dict(name, row.share) or {}),
                "n_items": row.n_items,
                "rank_low": row.rank_low,
                "rank_high": row.rank_high,
            }
            for row in rows
        ],
        "pairs": [asdict(pair) for pair in verdict.pairs],
        "from_real": [asdict(pair) for pair in verdict.from_real],
    }


def _rater_dict(rater: RaterSummary, *, is_vote: bool) -> dict[str, Any]:
    """Return a rater as a JSON object, with the names and numbers that the scale of the judgements has."""
    if is_vote:
        numbers = {
            "share_real": rater.mean,
            "accuracy": rater.accuracy,
            "agreement": rater.agreement,
            "p_value": rater.p_value,
            "p_adjusted": rater.p_adjusted,
        }
    else:
        numbers = {
            "mean_rating": rater.mean,
            "lowest": rater.lowest,
            "highest": rater.highest,
            "correlation": rater.agreement,
        }
    flags = {"seconds": rater.seconds, "flags": rater.flags, "reasons": rater.reasons}
    return {"rater": rater.rater, "n": rater.n, **numbers, **flags}


def _share_dict(name: str, share: Share | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return {name: share.value, **_bounds(share.interval), "n": share.n}


def _bounds(interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {"low": None, "high": None, "method": None}
    return {"low": interval.low, "high": interval.high, "method": interval.method}


def _without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}
