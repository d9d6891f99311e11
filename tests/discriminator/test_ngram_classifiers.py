"""Classifiers over n-gram counts: against the same models on features that scikit-learn made of the texts."""

import importlib.util
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.base import Pair, balanced_cross_entropy
from textassay.discriminator.ngram_classifiers import (
    NaiveBayesDiscriminator,
    RandomForestDiscriminator,
    SvmDiscriminator,
    XgboostDiscriminator,
)
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import parallel_map, workers

KINDS: dict[str, Any] = {
    "naive-bayes": NaiveBayesDiscriminator,
    "random-forest": RandomForestDiscriminator,
    "svm": SvmDiscriminator,
    "xgboost": XgboostDiscriminator,
}
EACH = pytest.mark.parametrize("kind", KINDS)


def made(kind: str, **settings: Any) -> Any:
    if kind == "xgboost":
        pytest.importorskip("xgboost")
    return KINDS[kind](**settings)


def texts(n: int, share: float, seed: int) -> list[str]:
    """Return texts of 12 words, `share` of them from the first half of sixty, some of them repeated in their text."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number}" for number in range(60)])
    chosen = rng.integers(0, 30, (n, 12)) + 30 * (rng.random((n, 12)) >= share)
    return [" ".join(words[row]) for row in chosen]


def pairs(real: float, generated: float, n: int = 150) -> list[Pair]:
    """Return training, validation and test pairs."""
    shares = {"real": real, "generated": generated}
    sides = {
        f"{name} {part}": texts(n, share, 3 * part + side)
        for side, (name, share) in enumerate(shares.items())
        for part in range(3)
    }
    found = corpora_from_texts(sides)
    return [(found[f"real {part}"], found[f"generated {part}"]) for part in range(3)]


@pytest.mark.feature("JJ-24")
def test_naive_bayes_by_hand() -> None:
    """Alpha 1, V = 3. Texts weigh 1.5 (real) and 0.75 (generated): real a 3, b 1.5; generated b 1.5, c 0.75."""
    found = corpora_from_texts({"real": ["a a b"], "generated": ["b c", "b"], "new": ["a", "b", "c", "zzz", "a c"]})
    pair = (found["real"], found["generated"])
    judge = NaiveBayesDiscriminator(max_order=1, min_sentences=1).fit(pair, pair)
    a, b, c = (4 / 7.5) / (1 / 5.25), (2.5 / 7.5) / (2.5 / 5.25), (1 / 7.5) / (1.75 / 5.25)
    odds = np.array([a, b, c, 1, a * c])
    np.testing.assert_allclose(judge.prob_real(found["new"]), odds / (1 + odds))


@pytest.mark.feature("JJ-24")
@pytest.mark.parametrize("weighting", ["counts", "presence"])
def test_naive_bayes_on_features_that_scikit_learn_made(weighting: Any) -> None:
    train, valid, test = pairs(0.6, 0.4)
    judge = NaiveBayesDiscriminator(alpha=0.3, min_sentences=2, weighting=weighting).fit(train, valid)
    strings = [text for corpus in train for text in corpus.texts]
    counter = CountVectorizer(
        tokenizer=str.split, token_pattern=None, ngram_range=(1, 3), min_df=2, binary=weighting == "presence"
    )
    model = MultinomialNB(alpha=0.3).fit(counter.fit_transform(strings), np.repeat([1, 0], 150))
    for corpus in test:
        expected = model.predict_proba(counter.transform(corpus.texts))[:, 1]
        np.testing.assert_allclose(judge.prob_real(corpus), expected, rtol=1e-9, atol=1e-12)
    assert judge.chosen["n_features"] == len(counter.vocabulary_)


@pytest.mark.feature("JJ-24")
def test_the_svm_takes_the_sides_of_scikit_learns_on_its_own_features() -> None:
    train, valid, test = pairs(0.6, 0.4)
    judge = SvmDiscriminator(c=0.5).fit(train, valid)
    counter = TfidfVectorizer(tokenizer=str.split, token_pattern=None, ngram_range=(1, 3), min_df=2, sublinear_tf=True)
    strings = [text for corpus in train for text in corpus.texts]
    peer = LinearSVC(C=0.5, dual=True, max_iter=100_000, tol=1e-8, random_state=0)
    peer.fit(counter.fit_transform(strings), np.repeat([1, 0], 150))
    for corpus in test:
        decisions = peer.decision_function(counter.transform(corpus.texts))
        np.testing.assert_allclose(judge.prob_real(corpus), expit(judge.chosen["slope"] * decisions), atol=2e-3)


@pytest.mark.parametrize(("real", "generated", "most"), [(0.5, 0.5, 2.0), (0.95, 0.05, np.inf)])
def test_the_svms_probabilities_are_as_sure_as_they_should_be(real: float, generated: float, most: float) -> None:
    """Where nothing can be told they stay near one half, though the machine tells its training text apart."""
    train, valid, test = pairs(real, generated, 300)
    judge = SvmDiscriminator().fit(train, valid)
    scores = np.concatenate([judge.prob_real(corpus) for corpus in test])
    right = np.where(np.arange(600) < 300, scores, 1 - scores)
    assert -np.mean(np.log(right)) < np.log(2) + 0.02
    assert (np.abs(scores - 0.5).max() > 0.4) == (most == np.inf)


@pytest.mark.feature("JJ-24")
@pytest.mark.parametrize("kind", ["naive-bayes", "random-forest", "svm"])
@pytest.mark.parametrize("n_real", [30, 300])
def test_a_smaller_side_is_not_passed_over(kind: str, n_real: int) -> None:
    """Ten times as much text of one side; words tell a little."""
    sides = {
        "real": texts(n_real, 0.7, 0),
        "generated": texts(330 - n_real, 0.3, 1),
        "r": texts(200, 0.7, 2),
        "g": texts(200, 0.3, 3),
    }
    found = corpora_from_texts(sides)
    settings = {"c": 0.1} if kind == "svm" else {}
    judge = made(kind, max_order=1, **settings).fit((found["real"], found["generated"]), (found["r"], found["g"]))
    assert np.mean(judge.prob_real(found["r"]) > 0.5) > 0.6
    assert np.mean(judge.prob_real(found["g"]) <= 0.5) > 0.6


@pytest.mark.feature("JJ-24")
def test_xgboost_stops_early() -> None:
    pytest.importorskip("xgboost")

    def judged_loss() -> float:
        return balanced_cross_entropy(judge.prob_real(valid[0]), judge.prob_real(valid[1]))

    train, valid, _ = pairs(0.6, 0.4)
    judge = XgboostDiscriminator(patience=5).fit(train, valid)
    assert judge.chosen["n_grown"] == judge.chosen["n_trees"] + 5 < 300
    assert judge.chosen["valid_cross_entropy"] == pytest.approx(judged_loss(), rel=1e-5)  # by the best trees, not all
    train, valid, _ = pairs(0.5, 0.5)
    judge = XgboostDiscriminator(patience=5).fit(train, valid)
    assert judge.chosen["n_grown"] == judge.chosen["n_trees"] + 5 < 60
    assert judge.chosen["valid_cross_entropy"] <= np.log(2) + 0.01
    train, valid, _ = pairs(0.7, 0.3)
    judge = XgboostDiscriminator(max_trees=7).fit(train, valid)
    assert judge.chosen["n_trees"] == judge.chosen["n_grown"] == 7
    assert judge.chosen["valid_cross_entropy"] == pytest.approx(judged_loss(), rel=1e-5)


@EACH
def test_the_same_bits_in_any_number_of_threads(kind: str) -> None:
    train, valid, test = pairs(0.6, 0.4, 60)
    judge = made(kind)
    alone = judge.fit(train, valid).prob_real(test[0])
    with workers(2):
        again = parallel_map(lambda _: judge.fit(train, valid).prob_real(test[0]), range(2))
    assert all(np.array_equal(alone, other) for other in again)


@pytest.mark.parametrize("kind", ["random-forest", "xgboost"])
def test_seeds_decide(kind: str) -> None:
    train, valid, test = pairs(0.6, 0.4, 60)
    one, other = (made(kind, seed=seed).fit(train, valid).prob_real(test[0]) for seed in (0, 1))
    assert not np.array_equal(one, other)


@EACH
def test_settings_stand_in_the_signature(kind: str) -> None:
    judge = made(kind, max_order=2, min_sentences=4, weighting="presence")
    assert judge.features.startswith("1-2-grams in >=4 sentences, presence, ")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("svm", {"max_order": 0}, "max_order must be at least 1, got 0"),
        ("svm", {"min_sentences": 0}, "min_sentences must be at least 1, got 0"),
        ("svm", {"weighting": "idf"}, "weighting must be counts, presence, tf-idf, got idf"),
        ("svm", {"c": 0.0}, "c must be above 0, got 0.0"),
        ("naive-bayes", {"alpha": -1.0}, "alpha must be above 0, got -1.0"),
        ("random-forest", {"n_trees": 0}, "n_trees must be at least 1, got 0"),
        ("xgboost", {"patience": 0}, "patience must be at least 1, got 0"),
        ("xgboost", {"columns": 1.5}, "columns must be above 0 and at most 1, got 1.5"),
    ],
)
def test_settings_out_of_range(kind: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        made(kind, **settings)


def test_xgboost_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="the xgboost discriminator needs the 'boosting' extra"):
        XgboostDiscriminator()
