"""The NB-weighted logistic discriminator: its ratios by hand, its fit against scikit-learn's, its settings."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from textassay.corpus import corpora_from_texts
from textassay.discriminator import NbLogisticDiscriminator, log_count_ratios
from textassay.errors import OptionError


def test_ratios_by_hand() -> None:
    """Three and one of 4 sentences hold the first n-gram, none and two the second; how often does not matter."""
    real = csr_matrix(np.array([[1.0, 0.0], [5.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    generated = csr_matrix(np.array([[1.0, 2.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    assert log_count_ratios(real, generated) == pytest.approx([math.log(4 / 2), math.log(1 / 3)])
    assert log_count_ratios(real, generated, smoothing=0.5) == pytest.approx([math.log(3.5 / 1.5), math.log(0.5 / 2.5)])


def test_ratios_of_unequal_sides_compare_shares() -> None:
    """One of 2 real and 10 of 20 generated sentences: equally frequent. Never and once of 20: nearly so."""
    real = csr_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))
    generated = csr_matrix(np.column_stack([np.repeat([1.0, 0.0], 10), np.arange(20) == 0]))
    assert log_count_ratios(real, generated) == pytest.approx([0, math.log(0.5 / 0.55)])


def test_the_fit_is_a_logistic_regression_over_present_ngrams_times_their_ratios() -> None:
    rng = np.random.default_rng(0)
    words = np.array(list("abcdef"))
    sides = [[" ".join(rng.choice(words, 4, p=p)) for _ in range(400)] for p in ([1 / 6] * 6, [0.3, *[0.14] * 5])]
    corpora = corpora_from_texts({"real": sides[0], "generated": sides[1]})
    pair = (corpora["real"], corpora["generated"])
    judge = NbLogisticDiscriminator(max_order=1, min_sentences=1, strengths=(1.0,), interpolations=(1.0,))
    present = np.array([[word in text.split() for word in words] for side in sides for text in side], dtype=float)
    shares = [present[:400].mean(axis=0) + 1 / 400, present[400:].mean(axis=0) + 1 / 400]
    rows = present * np.log(shares[0] / shares[1])
    peer = LogisticRegression(C=1.0, tol=1e-8).fit(rows, np.repeat([1, 0], 400))
    assert judge.fit(pair, pair).prob_real(corpora["real"]) == pytest.approx(
        peer.predict_proba(rows[:400])[:, 1], abs=0.02
    )


def test_the_less_of_the_regression_is_kept_the_more_it_is_naive_bayes() -> None:
    """Nearly nothing kept: every n-gram has the same weight, so log-odds are a sum of ratios, scaled and shifted."""
    corpora = corpora_from_texts({"real": ["a", "a", "a b", "b"] * 20, "generated": ["b", "b c", "c", "a"] * 20})
    pair = (corpora["real"], corpora["generated"])
    judge = NbLogisticDiscriminator(max_order=1, strengths=(1.0,), interpolations=(1e-9,)).fit(pair, pair)
    probabilities = judge.prob_real(
        corpora_from_texts({"x": ["a", "b", "c", "a c"]}, vocabulary=pair[0].vocabulary)["x"]
    )
    odds = np.log(probabilities / (1 - probabilities))
    ratios = {"a": math.log(61 / 21), "b": math.log(41 / 41), "c": math.log(1 / 41)}
    slope = (odds[0] - odds[1]) / (ratios["a"] - ratios["b"])
    assert slope > 0
    assert odds[2] - odds[1] == pytest.approx(slope * (ratios["c"] - ratios["b"]))
    assert odds[3] - odds[1] == pytest.approx(slope * (ratios["a"] + ratios["c"] - ratios["b"]))


def test_choices_are_made_on_validation_text() -> None:
    corpora = corpora_from_texts(
        {"real": ["good a", "b"] * 20, "generated": ["a", "b bad"] * 20, "vr": ["good a"] * 10, "vg": ["b bad"] * 10}
    )
    train, valid = (corpora["real"], corpora["generated"]), (corpora["vr"], corpora["vg"])
    judge = NbLogisticDiscriminator(strengths=(1e-4, 1.0), interpolations=(1.0,))
    assert judge.fit(train, valid).chosen["c"] == 1.0
    assert judge.fit(train, valid[::-1]).chosen["c"] == 1e-4


def test_the_signature_says_all_settings() -> None:
    judge = NbLogisticDiscriminator(smoothing=0.5, strengths=(1.0, 0.1), interpolations=(0.5,))
    assert judge.features == "1-3-grams with ends in >=2 sentences, log count ratios +0.5, C=0.1,1, interpolation 0.5"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_order": 0}, "max_order must be at least 1, got 0"),
        ({"min_sentences": 0}, "min_sentences must be at least 1, got 0"),
        ({"smoothing": 0.0}, "smoothing must be above 0"),
        ({"strengths": ()}, "strengths must hold numbers above 0"),
        ({"interpolations": (0.0, 1.0)}, "interpolations must hold numbers above 0 and at most 1"),
    ],
)
def test_bad_settings_are_errors(settings: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        NbLogisticDiscriminator(**settings)  # type: ignore[arg-type]
