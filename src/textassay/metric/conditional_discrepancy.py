"""Conditional dd: how much better than chance a judge that sees the prompt tells real from generated answers.

dd compares all answers with all answers. Where both sides answer the same prompts, that misses most of it: answers to
the wrong questions are, together, as good as the right ones. Here the judge sees the prompt, and other answers to it;
whole prompts are held out; and each prompt weighs the same. The value is, in expectation, at most the mean over prompts
of the total variation between real and generated answers to a prompt.

Source: the definition is that of Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation",
equation (6), given the prompt; the certified bound is by betting (`textassay.resampling.betting`).
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr
from scipy.stats import rankdata, ttest_1samp

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import TextUnit, unit_of
from textassay.discriminator.base import Discriminator
from textassay.discriminator.catalog import AUTO, as_discriminator, make_discriminator
from textassay.discriminator.conditional import COLUMNS, Differences, cross_fit_prompts
from textassay.discriminator.structure import with_structure
from textassay.fields import Between
from textassay.metric.base import (
    Computed,
    Prompts,
    SharedEffort,
    SharedUnit,
    check_corpora,
    compute_once,
    declare_metric,
)
from textassay.metric.discrepancy_interval import variance_factor
from textassay.resampling.betting import BoundedMean
from textassay.resampling.jackknife import terms_interval
from textassay.resampling.multiplicity import benjamini_hochberg, bounds_of_several
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]

_JUDGES = {"quick": "stack-quick", "default": "stack-quick", "max": "stack"}
_N_SHOWN = 10
_LEAST_WITH = 10  # prompts with a word and without it, for it to be looked at
_ALPHA = 0.05


def _judge(discriminator: Any, effort: str) -> Discriminator:
    if isinstance(discriminator, str) and discriminator == AUTO:
        return make_discriminator(_JUDGES[effort])
    return as_discriminator(discriminator)


def _identity(settings: Mapping[str, Any]) -> str:
    judge = _judge(settings["discriminator"], settings["effort"])
    return f"{judge.name} {judge.features}"


@declare_metric(
    "conditional-dd",
    "Conditional Distributional Discrepancy: how much better than chance a classifier that sees the prompt separates "
    "real from generated answers",
    better="lower",
    bounds=(-1, 1),
    classifies=True,
    symmetric=True,
    exact_under_reordering=False,
    needs=("prompts",),
    identity=_identity,
)
def conditional_dd(
    generated: Corpus,
    real: Corpus,
    *,
    prompts: Prompts = None,
    discriminator: str | Discriminator | Any = AUTO,
    effort: SharedEffort = "default",
    folds: Annotated[int, Between(3)] = 5,
    unit: SharedUnit = None,
    level: float = 0.95,
    seed: int = 0,
) -> Computed:
    """Return the Distributional Discrepancy of generated from real answers to the same prompts, given the prompt.

    Parameters
    ----------
    generated, real
        Answers, one or more to a prompt; answers to prompts that only one side has are left out and counted. At least
        20 prompts must have answers on both sides. Where both sides have several answers to a prompt, the judge is
        shown the others, with their labels.
    prompts
        The prompt of each answer: one list for both sides, where these have as many texts, or ``{"generated": ...,
        "real": ...}``; or none, where the texts came with theirs (chat JSONL, a table with a column of prompts).
    discriminator
        Judge of the answers alone, whose log-odds are a column among others; by default the stack of the effort.
    effort
        ``"max"`` takes the full stack, the others the quick one.
    folds
        Cross-fitting folds of prompts, at least 3.
    unit
        ``document``: the judge sees the structure of answers, too, as in ``dd``; recognised where None.
    level
        Of the interval and the certified bound.
    seed
        Decides the folds, and which answers are hidden from which.

    Returns
    -------
    Estimate
        Mean over prompts of the share of real answers that the judge calls real, less that of generated ones: in [-1,
        1], lower is closer, 0 for equal distributions. The mean over prompts of the total variation is at least its
        expectation. The interval is Student's over prompts. Details: `certified_bound` (that mean is at least `value`
        with probability `level`, exact at any number of prompts; prompts must be independent draws), `e_value` (of the
        same bets, against a mean of 0), `p_value` (one-sided Student's test of the same prompts), `n_prompts`,
        `prompts_left_out` (those that one side lacks), `answers_per_prompt`, `judged_by` (what the judge saw: mean of
        both sides and area under the curve, the most telling first), `telling_prompts` (those that give the generator
        away most, with an answer of each side) and `prompt_words` (words of prompts with which it is given away more or
        less). Evidence: one term a prompt of the real text.

    Raises
    ------
    TooFewSentencesError
        If fewer than 20 prompts, or than two a fold, have answers on both sides.
    UnavailableError
        If there are no prompts.
    """
    check_corpora(generated, real, metric="conditional-dd", at_least=1)
    assert prompts is not None  # checked by the base, since it is needed
    assert real.groups is not None
    assert generated.groups is not None
    judge = _judge(discriminator, effort)
    unit = unit_of(real, unit)
    found = compute_once(_differences, generated, real, prompts, judge, folds, seed, unit)
    value, factor = float(found.values.mean()), variance_factor(folds)
    all_prompts = np.unique(real.groups)
    terms = _terms(found, all_prompts, factor)
    n_left_out = {
        "real": len(all_prompts) - len(found.ids),
        "generated": len(np.unique(generated.groups)) - len(found.ids),
    }
    return Computed(
        value,
        terms={"real": terms},
        interval=terms_interval(
            value, [value + math.sqrt(factor) * (found.values - value)], level=level, low=-1, high=1,
            method=f"student over prompts, approximate under cross-fitting (variance x {factor:g})",
        ),
        sizes={"n_prompts": len(found.ids)},
        settings={
            "clf": judge.name,
            "feats": judge.features,
            "effort": effort,
            "prompts": prompts.fingerprint[:8],
            **({"unit": unit} if unit == "document" else {}),
            "folds": folds,
            "threshold": "validation",
            "ci": f"prompt-t x{factor:g}",
            "split": "prompt",
        },
        details={
            **_certified(found, level, seed),
            "n_prompts": len(found.ids),
            "prompts_left_out": n_left_out,
            "answers_per_prompt": {
                side: float(sizes.mean())
                for side, sizes in zip(("real", "generated"), found.texts.sizes, strict=True)
            },
            "judged_by": _columns(found),
            "telling_prompts": _prompts(found),
            "prompt_words": _words(found),
        },
    )  # fmt: skip


def _differences(
    generated: Corpus, real: Corpus, prompts: Corpus, judge: Discriminator, folds: int, seed: int, unit: TextUnit
) -> Differences:
    if unit == "document":
        generated, real = compute_once(with_structure, generated), compute_once(with_structure, real)
    return cross_fit_prompts(judge, prompts, real, generated, folds=folds, seed=seed)


def _terms(found: Differences, prompts: npt.NDArray[np.int64], factor: float) -> FloatArray:
    """Return a term for each prompt of the real text, whose mean is the value and whose variance that of the value.

    A prompt without answers on both sides adds nothing to either, so that terms of several generators are paired.
    """
    value = float(found.values.mean())
    terms = np.full(len(prompts), value)
    scale = math.sqrt(factor) * len(prompts) / len(found.ids)
    terms[np.searchsorted(prompts, found.ids)] += scale * (found.values - value)
    return terms


def _certified(found: Differences, level: float, seed: int) -> dict[str, Any]:
    """Return the bound, the e-value and the p-value, from judges that learnt from earlier prompts alone."""
    bets = BoundedMean(found.in_order, alpha=1 - level, rng=stream(seed, "conditional-dd", "bets"))
    values = np.concatenate(found.in_order)
    p_value = float(ttest_1samp(values, 0.0, alternative="greater").pvalue) if np.ptp(values) > 0 else math.nan
    return {
        "certified_bound": {
            "value": max(0.0, bets.lower_bound),
            "of_several": bounds_of_several(lambda alpha: max(0.0, bets.lower_bound_at(alpha)), 1 - level),
            "level": level,
            "kind": "betting",
            "exact": True,
            "n_prompts": len(values),
        },
        "e_value": bets.e_value,
        "p_value": (0.0 if values.mean() > 0 else 1.0) if math.isnan(p_value) else p_value,
    }


def _columns(found: Differences) -> list[dict[str, Any]]:
    """Return what the judge saw, mean by side, the column that tells most first."""
    real = found.texts.is_real
    n_real, n_generated = np.count_nonzero(real), np.count_nonzero(~real)
    rows = []
    for name, column in zip(COLUMNS, found.columns.T, strict=True):
        auc = (rankdata(column)[real].sum() - n_real * (n_real + 1) / 2) / (n_real * n_generated)
        rows.append(
            {
                "name": name,
                "real": float(column[real].mean()),
                "generated": float(column[~real].mean()),
                "auc": float(auc),
            }
        )
    return sorted(rows, key=lambda row: -abs(row["auc"] - 0.5))


def _prompts(found: Differences) -> list[dict[str, Any]]:
    """Return the prompts with the largest difference, those with the clearest scores first."""
    texts = found.texts
    gaps = [
        np.bincount(texts.prompt, weights=found.scores * (texts.is_real == side), minlength=texts.n_prompts) / sizes
        for side, sizes in zip((True, False), texts.sizes, strict=True)
    ]
    order = np.lexsort((gaps[1] - gaps[0], -found.values))[:_N_SHOWN]
    n_real = len(texts.sides[0])
    rows = []
    for prompt in order.tolist():
        mine = np.flatnonzero(texts.prompt == prompt)
        real, generated = mine[mine < n_real], mine[mine >= n_real]
        clearest = real[np.argmax(found.scores[real])], generated[np.argmin(found.scores[generated])] - n_real
        rows.append(
            {
                "prompt": texts.prompts.texts[prompt],
                "difference": float(found.values[prompt]),
                "real": texts.sides[0].texts[int(clearest[0])],
                "generated": texts.sides[1].texts[int(clearest[1])],
            }
        )
    return rows


def _words(found: Differences) -> list[dict[str, Any]]:
    """Return the words of prompts with which the difference is larger or smaller, adjusted for their number."""
    words, n = found.texts.prompt_words, len(found.ids)
    vocabulary = found.texts.prompts.vocabulary
    n_with = np.bincount(words.word, minlength=len(vocabulary))
    chosen = np.flatnonzero((n_with >= _LEAST_WITH) & (n - n_with >= _LEAST_WITH))
    if not len(chosen):
        return []
    of_entries = found.values[words.text]
    sums = np.bincount(words.word, weights=of_entries, minlength=len(vocabulary))[chosen]
    squares = np.bincount(words.word, weights=of_entries**2, minlength=len(vocabulary))[chosen]
    inside, outside = n_with[chosen], n - n_with[chosen]
    means = sums / inside, (found.values.sum() - sums) / outside
    variances = [
        np.maximum(square / size - mean**2, 0.0) / (size - 1)
        for square, size, mean in zip(
            (squares, (found.values**2).sum() - squares), (inside, outside), means, strict=True
        )
    ]
    error = np.sqrt(variances[0] + variances[1])
    gap = means[0] - means[1]
    statistic = np.divide(gap, error, out=np.zeros(len(gap)), where=error > 0)
    p_values = 2 * stdtr(np.minimum(inside, outside) - 1, -np.abs(statistic))
    adjusted = benjamini_hochberg(p_values)
    order = [place for place in np.argsort(adjusted, kind="stable").tolist() if adjusted[place] < _ALPHA]
    return [
        {
            "word": vocabulary.decode(chosen[place : place + 1])[0],
            "n_prompts": int(inside[place]),
            "difference": float(means[0][place]),
            "elsewhere": float(means[1][place]),
            "p_adjusted": float(adjusted[place]),
        }
        for place in order[:_N_SHOWN]
    ]
