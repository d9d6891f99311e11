"""Precomputed vectors: one row per text in the corpus column ``features``."""

from collections.abc import Mapping

from textassay.corpus.corpus import Corpus
from textassay.embedding.base import FloatArray
from textassay.errors import UnavailableError

FEATURES = "features"


class PrecomputedEncoder:
    """The encoder called ``given``, which returns the column ``features``."""

    name = "given"
    reads_columns = True
    costly = False
    key = "given"
    settings: Mapping[str, str] = {"encoder": "given"}

    def fit(self, real: Corpus) -> "PrecomputedEncoder":
        """Return itself."""
        return self

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return the column, shape (N, d)."""
        if FEATURES not in corpus.columns:
            raise UnavailableError("these texts have no features: give --features NAME=FILE.npy for all of them")
        return corpus.columns[FEATURES]
