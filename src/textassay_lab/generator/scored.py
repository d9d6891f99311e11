"""Generators with the probability of whole sentences: a model at a temperature, as it is drawn, mixed, or renamed."""

import math
import warnings
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.ngram.language_model import LanguageModel, check_sample, check_temperature, drawn_corpus
from textassay.seeding import stream, uniforms

FloatArray = npt.NDArray[np.float64]


class ScoredGenerator(Protocol):
    """A generator with the log-probability of each sentence."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter."""
        ...

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences, drawn independently; the first k of them do not depend on n.

        The same seed gives the same sentences: two sides of a comparison need different seeds.
        """
        ...

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, its end included, in nats, float64, shape (N,).

        -inf for a sentence that is never drawn. The corpus may have any vocabulary.
        """
        ...


class AtTemperature:
    """A fitted language model at one temperature; a `ScoredGenerator`."""

    def __init__(self, model: LanguageModel, temperature: float) -> None:
        check_temperature(temperature, generator=model.name)
        self.model = model
        self.temperature = temperature

    @property
    def name(self) -> str:
        """Such as ``ngram(order=3) at temperature 0.8``."""
        return f"{self.model.name} at temperature {self.temperature:g}"

    def sample(self, n: int, *, seed: int) -> Corpus:
        return self.model.sample(n, seed=seed, temperature=self.temperature)

    def log_prob(self, corpus: Corpus) -> FloatArray:
        return self.model.log_prob(corpus, temperature=self.temperature)


def check_plain(n: int, seed: int, *, generator: str) -> None:
    """Raise unless `n` is at least 1 and `seed` at least 0."""
    check_sample(n, seed=seed, generator=generator)


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


_ROUNDING = 1e-9  # by so much the weights may miss 1


class Mixture:
    """Draws each sentence from one of several fitted generators; a `ScoredGenerator`.

    ``p(x) = sum over k of weight_k p_k(x)``, by log-sum-exp.
    """

    def __init__(self, generators: Sequence[ScoredGenerator], weights: Sequence[float]) -> None:
        if not generators or len(generators) != len(weights):
            raise OptionError(f"a mixture needs one weight a generator, got {len(generators)} and {len(weights)}")
        if min(weights) < 0 or not math.isclose(math.fsum(weights), 1.0, abs_tol=_ROUNDING):
            raise OptionError(f"weights must be at least 0 and sum to 1, got {', '.join(f'{w:g}' for w in weights)}")
        self.generators = tuple(generators)
        self.weights = tuple(float(weight) for weight in weights)

    @property
    def name(self) -> str:
        """Such as ``mixture(0.7 ngram(order=2), 0.3 ngram(order=3))``."""
        parts = (f"{weight:g} {part.name}" for weight, part in zip(self.weights, self.generators, strict=True))
        return f"mixture({', '.join(parts)})"

    def sample(self, n: int, *, seed: int) -> Corpus:
        check_plain(n, seed, generator=self.name)
        key = int(stream(seed, "mixture", "choice", self.name).integers(2**63))
        bounds = np.cumsum(self.weights)
        last = int(np.flatnonzero(self.weights)[-1])  # where rounding leaves the sum below a draw
        choice = np.minimum(np.searchsorted(bounds, uniforms(key, np.arange(n), 0), side="right"), last)
        parts = []
        rows = []
        for place, generator in enumerate(self.generators):
            chosen = np.flatnonzero(choice == place)
            if len(chosen) > 0:
                of_place = int(stream(seed, "mixture", "part", place).integers(2**63))
                parts.append(generator.sample(len(chosen), seed=of_place))
                rows.append(chosen)
        if any(part.vocabulary is not parts[0].vocabulary for part in parts):
            raise InputError(f"{self.name}: the generators must have one vocabulary")
        return Corpus.concatenate(parts).take(np.argsort(np.concatenate(rows)))

    def log_prob(self, corpus: Corpus) -> FloatArray:
        used = [(part, weight) for part, weight in zip(self.generators, self.weights, strict=True) if weight > 0]
        scores = np.stack([part.log_prob(corpus) + math.log(weight) for part, weight in used])
        return np.asarray(logsumexp(scores, axis=0), dtype=np.float64)


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
