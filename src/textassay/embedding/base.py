"""Protocols of encoders, from texts to vectors. They are fitted to real text only, to treat all generators equally."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus

FloatArray = npt.NDArray[np.floating[Any]]


class FittedEncoder(Protocol):
    """A fitted encoder, from texts to vectors."""

    @property
    def key(self) -> str:
        """Content hash; equal keys mean equal vectors."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings for signatures: ``encoder`` (name and short hash), and all others that change the vectors."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns`, so that they need not be stored."""
        ...

    @property
    def costly(self) -> bool:
        """Whether encoding takes longer than reading vectors from disk, so that they should be stored."""
        ...

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector per text, shape (N, d), float32 or float64, finite."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """An encoder that can be fitted to real text."""

    @property
    def name(self) -> str:
        """A unique name: ``lsa``, or a model with a hash of its content."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns` instead of the text."""
        ...

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return the encoder fitted to at least one real text; deterministic."""
        ...
