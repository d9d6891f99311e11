"""How each classifier of a cross-fit did on its test sentences, and how far the classifiers differ beyond sampling."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from textassay.discriminator.base import balanced_cross_entropy
from textassay.discriminator.cross_fitting import CrossFit

FloatArray = npt.NDArray[np.float64]

N_ROC_POINTS = 101


@dataclass(frozen=True)
class FoldScore:
    """One classifier on its test sentences."""

    value: float  # Twice the balanced accuracy, less one
    variance: float  # What `value` varies by, squared, with the sentences that are tested
    auc: float  # Probability that a real sentence scores above a generated one (ties count half)
    cross_entropy: float  # Nats per sentence, both classes weighing a half
    # Real sentences called real and generated ones called real, out of how many
    n_real_correct: int
    n_real: int
    n_generated_wrong: int
    n_generated: int


def score_folds(fit: CrossFit) -> list[FoldScore]:
    """Return one score a fold."""
    correct = fit.correct()
    scored = []
    for fold in range(len(fit.folds)):
        rows = (fit.real_folds == fold, fit.generated_folds == fold)
        real, generated = fit.real_scores[rows[0]], fit.generated_scores[rows[1]]
        counts = [int(side[row].sum()) for side, row in zip(correct, rows, strict=True)]
        sizes = [len(real), len(generated)]
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        ranks = rankdata(np.concatenate([real, generated]))[: len(real)]
        scored.append(
            FoldScore(
                value=shares[0] + shares[1] - 1,
                variance=sum(share * (1 - share) / max(1, size - 1) for share, size in zip(shares, sizes, strict=True)),
                auc=float((ranks.mean() - (len(real) + 1) / 2) / len(generated)),
                cross_entropy=balanced_cross_entropy(real, generated),
                n_real_correct=counts[0],
                n_real=sizes[0],
                n_generated_wrong=sizes[1] - counts[1],
                n_generated=sizes[1],
            )
        )
    return scored


def roc_points(real: FloatArray, generated: FloatArray) -> list[list[float]]:
    """Return the receiver operating characteristic of scores, real text being what is looked for.

    `real`, `generated`: scores, shapes (n_real,) and (n_generated,).
    """
    scores = np.unique(np.concatenate([real, generated]))[::-1]
    shares = np.stack(
        [1 - np.searchsorted(np.sort(side), scores, side="left") / len(side) for side in (generated, real)], axis=1
    )  # (n_scores, 2)
    shares = np.concatenate([np.zeros((1, 2)), shares])
    steps = np.searchsorted(shares.sum(axis=1), np.linspace(0, 2, N_ROC_POINTS) - 1e-9)
    points: list[list[float]] = shares[np.unique(np.minimum(steps, len(shares) - 1))].tolist()
    return points


def spread_between_classifiers(fits: Sequence[Sequence[FoldScore]]) -> float | None:
    """Return the standard deviation between classifiers: how far folds vary beyond the sampling of their test text.

    None where a cross-fit has one fold.
    """
    if min(map(len, fits)) < 2:
        return None
    excess = [
        float(np.var([fold.value for fold in folds], ddof=1) - np.mean([fold.variance for fold in folds]))
        for folds in fits
    ]
    return math.sqrt(max(0.0, float(np.mean(excess))))
