"""Precision, recall, density, coverage: which generated sentences lie among real ones, and which real ones are reached.

Sources: Kynkäänniemi et al., "Improved Precision and Recall Metric for Assessing Generative Models", NeurIPS 2019;
Naeem et al., "Reliable Fidelity and Diversity Metrics for Generative Models", ICML 2020.
Departs from them: any encoder of sentences; k = 5 for all four; intervals; nothing is subsampled.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.embedding import Encoder, FittedEncoder, features, fit_encoder
from textassay.errors import check_range
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.encoded import OfVectors
from textassay.metric.neighbours import (
    Members,
    Neighbours,
    Vectors,
    centred,
    find_members,
    find_neighbours,
    squared_radii,
)
from textassay.resampling import assign_groups, cluster_terms, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_K = 5  # recommended by Naeem et al., section 3.3


def precision(
    generated: Texts,
    real: Texts,
    *,
    k: int = _K,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the share of generated sentences that lie among real ones: in the ball of at least one of them.

    The ball of a sentence reaches to its k-th nearest neighbour of its own side.

    Parameters
    ----------
    generated, real
        More than `k` sentences each.
    k
        Neighbours in a ball, at least 1.
    encoder
        Turns sentences into vectors: a name, the folder of a model, or an `Encoder`; fitted to the real text.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in [0, 1], closer to that of real text is better: real text scores below 1, and text that keeps to what
        is most usual, or copies, scores above real text. It moves with the number of real sentences.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has no more than `k` sentences.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    A ball holds what lies nearer than its rim, and copies of its centre. In the interval,
    generated sentences are independent given the balls; each of 50 groups of real sentences is left out, and balls grow
    to what is then the k-th neighbour. The encoder is fixed. The jackknife takes a ball that holds a sentence alone for
    one that a new sample would lose: on samples of Gaussians, the standard error was 1.0 to 1.9 times the true one.
    """
    return measure(Precision(k=k, encoder=encoder, level=level), generated, real, seed=seed, **text)


