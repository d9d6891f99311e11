"""The plug-in discrepancy: what calibrated probabilities say the total variation is.

With eta(x) the probability of being real if both sides were equally frequent, the total variation is the mean of
|2 eta - 1| over the even mixture of both sides. A classifier's scores are made into eta by isotonic regression on some
of its test sentences and averaged over the others, each part in turn.

It is a diagnostic and no bound: it lies above dd by what calibration makes of noise, since an eta on the wrong side of
one half counts as much as one on the right side. Of equal distributions it is about 0.03 with 1,000 sentences a side
tested by one classifier and 0.01 with 10,000, where dd is 0 on average (``benchmarks/bounds.py`` prints both). Further
above dd than that, it says that the threshold loses something.

Sources: Ushio, Ishida, Sugiyama, "Practical estimation of the optimal classification error with soft labels and
calibration", arXiv 2505.20761; Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability
estimates", KDD 2002 (isotonic calibration). Departs from them: calibrated on held-out parts of the test scores.
"""

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from textassay.discriminator.cross_fitting import CrossFit
from textassay.errors import OptionError, TooFewSentencesError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]

_PARTS = 5
_EQUAL = float(np.finfo(np.float64).resolution)  # scores that differ by less count as one


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
        scores, etas = _calibrated(*rest)
        for side, number, certain in zip(sides, numbers, certainty, strict=True):
            certain[number == part] = np.abs(2 * np.interp(side[number == part], scores, etas) - 1)
    return float(min(1.0, (certainty[0].mean() + certainty[1].mean()) / 2))


def _calibrated(real_scores: FloatArray, generated_scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ascending scores and their eta, both sides of equal weight, in the bits of scikit-learn's regression.

    Its checks of every array take longer than the regression.
    """
    sizes = (len(real_scores), len(generated_scores))
    scores = np.concatenate((real_scores, generated_scores))
    real, weights = np.repeat([1.0, 0.0], sizes), np.repeat([1 / size for size in sizes], sizes)
    order = np.lexsort((real, scores))
    scores, real, weights = scores[order], real[order], weights[order]
    starts = np.concatenate(([True], np.diff(scores) >= _EQUAL))
    groups = np.cumsum(starts) - 1
    weight = np.bincount(groups, weights)
    eta = isotonic_regression(np.bincount(groups, real * weights) / weight, weights=weight).x
    return scores[starts], np.clip(eta, 0.0, 1.0)


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
