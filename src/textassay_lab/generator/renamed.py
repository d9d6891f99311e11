"""A generator with a suffix to every word, so that it shares no sentence but the empty one with the original.

A sentence with a word that lacks the suffix has probability 0; a language model would score it as ``<unk>``.
"""

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.ngram.language_model import drawn_corpus
from textassay_lab.generator.scored import ScoredGenerator

FloatArray = npt.NDArray[np.float64]


class Renamed:
    """The samples of a generator with a suffix to every word; a `ScoredGenerator`.

    `suffix`: at least one character, added to every word, ``<unk>`` too. No word of `vocabulary` may be another with
    the suffix.
    """

    def __init__(self, generator: ScoredGenerator, vocabulary: Vocabulary, suffix: str) -> None:
        if not suffix or suffix != "".join(suffix.split()):
            raise OptionError(f"suffix must have at least 1 character and no space, got '{suffix}'")
        names = [f"{token}{suffix}" for token in vocabulary.tokens[UNK:]]
        taken = next((name for name in names if name in vocabulary), None)
        if taken is not None:
            raise OptionError(f"suffix '{suffix}' makes '{taken}', which is a word already: choose another")
        self.generator = generator
        self.suffix = suffix
        self._inner = vocabulary
        self._outer = Vocabulary(names)

    @property
    def name(self) -> str:
        """Such as ``ngram(order=3) renamed ~``."""
        return f"{self.generator.name} renamed {self.suffix}"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences over a vocabulary of new names; see `ScoredGenerator.sample`."""
        drawn = self.generator.sample(n, seed=seed)
        if drawn.vocabulary is not self._inner:
            raise InputError(f"{self.generator.name} has another vocabulary than `vocabulary`")
        tokens = drawn.tokens + (len(SPECIAL_TOKENS) - UNK)
        return drawn_corpus(tokens, drawn.offsets, vocabulary=self._outer, tokenizer=drawn.tokenizer)

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, shape (N,), in nats; -inf where a word has no new name."""
        tokens = corpus.with_vocabulary(self._outer).tokens
        sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
        foreign = np.zeros(len(corpus), dtype=np.bool_)
        foreign[sentences[tokens == UNK]] = True
        log_probs = np.full(len(corpus), -np.inf)
        kept = corpus.take(np.flatnonzero(~foreign))
        back = kept.with_vocabulary(self._outer).tokens - (len(SPECIAL_TOKENS) - UNK)
        inner = Corpus(back, kept.offsets, self._inner, kept.texts, tokenizer=kept.tokenizer)
        if len(inner) > 0:
            log_probs[~foreign] = self.generator.log_prob(inner)
        return log_probs
