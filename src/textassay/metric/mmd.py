"""Maximum mean discrepancy (mmd): whether sentence vectors of real and generated text differ, in mean over a kernel.

Source: Gretton et al., "A Kernel Two-Sample Test", JMLR 13, 2012, equation (3), the unbiased estimate.
Departs from it: an encoder that learns is fitted to one half of the real text, and the other half is compared, since
vectors of the sentences it learnt from differ from those of all others (where all text served for both, samples of one
distribution were called different every time); the bandwidth is the root mean square of the distances between real
sentences, which is exact and the same for all generators, instead of the median of all; blocks of sentences are
permuted (see `textassay.resampling.exchange`); there is an interval, by linearising.
"""

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import halves
from textassay.embedding.base import Encoder, FittedEncoder
from textassay.embedding.store import features, fit_encoder, resolve_encoder
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution import one_blas_thread
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.kernel_sums import KernelSums, cross_sums, own_sums
from textassay.resampling.exchange import Blocks, deal_labels, exchange_blocks
from textassay.resampling.jackknife import cluster_terms, terms_interval
from textassay.seeding import stream

__all__ = ["MaximumMeanDiscrepancy", "mmd"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

N_PERMUTATIONS = 999


def mmd(
    generated: Corpus, real: Corpus, *, encoder: str | Encoder = "lsa", level: float = 0.95, seed: int = 0
) -> Estimate:
    """Return the squared maximum mean discrepancy between the sentence vectors of two corpora, unbiased.

    Parameters
    ----------
    generated, real
        At least two sentences each, four real ones where the encoder learns. Every pair of sentences is looked at.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`. One that learns from real text, such as
        ``lsa``, is fitted to a random half of `real`; the other half is then all that `generated` is compared with.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides the halves, the blocks and the permutations of the test.

    Returns
    -------
    Estimate
        In [-1, 2], lower is closer; 0 on average for samples of one distribution, whatever their number, so that half
        of those values are slightly negative. NaN, with a warning, where all real vectors are equal. Details: `p_value`
        of no difference (permutation of blocks of sentences, 999 times), `n_permutations`, `bandwidth`. The sizes have
        `n_real_compared`.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has too few sentences.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.
    UnavailableError
        If the encoder needs what a corpus does not come with.

    Notes
    -----
    ``mean k(x, x') + mean k(y, y') - 2 mean k(x, y)`` over pairs of different sentences, with
    ``k(x, y) = exp(-|x - y|^2 / (2 s^2))`` and s^2 the mean squared distance of two real sentences. The interval
    linearises it with bandwidth and encoder as they are: it is Student's where text differs clearly. Where there is no
    difference the linear part vanishes, and the interval is about 1.4 times too wide: trust the p-value there.
    """
    return measure(MaximumMeanDiscrepancy(encoder=encoder, level=level), generated, real, seed=seed)


@dataclass(frozen=True)
class _Compared:
    """The real text that is compared, in units of the bandwidth; sums over its pairs, by its blocks."""

    corpus: Corpus
    encoder: FittedEncoder
    centre: FloatArray
    bandwidth: float
    vectors: Vectors
    known: dict[bytes, KernelSums] = field(default_factory=dict)

    @classmethod
    def make(cls, corpus: Corpus, encoder: FittedEncoder) -> "_Compared":
        vectors = features(encoder, corpus)
        spread = 2 * float(vectors.var(axis=0, ddof=1, dtype=np.float64).sum())
        return cls(corpus, encoder, vectors.mean(axis=0, dtype=np.float64), math.sqrt(spread), vectors)

    def scaled(self, vectors: Vectors) -> FloatArray:
        return np.asarray((vectors - self.centre) / self.bandwidth, dtype=np.float64)

    def sums(self, blocks: IntArray) -> KernelSums:
        key = blocks.tobytes()
        if key not in self.known:
            self.known[key] = own_sums(self.scaled(self.vectors), blocks)
        return self.known[key]


@dataclass(frozen=True)
class _Real:
    """All real text, and what of it is compared, by seed."""

    corpus: Corpus
    encoder: str | Encoder
    known: dict[int, _Compared] = field(default_factory=dict)

    def compared(self, seed: int) -> _Compared:
        if seed not in self.known:
            self.known[seed] = self._compared(seed)
        return self.known[seed]

    def _compared(self, seed: int) -> _Compared:
        corpus, encoder = self.corpus, fit_encoder(self.encoder, self.corpus)
        if len(corpus) < 4 or (corpus.groups is not None and len(np.unique(corpus.groups)) < 2):
            learnt, judged = np.arange(1), np.arange(1, len(corpus))
        else:
            learnt, judged = halves(len(corpus), stream(seed, "mmd", "halves"), corpus.groups)
        fitted = fit_encoder(self.encoder, corpus.take(learnt))
        if fitted.key == encoder.key:  # it does not learn
            return _Compared.make(corpus, encoder)
        check_corpora(corpus, corpus, metric="mmd with an encoder that learns", at_least=4)
        compared = corpus.take(judged)
        check_corpora(compared, compared, metric="mmd, in half of the groups,", at_least=2)
        return _Compared.make(compared, fitted)


@dataclass(frozen=True)
class _Statistics:
    """Value, p-value, and what each sentence has to do with the value; nothing of it where it is undefined."""

    real: Corpus
    compared: _Compared
    generated: Corpus
    seed: int
    value: float = math.nan
    p_value: float = math.nan
    real_influence: FloatArray | None = None
    generated_influence: FloatArray | None = None


@dataclass(frozen=True)
class MaximumMeanDiscrepancy:
    """The metric `mmd`; parameters as there."""

    encoder: str | Encoder = "lsa"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """``mmd``, with the encoder where it is not the default one."""
        encoder = resolve_encoder(self.encoder).name
        return "mmd" if encoder == "lsa" else f"mmd(encoder={encoder})"

    @property
    def better(self) -> Better:
        """It is a distance."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Metrics that differ in their level alone share everything else."""
        return ("mmd", resolve_encoder(self.encoder).name)

    @property
    def reads_columns(self) -> bool:
        """Whether the encoder does."""
        return resolve_encoder(self.encoder).reads_columns

    def prepare(self, real: Corpus) -> _Real:
        """Return the real text; which half of it the encoder learns from depends on the seed."""
        check_corpora(real, real, metric="mmd", at_least=2)
        return _Real(real, self.encoder)

    def statistics(self, state: _Real, generated: Corpus, *, seed: int) -> _Statistics:
        """Return what the pairs of sentences add up to."""
        check_corpora(generated, state.corpus, metric="mmd", at_least=2)
        compared = state.compared(seed)
        real = compared.corpus
        vectors = features(compared.encoder, generated)
        if compared.bandwidth == 0:
            return _Statistics(state.corpus, compared, generated, seed)
        blocks = exchange_blocks(
            len(real),
            len(generated),
            real_rng=stream(seed, "mmd", "blocks", "real"),
            generated_rng=stream(seed, "mmd", "blocks", "generated"),
            real_groups=real.groups,
            generated_groups=generated.groups,
        )
        (real_ids, of_real), (generated_ids, of_generated) = (
            np.unique(side, return_inverse=True) for side in (blocks.real, blocks.generated)
        )
        scaled = compared.scaled(vectors)
        within_real, within_generated = compared.sums(of_real), own_sums(scaled, of_generated)
        across = cross_sums(compared.scaled(compared.vectors), of_real, scaled, of_generated)
        sums = np.zeros((len(blocks.strata), len(blocks.strata)))
        sums[np.ix_(real_ids, real_ids)] = within_real.blocks
        sums[np.ix_(generated_ids, generated_ids)] = within_generated.blocks
        sums[np.ix_(real_ids, generated_ids)] = across.blocks
        sums[np.ix_(generated_ids, real_ids)] = across.blocks.T
        n, m = len(real), len(generated)
        to_real, to_generated = within_real.rows / (n - 1), within_generated.rows / (m - 1)
        real_influence = 2 * (to_real - across.rows / m)
        generated_influence = 2 * (to_generated - across.columns / n)
        return _Statistics(
            state.corpus,
            compared,
            generated,
            seed,
            float(to_real.mean() + to_generated.mean() - 2 * across.rows.mean() / m),
            _p_value(sums, blocks, stream(seed, "mmd", "permutation")),
            real_influence - real_influence.mean(),
            generated_influence - generated_influence.mean(),
        )

    def estimate(self, statistics: _Statistics) -> Estimate:
        """Return the discrepancy with its interval."""
        value, generated, compared = statistics.value, statistics.generated, statistics.compared
        if statistics.real_influence is None or statistics.generated_influence is None:
            warnings.warn(f"{self.name} is undefined: all real vectors are equal", RuntimeWarning, stacklevel=2)
            real_terms = generated_terms = None
        else:
            real_terms = cluster_terms(value + statistics.real_influence, compared.corpus.groups)
            generated_terms = cluster_terms(value + statistics.generated_influence, generated.groups)
        interval = terms_interval(
            value,
            [generated_terms, real_terms],
            level=self.level,
            method="t: influence of each sentence, encoder fixed; too wide near 0",
            low=-1.0,
            high=2.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="squared distance",
            better=self.better,
            sizes={
                "n_generated": len(generated),
                "n_real": len(statistics.real),
                "n_real_compared": len(compared.corpus),
            },
            signature=make_signature(
                self.name,
                generated,
                statistics.real,
                seed=statistics.seed,
                **compared.encoder.settings,
                compared=len(compared.corpus),
                kernel="rbf",
                bandwidth="rms-real",
                permutations=N_PERMUTATIONS,
            ),
            details={
                "p_value": statistics.p_value,
                "n_permutations": N_PERMUTATIONS,
                "bandwidth": compared.bandwidth,
            },
            evidence=None if interval is None else Evidence(real_terms, generated_terms),
        )


def _p_value(sums: FloatArray, blocks: Blocks, rng: np.random.Generator) -> float:
    """Return how often exchanged labels give at least the observed discrepancy, from the sums over pairs of blocks."""
    labels = np.concatenate([blocks.is_real[None], deal_labels(blocks, rng, N_PERMUTATIONS)]).astype(np.float64)
    sizes = np.bincount(np.concatenate([blocks.real, blocks.generated])).astype(np.float64)
    with one_blas_thread():
        with_real = labels @ sums
    real = np.einsum("pb,pb->p", with_real, labels)
    across = with_real.sum(axis=1) - real
    generated = sums.sum() - real - 2 * across
    n = labels @ sizes
    m = sizes.sum() - n
    pairs = (n * (n - 1), m * (m - 1), n * m)
    within = sum(part / np.maximum(count, 1) for part, count in zip((real, generated), pairs[:2], strict=True))
    values = within - 2 * across / np.maximum(pairs[2], 1)
    margin = 1e-12 * (1 + abs(values[0]))  # equal sums added in another order still count as ties
    return float((np.count_nonzero(values[1:] >= values[0] - margin) + 1) / (N_PERMUTATIONS + 1))
