"""The discrepancy as in its paper: one classifier with fixed training, validation and test text.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 4 and equation
(6): fixed files for the three parts, parameters chosen by validation accuracy, threshold one half, the whole test text
used once.
Departs from it: the number has an interval, a certified bound and evidence.
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Discriminator, Pair
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.estimate import Estimate, Evidence
from textassay.metric.base import check_level, make_signature
from textassay.metric.blindness import alike_share, guessing_variance
from textassay.metric.discrepancy import fitted_to
from textassay.metric.discrepancy_interval import at_least_guessing
from textassay.resampling.proportions import certified_lower_bound, newcombe_interval

FloatArray = npt.NDArray[np.float64]


def held_out_dd(
    discriminator: Discriminator, train: Pair, valid: Pair, test: Pair, *, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Return the discrepancy that a classifier fitted to `train` finds on `test`.

    In [-1, 1], twice the balanced accuracy on `test` less one. Details: `accuracy` (balanced), `accuracy_real`,
    `accuracy_generated`, `mean_score_real`, `mean_score_generated` and, under ``validation``, the same of `valid` with
    its value and interval; `certified_bound` (total variation is at least that with probability `level`); `alike`
    (share of test sentences that the classifier scored exactly alike on both sides); `chosen` (best epoch, whether
    training converged, and so on). Evidence: whether a sentence was judged rightly.

    ``(correct - wrong) / n`` of the real and of the generated side, half their sum; a score of exactly one half says
    generated.
    """
    check_level(level)
    for part, pair in (("training", train), ("validation", valid), ("test", test)):
        for side, corpus in zip(("real", "generated"), pair, strict=True):
            if len(corpus) == 0:
                raise EmptyCorpusError(f"held-out dd: the {side} {part} corpus has no text")
            if corpus.vocabulary is not train[0].vocabulary:
                raise OptionError("held-out dd: the corpora have different vocabularies")
    fitted = copy.deepcopy(discriminator).fit(train, valid)
    judged, scores = _judged(fitted, test, level)
    on_valid, _ = _judged(fitted, valid, level)
    right = (scores[0] > 0.5).astype(np.float64), (scores[1] <= 0.5).astype(np.float64)
    counts = int(right[0].sum()), len(right[1]) - int(right[1].sum())
    bound = certified_lower_bound(counts[0], len(right[0]), counts[1], len(right[1]), alpha=1 - level)
    interval = newcombe_interval(counts[0], len(right[0]), counts[1], len(right[1]), level=level)
    value = float(right[0].mean() + right[1].mean() - 1)
    alike = alike_share((test[0].texts, test[1].texts), scores)
    interval = at_least_guessing(interval, value, guessing_variance(alike, len(right[0]), len(right[1])))
    return Estimate(
        metric=f"dd(held-out,discriminator={fitted.name})",
        value=value,
        interval=interval,
        unit="fraction",
        better="lower",
        sizes={
            "n_real": len(test[0]),
            "n_generated": len(test[1]),
            "n_real_train": len(train[0]),
            "n_generated_train": len(train[1]),
            "n_real_valid": len(valid[0]),
            "n_generated_valid": len(valid[1]),
        },
        signature=make_signature(
            "dd",
            test[1],
            test[0],
            seed=seed,
            clf=fitted.name,
            feats=fitted.features,
            split=f"held-out {len(train[0])}+{len(valid[0])}+{len(test[0])}",
            threshold="half",
            ci="newcombe",
            **fitted_to([fitted.chosen]),
        ),
        details={
            **judged,
            "alike": alike,
            "validation": on_valid,
            "certified_bound": bound,
            "chosen": dict(fitted.chosen),
        },
        evidence=Evidence(*right, *scores),
    )


def _judged(
    fitted: Discriminator, pair: tuple[Corpus, Corpus], level: float
) -> tuple[dict[str, Any], tuple[FloatArray, FloatArray]]:
    """Return value, accuracies and mean scores of a pair, and its scores, real and generated."""
    real, generated = (np.asarray(fitted.prob_real(corpus), dtype=np.float64) for corpus in pair)
    if np.isnan(real).any() or np.isnan(generated).any():
        raise InputError(f"scores must be numbers, {fitted.name} gives NaN")
    of_real, of_generated = float(np.mean(real > 0.5)), float(np.mean(generated <= 0.5))
    interval = newcombe_interval(
        int(np.sum(real > 0.5)), len(real), int(np.sum(generated > 0.5)), len(generated), level=level
    )
    details = {
        "value": of_real + of_generated - 1,
        "low": interval.low,
        "high": interval.high,
        "accuracy": (of_real + of_generated) / 2,
        "accuracy_real": of_real,
        "accuracy_generated": of_generated,
        "mean_score_real": float(real.mean()),
        "mean_score_generated": float(generated.mean()),
    }
    return details, (real, generated)
