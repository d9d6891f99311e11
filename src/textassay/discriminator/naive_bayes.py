"""Multinomial naive Bayes over n-grams.

Both classes are equally likely before a sentence is read, and their counts are scaled to weigh the same, whatever the
sizes: else what the larger one has seen more often speaks for it. With n-grams that overlap, probabilities are far too
sure; the side it takes is what counts.

Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification", AAAI workshop 1998 (by
scikit-learn).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.naive_bayes import MultinomialNB

from textassay.discriminator.ngram_classifier import MAX_ORDER, NgramClassifier, Rows, Weighting
from textassay.errors import OptionError

FloatArray = npt.NDArray[np.float64]


class NaiveBayesDiscriminator(NgramClassifier):
    """Multinomial naive Bayes; deterministic."""

    name = "naive-bayes"

    def __init__(
        self, *, alpha: float = 1.0, max_order: int = MAX_ORDER, min_sentences: int = 1, weighting: Weighting = "counts"
    ) -> None:
        if not 0 < alpha < float("inf"):
            raise OptionError(f"alpha must be above 0, got {alpha}")
        self.alpha = alpha
        super().__init__(max_order=max_order, min_sentences=min_sentences, weighting=weighting)

    @property
    def settings(self) -> str:
        """What is added to counts."""
        return f"multinomial, alpha={self.alpha:g}, equal priors"

    def learn(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return what each n-gram adds to the log-odds of being real."""
        model = MultinomialNB(alpha=self.alpha, fit_prior=False)
        model.fit(train.features, train.is_real, sample_weight=train.weights)
        return model.feature_log_prob_[1] - model.feature_log_prob_[0], {}

    def judge(self, model: Any, features: csr_matrix) -> FloatArray:
        """Return the posterior."""
        return np.asarray(expit(features @ model), dtype=np.float64)
