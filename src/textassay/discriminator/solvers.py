"""Solvers of logistic regression: on sparse rows of n-grams, and on dense columns (a stack's top, a family's blend).

Sparse rows: Newton's method with conjugate gradients, compiled. Sources: Lin, Weng, Keerthi, "Trust region Newton
method for large-scale logistic regression", JMLR 9, 2008; Nocedal and Wright, "Numerical Optimization", algorithm 7.1
(line search Newton-CG), here with a diagonal preconditioner. Why not scikit-learn's: its linear algebra adds numbers up
in an order that depends on how many threads there are, and it starts every fit from nothing, where the solution for a
stronger regularisation is near; a path of five fits takes a third of the time here. The intercept is not regularised,
so that both classes weigh the same in the solution.

Dense columns are standardised first, so that one strength of regularisation suits all. Tens of columns are fitted by
Newton's method, which keeps a Hessian while it moves little, hundreds by scikit-learn's L-BFGS. Gradients are in
float64, so that the minimum does not depend on the Hessian, whose products are in float32. Not by SciPy's
``trust-exact``, which forms a Hessian at each step and takes four times as long, nor by scikit-learn's
``newton-cholesky``. Where coefficients have a least value, SciPy's bounded L-BFGS.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from textassay.discriminator.kernels import minimise_sparse_logistic
from textassay.execution.threads import one_blas_thread

FloatArray = npt.NDArray[np.float64]

_CG_SHARE = 0.5  # of the tolerance of the fit: no step is more exact than that needs

_TOLERANCE = 1e-7  # of the gradient, per unit of weight
MANY_COLUMNS = 128
_ROWS_AT_ONCE = 1 << 11
_MOST_STEPS = 200
_FAR = 0.05  # log-odds that moved by more than this, root mean square, ask for a new Hessian
_DECREASE = 1e-4  # what part of the decrease that the gradient promises is enough
_ROUNDING = 1e-12  # of a loss
_SMALLEST_STEP = 1e-6
_LARGER = 1e-4  # of the largest number on a diagonal
_MOST_ODDS = 700.0  # the exponential of more is infinite
_LITTLE = 1e-9  # of a loss: bounded L-BFGS ends where it gains no more


def fit_logistic(
    features: csr_matrix,
    is_real: npt.NDArray[np.bool_],
    *,
    c: float,
    tolerance: float,
    start: FloatArray | None = None,
    full_steps: bool = False,
    rows: npt.NDArray[np.int64] | None = None,
) -> FloatArray:
    """Return the coefficients of the logistic regression, the intercept last.

    `features`: shape (n_rows, n_features), taken in float32; `is_real`: class of each row, shape (n_rows,); `start`:
    where to start, shape (n_features + 1,): near the solution for a smaller `c`, or none for zeros; `full_steps`:
    whether steps are found more exactly than `tolerance` needs; `rows`: those that are fitted, all where None.

    Shape (n_features + 1,), the minimum of ``|coefficients|^2 / 2 + c * sum of weight * cross-entropy``, intercept not
    counted in the first part; weights have a mean of 1. The same bits whatever else runs.
    """
    rows = np.arange(features.shape[0]) if rows is None else rows
    is_real = is_real[rows]
    share = np.count_nonzero(is_real) / len(rows)
    weights = np.where(is_real, c / (2 * share), c / (2 * (1 - share)))
    signs = np.where(is_real, 1.0, -1.0)
    first = np.zeros(features.shape[1] + 1) if start is None else start.astype(np.float64)
    solution: FloatArray = minimise_sparse_logistic(
        features.data.astype(np.float32),
        features.indices,
        features.indptr,
        rows,
        signs,
        weights,
        first,
        float(tolerance),
        0.0 if full_steps else _CG_SHARE,
    )
    return solution


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
        return np.asarray(expit(self.log_odds(columns)), dtype=np.float64)


def fit_dense_logistic(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    *,
    c: float,
    emphasis: FloatArray | None = None,
    most_newton: int = MANY_COLUMNS,
    least: FloatArray | None = None,
    start: DenseLogistic | None = None,
) -> DenseLogistic:
    """Return the logistic regression of `is_real` on standardised `columns`; both classes weigh the same.

    `columns`: shape (n_rows, n_columns), finite; `is_real`: shape (n_rows,), both classes present; `c`: inverse
    strength of regularisation, above 0; `emphasis`: scale of each standardised column, shape (n_columns,), above 0: a
    column of 0.5 is held back four times as much as one of 1, which all are where None; `most_newton`: so many columns
    are fitted by Newton's method, more by L-BFGS; `least`: the least coefficient of each column, shape (n_columns,),
    ``-inf`` where it may be any; `start`: where the search starts, the fit of like columns.
    """
    of_path: Any = {"emphasis": emphasis, "most_newton": most_newton, "least": least, "start": start}
    return next(dense_logistic_path(columns, is_real, [c], **of_path))


def dense_logistic_path(
    columns: FloatArray,
    is_real: npt.NDArray[np.bool_],
    strengths: Sequence[float],
    *,
    emphasis: FloatArray | None = None,
    most_newton: int = MANY_COLUMNS,
    least: FloatArray | None = None,
    start: DenseLogistic | None = None,
) -> Iterator[DenseLogistic]:
    """Yield `fit_dense_logistic` for each strength, each found from the one before."""
    n_rows, n_columns = columns.shape
    design = np.empty((n_rows, n_columns + 1))
    design[:, -1] = 1.0
    means = columns.mean(axis=0)
    standardised = np.subtract(columns, means, out=design[:, :-1])
    scales = _root_mean_squares(standardised)
    scales = np.where(scales > 1e-9 * (1 + np.abs(means)), scales, np.inf)
    if emphasis is not None:
        scales = scales / emphasis
    standardised /= scales
    if n_columns > most_newton and least is None:
        model = LogisticRegression(class_weight="balanced", tol=_TOLERANCE, max_iter=1000, warm_start=True)
        for c in strengths:
            with one_blas_thread():  # the same bits whatever the number of processors
                model.set_params(C=c).fit(standardised, is_real)
            yield DenseLogistic(means, scales, model.coef_[0].copy(), float(model.intercept_[0]))
        return
    share = np.count_nonzero(is_real) / n_rows
    weights = np.where(is_real, 1 / (2 * share), 1 / (2 * (1 - share)))
    ridge = np.append(np.ones(n_columns), 1e-9)
    theta = np.zeros(n_columns + 1) if start is None else np.append(start.coefficients, start.intercept)
    floor = None if least is None else np.append(least, -np.inf)
    with one_blas_thread():
        minima = _minima(_Loss(design, is_real, weights), strengths, ridge, theta, 0.0, floor)
    for theta in minima:
        yield DenseLogistic(means, scales, theta[:-1], float(theta[-1]))


def _root_mean_squares(columns: FloatArray) -> FloatArray:
    total = np.zeros(columns.shape[1])
    for rows in _blocks(len(columns)):
        total += np.square(columns[rows]).sum(axis=0)
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
    least: FloatArray | None = None,
) -> FloatArray:
    """Return the coefficients with the least sum of weighted cross-entropies and ``ridge @ (theta - centre)^2 / 2``.

    `design`, shape (n_rows, n_columns); `is_real`, `weights`, shape (n_rows,); `ridge`, `start`, and `least`, below
    which no coefficient is, shape (n_columns,).
    """
    with one_blas_thread():  # the same bits whatever the number of processors
        return _minima(_Loss(design, is_real, weights), [1.0], ridge, start, centre, least)[0]


class _Loss:
    """The sum of weighted cross-entropies, its gradient and its Hessian, all in one pass over blocks of rows."""

    def __init__(self, design: FloatArray, is_real: npt.NDArray[np.bool_], weights: FloatArray) -> None:
        self.design = design
        self.weights = weights
        self.total = float(weights.sum())
        self._signs = np.where(is_real, 1.0, -1.0)
        self._scaled = np.empty((min(_ROWS_AT_ONCE, len(design)), design.shape[1]), dtype=np.float32)

    def at(self, theta: FloatArray, hessian: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Return value and gradient; `hessian`, shape (n_columns, n_columns), is filled, from products in float32."""
        value, gradient = 0.0, np.zeros(len(theta))
        if hessian is not None:
            hessian[:] = 0.0
        for rows in _blocks(len(self.design)):
            block, weights, signs = self.design[rows], self.weights[rows], self._signs[rows]
            ratio = np.exp(-np.maximum(signs * (block @ theta), -_MOST_ODDS))  # of wrong to right
            right = 1 / (1 + ratio)
            slopes = weights * (ratio * right)
            value += float(weights @ np.log1p(ratio))
            gradient -= (slopes * signs) @ block
            if hessian is not None:
                scaled = self._scaled[: len(block)]
                np.multiply(block, np.sqrt(slopes * right)[:, None], out=scaled, casting="same_kind")
                hessian += scaled.T @ scaled
        return value, gradient


