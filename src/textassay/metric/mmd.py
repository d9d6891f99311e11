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
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.embedding import Encoder, FittedEncoder, features, fit_encoder, resolve_encoder
from textassay.execution import one_blas_thread
from textassay.metric.base import Computed, declare_metric
from textassay.metric.kernel_sums import KernelSums, cross_sums, own_sums
from textassay.metric.sharing import compute_once
from textassay.resampling import Blocks, cluster_terms, exchange_blocks, permute_labels
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

N_PERMUTATIONS = 999


@declare_metric(
    "mmd",
    "maximum mean discrepancy between the sentence vectors: a kernel two-sample test with its p-value",
    unit="squared distance",
    better="lower",
    bounds=(-1, 2),
    size_sensitive=False,
    exact_under_reordering=False,  # to 1e-7: distances in single precision
    most=30_000,
    cost="quadratic",
    at_least=2,
)
def mmd(generated: Corpus, real: Corpus, *, encoder: str | Encoder = "lsa+lm", seed: int = 0) -> Computed:
    """Return the squared maximum mean discrepancy between the sentence vectors of two corpora, unbiased.

    Parameters
    ----------
    generated, real
        At least two sentences each. Every pair of sentences is looked at.
    encoder
        A name, the folder of a sentence-transformers model, or an `Encoder`; fitted to `real` alone.
    seed
        Decides the blocks and the permutations of the test.

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
    UnavailableError
        If the encoder needs what a corpus does not come with.

    Notes
    -----
    ``mean k(x, x') + mean k(y, y') - 2 mean k(x, y)`` over pairs of different sentences, with
    ``k(x, y) = exp(-|x - y|^2 / (2 s^2))`` and s^2 the mean squared distance of two real sentences. The interval
    linearises it with bandwidth and encoder as they are: it is Student's where text differs clearly. Where there is no
    difference the linear part vanishes, and the interval is about 1.4 times too wide: trust the p-value there.
    """
    state = compute_once(_real_side, real, resolve_encoder(encoder))
    vectors = features(state.encoder, generated)
    value, p_value, real_terms, generated_terms = math.nan, math.nan, None, None
    if state.bandwidth > 0:
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
        value = float(to_real.mean() + to_generated.mean() - 2 * across.rows.mean() / m)
        p_value = _p_value(sums, blocks, stream(seed, "mmd", "permutation"))
        real_influence = 2 * (to_real - across.rows / m)
        generated_influence = 2 * (to_generated - across.columns / n)
        real_terms = cluster_terms(value + (real_influence - real_influence.mean()), real.groups)
        generated_terms = cluster_terms(value + (generated_influence - generated_influence.mean()), generated.groups)
    return Computed(
        value,
        terms={"generated": generated_terms, "real": real_terms},
        method="t: influence of each sentence, encoder fixed; too wide near 0",
        undefined="all real vectors are equal" if math.isnan(value) else None,
        settings={
            **state.encoder.settings,
            "kernel": "rbf",
            "bandwidth": "rms-real",
            "permutations": N_PERMUTATIONS,
        },
        details={"p_value": p_value, "n_permutations": N_PERMUTATIONS, "bandwidth": state.bandwidth},
    )


@dataclass(frozen=True)
class _RealSide:
    """The vectors of real text, and the sums over its pairs, by its blocks."""

    encoder: FittedEncoder
    centre: FloatArray
    bandwidth: float
    vectors: Vectors
    known: dict[bytes, KernelSums] = field(default_factory=dict)

    def scaled(self, vectors: Vectors) -> FloatArray:
        return np.asarray((vectors - self.centre) / self.bandwidth, dtype=np.float64)

    def sums(self, blocks: IntArray) -> KernelSums:
        key = blocks.tobytes()
        if key not in self.known:
            self.known[key] = own_sums(self.scaled(self.vectors), blocks)
        return self.known[key]


def _real_side(real: Corpus, encoder: Encoder) -> _RealSide:
    fitted = fit_encoder(encoder, real)
    vectors = features(fitted, real)
    spread = 2 * float(vectors.var(axis=0, ddof=1, dtype=np.float64).sum())
    return _RealSide(fitted, vectors.mean(axis=0, dtype=np.float64), math.sqrt(spread), vectors)


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
