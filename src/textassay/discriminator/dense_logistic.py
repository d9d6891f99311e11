"""Logistic regression on dense columns: the top of a stack, sentence vectors, the blend of a family.

Columns are standardised first, so that one strength of regularisation suits all. Tens of columns are fitted by SciPy's
trust-region Newton method, hundreds by scikit-learn's L-BFGS. Not by scikit-learn's ``newton-cholesky``: it warns where
it begins at the solution, as on texts that are all alike, and takes 1.4 times as long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from textassay.execution import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_TOLERANCE = 1e-7  # of the gradient, per unit of weight
MANY_COLUMNS = 128
_ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class DenseLogistic:
    """A fitted model; log-odds are ``(columns - means) / scales @ coefficients + intercept``, shapes (n_columns,)."""

    means: FloatArray
    scales: FloatArray
    coefficients: FloatArray
    intercept: float

    def log_odds(self, columns: npt.NDArray[np.floating]) -> FloatArray:
        """Return the log-odds of being real, shape (N,), of rows of shape (N, n_columns)."""
        # einsum: a row's sum does not depend on the rows around it
        odds = np.einsum("ij,j->i", (columns - self.means) / self.scales, self.coefficients) + self.intercept
        return np.asarray(odds, dtype=np.float64)

    def prob_real(self, columns: npt.NDArray[np.floating]) -> FloatArray:
        """Return the probability of being real, shape (N,)."""
        return np.asarray(expit(self.log_odds(columns)), dtype=np.float64)


def fit_dense_logistic(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    *,
    c: float,
    emphasis: FloatArray | None = None,
    most_newton: int = MANY_COLUMNS,
) -> DenseLogistic:
    """Return the logistic regression of `is_real` on standardised `columns`; both classes weigh the same.

    `columns`: shape (n_rows, n_columns), finite; `is_real`: shape (n_rows,), both classes present; `c`: inverse
    strength of regularisation, above 0; `emphasis`: scale of each standardised column, shape (n_columns,), above 0: a
    column of 0.5 is held back four times as much as one of 1, which all are where None; `most_newton`: so many columns
    are fitted by Newton's method, more by L-BFGS.
    """
    return next(dense_logistic_path(columns, is_real, [c], emphasis=emphasis, most_newton=most_newton))


def dense_logistic_path(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    strengths: Sequence[float],
    *,
    emphasis: FloatArray | None = None,
    most_newton: int = MANY_COLUMNS,
) -> Iterator[DenseLogistic]:
    """Yield `fit_dense_logistic` for each strength, each found from the one before."""
    means = columns.mean(axis=0)
    scales = _standard_deviations(columns, means)
    scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, np.inf)
    if emphasis is not None:
        scales = scales / emphasis
    n_rows, n_columns = columns.shape
    design = np.empty((n_rows, n_columns + 1))
    np.subtract(columns, means, out=design[:, :-1])
    np.divide(design[:, :-1], scales, out=design[:, :-1])
    design[:, -1] = 1.0
    if n_columns > most_newton:
        model = LogisticRegression(class_weight="balanced", tol=_TOLERANCE, max_iter=1000, warm_start=True)
        for c in strengths:
            with one_blas_thread():  # the same bits whatever the number of processors
                model.set_params(C=c).fit(design[:, :-1], is_real)
            yield DenseLogistic(means, scales, model.coef_[0].copy(), float(model.intercept_[0]))
        return
    share = np.count_nonzero(is_real) / n_rows
    weights = np.where(is_real, 1 / (2 * share), 1 / (2 * (1 - share)))
    ridge = np.append(np.ones(n_columns), 1e-9)
    theta = np.zeros(n_columns + 1)
    for c in strengths:
        theta = minimise_logistic(design, is_real, c * weights, ridge, start=theta)
        yield DenseLogistic(means, scales, theta[:-1], float(theta[-1]))


def _standard_deviations(columns: FloatArray, means: FloatArray) -> FloatArray:
    total = np.zeros(len(means))
    for rows in _blocks(len(columns)):
        total += np.square(columns[rows] - means).sum(axis=0)
    return np.asarray(np.sqrt(total / len(columns)), dtype=np.float64)


def _blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices of rows that fit a processor's cache."""
    return (slice(first, first + _ROWS_AT_ONCE) for first in range(0, n_rows, _ROWS_AT_ONCE))


def minimise_logistic(
    design: FloatArray,
    is_real: npt.NDArray[np.bool_],
    weights: FloatArray,
    ridge: FloatArray,
    *,
    start: FloatArray,
    centre: FloatArray | float = 0.0,
) -> FloatArray:
    """Return the coefficients with the least sum of weighted cross-entropies and ``ridge @ (theta - centre)^2 / 2``.

    `design`, shape (n_rows, n_columns); `is_real`, `weights`, shape (n_rows,); `ridge`, `start`, shape (n_columns,).
    """
    signs = np.where(is_real, 1.0, -1.0)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        odds = signs * (design @ theta)
        value = weights @ np.logaddexp(0, -odds) + ridge @ (theta - centre) ** 2 / 2
        return float(value), ridge * (theta - centre) - design.T @ (weights * signs * expit(-odds))

    def curvature(theta: FloatArray) -> FloatArray:
        total = np.zeros((len(theta), len(theta)))
        for rows in _blocks(len(design)):
            odds = design[rows] @ theta
            scaled = design[rows] * np.sqrt(weights[rows] * expit(odds) * expit(-odds))[:, None]
            total += scaled.T @ scaled
        return np.asarray(total + np.diag(ridge), dtype=np.float64)

    gtol = _TOLERANCE * float(weights.sum())
    with one_blas_thread():  # the same bits whatever the number of processors
        theta = minimize(
            loss,
            start,
            jac=True,
            hess=curvature,
            method="trust-exact",
            options={"gtol": gtol, "initial_trust_radius": 100.0},
        ).x
    return np.asarray(theta, dtype=np.float64)
