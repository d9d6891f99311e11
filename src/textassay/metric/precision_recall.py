"""Precision, recall, density, coverage: which generated sentences lie among real ones, and which real ones are reached.

Sources: Kynkäänniemi et al., "Improved Precision and Recall Metric for Assessing Generative Models", NeurIPS 2019;
Naeem et al., "Reliable Fidelity and Diversity Metrics for Generative Models", ICML 2020.
Departs from them: any encoder of sentences; k = 5 for all four; intervals.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.store import features, fit_encoder, resolve_encoder
from textassay.metric.base import (
    MOST_VECTORS,
    Computed,
    Counted,
    EncoderName,
    check_corpora,
    compute_once,
    declare_metric,
)
from textassay.metric.neighbours import (
    Members,
    Neighbours,
    Vectors,
    centred,
    find_members,
    find_neighbours,
    parts_of,
    squared_radii,
)
from textassay.resampling.jackknife import Terms, assign_groups, jackknife_terms, text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_K = 5  # recommended by Naeem et al., section 3.3


@declare_metric(
    "precision",
    "share of generated sentences that lie within the nearest-neighbour radius of a real one",
    bounds=(0, 1),
    most=MOST_VECTORS,
    cost="quadratic",
    family="neighbours",
)
def precision(
    generated: Corpus, real: Corpus, *, k: Counted = _K, encoder: EncoderName = "lsa+lm", seed: int = 0
) -> Computed:
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
    seed
        Decides which sentences form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in [0, 1], closer to that of real text is better: real text scores below 1, and text that keeps to what
        is most usual, or copies, scores above real text. It moves with the number of real sentences.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has no more than `k` sentences.

    Notes
    -----
    A ball holds what lies nearer than its rim, and copies of its centre. In the interval,
    generated sentences are independent given the balls; each of 50 groups of real sentences is left out, and balls grow
    to what is then the k-th neighbour. The encoder is fixed. The jackknife takes a ball that holds a sentence alone for
    one that a new sample would lose: on samples of Gaussians, the standard error was 1.0 to 1.9 times the true one.
    """
    near = compute_once(_neighbourhoods, generated, real, k, resolve_encoder(encoder), seed)
    value, real_terms, generated_terms = _member_terms(near.in_real.n_balls > 0, generated, near.real_groups)
    return near.computed(value, real_terms, generated_terms, jackknifed="real", scores=near.in_real.n_balls[:, 0] / k)


@declare_metric(
    "recall",
    "share of real sentences that lie within the nearest-neighbour radius of a generated one",
    bounds=(0, 1),
    most=MOST_VECTORS,
    cost="quadratic",
    family="neighbours",
)
def recall(
    generated: Corpus, real: Corpus, *, k: Counted = _K, encoder: EncoderName = "lsa+lm", seed: int = 0
) -> Computed:
    """Return the share of real sentences that lie among generated ones: `precision` with the sides swapped.

    Parameters, exceptions and notes as for `precision`. Fraction in [0, 1], closer to that of real text is better:
    generated sentences that lie far from one another have wide balls, and raise it above real text's.
    """
    near = compute_once(_neighbourhoods, generated, real, k, resolve_encoder(encoder), seed)
    value, generated_terms, real_terms = _member_terms(near.in_generated.n_balls > 0, real, near.generated_groups)
    return near.computed(value, real_terms, generated_terms, jackknifed="generated")


@declare_metric(
    "density",
    "density of real sentences around generated ones, 1 for text like the real text",
    unit="ratio",
    bounds=(0, math.inf),
    most=MOST_VECTORS,
    cost="quadratic",
    family="neighbours",
)
def density(
    generated: Corpus, real: Corpus, *, k: Counted = _K, encoder: EncoderName = "lsa+lm", seed: int = 0
) -> Computed:
    """Return in how many balls of real sentences a generated sentence lies on average, divided by `k`.

    Parameters, exceptions and notes as for `precision`. At least 0; above 1 where generated sentences crowd among the
    most usual real ones: closer to that of real text is better. Details: `expected`, the 1 that two samples of one
    distribution score on average in vectors of an encoder that learnt from neither, or is cross-fitted as ``lsa+lm``.
    """
    near = compute_once(_neighbourhoods, generated, real, k, resolve_encoder(encoder), seed)
    n_balls = near.in_real.n_balls
    value, real_terms, generated_terms = _member_terms(n_balls / k, generated, near.real_groups)
    scores = n_balls[:, 0] / k
    return near.computed(value, real_terms, generated_terms, jackknifed="real", scores=scores, expected=1.0)


