"""A language model as the distribution of its samples: no unknown words, long sentences cut.

A language model scores an unknown word as ``<unk>``, and `sample` cuts sentences at a length that `log_prob` ignores.
Both would bias the distance between two models. Here a sentence has the probability with which `sample` draws it: 0
with a foreign word, and that of its tokens without ``<eos>`` where it was cut.
"""

import warnings

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import OptionError
from textassay.ngram.language_model import LanguageModel, check_temperature, drawn_corpus

FloatArray = npt.NDArray[np.float64]


def cut_length(model: LanguageModel) -> int | None:
    """Return the length in tokens at which a model cuts its samples; None where it does not."""
    limits = (getattr(model, name, None) for name in ("limit", "max_length", "longest"))
    return min((limit for limit in limits if isinstance(limit, int)), default=None)


class AsDrawn:
    """A fitted language model with cut sentences and a closed vocabulary; a `ScoredGenerator`.

    `vocabulary`: what it draws over; ``<unk>`` is a word like any other.

    The sentence x with words of `vocabulary` alone has probability p(x) where it is shorter than `max_length`, the sum
    of p over all that begin with x where it is as long, and 0 where it is longer. These sum to 1.
    """

    def __init__(
        self, model: LanguageModel, vocabulary: Vocabulary, *, temperature: float = 1.0, max_length: int | None = None
    ) -> None:
        check_temperature(temperature, generator=model.name)
        own = cut_length(model)
        if max_length is not None and not 1 <= max_length <= (own or max_length):
            raise OptionError(f"max_length must be at least 1 and at most {own}, the model's own, got {max_length}")
        self.model = model
        self.vocabulary = vocabulary
        self.temperature = temperature
        self.max_length: int | None = own if max_length is None else max_length

    @property
    def name(self) -> str:
        """The model's, and its temperature where that is not 1."""
        return self.model.name if self.temperature == 1 else f"{self.model.name} at temperature {self.temperature:g}"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences, cut after `max_length` tokens; see `ScoredGenerator.sample`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* were cut at ", category=UserWarning)
            drawn = self.model.sample(n, seed=seed, temperature=self.temperature)
        if self.max_length is None or drawn.lengths.max(initial=0) <= self.max_length:
            return drawn
        lengths = np.minimum(drawn.lengths, self.max_length)
        kept = np.arange(len(drawn.tokens)) - np.repeat(drawn.offsets[:-1], drawn.lengths) < self.max_length
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
        if drawn.tokenizer.startswith("hf-"):  # only the model itself can join these; the texts stay whole
            return Corpus(drawn.tokens[kept], offsets, drawn.vocabulary, drawn.texts, tokenizer=drawn.tokenizer)
        return drawn_corpus(drawn.tokens[kept], offsets, vocabulary=drawn.vocabulary, tokenizer=drawn.tokenizer)

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of drawing each sentence, shape (N,), in nats; -inf for what is never drawn."""
        log_probs = np.full(len(corpus), -np.inf)
        drawn = ~self._has_foreign(corpus)
        cut = np.zeros(len(corpus), dtype=np.bool_)
        if self.max_length is not None:
            drawn &= corpus.lengths <= self.max_length
            cut = drawn & (corpus.lengths == self.max_length)
        whole = drawn & ~cut
        at = {} if self.temperature == 1 else {"temperature": self.temperature}
        if whole.any():
            log_probs[whole] = self.model.log_prob(corpus.take(np.flatnonzero(whole)), **at)
        if cut.any():
            begun = corpus.take(np.flatnonzero(cut))
            scores = self.model.token_log_probs(begun, **at).reshape(len(begun), -1)  # (sentence, token and end)
            log_probs[cut] = scores[:, :-1].sum(1)
        return log_probs

    def _has_foreign(self, corpus: Corpus) -> npt.NDArray[np.bool_]:
        """Return which sentences hold a word that the vocabulary does not have, shape (N,)."""
        words = corpus.vocabulary.tokens
        foreign = self.vocabulary.encode(words) == UNK
        foreign[: len(SPECIAL_TOKENS)] = False
        has_foreign = np.zeros(len(corpus), dtype=np.bool_)
        has_foreign[np.repeat(np.arange(len(corpus)), corpus.lengths)[foreign[corpus.tokens]]] = True
        return has_foreign
