"""Maximum mean discrepancy (mmd): whether sentence vectors of real and generated text differ, in mean over a kernel.

Source: Gretton et al., "A Kernel Two-Sample Test", JMLR 13, 2012, equation (3), the unbiased estimate.
Departs from it: the bandwidth is the root mean square of the distances between real sentences, which is exact and the
same for all generators, instead of the median of all; blocks of sentences are permuted (see
`textassay.resampling.exchange`); there is an interval, by linearising.

The test stands and falls with an encoder that never met the sentences it encodes: with one that was fitted to the very
real text that is compared, samples of one distribution were called different every time. The default encoder is
cross-fitted (`textassay.embedding.cross_fitted`).
"""

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.embedding import Encoder, FittedEncoder, features, fit_encoder
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution import one_blas_thread
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.encoded import OfVectors
from textassay.metric.kernel_sums import KernelSums, cross_sums, own_sums
from textassay.resampling import Blocks, cluster_terms, exchange_blocks, permute_labels, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

N_PERMUTATIONS = 999


def mmd(
    generated: Texts,
    real: Texts,
    *,
    encoder: str | Encoder = "lsa+lm",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the squared maximum mean discrepancy between the sentence vectors of two corpora, unbiased.

    Parameters
    ----------
    generated, real
        At least two sentences each. Every pair of sentences is looked at.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`; fitted to `real` alone.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides the blocks and the permutations of the test.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        In [-1, 2], lower is closer; 0 on average for samples of one distribution, whatever their number, so that half
        of those values are slightly negative. NaN, with a warning, where all real vectors are equal. Details: `p_value`
        of no difference (permutation of blocks of sentences, 999 times), `n_permutations`, `bandwidth`.

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
    return measure(MaximumMeanDiscrepancy(encoder=encoder, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class _Real:
    """The real text, its vectors, and the sums over its pairs, by its blocks."""

    corpus: Corpus
    encoder: FittedEncoder
    centre: FloatArray
    bandwidth: float
    vectors: Vectors
    known: dict[bytes, KernelSums] = field(default_factory=dict)

    @classmethod
    def make(cls, corpus: Corpus, encoder: FittedEncoder) -> "_Real":
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
class _Statistics:
    """Value, p-value, and what each sentence has to do with the value; nothing of it where it is undefined."""

    state: _Real
    generated: Corpus
    seed: int
    value: float = math.nan
    p_value: float = math.nan
    real_influence: FloatArray | None = None
    generated_influence: FloatArray | None = None


@dataclass(frozen=True)
class MaximumMeanDiscrepancy(OfVectors):
    """The metric `mmd`; parameters as there."""

    encoder: str | Encoder = "lsa+lm"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """``mmd``, with the encoder where it is not the default one."""
        return self.named("mmd")

    @property
    def better(self) -> Better:
        """It is a distance."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Metrics that differ in their level alone share everything else."""
        return ("mmd", self.encoder_name)

    def prepare(self, real: Corpus) -> _Real:
        """Return the vectors of real text by the encoder that is fitted to it."""
        check_corpora(real, real, metric="mmd", at_least=2)
        return _Real.make(real, fit_encoder(self.encoder, real))

    def statistics(self, state: _Real, generated: Corpus, *, seed: int) -> _Statistics:
        """Return what the pairs of sentences add up to."""
        check_corpora(generated, state.corpus, metric="mmd", at_least=2)
        real = state.corpus
        vectors = features(state.encoder, generated)
        if state.bandwidth == 0:
            return _Statistics(state, generated, seed)
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
        scaled = state.scaled(vectors)
        within_real, within_generated = state.sums(of_real), own_sums(scaled, of_generated)
        across = cross_sums(state.scaled(state.vectors), of_real, scaled, of_generated)
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
            state,
            generated,
            seed,
            float(to_real.mean() + to_generated.mean() - 2 * across.rows.mean() / m),
            _p_value(sums, blocks, stream(seed, "mmd", "permutation")),
            real_influence - real_influence.mean(),
            generated_influence - generated_influence.mean(),
        )

    def estimate(self, statistics: _Statistics) -> Estimate:
        """Return the discrepancy with its interval."""
        value, generated, state = statistics.value, statistics.generated, statistics.state
        if statistics.real_influence is None or statistics.generated_influence is None:
            warnings.warn(f"{self.name} is undefined: all real vectors are equal", RuntimeWarning, stacklevel=2)
            real_terms = generated_terms = None
        else:
            real_terms = cluster_terms(value + statistics.real_influence, state.corpus.groups)
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
            sizes={"n_generated": len(generated), "n_real": len(state.corpus)},
            signature=make_signature(
                self.name,
                generated,
                state.corpus,
                seed=statistics.seed,
                **state.encoder.settings,
                kernel="rbf",
                bandwidth="rms-real",
                permutations=N_PERMUTATIONS,
            ),
            details={
                "encoder": self.encoder_name,
                "p_value": statistics.p_value,
                "n_permutations": N_PERMUTATIONS,
                "bandwidth": state.bandwidth,
            },
            evidence=None if interval is None else Evidence(real_terms, generated_terms),
        )


def _p_value(sums: FloatArray, blocks: Blocks, rng: np.random.Generator) -> float:
    """Return how often exchanged labels give at least the observed discrepancy, from the sums over pairs of blocks."""
    labels = np.concatenate([blocks.is_real[None], permute_labels(blocks, rng, N_PERMUTATIONS)]).astype(np.float64)
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
