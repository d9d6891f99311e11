"""Measurements of one generator: metrics by name, likelihood under models, the exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 4.5.
Departs from it: sentences that were cut have no end that could be scored, so none is counted.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from textassay.comparison.measure import EstimateStore
from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.estimate import Estimate, Evidence, Interval
from textassay.metric.base import Metric, Shared, make_signature
from textassay.metric.catalog import parse_metric
from textassay.ngram.language_model import LanguageModel
from textassay.resampling.jackknife import terms_interval
from textassay_lab.generator.as_drawn import AsDrawn
from textassay_lab.meta_evaluation.known_truth import KnownTruth, log_ratios, truth_from_log_ratios
from textassay_lab.meta_evaluation.model_discrepancy import MOST_DISAGREEMENT

LEVEL = 0.95
ORDERS = (2, 3, 4, 5)

LM = "LM score"
LM_SELF = "LM score (own model)"
REVERSE = "reverse LM score"
REVERSE_NGRAM = "reverse LM score (n-gram)"
EXACT = "exact DD"
OVERLAP = (*(f"BLEU-{order}" for order in ORDERS), *(f"self-BLEU-{order}" for order in ORDERS), "FED", REVERSE_NGRAM)


def overlap_metrics() -> dict[str, Metric]:
    """Return the metrics that need no trained model, by their names in tables."""
    names = {
        **{f"BLEU-{order}": f"bleu(order={order})" for order in ORDERS},
        **{f"self-BLEU-{order}": f"self-bleu(order={order})" for order in ORDERS},
        "FED": "fed(encoder=lsa)",  # of which the pages of the study are
        REVERSE_NGRAM: "reverse-lm-score",
    }
    return {label: parse_metric(name, level=LEVEL) for label, name in names.items()}


def measured(metrics: Mapping[str, Metric], generated: Corpus, real: Corpus, *, seed: int) -> dict[str, Estimate]:
    """Return the estimate of each metric; those that share work do it once."""
    with Shared().used():
        return {name: metric.estimate(generated, real, seed=seed) for name, metric in metrics.items()}


def model_cost(
    metric: str, model: LanguageModel, scored: Corpus, other: Corpus, *, longest: int, scores_real: bool, seed: int
) -> Estimate:
    """Return the mean cost of a token of `scored` under a model that is held fixed, in nats."""
    costs = -AsDrawn(model, scored.vocabulary, max_length=longest).log_prob(scored)
    if not np.isfinite(costs).all():
        raise InputError(f"{metric}: {model.name} gives a sentence probability 0")
    counted = np.minimum(scored.lengths + 1, longest)
    value = float(costs.sum() / counted.sum())
    terms = value + (costs - value * counted) / counted.mean()
    real, generated = (scored, other) if scores_real else (other, scored)
    per_sentence = costs / np.maximum(counted, 1)
    return Estimate(
        metric=metric,
        value=value,
        interval=terms_interval(value, [terms], level=LEVEL, method="t: sentences; language model fixed", low=0.0),
        unit="nats per token",
        better="lower" if scores_real else "closer",
        sizes={"n_generated": len(generated), "n_real": len(real), "n_tokens": int(counted.sum())},
        signature=make_signature(metric, generated, real, seed=seed, model=model.name, ends="counted where drawn"),
        evidence=Evidence(terms, None, per_sentence, None)
        if scores_real
        else Evidence(None, terms, None, per_sentence),
    )


def exact_estimate(
    original: LanguageModel, model: LanguageModel, real: Corpus, generated: Corpus, *, longest: int, seed: int
) -> tuple[Estimate, KnownTruth]:
    """Return the discrepancy of two models from their own probabilities, as an estimate, and with all its checks."""
    sides = [AsDrawn(each, real.vocabulary, max_length=longest) for each in (original, model)]
    ratios = [log_ratios(sides[0], sides[1], corpus) for corpus in (real, generated)]
    truth = truth_from_log_ratios(*ratios, level=LEVEL)
    if truth.disagreement > MOST_DISAGREEMENT:
        warnings.warn(
            f"exact discrepancy of {model.name}: its estimators are {truth.disagreement:.1f} standard errors apart, so "
            "a log-probability is not that of what was drawn",
            stacklevel=2,
        )
    halves = [np.abs(np.tanh(ratio / 2)) / 2 for ratio in ratios]
    estimate = Estimate(
        metric=EXACT,
        value=truth.value,
        interval=truth.interval,
        unit="fraction",
        better="lower",
        sizes={"n_generated": len(generated), "n_real": len(real)},
        signature=make_signature(EXACT, generated, real, seed=seed, p=original.name, q=model.name, by="tanh"),
        details={
            "sign": truth.sign,
            "sign_low": truth.sign_interval.low,
            "sign_high": truth.sign_interval.high,
            "ratio": truth.ratio,
            "ratio_low": truth.ratio_interval.low,
            "ratio_high": truth.ratio_interval.high,
            "disagreement": truth.disagreement,
        },
        evidence=Evidence(halves[0] + halves[1].mean(), halves[1] + halves[0].mean()),
    )
    return estimate, truth


def mean_interval(values: Sequence[float], shared_error: float, *, own_error: float = 0.0) -> Interval:
    """Return the interval of a mean over trainings, of which there are at least two.

    Student's over their spread, no narrower than `own_error`, the standard error of one training's value from its own
    texts, allows; and normal for `shared_error`, that from the texts that all are measured on.
    """
    n, middle = len(values), float(np.mean(values))
    student, normal = stats.t.ppf((1 + LEVEL) / 2, n - 1), stats.norm.ppf((1 + LEVEL) / 2)
    own = max(student * np.std(values, ddof=1), normal * own_error) / np.sqrt(n)
    arm = float(np.hypot(own, normal * shared_error))
    return Interval(middle - arm, middle + arm, LEVEL, "t: trainings; normal: common text")


def save_estimates(folder: Path, estimates: Mapping[str, Estimate]) -> None:
    """Keep estimates with their evidence in `folder`."""
    store = EstimateStore(folder)
    for name, estimate in estimates.items():
        store.save(_file(name), estimate)


def load_estimates(folder: Path, names: Sequence[str] | Iterable[str]) -> dict[str, Estimate]:
    """Return the estimates of `save_estimates`."""
    store = EstimateStore(folder)
    estimates = {}
    for name in names:
        kept = store.load(_file(name))
        if kept is None:
            raise InputError(f"{folder} is damaged: delete it, and its estimates are computed again")
        estimates[name] = kept[0]
    return estimates


def _file(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)
