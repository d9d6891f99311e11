"""Features, computed once: kept by the content of the encoder and of the corpus, in memory and in a folder.

Metrics ask here for features and need not know who asked before them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from textassay.corpus.corpus import Corpus
from textassay.embedding.base import Encoder, FittedEncoder, FloatArray
from textassay.embedding.given import GivenEncoder
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.errors import unknown_name

__all__ = ["FeatureStore", "feature_store", "features", "fit_encoder", "resolve_encoder"]


class FeatureStore:
    """Fitted encoders and features by content."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._fitted: dict[tuple[str, str, str], FittedEncoder] = {}
        self._features: dict[tuple[str, str, str], FloatArray] = {}

    def fit(self, encoder: Encoder, real: Corpus) -> FittedEncoder:
        """Return `encoder` fitted to `real`."""
        key = (encoder.name, real.fingerprint, real.columns_fingerprint if encoder.reads_columns else "")
        if key not in self._fitted:
            self._fitted[key] = encoder.fit(real)
        return self._fitted[key]

    def features(self, encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
        """Return the vectors of `corpus`, shape (N, d), read-only."""
        key = (encoder.key, corpus.fingerprint, corpus.columns_fingerprint)
        if key not in self._features:
            self._features[key] = encoder.encode(corpus)
        return self._features[key]


_STORE: ContextVar[FeatureStore | None] = ContextVar("feature_store", default=None)


@contextmanager
def feature_store(folder: Path | None = None) -> Iterator[None]:
    """Keep fitted encoders and features inside the ``with`` block, features in `folder` too where there is one."""
    token = _STORE.set(FeatureStore(folder))
    try:
        yield
    finally:
        _STORE.reset(token)


def resolve_encoder(encoder: str | Encoder) -> Encoder:
    """Return the encoder of a name; an `Encoder` comes back as it is."""
    if isinstance(encoder, str):
        if encoder == "given":
            return GivenEncoder()
        if encoder == "lsa":
            return LatentSemanticEncoder()
        raise unknown_name("encoder", encoder, ["given", "lsa"])
    return encoder


def fit_encoder(encoder: str | Encoder, real: Corpus) -> FittedEncoder:
    """Return `encoder` fitted to real text, from the store of `feature_store` where there is one."""
    return (_STORE.get() or FeatureStore()).fit(resolve_encoder(encoder), real)


def features(encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
    """Return the vectors of `corpus`, shape (N, d), from the store of `feature_store` where there is one."""
    return (_STORE.get() or FeatureStore()).features(encoder, corpus)
