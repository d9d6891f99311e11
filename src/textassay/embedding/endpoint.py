"""Embeddings of an OpenAI-compatible endpoint, named as ``openai:MODEL@URL``.

Each distinct text is sent once, in batches, also where several corpora share it. Batches are kept when they come, in a
file for each model where there is a folder, so that neither an endpoint that fails nor a kill makes one be paid twice.
"""

import hashlib
import threading
from collections.abc import Mapping, Sequence, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.endpoints import Client, Connection, EndpointError, about_tokens, ask_each, settings_of
from textassay.errors import OutputError, check_range
from textassay.storage import one_run_at_a_time

Vectors = npt.NDArray[np.float32]
_ENDING = ".vectors"
_MOST_KEPT = 1 << 30  # bytes of vectors in memory; beyond, texts of further corpora may be sent again
_DIGEST = 16  # bytes that stand for a text


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(Connection):
    """Which embeddings; `batch`: texts of one request, `dimensions`: of a vector, where the model lets one choose."""

    batch: int = 64
    dimensions: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("batch", self.batch, 1, 2048)
        check_range("dimensions", self.dimensions, 1)


class EndpointEncoder:
    """A model of embeddings at an endpoint, which may change behind its name."""

    reads_columns = False

    def __init__(self, settings: EncoderSettings) -> None:
        self._fitted = FittedEndpointEncoder(settings)

    @property
    def name(self) -> str:
        """Such as ``openai:text-embedding-3-small@https://api.openai.com/v1``."""
        return self._fitted.settings["encoder"]

    def fit(self, real: Corpus) -> "FittedEndpointEncoder":
        """Return the model; nothing is learnt from `real`."""
        return self._fitted


@lru_cache(maxsize=8)
def endpoint_encoder(name: str, address: str | None) -> EndpointEncoder:
    """Return the encoder of a name; `address`: what the environment says, on which the name may depend."""
    return EndpointEncoder(settings_of(EncoderSettings, name))


