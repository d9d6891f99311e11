"""The vectors of several encoders side by side."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.embedding.base import Encoder, FittedEncoder, FloatArray


class JoinedEncoder:
    """Several encoders as one."""

    reads_columns = False

    def __init__(self, *encoders: Encoder) -> None:
        self.name = "+".join(encoder.name for encoder in encoders)
        self._encoders = encoders

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return all encoders fitted to real text."""
        return _FittedJoined([encoder.fit(real) for encoder in self._encoders])


class _FittedJoined:
    reads_columns = False

    def __init__(self, encoders: Sequence[FittedEncoder]) -> None:
        self.costly = any(encoder.costly for encoder in encoders)
        keys = " ".join(encoder.key for encoder in encoders)
        self.key = hashlib.blake2b(keys.encode(), digest_size=16).hexdigest()
        names = [encoder.settings["encoder"].split(":")[0] for encoder in encoders]
        settings = {name: value for encoder in encoders for name, value in encoder.settings.items()}
        self.settings: Mapping[str, str] = {**settings, "encoder": f"{'+'.join(names)}:{self.key[:8]}"}
        self._encoders = encoders

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector per text, shape (N, d): the numbers of all encoders."""
        return np.hstack([encoder.encode(corpus) for encoder in self._encoders])
