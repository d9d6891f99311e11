"""Maximum mean discrepancy (mmd): whether sentence vectors of real and generated text differ, in mean over a kernel.

Source: Gretton et al., "A Kernel Two-Sample Test", JMLR 13, 2012, equation (3), the unbiased estimate.
Departs from it: the bandwidth is the root mean square of the distances between real sentences, which is exact and the
same for all generators, instead of the median of all; blocks of sentences are permuted (see
`textassay.resampling.permutation`); there is an interval, by linearising.

The test stands and falls with an encoder that never met the sentences it encodes: with one that was fitted to the very
real text that is compared, samples of one distribution were called different every time. The default encoder is
cross-fitted (`textassay.embedding.encoder`).
"""

import math
from collections.abc import Sized
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.store import features, fit_encoder, resolve_encoder
from textassay.execution.threads import one_blas_thread
from textassay.metric.base import MOST_VECTORS, Computed, declare_metric
from textassay.metric.kernel_sums import FeatureSums, KernelSums, cross_sums, orthogonal_frequencies, own_sums
from textassay.metric.sharing import compute_once
from textassay.resampling.jackknife import text_terms
from textassay.resampling.permutation import Blocks, exchange_blocks, permute_labels
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating[Any]]

N_PERMUTATIONS = 999
EXACT_UP_TO = 30_000  # sentences of the larger side whose pairs are all formed
N_FREQUENCIES = 1024  # beyond; other ones move the value by about 1.5 % (benchmarks/embedding_scale.py)


@declare_metric(
    "mmd",
    "maximum mean discrepancy between the sentence vectors: a kernel two-sample test with its p-value",
    unit="squared distance",
    better="lower",
    bounds=(-1, 2),
    size_sensitive=False,
    exact_under_reordering=False,  # to 1e-7: distances in single precision
    most=MOST_VECTORS,
    cost="linear",
    at_least=2,
)
def mmd(generated: Corpus, real: Corpus, *, encoder: str | Encoder = "lsa+lm", seed: int = 0) -> Computed:
    """Return the squared maximum mean discrepancy between the sentence vectors of two corpora, unbiased.

    Parameters
    ----------
    generated, real
        At least two sentences each.
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

    Up to 30,000 sentences on the larger side every pair is formed. Beyond, the kernel is the mean of ``cos(w'(x - y))``
    over 1,024 random w, of which k is the expectation, and the time grows as the number of sentences; the signature
    says so. The test stays exact; another seed moves the value by about 1.5 % of itself.
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
        within_real, within_generated, across = state.all_sums(of_real, vectors, of_generated, seed)
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
        real_terms = text_terms(value + (real_influence - real_influence.mean()), real.groups)
        generated_terms = text_terms(value + (generated_influence - generated_influence.mean()), generated.groups)
    return Computed(
        value,
        terms={"generated": generated_terms, "real": real_terms},
        method="t: influence of each sentence, encoder fixed; too wide near 0",
        undefined="all real vectors are equal" if math.isnan(value) else None,
        settings={
            **state.encoder.settings,
            "kernel": "rbf" if _is_exact(generated, real) else f"rbf by {N_FREQUENCIES} random frequencies",
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
    known_features: dict[tuple[int, bytes], FeatureSums] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)  # several generators are measured at once

    def scaled(self, vectors: Vectors) -> FloatArray:
        return np.asarray((vectors - self.centre) / self.bandwidth, dtype=np.float64)

    def sums(self, blocks: IntArray) -> KernelSums:
        key = blocks.tobytes()
        with self.lock:
            if key not in self.known:
                self.known[key] = own_sums(self.vectors / self.bandwidth, blocks)
            return self.known[key]

    def feature_sums(self, blocks: IntArray, frequencies: npt.NDArray[np.float32], seed: int) -> FeatureSums:
        key = (seed, blocks.tobytes())
        with self.lock:
            if key not in self.known_features:
                self.known_features[key] = FeatureSums(self.scaled(self.vectors), blocks, frequencies)
            return self.known_features[key]

    def all_sums(self, of_real: IntArray, vectors: Vectors, of_generated: IntArray, seed: int) -> list[KernelSums]:
        """Return the sums within the real text, within the generated one, and across."""
        if _is_exact(of_real, of_generated):
            scaled = vectors / self.bandwidth
            across = cross_sums(self.vectors / self.bandwidth, of_real, scaled, of_generated)
            return [self.sums(of_real), own_sums(scaled, of_generated), across]
        frequencies = orthogonal_frequencies(vectors.shape[1], N_FREQUENCIES, stream(seed, "mmd", "frequencies"))
        real = self.feature_sums(of_real, frequencies, seed)
        generated = FeatureSums(self.scaled(vectors), of_generated, frequencies)
        return [real.with_itself(), generated.with_itself(), real.with_other(generated)]


def _real_side(real: Corpus, encoder: Encoder) -> _RealSide:
    fitted = fit_encoder(encoder, real)
    vectors = features(fitted, real)
    spread = 2 * float(vectors.var(axis=0, ddof=1, dtype=np.float64).sum())
    return _RealSide(fitted, vectors.mean(axis=0, dtype=np.float64), math.sqrt(spread), vectors)


def _is_exact(*sides: Sized) -> bool:
    return max(map(len, sides)) <= EXACT_UP_TO


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
