"""Zipf exponent: how fast the frequencies of words fall with their rank, and how far that is from real text.

Source: the coefficient is compared with that of human text by Holtzman et al., "The Curious Case of Neural Text
Degeneration", ICLR 2020; the estimator is that of Clauset, Shalizi, Newman, "Power-law distributions in empirical
data", SIAM Review 51, 2009, for ranks.
Departs from them: the exponent is the most likely one of a power law over the ranks of words that occur ten times or
more (at most 5,000 ranks, as in the first), not the slope of a line through logarithms. That line gives rare words,
whose observed ranks are mostly luck, as much say as "the": from 50,000 tokens of a true exponent of 1.2 over 100,000
words it finds 0.97, this finds 1.19.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from textassay.corpus.corpus import Corpus
from textassay.metric.base import Computed, compute_once, declare_metric, jackknifed
from textassay.resampling.jackknife import assign_groups, counts_by_group
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_MAX_RANKS = 5000
_MIN_COUNT = 10
_STEEPEST = 50.0  # where only the first rank is left, to machine precision


@declare_metric(
    "zipf",
    "exponent of the rank-frequency curve of generated words; higher where frequencies fall faster",
    unit="exponent",
    bounds=(0, math.inf),
    looks_at_real=False,
    cannot_see=("word order", "words"),
)
def zipf(generated: Corpus, real: Corpus, *, seed: int = 0) -> Computed:
    """Return the exponent of the rank-frequency curve of the words of generated text.

    Parameters
    ----------
    generated
        Its tokens are the words.
    real
        Its exponent is measured alike, to compare with.
    seed
        Decides which sentences form a jackknife group.

    Returns
    -------
    Estimate
        Exponent, at least 0; about 1 for natural text, higher where frequencies fall faster with rank. NaN, with a
        warning, where fewer than two words occur ten times. Text is no exact power law, so it moves with the number of
        ranks that are used, and so with the number of sentences: compare corpora of equal size. Details: `n_ranks`,
        the same of real text, `real_exponent` and `n_real_ranks`, and `distance`, the absolute difference (none where
        real text has no exponent).

    Notes
    -----
    The word of rank r, among R ranks, has probability ``r^-s / sum_{k<=R} k^-s``; the most likely s is the one whose
    expected log rank is the observed one. The interval comes from leaving out each of 50 groups of sentences, the
    words chosen and ranked anew each time; it is too wide where the exponent depends on how many words are chosen.
    """
    counts = np.bincount(generated.tokens)
    n_ranks = _n_ranks(counts)
    value = zipf_exponent(counts, n_ranks)
    real_value, n_real_ranks = compute_once(_of_real, real)
    groups = assign_groups(len(generated), stream(seed, "groups", "generated"), units=generated.groups)
    without = np.full(groups.max() + 1, math.nan)
    if n_ranks >= 2:
        for group, lost in enumerate(counts_by_group(generated.tokens, generated.offsets, groups, len(counts))):
            without[group] = zipf_exponent(counts - lost, _n_ranks(counts - lost))
    return jackknifed(
        value,
        without,
        groups,
        method=f"t: jackknife over {len(without)} groups of generated sentences, words chosen anew",
        undefined=f"fewer than two words occur {_MIN_COUNT} times" if math.isnan(value) else None,
        settings={"fit": "mle", "counts": f"{_MIN_COUNT}+", "ranks": f"{_MAX_RANKS}-", "groups": len(without)},
        details={
            "n_ranks": n_ranks,
            "real_exponent": real_value,
            "n_real_ranks": n_real_ranks,
            "distance": abs(value - real_value),
        },
    )


def zipf_exponent(counts: IntArray, n_ranks: int) -> float:
    """Return the most likely exponent of a power law over the `n_ranks` largest of `counts`.

    `counts`: how often each word occurs, shape (V,), in any order.

    At least 0; NaN where there are fewer than two ranks.
    """
    ranked = np.sort(counts)[::-1][:n_ranks].astype(np.float64)
    if len(ranked) < 2 or ranked[1] == 0:
        return math.nan
    log_ranks = np.log(np.arange(1, len(ranked) + 1))
    observed = float(ranked @ log_ranks / ranked.sum())

    def excess(exponent: float) -> float:
        weights = np.exp(-exponent * log_ranks)
        return float(weights @ log_ranks / weights.sum()) - observed

    if excess(0.0) <= 0:  # all words equally often: ranks say nothing
        return 0.0
    return float(brentq(excess, 0.0, _STEEPEST, xtol=1e-10)) if excess(_STEEPEST) < 0 else _STEEPEST


def _of_real(real: Corpus) -> tuple[float, int]:
    """Return the exponent of real text, and the number of ranks it rests on."""
    counts = np.bincount(real.tokens)
    n_ranks = _n_ranks(counts)
    return zipf_exponent(counts, n_ranks), n_ranks


def _n_ranks(counts: IntArray) -> int:
    return min(int(np.count_nonzero(counts >= _MIN_COUNT)), _MAX_RANKS)
