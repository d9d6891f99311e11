"""Cross-fitted encoders: nothing is encoded by an encoder that learnt from it, and folds have spaces of their own."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.encoder import CrossFittedEncoder, FloatArray, folds_of
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.errors import EmptyCorpusError
from textassay.execution.threads import workers

CORPORA = corpora_from_texts({"real": sentences(600, 1), "other": sentences(600, 2)})


class Spy:
    """Keeps what it was given to learn from and to encode."""

    name = "spy"
    reads_columns = False

    def __init__(self) -> None:
        self.learnt: list[Corpus] = []
        self.encoded: list[tuple[int, Corpus]] = []

    def fit(self, real: Corpus) -> "FittedSpy":
        self.learnt.append(real)
        return FittedSpy(self, len(self.learnt) - 1)


class FittedSpy:
    reads_columns = False
    costly = False

    def __init__(self, spy: Spy, number: int) -> None:
        self._spy = spy
        self._number = number
        self.key = f"spy {number}"
        self.settings: Mapping[str, str] = {"encoder": self.key, "fit": str(number)}

    def encode(self, corpus: Corpus) -> FloatArray:
        self._spy.encoded.append((self._number, corpus))
        return np.array([[len(text), text.count("b"), text.count("e")] for text in corpus.texts], dtype=np.float64)


def test_no_sentence_is_encoded_by_an_encoder_that_learnt_from_its_like() -> None:
    spy = Spy()
    fitted = CrossFittedEncoder(spy, name="ours").fit(CORPORA["real"])
    assert sum(len(part) for part in spy.learnt) == len(CORPORA["real"])
    spy.encoded.clear()
    for corpus in CORPORA.values():
        fitted.encode(corpus)
    assert sum(len(part) for _, part in spy.encoded) == sum(map(len, CORPORA.values()))
    for number, part in spy.encoded:
        assert not set(part.texts) & set(spy.learnt[number].texts)


def test_sentences_of_different_folds_are_all_equally_far_apart() -> None:
    fitted = CrossFittedEncoder(LatentSemanticEncoder(dimensions=20), name="ours").fit(CORPORA["real"])
    vectors = fitted.encode(CORPORA["other"]).astype(np.float64)
    folds = folds_of(CORPORA["other"], 2)
    distances = cdist(vectors[folds == 0], vectors[folds == 1])
    np.testing.assert_allclose(distances, np.sqrt(2), atol=1e-5)


def test_folds_depend_on_the_tokens_alone() -> None:
    first = corpora_from_texts({"a": ["x y", "y x", "", "x  y", "z"], "b": ["z", "x y"]})
    second = corpora_from_texts({"b": ["q r s", "x y"], "a": ["y x", "z", "x y"]})
    folds = [folds_of(first["a"], 1000), folds_of(first["b"], 1000), folds_of(second["a"], 1000)]
    assert folds[0][0] == folds[0][3] == folds[1][1] == folds[2][2]
    assert folds[0][0] != folds[0][1] == folds[2][0]
    assert folds[0][4] == folds[1][0] == folds[2][1]


def test_folds_are_about_even() -> None:
    counts = np.bincount(folds_of(Corpus.from_texts([f"w{n} w{n % 7}" for n in range(30_000)]), 3))
    assert abs(counts - 10_000).max() < 400


def test_real_and_new_text_lie_alike() -> None:
    """How many new sentences lie nearer to a real one than its fifth neighbour among real ones: five are expected."""
    words = np.random.default_rng(3).zipf(1.3, size=(1200, 8)).astype(str)
    texts = [" ".join(row) for row in words]
    corpora = corpora_from_texts({"real": texts[:600], "other": texts[600:]})

    def neighbours(encoder: CrossFittedEncoder | LatentSemanticEncoder) -> float:
        fitted = encoder.fit(corpora["real"])
        real, other = (fitted.encode(corpora[name]).astype(np.float64) for name in ("real", "other"))
        radii = np.sort(cdist(real, real), axis=1)[:, 5]
        return float(np.mean(np.sum(cdist(real, other) <= radii[:, None], axis=1)))

    assert neighbours(CrossFittedEncoder(LatentSemanticEncoder(), name="ours")) == pytest.approx(5, abs=1.5)
    assert neighbours(LatentSemanticEncoder(dimensions=256)) > 8


def test_the_same_bits_at_any_number_of_threads() -> None:
    def run(n_workers: int) -> FloatArray:
        with workers(n_workers):
            return (
                CrossFittedEncoder(LatentSemanticEncoder(dimensions=20), name="ours")
                .fit(CORPORA["real"])
                .encode(CORPORA["other"])
            )

    np.testing.assert_array_equal(run(1), run(2))


@pytest.mark.parametrize("texts", [["a b"], ["a b"] * 9, ["a b", "c d"], [""]])
def test_few_sentences_or_one_repeated(texts: list[str]) -> None:
    corpora = corpora_from_texts({"real": texts, "other": ["a c", "b", ""]})
    vectors = CrossFittedEncoder(LatentSemanticEncoder(), name="ours").fit(corpora["real"]).encode(corpora["other"])
    assert np.isfinite(vectors).all()


def test_names_keys_and_settings() -> None:
    encoder = CrossFittedEncoder(Spy(), name="ours")
    fitted = encoder.fit(CORPORA["real"])
    assert encoder.name == "ours"
    assert fitted.settings["encoder"].startswith("ours:")
    assert fitted.settings["fit"] == "0+1"
    assert fitted.settings["fold-encoder"] == "spy 0"
    assert fitted.settings["encoder-folds"] == "2"
    assert fitted.key == CrossFittedEncoder(Spy(), name="ours").fit(CORPORA["real"]).key


def test_no_text_is_refused() -> None:
    with pytest.raises(EmptyCorpusError):
        CrossFittedEncoder(Spy(), name="ours").fit(Corpus.from_texts([]))
