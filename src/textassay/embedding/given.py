"""Vectors that were made elsewhere: one row a sentence in the corpus's column ``features``."""

from collections.abc import Mapping

from textassay.corpus import Corpus
from textassay.embedding.base import FloatArray
from textassay.errors import UnavailableError

FEATURES = "features"


class GivenEncoder:
    """Hands out the column ``features``; there is nothing to fit."""

    name = "given"
    reads_columns = True
    costly = False
    key = "given"
    settings: Mapping[str, str] = {"encoder": "given"}

    def fit(self, real: Corpus) -> "GivenEncoder":
        """Return itself."""
        return self

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return the column, shape (N, d)."""
        if FEATURES not in corpus.columns:
            raise UnavailableError(
                "there are no features of these sentences: give --features NAME=FILE.npy for all texts"
            )
        return corpus.columns[FEATURES]
