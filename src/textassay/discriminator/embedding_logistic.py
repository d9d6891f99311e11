"""Logistic regression over sentence vectors: features that were given, or those of an encoder.

Features that came with the text (`Corpus.columns`) are used where all four parts of it have them. Else an encoder is
fitted to the training text, real and generated sentences pooled: it knows neither sides nor what is
judged. (The default encoder of metrics is fitted to all real text there is, which includes what is judged.)

Source: Lopez-Paz and Oquab, "Revisiting Classifier Two-Sample Tests", ICLR 2017 (a linear classifier on the features of
an encoder tells two samples apart).
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_cross_entropy
from textassay.discriminator.newton import fit_logistic
from textassay.embedding import (
    FEATURES,
    Encoder,
    FittedEncoder,
    LatentSemanticEncoder,
    PrecomputedEncoder,
    resolve_encoder,
)
from textassay.errors import OptionError
from textassay.execution import one_blas_thread

FloatArray = npt.NDArray[np.float64]

STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # inverse strengths of regularisation

_TOLERANCE = 0.01
_DIMENSIONS = 256


class EmbeddingLogisticDiscriminator:
    """Logistic regression over the vectors of sentences, each of their numbers scaled to a spread of 1.

    `encoder`: ``auto`` (the features of the text where there are any, else latent semantic analysis), the name or the
    folder of a sentence-transformers model, or an `Encoder`, which is fitted to training text of both sides. Sentences
    are encoded anew for every fit: a large model's vectors are better given as features.
    """

    name = "embedding-logistic"

    def __init__(self, encoder: str | Path | Encoder = "auto", *, strengths: Sequence[float] = STRENGTHS) -> None:
        if not strengths or min(strengths) <= 0:
            raise OptionError(f"strengths must be numbers above 0, got {list(strengths)}")
        self.encoder = encoder
        self.strengths = tuple(sorted(strengths))
        self.chosen: Mapping[str, Any] = {}
        self._encoder = _LATENT_SEMANTIC if encoder in ("auto", "lsa") else resolve_encoder(encoder)
        self._fitted: _Linear | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)  # `fit` changes nothing in it, and a loaded model cannot be copied

    @property
    def reads_columns(self) -> bool:
        """Whether given features may be looked at."""
        return self.encoder == "auto" or self._encoder.reads_columns

    @property
    def features(self) -> str:
        """The encoder and the strengths of regularisation."""
        prefix = "given features or " if self.encoder == "auto" else ""
        return f"{prefix}{self._encoder.name}, C={','.join(f'{c:g}' for c in self.strengths)}"

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(self.encoder, strengths=self.strengths)
        uses_features = self.encoder == "auto" and all(FEATURES in corpus.columns for corpus in (*train, *valid))
        with one_blas_thread():
            encoder = (PrecomputedEncoder() if uses_features else self._encoder).fit(Corpus.concatenate(train))
            vectors = np.concatenate([encoder.encode(corpus) for corpus in train]).astype(np.float64)
            weights = np.repeat([0.5 / len(corpus) for corpus in train], [len(corpus) for corpus in train])
            centre = weights @ vectors
            spread = np.sqrt(weights @ (vectors - centre) ** 2)
        spread[spread < _SMALLEST * np.maximum(1.0, np.abs(centre))] = np.inf  # says nothing
        rows = _as_csr((vectors - centre) / spread)
        is_real = np.repeat([True, False], [len(corpus) for corpus in train])
        lowest, theta = np.inf, None
        judged = [((encoder.encode(corpus) - centre) / spread) for corpus in valid]
        for c in self.strengths:
            theta = fit_logistic(rows, is_real, c=c, tolerance=_TOLERANCE, start=theta)
            linear = _Linear(encoder, centre, spread, theta[:-1], float(theta[-1]))
            real, generated = (linear.judge(part) for part in judged)
            loss = balanced_cross_entropy(real, generated)
            if loss < lowest:
                lowest = loss
                fitted._fitted = linear
                fitted.chosen = {"c": c, "encoder": encoder.settings["encoder"], "n_features": len(centre)}
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._fitted is None:
            raise OptionError("an embedding-logistic discriminator must be fitted before it scores texts")
        return self._fitted.prob_real(corpus)


_LATENT_SEMANTIC = LatentSemanticEncoder(dimensions=_DIMENSIONS)
_SMALLEST = 1e-7  # a spread below this share of the mean is rounding of float32


@dataclass(frozen=True)
class _Linear:
    encoder: FittedEncoder
    centre: FloatArray
    spread: FloatArray
    coefficients: FloatArray
    intercept: float

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.judge((self.encoder.encode(corpus) - self.centre) / self.spread)

    def judge(self, rows: FloatArray) -> FloatArray:
        log_odds = np.einsum("ij,j->i", rows, self.coefficients) + self.intercept
        return np.asarray(expit(log_odds), dtype=np.float64)


def _as_csr(rows: FloatArray) -> csr_matrix:
    """Return all numbers of `rows`, zeros too, as a sparse matrix."""
    n, d = rows.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    return csr_matrix((rows.ravel(), indices, np.arange(n + 1) * d), shape=rows.shape)
