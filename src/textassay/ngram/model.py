"""n-gram language models: interpolated Kneser-Ney, fitted by counting, sampled exactly.

Source: see `textassay.ngram.kneser_ney`. Draws invert the distribution of the next token with one uniform number a
sentence and position, so that they do not depend on how many sentences are drawn together.
"""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, Vocabulary
from textassay.corpus.limits import MAX_ORDER, MAX_TOKENS
from textassay.errors import OptionError, check_range, check_type
from textassay.execution.tasks import map_in_order
from textassay.execution.threads import parallel_map
from textassay.ngram.backoff import BackoffModel, Tempered, with_ends
from textassay.ngram.kneser_ney import DiscountKind, fit_kneser_ney
from textassay.ngram.language_model import (
    check_counted,
    check_sample,
    check_train,
    drawn_corpus,
    not_fitted,
    prefix_of_each,
    refuse,
    sentence_sums,
    tokens_in,
    training_record,
)
from textassay.seeding import stream, uniforms

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

MIN_TEMPERATURE = 0.05  # below it, powers of small probabilities leave the range of float64
_BLOCK = 4096  # sentences drawn or scored together; does not change the result


class NgramModel:
    """Interpolated Kneser-Ney model of any order; a `LanguageModel`.

    Every sentence over the vocabulary of the training corpus, the empty one and ``<unk>`` included, has a probability
    above 0, and these sum to 1. So a sample may hold words of that vocabulary which no training sentence holds.
    """

    kind: ClassVar[str] = "ngram"

    def __init__(self, order: int = 3, *, discounts: DiscountKind = "modified", max_length: int = 200) -> None:
        check_range("order", order, 1, MAX_ORDER)
        if discounts not in get_args(DiscountKind):
            raise OptionError(f"discounts must be {' or '.join(get_args(DiscountKind))}, got {discounts}")
        check_range("max_length", max_length, 1, MAX_TOKENS)
        self.order = order
        self.discounts: DiscountKind = discounts
        self.max_length = max_length
        self._fitted: tuple[Corpus, BackoffModel] | None = None
        self._fingerprint = ""
        self._tempered: Tempered | None = None

    @property
    def name(self) -> str:
        return f"ngram(order={self.order})"

    @property
    def reach(self) -> int:
        """Length of the context: how many of the last tokens the next one depends on."""
        return self.order - 1

    @property
    def train(self) -> Corpus:
        return self._require()[0]

    @property
    def vocabulary(self) -> Vocabulary:
        return self.train.vocabulary

    @property
    def tokenizer(self) -> str:
        return self.train.tokenizer

    @property
    def settings(self) -> dict[str, Any]:
        return {"order": self.order, "discounts": self.discounts, "max_length": self.max_length}

    @property
    def record(self) -> dict[str, Any]:
        return training_record(self.train, self._fingerprint)

    @property
    def model(self) -> BackoffModel:
        return self._require()[1]

    @property
    def n_parameters(self) -> int:
        """n-grams stored."""
        return len(self.model.tokens) - 1

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Count `train` and return itself; `valid` is not used, since nothing is chosen."""
        check_train(train, generator=self.name)
        model, _ = fit_kneser_ney(
            train.tokens, train.offsets, order=self.order, n_types=len(train.vocabulary), discounts=self.discounts
        )
        self._fitted = (train, model)
        self._fingerprint = train.fingerprint
        self._tempered = None
        return self

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the training tokens, from which `restore` refits."""
        return {"tokens": self.train.tokens, "offsets": self.train.offsets}

    def check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]], n_types: int) -> None:
        """Raise `InputError` unless names, shapes and types are those of `arrays()`."""
        check_counted(arrays, n_types, values=False)

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Refit to saved tokens."""
        check_counted(arrays, len(vocabulary), values=True)
        fingerprint = record.get("train", {}).get("fingerprint")
        check_type("the fingerprint of the training text", fingerprint, str)
        self.fit(drawn_corpus(arrays["tokens"], arrays["offsets"], vocabulary=vocabulary, tokenizer=tokenizer))
        self._fingerprint = fingerprint

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
        """Return `n` sentences; see `Generator.sample`. It takes no `top_k`, `top_p` and `context`."""
        check_sample(n, seed=seed, temperature=temperature, prefix=prefix, context=context, generator=self.name)
        refuse(self.name, top_k=top_k, top_p=top_p)
        train, model = self._require()
        tempered = self._at(temperature)
        key = self._key(seed, temperature)
        if prefix is None:
            first_states, started = np.full(n, model.start, dtype=np.int64), np.zeros(n, dtype=np.int64)
        else:
            which = prefix_of_each(prefix, n)
            prefix_tokens = tokens_in(train.vocabulary, prefix, generator=self.name)
            first_states, started = model.advance(prefix_tokens, prefix.offsets)[which], prefix.lengths[which]
        blocks = [slice(begin, min(begin + _BLOCK, n)) for begin in range(0, n, _BLOCK)]
        limit = self.max_length  # a function that holds `self` would be sent to a cluster with all of it

        def draw(block: slice) -> tuple[TokenArray, IntArray, int]:
            samples = np.arange(block.start, block.stop)
            return _draw_block(model, tempered, key, samples, first_states[block], started[block], limit)

        drawn = map_in_order(draw, blocks)
        n_cut = sum(cut for _, _, cut in drawn)
        if n_cut > 0:
            warnings.warn(f"{self.name}: {n_cut} of {n} samples were cut at {self.max_length} tokens", stacklevel=2)
        tokens = np.concatenate([block for block, _, _ in drawn])
        lengths = np.concatenate([block for _, block, _ in drawn])
        if prefix is not None:
            tokens = _interleave(prefix_tokens, prefix.offsets, which, tokens, lengths)
            lengths = lengths + started
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return drawn_corpus(tokens, offsets, vocabulary=train.vocabulary, tokenizer=train.tokenizer)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each end, shape (T + N,); see `LanguageModel`."""
        train, model = self._require()
        tempered = self._at(temperature)
        tokens = tokens_in(train.vocabulary, corpus, generator=self.name)
        text, offsets = with_ends(tokens, corpus.offsets)

        def score(block: slice) -> FloatArray:
            bounds = offsets[block.start : block.stop + 1]
            return model.token_log_probs(text[bounds[0] : bounds[-1]], bounds - bounds[0], tempered)

        blocks = [slice(begin, min(begin + _BLOCK, len(corpus))) for begin in range(0, len(corpus), _BLOCK)]
        return np.concatenate([np.empty(0), *parallel_map(score, blocks)])

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each prefix, shape (B, V); see `LanguageModel`."""
        train, model = self._require()
        tempered = self._at(temperature)
        tokens = tokens_in(train.vocabulary, prefixes, generator=self.name)
        probs = model.next_probs(model.advance(tokens, prefixes.offsets), tempered)
        with np.errstate(divide="ignore"):
            return np.log(probs)

    def _require(self) -> tuple[Corpus, BackoffModel]:
        if self._fitted is None:
            raise not_fitted(self.name)
        return self._fitted

    def _at(self, temperature: float) -> Tempered:
        """Return the tempered distributions; those of the last temperature are kept."""
        if not MIN_TEMPERATURE <= temperature < float("inf"):
            raise OptionError(f"{self.name}: temperature must be at least {MIN_TEMPERATURE}, got {temperature}")
        if temperature == 1:
            return self.model.plain
        if self._tempered is None or self._tempered.temperature != temperature:
            self._tempered = self.model.tempered(temperature)
        return self._tempered

    def _key(self, seed: int, temperature: float) -> int:
        """Return the seed of the uniforms: another model or temperature draws independently of this one."""
        rng = stream(seed, "ngram", self.order, self.discounts, self._fingerprint, repr(float(temperature)))
        return int(rng.integers(2**63))


def _draw_block(
    model: BackoffModel,
    tempered: Tempered,
    key: int,
    numbers: IntArray,
    states: IntArray,
    started: IntArray,
    max_length: int,
) -> tuple[TokenArray, IntArray, int]:
    """Return drawn tokens, (T,), without ends and prefixes, how many for each sentence, (B,), and how many were cut."""
    lengths = np.zeros(len(numbers), dtype=np.int64)
    columns: list[tuple[IntArray, TokenArray]] = []
    active = np.flatnonzero(started < max_length)
    while len(active) > 0:
        position = len(columns)
        drawn, after = model.draw(states[active], uniforms(key, numbers[active], position), tempered)
        going = drawn != EOS
        active, drawn = active[going], drawn[going]
        columns.append((active, drawn))
        states[active] = after[going]
        lengths[active] += 1
        active = active[started[active] + lengths[active] < max_length]
    n_cut = int(np.count_nonzero(started + lengths >= max_length))
    tokens = np.empty(lengths.sum(), dtype=np.int32)
    begins = np.cumsum(lengths) - lengths
    for position, (rows, drawn) in enumerate(columns):
        tokens[begins[rows] + position] = drawn
    return tokens, lengths, n_cut


def _interleave(
    prefix_tokens: TokenArray, offsets: IntArray, which: IntArray, drawn: TokenArray, lengths: IntArray
) -> TokenArray:
    """Return, for each sentence, its prefix followed by what was drawn."""
    parts: list[TokenArray] = []
    begin = 0
    for row, length in zip(which, lengths, strict=True):
        parts += [prefix_tokens[offsets[row] : offsets[row + 1]], drawn[begin : begin + length]]
        begin += length
    return np.concatenate(parts)
