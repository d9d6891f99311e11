"""Likelihood per token and per character: cross-entropy, perplexity, bits.

Source: Shannon, "A Mathematical Theory of Communication", 1948; Jelinek, Mercer, Bahl, Baker, "Perplexity: a measure of
the difficulty of speech recognition tasks", JASA 62, 1977.
Departs from usual practice: the end of a sentence is an event like any token, and is counted as one (and as one
character), since a model that ends sentences in the wrong place is wrong. `Likelihood` holds totals, so that parts of a
text add up.
"""

import math
from dataclasses import dataclass

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.tokenizer import finds_letters, join_tokens
from textassay.errors import EmptyCorpusError, OptionError
from textassay.ngram.language_model import LanguageModel


@dataclass(frozen=True)
class Likelihood:
    """How likely a text is under a model."""

    log_prob: float  # of the whole text, in nats
    n_tokens: int  # predicted tokens, at least 1; ends of sentences among them where they count
    # characters of the text, at least 1, with a space between words and one character for each end that counts
    n_characters: int

    @property
    def nll_per_token(self) -> float:
        """Cross-entropy of the text under the model, in nats per token."""
        return -self.log_prob / self.n_tokens

    @property
    def bits_per_token(self) -> float:
        """Cross-entropy in bits per token."""
        return bits(self.nll_per_token)

    @property
    def bits_per_character(self) -> float:
        """Cross-entropy in bits per character (BPC)."""
        return bits(-self.log_prob / self.n_characters)

    @property
    def perplexity(self) -> float:
        """Number of equally likely tokens that would be as hard to predict."""
        return perplexity(self.nll_per_token)


def bits(nats: float) -> float:
    """Return `nats` in bits."""
    return nats / math.log(2)


def perplexity(nll_per_token: float) -> float:
    """Return exp of a cross-entropy in nats, which is 2 to its power in bits; infinite where that is beyond float64."""
    try:
        return math.exp(nll_per_token)
    except OverflowError:
        return math.inf


def likelihood(model: LanguageModel, corpus: Corpus, *, ends: bool = True) -> Likelihood:
    """Return how likely `corpus` is under a fitted model.

    `model`: tokens it does not know count as its ``<unk>``: per character, such a word then costs less than spelling
    it.
    """
    if len(corpus) == 0 or (not ends and len(corpus.tokens) == 0):
        raise EmptyCorpusError("likelihood: the corpus has no " + ("sentence" if ends else "token"))
    scores = model.token_log_probs(corpus)
    n_tokens = len(corpus.tokens)
    if len(scores) != n_tokens + len(corpus):
        raise OptionError(f"{model.name} must score {n_tokens} tokens and {len(corpus)} ends, got {len(scores)} scores")
    if not ends:
        inside = np.ones(len(scores), dtype=np.bool_)
        inside[corpus.offsets[1:] + np.arange(len(corpus))] = False
        scores = scores[inside]
    return Likelihood(float(scores.sum()), len(scores), n_characters(corpus, ends=ends))


def n_characters(corpus: Corpus, *, ends: bool = True) -> int:
    """Return the characters of the tokens, those between two of a sentence, and one for each end where counted.

    Those of tokens that are parts of words are the characters of the texts.
    """
    if corpus.tokenizer.startswith(("bpe-", "hf-")):
        return sum(map(len, corpus.texts)) + (len(corpus) if ends else 0)
    if finds_letters(corpus.tokenizer):
        texts = (join_tokens(corpus.tokenizer, corpus.sentence(number)) for number in range(len(corpus)))
        return sum(map(len, texts)) + (len(corpus) if ends else 0)
    of_type = np.array([len(token) for token in corpus.vocabulary.tokens])
    between = np.maximum(corpus.lengths - 1, 0).sum() * len(corpus.separator)
    return int(of_type[corpus.tokens].sum() + between) + (len(corpus) if ends else 0)
