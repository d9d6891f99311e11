"""Fréchet embedding distance (fed): between Gaussians fitted to the sentence vectors of real and generated text.

Source: Heusel et al., "GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium", NeurIPS
2017; for sentences: Semeniuta, Severyn, Gelly, "On Accurate Evaluation of GANs for Language Generation", 2018; limit of
many sentences: Chong and Forsyth, "Effectively Unbiased FID and Inception Score and Where to Find Them", CVPR 2020.
Departs from them: any encoder; double precision and a symmetric root (see `textassay.metric.gaussian`); an interval,
from the influence of each sentence; what real text scores against itself at these sizes; the limit from two points, the
halves and the whole, instead of a line through fifteen.
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
from textassay.metric.base import MOST_VECTORS, Computed, declare_metric
from textassay.metric.gaussian import Moments, Root, frechet, influence, moments, root
from textassay.metric.sharing import compute_once
from textassay.resampling.jackknife import text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating[Any]]


@declare_metric(
    "fed",
    "Fréchet distance between Gaussians fitted to the sentence vectors of both sides",
    unit="squared distance",
    better="lower",
    bounds=(0, math.inf),
    most=MOST_VECTORS,
    at_least=2,
)
def fed(generated: Corpus, real: Corpus, *, encoder: str | Encoder = "lsa+lm", seed: int = 0) -> Computed:
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
    linearises it (see `textassay.metric.gaussian.influence`), with the encoder as it is. It is for what samples of this
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


def frechet_distance(generated: Vectors, real: Vectors) -> float:
    """Return the squared Fréchet distance between two sets of vectors, shapes (n, d), n at least 2."""
    return sum(frechet(moments(generated), moments(real)))


@dataclass(frozen=True)
class _RealSide:
    """Features, moments and root of real text."""

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
