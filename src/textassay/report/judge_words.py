"""What a meta-evaluation comes to, in words: which metric to trust, which cannot be told apart, which mislead."""

from collections.abc import Sequence

from textassay.meta_evaluation import Judging, MetricVerdict
from textassay.report.number import number, p_value, span
from textassay.report.words import join_words

_GOLDS = {
    "H1": "people, every judgement",
    "H2": "people, the majority on each text",
    "rating": "people, the mean rating",
}


def gold_told(gold: str) -> str:
    """Return a gold order's name with what it is."""
    return f"{gold} ({_GOLDS[gold]})" if gold in _GOLDS else gold


def verdict_told(judging: Judging, verdict: MetricVerdict) -> list[str]:
    """Return the sentences that sum up what one gold order says, the most useful first."""
    n = len(judging.generators)
    if not verdict.order:
        return [f"{verdict.gold} cannot judge anything: it or every metric calls all generators equal."]
    first = verdict.order[0]
    told = []
    if verdict.trusted:
        told.append(f"Trust {tau_told(judging, verdict.gold, verdict.trusted[0])} first, to rank such generators.")
    elif judging.agreement(verdict.gold, first).value <= 0:
        told.append(
            f"No metric is to be trusted on these {n} generators: none agrees with {verdict.gold}, not even "
            f"{tau_told(judging, verdict.gold, first)}."
        )
    else:
        told.append(
            f"No metric is to be trusted on these {n} generators: luck may explain even the agreement of "
            f"{tau_told(judging, verdict.gold, first)} with {verdict.gold}."
        )
    others, contrary = judging.not_separated(verdict), judging.contrary(verdict)
    if others:
        told.append(
            f"{n} generators cannot tell whether these are worse than {first}: {_taus(judging, verdict.gold, others)}."
        )
    if contrary:
        told.append(
            f"These do not agree with {verdict.gold}, though {n} generators are too few to prove them worse than "
            f"{first}: {_taus(judging, verdict.gold, contrary)}."
        )
    worse = [name for name in verdict.order if name not in (*verdict.may_be_best, *verdict.upside_down)]
    if worse:
        told.append(f"Worse than {first}: {_taus(judging, verdict.gold, worse)}.")
    if verdict.upside_down:
        told.append(
            f"Negatively correlated with {verdict.gold}, so that they prefer the worse generators: "
            f"{_taus(judging, verdict.gold, verdict.upside_down)}."
        )
        if verdict.gold not in _GOLDS and judging.agreement(verdict.gold, first).value <= 0:
            told.append(
                f"What has the higher value in {verdict.gold} is read as better: if it is worse, turn the signs."
            )
    surely = {*verdict.not_luck, *verdict.upside_down}
    luck = [name for name in verdict.order if name not in surely]
    if luck and verdict.trusted:
        told.append(f"Luck may explain what these say, for or against: {join_words(luck)}.")
    if verdict.undefined:
        told.append(f"Say nothing, all generators being equal to them: {join_words(verdict.undefined)}.")
    return told


def findings_told(judging: Judging) -> list[str]:
    """Return the sentence that stands before all verdicts where inspection warned of the texts."""
    kinds = sorted({finding.kind for finding in judging.findings if finding.severity == "warning"})
    if not kinds:
        return []
    which, they = ("warnings", "they") if len(kinds) > 1 else ("warning", "it")
    return [
        f"Read the {which} first ({join_words(kinds)}): metrics may have ranked the generators by what {they} "
        f"{'name' if len(kinds) > 1 else 'names'}."
    ]


def tau_told(judging: Judging, gold: str, evaluator: str) -> str:
    """Return an evaluator with its tau and interval, such as "bleu (tau 0.76 [0.41, 0.94])"."""
    found = judging.agreement(gold, evaluator)
    return f"{evaluator} (tau {number(found.value, 2)} {span(found.low, found.high, 2)})"


def wrong_told(judging: Judging, gold: str, evaluator: str) -> list[str]:
    """Return the pairs that an evaluator gets wrong although the gold tells them apart, the largest gaps first."""
    alpha = 1 - judging.level
    told = []
    for call in judging.calls:
        if (call.gold, call.evaluator, call.verdict) == (gold, evaluator, "wrong") and call.gold_separates(alpha):
            sure = "" if call.p is None else f", p {p_value(call.p)}"
            told.append(
                f"{call.better} is better than {call.worse} by {number(call.gold_difference, 3)}, "
                f"{evaluator} says worse by {number(-call.difference, 3)}{sure}"
            )
    return told


def _taus(judging: Judging, gold: str, names: Sequence[str]) -> str:
    return join_words([f"{name} ({number(judging.agreement(gold, name).value, 2)})" for name in names])
