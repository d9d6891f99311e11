"""What a generator and a language model are, and the checks that every generator's doors share."""

from itertools import pairwise
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import EmptyCorpusError, InputError, OptionError

__all__ = ["Generator", "LanguageModel", "check_sample", "check_train", "drawn_corpus", "tokens_in"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class Generator(Protocol):
    """Something that draws sentences."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter, such as ``ngram(order=3)``."""
        ...

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Learn from `train`, choose on `valid` where there is something to choose, and return itself."""
        ...

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return `n` sentences, drawn independently, over the vocabulary of the training corpus.

        Parameters
        ----------
        n
            How many, at least 1. The first k of them do not depend on n.
        seed
            At least 0. Different generators draw independently from the same seed.
        temperature
            Above 0; below 1 likely tokens become likelier.
        prefix
            What the sentences begin with: n token sequences, or one for all; they are part of what is returned.
        context
            What the sentences answer to, n sentences; for conditional generators.
        """
        ...


class LanguageModel(Generator, Protocol):
    """A generator that knows how likely a sentence is. All log-probabilities are in nats, float64."""

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, its end included, shape (N,).

        The corpus may have any vocabulary: its tokens are looked up by their text, and those the model does not
        know count as ``<unk>``.
        """
        ...

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each sentence's end, shape (T + N,).

        Sentence i takes places ``offsets[i] + i`` to ``offsets[i + 1] + i`` (inclusive), the last being its end.
        """
        ...

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each of B prefixes, shape (B, V).

        Column k is token k of the model's vocabulary, ``<eos>`` the end of the sentence; ``<pad>`` and ``<sos>``, which
        are never drawn, have -inf.
        """
        ...


def check_train(train: Corpus, *, generator: str) -> None:
    """Raise unless `train` has sentences, none of which holds a token that is kept for the model's own use."""
    if len(train) == 0:
        raise EmptyCorpusError(f"{generator}: the training corpus has no sentence")
    _check_tokens(train.tokens, train, what=f"{generator}: training sentence")


def check_sample(n: int, *, temperature: float = 1.0, context: Corpus | None = None, generator: str) -> None:
    """Raise unless `n` and `temperature` are in range and no context is given (for generators that take none)."""
    if n < 1:
        raise OptionError(f"{generator}: n must be at least 1, got {n}")
    if not 0 < temperature < float("inf"):
        raise OptionError(f"{generator}: temperature must be above 0, got {temperature}")
    if context is not None:
        raise OptionError(f"{generator} takes no context")


def tokens_in(vocabulary: Vocabulary, corpus: Corpus, *, generator: str) -> TokenArray:
    """Return the tokens of `corpus` as ids of `vocabulary`, shape (T,); what is not in it becomes ``<unk>``."""
    tokens = corpus.tokens
    if corpus.vocabulary is not vocabulary:
        known = vocabulary.encode(corpus.vocabulary.tokens)
        tokens = known[tokens]
    _check_tokens(tokens, corpus, what=f"{generator}: sentence")
    return tokens


def drawn_corpus(tokens: TokenArray, offsets: IntArray, *, train: Corpus) -> Corpus:
    """Return drawn token ids, shapes (T,) and (N + 1,), as a corpus that is tokenised as `train` is.

    The texts are the tokens with a space between, or nothing where the tokens of `train` are characters.
    """
    words = np.array(train.vocabulary.tokens, dtype=object)[tokens].tolist()
    bounds = offsets.tolist()
    texts = [train.separator.join(words[begin:end]) for begin, end in pairwise(bounds)]
    return Corpus(tokens.astype(np.int32), offsets, train.vocabulary, texts, tokenizer=train.tokenizer)


def _check_tokens(tokens: TokenArray, corpus: Corpus, *, what: str) -> None:
    """Raise if a sentence holds ``<pad>``, ``<eos>`` or ``<sos>``."""
    reserved = np.flatnonzero(tokens < UNK)
    if len(reserved) > 0:
        number = int(np.searchsorted(corpus.offsets, reserved[0], side="right"))
        token = SPECIAL_TOKENS[tokens[reserved[0]]]
        raise InputError(f"{what} {number} holds '{token}', which models use for themselves: remove or rename it")
