"""The logistic discriminator over sentence vectors: which vectors, learnt from what, and which judgement."""

import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from textassay.corpus import Corpus, corpora_from_texts
from textassay.discriminator import EmbeddingLogisticDiscriminator, cross_fit
from textassay.errors import OptionError, UnavailableError


class Lengths:
    """Encodes a sentence as its length and a constant; remembers what it was fitted to, and cannot be copied."""

    name = "lengths"
    reads_columns = False
    costly = False
    key = "lengths"
    settings: Mapping[str, str] = {"encoder": "lengths"}

    def __init__(self) -> None:
        self.learnt: list[list[str]] = []
        self.lock = threading.Lock()

    def fit(self, real: Corpus) -> "Lengths":
        self.learnt.append(sorted(real.texts))
        return self

    def encode(self, corpus: Corpus) -> np.ndarray:
        return np.stack([corpus.lengths * 1.0, np.full(len(corpus), 3.0)], axis=1)


def same_text(n: int = 60) -> dict[str, Corpus]:
    return corpora_from_texts({"real": ["a b", "b c a"] * (n // 2), "generated": ["a b", "b c a"] * (n // 2)})


def with_features(corpus: Corpus, centre: float, seed: int) -> Corpus:
    """Return `corpus` with three features a sentence, of which the second, large one lies around 1000 + `centre`."""
    rng = np.random.default_rng(seed)
    column = np.stack([rng.normal(size=len(corpus)), 1000 + rng.normal(centre, 1, len(corpus)), np.ones(len(corpus))])
    return replace(corpus, columns={"features": column.T})


def test_given_features_are_used_where_all_text_has_them() -> None:
    corpora = same_text()
    pair = (with_features(corpora["real"], 2, 0), with_features(corpora["generated"], -2, 1))
    judge = EmbeddingLogisticDiscriminator().fit(pair, pair)
    assert judge.chosen["encoder"] == "given"
    new = (with_features(corpora["real"], 2, 2), with_features(corpora["real"], -2, 3))
    assert np.mean(judge.prob_real(new[0]) > 0.5) > 0.95
    assert np.mean(judge.prob_real(new[1]) <= 0.5) > 0.95
    with pytest.raises(UnavailableError, match="no features"):
        judge.prob_real(corpora["real"])


def test_features_of_one_side_are_not_used() -> None:
    corpora = same_text()
    pair = (with_features(corpora["real"], 2, 0), corpora["generated"])
    assert EmbeddingLogisticDiscriminator().fit(pair, pair).chosen["encoder"].startswith("lsa")
    with pytest.raises(UnavailableError, match="no features"):
        EmbeddingLogisticDiscriminator("given").fit(pair, pair)


def test_an_encoder_learns_from_training_text_of_both_sides_alone() -> None:
    encoder = Lengths()
    real = Corpus.from_texts([f"r{number} x y" for number in range(30)])
    generated = Corpus.from_texts([f"g{number}" for number in range(30)])
    corpora = corpora_from_texts({"real": real.texts, "generated": generated.texts})
    fit = cross_fit(EmbeddingLogisticDiscriminator(encoder), corpora["real"], corpora["generated"], folds=3, seed=0)
    for fold, learnt in enumerate(encoder.learnt):
        tested = {corpora["real"].texts[row] for row in np.flatnonzero(fit.real_folds == fold).tolist()}
        assert not tested & set(learnt)
        assert len(learnt) == sum(fit.folds[fold].n_train)
    assert len(encoder.learnt) == 3
    assert np.nanmin(fit.real_scores) > 0.6 > 0.4 > np.nanmax(fit.generated_scores)


def test_what_is_the_same_for_all_says_nothing() -> None:
    corpora = corpora_from_texts({"real": ["a b"] * 20, "generated": ["c d"] * 20})
    pair = (corpora["real"], corpora["generated"])
    assert EmbeddingLogisticDiscriminator(Lengths()).fit(pair, pair).prob_real(pair[0]) == pytest.approx(
        np.full(20, 0.5)
    )


def test_the_signature_names_the_encoder_and_the_strengths() -> None:
    assert EmbeddingLogisticDiscriminator(strengths=(1.0, 0.1)).features == (
        "given features or lsa-plain(dimensions=256), C=0.1,1"
    )
    assert EmbeddingLogisticDiscriminator(Lengths(), strengths=(0.5,)).features == "lengths, C=0.5"
    assert EmbeddingLogisticDiscriminator().reads_columns
    assert not EmbeddingLogisticDiscriminator(Lengths()).reads_columns


def test_bad_settings_are_errors() -> None:
    with pytest.raises(OptionError, match="strengths must hold numbers above 0"):
        EmbeddingLogisticDiscriminator(strengths=(0.0,))
    with pytest.raises(OptionError, match="encoder must be"):
        EmbeddingLogisticDiscriminator(3)  # type: ignore[arg-type]