def recall(
    generated: Texts,
    real: Texts,
    *,
    k: int = _K,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the share of real sentences that lie among generated ones: `precision` with the sides swapped.

    Parameters, exceptions and notes as for `precision`. Fraction in [0, 1], closer to that of real text is better:
    generated sentences that lie far from one another have wide balls, and raise it above real text's.
    """
    return measure(Recall(k=k, encoder=encoder, level=level), generated, real, seed=seed, **text)


def density(
    generated: Texts,
    real: Texts,
    *,
    k: int = _K,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return in how many balls of real sentences a generated sentence lies on average, divided by `k`.

    Parameters, exceptions and notes as for `precision`. At least 0; above 1 where generated sentences crowd among the
    most usual real ones: closer to that of real text is better. Details: `expected`, the 1 that two samples of one
    distribution score on average in vectors of an encoder that learnt from neither, or is cross-fitted as ``lsa+lm``.
    """
    return measure(Density(k=k, encoder=encoder, level=level), generated, real, seed=seed, **text)


def coverage(
    generated: Texts,
    real: Texts,
    *,
    k: int = _K,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the share of real sentences whose ball holds a generated one.

    Parameters and exceptions as for `precision`. Fraction in [0, 1], closer to that of real text is better. Details:
    `expected`, what two samples of one distribution score on average at these sizes, in vectors of an encoder that
    learnt from neither, or is cross-fitted as ``lsa+lm`` is.

    Notes
    -----
    Of n real and m generated sentences of one distribution, a share ``1 - product over i from 1 to k of (n - i) /
    (n + m - i)`` is covered. In the interval, real sentences are independent with their balls as they are, and each of
    50 groups of generated sentences is left out, which errs on the wide side as for `precision`. The encoder is fixed.
    """
    return measure(Coverage(k=k, encoder=encoder, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class _Neighbourhood(OfVectors):
    """What the four metrics share; they differ in `kind`."""

    k: int = _K
    encoder: str | Encoder = "lsa+lm"
    level: float = 0.95

    kind: ClassVar[Literal["precision", "recall", "density", "coverage"]]

    def __post_init__(self) -> None:
        check_range("k", self.k, 1)
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric, with settings that are not the usual ones."""
        return self.named(self.kind, *([f"k={self.k}"] if self.k != _K else []))

    @property
    def better(self) -> Better:
        """Nothing beyond what real text scores is a merit."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """All four share everything."""
        return ("neighbours", self.k, self.encoder_name)

    def prepare(self, real: Corpus) -> "_Real":
        """Return the neighbours of real sentences among one another."""
        check_corpora(real, real, metric=self.kind, at_least=self.k + 1)
        fitted = fit_encoder(self.encoder, real)
        uncentred = features(fitted, real)
        mean = uncentred.mean(axis=0, dtype=np.float64)
        vectors = centred(uncentred, mean)
        return _Real(real, fitted, mean, vectors, find_neighbours(vectors, 2 * self.k))

    def statistics(self, state: "_Real", generated: Corpus, *, seed: int) -> "_Statistics":
        """Return who lies in whose ball, with all sentences and without each group."""
        real = state.corpus
        check_corpora(generated, real, metric=self.kind, at_least=self.k + 1)
        vectors = centred(features(state.fitted, generated), state.mean)
        groups, generated_groups = (
            assign_groups(len(corpus), stream(seed, "groups", side), units=corpus.groups)
            for side, corpus in (("real", real), ("generated", generated))
        )
        radii = squared_radii(state.neighbours, groups, self.k)
        generated_radii = squared_radii(find_neighbours(vectors, 2 * self.k), generated_groups, self.k)
        return _Statistics(
            state,
            generated,
            seed,
            groups,
            generated_groups,
            radii,
            find_members(state.vectors, radii, groups, vectors),
            find_members(vectors, generated_radii, generated_groups, state.vectors),
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return one of the four."""
        real, generated = statistics.real.corpus, statistics.generated
        value, real_terms, generated_terms = self._terms(statistics)
        side, groups = (
            ("generated", statistics.generated_groups)
            if self.kind in ("recall", "coverage")
            else ("real", statistics.real_groups)
        )
        interval = terms_interval(
            value,
            [real_terms, generated_terms],
            level=self.level,
            method=f"t: jackknife over {groups.max() + 1} groups of {side} sentences, encoder fixed",
            low=0.0,
            high=math.inf if self.kind == "density" else 1.0,
        )
        scores = statistics.in_real.n_balls[:, 0] / self.k if self.kind in ("precision", "density") else None
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="ratio" if self.kind == "density" else "fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real)},
            signature=make_signature(
                self.name, generated, real, seed=statistics.seed, **statistics.real.fitted.settings, k=self.k
            ),
            details={"encoder": self.encoder_name, **self._details(len(generated), len(real))},
            evidence=None if interval is None else Evidence(real_terms, generated_terms, None, scores),
        )

    def _terms(self, statistics: "_Statistics") -> tuple[float, FloatArray | None, FloatArray | None]:
        """Return the value, and the terms of its real and of its generated side."""
        if self.kind == "coverage":
            return _coverage_terms(statistics)
        if self.kind == "recall":
            value, generated_terms, real_terms = _member_terms(
                statistics.in_generated.n_balls > 0, statistics.real.corpus, statistics.generated_groups
            )
            return value, real_terms, generated_terms
        n_balls = statistics.in_real.n_balls
        shares = n_balls / self.k if self.kind == "density" else n_balls > 0
        return _member_terms(shares, statistics.generated, statistics.real_groups)

    def _details(self, n_generated: int, n_real: int) -> Mapping[str, Any]:
        """Return what is known beside the value."""
        if self.kind == "density":
            return {"k": self.k, "expected": 1.0}
        if self.kind == "coverage":
            missed = math.prod((n_real - i) / (n_real + n_generated - i) for i in range(1, self.k + 1))
            return {"k": self.k, "expected": 1 - missed}
        return {"k": self.k}


class Precision(_Neighbourhood):
    """Share of generated sentences among real ones, as a `Metric`."""

    kind = "precision"


class Recall(_Neighbourhood):
    """Share of real sentences among generated ones, as a `Metric`."""

    kind = "recall"


class Density(_Neighbourhood):
    """How densely generated sentences lie among real ones, as a `Metric`."""

    kind = "density"


class Coverage(_Neighbourhood):
    """Share of real sentences that have a generated neighbour, as a `Metric`."""

    kind = "coverage"


@dataclass(frozen=True)
class _Real:
    """Real text with its vectors, their mean, shape (d,), and their nearest neighbours."""

    corpus: Corpus
    fitted: FittedEncoder
    mean: FloatArray
    vectors: Vectors
    neighbours: Neighbours


@dataclass(frozen=True)
class _Statistics:
    """Jackknife groups a side, squared radii of real balls, generated sentences in real balls and the other way."""

    real: _Real
    generated: Corpus
    seed: int
    real_groups: IntArray
    generated_groups: IntArray
    real_radii: npt.NDArray[np.float32]
    in_real: Members
    in_generated: Members


def _member_terms(
    shares: npt.NDArray[Any], queries: Corpus, groups: IntArray
) -> tuple[float, FloatArray | None, FloatArray | None]:
    """Return the mean over queries, the terms of the side that has the balls, and those of the queries.

    `shares` has shape (Q, 1 + G): with all balls, and without those of each group.
    """
    means = shares.mean(axis=0, dtype=np.float64)
    value = float(means[0])
    return (
        value,
        jackknife_terms(value, means[1:], np.bincount(groups)),
        cluster_terms(shares[:, 0].astype(np.float64), queries.groups),
    )


def _coverage_terms(statistics: _Statistics) -> tuple[float, FloatArray | None, FloatArray | None]:
    """Return coverage, and its terms of either side."""
    nearest, radii = statistics.in_generated.nearest, statistics.real_radii[:, 0]
    covered = nearest[:, 0] <= radii
    value = float(covered.mean())
    sizes = np.bincount(statistics.generated_groups)
    # Without the group of its nearest generated sentence, a real one depends on the nearest of another group.
    lost = covered & (nearest[:, 1] > radii)
    n_lost = np.bincount(statistics.in_generated.nearest_group, weights=lost, minlength=len(sizes))
    return (
        value,
        cluster_terms(covered.astype(np.float64), statistics.real.corpus.groups),
        jackknife_terms(value, value - n_lost / len(radii), sizes),
    )
