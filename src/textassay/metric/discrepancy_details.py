"""Details of a discrepancy: scores, thresholds, the certified bound, and the candidates of a family."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.cross_fitting import CrossFit
from textassay.discriminator.fold_scores import (
    cross_fitted_plug_in,
    roc_points,
    score_folds,
    spread_between_classifiers,
)
from textassay.discriminator.stack import FIT
from textassay.metric.blindness import hashes_of, unseen_shares
from textassay.metric.discrepancy_interval import Answers
from textassay.resampling.betting import ShareDifference
from textassay.resampling.bounds import choose_bound
from textassay.resampling.e_value import e_value
from textassay.resampling.permutation import joint_groups, permutation_p_value
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
Sides = tuple[Corpus, Corpus]  # (real, generated)

CERTIFYING_FOLD = 0  # fixed in advance: bound and p-value use this fold alone
N_PERMUTATIONS = 999
N_BINS = 40


def mean_scores(fits: Sequence[CrossFit]) -> tuple[FloatArray, FloatArray]:
    """Return each sentence's mean probability of being real over cross-fits, real and generated; NaN where untested."""
    return (
        np.mean([fit.real_scores for fit in fits], axis=0),
        np.mean([fit.generated_scores for fit in fits], axis=0),
    )


def p_value_of(fit: CrossFit, sides: Sides, seed: int) -> float:
    """Return the p-value of the permutation test of the scores of the certifying fold."""
    rows = (fit.real_folds == CERTIFYING_FOLD, fit.generated_folds == CERTIFYING_FOLD)
    groups = [None if corpus.groups is None else corpus.groups[row] for corpus, row in zip(sides, rows, strict=True)]
    return permutation_p_value(
        fit.real_scores[rows[0]],
        fit.generated_scores[rows[1]],
        rng=stream(seed, "dd", "permutation"),
        n_resamples=N_PERMUTATIONS,
        real_groups=groups[0],
        generated_groups=groups[1],
    )


def details_of(fits: Sequence[CrossFit], sides: Sides, answers: Answers, *, level: float, seed: int) -> dict[str, Any]:
    """Return all details but the p-value; those of `won` and `alone` are None where one discriminator judged."""
    scored = [score_folds(fit) for fit in fits]
    folds = [fold for fit in scored for fold in fit]
    models = [model for fit in fits for model in fit.folds]
    judged = [side[~np.isnan(side)] for side in mean_scores(fits)]
    tested = (fits[0].real_folds >= 0, fits[0].generated_folds >= 0)
    edges = np.linspace(0, 1, N_BINS + 1)
    partitions = [np.mean([np.nanmean(side) for side in fit.correct()]) * 2 - 1 for fit in fits]
    distinct = [_mean_over_distinct(*side) for side in zip(sides, answers.terms, tested, strict=True)]
    unseen = unseen_shares(sides, (fits[0].real_folds, fits[0].generated_folds))
    error = answers.standard_error
    spread = spread_between_classifiers(scored)
    sd_seeds = float(np.std(partitions, ddof=1)) if len(fits) > 1 else None
    extra = (spread or 0.0) ** 2 / len(fits[0].folds) if sd_seeds is None else sd_seeds**2 / len(fits)
    return {
        "accuracy_real": float(answers.terms[0].mean()),
        "accuracy_generated": float(answers.terms[1].mean()),
        "won": _won(fits),
        "alone": _alone(fits, sides, level),
        "fold_values": [fold.value for fold in folds],
        "thresholds": [model.threshold for model in models],
        "chosen": [dict(model.chosen) for model in models],
        "dd_validation": float(np.mean([2 * model.valid_accuracy - 1 for model in models])),
        **_certified(fits[0], sides, level=level, seed=seed),
        "n_permutations": N_PERMUTATIONS,
        "dd_distinct_texts": sum(distinct) - 1,
        "alike": answers.alike,
        "unseen": dict(zip(("real", "generated"), unseen, strict=True)),
        "plug_in": cross_fitted_plug_in(fits[0], seed=seed),
        "sd_classifiers": spread,
        "sd_seeds": sd_seeds,
        "mean_score_real": float(judged[0].mean()),
        "mean_score_generated": float(judged[1].mean()),
        "auc": float(np.mean([fold.auc for fold in folds])),
        "cross_entropy": float(np.mean([fold.cross_entropy for fold in folds])),
        "roc": roc_points(*judged),
        "score_histogram": {
            "edges": edges.tolist(),
            "real": np.histogram(judged[0], edges)[0].tolist(),
            "generated": np.histogram(judged[1], edges)[0].tolist(),
        },
        **{
            key: dict(zip(("real", "generated"), getattr(models[0], key), strict=True))
            for key in ("n_train", "n_valid", "n_test")
        },
        "se_sampling": error,
        "se_total": float(np.hypot(error, np.sqrt(extra))),
    }


