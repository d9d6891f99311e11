"""Logistic regression over sentence vectors: features that were given, or those of an encoder.

Features that came with the text (`Corpus.columns`) are used where all four parts of it have them. Else an encoder is
fitted to the training text, real and generated sentences pooled: it knows neither sides nor what is
tested. (The default encoder of metrics is fitted to all real text there is, which includes what is tested.)

Source: Lopez-Paz and Oquab, "Revisiting Classifier Two-Sample Tests", ICLR 2017 (a linear classifier on the features of
an encoder tells two samples apart).
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.discriminator.base import BaseDiscriminator, Pair, balanced_cross_entropy, is_real_of, setting
from textassay.discriminator.dense_logistic import DenseLogistic, dense_logistic_path
from textassay.embedding import (
    FEATURES,
    Encoder,
    FittedEncoder,
    LatentSemanticEncoder,
    PrecomputedEncoder,
    resolve_encoder,
)
from textassay.execution import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_LATENT_SEMANTIC = LatentSemanticEncoder(dimensions=256)


@dataclass(eq=False, kw_only=True)
class EmbeddingLogisticDiscriminator(BaseDiscriminator):
    """Logistic regression over the vectors of sentences, each of their numbers scaled to a spread of 1; deterministic.

    Sentences are encoded anew for every fit: a large model's vectors are better given as features.
    """

    name = "embedding-logistic"
    encoder: str | Path | Encoder = field(
        default="auto",
        kw_only=False,
        metadata={
            "meaning": "``auto`` (the features of the text where there are any, else latent semantic analysis), the "
            "name or the folder of a sentence-transformers model, or an `Encoder`, which is fitted to training text of "
            "both sides"
        },
    )
    strengths: Sequence[float] = setting(
        (1e-5, 1e-4, 1e-3, 1e-2, 0.1), "inverse strengths of regularisation to try", above=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._encoder = _LATENT_SEMANTIC if self.encoder in ("auto", "lsa") else resolve_encoder(self.encoder)

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

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Linear, Mapping[str, Any]]":
        """Return the regression with the lowest cross-entropy on validation text."""
        uses_features = self.encoder == "auto" and all(FEATURES in corpus.columns for corpus in (*train, *valid))
        with one_blas_thread():
            encoder = (PrecomputedEncoder() if uses_features else self._encoder).fit(Corpus.concatenate(train))
            vectors = np.concatenate([encoder.encode(corpus) for corpus in train]).astype(np.float64)
        valid_vectors = [encoder.encode(corpus) for corpus in valid]
        lowest = np.inf
        path = dense_logistic_path(vectors, is_real_of(train), self.strengths)
        for c, top in zip(self.strengths, path, strict=True):
            loss = balanced_cross_entropy(*(top.prob_real(side) for side in valid_vectors))
            if loss < lowest:
                lowest, model = loss, _Linear(encoder, top)
                chosen = {"c": c, "encoder": encoder.settings["encoder"], "n_features": vectors.shape[1]}
        return model, chosen


@dataclass(frozen=True)
class _Linear:
    encoder: FittedEncoder
    top: DenseLogistic

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.top.prob_real(self.encoder.encode(corpus))
