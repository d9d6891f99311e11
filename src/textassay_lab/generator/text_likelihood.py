"""Likelihood of a text under a model, with intervals over sentences.

Values per token and per character are ratios of sums over sentences; intervals linearise the ratio. The model is held
fixed.

Source: as `textassay.ngram.language_model`; Cochran, "Sampling Techniques", 1977, chapter 6 (ratio estimates).
Departs from the first: characters are those of the text as it was read, whatever the tokens are, so that models with
different tokens can be compared; one is added for each end of a sentence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.display import Displayed
from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Interval, json_ready
from textassay.ngram.language_model import bits, perplexity
from textassay.resampling.jackknife import terms_interval
from textassay_lab.generator.scored import ScoredGenerator

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """A value with its interval over sentences; none where there is one sentence, or a value that is not finite."""

    value: float
    interval: Interval | None

    def mapped(self, function: Callable[[float], float]) -> "Quantity":
        """Return the value and both ends after an increasing function."""
        bounds = self.interval
        if bounds is not None:
            bounds = Interval(function(bounds.low), function(bounds.high), bounds.level, bounds.method)
        return Quantity(function(self.value), bounds)

    def to_dict(self) -> dict[str, float | None]:
        """Return value, low and high, JSON-ready: none for what is not finite."""
        low, high = (None, None) if self.interval is None else (self.interval.low, self.interval.high)
        document: dict[str, float | None] = json_ready({"value": self.value, "low": low, "high": high})
        return document


@dataclass(frozen=True)
class TextLikelihood(Displayed, document="textassay_lab.generator.document:likelihood_document"):
    """Likelihood of a text under a model, in nats; infinite where a sentence has probability 0 (`n_impossible`).

    Values per token and per character count the end of each sentence as one more.
    """

    log_probs: FloatArray  # of each sentence, its end included, in nats, shape (N,)
    n_sentences: int
    n_tokens: int  # without ends
    n_characters: int  # as read, without ends
    unknown_share: float  # share of unknown tokens, in [0, 1]; NaN where there is no token
    nll_per_token: Quantity
    nll_per_character: Quantity
    nll_per_sentence: Quantity

    @property
    def n_impossible(self) -> int:
        return int(np.isneginf(self.log_probs).sum())

    @property
    def bits_per_token(self) -> Quantity:
        return self.nll_per_token.mapped(bits)

    @property
    def bits_per_character(self) -> Quantity:
        """Cross-entropy in bits per character (BPC)."""
        return self.nll_per_character.mapped(bits)

    @property
    def perplexity(self) -> Quantity:
        return self.nll_per_token.mapped(perplexity)

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and values, JSON-ready; the log-probabilities are left out."""
        return {
            "n_sentences": self.n_sentences,
            "n_tokens": self.n_tokens,
            "n_characters": self.n_characters,
            "unknown_share": json_ready(self.unknown_share),
            "n_impossible": self.n_impossible,
            "perplexity": self.perplexity.to_dict(),
            "nll_per_token": self.nll_per_token.to_dict(),
            "bits_per_token": self.bits_per_token.to_dict(),
            "bits_per_character": self.bits_per_character.to_dict(),
            "nll_per_sentence": self.nll_per_sentence.to_dict(),
        }


def text_likelihood(model: ScoredGenerator, corpus: Corpus, *, level: float = 0.95) -> TextLikelihood:
    """Return how likely `corpus` is under a fitted model.

    `corpus`: at least one sentence, in the model's tokens: what it does not know is ``<unk>``. Its texts are those
    read.
    """
    if len(corpus) == 0:
        raise EmptyCorpusError("likelihood: the corpus has no sentence")
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    log_probs = model.log_prob(corpus)
    lengths = np.array([len(text) for text in corpus.texts], dtype=np.int64)
    return TextLikelihood(
        log_probs=log_probs,
        n_sentences=len(corpus),
        n_tokens=len(corpus.tokens),
        n_characters=int(lengths.sum()),
        unknown_share=float(np.mean(corpus.tokens == UNK)) if len(corpus.tokens) else math.nan,
        nll_per_token=_ratio(-log_probs, corpus.lengths + 1, level),
        nll_per_character=_ratio(-log_probs, lengths + 1, level),
        nll_per_sentence=_ratio(-log_probs, np.ones(len(corpus), dtype=np.int64), level),
    )


def _ratio(costs: FloatArray, sizes: npt.NDArray[np.int64], level: float) -> Quantity:
    """Return the sum of costs over the sum of sizes."""
    value = float(costs.sum() / sizes.sum())
    if len(costs) < 2 or not math.isfinite(value):
        return Quantity(value, None)
    terms = value + (costs - value * sizes) / sizes.mean()
    return Quantity(value, terms_interval(value, [terms], level=level, method="t: sentences; model fixed", low=0.0))
