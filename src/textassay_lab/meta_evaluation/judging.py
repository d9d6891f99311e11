"""Which evaluators to trust on these generators: the whole meta-evaluation, and its verdicts.

Evaluators that may be the best are those that do not differ significantly from the one that agrees best with the gold,
by swaps of generators (`textassay_lab.meta_evaluation.significance`), at `1 - level` over all these comparisons
together.

Source of the set that may hold the best: Hsu, "Simultaneous confidence intervals for all distances from the best",
Annals of Statistics 9, 1981; here with Bonferroni's correction and two-sided p-values, which is conservative: too many
evaluators may be called possibly the best.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, get_args

import numpy as np

from textassay.display import Displayed
from textassay.errors import InputError
from textassay.estimate import json_ready
from textassay.inspection.finding import Finding
from textassay_lab.meta_evaluation.correlations import (
    Agreement,
    CorrelationKind,
    CorrelationMatrix,
    agreements,
    check_together,
    correlation_matrix,
)
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.pairwise import (
    PairCall,
    calls,
    pair_p_values,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from textassay_lab.meta_evaluation.significance import CorrelationDifference, compare_correlations
from textassay_lab.meta_evaluation.text_correlations import Grouping, TextCorrelation, text_correlation

KINDS: tuple[CorrelationKind, ...] = get_args(CorrelationKind)
_GROUPINGS: tuple[Grouping, ...] = ("group by generator", "no grouping")
_FEW = 8  # generators below which p-values of rank correlations are coarse


@dataclass(frozen=True)
class PairScore:
    """Agreement of an evaluator with the gold on pairs of generators."""

    # Their names
    gold: str
    evaluator: str
    accuracy: float  # Share of pairs that both order the same way or both call equal, in [0, 1]
    soft_accuracy: float  # Soft pairwise accuracy, in [0, 1]; NaN where one of the two has no terms of texts
    # Pairs that the gold does not call equal, and those that the evaluator orders the other way
    n_pairs: int
    n_wrong: int
    # The same among the pairs that the gold separates significantly
    n_separated: int
    n_wrong_separated: int


@dataclass(frozen=True)
class MetricVerdict:
    """Verdict of one gold order on all evaluators, by Kendall's tau-b."""

    gold: str  # Its name
    order: tuple[str, ...]  # Evaluators with a correlation, the highest first
    may_be_best: tuple[str, ...]  # The first and those that do not differ significantly from it, in that order
    # Those whose agreement with the gold is positive and significant, adjusted by Holm's method over all evaluators
    not_luck: tuple[str, ...]
    upside_down: tuple[str, ...]  # Those whose agreement is negative and significant
    undefined: tuple[str, ...]  # Those without a correlation

    @property
    def trusted(self) -> tuple[str, ...]:
        """Those that may be the best and whose agreement is significant."""
        return tuple(name for name in self.may_be_best if name in self.not_luck)


