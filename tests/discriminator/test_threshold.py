"""The threshold: one half unless validation text clearly says otherwise."""

import numpy as np
import pytest

from textassay.discriminator.base import balanced_accuracy
from textassay.discriminator.threshold import choose_threshold


def test_well_calibrated_scores_keep_one_half() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        real, generated = rng.beta(3, 2, 500), rng.beta(2, 3, 500)
        assert choose_threshold(real, generated, standard_errors=4) == 0.5


def test_shifted_scores_move_the_threshold_to_between_the_classes() -> None:
    real, generated = np.linspace(0.30, 0.45, 50), np.linspace(0.05, 0.20, 50)
    assert choose_threshold(real, generated) == pytest.approx(0.25)
    assert choose_threshold(1 - generated, 1 - real) == pytest.approx(0.75)


def test_without_a_margin_no_threshold_is_better() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        real, generated = np.round(rng.beta(3, 2, 40), 1), np.round(rng.beta(2, 4, 30), 1)
        chosen = balanced_accuracy(real, generated, choose_threshold(real, generated, standard_errors=0))
        everywhere = [balanced_accuracy(real, generated, threshold) for threshold in np.linspace(0.01, 0.99, 99)]
        assert chosen == pytest.approx(max(everywhere))


def test_a_gain_of_a_few_sentences_is_not_clear() -> None:
    real, generated = np.repeat([0.45, 0.9], [3, 97]), np.full(100, 0.1)
    assert choose_threshold(real, generated, standard_errors=0) == pytest.approx(0.275)
    assert choose_threshold(real, generated, standard_errors=2) == 0.5


def test_equal_scores_keep_one_half() -> None:
    assert choose_threshold(np.full(5, 0.2), np.full(5, 0.2)) == 0.5
    assert choose_threshold(np.full(5, 1.0), np.full(5, 1.0), standard_errors=0) == 0.5
