"""The learning curve: nested halves, groups kept whole, and a statement that is seldom wrong."""

import numpy as np
import pytest

from made_up import sentences
from textassay.comparison.explanation import FLAT
from textassay.comparison.learning_curve import Rise, learning_curve
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import TooFewSentencesError
from textassay.settings import Measuring


def _corpora(real: list[str], generated: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"real": real, "generated": generated})
    return corpora["real"], corpora["generated"]


def _draws(n: int, seed: int, probabilities: np.ndarray) -> list[str]:
    rows = np.random.default_rng(seed).choice(len(probabilities), (n, 8), p=probabilities / probabilities.sum())
    return [" ".join(map(str, row)) for row in rows]


@pytest.mark.slow
def test_every_point_has_twice_the_text_of_the_one_before() -> None:
    found = learning_curve(*_corpora(sentences(401, 1), sentences(800, 2, shift=0.5)))
    assert [(point.n_real, point.n_generated) for point in found.points] == [
        (50, 100),
        (100, 200),
        (200, 400),
        (401, 800),
    ]
    found = learning_curve(*_corpora(sentences(300, 1), sentences(300, 2)))
    assert [point.n_real for point in found.points] == [75, 150, 300]


def test_too_little_for_a_half_says_nothing_and_for_dd_raises() -> None:
    found = learning_curve(*_corpora(sentences(90, 1), sentences(90, 2)))
    assert len(found.points) == 1
    assert found.rise is None
    with pytest.raises(TooFewSentencesError):
        learning_curve(*_corpora(sentences(40, 1), sentences(90, 2)))


def test_groups_stay_whole_and_on_the_same_side() -> None:
    groups = np.repeat(np.arange(60), 5)
    corpora = corpora_from_texts(
        {"real": sentences(300, 1), "gen": sentences(300, 2, shift=0.5)}, groups={"real": groups, "gen": groups}
    )
    found = learning_curve(corpora["real"], corpora["gen"])
    assert [(point.n_real, point.n_generated) for point in found.points] == [(75, 75), (150, 150), (300, 300)]
    assert found.rise is not None
    assert found.rise.low < found.rise.value < found.rise.high


def test_the_rise_is_the_difference_of_the_last_two_points() -> None:
    corpora = _corpora(sentences(400, 1), sentences(500, 2, shift=0.4))
    for folds in (1, 5):
        found = learning_curve(*corpora, Measuring(effort="quick", folds=folds).of_dd())
        assert found.rise is not None
        assert found.rise.value == found.points[-1].value - found.points[-2].value
        assert found.rise.low < found.rise.value < found.rise.high


def test_the_rule() -> None:
    assert Rise(0.05, 0.01, 0.09).rising is True
    assert Rise(0.01, 0.005, 0.015).rising is True
    assert Rise(0.0, -0.01, 0.01).rising is False
    assert Rise(0.01, -0.01, FLAT).rising is None


@pytest.mark.slow
def test_a_language_whose_words_are_soon_learnt_has_levelled_off() -> None:
    p = np.ones(8)
    q = p * np.array([1.9, 0.1] * 4)
    found = learning_curve(*_corpora(_draws(2000, 1, p), _draws(2000, 2, q)))
    assert found.rise is not None
    assert found.rise.rising is False


@pytest.mark.slow
def test_a_language_of_many_words_is_still_being_learnt() -> None:
    p = 1 / np.arange(1, 8001) ** 0.7
    q = p * np.where(np.random.default_rng(5).random(8000) < 0.5, 1.8, 0.4)
    found = learning_curve(*_corpora(_draws(4000, 1, p), _draws(4000, 2, q)))
    values = [point.value for point in found.points]
    assert values == sorted(values)
    assert found.rise is not None
    assert found.rise.rising is True


@pytest.mark.slow
def test_a_flat_curve_is_seldom_called_rising() -> None:
    """For equal distributions dd is 0 at every size."""
    p = 1 / np.arange(1, 301)
    called = 0
    for run in range(100):
        rise = learning_curve(*_corpora(_draws(400, 2 * run, p), _draws(400, 2 * run + 1, p)), seed=run).rise
        assert rise is not None
        called += rise.rising is True
    assert called <= 8  # of 100; more has a probability of 0.15 % where 2.5 % is true
