"""Features, computed once: kept by the content of the encoder and of the corpus, in memory and in a folder.

Metrics ask here for features and need not know who asked before them. In memory the least recently used features give
way; a folder keeps those that cost more to compute than to read, which are those of neural models.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, remove_abandoned, written_whole
from textassay.embedding.base import Encoder, FittedEncoder, FloatArray
from textassay.embedding.cross_fitted import CrossFittedEncoder
from textassay.embedding.given import GivenEncoder
from textassay.errors import OptionError, OutputError

_NAMES = ("given", "lsa")

Value = TypeVar("Value")

_FITTED = 4  # encoders kept: real text, its first half, and two more
_BYTES = 2 << 30  # features kept in memory inside a block of `feature_store`
_BYTES_OUTSIDE = 256 << 20  # and outside, for metrics that are called one by one


class FeatureStore:
    """Fitted encoders and features by content; threads may share it."""

    def __init__(self, folder: Path | None = None, *, n_bytes: int = _BYTES) -> None:
        self._folder = folder
        self._fitted: _Recent[FittedEncoder] = _Recent(_FITTED, lambda _: 1)
        self._features: _Recent[npt.NDArray[Any]] = _Recent(n_bytes, lambda vectors: vectors.nbytes)

    def fit(self, encoder: Encoder, real: Corpus) -> FittedEncoder:
        """Return `encoder` fitted to `real`."""
        if encoder.reads_columns:
            return encoder.fit(real)
        # an encoder may know tokens by their ids: it serves the corpora of one vocabulary, which it keeps alive
        key = (encoder.name, real.fingerprint, id(real.vocabulary))
        return self._fitted.get(key, lambda: encoder.fit(real))

    def features(self, encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
        """Return the vectors of `corpus`, shape (N, d), read-only."""
        if encoder.reads_columns:
            return encoder.encode(corpus)
        return self._features.get((encoder.key, corpus.fingerprint), lambda: self._read_or_encode(encoder, corpus))

    def keep(self, key: Hashable, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the array that was made for `key`, or else what `make` gives, read-only; in memory only."""
        return self._features.get(key, lambda: _read_only(make()))

    def _read_or_encode(self, encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
        if self._folder is None or not encoder.costly:
            return _read_only(encoder.encode(corpus))
        name = blake2b(f"{encoder.key} {corpus.fingerprint}".encode(), digest_size=16).hexdigest()
        path = self._folder / f"{name}.npy"
        vectors = _read(path, len(corpus))
        if vectors is None:
            vectors = encoder.encode(corpus)
            _write(path, vectors)
        return _read_only(vectors)


class _Recent(Generic[Value]):
    """A dict that forgets what was longest unused, so that sizes add up to no more than `capacity`."""

    def __init__(self, capacity: int, size: Callable[[Value], int]) -> None:
        self._capacity = capacity
        self._size = size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, from `make` where there is none; threads wait for one that makes it already."""
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


def _read_only(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = vectors.view()
    view.flags.writeable = False
    return view


def _read(path: Path, n: int) -> FloatArray | None:
    """Return what the file holds, or None where it is absent, damaged or for another number of sentences."""
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or len(vectors) != n or vectors.dtype.kind != "f":
        return None
    return vectors


def _write(path: Path, vectors: FloatArray) -> None:
    """Write under a temporary name and rename: a killed run leaves nothing half-written under the right one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent)
        with written_whole(path) as file:
            np.save(file, vectors, allow_pickle=False)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror or error}; choose another --out") from error


_OUTSIDE = FeatureStore(n_bytes=_BYTES_OUTSIDE)
_STORE: ContextVar[FeatureStore] = ContextVar("feature_store", default=_OUTSIDE)


@contextmanager
def feature_store(folder: Path | None = None) -> Iterator[None]:
    """Keep fitted encoders and features inside the ``with`` block, features in `folder` too where there is one."""
    token = _STORE.set(FeatureStore(folder))
    try:
        yield
    finally:
        _STORE.reset(token)


def resolve_encoder(encoder: str | Path | Encoder) -> Encoder:
    """Return the encoder of a name; an `Encoder` comes back as it is.

    `encoder`: ``lsa``, ``given`` (see `GivenEncoder`), or the name or the folder of a sentence-transformers model.
    """
    if isinstance(encoder, str | Path):
        if str(encoder) in _NAMES:
            return _named(str(encoder))
        from textassay.embedding.sentence_transformer import sentence_transformer

        return sentence_transformer(str(encoder))
    if isinstance(encoder, Encoder):
        return encoder
    names = ", ".join(_NAMES)
    raise OptionError(f"encoder must be {names}, a model's name or folder, or an Encoder, got {encoder!r}")


@cache
def _named(name: str) -> Encoder:
    if name == "given":
        return GivenEncoder()
    from textassay.embedding.latent_semantic import LatentSemanticEncoder

    return CrossFittedEncoder(LatentSemanticEncoder(), name="lsa")


def fit_encoder(encoder: str | Path | Encoder, real: Corpus) -> FittedEncoder:
    """Return `encoder` fitted to real text, from the store of `feature_store` where it was fitted before.

    Outside a block of `feature_store` a small store of the process serves.
    """
    return _STORE.get().fit(resolve_encoder(encoder), real)


def features(encoder: FittedEncoder, corpus: Corpus) -> FloatArray:
    """Return the vectors of `corpus`, shape (N, d), read-only, from the same store."""
    return _STORE.get().features(encoder, corpus)


def keep(key: Hashable, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the array that was made for `key`, or else what `make` gives, read-only, from the same store."""
    return _STORE.get().keep(key, make)
