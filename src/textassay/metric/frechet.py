"""Fréchet embedding distance (fed): between Gaussians fitted to the sentence vectors of real and generated text.

Source: Heusel et al., "GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium", NeurIPS
2017; for sentences: Semeniuta, Severyn, Gelly, "On Accurate Evaluation of GANs for Language Generation", 2018; limit of
many sentences: Chong and Forsyth, "Effectively Unbiased FID and Inception Score and Where to Find Them", CVPR 2020;
the distance of Gaussians: Dowson and Landau, "The Fréchet distance between multivariate normal distributions", Journal
of Multivariate Analysis 12, 1982.
Departs from them: any encoder; an interval, from the influence of each sentence; what real text scores against itself
at these sizes; the limit from two points, the halves and the whole, instead of a line through fifteen. The trace of the
root of ``C_real C_generated``, a product that is not symmetric and has no stable root where either is singular, is that
of the symmetric ``R' C_generated R`` with ``C_real = R R'``, which has the same eigenvalues, in double precision. R has
as many columns as `C_real` has directions, so that small and collapsed samples need no ridge.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import halves
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.store import features, fit_encoder, resolve_encoder
from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.base import MOST_VECTORS, Computed, EncoderName, compute_once, declare_metric
from textassay.resampling.jackknife import text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating[Any]]

_ROWS = 1024  # multiplied at once, while they lie in the processor's cache
_EPSILON = float(np.finfo(np.float64).eps)


@declare_metric(
    "fed",
    "Fréchet distance between Gaussians fitted to the sentence vectors of both sides",
    unit="squared distance",
    better="lower",
    bounds=(0, math.inf),
    most=MOST_VECTORS,
    at_least=2,
)
def fed(generated: Corpus, real: Corpus, *, encoder: EncoderName = "lsa+lm", seed: int = 0) -> Computed:
    """Return the Fréchet distance between the sentence vectors of two corpora.

    Parameters
    ----------
    generated, real
        At least two sentences each. More than there are dimensions, better many more: see below.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`; fitted to `real` alone.
    seed
        Decides which sentences form the halves of the details.

    Returns
    -------
    Estimate
        Squared distance, at least 0, lower is closer; its scale is that of the encoder. Two samples of one distribution
        have a distance above 0 that falls with their number: compare at equal sizes. Details: `bias`, what two samples
        of `real` of these sizes score, judged by its halves; `extrapolated`, the value in the limit of many sentences,
        twice the value less that of halves, which may be slightly negative (both None where they would rest on no more
        sentences than the vectors have dimensions, since the excess then does not fall as 1 / n); `means` and
        `covariances`, the parts of the value.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has less than two sentences.
    UnavailableError
        If the encoder needs what a corpus does not come with.

    Notes
    -----
    ``|m_r - m_g|^2 + tr(C_r + C_g - 2 (C_r C_g)^(1/2))`` with means m and covariances C (ddof 1). The interval
    linearises it (see `influence`), with the encoder as it is. It is for what samples of this
    size score on average, which is above the distance of the distributions by about `bias`.
    """
    state = compute_once(_real_side, real, resolve_encoder(encoder))
    vectors = features(state.encoder, generated)
    generated_halves = _moments_of_halves(generated, vectors, seed, "generated")
    fitted = Moments.merge(generated_halves)
    means, covariances = frechet(fitted, state.moments, state.root.matrix)
    value = sum((means, covariances))
    real_influence, generated_influence = influence(vectors, fitted, state.features, state.moments, state.root)
    real_halves = compute_once(_real_halves, real, resolve_encoder(encoder), seed)
    return Computed(
        value,
        terms={
            "generated": text_terms(value + generated_influence, generated.groups),
            "real": text_terms(value + real_influence, real.groups),
        },
        method="t: influence of each sentence, at this number of sentences, encoder fixed",
        sizes={"dimensions": state.features.shape[1]},
        settings={**state.encoder.settings, "ddof": 1},
        details={
            "means": means,
            "covariances": covariances,
            **_from_halves(value, generated_halves, real_halves, len(real)),
        },
    )


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
        n = sum(part.n for part in parts)
        mean = sum((part.n / n) * part.mean for part in parts)
        shifts = np.array([part.mean - mean for part in parts]) * np.sqrt([[part.n] for part in parts])
        scatter = sum((part.scatter for part in parts), shifts.T @ shifts)
        return cls(n, np.asarray(mean), np.asarray(scatter))


@dataclass(frozen=True)
class Root:
    """Factors of a covariance: ``matrix @ matrix.T`` is it, and ``inverse @ matrix`` is one; shapes (d, r), (r, d)."""

    matrix: FloatArray
    inverse: FloatArray


@dataclass(frozen=True)
class _RealSide:
    encoder: FittedEncoder
    features: Vectors
    moments: Moments
    root: Root


def _real_side(real: Corpus, encoder: Encoder) -> _RealSide:
    fitted = fit_encoder(encoder, real)
    vectors = features(fitted, real)
    of_real = moments(vectors)
    return _RealSide(fitted, vectors, of_real, root(of_real.covariance))


def _real_halves(real: Corpus, encoder: Encoder, seed: int) -> list[tuple[Moments, FloatArray]]:
    """Return moments and roots of the halves of real text."""
    both = _moments_of_halves(real, compute_once(_real_side, real, encoder).features, seed, "real")
    return [(half, root(half.covariance).matrix) for half in both if half.n > 1]


def _from_halves(
    value: float, generated: Sequence[Moments], real: Sequence[tuple[Moments, FloatArray]], n_real: int
) -> dict[str, float | None]:
    """Estimate the effect of sample size from the halves of both sides (one "half" where groups cannot be split)."""
    known: dict[str, float | None] = {"bias": None, "extrapolated": None}
    n_generated = sum(half.n for half in generated)
    n_dimensions = len(generated[0].mean)
    if len(real) < 2 or min(n_generated, *(half.n for half, _ in real)) <= max(n_dimensions, 1):
        return known
    (first, _), (second, second_root) = real
    at_halves = sum(frechet(first, second, second_root))
    known["bias"] = at_halves * (1 / n_generated + 1 / n_real) / (1 / first.n + 1 / second.n)
    if len(generated) == 2 and min(half.n for half in generated) > n_dimensions:
        pairs = zip(generated, real, strict=True)
        known["extrapolated"] = 2 * value - float(np.mean([sum(frechet(own, *other)) for own, other in pairs]))
    return known


def _moments_of_halves(corpus: Corpus, vectors: Vectors, seed: int, side: str) -> list[Moments]:
    """Return the moments of two random halves; of the whole where its groups cannot be halved."""
    if corpus.groups is not None and len(np.unique(corpus.groups)) < 2:
        return [moments(vectors)]
    return [moments(vectors[half]) for half in halves(len(corpus), stream(seed, "fed", "halves", side), corpus.groups)]


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


def root(covariance: FloatArray) -> Root:
    """Return the root of a covariance over the directions in which it is not zero, up to rounding."""
    with one_blas_thread():
        values, vectors = np.linalg.eigh(covariance)
    kept = values > len(values) * _EPSILON * max(float(values[-1]), 0.0)
    lengths = np.sqrt(values[kept])
    return Root(vectors[:, kept] * lengths, vectors[:, kept].T / lengths[:, None])


def frechet(generated: Moments, real: Moments, real_root: FloatArray) -> tuple[float, float]:
    """Return the two parts of the squared Fréchet distance: that of the means, and that of the covariances.

    `real_root`: R with ``R R' = real.covariance``.

    ``|m_r - m_g|^2`` and ``tr(C_r + C_g - 2 (C_r C_g)^(1/2))``, each at least 0. Rounding leaves about 1e-7 of the
    trace in the second.
    """
    shift = generated.mean - real.mean
    own, other = real.covariance, generated.covariance
    with one_blas_thread():
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
