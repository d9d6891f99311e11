"""The Fréchet distance between two Gaussians, from moments in double precision.

Source: Dowson and Landau, "The Fréchet distance between multivariate normal distributions", Journal of Multivariate
Analysis 12, 1982.
Departs from it: the trace of the root of ``C_real C_generated``, a product that is not symmetric and has no stable root
where either is singular, is that of the symmetric ``R' C_generated R`` with ``C_real = R R'``, which has the same
eigenvalues. R has as many columns as `C_real` has directions, so that small and collapsed samples need no ridge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.execution.threads import one_blas_thread, parallel_map

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating[Any]]

_ROWS = 1024  # multiplied at once, while they lie in the processor's cache
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Moments:
    """Number of vectors, their mean, shape (d,), and the sum of outer products of deviations from it, shape (d, d)."""

    n: int
    mean: FloatArray
    scatter: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """With ddof 1, shape (d, d)."""
        return self.scatter / (self.n - 1)

    @classmethod
    def merge(cls, parts: Sequence["Moments"]) -> "Moments":
        """Return the moments of all vectors of the `parts`."""
        n = sum(part.n for part in parts)
        mean = sum((part.n / n) * part.mean for part in parts)
        shifts = np.array([part.mean - mean for part in parts]) * np.sqrt([[part.n] for part in parts])
        scatter = sum((part.scatter for part in parts), shifts.T @ shifts)
        return cls(n, np.asarray(mean), np.asarray(scatter))


def moments(features: Vectors) -> Moments:
    """Return the moments of vectors, shape (n, d), n at least 1."""
    n = len(features)
    shift = features[: min(n, _ROWS)].mean(axis=0, dtype=np.float64)  # near the mean: little is lost to rounding

    def sums(start: int) -> tuple[FloatArray, FloatArray]:
        block = np.asarray(features[start : start + _ROWS] - shift, dtype=np.float64)
        return block.sum(axis=0), block.T @ block

    with one_blas_thread():
        parts = parallel_map(sums, range(0, n, _ROWS))
    offset = np.sum([part[0] for part in parts], axis=0) / n
    scatter = parts[0][1]
    for part in parts[1:]:
        scatter += part[1]
    scatter -= n * np.outer(offset, offset)
    return Moments(n, shift + offset, scatter)


@dataclass(frozen=True)
class Root:
    """Factors of a covariance: ``matrix @ matrix.T`` is it, and ``inverse @ matrix`` is one; shapes (d, r), (r, d)."""

    matrix: FloatArray
    inverse: FloatArray


def root(covariance: FloatArray) -> Root:
    """Return the root of a covariance over the directions in which it is not zero, up to rounding."""
    with one_blas_thread():
        values, vectors = np.linalg.eigh(covariance)
    kept = values > len(values) * _EPSILON * max(float(values[-1]), 0.0)
    lengths = np.sqrt(values[kept])
    return Root(vectors[:, kept] * lengths, vectors[:, kept].T / lengths[:, None])


def frechet(generated: Moments, real: Moments, real_root: FloatArray | None = None) -> tuple[float, float]:
    """Return the two parts of the squared Fréchet distance: that of the means, and that of the covariances.

    `real_root`: R with ``R R' = real.covariance``, where it is known.

    ``|m_r - m_g|^2`` and ``tr(C_r + C_g - 2 (C_r C_g)^(1/2))``, each at least 0. Rounding leaves about 1e-7 of the
    trace in the second.
    """
    shift = generated.mean - real.mean
    own, other = real.covariance, generated.covariance
    with one_blas_thread():
        if real_root is None:
            real_root = _cholesky(own)
        values = np.linalg.eigvalsh(real_root.T @ other @ real_root)
    spread = np.trace(own) + np.trace(other) - 2 * np.sqrt(np.maximum(values, 0)).sum()
    return float(shift @ shift), max(float(spread), 0.0)


def influence(
    generated: Vectors, of_generated: Moments, real: Vectors, of_real: Moments, real_root: Root
) -> tuple[FloatArray, FloatArray]:
    """Return by how much each real and each generated vector moves the distance, means 0.

    `generated`, `real`: shapes (n_generated, d) and (n_real, d).

    Shapes (n_real,) and (n_generated,): n times what the value changes with the weight 1 / n of one vector.

    For a generated x it is ``2 (m_g - m_r)'(x - m_g) + |x - m_g|^2 - (x - m_g)' T (x - m_g)``, less the mean. With ``R'
    C_g R = U L U'``, ``T = R U L^(-1/2) U' R'`` maps the generated to the real Gaussian, and its inverse maps back.
    Both act on the directions of the samples only, so that eigenvalues of zero are left out.
    """
    factor = real_root.matrix
    with one_blas_thread():
        values, rotation = np.linalg.eigh(factor.T @ of_generated.covariance @ factor)
        kept = values > len(values) * _EPSILON * float(values.max(initial=0.0))
        quarter = values[kept] ** 0.25
        onto_real = (factor @ rotation[:, kept]) / quarter
        onto_generated = (real_root.inverse.T @ rotation[:, kept]) * quarter
    shift = of_generated.mean - of_real.mean
    return (
        _quadratic(real, of_real.mean, -2 * shift, onto_generated),
        _quadratic(generated, of_generated.mean, 2 * shift, onto_real),
    )


def _quadratic(vectors: Vectors, mean: FloatArray, slope: FloatArray, factor: FloatArray) -> FloatArray:
    """Return ``slope'y + |y|^2 - |factor'y|^2`` for the deviation y of each vector from `mean`, less the mean of it."""

    def terms(start: int) -> FloatArray:
        y = np.asarray(vectors[start : start + _ROWS] - mean, dtype=np.float64)
        mapped = y @ factor
        squares: FloatArray = np.einsum("ij,ij->i", y, y) - np.einsum("ij,ij->i", mapped, mapped)
        return squares + y @ slope

    with one_blas_thread():
        values = np.concatenate(parallel_map(terms, range(0, len(vectors), _ROWS)))
    return np.asarray(values - values.mean(), dtype=np.float64)


def _cholesky(covariance: FloatArray) -> FloatArray:
    """Return a triangular root, ten times as fast as that of `root`; that of `root` where there is no such one."""
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        return root(covariance).matrix
