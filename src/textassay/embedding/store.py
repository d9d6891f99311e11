"""Cache of fitted encoders and features, keyed by the content of encoder and corpus.

Own code since `joblib.Memory` has no memory but the disk, and lets two threads compute the same value.
In memory the least recently used features are dropped; a folder keeps the features of neural models, which take longer
to compute than to read.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.corpus.array_files import read_only
from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import (
    VECTORS,
    CrossFittedEncoder,
    Encoder,
    FittedEncoder,
    FloatArray,
    PrecomputedEncoder,
)
from textassay.embedding.endpoint import FittedEndpointEncoder, endpoint_encoder
from textassay.embedding.model_files import MINILM
from textassay.endpoints import URL_VARIABLE, names_endpoint
from textassay.errors import OptionError, OutputError
from textassay.execution.tasks import carried, sent_once
from textassay.storage import atomic_write, remove_stale_drafts

DEFAULT_ENCODER = "lsa+lm"
_NAMES = ("given", "lsa", DEFAULT_ENCODER, MINILM)

Value = TypeVar("Value")

_FITTED = 4  # fitted encoders in memory: for real text, its first half, and two more
_BYTES = 2 << 30  # of features in memory inside a block of `feature_store`
_BYTES_OUTSIDE = 256 << 20  # and outside, for single metric calls


@sent_once
class FeatureStore:
    """Thread-safe cache of fitted encoders and features; in another process it is empty at first."""

    def __init__(self, folder: Path | None = None, *, n_bytes: int = _BYTES) -> None:
        self._folder = folder
        self._fitted: _Recent[FittedEncoder] = _Recent(_FITTED, lambda _: 1)
        self._features: _Recent[npt.NDArray[Any]] = _Recent(n_bytes, lambda vectors: vectors.nbytes)

    def __reduce__(self) -> tuple[type["FeatureStore"], tuple[Path | None]]:
        return FeatureStore, (None if self._folder is None else self._folder.absolute(),)

    def fit(self, encoder: Encoder, real: Corpus) -> FittedEncoder:
        if encoder.reads_columns:
            return encoder.fit(real)
        # an encoder may use token ids, so it serves one vocabulary only, which it keeps alive
        key = (encoder.name, real.fingerprint, id(real.vocabulary))
        return self._fitted.get(key, lambda: encoder.fit(real))

    def features(self, encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
        if encoder.reads_columns:
            return encoder.encode(corpus)
        return self._features.get((encoder.key, corpus.fingerprint), lambda: self._read_or_encode(encoder, corpus))

    def keep(self, key: Hashable, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the read-only array cached under `key`, by default the result of `make`; in memory only."""
        return self._features.get(key, lambda: read_only(make()))

    def _read_or_encode(self, encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
        if isinstance(encoder, FittedEndpointEncoder):
            return read_only(encoder.encode_in(corpus, self._folder))
        if self._folder is None or not encoder.costly:
            return read_only(encoder.encode(corpus))
        name = blake2b(f"{encoder.key} {corpus.fingerprint}".encode(), digest_size=16).hexdigest()
        path = self._folder / f"{name}.npy"
        vectors = _read(path, len(corpus))
        if vectors is None:
            vectors = encoder.encode(corpus)
            _write(path, vectors)
        return read_only(vectors)


class _Recent(Generic[Value]):
    """A least-recently-used cache whose sizes add up to at most `capacity`."""

    def __init__(self, capacity: int, size: Callable[[Value], int]) -> None:
        self._capacity = capacity
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, by default from `make`; threads wait if another thread computes it."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        try:
            with making:
                with self._lock:
                    if key in self._values:
                        self._values.move_to_end(key)
                        return self._values[key]
                value = make()
                with self._lock:
                    if self._size(value) <= self._capacity:
                        self._values[key] = value
                    while sum(map(self._size, self._values.values())) > self._capacity:
                        self._values.popitem(last=False)
            return value
        finally:
            with self._lock:
                self._making.pop(key, None)


def _read(path: Path, n: int) -> FloatArray | None:
    """Return the vectors in the file, or None if it is absent, damaged or has another number of rows."""
    try:
        vectors = np.load(path, allow_pickle=False)
    except Exception:  # a damaged file raises anything
        return None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or len(vectors) != n or vectors.dtype.kind != "f":
        return None
    return vectors


def _write(path: Path, vectors: FloatArray) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_drafts(path.parent)
        with atomic_write(path) as file:
            np.save(file, vectors, allow_pickle=False)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror or error}; choose another --out") from error


_OUTSIDE = FeatureStore(n_bytes=_BYTES_OUTSIDE)
_STORE: ContextVar[FeatureStore] = carried(ContextVar("feature_store", default=_OUTSIDE))


@contextmanager
def feature_store(folder: Path | None = None) -> Iterator[None]:
    """Cache fitted encoders and features inside the ``with`` block, costly features also in `folder`."""
    token = _STORE.set(FeatureStore(folder))
    try:
        yield
    finally:
        _STORE.reset(token)


def resolve_encoder(encoder: str | Path | Encoder) -> Encoder:
    """Return an encoder by name: of `_NAMES`, ``openai:MODEL@URL``, or that of a sentence-transformers model."""
    if isinstance(encoder, str | Path):
        if encoder in ("given", "lsa", DEFAULT_ENCODER):
            return _named(str(encoder))
        if names_endpoint(encoder):
            return endpoint_encoder(str(encoder), os.environ.get(URL_VARIABLE))
        from textassay.embedding.sentence_transformer import sentence_transformer

        return sentence_transformer(str(encoder))
    if isinstance(encoder, Encoder):
        return encoder
    names = ", ".join(_NAMES)
    raise OptionError(
        f"encoder must be {names}, a model's name or folder, openai:MODEL@URL, or an Encoder, got {encoder!r}"
    )


@cache
def _named(name: str) -> Encoder:
    if name == "given":
        return PrecomputedEncoder()
    from textassay.embedding.encoder import JoinedEncoder
    from textassay.embedding.latent_semantic import LatentSemanticEncoder
    from textassay.embedding.surprisal import SurprisalEncoder

    latent_semantic = LatentSemanticEncoder()
    if name == "lsa":
        return CrossFittedEncoder(latent_semantic, name=name)
    return CrossFittedEncoder(JoinedEncoder(latent_semantic, SurprisalEncoder()), name=name)


def is_pretrained(encoder: str | Path | Encoder | None) -> bool:
    """Return whether it is a model by name, which learns nothing from the real text and is not given."""
    return isinstance(encoder, str | Path) and str(encoder) not in ("given", "lsa", DEFAULT_ENCODER)


def with_vectors(corpus: Corpus, encoder: str | Path | Encoder, real: Corpus) -> Corpus:
    """Return `corpus` with its vectors as the column `VECTORS`."""
    return replace(corpus, columns={**corpus.columns, VECTORS: features(fit_encoder(encoder, real), corpus)})


def fit_encoder(encoder: str | Path | Encoder, real: Corpus) -> FittedEncoder:
    """Return `encoder` fitted to real text, from the current store (see `feature_store`)."""
    return _STORE.get().fit(resolve_encoder(encoder), real)


def features(encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
    """Return the vectors of `corpus`, shape (N, d), read-only, from the current store."""
    return _STORE.get().features(encoder, corpus)


def keep(key: Hashable, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the read-only array under `key` in the current store, by default the result of `make`."""
    return _STORE.get().keep(key, make)
