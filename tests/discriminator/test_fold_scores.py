"""The receiver operating characteristic: exact points, few of them, with the area that ranks give."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import auc, roc_auc_score, roc_curve

from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.cross_fitting import N_ROC_POINTS, cross_fit, cross_fitted_plug_in, plug_in, roc_points
from textassay.discriminator.logistic import LogisticDiscriminator


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


@pytest.mark.parametrize("distance", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("squeeze", [1.0, 0.01, 20.0])
def test_it_is_the_total_variation_whatever_the_scale_of_the_scores(distance: float, squeeze: float) -> None:
    rng = np.random.default_rng(0)
    real, generated = (
        expit(squeeze * distance * rng.normal(mean, 1, 20_000)) for mean in (distance / 2, -distance / 2)
    )
    assert plug_in(real, generated, rng=rng) == pytest.approx(2 * norm.cdf(distance / 2) - 1, abs=0.02)


def test_sides_weigh_the_same_whatever_their_sizes() -> None:
    rng = np.random.default_rng(1)
    real, generated = rng.normal(0.5, 1, 30_000), rng.normal(-0.5, 1, 3_000)
    assert plug_in(real, generated, rng=rng) == pytest.approx(2 * norm.cdf(0.5) - 1, abs=0.03)


def test_two_levels_of_scores_worked_out_by_hand() -> None:
    # Real: 3 of 4 have the high score, generated: 1 of 4; so eta is 3/4 and 1/4, |2 eta - 1| is 1/2 everywhere.
    real, generated = np.array([0.9] * 300 + [0.1] * 100), np.array([0.9] * 100 + [0.1] * 300)
    assert plug_in(real, generated, rng=np.random.default_rng(2)) == pytest.approx(0.5, abs=0.03)
    assert plug_in(np.ones(50), np.zeros(50), rng=np.random.default_rng(2)) == 1


def test_equal_distributions_have_a_bias_that_falls_with_the_number_of_sentences() -> None:
    rng = np.random.default_rng(3)
    means = [np.mean([plug_in(*rng.random((2, n)), rng=rng) for _ in range(30)]) for n in (200, 2000)]
    assert 0.01 < means[1] < 0.5 * means[0] < 0.1


def test_scores_the_wrong_way_round_are_not_turned() -> None:
    rng = np.random.default_rng(4)
    assert plug_in(rng.normal(-1, 1, 5000), rng.normal(1, 1, 5000), rng=rng) < 0.01


def test_a_cross_fit_gives_the_mean_over_its_classifiers() -> None:
    texts = {"real": ["a b c", "a c d"] * 60, "generated": ["a b c", "d d d"] * 60}
    corpora = corpora_from_texts(texts)
    fit = cross_fit(LogisticDiscriminator(), corpora["real"], corpora["generated"], folds=3, seed=0)
    found = cross_fitted_plug_in(fit, seed=0)
    assert found is not None
    assert found == pytest.approx(0.5, abs=0.1)
    assert found == cross_fitted_plug_in(fit, seed=0)


def test_a_fold_of_one_sentence_has_none() -> None:
    texts = {"real": ["a b c", "a c d"] * 10, "generated": ["a b c", "d d d", "x", "y"] * 5}
    groups = {"generated": np.minimum(np.arange(20), 2)}
    corpora = corpora_from_texts(texts, groups=groups)
    fit = cross_fit(LogisticDiscriminator(), corpora["real"], corpora["generated"], folds=3, seed=0)
    assert cross_fitted_plug_in(fit, seed=0) is None
