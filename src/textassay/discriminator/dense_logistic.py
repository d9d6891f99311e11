"""Logistic regression on a few dense columns, by Newton's method: the top of a stack.

Columns are standardised first, so that one strength of regularisation suits all. The loss is convex and its Hessian
small, so the solution is exact within some ten steps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.execution import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_MOST_STEPS = 50
_MOST_HALVINGS = 30
_SMALL_DECREASE = 1e-7  # of the loss per unit of weight; nothing that is rounded shows less


@dataclass(frozen=True)
class DenseLogistic:
    """A fitted model; log-odds are ``(columns - means) / scales @ coefficients + intercept``, shapes (n_columns,)."""

    means: FloatArray
    scales: FloatArray
    coefficients: FloatArray
    intercept: float

    def log_odds(self, columns: FloatArray) -> FloatArray:
        """Return the log-odds of being real, shape (N,), of rows of shape (N, n_columns)."""
        # einsum: a row's sum does not depend on the rows around it
        return np.asarray(
            np.einsum("ij,j->i", (columns - self.means) / self.scales, self.coefficients) + self.intercept,
            dtype=np.float64,
        )


def fit_dense_logistic(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    *,
    c: float,
    emphasis: FloatArray | None = None,
    start: DenseLogistic | None = None,
) -> DenseLogistic:
    """Return the logistic regression of `is_real` on standardised `columns`.

    `columns`: shape (n_rows, n_columns), finite; `is_real`: shape (n_rows,), both classes present; `c`: inverse
    strength of regularisation, above 0: the minimised sum is ``|coefficients|^2 / 2 + c * sum of weight *
    cross-entropy``, with weights of mean 1; the intercept is free; `emphasis`: scale of each standardised column, shape
    (n_columns,), above 0: a column of 0.5 is held back four times as much as one of 1, which all are where None.
    """
    means, scales = columns.mean(axis=0), columns.std(axis=0)
    scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, np.inf)
    if emphasis is not None:
        scales = scales / emphasis
    n, n_columns = columns.shape
    design = np.empty((n, n_columns + 1))
    design[:, :-1] = (columns - means) / scales
    design[:, -1] = 1.0
    share = np.count_nonzero(is_real) / n
    weights = np.where(is_real, c / (2 * share), c / (2 * (1 - share)))
    signs = np.where(is_real, 1.0, -1.0)
    ridge = np.append(np.ones(n_columns), 1e-9)
    theta = np.zeros(n_columns + 1)
    if start is not None:
        theta = np.append(start.coefficients, start.intercept)

    def loss(odds: FloatArray, theta: FloatArray) -> float:
        return float(np.sum(weights * np.logaddexp(0, -signs * odds)) + np.sum(ridge * theta**2) / 2)

    with one_blas_thread():  # the same bits whatever the number of processors
        odds = design @ theta
        value = loss(odds, theta)
        for _ in range(_MOST_STEPS):
            wrong = expit(-signs * odds)
            gradient = ridge * theta - design.T @ (weights * signs * wrong)
            scaled = design * np.sqrt(weights * wrong * (1 - wrong))[:, None]
            step = np.linalg.solve(scaled.T @ scaled + np.diag(ridge + 1e-9), -gradient)
            along = design @ step
            size = 1.0
            for _ in range(_MOST_HALVINGS):
                new_value = loss(odds + size * along, theta + size * step)
                if new_value < value:
                    break
                size /= 2
            decrease = value - new_value
            if decrease <= 0:
                break
            theta, odds, value = theta + size * step, odds + size * along, new_value
            if decrease < _SMALL_DECREASE * c * n:
                break
    return DenseLogistic(means, scales, theta[:-1], float(theta[-1]))
