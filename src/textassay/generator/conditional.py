"""Conditional generators: LSTMs that read a context in place of ``<sos>``.

A context is one category of each attribute. All categories of a sentence together are one number, which stands before
its first token, so that a conditional network trains, scores and draws as any other does.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 4.
Departs from it: without a context, samples are drawn for contexts as frequent as in training.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus import COLUMN, SOS, SPECIAL_TOKENS, Attributes, Corpus, Vocabulary, context_numbers, n_contexts
from textassay.errors import InputError, OptionError, check_range, check_type
from textassay.generator.lstm import SMALL, LstmModel
from textassay.generator.reader import State, Weights
from textassay.seeding import stream
from textassay.training import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


IntArray = npt.NDArray[np.int64]

_FIRST = len(SPECIAL_TOKENS)  # the input that stands for context 0


class ContextModel(LstmModel):
    """Conditional LSTM; subclasses define how the context enters. Needs the extra ``neural``.

    Corpora of training and scoring, and the `context` of samples, have columns of contexts, see
    `textassay.corpus.contexts.with_contexts`. Without `context`, those of training are drawn from.
    """

    needs_source: ClassVar[bool] = True  # metrics of unconditional text refuse this model

    def __init__(
        self,
        width: int = 128,
        *,
        layers: int = 1,
        dropout: float = 0.1,
        spread: float | None = None,
        context_width: int = 16,
        attributes: Attributes = MappingProxyType({}),
        recipe: Recipe = SMALL,
        batch_size: int = 128,
        max_length: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__(
            width,
            layers=layers,
            dropout=dropout,
            spread=spread,
            recipe=recipe,
            batch_size=batch_size,
            max_length=max_length,
            seed=seed,
        )
        check_range("context_width", context_width, 1)
        n_contexts(attributes)
        self.context_width = context_width
        self.attributes: dict[str, list[str]] = {name: list(categories) for name, categories in attributes.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**super().settings, "context_width": self.context_width, "attributes": self.attributes}

    @property
    def _title(self) -> str:
        layers = "" if self.layers == 1 else f", layers={self.layers}"
        return f"{self.kind}(width={self.width}{layers}, contexts={'+'.join(self.attributes)})"

    @abstractmethod
    def initial_state(self, weights: Weights, categories: "Tensor") -> tuple[State, "Tensor"]:
        """Return the first state of the LSTM, 2 x layers parts of shape (B, width), and the context vectors, (B, ...).

        `categories`: index of the category of each attribute, shape (B, K).
        """

    @abstractmethod
    def conditioned(self, weights: Weights, vectors: "Tensor", context: "Tensor") -> "Tensor":
        """Return the input of the output layer, (B, L, width), for LSTM outputs, (B, L, width), and context vectors."""

    @property
    @abstractmethod
    def context_shape(self) -> tuple[int, ...]:
        """Shape of the context vectors of one sentence."""

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights: those of an LSTM, and an embedding table of each attribute."""
        tables = {f"attribute {name}": (len(each), self.context_width) for name, each in self.attributes.items()}
        return {**super().shapes(n_types, longest), **tables}

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights; embeddings of attributes have variance 1 where `spread` is None."""
        weights = super().new_weights(shapes, rng)
        if self.spread is None:
            for name in self.attributes:
                weights[f"attribute {name}"] *= math.sqrt(3 * self.width)
        return weights

    def read(self, weights: Weights, tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the hidden state after each token, (B, L, width); the first input of each row is its context."""
        state, context = self.initial_state(weights, self._categories(tokens[:, 0]))
        words = tokens.clone()
        words[:, 0] = SOS
        vectors, _ = self._run(weights, words, state, rng)
        return self.conditioned(weights, vectors, context)

    def begin(self, weights: Weights, n: int) -> State:
        """Return a state of zeros; the first step reads the context."""
        return (*super().begin(weights, n), weights["output"].new_zeros(n, *self.context_shape))

    def step(self, weights: Weights, state: State, tokens: "Tensor", position: int) -> tuple["Tensor", State]:
        """Return the hidden state after the token at `position`, (B, width), and the next state."""
        import torch

        *parts, context = state
        if position == 0:
            begun, context = self.initial_state(weights, self._categories(tokens))
            parts, tokens = list(begun), torch.full_like(tokens, SOS)
        vectors, after = self._run(weights, tokens[:, None], tuple(parts), None)
        return self.conditioned(weights, vectors, context)[:, 0], (*after, context)

    def attribute_vectors(self, weights: Weights, categories: "Tensor") -> "Tensor":
        """Return the embedding of each category, shape (B, K, context_width), for indices (B, K)."""
        import torch

        tables = (weights[f"attribute {name}"] for name in self.attributes)
        return torch.stack([table[categories[:, place]] for place, table in enumerate(tables)], 1)

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Load weights and the contexts of training; see `TrainedNetwork.restore`."""
        seen: Any = record.get("contexts")
        check_type("the contexts of the training", seen, Mapping[str, Sequence[int]])
        numbers, counts = (np.asarray(seen.get(name, ()), dtype=np.int64) for name in ("numbers", "counts"))
        if len(numbers) == 0 or len(numbers) != len(counts) or counts.min() < 1:
            raise InputError("the contexts of the training must have numbers and, of each, a count of at least 1")
        if numbers.min() < 0 or numbers.max() >= n_contexts(self.attributes):
            raise InputError(f"the contexts of the training must be at least 0 and below {n_contexts(self.attributes)}")
        super().restore(arrays, vocabulary=vocabulary, tokenizer=tokenizer, record=record)

    def fit(self, train: Corpus, valid: Corpus | None = None, **settings: Any) -> Self:
        """Learn from sentences with contexts; see `NetworkLanguageModel.fit`."""
        if not self.attributes:
            raise OptionError(f"{self.kind} is conditional: it needs attributes and their categories")
        numbers, counts = np.unique(context_numbers(train, self.attributes), return_counts=True)
        seen = {"contexts": {"numbers": numbers.tolist(), "counts": counts.tolist()}}
        self.record = seen  # monitors draw
        super().fit(train, valid, **settings)
        self.record |= seen
        return self

    def _categories(self, first: "Tensor") -> "Tensor":
        """Return the index of each category, shape (B, K), of the first inputs, (B,)."""
        import torch

        numbers = first - _FIRST
        if bool((numbers < 0).any()):
            raise InputError(f"{self.name} is conditional: it needs contexts")
        places = []
        for categories in self.attributes.values():
            places.append(numbers % len(categories))
            numbers = torch.div(numbers, len(categories), rounding_mode="floor")
        return torch.stack(places, 1)

    def _first(self, corpus: Corpus) -> IntArray:
        if not any(name.startswith(COLUMN) for name in corpus.columns):
            raise InputError(f"{self.name} scores sentences given their contexts, but the corpus has none")
        return context_numbers(corpus, self.attributes) + _FIRST

    def _first_of_samples(self, n: int, context: Corpus | None, *, seed: int) -> IntArray:
        if context is not None:
            if len(context) not in (1, n):
                raise OptionError(f"{self.name}: context must have 1 or {n} sentences, got {len(context)}")
            return np.resize(self._first(context), n)
        numbers: Sequence[int] = self.record["contexts"]["numbers"]
        bounds = np.cumsum(self.record["contexts"]["counts"])
        drawn = stream(seed, self.name, "contexts").integers(bounds[-1], size=n)
        first: IntArray = np.asarray(numbers, dtype=np.int64)[np.searchsorted(bounds, drawn, side="right")] + _FIRST
        return first

    def _fingerprints(self, train: Corpus, valid: Corpus | None) -> dict[str, str | None]:
        of = {"train contexts": train.columns_fingerprint}
        of |= {} if valid is None else {"valid contexts": valid.columns_fingerprint}
        return {**super()._fingerprints(train, valid), **of}
