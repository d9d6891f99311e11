"""How each classifier of a cross-fit did on its test sentences, and how far the classifiers differ beyond sampling."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from textassay.discriminator.base import balanced_cross_entropy
from textassay.discriminator.cross_fitting import CrossFit

__all__ = ["FoldScore", "score_folds", "spread_between_classifiers"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldScore:
    """One classifier on its test sentences.

    Attributes
    ----------
    value
        Twice the balanced accuracy, less one.
    variance
        What `value` varies by, squared, with the sentences that are tested.
    auc
        Probability that a real sentence scores above a generated one (ties count half).
    cross_entropy
        Nats per sentence, both classes weighing a half.
    n_real_correct, n_real, n_generated_wrong, n_generated
        Real sentences called real and generated ones called real, out of how many.
    """

    value: float
    variance: float
    auc: float
    cross_entropy: float
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


def spread_between_classifiers(fits: Sequence[Sequence[FoldScore]]) -> float | None:
    """Return the standard deviation between classifiers: how far folds vary beyond the sampling of their test text.

    Parameters
    ----------
    fits
        The folds of each cross-fit. Few folds tell little: 0 means no more than sampling explains.

    Returns
    -------
    float or None
        None where a cross-fit has one fold.
    """
    if min(map(len, fits)) < 2:
        return None
    excess = [
        float(np.var([fold.value for fold in folds], ddof=1) - np.mean([fold.variance for fold in folds]))
        for folds in fits
    ]
    return math.sqrt(max(0.0, float(np.mean(excess))))