@dataclass(frozen=True, eq=False)
class Judging(Displayed, document="textassay_lab.meta_evaluation.judge_document:judge_document"):
    """The results of a meta-evaluation."""

    # All of the same generators; text-level correlations use the first gold
    golds: tuple[Evaluation, ...]
    evaluations: tuple[Evaluation, ...]
    agreements: tuple[Agreement, ...]  # Of every evaluator with every gold, by kind
    # Between evaluators, for Kendall's tau-b and Pearson's r, by swaps of generators
    differences: tuple[CorrelationDifference, ...]
    # Pairs of generators: counts, and each pair
    pair_scores: tuple[PairScore, ...]
    calls: tuple[PairCall, ...]
    text_correlations: tuple[TextCorrelation, ...]  # With the first gold
    matrices: tuple[CorrelationMatrix, ...]  # Of all golds and evaluators with one another, one a kind
    verdicts: tuple[MetricVerdict, ...]  # One a gold
    left_out: Mapping[str, str] = field(default_factory=dict)  # Evaluator to the reason why it is left out
    warnings: tuple[str, ...] = ()
    # Of intervals and tests
    level: float = 0.95
    n_resamples: int = 2_000
    seed: int = 0
    # Trivial differences in the texts, which metrics may take for quality
    findings: tuple[Finding, ...] = ()
    real: str = ""  # In words, which text of the ratings was the real one; empty where the texts are not theirs

    def not_separated(self, verdict: MetricVerdict) -> tuple[str, ...]:
        """Return the evaluators that agree with a gold and do not differ significantly from the first."""
        rivals = [name for name in verdict.may_be_best if name != verdict.order[0]]
        return tuple(name for name in rivals if self.agreement(verdict.gold, name).value > 0)

    def contrary(self, verdict: MetricVerdict) -> tuple[str, ...]:
        """Return evaluators that disagree with a gold, but not significantly worse than the first (too few generators).

        None where even the first does not agree.
        """
        rivals = [name for name in verdict.may_be_best if name not in (verdict.order[0], *verdict.upside_down)]
        if self.agreement(verdict.gold, verdict.order[0]).value <= 0:
            return ()
        return tuple(name for name in rivals if self.agreement(verdict.gold, name).value <= 0)

    def worse(self, verdict: MetricVerdict) -> tuple[str, ...]:
        """Return the evaluators that are significantly worse than the first, but not upside down."""
        return tuple(name for name in verdict.order if name not in (*verdict.may_be_best, *verdict.upside_down))

    def wrong_pairs(self, gold: str, evaluator: str) -> tuple[PairCall, ...]:
        """Return the pairs that an evaluator gets wrong though the gold separates them, the largest gaps first."""
        calls = (call for call in self.calls if (call.gold, call.evaluator, call.verdict) == (gold, evaluator, "wrong"))
        return tuple(call for call in calls if call.gold_separates(1 - self.level))

    @property
    def best_first(self) -> list[int]:
        """Places of the generators, the best by the first gold first."""
        return [self.generators.index(name) for name in self.golds[0].order]

    @property
    def generators(self) -> tuple[str, ...]:
        """Their names."""
        return self.golds[0].generators

    def agreement(self, gold: str, evaluator: str, kind: CorrelationKind = "kendall") -> Agreement:
        """Return one agreement; raise KeyError if there is none."""
        for agreement in self.agreements:
            if (agreement.gold, agreement.evaluator, agreement.kind) == (gold, evaluator, kind):
                return agreement
        raise KeyError(f"no {kind} agreement of {evaluator} with {gold}")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; what is undefined is None."""
        document: dict[str, Any] = {
            "version": version("textassay"),
            "generators": list(self.generators),
            "real": self.real,
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "golds": [_evaluation_dict(gold) for gold in self.golds],
            "evaluators": [_evaluation_dict(evaluation) for evaluation in self.evaluations],
            "verdicts": [{**asdict(verdict), "trusted": verdict.trusted} for verdict in self.verdicts],
            "agreements": [asdict(ready) for ready in self.agreements],
            "differences": [asdict(ready) for ready in self.differences],
            "pair_scores": [asdict(ready) for ready in self.pair_scores],
            "wrong_pairs": [asdict(call) for call in self.calls if call.verdict != "right"],
            "text_correlations": [asdict(ready) for ready in self.text_correlations],
            "matrices": [
                {
                    "kind": matrix.kind,
                    "names": matrix.names,
                    "values": matrix.values.tolist(),
                    "p": matrix.p.tolist(),
                    "p_adjusted": matrix.p_adjusted.tolist(),
                }
                for matrix in self.matrices
            ],
            "left_out": dict(self.left_out),
            "findings": [finding.to_dict() for finding in self.findings],
            "warnings": list(self.warnings),
        }
        ready: dict[str, Any] = json_ready(document)
        return ready


def judge_evaluators(
    golds: Sequence[Evaluation],
    evaluations: Sequence[Evaluation],
    *,
    left_out: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    findings: Sequence[Finding] = (),
    real: str = "",
    level: float = 0.95,
    n_resamples: int = 2_000,
    text_level: bool = True,
    soft_pairs: bool = True,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Judging:
    """Return how evaluators agree with gold orders, which of them differ, and which may be the best.

    Without `soft_pairs`, soft pairwise accuracy is NaN.
    """
    if not golds or not evaluations:
        raise InputError(f"at least one {'evaluator' if golds else 'gold order'} is needed, got none")
    all_evaluations = [*golds, *evaluations]
    check_together(all_evaluations)
    total, n_done = len(golds) + (len(evaluations) if text_level else 0) + 1, 0

    def tell(label: str) -> None:
        nonlocal n_done
        if progress is not None:
            progress(label, n_done, total)
        n_done += 1

    all_agreements: list[Agreement] = []
    differences: list[CorrelationDifference] = []
    scores: list[PairScore] = []
    all_calls: list[PairCall] = []
    verdicts = []
    for gold in golds:
        tell(f"agreement with {gold.name}")
        all_agreements += agreements(gold, evaluations, KINDS, level=level, n_resamples=n_resamples, seed=seed)
        for kind in KINDS:
            if kind != "spearman":
                differences += compare_correlations(gold, evaluations, kind, n_resamples=n_resamples, seed=seed)
        verdicts.append(_verdict(gold, evaluations, all_agreements, differences, alpha=1 - level))
        p = pair_p_values([gold, *evaluations], n_resamples=n_resamples, seed=seed) if soft_pairs else None
        for place, evaluation in enumerate(evaluations, 1):
            pair_calls = calls(gold, evaluation)
            soft = math.nan if p is None else soft_pairwise_accuracy(p[0], p[place])
            scores.append(_pair_score(gold, evaluation, pair_calls, soft, alpha=1 - level))
            all_calls += pair_calls
    texts: list[TextCorrelation] = []
    for evaluation in evaluations if text_level else ():
        tell(f"texts by {evaluation.name}")
        for grouping in _GROUPINGS:
            for kind in KINDS:
                n_draws = min(n_resamples, 500) if kind == "kendall" else n_resamples
                text_agreement = text_correlation(
                    golds[0], evaluation, kind, grouping, level=level, n_resamples=n_draws, seed=seed
                )  # fmt: skip
                texts += [] if text_agreement is None else [text_agreement]
    tell("matrices")
    return Judging(
        golds=tuple(golds),
        evaluations=tuple(evaluations),
        agreements=tuple(all_agreements),
        differences=tuple(differences),
        pair_scores=tuple(scores),
        calls=tuple(all_calls),
        text_correlations=tuple(texts),
        matrices=tuple(correlation_matrix(all_evaluations, kind) for kind in KINDS),
        verdicts=tuple(verdicts),
        left_out=dict(left_out or {}),
        warnings=(*_warnings(golds, evaluations, scores), *notes),
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        findings=tuple(findings),
        real=real,
    )


def _verdict(
    gold: Evaluation,
    evaluations: Sequence[Evaluation],
    all_agreements: Sequence[Agreement],
    differences: Sequence[CorrelationDifference],
    *,
    alpha: float,
) -> MetricVerdict:
    taus = {a.evaluator: a for a in all_agreements if a.gold == gold.name and a.kind == "kendall"}
    defined = [e.name for e in evaluations if not math.isnan(taus[e.name].value)]
    order = sorted(defined, key=lambda name: -taus[name].value)
    p_values = {frozenset((d.first, d.second)): d.p for d in differences if d.gold == gold.name and d.kind == "kendall"}
    best = [
        name
        for name in order
        if name == order[0] or not p_values[frozenset((order[0], name))] * (len(order) - 1) < alpha
    ]
    significant = [name for name in order if taus[name].p_adjusted < alpha]
    return MetricVerdict(
        gold=gold.name,
        order=tuple(order),
        may_be_best=tuple(best),
        not_luck=tuple(name for name in significant if taus[name].value > 0),
        upside_down=tuple(name for name in significant if taus[name].value < 0),
        undefined=tuple(e.name for e in evaluations if e.name not in defined),
    )


def _pair_score(
    gold: Evaluation, evaluation: Evaluation, pair_calls: Sequence[PairCall], soft: float, *, alpha: float
) -> PairScore:
    separated = [call for call in pair_calls if call.gold_separates(alpha)]
    return PairScore(
        gold=gold.name,
        evaluator=evaluation.name,
        accuracy=pairwise_accuracy(gold, evaluation),
        soft_accuracy=soft,
        n_pairs=len(pair_calls),
        n_wrong=sum(call.verdict == "wrong" for call in pair_calls),
        n_separated=len(separated),
        n_wrong_separated=sum(call.verdict == "wrong" for call in separated),
    )


def _warnings(golds: Sequence[Evaluation], evaluations: Sequence[Evaluation], scores: Sequence[PairScore]) -> list[str]:
    n = len(golds[0].generators)
    messages = []
    if n < _FEW:
        messages.append(
            f"with {n} generators, p-values of rank correlations cannot be below 2/{math.factorial(n)} = "
            f"{2 / math.factorial(n):.2g}, those of differences between two evaluators not below {2 / 2**n:.2g}. The "
            "interval of an evaluator without a wrong pair is too narrow. Use more generators before you trust a "
            "metric"
        )
    messages.append(
        "if generators are one model at several settings, they are not independent: intervals are too narrow and "
        "p-values too small"
    )
    for gold in golds:
        if np.ptp(gold.goodness) == 0:
            messages.append(f"{gold.name} rates all generators equal, so no evaluator can agree with it")
        elif gold.terms is not None:
            first = next(score for score in scores if score.gold == gold.name)
            messages.append(f"{gold.name} separates {first.n_separated} of {first.n_pairs} pairs of generators")
    fixed = [evaluation.name for evaluation in evaluations if evaluation.terms is None]
    if fixed:
        messages.append(
            f"no scores of single texts from {', '.join(fixed)}: their intervals cover other generators, but not "
            "other texts"
        )
    return messages


def _evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    rows = zip(evaluation.generators, evaluation.values.tolist(), evaluation.goodness.tolist(), strict=True)
    return {
        "name": evaluation.name,
        "better": evaluation.better,
        "floor": evaluation.floor,
        "values": [{"generator": name, "value": value, "goodness": good} for name, value, good in rows],
        "n_texts": None if evaluation.terms is None else [len(terms) for terms in evaluation.terms.values()],
    }
