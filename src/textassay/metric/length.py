"""Length: how far the sentence lengths of generated text are from those of real text.

Source: the two-sample statistic of Kolmogorov and Smirnov, the largest difference of two distribution functions; it is
above that of the distributions on average, so its interval follows Fang and Santos, "Inference on Directionally
Differentiable Functions", Review of Economic Studies 86, 2019: noise counts where the difference may be the largest.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from textassay.corpus.corpus import Corpus
from textassay.estimate import Interval
from textassay.execution.threads import one_blas_thread
from textassay.metric.base import Computed, declare_metric
from textassay.resampling.jackknife import text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_N_DRAWS = 2000  # of noise, and as many with the opposite sign
_MOST_LENGTHS = 200  # of which noise is drawn; where there are more, that many quantiles of both sides together
_NEAR = 1.5  # margins below the largest difference where another may be the true largest: 1 misses up to 6 %, 2 half


@declare_metric(
    "length",
    "Kolmogorov-Smirnov distance between the sentence lengths, in tokens",
    better="lower",
    bounds=(0, 1),
    symmetric=True,
    cannot_see=("word order", "words"),
    cost="n log n",
)
def length(generated: Corpus, real: Corpus, *, level: float = 0.95, seed: int = 0) -> Computed:
    """Return the Kolmogorov-Smirnov distance between the sentence lengths of two corpora, in tokens.

    Parameters
    ----------
    generated, real
        At least one sentence each.
    seed
        Draws the noise that the interval allows for.

    Returns
    -------
    Estimate
        Distance in [0, 1], lower is better. Two samples of one distribution have a distance above 0, on average
        up to ``0.87 sqrt(1 / n_generated + 1 / n_real)``. Details: `length`, where the
        difference is largest, `generated_share` and `real_share` of sentences no longer than that, and the mean lengths
        `generated_mean` and `real_mean`.

    Notes
    -----
    ``max over l of |F_generated(l) - F_real(l)|``. The interval is for the distance of the distributions, 0 where they
    are equal: its low end is the value less what noise adds to the largest of all differences that may be the true
    largest, its high end the largest high end of a single length.
    """
    top = int(max(generated.lengths.max(), real.lengths.max())) + 1
    of_length = [np.bincount(corpus.lengths, minlength=top) for corpus in (generated, real)]
    values = np.flatnonzero(of_length[0] + of_length[1])
    generated_shares, real_shares = (np.cumsum(counts)[values] / counts.sum() for counts in of_length)
    differences = generated_shares - real_shares
    largest = int(np.argmax(np.abs(differences)))
    sign = -1.0 if differences[largest] < 0 else 1.0
    generated_short, real_short = (
        (corpus.lengths <= values[largest]).astype(np.float64) for corpus in (generated, real)
    )
    return Computed(
        abs(float(differences[largest])),
        terms={
            "generated": text_terms(sign * generated_short, generated.groups),
            "real": text_terms(-sign * real_short, real.groups),
        },
        interval=_interval(differences, values, generated, real, level, seed),
        settings={"distance": "ks", "unit": "tokens"},
        details={
            "length": int(values[largest]),
            "generated_share": float(generated_shares[largest]),
            "real_share": float(real_shares[largest]),
            "generated_mean": float(generated.lengths.mean()),
            "real_mean": float(real.lengths.mean()),
        },
    )


def _interval(
    differences: FloatArray, values: IntArray, generated: Corpus, real: Corpus, level: float, seed: int
) -> Interval | None:
    """Return the interval of the largest of `differences` of the shares of texts of at most `values` tokens, (k,)."""
    n_units = min(len(each) if each.groups is None else len(np.unique(each.groups)) for each in (generated, real))
    if n_units < 2:
        return None
    sizes = np.abs(differences)
    value = float(sizes.max())
    if len(values) > _MOST_LENGTHS:
        lengths = np.concatenate([generated.lengths, real.lengths])
        quantiles = np.quantile(lengths, np.linspace(0, 1, _MOST_LENGTHS), method="inverted_cdf")
        few = np.union1d(np.searchsorted(values, quantiles), np.argmax(sizes))
        differences, values = differences[few], values[few]
    covariance = _covariance(generated, values) + _covariance(real, values)
    upper = (1 + level) / 2
    quantile = float(stdtrit(n_units - 1, upper))
    with one_blas_thread():
        variances, axes = np.linalg.eigh(covariance)
        root = (axes * np.sqrt(np.maximum(variances, 0))) @ axes.T  # (k, k)
        noise = stream(seed, "length", "noise").standard_normal((_N_DRAWS, len(values))) @ root
    noise = np.concatenate([noise, -noise]) * (quantile / ndtri(upper))
    margin = np.quantile(np.abs(noise).max(axis=1), upper)
    may_be_largest = [sign * differences >= value - _NEAR * margin for sign in (1, -1)]
    excess = np.concatenate([noise[:, may_be_largest[0]], -noise[:, may_be_largest[1]]], axis=1).max(axis=1)
    low = value - float(np.quantile(excess, upper))
    high = float((np.abs(differences) + quantile * np.sqrt(np.diag(covariance))).max())
    method = "t: what noise adds to the largest of all differences that may be the true largest"
    return Interval(max(0.0, low), min(1.0, high), level, method)


def _covariance(corpus: Corpus, values: IntArray) -> FloatArray:
    """Return the covariance of the shares of texts that have at most `values` tokens, shape (k, k)."""
    n, k = len(corpus), len(values) + 1
    places = np.searchsorted(values, corpus.lengths)
    shares = np.cumsum(np.bincount(places, minlength=k))[:-1] / n
    if corpus.groups is None:
        return np.asarray((np.minimum.outer(shares, shares) - np.outer(shares, shares)) / (n - 1))
    _, members, n_texts = np.unique(corpus.groups, return_inverse=True, return_counts=True)
    counts = np.bincount(members * k + places, minlength=len(n_texts) * k).reshape(-1, k)[:, :-1]
    surplus = np.cumsum(counts, axis=1) - n_texts[:, None] * shares  # (n_groups, k)
    with one_blas_thread():
        return np.asarray(surplus.T @ surplus * (len(n_texts) / (len(n_texts) - 1) / n**2))
