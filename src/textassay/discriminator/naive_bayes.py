"""Multinomial naive Bayes over n-grams.

Both classes are equally likely before a sentence is read, and their counts are scaled to weigh the same, whatever the
sizes: else the n-grams of the larger one would speak for it. With n-grams that overlap, probabilities are far too
sure; the side it takes is what counts.

Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification", AAAI workshop 1998 (by
scikit-learn).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.naive_bayes import MultinomialNB

from textassay.discriminator.base import setting
from textassay.discriminator.ngram_classifier import NgramClassifier, Rows


@dataclass(eq=False, kw_only=True)
class NaiveBayesDiscriminator(NgramClassifier):
    """Multinomial naive Bayes; deterministic."""

    name = "naive-bayes"
    min_sentences: int = 1
    alpha: float = setting(1.0, "what is added to every count", above=0)

    @property
    def settings(self) -> str:
        """What is added to counts."""
        return f"multinomial, alpha={self.alpha:g}, equal priors"

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return what each n-gram adds to the log-odds of being real."""
        model = MultinomialNB(alpha=self.alpha, fit_prior=False)
        model.fit(train.features, train.is_real, sample_weight=train.weights)
        return model.feature_log_prob_[1] - model.feature_log_prob_[0], {}

    def score_rows(self, learnt: Any, features: csr_matrix) -> npt.NDArray[np.float64]:
        """Return the posterior."""
        return np.asarray(expit(features @ learnt), dtype=np.float64)
