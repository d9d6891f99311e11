"""Embeddings of an OpenAI-compatible endpoint, named as ``openai:MODEL@URL``.

Each distinct text is sent once, in batches. Batches that have come are kept beside the file that is being made, where
there is one, so that an endpoint that fails in the middle loses none.
"""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.endpoints import Client, Connection, EndpointError, about_tokens, ask_each, settings_of
from textassay.errors import OutputError, check_range

Vectors = npt.NDArray[np.float32]


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
        dimensions = "" if settings.dimensions is None else f"/{settings.dimensions}"
        place = f"openai:{settings.place}{dimensions}"
        self.key = f"endpoint {hashlib.sha256(place.encode()).hexdigest()}"
        self.settings: Mapping[str, str] = {"encoder": "".join("_" if sign in "|,() " else sign for sign in place)}

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, d), float32, as the endpoint gives them."""
        return self.encode_beside(corpus, None)

    def encode_beside(self, corpus: Corpus, path: Path | None) -> Vectors:
        """Return the vectors; batches are kept in a file beside `path`, which goes when all have come.

        Texts are lower-cased if the corpus is. An empty text is sent as a space, since endpoints refuse empty ones.
        """
        lower = "lower" in corpus.tokenizer.split("+")
        texts = [text.lower() for text in corpus.texts] if lower else list(corpus.texts)
        distinct = sorted(set(texts)) or [""]  # an empty corpus needs the dimension, too
        size = self._connection.batch
        batches = [distinct[start : start + size] for start in range(0, len(distinct), size)]
        kept = _KeptBatches(None if path is None else path.with_suffix(f".{size}.part"))
        missing = [number for number in range(len(batches)) if number not in kept.vectors]
        try:
            jobs = ask_each(
                missing,
                lambda number, stop: kept.add(number, self._ask(batches[number], stop)),
                max(1, min(self._connection.concurrency, len(missing))),
            )
            for _ in jobs:
                pass
        except EndpointError as error:
            there = sum(len(batches[number]) for number in kept.vectors)
            where = ", kept on disk: the same command goes on from there" if kept.path is not None else ""
            raise EndpointError(f"embeddings of {there} of {len(distinct)} texts are there{where}; {error}") from None
        widths = {kept.vectors[number].shape[1] for number in range(len(batches))}
        if len(widths) != 1:
            kept.forget()
            raise EndpointError(
                f"{self._connection.place}: gave vectors of {sorted(widths)} numbers: they must be equal"
            )
        vectors = np.concatenate([kept.vectors[number] for number in range(len(batches))])
        places = {text: place for place, text in enumerate(distinct)}
        return vectors[np.array([places[text] for text in texts], dtype=np.int64)]

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
            raise EndpointError(f"{settings.place}: gave no finite vector for each of {len(texts)} texts") from None
        return vectors


class _KeptBatches:
    """Vectors of batches by number, in a file, too, if there is one: each a number and an array."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.vectors: dict[int, Vectors] = {}
        self._lock = threading.Lock()
        if path is not None and path.exists():
            self._load(path)

    def add(self, number: int, vectors: Vectors) -> None:
        """Keep the vectors of a batch."""
        with self._lock:
            self.vectors[number] = vectors
            if self.path is None:
                return
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    np.save(file, np.array(number), allow_pickle=False)
                    np.save(file, vectors, allow_pickle=False)
            except OSError as error:
                raise OutputError(f"cannot write to {self.path.parent}: {error.strerror or error}") from error

    def forget(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _load(self, path: Path) -> None:
        """Take what an earlier run has kept; what it had begun to write last is cut off."""
        end = 0
        with path.open("r+b") as file:
            with suppress(Exception):  # a damaged file raises anything
                while True:
                    number = int(np.load(file, allow_pickle=False))
                    vectors = np.load(file, allow_pickle=False)
                    if vectors.ndim != 2 or vectors.dtype != np.float32:
                        break
                    self.vectors[number] = vectors
                    end = file.tell()
            file.truncate(end)
