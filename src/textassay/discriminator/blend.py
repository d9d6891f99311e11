"""A blend of classifiers: one logistic regression on their log-odds, fitted to few texts.

The blend starts as the plain mean of the log-odds, and a ridge limits how far the weights move from it: ten texts leave
the mean nearly unchanged, thousands outweigh it. Scores of the texts it was fitted to are out of fold.

Source: Wolpert, "Stacked generalization", Neural Networks 5, 1992.
Departs from it: the ridge pulls towards equal weights, not towards none.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus import fold_numbers
from textassay.execution import one_blas_thread
from textassay.resampling import joint_groups
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Groups = tuple[IntArray | None, IntArray | None]

_RIDGE = 10.0  # in texts: the weight of the prior that all classifiers are equally good
_LARGEST = 12.0  # log-odds are clipped here, so that no single classifier outvotes all others
_N_FOLDS = 5
_MOST_STEPS = 50
_SMALL_STEP = 1e-10


@dataclass(frozen=True)
class Blend:
    """Log-odds are ``log_odds @ weights + intercept``; `weights` has shape (n_judges,)."""

    weights: FloatArray
    intercept: float

    def prob_real(self, odds: FloatArray) -> FloatArray:
        """Return the probability of being real from log-odds of all judges, shape (N, n_judges)."""
        return np.asarray(expit(np.einsum("ij,j->i", odds, self.weights) + self.intercept), dtype=np.float64)


def log_odds(scores: FloatArray) -> FloatArray:
    """Return the log-odds of probabilities, any shape, kept within plus and minus 12."""
    with np.errstate(divide="ignore"):
        odds = np.log(scores) - np.log1p(-scores)
    return np.asarray(np.clip(odds, -_LARGEST, _LARGEST), dtype=np.float64)


def fit_blend(real: FloatArray, generated: FloatArray) -> Blend:
    """Return the best blend for log-odds of real and generated texts; both sides have equal weight.

    `real`, `generated`: shapes (n_real, n_judges) and (n_generated, n_judges).
    """
    n_judges = real.shape[1]
    equal = np.full(n_judges, 1 / n_judges)
    if len(real) == 0 or len(generated) == 0:
        return Blend(equal, 0.0)
    odds = np.concatenate([real, generated])
    n = len(odds)
    is_real = np.arange(n) < len(real)
    weights = np.where(is_real, n / (2 * len(real)), n / (2 * len(generated)))
    design = np.column_stack([odds, np.ones(n)])
    start = np.append(equal, 0.0)
    scales = np.append(np.maximum(odds.std(axis=0), 1e-3), 1.0)
    ridge = _RIDGE * scales**2

    def loss(theta: FloatArray) -> float:
        signed = np.where(is_real, 1.0, -1.0) * np.einsum("ij,j->i", design, theta)
        return float(np.sum(weights * np.logaddexp(0, -signed)) + np.sum(ridge * (theta - start) ** 2) / 2)

    theta, lowest = start, loss(start)
    for _ in range(_MOST_STEPS):
        probabilities = expit(np.einsum("ij,j->i", design, theta))
        gradient = np.einsum("ij,i->j", design, weights * (probabilities - is_real)) + ridge * (theta - start)
        curvature = np.einsum("ij,ik->jk", design * (weights * probabilities * (1 - probabilities))[:, None], design)
        with one_blas_thread():  # the same bits whatever the number of processors
            step = np.linalg.solve(curvature + np.diag(ridge), gradient)
        length = 1.0
        while (lower := loss(theta - length * step)) > lowest and length > _SMALL_STEP:
            length /= 2
        if lower >= lowest:
            break
        theta, lowest = theta - length * step, lower
        if np.abs(length * step * scales).max() < _SMALL_STEP:
            break
    return Blend(theta[:-1], float(theta[-1]))


def blended_out_of_fold(real: FloatArray, generated: FloatArray, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return the scores of real and generated sentences, each by a blend that was fitted to others.

    Probabilities of being real, shapes (n_real,) and (n_generated,).
    """
    folds = _assign_folds(len(real), len(generated), groups)
    scores = np.empty(len(real)), np.empty(len(generated))
    for fold in np.unique(np.concatenate(folds)).tolist():
        rows = folds[0] == fold, folds[1] == fold
        blend = fit_blend(real[~rows[0]], generated[~rows[1]])
        for side, row, odds in zip(scores, rows, (real, generated), strict=True):
            side[row] = blend.prob_real(odds[row])
    return scores


def _assign_folds(n_real: int, n_generated: int, groups: Groups) -> tuple[IntArray, IntArray]:
    """Return the fold of every text; without groups both sides are divided evenly."""
    rng = stream(0, "blend", "folds")
    if all(side is None for side in groups):
        parts = []
        for n in (n_real, n_generated):
            n_folds = min(_N_FOLDS, n)
            parts.append(np.zeros(n, dtype=np.int64) if n_folds < 2 else fold_numbers(n, n_folds, rng))
        return parts[0], parts[1]
    groups_of_all = joint_groups(*groups, n_real, n_generated)
    n_folds = min(_N_FOLDS, int(groups_of_all.max()) + 1)
    numbers = (
        np.zeros(len(groups_of_all), np.int64)
        if n_folds < 2
        else fold_numbers(len(groups_of_all), n_folds, rng, groups_of_all)
    )
    return numbers[:n_real], numbers[n_real:]