def _minima(
    loss: _Loss,
    strengths: Sequence[float],
    ridge: FloatArray,
    start: FloatArray,
    centre: FloatArray | float,
    least: FloatArray | None,
) -> list[FloatArray]:
    """Return for each strength where strength times the loss and the ridge is least, by Newton's method from the last.

    A Hessian serves until a step moves log-odds by more than `_FAR`; the gradient decides where the minimum is.
    """
    if least is not None:
        return _bounded_minima(loss, strengths, ridge, start, centre, least)
    theta = start
    hessian, new_hessian = (np.empty((len(start), len(start))) for _ in range(2))
    value, gradient = loss.at(theta, hessian)
    minima = []
    for strength in strengths:
        goal = _TOLERANCE * strength * loss.total
        objective = strength * value + float(ridge @ (theta - centre) ** 2) / 2
        factor = _factor(strength * hessian + np.diag(ridge))
        for _ in range(_MOST_STEPS):
            slope = strength * gradient + ridge * (theta - centre)
            if float(np.linalg.norm(slope)) < goal:
                break
            step = -cho_solve(factor, slope)
            moved = math.sqrt(max(float(step @ hessian @ step), 0.0) / loss.total)
            size, lower = 1.0, False
            while not lower and size > _SMALLEST_STEP:
                there = theta + size * step
                is_far = size * moved > _FAR
                value, there_gradient = loss.at(there, new_hessian if is_far else None)
                enough = objective + _DECREASE * size * float(slope @ step) + _ROUNDING * abs(objective)
                reached = strength * value + float(ridge @ (there - centre) ** 2) / 2
                lower = reached <= enough
                size /= 2
            if not lower:  # no smaller value can be told from this one
                value = loss.at(theta)[0]
                break
            theta, gradient, objective = there, there_gradient, reached
            if is_far:
                hessian, new_hessian = new_hessian, hessian
                factor = _factor(strength * hessian + np.diag(ridge))
        minima.append(theta)
    return minima


