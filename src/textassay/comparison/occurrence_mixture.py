"""The share of machine text in a corpus by maximum likelihood, from texts of both kinds: which words a text holds.

Source: Liang et al., "Monitoring AI-Modified Content at Scale: A Case Study on the Impact of ChatGPT on AI Conference
Peer Reviews", ICML 2024: a text's probability is the product over the vocabulary of the share of texts that hold a
word, or do not; the share of machine text maximises the likelihood of the mixture. Departs from it: all words that
`_LEAST_TEXTS` of the known texts hold are the vocabulary, not adjectives alone, and shares are smoothed by one half.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.discriminator.logistic import Weights
from textassay.ngram.text_counts import KeptNgrams, TextCounts
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]

_LEAST_TEXTS = 5
_N_RESAMPLES = 500
_N_STEPS = 40  # of bisection: a share to 12 digits


@dataclass(frozen=True)
class MixtureShare:
    """The most likely share of machine text, in [0, 1], and its bootstrap interval over texts."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OccurrenceMixture:
    """What words tell of human and of machine texts; made by `fit`."""

    words: KeptNgrams
    log_odds: FloatArray  # of machine, of each word that a text holds, beside one that lacks it, shape (n_words,)
    log_odds_of_none: float  # of a text without any of these words

    @classmethod
    def fit(cls, human: Corpus, machine: Corpus) -> "OccurrenceMixture":
        """Return what texts of both kinds teach; they share a vocabulary with those that will be judged."""
        counts = TextCounts.of([human, machine], max_order=1, min_sentences=_LEAST_TEXTS, with_ends=False)
        words, _ = counts.learnt_from(np.arange(len(human) + len(machine)))
        of_sides = []
        for first, corpus in ((0, human), (len(human), machine)):
            held = counts.of_rows(np.arange(first, first + len(corpus)), words)
            holders = np.bincount(held.indices, minlength=held.shape[1])
            of_sides.append((holders + 0.5) / (len(corpus) + 1))
        p, q = of_sides
        odds = np.log(q / (1 - q)) - np.log(p / (1 - p))
        return cls(words, odds, float((np.log1p(-q) - np.log1p(-p)).sum()))

    def share(self, corpus: Corpus, *, level: float, seed: int) -> MixtureShare:
        """Return the share of machine text in `corpus`; groups are resampled whole."""
        held = Weights()(self.words.counts(corpus))
        ratios = np.asarray(held @ self.log_odds + self.log_odds_of_none)
        groups = np.arange(len(ratios)) if corpus.groups is None else np.unique(corpus.groups, return_inverse=True)[1]
        rng = stream(seed, "occurrence mixture")
        n_groups = int(groups.max()) + 1
        drawn = [rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups))[groups] for _ in range(_N_RESAMPLES)]
        shares = np.array([most_likely(ratios, weights) for weights in drawn])
        low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return MixtureShare(most_likely(ratios, np.ones(len(ratios))), low, high)


def most_likely(log_ratios: FloatArray, weights: npt.NDArray[np.number]) -> float:
    """Return the share s in [0, 1] with the greatest ``sum of weights * log(1 - s + s * exp(log_ratios))``."""
    low, high = 0.0, 1.0
    for _ in range(_N_STEPS):
        middle = (low + high) / 2
        # posterior of machine; the derivative is the sum of (posterior - s) / (s (1 - s))
        posterior = expit(log_ratios + np.log(middle) - np.log1p(-middle))
        if float(weights @ (posterior - middle)) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
