"""How each classifier of a cross-fit did on its test sentences, and how far the classifiers differ beyond sampling.

The plug-in discrepancy is what calibrated probabilities say the total variation is. With eta(x) the probability of
being real if both sides were equally frequent, the total variation is the mean of |2 eta - 1| over the even mixture of
both sides. A classifier's scores are made into eta by isotonic regression on some of its test sentences and averaged
over the others, each part in turn. It is a diagnostic and no bound: it lies above dd by what calibration makes of
noise, since an eta on the wrong side of one half counts as much as one on the right side. Of equal distributions it is
about 0.03 with 1,000 sentences a side tested by one classifier and 0.01 with 10,000, where dd is 0 on average
(``benchmarks/bounds.py`` prints both). Further above dd than that, it says that the threshold loses something.

Sources: Ushio, Ishida, Sugiyama, "Practical estimation of the optimal classification error with soft labels and
calibration", arXiv 2505.20761; Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability
estimates", KDD 2002 (isotonic calibration). Departs from them: calibrated on held-out parts of the test scores.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression

from textassay.discriminator.base import balanced_cross_entropy
from textassay.discriminator.cross_fitting import CrossFit
from textassay.errors import OptionError, TooFewSentencesError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_ROC_POINTS = 101
_PARTS = 5


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
    scores = np.unique(np.concatenate([real, generated]))
    sides = np.sort(generated), np.sort(real)

    def shares(steps: IntArray) -> FloatArray:
        """Return the shares of both sides among the `steps` highest scores, shape (n, 2)."""
        lowest = scores[np.minimum(len(scores) - steps, len(scores) - 1)]
        above = [1 - np.searchsorted(side, lowest, side="left") / len(side) for side in sides]
        return np.where(steps[:, None] > 0, np.stack(above, axis=1), 0.0)

    wanted = np.linspace(0, 2, N_ROC_POINTS) - 1e-9
    low, high = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), len(scores))
    while (low < high).any():  # the fewest steps whose shares add up to what is wanted
        middle = (low + high) // 2
        enough = shares(middle).sum(axis=1) >= wanted
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    points: list[list[float]] = shares(np.unique(low)).tolist()
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


def plug_in(
    real_scores: FloatArray, generated_scores: FloatArray, *, rng: np.random.Generator, parts: int = _PARTS
) -> float:
    """Return the plug-in discrepancy of one classifier's scores.

    `real_scores`, `generated_scores`: scores of sentences that the classifier did not see, shapes (n_real,) and
    (n_generated,), at least two each.

    In [0, 1].
    """
    if parts < 2:
        raise OptionError(f"parts must be at least 2, got {parts}")
    sides = (np.asarray(real_scores, dtype=np.float64), np.asarray(generated_scores, dtype=np.float64))
    fewest = min(map(len, sides))
    if fewest < 2:
        raise TooFewSentencesError(f"calibration needs at least two scores a side, got {fewest}")
    parts = min(parts, fewest)
    numbers = [rng.permutation(len(side)) % parts for side in sides]
    certainty = [np.empty(len(side)) for side in sides]
    for part in range(parts):
        rest = [side[number != part] for side, number in zip(sides, numbers, strict=True)]
        sizes = [len(side) for side in rest]
        eta = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
            np.concatenate(rest), np.repeat([1.0, 0.0], sizes), np.repeat([1 / size for size in sizes], sizes)
        )
        for side, number, certain in zip(sides, numbers, certainty, strict=True):
            certain[number == part] = np.abs(2 * eta.predict(side[number == part]) - 1)
    return float(min(1.0, (certainty[0].mean() + certainty[1].mean()) / 2))


def cross_fitted_plug_in(fit: CrossFit, *, seed: int) -> float | None:
    """Return the mean plug-in discrepancy of the classifiers of a cross-fit, each on the sentences it was tested on.

    In [0, 1]; None where a fold tests a single sentence of a side.
    """
    scores = [
        (fit.real_scores[fit.real_folds == fold], fit.generated_scores[fit.generated_folds == fold])
        for fold in range(len(fit.folds))
    ]
    if min(len(side) for pair in scores for side in pair) < 2:
        return None
    values = [plug_in(*pair, rng=stream(seed, "plug-in", fold)) for fold, pair in enumerate(scores)]
    return float(np.mean(values))