def fitted_to(chosen: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return for the signature to how many texts a side weights were fitted, where some were left out."""
    sizes = [choices[FIT] for choices in chosen if FIT in choices]
    return {FIT: max(sizes)} if sizes else {}


def _won(fits: Sequence[CrossFit]) -> dict[str, Any] | None:
    """Return the winner of each fold, and the one that won most of them; of several, the first in the family."""
    if not fits[0].alone:
        return None
    folds = [str(model.chosen["won"]) for fit in fits for model in fit.folds]
    counts = Counter(folds)
    return {"most": max(fits[0].alone, key=lambda name: counts[name]), "folds": folds}


def _alone(fits: Sequence[CrossFit], sides: Sides, level: float) -> dict[str, dict[str, float | None]] | None:
    """Return the discrepancy of each candidate of a family by itself, on the same partitions."""
    if not fits[0].alone:
        return None
    candidates = {}
    for name in fits[0].alone:
        answers = Answers.of([fit.alone[name] for fit in fits], *sides)
        interval = answers.interval(level)
        candidates[name] = {
            "value": answers.value,
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "se_sampling": answers.standard_error,
        }
    return candidates


def _certified(fit: CrossFit, sides: Sides, *, level: float, seed: int) -> dict[str, Any]:
    """Return the certified bound and the e-value of the certifying fold, which has the whole error rate."""
    bound: dict[str, Any] = {"value": None, "level": level, "fold": CERTIFYING_FOLD}
    if any(corpus.groups is not None for corpus in sides):
        of_groups, evidence = _certified_by_group(fit, sides, level=level, seed=seed)
        return {"certified_bound": {**bound, **of_groups}, "e_value": evidence}
    model = fit.folds[CERTIFYING_FOLD]
    test = (
        fit.real_scores[fit.real_folds == CERTIFYING_FOLD],
        fit.generated_scores[fit.generated_folds == CERTIFYING_FOLD],
    )
    n_real, n_generated = map(len, test)
    rule = choose_bound(
        *model.valid_scores, n_real=n_real, n_generated=n_generated, alpha=1 - level, usual=model.threshold
    )
    certified = rule.bound(*test, alpha=1 - level)
    return {
        "certified_bound": {
            **bound,
            "value": certified.value,
            "threshold": certified.threshold,
            "kind": certified.kind,
            "exact": certified.exact,
        },
        "e_value": e_value(*test, rng=stream(seed, "dd", "e-value")),
    }


def _certified_by_group(fit: CrossFit, sides: Sides, *, level: float, seed: int) -> tuple[dict[str, Any], float]:
    """Return the bound and the e-value of texts in groups, of one side or both; every text weighs the same.

    Groups are independent draws, texts of one group are not.
    """
    groups = joint_groups(sides[0].groups, sides[1].groups, *map(len, sides))
    members = groups[: len(sides[0])], groups[len(sides[0]) :]
    tested = fit.real_folds == CERTIFYING_FOLD, fit.generated_folds == CERTIFYING_FOLD
    scores = fit.real_scores, fit.generated_scores
    n_groups = int(groups.max()) + 1
    sizes = np.stack([np.bincount(side, minlength=n_groups) for side in members], axis=1)  # (n_groups, 2)
    inside = np.zeros(n_groups, dtype=np.bool_)
    for side, rows in zip(members, tested, strict=True):
        inside[side[rows]] = True
    elsewhere = sizes[~inside]
    model = fit.folds[CERTIFYING_FOLD]
    n_real, n_generated = np.ceil((elsewhere > 0).mean(axis=0) * np.count_nonzero(inside)).astype(int).tolist()
    threshold = choose_bound(
        *model.valid_scores, n_real=n_real, n_generated=n_generated, alpha=1 - level, usual=model.threshold
    ).threshold
    called = [
        np.bincount(side[rows], weights=of_side[rows] > threshold, minlength=n_groups)
        for side, rows, of_side in zip(members, tested, scores, strict=True)
    ]
    bets = ShareDifference(
        np.stack(called, axis=1)[inside],
        sizes[inside],
        elsewhere=elsewhere,
        alpha=1 - level,
        rng=stream(seed, "dd", "bets"),
    )
    bound = {
        "value": bets.lower_bound,
        "threshold": threshold,
        "kind": "betting",
        "exact": True,
        "n_groups": int(np.count_nonzero(inside)),
        "largest": dict(zip(("real", "generated", "both"), map(int, bets.largest), strict=True)),
        "assumes": "independent groups; one of more texts than `largest` counts as so many",
    }
    return bound, bets.e_value


def _mean_over_distinct(corpus: Corpus, terms: FloatArray, tested: npt.NDArray[np.bool_]) -> float:
    """Return the mean of `terms` over distinct texts; copies of a text share its weight."""
    hashes = hashes_of(corpus.texts)[tested]
    _, firsts, members = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)  # the texts in order of appearance
    counts, sums = np.bincount(members), np.bincount(members, weights=terms)
    return float(np.mean((sums / counts)[order]))
