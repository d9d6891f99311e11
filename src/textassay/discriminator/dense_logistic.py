"""Logistic regression on dense columns (the top of a stack, sentence vectors), by scikit-learn.

Columns are standardised first, so that one strength of regularisation suits all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from textassay.execution import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_TOLERANCE = 1e-7  # of the gradient, per unit of weight


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
    columns: FloatArray, is_real: npt.NDArray[np.bool_], *, c: float, emphasis: FloatArray | None = None
) -> DenseLogistic:
    """Return the logistic regression of `is_real` on standardised `columns`; both classes weigh the same.

    `columns`: shape (n_rows, n_columns), finite; `is_real`: shape (n_rows,), both classes present; `c`: inverse
    strength of regularisation, above 0; `emphasis`: scale of each standardised column, shape (n_columns,), above 0: a
    column of 0.5 is held back four times as much as one of 1, which all are where None.
    """
    return next(dense_logistic_path(columns, is_real, [c], emphasis=emphasis))


def dense_logistic_path(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    strengths: Sequence[float],
    *,
    emphasis: FloatArray | None = None,
    solver: str = "newton-cholesky",
) -> Iterator[DenseLogistic]:
    """Yield `fit_dense_logistic` for each strength, each found from the one before; `lbfgs` for hundreds of columns."""
    means, scales = columns.mean(axis=0), columns.std(axis=0)
    scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, np.inf)
    if emphasis is not None:
        scales = scales / emphasis
    rows = (columns - means) / scales
    model = LogisticRegression(class_weight="balanced", solver=solver, tol=_TOLERANCE, max_iter=1000, warm_start=True)
    for c in strengths:
        with one_blas_thread():  # the same bits whatever the number of processors
            model.set_params(C=c).fit(rows, is_real)
        yield DenseLogistic(means, scales, model.coef_[0].copy(), float(model.intercept_[0]))
