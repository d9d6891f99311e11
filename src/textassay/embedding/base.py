"""What an encoder is: sentences in, vectors out; what it learns, it learns from real text alone.

An encoder that was fitted on generated text, too, would see that text through its own eyes.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus

FloatArray = npt.NDArray[np.floating[Any]]


class FittedEncoder(Protocol):
    """Turns sentences into vectors; nothing is learnt any more."""

    @property
    def key(self) -> str:
        """Content hash: encoders with equal keys give equal vectors."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """What stands in signatures: ``encoder`` (name and short hash), and what else can change the vectors."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns`; they are then not kept, since the corpus has them."""
        ...

    @property
    def costly(self) -> bool:
        """Whether it takes longer to encode than to read vectors from disk, so that a folder should keep them."""
        ...

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector a sentence, shape (N, d), float32 or float64, finite."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Makes a `FittedEncoder` from real text."""

    @property
    def name(self) -> str:
        """What tells it from every other: ``lsa``, or a model with a hash of its content."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns` instead of the text."""
        ...

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return the encoder fitted to real text, at least one sentence; deterministic."""
        ...
