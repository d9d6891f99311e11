"""The blend: few sentences leave it at the plain mean, many decide; nobody is scored by a blend that saw it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from textassay.discriminator.base import balanced_accuracy
from textassay.discriminator.family import blended_out_of_fold, fit_blend, log_odds


def odds(n: int, seed: int, shifts: tuple[float, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(shifts, 1.0, (n, len(shifts)))


def test_log_odds_stay_within_twelve() -> None:
    assert log_odds(np.array([0.0, 0.5, 0.75, 1.0])) == pytest.approx([-12, 0, np.log(3), 12])


def test_it_is_the_minimum_of_its_loss_by_another_solver() -> None:
    real, generated = odds(40, 1, (1.0, 0.2, 0.0)), odds(25, 2, (-0.5, 0.1, 0.0))
    both = np.concatenate([real, generated])

    def loss(theta: np.ndarray) -> float:
        sides = np.logaddexp(0, -(real @ theta[:-1] + theta[-1])), np.logaddexp(0, generated @ theta[:-1] + theta[-1])
        ridge = 5 * np.sum(both.var(axis=0) * (theta[:-1] - 1 / 3) ** 2) + 5 * theta[-1] ** 2
        return float(65 / 2 * (sides[0].mean() + sides[1].mean()) + ridge)

    blend = fit_blend(real, generated)
    expected = minimize(loss, np.zeros(4), tol=1e-12).x
    assert np.append(blend.weights, blend.intercept) == pytest.approx(expected, abs=1e-5)


def test_two_sentences_hardly_move_it_and_many_decide() -> None:
    few = fit_blend(odds(1, 1, (2.0, 0.0)), odds(1, 2, (-2.0, 0.0)))
    assert few.weights == pytest.approx([0.5, 0.5], abs=0.2)
    many = fit_blend(odds(2000, 1, (1.0, 0.0)), odds(2000, 2, (-1.0, 0.0)))
    assert many.weights == pytest.approx([2.0, 0.0], abs=0.2)  # the log-odds of two Gaussians
    assert fit_blend(odds(5, 1, (1.0, 0.0)), np.empty((0, 2))).weights == pytest.approx([0.5, 0.5])


def test_no_member_is_turned_round_where_texts_come_in_groups() -> None:
    real, generated = odds(300, 1, (-1.0, 0.3)), odds(300, 2, (1.0, -0.3))
    assert fit_blend(real, generated).weights[0] < -0.5
    assert fit_blend(real, generated, in_groups=True).weights == pytest.approx([0.0, 0.6], abs=0.2)


def test_sides_weigh_the_same_whatever_their_sizes() -> None:
    even = fit_blend(np.tile([[1.0], [-0.5]], (300, 1)), np.tile([[-1.0], [0.5]], (300, 1)))
    uneven = fit_blend(np.tile([[1.0], [-0.5]], (1500, 1)), np.tile([[-1.0], [0.5]], (300, 1)))
    assert uneven.intercept == pytest.approx(even.intercept, abs=1e-6)
    assert uneven.intercept == pytest.approx(0, abs=1e-6)


def test_out_of_fold_scores_of_noise_do_not_know_the_labels() -> None:
    """A blend scored on its own sentences is above chance."""
    correct: dict[str, list[float]] = {"out of fold": [], "seen": []}
    for seed in range(60):
        real, generated = (0.1 * odds(20, 2 * seed + side, (0.0,) * 8) for side in (0, 1))
        blend = fit_blend(real, generated)
        for name, scores in {
            "out of fold": blended_out_of_fold(real, generated, (None, None)),
            "seen": (blend.prob_real(real), blend.prob_real(generated)),
        }.items():
            correct[name].append(balanced_accuracy(*scores))
    assert abs(np.mean(correct["out of fold"]) - 0.5) < 3 * 0.5 / np.sqrt(60 * 40)
    assert np.mean(correct["seen"]) > 0.6


@pytest.mark.parametrize("n_groups", [1, 2, 7])
def test_a_group_is_scored_by_a_blend_that_saw_none_of_it(n_groups: int) -> None:
    """The rows of a group are alike and tell its side: only a blend that saw them could know."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 10)
    rows = np.repeat(rng.normal(0, 3, (n_groups, 3)), 10, axis=0)
    scores = blended_out_of_fold(rows, rows, (groups, groups))
    assert scores[0] == pytest.approx(scores[1])
    assert np.all(np.isfinite(scores[0]))


def test_one_sentence_a_side_is_scored_by_the_mean() -> None:
    scores = blended_out_of_fold(np.array([[2.0, 0.0]]), np.array([[-1.0, -1.0]]), (None, None))
    assert scores[0] == pytest.approx(1 / (1 + np.exp(-1)))
    assert scores[1] == pytest.approx(1 / (1 + np.exp(1)))