def _bounded_minima(
    loss: _Loss,
    strengths: Sequence[float],
    ridge: FloatArray,
    start: FloatArray,
    centre: FloatArray | float,
    least: FloatArray,
) -> list[FloatArray]:
    """Return the same of coefficients that are at least `least`."""

    def objective(theta: FloatArray, strength: float) -> tuple[float, FloatArray]:
        value, gradient = loss.at(theta)
        away = theta - centre
        return strength * value + float(ridge @ away**2) / 2, strength * gradient + ridge * away

    theta, minima = np.maximum(start, least), []
    for strength in strengths:
        of_search: Any = {
            "args": (strength,),
            "bounds": Bounds(least),
            "options": {"gtol": _TOLERANCE * strength * loss.total, "ftol": _LITTLE, "maxiter": 1000, "maxfun": 2000},
        }
        theta = minimize(objective, theta, jac=True, method="L-BFGS-B", **of_search).x
        minima.append(theta)
    return minima


def _factor(matrix: FloatArray) -> tuple[FloatArray, bool]:
    """Return the Cholesky factor; where rounding left the matrix without one, of one with a larger diagonal."""
    try:
        factor: tuple[FloatArray, bool] = cho_factor(matrix)
    except LinAlgError:
        factor = cho_factor(matrix + np.diag(np.full(len(matrix), _LARGER * matrix.diagonal().max())))
    return factor
