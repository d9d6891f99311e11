"""NB-weighted logistic regression: n-grams weighted by how much more often one side has them.

Every n-gram of a sentence counts with the log of the ratio of its shares of real and of generated sentences, as naive
Bayes would weigh it; a logistic regression then says how far each of these weights is to be believed.

Source: Wang and Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", ACL 2012.
Departs from it: a logistic regression instead of a support vector machine, with sentence ends as tokens; shares of
sentences instead of shares of all n-grams, with a pseudo-count of the smaller side on both, so that an n-gram equally
rare on sides of unequal sizes weighs nothing; interpolation and strength are chosen on validation text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.discriminator.base import setting
from textassay.discriminator.logistic import NgramLogisticDiscriminator, Weights

FloatArray = npt.NDArray[np.float64]

_STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_INTERPOLATIONS = (0.25, 0.5, 1.0)  # the paper: 0.25 for its naive Bayes machine, 1 for no interpolation


@dataclass(eq=False, kw_only=True)
class NbLogisticDiscriminator(NgramLogisticDiscriminator):
    """Logistic regression over present n-grams times their log count ratios."""

    name = "nb-logistic"
    max_order: int = 3
    smoothing: float = setting(1.0, "what is added to the number of sentences with an n-gram", above=0)
    strengths: Sequence[float] = setting(_STRENGTHS, "inverse strengths of regularisation to try", above=0)
    interpolations: Sequence[float] = setting(
        _INTERPOLATIONS,
        "the shares of the coefficients to try; the rest is their mean size for all n-grams",
        above=0,
        most=1,
    )

    @property
    def features(self) -> str:
        """N-grams, smoothing, interpolations and strengths of regularisation."""
        return (
            f"1-{self.max_order}-grams with ends in >={self.min_sentences} sentences, log count ratios +"
            f"{self.smoothing:g}, C={','.join(f'{c:g}' for c in self.strengths)}, "
            f"interpolation {','.join(f'{share:g}' for share in self.interpolations)}"
        )

    def weightings(self, counts: Sequence[csr_matrix]) -> Iterator[tuple[dict[str, Any], Weights, Sequence[float]]]:
        """Yield the ratios."""
        yield {}, Weights(log_count_ratios(counts[0], counts[1], smoothing=self.smoothing)), self.strengths

    def variants(self, coefficients: FloatArray) -> Iterator[tuple[dict[str, Any], FloatArray]]:
        """Yield the coefficients with their interpolations."""
        for share in self.interpolations:
            kept = coefficients
            if share < 1 and len(coefficients):
                kept = share * coefficients + (1 - share) * float(np.abs(coefficients).mean())
            yield {"interpolation": share}, kept


def log_count_ratios(real: csr_matrix, generated: csr_matrix, *, smoothing: float = 1.0) -> FloatArray:
    """Return how much more often real sentences hold each n-gram, shape (n_features,), in nats.

    `real`, `generated`: counts, shapes (n_real, n_features) and (n_generated, n_features), at least one row each.

    ln of (share of real sentences + a) / (share of generated ones + a), a being `smoothing` over the smaller number of
    sentences: with equally many sentences, each count plus `smoothing`.
    """
    added = smoothing / min(real.shape[0], generated.shape[0])
    shares = [np.bincount(side.indices, minlength=side.shape[1]) / side.shape[0] + added for side in (real, generated)]
    return np.asarray(np.log(shares[0]) - np.log(shares[1]), dtype=np.float64)
