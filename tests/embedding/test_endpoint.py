"""Embeddings of endpoints: batches, their order, what is kept, and what goes wrong."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import endpoint_server as faults
import textassay as ta
from endpoint_server import KEY, MODEL, Endpoint, serving
from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder
from textassay.embedding.endpoint import endpoint_encoder
from textassay.embedding.store import feature_store, features, fit_encoder, resolve_encoder
from textassay.endpoints import EndpointError
from textassay.errors import OptionError

TEXTS = [f"text number {number}" for number in range(50)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.01)
    with serving() as running:
        yield running


def _name(server: Endpoint, more: str = "batch=8&retries=1") -> str:
    return f"openai:{MODEL}@{server.url}?{more}"


def _of(text: str, width: int = 8) -> Any:
    return np.random.default_rng([*text.encode()]).normal(size=width).astype(np.float32)


def test_each_text_gets_its_vector_and_is_sent_once(server: Endpoint) -> None:
    encoder = resolve_encoder(_name(server))
    assert isinstance(encoder, Encoder)
    assert resolve_encoder(_name(server)) is encoder
    assert encoder.name == f"openai:{MODEL}@{server.url}"
    corpus = Corpus.from_texts([*TEXTS, *TEXTS[:5], ""])
    server.delay = lambda number: 0.02 if number % 3 == 0 else 0.0
    vectors = encoder.fit(corpus).encode(corpus)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, [_of(text or " ") for text in corpus.texts])
    assert sum(len(body["input"]) for body in server.bodies) == 51
    half = Corpus.from_texts(TEXTS[10:20])
    assert np.array_equal(encoder.fit(half).encode(half), [_of(text) for text in half.texts])
    assert pickle.loads(pickle.dumps(encoder)).fit(half).encode(half).shape == (10, 8)  # as for another process
    assert sum(len(body["input"]) for body in server.bodies) == 51 + 10
    lower = Corpus.from_texts(["A b", "a B"], lowercase=True)
    assert np.array_equal(encoder.fit(lower).encode(lower), [_of("a b")] * 2)
    assert resolve_encoder(_name(server, "dimensions=3")).fit(lower).encode(lower).shape == (2, 3)


def test_batches_that_came_are_kept_where_there_is_a_folder(server: Endpoint, tmp_path: Path) -> None:
    corpus = Corpus.from_texts(TEXTS)
    name = _name(server, "batch=8&retries=1&concurrency=1")
    server.faults = [None] * 4
    server.always = faults.hung_up
    told = "embeddings of 32 of 50 texts are there, stored on disk: the same command resumes from there; "
    with feature_store(tmp_path), pytest.raises(EndpointError, match=told):
        features(fit_encoder(name, corpus), corpus)
    endpoint_encoder.cache_clear()  # as another process
    (part,) = tmp_path.iterdir()
    part.write_bytes(part.read_bytes()[:-10])  # killed while it wrote
    server.always = None
    server.bodies.clear()
    with feature_store(tmp_path):
        vectors = features(fit_encoder(name, corpus), corpus)
    assert np.array_equal(vectors, [_of(text) for text in TEXTS])
    assert len(server.bodies) == 4
    (kept,) = tmp_path.iterdir()
    assert kept.suffix == ".vectors"
    with feature_store(tmp_path):
        features(fit_encoder(name, corpus), corpus)
    assert len(server.bodies) == 4
    assert KEY.encode() not in kept.read_bytes()


def test_vectors_that_cannot_be_are_refused(server: Endpoint) -> None:
    corpus = Corpus.from_texts(TEXTS[:10])
    fitted = fit_encoder(_name(server), corpus)
    documents: list[Any] = [
        {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": number, "embedding": [float("nan")]} for number in range(8)]},
        {"data": [{"embedding": "AAAA"}]},
    ]
    for document in documents:
        server.change = lambda _, document=document: document
        with pytest.raises(EndpointError, match="did not return a finite vector for each of"):
            fitted.encode(corpus)
    server.change = lambda document: {
        "data": [{**row, "embedding": [1.0] * len(document["data"])} for row in document["data"]]
    }
    with pytest.raises(EndpointError, match=r"gave vectors of \[2, 8\] numbers, which must be equal"):
        fitted.encode(corpus)
    with pytest.raises(OptionError, match="unknown setting of openai 'prompt'"):
        resolve_encoder(_name(server, "prompt=a"))


def test_a_metric_of_vectors_takes_them(server: Endpoint) -> None:
    estimate = ta.fed(TEXTS[:25], TEXTS[25:], encoder=_name(server))
    assert f"encoder:openai:{MODEL}@{server.url}" in str(estimate.signature)
    assert KEY not in str(estimate.signature)


def test_vectors_of_finished_corpora_are_not_asked_for_again_after_a_kill(server: Endpoint, tmp_path: Path) -> None:
    first, second = Corpus.from_texts(TEXTS[:30]), Corpus.from_texts(TEXTS[20:])
    name = _name(server)
    with feature_store(tmp_path):
        features(fit_encoder(name, first), first)
    endpoint_encoder.cache_clear()  # as another process
    server.bodies.clear()
    with feature_store(tmp_path):
        assert np.array_equal(features(fit_encoder(name, second), second), [_of(text) for text in TEXTS[20:]])
    assert sorted(text for body in server.bodies for text in body["input"]) == TEXTS[30:]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ([], "returned empty vectors; check that tiny-chat is an embedding model"),
        ([0.0, 0.0], "returned only zeros for 8 of 8 texts"),
        ([0.5, 0.5], "returned the same vector for all of 10 different texts"),
    ],
)
def test_vectors_that_say_nothing_are_refused(server: Endpoint, tmp_path: Path, row: list[float], told: str) -> None:
    endpoint_encoder.cache_clear()
    corpus = Corpus.from_texts(TEXTS[:10])
    server.change = lambda document: {"data": [{**each, "embedding": row} for each in document["data"]]}
    with feature_store(tmp_path), pytest.raises(EndpointError, match=told):
        features(fit_encoder(_name(server, "batch=8&concurrency=1"), corpus), corpus)
    assert list(tmp_path.iterdir()) == []
