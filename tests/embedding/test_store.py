"""The store of features: what is computed once, what gives way, and what a folder keeps."""

import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import MappingProxyType

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import FloatArray, PrecomputedEncoder
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.embedding.store import (
    DEFAULT_ENCODER,
    FeatureStore,
    feature_store,
    features,
    fit_encoder,
    resolve_encoder,
)
from textassay.errors import OptionError, OutputError, UnavailableError


class Counting:
    """An encoder that gives the lengths of sentences and counts how often it is asked."""

    name = key = "counting"
    reads_columns = False
    settings: Mapping[str, str] = MappingProxyType({"encoder": "counting"})

    def __init__(self, *, costly: bool = True) -> None:
        self.costly = costly
        self.n_fits = self.n_encodes = 0

    def fit(self, real: Corpus) -> "Counting":
        self.n_fits += 1
        return self

    def encode(self, corpus: Corpus) -> FloatArray:
        self.n_encodes += 1
        return np.array([[len(text), 1] for text in corpus.texts], dtype=np.float32)


@pytest.fixture
def corpora() -> list[Corpus]:
    return [Corpus.from_texts([f"word {n}", "b"]) for n in range(4)]


def test_features_are_computed_once_for_equal_content(corpora: list[Corpus]) -> None:
    encoder, store = Counting(), FeatureStore()
    fitted = store.fit(encoder, corpora[0])
    assert store.fit(encoder, corpora[0]) is fitted
    assert encoder.n_fits == 1
    first = store.features(fitted, corpora[0])
    assert store.features(fitted, Corpus.from_texts(["word 0", "b"])) is first
    assert encoder.n_encodes == 1
    assert not first.flags.writeable
    store.fit(encoder, corpora[1])
    assert encoder.n_fits == 2


def test_an_encoder_serves_the_corpora_of_one_vocabulary() -> None:
    """Ids mean other tokens in another vocabulary, where the text may be the same."""
    encoder, store = Counting(), FeatureStore()
    first, second = (Corpus.from_texts(["word 0", "b"]) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    store.fit(encoder, first)
    store.fit(encoder, second)
    assert encoder.n_fits == 2


def test_what_was_longest_unused_gives_way(corpora: list[Corpus]) -> None:
    encoder, store = Counting(), FeatureStore(n_bytes=2 * 16)  # each corpus has 16 bytes of features
    for number in (0, 1, 0, 2, 0):  # 2 takes the place of 1
        store.features(encoder, corpora[number])
    assert encoder.n_encodes == 3
    store.features(encoder, corpora[1])
    assert encoder.n_encodes == 4
    nothing = FeatureStore(n_bytes=0)
    np.testing.assert_array_equal(nothing.features(encoder, corpora[0]), [[6, 1], [1, 1]])


def test_threads_wait_for_one_another(corpora: list[Corpus]) -> None:
    encoder, store, barrier = Counting(), FeatureStore(), Barrier(4)

    def ask(_: int) -> FloatArray:
        barrier.wait()
        return store.features(encoder, corpora[0])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert encoder.n_encodes == 1
    assert all(vectors is found[0] for vectors in found)


def test_a_folder_keeps_features_of_costly_encoders(tmp_path: Path, corpora: list[Corpus]) -> None:
    folder = tmp_path / "out" / "features"
    encoder = Counting()
    first = FeatureStore(folder).features(encoder, corpora[0])
    again = FeatureStore(folder).features(encoder, corpora[0])
    assert encoder.n_encodes == 1
    np.testing.assert_array_equal(again, first)
    assert [path.suffix for path in folder.iterdir()] == [".npy"]
    cheap = Counting(costly=False)
    FeatureStore(tmp_path / "none").features(cheap, corpora[0])
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "other shape", "archive"])
def test_a_damaged_file_counts_as_absent(tmp_path: Path, corpora: list[Corpus], damage: str) -> None:
    encoder = Counting()
    first = FeatureStore(tmp_path).features(encoder, corpora[0])
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    if damage == "other shape":
        np.save(path, np.zeros((3, 2)))
    elif damage == "archive":
        with path.open("wb") as file:
            np.savez(file, vectors=first)
    else:
        path.write_bytes({"empty": b"", "cut": content[:-3], "text": b"nothing like it"}[damage])
    np.testing.assert_array_equal(FeatureStore(tmp_path).features(encoder, corpora[0]), first)
    assert encoder.n_encodes == 2
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, corpora: list[Corpus]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="choose another --out"):
        FeatureStore(tmp_path / "file" / "features").features(Counting(), corpora[0])


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
from test_store import Counting, Corpus, FeatureStore
for n in range(40):
    corpus = Corpus.from_texts([f"word {{n}}"] * 1000)
    vectors = FeatureStore(Path({str(tmp_path)!r})).features(Counting(), corpus)
    assert vectors.shape == (1000, 2) and vectors[0, 0] == len(f"word {{n}}")
"""
    running = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _ in range(2)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert len(list(tmp_path.iterdir())) == 40
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy"}


def test_a_block_has_a_store_of_its_own(corpora: list[Corpus]) -> None:
    encoder = Counting()
    encoder.key = encoder.name = "a block"  # another than what other tests leave in the store of the process
    with feature_store():
        features(fit_encoder(encoder, corpora[0]), corpora[0])
        features(fit_encoder(encoder, corpora[0]), corpora[0])
    assert (encoder.n_fits, encoder.n_encodes) == (1, 1)
    with feature_store():
        features(fit_encoder(encoder, corpora[0]), corpora[0])
    assert (encoder.n_fits, encoder.n_encodes) == (2, 2)
    for _ in range(2):
        features(fit_encoder(encoder, corpora[0]), corpora[0])
    assert (encoder.n_fits, encoder.n_encodes) == (3, 3)


def test_equal_texts_with_other_token_ids_are_fitted_anew() -> None:
    first, second = Corpus.from_texts(["a b", "b a"]), Corpus.from_texts(["a b", "b a"])
    assert first.fingerprint == second.fingerprint
    np.testing.assert_array_equal(
        features(fit_encoder("lsa", first), first), features(fit_encoder("lsa", second), second)
    )


def test_names_of_encoders() -> None:
    for name in ("lsa", "lsa+lm"):
        assert resolve_encoder(name).name == name
    assert DEFAULT_ENCODER == "lsa+lm"
    assert isinstance(resolve_encoder("given"), PrecomputedEncoder)
    own = LatentSemanticEncoder(dimensions=3)
    assert resolve_encoder(own) is own
    with pytest.raises(
        OptionError,
        match=r"must be given, lsa, lsa\+lm, minilm, a model's name or folder, openai:MODEL@URL, or an Encoder, got 3",
    ):
        resolve_encoder(3)  # type: ignore[arg-type]


def test_given_features_come_from_the_corpus(corpora: list[Corpus]) -> None:
    column = np.arange(6.0).reshape(2, 3)
    corpus = Corpus(
        corpora[0].tokens,
        corpora[0].offsets,
        corpora[0].vocabulary,
        corpora[0].texts,
        tokenizer="whitespace",
        columns={"features": column},
    )
    np.testing.assert_array_equal(features(fit_encoder("given", corpus), corpus), column)
    with pytest.raises(UnavailableError, match="--features"):
        features(fit_encoder("given", corpora[0]), corpora[0])
