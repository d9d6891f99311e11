"""A linear support vector machine over n-grams.

Its own decision, on which side of the plane a sentence lies, is kept: probabilities come from the decision by a sigmoid
through 1/2 at 0, whose slope alone is fitted on validation text and changes no answer.

Sources: Cortes and Vapnik, "Support-vector networks", Machine Learning 20, 1995; Fan et al., "LIBLINEAR: A library for
large linear classification", JMLR 9, 2008 (by scikit-learn); Platt, "Probabilistic outputs for support vector
machines", 1999 (sigmoid and targets).
Departs from them: the squared hinge, solved in the primal, where nothing is drawn at random (the dual solver's random
stream is one for all threads); the sigmoid has no intercept.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.svm import LinearSVC

from textassay.discriminator.base import setting
from textassay.discriminator.ngram_classifier import NgramClassifier, Rows, Weighting
from textassay.execution.threads import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_MAX_ITERATIONS = 10_000
_STEEPEST = 1e3  # slope of the sigmoid, in spreads of the decisions


@dataclass(eq=False, kw_only=True)
class SvmDiscriminator(NgramClassifier):
    """Linear support vector machine; deterministic."""

    name = "svm"
    weighting: Weighting = "tf-idf"
    c: float = setting(1.0, "inverse strength of regularisation", above=0)

    @property
    def settings(self) -> str:
        """Loss and strength of regularisation."""
        return f"squared hinge, C={self.c:g}"

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return the plane with the slope of the sigmoid."""
        with one_blas_thread():
            svm = LinearSVC(C=self.c, dual=False, max_iter=_MAX_ITERATIONS)
            svm.fit(train.features, train.is_real, sample_weight=train.weights)
            decisions = svm.decision_function(valid.features)
        slope = _slope(decisions, valid)
        return (svm.coef_[0], float(svm.intercept_[0]), slope), {"slope": slope}

    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        """Return the sigmoid of the decisions."""
        plane, intercept, slope = learnt
        return np.asarray(expit(slope * (features @ plane + intercept)), dtype=np.float64)


def _slope(decisions: FloatArray, valid: Rows) -> float:
    """Return the slope, above 0, with the least cross-entropy on validation text against Platt's targets."""
    counts = np.bincount(valid.is_real, minlength=2)
    targets = np.where(valid.is_real == 1, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
    spread = float(np.sqrt(np.mean(decisions**2)))
    if spread == 0:
        return 1.0

    def loss(log_slope: float) -> float:
        odds = np.exp(log_slope) * decisions
        return float(np.average(np.logaddexp(0, odds) - targets * odds, weights=valid.weights))

    limit = math.log(_STEEPEST)
    middle = -math.log(spread)
    return math.exp(minimize_scalar(loss, bounds=(middle - limit, middle + limit), method="bounded").x)
