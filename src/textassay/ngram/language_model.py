"""The protocols of generators and language models, checks of arguments that they share, and likelihood by token.

Sources: Shannon, "A Mathematical Theory of Communication", 1948; Jelinek, Mercer, Bahl, Baker, "Perplexity: a measure
of the difficulty of speech recognition tasks", JASA 62, 1977.
Departs from usual practice: the end of a sentence is an event like any token, and is counted as one (and as one
character), since a model that ends sentences in the wrong place is wrong.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.corpus.tokenizer import finds_letters, join_tokens
from textassay.errors import EmptyCorpusError, InputError, OptionError, check_range

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
        top_k: int | None = None,
        top_p: float | None = None,
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
        top_k
            Draw each token from the k likeliest, at least 1; 1 is greedy. None draws from all.
        top_p
            Draw each token from the fewest likeliest tokens that together have this probability at least, above 0 and
            at most 1, after `temperature` and among those of `top_k`. None draws from all.
        prefix
            What the sentences begin with: n token sequences, or one for all; they are part of the returned sentences.
        context
            What the sentences answer to, n sentences; for conditional generators.

        Raises
        ------
        OptionError
            If a setting is out of range, or one that the generator does not know, or `prefix` has neither 1 nor n
            sentences.
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


def check_train(train: Corpus, *, generator: str, what: str = "training") -> None:
    """Raise unless `train` has sentences, none of which holds a special token other than ``<unk>``."""
    if len(train) == 0:
        raise EmptyCorpusError(f"{generator}: the {what} corpus has no sentence")
    _check_tokens(train.tokens, train, what=f"{generator}: {what} sentence")


def check_sample(
    n: int,
    *,
    seed: int = 0,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    prefix: Corpus | None = None,
    context: Corpus | None = None,
    generator: str,
) -> None:
    """Raise unless the arguments of `Generator.sample` are in range and there is no `context`."""
    check_range(f"{generator}: n", n, 1)
    check_range("seed", seed, 0)
    check_temperature(temperature, generator=generator)
    check_range(f"{generator}: top_k", top_k, 1)
    if top_p is not None and not 0 < top_p <= 1:
        raise OptionError(f"{generator}: top_p must be above 0 and at most 1, got {top_p}")
    if prefix is not None and len(prefix) not in (1, n):
        raise OptionError(f"{generator}: prefix must have 1 or {n:,} sentences, got {len(prefix)}")
    refuse(generator, context=context)


def refuse(
    generator: str,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    prefix: Corpus | None = None,
    context: Corpus | None = None,
) -> None:
    """Raise if a setting that the generator does not support is set."""
    if temperature != 1:
        raise OptionError(f"{generator} supports temperature 1 only, got {temperature}")
    for name, value in {"top_k": top_k, "top_p": top_p, "prefix": prefix, "context": context}.items():
        if value is not None:
            raise OptionError(f"{generator} takes no {name}")


def check_temperature(temperature: float, *, generator: str) -> None:
    """Raise unless `temperature` is above 0 and finite."""
    if not 0 < temperature < float("inf"):
        raise OptionError(f"{generator}: temperature must be above 0, got {temperature}")


def check_counted(arrays: Mapping[str, npt.NDArray[Any]], n_types: int, *, values: bool) -> None:
    """Raise `InputError` unless `arrays` are the tokens and offsets of sentences over `n_types` of tokens.

    `values`: whether to look at the numbers as well, not only at names, shapes and types.
    """
    wanted = {"tokens": np.dtype(np.int32), "offsets": np.dtype(np.int64)}
    actual = {name: f"{array.ndim}-dimensional {array.dtype}" for name, array in sorted(arrays.items())}
    if actual != {name: f"1-dimensional {dtype}" for name, dtype in sorted(wanted.items())}:
        raise InputError(f"a count-based model must have tokens (int32) and offsets (int64), got {actual}")
    tokens, offsets = arrays["tokens"], arrays["offsets"]
    if len(offsets) < 2:
        raise InputError("the text of a count-based model must have at least 1 sentence, got 0")
    if values and (offsets[0] != 0 or offsets[-1] != len(tokens) or (np.diff(offsets) < 0).any()):
        raise InputError(f"the offsets must rise from 0 to the number of tokens, {len(tokens)}")
    if values and len(tokens) and not (tokens.min() >= 0 and tokens.max() < n_types):
        raise InputError(f"the tokens must be at least 0 and below the size of the vocabulary, {n_types}")


def training_record(train: Corpus, fingerprint: str) -> dict[str, Any]:
    """Return the record of the training text, JSON-ready; `fingerprint` is that of the text as it was read."""
    return {"train": {"fingerprint": fingerprint, "sentences": len(train), "tokens": len(train.tokens)}}


def not_fitted(generator: str) -> InputError:
    """Return the error for a generator that is used before `fit`."""
    return InputError(f"{generator} is not fitted: call fit first")


def tokens_in(vocabulary: Vocabulary, corpus: Corpus, *, generator: str) -> TokenArray:
    """Return the tokens of `corpus` as ids of `vocabulary`, shape (T,); what is not in it becomes ``<unk>``."""
    tokens = corpus.tokens
    if corpus.vocabulary is not vocabulary:
        known = vocabulary.encode(corpus.vocabulary.tokens)
        tokens = known[tokens]
    _check_tokens(tokens, corpus, what=f"{generator}: sentence")
    return tokens


def prefix_of_each(prefix: Corpus, n: int) -> IntArray:
    """Return which sentence of `prefix` (one, or n) each of `n` samples begins with, shape (n,)."""
    return np.arange(n) if len(prefix) == n else np.zeros(n, dtype=np.int64)


def sentence_sums(token_log_probs: FloatArray, corpus: Corpus) -> FloatArray:
    """Return the sum of `token_log_probs` over each sentence and its end, shape (N,)."""
    if len(corpus) == 0:
        return np.empty(0)
    return np.add.reduceat(token_log_probs, corpus.offsets[:-1] + np.arange(len(corpus)))


def drawn_corpus(tokens: TokenArray, offsets: IntArray, *, vocabulary: Vocabulary, tokenizer: str) -> Corpus:
    """Return drawn ids of `vocabulary`, shapes (T,) and (N + 1,), as a corpus in tokens of `tokenizer`.

    The texts are the tokens as `join_tokens` joins them.
    """
    words = np.array(vocabulary.tokens, dtype=object)[tokens].tolist()
    texts = [join_tokens(tokenizer, words[begin:end]) for begin, end in pairwise(offsets.tolist())]
    return Corpus(tokens.astype(np.int32), offsets, vocabulary, texts, tokenizer=tokenizer)


def _check_tokens(tokens: TokenArray, corpus: Corpus, *, what: str) -> None:
    """Raise if a sentence holds ``<pad>``, ``<eos>`` or ``<sos>``."""
    reserved = np.flatnonzero(tokens < UNK)
    if len(reserved) > 0:
        number = int(np.searchsorted(corpus.offsets, reserved[0], side="right"))
        token = SPECIAL_TOKENS[tokens[reserved[0]]]
        raise InputError(f"{what} {number} holds the special token '{token}': remove or rename it")


@dataclass(frozen=True)
class Likelihood:
    """How likely a text is under a model: totals, so that parts of a text add up."""

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