@declare_metric(
    "coverage",
    "share of real sentences with a generated one within their nearest-neighbour radius",
    bounds=(0, 1),
    most=MOST_VECTORS,
    cost="quadratic",
    family="neighbours",
)
def coverage(
    generated: Corpus, real: Corpus, *, k: Counted = _K, encoder: EncoderName = "lsa+lm", seed: int = 0
) -> Computed:
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
    near = compute_once(_neighbourhoods, generated, real, k, resolve_encoder(encoder), seed)
    nearest, radii = near.in_generated.nearest, near.real_radii[:, 0]
    covered = nearest[:, 0] <= radii
    value = float(covered.mean())
    sizes = np.bincount(near.generated_groups)
    # Without the group of its nearest generated sentence, a real one depends on the nearest of another group.
    lost = covered & (nearest[:, 1] > radii)
    n_lost = np.bincount(near.in_generated.nearest_group, weights=lost, minlength=len(sizes))
    real_terms = text_terms(covered.astype(np.float64), real.groups)
    generated_terms = jackknife_terms(value, value - n_lost / len(radii), sizes)
    missed = math.prod((len(real) - i) / (len(real) + len(generated) - i) for i in range(1, k + 1))
    return near.computed(value, real_terms, generated_terms, jackknifed="generated", expected=1 - missed)


@dataclass(frozen=True)
class _RealSide:
    """Vectors of real text, their mean, shape (d,), and their nearest neighbours."""

    fitted: FittedEncoder
    mean: FloatArray
    vectors: Vectors
    neighbours: Neighbours


@dataclass(frozen=True)
class _Neighbourhoods:
    """Jackknife groups a side, squared radii of real balls, generated sentences in real balls and the other way."""

    k: int
    fitted: FittedEncoder
    real_groups: IntArray
    generated_groups: IntArray
    real_radii: npt.NDArray[np.float32]
    in_real: Members
    in_generated: Members

    def computed(
        self,
        value: float,
        real_terms: Terms | None,
        generated_terms: Terms | None,
        *,
        jackknifed: str,
        scores: FloatArray | None = None,
        **details: float,
    ) -> Computed:
        """Return one of the four; `jackknifed` is the side whose groups are left out."""
        groups = self.real_groups if jackknifed == "real" else self.generated_groups
        return Computed(
            value,
            terms={"real": real_terms, "generated": generated_terms},
            method=f"t: jackknife over {groups.max() + 1} groups of {jackknifed} sentences, encoder fixed",
            settings={**self.fitted.settings, "k": self.k},
            details={"k": self.k, **details},
            generated_scores=scores,
        )


def _real_side(real: Corpus, k: int, encoder: Encoder) -> _RealSide:
    fitted = fit_encoder(encoder, real)
    uncentred = features(fitted, real)
    mean = uncentred.mean(axis=0, dtype=np.float64)
    if len(parts_of(uncentred)) > 1:  # zeros must stay zeros
        mean = np.zeros_like(mean)
    vectors = centred(uncentred, mean)
    return _RealSide(fitted, mean, vectors, find_neighbours(vectors, 2 * k))


def _neighbourhoods(generated: Corpus, real: Corpus, k: int, encoder: Encoder, seed: int) -> _Neighbourhoods:
    """Return who lies in whose ball, with all sentences and without each group."""
    check_corpora(generated, real, metric="precision, recall, density and coverage", at_least=k + 1)
    state = compute_once(_real_side, real, k, encoder)
    vectors = centred(features(state.fitted, generated), state.mean)
    groups, generated_groups = (
        assign_groups(len(corpus), stream(seed, "groups", side), units=corpus.groups)
        for side, corpus in (("real", real), ("generated", generated))
    )
    radii = squared_radii(state.neighbours, groups, k)
    generated_radii = squared_radii(find_neighbours(vectors, 2 * k), generated_groups, k)
    return _Neighbourhoods(
        k,
        state.fitted,
        groups,
        generated_groups,
        radii,
        find_members(state.vectors, radii, groups, vectors),
        find_members(vectors, generated_radii, generated_groups, state.vectors),
    )


def _member_terms(
    shares: npt.NDArray[Any], queries: Corpus, groups: IntArray
) -> tuple[float, FloatArray | None, Terms | None]:
    """Return the mean over queries, the terms of the side that has the balls, and those of the queries.

    `shares` has shape (Q, 1 + G): with all balls, and without those of each group.
    """
    means = shares.mean(axis=0, dtype=np.float64)
    value = float(means[0])
    return (
        value,
        jackknife_terms(value, means[1:], np.bincount(groups)),
        text_terms(shares[:, 0].astype(np.float64), queries.groups),
    )
