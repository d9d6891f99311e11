"""Fréchet embedding distance (fed): between Gaussians fitted to the sentence vectors of real and generated text.

Source: Heusel et al., "GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium", NeurIPS
2017; for sentences: Semeniuta, Severyn, Gelly, "On Accurate Evaluation of GANs for Language Generation", 2018; limit of
many sentences: Chong and Forsyth, "Effectively Unbiased FID and Inception Score and Where to Find Them", CVPR 2020.
Departs from them: any encoder; double precision and a symmetric root (see `textassay.metric.gaussian`); an interval,
from the influence of each sentence; what real text scores against itself at these sizes; the limit from two points, the
halves and the whole, instead of a line through fifteen.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts, halves
from textassay.embedding import Encoder, FittedEncoder, features, fit_encoder
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.encoded import OfVectors
from textassay.metric.gaussian import Moments, Root, frechet, influence, moments, root
from textassay.resampling import cluster_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating[Any]]


def fed(
    generated: Texts,
    real: Texts,
    *,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the Fréchet distance between the sentence vectors of two corpora.

    Parameters
    ----------
    generated, real
        At least two sentences each. More than there are dimensions, better many more: see below.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`; fitted to `real` alone.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form the halves of the details.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

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
    OptionError
        If a setting is out of range or the corpora have different vocabularies.
    UnavailableError
        If the encoder needs what a corpus does not come with.

    Notes
    -----
    ``|m_r - m_g|^2 + tr(C_r + C_g - 2 (C_r C_g)^(1/2))`` with means m and covariances C (ddof 1). The interval
    linearises it (see `textassay.metric.gaussian.influence`), with the encoder as it is. It is for what samples of this
    size score on average, which is above the distance of the distributions by about `bias`.
    """
    return measure(FrechetDistance(encoder=encoder, level=level), generated, real, seed=seed, **text)


def frechet_distance(generated: Vectors, real: Vectors) -> float:
    """Return the squared Fréchet distance between two sets of vectors, shapes (n, d), n at least 2."""
    return sum(frechet(moments(generated), moments(real)))


@dataclass(frozen=True)
class _Real:
    """Features, moments and root of real text; moments and roots of its halves, once a seed."""

    corpus: Corpus
    encoder: FittedEncoder
    features: Vectors
    moments: Moments
    root: Root
    known: dict[int, list[tuple[Moments, FloatArray]]] = field(default_factory=dict)

    def halves(self, seed: int) -> list[tuple[Moments, FloatArray]]:
        if seed not in self.known:
            both_halves = _moments_of_halves(self.corpus, self.features, seed, "real")
            self.known[seed] = [(half, root(half.covariance).matrix) for half in both_halves if half.n > 1]
        return self.known[seed]


@dataclass(frozen=True)
class _Statistics:
    """The value's two parts, the influence of each sentence, and the details."""

    real: _Real
    generated: Corpus
    seed: int
    parts: tuple[float, float]
    real_influence: FloatArray
    generated_influence: FloatArray
    details: Mapping[str, float | None]


@dataclass(frozen=True)
class FrechetDistance(OfVectors):
    """The metric `fed`; parameters as there."""

    encoder: str | Encoder = "lsa+lm"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """``fed``, with the encoder where it is not the default one."""
        return self.named("fed")

    @property
    def better(self) -> Better:
        """It is a distance."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Metrics that differ in their level alone share everything else."""
        return ("fed", self.encoder_name)

    def prepare(self, real: Corpus) -> _Real:
        """Return the Gaussian of the real text, as the encoder fitted to it sees it."""
        check_corpora(real, real, metric="fed", at_least=2)
        encoder = fit_encoder(self.encoder, real)
        vectors = features(encoder, real)
        fitted = moments(vectors)
        return _Real(real, encoder, vectors, fitted, root(fitted.covariance))

    def statistics(self, state: _Real, generated: Corpus, *, seed: int) -> _Statistics:
        """Return the value, and the influence of each text."""
        check_corpora(generated, state.corpus, metric="fed", at_least=2)
        vectors = features(state.encoder, generated)
        parts_of_generated = _moments_of_halves(generated, vectors, seed, "generated")
        fitted = Moments.merge(parts_of_generated)
        parts = frechet(fitted, state.moments, state.root.matrix)
        return _Statistics(
            state,
            generated,
            seed,
            parts,
            *influence(vectors, fitted, state.features, state.moments, state.root),
            _from_halves(sum(parts), parts_of_generated, state.halves(seed), len(state.corpus)),
        )

    def estimate(self, statistics: _Statistics) -> Estimate:
        """Return the distance with its interval."""
        generated, real = statistics.generated, statistics.real.corpus
        value = sum(statistics.parts)
        real_terms = cluster_terms(value + statistics.real_influence, real.groups)
        generated_terms = cluster_terms(value + statistics.generated_influence, generated.groups)
        interval = terms_interval(
            value,
            [generated_terms, real_terms],
            level=self.level,
            method="t: influence of each sentence, at this number of sentences, encoder fixed",
            low=0.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="squared distance",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), "dimensions": statistics.real.features.shape[1]},
            signature=make_signature(
                self.name, generated, real, seed=statistics.seed, **statistics.real.encoder.settings, ddof=1
            ),
            details={
                "encoder": self.encoder_name,
                "means": statistics.parts[0],
                "covariances": statistics.parts[1],
                **statistics.details,
            },
            evidence=None if interval is None else Evidence(real_terms, generated_terms),
        )


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
