"""The compiled logistic regression against scikit-learn's, and its own optimum."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from textassay.discriminator.newton import fit_logistic


def problem(n_rows: int = 300, n_features: int = 80, share: float = 0.3) -> tuple[csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    features = csr_matrix(rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.1))
    truth = rng.normal(size=n_features)
    signal = np.asarray(features @ truth)
    return features, signal + rng.normal(size=n_rows) > np.quantile(signal, 1 - share)


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_equals_scikit_learn(c: float) -> None:
    features, is_real = problem()
    peer = LogisticRegression(C=c, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(features, is_real)
    found = fit_logistic(features, is_real, c=c, tolerance=1e-10)
    assert found[:-1] == pytest.approx(peer.coef_[0], abs=1e-4)
    assert found[-1] == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_the_intercept_balances_the_classes() -> None:
    features, is_real = problem(share=0.1)
    found = fit_logistic(features, is_real, c=1.0, tolerance=1e-10)
    scores = 1 / (1 + np.exp(-(features @ found[:-1] + found[-1])))
    assert scores[is_real].mean() + scores[~is_real].mean() == pytest.approx(1)


def test_a_warm_start_leads_to_the_same_place() -> None:
    features, is_real = problem()
    start = fit_logistic(features, is_real, c=0.1, tolerance=0.01)
    given = start.copy()
    warm = fit_logistic(features, is_real, c=3.0, tolerance=1e-9, start=start)
    assert warm == pytest.approx(fit_logistic(features, is_real, c=3.0, tolerance=1e-9), abs=1e-6)
    assert np.array_equal(start, given)


def test_separable_classes_and_huge_strengths_end() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    found = fit_logistic(features, np.array([True, True, False]), c=1e8, tolerance=1e-6)
    assert np.isfinite(found).all()
    assert found[0] > 0 > found[1]


def test_features_that_never_occur_get_nothing() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert fit_logistic(features, np.array([True, False]), c=1.0, tolerance=1e-6)[1] == 0
