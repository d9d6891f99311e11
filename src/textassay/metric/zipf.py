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
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.resampling import assign_groups, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MAX_RANKS = 5000
_MIN_COUNT = 10
_STEEPEST = 50.0  # where only the first rank is left, to machine precision


def zipf(
    generated: Texts, real: Texts = None, *, level: float = 0.95, seed: int = 0, **text: Unpack[TextOptions]
) -> Estimate:
    """Return the exponent of the rank-frequency curve of the words of generated text.

    Parameters
    ----------
    generated
        Its tokens are the words.
    real
        Its exponent is measured alike, to compare with.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Exponent, at least 0; about 1 for natural text, higher where frequencies fall faster with rank. NaN, with a
        warning, where fewer than two words occur ten times. Text is no exact power law, so it moves with the number of
        ranks that are used, and so with the number of sentences: compare corpora of equal size. Details: `n_ranks`,
        the same of real text, `real_exponent` and `n_real_ranks`, and `distance`, the absolute difference (none where
        real text has no exponent).

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The word of rank r, among R ranks, has probability ``r^-s / sum_{k<=R} k^-s``; the most likely s is the one whose
    expected log rank is the observed one. The interval comes from leaving out each of 50 groups of sentences, the
    words ranked anew each time.
    """
    return measure(Zipf(level=level), generated, real, seed=seed, **text)


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


@dataclass(frozen=True)
class Zipf:
    """Zipf exponent as a `Metric`."""

    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric's name."""
        return "zipf"

    @property
    def better(self) -> Better:
        """Neither steeper nor flatter than real text."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """Nothing to share."""
        return ("zipf",)

    def prepare(self, real: Corpus) -> "_Prepared":
        """Return the exponent of real text."""
        counts = np.bincount(real.tokens)
        n_ranks = _n_ranks(counts)
        return _Prepared(real, zipf_exponent(counts, n_ranks), n_ranks)

    def statistics(self, state: "_Prepared", generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the exponent with all sentences and without each group."""
        check_corpora(generated, state.real, metric="zipf")
        groups = assign_groups(len(generated), stream(seed, "groups", "generated"), units=generated.groups)
        sizes = np.bincount(groups)
        group_of_token = np.repeat(groups, generated.lengths)
        counts = np.bincount(generated.tokens)
        n_ranks = _n_ranks(counts)
        without = []
        if n_ranks >= 2:
            for group in range(len(sizes)):
                lost = np.bincount(generated.tokens[group_of_token == group], minlength=len(counts))
                without.append(zipf_exponent(counts - lost, n_ranks))
        value = zipf_exponent(counts, n_ranks)
        return _Statistics(state, generated, seed, value, n_ranks, np.array(without, dtype=np.float64), sizes)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the exponent."""
        generated, state, value = statistics.generated, statistics.state, statistics.value
        if math.isnan(value):
            warnings.warn(
                f"{self.name} is undefined: fewer than two words occur {_MIN_COUNT} times", RuntimeWarning, stacklevel=2
            )
        terms = jackknife_terms(value, statistics.without, statistics.group_sizes)
        n_groups = len(statistics.group_sizes)
        interval = terms_interval(
            value,
            [terms],
            level=self.level,
            method=f"t: jackknife over {n_groups} groups of generated sentences, words ranked anew",
            low=0.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="exponent",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(state.real)},
            signature=make_signature(
                self.name,
                generated,
                state.real,
                seed=statistics.seed,
                fit="mle",
                counts=f"{_MIN_COUNT}+",
                ranks=f"{_MAX_RANKS}-",
                groups=n_groups,
            ),
            details={
                "n_ranks": statistics.n_ranks,
                "real_exponent": state.exponent,
                "n_real_ranks": state.n_ranks,
                "distance": abs(value - state.exponent),
            },
            evidence=None if interval is None else Evidence(None, terms),
        )


@dataclass(frozen=True)
class _Prepared:
    """Real text, its exponent and the ranks that went into it."""

    real: Corpus
    exponent: float
    n_ranks: int


@dataclass(frozen=True)
class _Statistics:
    """The exponent, and what it is without each group, shape (G,)."""

    state: _Prepared
    generated: Corpus
    seed: int
    value: float
    n_ranks: int
    without: FloatArray
    group_sizes: IntArray


def _n_ranks(counts: IntArray) -> int:
    return min(int(np.count_nonzero(counts >= _MIN_COUNT)), _MAX_RANKS)
