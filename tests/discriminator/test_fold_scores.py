"""The receiver operating characteristic: exact points, few of them, with the area that ranks give."""

import numpy as np
import pytest
from sklearn.metrics import auc, roc_auc_score, roc_curve

from textassay.discriminator.fold_scores import N_ROC_POINTS, roc_points


def _scores(n_real: int, n_generated: int, *, places: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(0.6, 0.3, n_real).round(places), rng.normal(0.4, 0.3, n_generated).round(places)


def test_hand_worked_curve() -> None:
    real, generated = np.array([0.9, 0.5, 0.5, 0.1]), np.array([0.5, 0.1])
    assert roc_points(real, generated) == [[0.0, 0.0], [0.0, 0.25], [0.5, 0.75], [1.0, 1.0]]


@pytest.mark.parametrize(("n_real", "n_generated", "places"), [(3000, 500, 12), (40, 4000, 12), (2000, 2000, 1)])
def test_few_points_lie_on_the_whole_curve_and_keep_its_area(n_real: int, n_generated: int, places: int) -> None:
    real, generated = _scores(n_real, n_generated, places=places)
    points = np.array(roc_points(real, generated))
    labels, scores = np.repeat([1, 0], [n_real, n_generated]), np.concatenate([real, generated])
    false, true, _ = roc_curve(labels, scores, drop_intermediate=False)
    exact = set(zip(false.round(9).tolist(), true.round(9).tolist(), strict=True))
    assert {tuple(point) for point in points.round(9).tolist()} <= exact
    assert len(points) <= N_ROC_POINTS
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert auc(points[:, 0], points[:, 1]) == pytest.approx(roc_auc_score(labels, scores), abs=0.005)


def test_scores_that_are_all_equal_give_the_diagonal() -> None:
    assert roc_points(np.full(5, 0.5), np.full(3, 0.5)) == [[0.0, 0.0], [1.0, 1.0]]