class FittedEndpointEncoder:
    """A model of embeddings, asked when texts are encoded."""

    reads_columns = False
    costly = True

    def __init__(self, settings: EncoderSettings) -> None:
        self._connection = settings
        self._client = Client(settings)
        self._known: dict[bytes, Vectors] = {}  # the digest of a text to its vector
        self._lock = threading.Lock()
        dimensions = "" if settings.dimensions is None else f"/{settings.dimensions}"
        place = f"openai:{settings.place}{dimensions}"
        self.key = f"endpoint {hashlib.sha256(place.encode()).hexdigest()}"
        self.settings: Mapping[str, str] = {"encoder": "".join("_" if sign in "|,() " else sign for sign in place)}

    def __reduce__(self) -> tuple[type["FittedEndpointEncoder"], tuple[EncoderSettings]]:
        return FittedEndpointEncoder, (self._connection,)

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, d), float32, as the endpoint gives them."""
        return self.encode_in(corpus, None)

    def encode_in(self, corpus: Corpus, folder: Path | None) -> Vectors:
        """Return the vectors; those that are kept in `folder` are not asked for, and new ones are kept there.

        Texts are lower-cased if the corpus is. An empty text is sent as a space, since endpoints refuse empty ones.
        """
        texts = corpus.texts_for_models()
        distinct = {_digest(text): text for text in sorted(set(texts)) or [""]}  # of no text, the dimension is needed
        path = None if folder is None else folder / f"{self.key.split()[-1][:32]}{_ENDING}"
        with self._lock:
            if not distinct.keys() <= self._known.keys():
                with nullcontext() if path is None else one_run_at_a_time(path):
                    self._known |= _load(path, distinct.keys() - self._known.keys())
                    missing = {digest: text for digest, text in distinct.items() if digest not in self._known}
                    self._ask_for(missing, distinct, path)
            found = {digest: self._known[digest] for digest in distinct}
            if sum(vector.nbytes for vector in self._known.values()) > _MOST_KEPT:
                self._known.clear()
        widths = sorted({len(vector) for vector in found.values()})
        wrong = f"gave vectors of {widths} numbers, which must be equal" if len(widths) != 1 else ""
        if not wrong and len(found) > 1 and (np.array([*found.values()]) == next(iter(found.values()))).all():
            wrong = f"returned the same vector for all of {len(found)} different texts"
        if wrong:
            self._known.clear()
            if path is not None:
                path.unlink(missing_ok=True)
            raise EndpointError(f"{self._connection.place}: {wrong}")
        return np.array([found[_digest(text)] for text in texts], dtype=np.float32).reshape(len(texts), widths[0])

    def _ask_for(self, missing: Mapping[bytes, str], wanted: Mapping[bytes, str], path: Path | None) -> None:
        """Ask for the vectors of texts, and keep each batch when it comes."""
        digests, size, writing = list(missing), self._connection.batch, threading.Lock()
        batches = [digests[start : start + size] for start in range(0, len(digests), size)]

        def ask(batch: Sequence[bytes], stop: threading.Event) -> None:
            vectors = self._ask([missing[digest] for digest in batch], stop)
            with writing:
                _append(path, batch, vectors)
                self._known.update(zip(batch, vectors, strict=True))

        try:
            for _ in ask_each(batches, ask, min(self._connection.concurrency, len(batches))):
                pass
        except EndpointError as error:
            n_there = sum(digest in self._known for digest in wanted)
            where = ", stored on disk: the same command resumes from there" if n_there and path is not None else ""
            raise EndpointError(
                f"embeddings of {n_there:,} of {len(wanted):,} texts are there{where}; {error}"
            ) from None

    def _ask(self, texts: Sequence[str], stop: threading.Event) -> Vectors:
        settings = self._connection
        body: dict[str, Any] = {"model": settings.model, "input": [text or " " for text in texts]}
        body["encoding_format"] = "float"
        if settings.dimensions is not None:
            body["dimensions"] = settings.dimensions
        document, _ = self._client.post("embeddings", body, stop)
        usage = document.get("usage")
        n_tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
        self._client.spend(n_tokens if isinstance(n_tokens, int) else sum(map(about_tokens, texts)))
        try:
            rows = {row["index"]: row["embedding"] for row in document["data"]}
            vectors = np.array([rows[number] for number in range(len(texts))], dtype=np.float32)
            if vectors.ndim != 2 or len(rows) != len(texts) or not np.isfinite(vectors).all():
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise EndpointError(
                f"{settings.place}: did not return a finite vector for each of {len(texts):,} texts"
            ) from None
        n_zero = int((~vectors.any(axis=1)).sum())
        if vectors.shape[1] == 0:
            raise EndpointError(
                f"{settings.place}: returned empty vectors; check that {settings.model} is an embedding model"
            )
        if n_zero:
            raise EndpointError(f"{settings.place}: returned only zeros for {n_zero:,} of {len(texts):,} texts")
        return vectors


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _append(path: Path | None, digests: Sequence[bytes], vectors: Vectors) -> None:
    """Write the vectors of a batch to the end of a file: two arrays, of digests and of vectors."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            np.save(file, np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, _DIGEST), allow_pickle=False)
            np.save(file, vectors, allow_pickle=False)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror or error}; choose another --out") from error


def _load(path: Path | None, wanted: Set[bytes]) -> dict[bytes, Vectors]:
    """Return the vectors of the texts `wanted` that are kept; what a killed run had begun to write is cut off."""
    found: dict[bytes, Vectors] = {}
    if path is None or not path.exists():
        return found
    end = 0
    with path.open("r+b") as file:
        with suppress(Exception):  # a damaged file raises anything
            while True:
                digests, vectors = (np.load(file, allow_pickle=False) for _ in range(2))
                if vectors.ndim != 2 or vectors.dtype != np.float32 or digests.shape != (len(vectors), _DIGEST):
                    break
                pairs = zip(map(bytes, digests), vectors, strict=True)
                found.update((digest, vector.copy()) for digest, vector in pairs if digest in wanted)
                end = file.tell()
        file.truncate(end)
    return found
