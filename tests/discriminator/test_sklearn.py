"""Any scikit-learn classifier over texts works as a discriminator."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator, SklearnDiscriminator
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import OptionError


def vectorizer() -> CountVectorizer:
    return CountVectorizer(token_pattern=r"\S+")


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    rng = np.random.default_rng(0)
    words = np.array(["a", "b"])
    return corpora_from_texts(
        {
            "real": words[(rng.random(900) < 0.3).astype(int)].tolist(),
            "generated": words[(rng.random(300) < 0.6).astype(int)].tolist(),
            "space": ["a", "b"],
        }
    )


BALANCED = [0.7 / (0.7 + 0.4), 0.3 / (0.3 + 0.6)]


@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(vectorizer(), LogisticRegression(C=1e3)),  # takes sample weights
        make_pipeline(vectorizer(), make_pipeline(MultinomialNB(alpha=0.1))),  # a pipeline in a pipeline
        make_pipeline(vectorizer(), KNeighborsClassifier(n_neighbors=1200)),  # takes none: all neighbours vote
        make_pipeline(vectorizer(), LinearSVC()),  # no probabilities
    ],
    ids=["logistic", "naive-bayes", "neighbours", "svm"],
)
def test_classes_weigh_the_same_whatever_their_sizes(classifier: Any, corpora: dict[str, Corpus]) -> None:
    pair = (corpora["real"], corpora["generated"])
    scores = SklearnDiscriminator(classifier).fit(pair, pair).prob_real(corpora["space"])
    expected = [0.5, 0.5] if "kneighbors" in str(classifier).lower() else BALANCED
    assert scores == pytest.approx(expected, abs=0.06)


def test_the_classifier_given_is_not_changed(corpora: dict[str, Corpus]) -> None:
    classifier = make_pipeline(vectorizer(), LogisticRegression())
    pair = (corpora["real"], corpora["generated"])
    discriminator = SklearnDiscriminator(classifier)
    fitted = discriminator.fit(pair, pair)
    assert fitted is not discriminator
    assert not hasattr(classifier[0], "vocabulary_")


def test_name_and_settings_for_the_signature() -> None:
    discriminator = SklearnDiscriminator(make_pipeline(vectorizer(), LogisticRegression(C=3)))
    assert discriminator.name == "LogisticRegression"
    assert "C=3" in discriminator.features
    assert "\n" not in discriminator.features


def test_both_are_discriminators() -> None:
    assert isinstance(SklearnDiscriminator(LogisticRegression()), Discriminator)
    assert isinstance(LogisticDiscriminator(), Discriminator)
    assert not isinstance(LogisticRegression(), Discriminator)


def test_something_that_cannot_score_is_an_error() -> None:
    with pytest.raises(OptionError, match="needs predict_proba or decision_function, BaseEstimator has neither"):
        SklearnDiscriminator(BaseEstimator())
