"""Length: how far the sentence lengths of generated text are from those of real text.

Source: the two-sample statistic of Kolmogorov and Smirnov, the largest difference of two distribution functions.
Departs from it: the interval is that of the difference at the length where it is largest.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.resampling import cluster_terms, terms_interval


def length(
    generated: Texts, real: Texts, *, level: float = 0.95, seed: int = 0, **text: Unpack[TextOptions]
) -> Estimate:
    """Return the Kolmogorov-Smirnov distance between the sentence lengths of two corpora, in tokens.

    Parameters
    ----------
    generated, real
        At least one sentence each.
    level
        Of the confidence interval, in (0, 1).
    seed
        Nothing is drawn; it stands in the signature as it does for every metric.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Distance in [0, 1], lower is better. Two samples of one distribution have a distance above 0, on average
        up to ``0.87 sqrt(1 / n_generated + 1 / n_real)``. Details: `length`, where the
        difference is largest, `generated_share` and `real_share` of sentences no longer than that, and the mean lengths
        `generated_mean` and `real_mean`.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    ``max over l of |F_generated(l) - F_real(l)|``. The interval takes the length l* where the difference is largest as
    fixed; it is then a difference of two proportions. This is too narrow where the distance is near that of chance.
    """
    return measure(Length(level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class Length:
    """Kolmogorov-Smirnov distance of sentence lengths as a `Metric`."""

    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric's name."""
        return "length"

    @property
    def better(self) -> Better:
        """It is a distance."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Nothing to share."""
        return ("length",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text as it is."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return where the difference is largest, and how large."""
        check_corpora(generated, state, metric="length")
        values = np.unique(np.concatenate((generated.lengths, state.lengths)))
        generated_shares, real_shares = (
            np.searchsorted(np.sort(corpus.lengths), values, side="right") / len(corpus)
            for corpus in (generated, state)
        )
        differences = generated_shares - real_shares
        at = int(np.argmax(np.abs(differences)))
        return _Statistics(generated, state, seed, int(values[at]), float(generated_shares[at]), float(real_shares[at]))

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the distance."""
        generated, real = statistics.generated, statistics.real
        difference = statistics.generated_share - statistics.real_share
        sign = -1.0 if difference < 0 else 1.0
        generated_short, real_short = (
            (corpus.lengths <= statistics.length).astype(np.float64) for corpus in (generated, real)
        )
        generated_terms = cluster_terms(sign * generated_short, generated.groups)
        real_terms = cluster_terms(-sign * real_short, real.groups)
        interval = terms_interval(
            abs(difference),
            [generated_terms, real_terms],
            level=self.level,
            method="t: difference of two proportions at the length where it is largest, taken as fixed",
            low=0.0,
            high=1.0,
        )
        return Estimate(
            metric=self.name,
            value=abs(difference),
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real)},
            signature=make_signature(self.name, generated, real, seed=statistics.seed, distance="ks", unit="tokens"),
            details={
                "length": statistics.length,
                "generated_share": statistics.generated_share,
                "real_share": statistics.real_share,
                "generated_mean": float(generated.lengths.mean()),
                "real_mean": float(real.lengths.mean()),
            },
            evidence=None if interval is None else Evidence(real_terms, generated_terms),
        )


@dataclass(frozen=True)
class _Statistics:
    """The length where the distribution functions differ most, and their values there."""

    generated: Corpus
    real: Corpus
    seed: int
    length: int
    generated_share: float
    real_share: float
