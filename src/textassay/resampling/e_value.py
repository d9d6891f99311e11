"""E-values: evidence against equal distributions that may be read at any time, while texts arrive.

A gambler who bets on which text of a small set is the real one cannot expect to gain if real and generated texts have
the same distribution, because all orders are then equally likely. The e-value is the factor by which the stake has
grown: with probability at least 1 - 1/c it never reaches c, whenever one stops. So an e-value of 20 corresponds to a
p-value of 0.05, and 1 / (the largest e so far) is a p-value at any time.

A set holds one text of the smaller side and one or more of the larger, so that every text is used. With L the
classifier's odds that a text is real, the payoff for a real text among k generated ones is ``(k + 1) L^s / sum of L^s``
(1/L for a generated text among real ones), whose mean over all orders is 1; the share b of the stake is bet on it. This
is the likelihood ratio if L is exact and s and b are 1. Because classifiers may be overconfident, a grid of s and b
starts with equal stakes, and their mean is the e-value.

Sources: Pandeva, Bakker, Naesseth, Forre, "E-Valuating Classifier Two-Sample Tests", TMLR 2024, arXiv 2210.13027
(betting batch by batch on a classifier's held-out predictions); Ramdas, Grunwald, Vovk, Shafer, "Game-Theoretic
Statistics and Safe Anytime-Valid Inference", Statistical Science 38, 2023 (mixtures, optional stopping).
Departs from them: payoffs compare real with generated texts instead of using the classifier's probabilities directly,
so that they stay fair for a classifier biased to one side, and sides may be unequal.

E-values of cross-fitting folds must not be multiplied, because the classifier of one fold was trained on the texts of
another; their mean is an e-value again, but that of several short tests.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from textassay.errors import EmptyCorpusError, InputError

FloatArray = npt.NDArray[np.float64]

_SCALES = (0.125, 0.5, 1.0, 2.0, 4.0)  # s: exponents of the odds
_SHARES = (0.5, 0.99)  # b: shares of the stake
_LARGEST = math.log(1e300)  # e is cut here, which is conservative
_SMALLEST = 1e-12  # probabilities are kept this far from 0 and 1
_PAIRINGS = 16


class EProcess:
    """Evidence against equal distributions, one batch after another.

    Texts must be independent draws, and the classifier must not have seen those of a batch when it scores them; it may
    learn from them afterwards. The size of a batch must be fixed before its scores are known.

    Examples
    --------
    >>> process = EProcess()
    >>> round(process.update([0.9, 0.8, 0.7], [0.2, 0.4]), 2)
    3.01
    """

    def __init__(self) -> None:
        self._log_stakes = np.zeros((len(_SCALES), len(_SHARES)))
        self._largest = 0.0
        self.n_real = 0
        self.n_generated = 0

    def update(self, real_scores: npt.ArrayLike, generated_scores: npt.ArrayLike) -> float:
        """Return the e-value after one more batch.

        Parameters
        ----------
        real_scores, generated_scores
            Probabilities of being real in the order of arrival, shapes (n_real,) and (n_generated,), at least one
            each. Each text of the smaller side is matched with the next ones of the larger, as evenly as possible.

        Returns
        -------
        float
            In [0, 1e300], 1 before the first batch; see `e`.

        Raises
        ------
        EmptyCorpusError
            If a side has no score: use a larger batch. Texts of different batches are never compared, because the
            classifier may have changed.
        InputError
            If a score is not a probability.
        """
        real, generated = _log_odds("real", real_scores), _log_odds("generated", generated_scores)
        self._log_stakes += _log_growth(real, generated)
        self._largest = max(self._largest, self.log_e)
        self.n_real += len(real)
        self.n_generated += len(generated)
        return self.e

    @property
    def log_e(self) -> float:
        """Natural logarithm of the e-value; it has no upper limit."""
        return float(logsumexp(self._log_stakes) - math.log(self._log_stakes.size))

    @property
    def e(self) -> float:
        """The e-value now: how many times the stake has grown; at most 1e300.

        If both distributions are equal, the probability that it ever reaches c is at most 1/c.
        """
        return math.exp(min(self.log_e, _LARGEST))

    @property
    def p_value(self) -> float:
        """One over the largest e-value so far, in (0, 1]: a p-value that may be read at any time."""
        return math.exp(-min(self._largest, _LARGEST))


def e_value(
    real_scores: npt.ArrayLike,
    generated_scores: npt.ArrayLike,
    *,
    rng: np.random.Generator,
) -> float:
    """Return the e-value of a finished test, in [0, 1e300]: the mean over random pairings.

    `real_scores`, `generated_scores`: probabilities of being real of independent texts that the classifier did not
    see, shapes (n_real,) and (n_generated,), at least one each.

    If both distributions are equal, it reaches c with probability at most 1/c. Unlike `EProcess` it may be read only
    once: the sizes must not depend on it.
    """
    real, generated = _log_odds("real", real_scores), _log_odds("generated", generated_scores)
    grown = [_log_growth(rng.permutation(real), rng.permutation(generated)) for _ in range(_PAIRINGS)]
    log_e = float(logsumexp(grown) - math.log(np.size(grown)))
    return math.exp(min(log_e, _LARGEST))


def _log_odds(side: str, scores: npt.ArrayLike) -> FloatArray:
    probabilities = np.asarray(scores, dtype=np.float64)
    if probabilities.ndim != 1 or probabilities.size == 0:
        raise EmptyCorpusError(f"an e-value needs a list of at least one {side} score, got shape {probabilities.shape}")
    if not (np.all(probabilities >= 0) and np.all(probabilities <= 1)):
        raise InputError(f"{side} scores must be between 0 and 1, got {probabilities.min()} to {probabilities.max()}")
    clipped = np.clip(probabilities, _SMALLEST, 1 - _SMALLEST)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), dtype=np.float64)


def _log_growth(real: FloatArray, generated: FloatArray) -> FloatArray:
    """Return the logarithm of the growth of each stake of the grid, shape (n_scales, n_shares)."""
    one, several = (real, generated) if len(real) <= len(generated) else (-generated, -real)
    starts = np.arange(len(one)) * len(several) // len(one)
    sizes = np.diff(np.append(starts, len(several)))
    members = np.repeat(np.arange(len(one)), sizes)
    others = np.exp(np.multiply.outer(_SCALES, several - one[members]))  # (n_scales, n_several)
    gains = (sizes + 1) / (1 + np.add.reduceat(others, starts, axis=1)) - 1
    return np.asarray(np.log1p(np.multiply.outer(gains, _SHARES)).sum(axis=1), dtype=np.float64)
