"""Conditional generators: LSTMs that read a context in place of ``<sos>``.

A context is one category of each attribute. All categories of a sentence together are one number, which stands before
its first token, so that a conditional network trains, scores and draws as any other does. In C2S (Contexts to
Sequences) the context sets the first state; in gC2S a gated skip connection leads from it to each output, too; Att2Seq
attends to the attributes before each token.

Sources: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 4; Tang, Yang, Carton, Zhang, Mei, "Context-aware Natural Language
Generation with Recurrent Neural Networks", 2016 (C2S, gC2S); Dong, Huang, Wei, Lapata, Zhou, Xu, "Learning to Generate
Product Reviews from Attributes", EACL 2017 (Att2Seq).
Departs from them: without a context, samples are drawn for contexts as frequent as in training; in C2S the context
vector is the first hidden state and cell of every layer; weights as `LstmModel`. The sources say that the next token
depends on h_t and, through a gate, on h_C; here it is h_t + m_t * (V h_C) with the gate m_t = sigmoid(W [h_t; h_C] +
b). Att2Seq is trained with Adam and gradients clipped by norm, or, as there, by RMSProp with each number clamped
(preset ``paper``).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SOS, SPECIAL_TOKENS, Vocabulary
from textassay.errors import InputError, OptionError, check_type
from textassay.seeding import stream
from textassay_lab.generator.conditional import ContextSettings
from textassay_lab.generator.contexts import COLUMN, context_numbers, n_contexts
from textassay_lab.generator.lstm_model import LstmModel, LstmNetwork
from textassay_lab.generator.module import State

IntArray = npt.NDArray[np.int64]

_FIRST = len(SPECIAL_TOKENS)  # the input that stands for context 0


class ContextNetwork(LstmNetwork):
    """An LSTM whose first input is the number of a context; subclasses define how the context enters."""

    def __init__(self, n_types: int, *, n_categories: Sequence[int], context_width: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        self.n_categories = list(n_categories)
        self.attributes: Any = nn.ModuleList(nn.Embedding(number, context_width) for number in n_categories)

    def initialise(self, rng: torch.Generator) -> None:
        """Draw all weights; embeddings of attributes have variance 1 where `init_range` is None."""
        super().initialise(rng)
        if self.init_range is None:
            for table in self.attributes:
                table.weight *= math.sqrt(3 * self.width)

    def initial_state(self, vectors: Tensor) -> tuple[State, Tensor]:
        """Return the first state of the LSTM, 2 x layers parts of shape (B, width), and the context vectors, (B, ...).

        `vectors`: the embedding of each category, shape (B, K, context_width).
        """
        raise NotImplementedError

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the input of the output layer, (B, L, width), for LSTM outputs, (B, L, width), and context vectors."""
        raise NotImplementedError

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of the context vectors of one sentence."""
        raise NotImplementedError

    def forward(self, tokens: Tensor, rng: torch.Generator | None = None) -> Tensor:
        state, context = self.initial_state(self.attribute_vectors(tokens[:, 0]))
        words = tokens.clone()
        words[:, 0] = SOS
        return self.conditioned(self.run(words, state, rng)[0], context)

    def begin(self, n: int) -> State:
        return (*super().begin(n), self.head.weight.new_zeros(n, *self.context_shape))

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        *parts, context = state
        if position == 0:
            first, context = self.initial_state(self.attribute_vectors(tokens))
            parts, tokens = list(first), torch.full_like(tokens, SOS)
        vectors, after = self.run(tokens[:, None], tuple(parts), None)
        return self.conditioned(vectors, context)[:, 0], (*after, context)

    def attribute_vectors(self, first: Tensor) -> Tensor:
        """Return the embedding of each category, (B, K, context_width), of the first inputs, (B,)."""
        numbers = first - _FIRST
        if bool((numbers < 0).any()):
            raise InputError("the generator is conditional: it needs contexts")
        vectors = []
        for table, count in zip(self.attributes, self.n_categories, strict=True):
            vectors.append(table(numbers % count))
            numbers = torch.div(numbers, count, rounding_mode="floor")
        return torch.stack(vectors, 1)


class ContextModel(ContextSettings, LstmModel):
    """Conditional LSTM; subclasses define how the context enters. Needs the extra ``neural``.

    Corpora of training and scoring, and the `context` of samples, have columns of contexts, see
    `textassay_lab.generator.contexts.with_contexts`. Without `context`, those of training are drawn from.
    """

    needs_source: ClassVar[bool] = True  # metrics of unconditional text refuse this model

    @property
    def _title(self) -> str:
        layers = "" if self.layers == 1 else f", layers={self.layers}"
        return f"{self.kind}(width={self.width}{layers}, contexts={'+'.join(self.attributes)})"

    @property
    def network_settings(self) -> dict[str, Any]:
        n_categories = [len(categories) for categories in self.attributes.values()]
        own = {"embedding": (self.embedding_width or self.width, 0), "context_width": self.context_width}
        return {**super().network_settings, **own, "n_categories": n_categories}

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


class C2sNetwork(ContextNetwork):
    """The network: h_C = tanh of a linear layer of all category embeddings."""

    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        self.context = nn.Linear(len(self.attributes) * settings["context_width"], self.width)

    @property
    def context_shape(self) -> tuple[int, ...]:
        return (self.width,)

    def initial_state(self, vectors: Tensor) -> tuple[State, Tensor]:
        """Return h_C as hidden state and cell of each layer, and h_C, (B, width)."""
        context = torch.tanh(self.context(vectors.flatten(1)))
        return (context,) * (2 * len(self.layers)), context

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the outputs of the LSTM unchanged."""
        return vectors


class GatedC2sNetwork(C2sNetwork):
    """The network of gC2S."""

    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        self.gate_layer = nn.Linear(2 * self.width, self.width)
        self.skip = nn.Linear(self.width, self.width, bias=False)

    def gate(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the gate after outputs (B, L, width) of the LSTM: in (0, 1), of their shape."""
        both = torch.cat((vectors, context[:, None].expand_as(vectors).to(vectors.dtype)), 2)
        return torch.sigmoid(self.gate_layer(both))

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the outputs of the LSTM plus the gated context."""
        gated: Tensor = self.gate(vectors, context) * self.skip(context)[:, None]
        return vectors + gated


class C2sModel(ContextModel):
    """C2S; see `ContextModel` for the settings."""

    kind = "c2s"

    def new_module(self, n_types: int, longest: int) -> C2sNetwork:
        return C2sNetwork(n_types, **self.network_settings)


class GatedC2sModel(ContextModel):
    """gC2S; see `ContextModel` for the settings. With the gate closed it is `C2sModel`."""

    kind = "gc2s"

    def new_module(self, n_types: int, longest: int) -> GatedC2sNetwork:
        return GatedC2sNetwork(n_types, **self.network_settings)


class Att2SeqNetwork(ContextNetwork):
    def __init__(self, n_types: int, **settings: Any) -> None:
        super().__init__(n_types, **settings)
        width, context = self.width, settings["context_width"]
        n_attributes = len(self.attributes)
        self.starts = nn.ModuleList(nn.Linear(n_attributes * context, width) for _ in self.layers)
        self.attention_output = nn.Linear(width, 1, bias=False)
        self.attention_attribute = nn.Linear(context, 1, bias=False)
        self.mix_attribute = nn.Linear(context, width, bias=False)
        self.mix_output = nn.Linear(width, width, bias=False)

    @property
    def context_shape(self) -> tuple[int, ...]:
        """Shape of the embeddings of all categories."""
        return (len(self.attributes), self.attributes[0].embedding_dim)

    def initial_state(self, vectors: Tensor) -> tuple[State, Tensor]:
        """Return the first hidden state of each layer, its cell of zeros, and the embeddings of the categories."""
        state: list[Tensor] = []
        for start in self.starts:
            output = torch.tanh(start(vectors.flatten(1)))
            state += [output, torch.zeros_like(output)]
        return tuple(state), vectors

    def attention(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return the attention weights of the attributes after outputs (B, L, width): (B, L, K), rows sum to 1."""
        of_attribute = self.attention_attribute(context).transpose(1, 2)  # (B, 1, K)
        return torch.tanh(self.attention_output(vectors) + of_attribute).softmax(2)

    def conditioned(self, vectors: Tensor, context: Tensor) -> Tensor:
        """Return tanh of the attended context and the LSTM outputs, each through a linear layer, added."""
        attended = self.attention(vectors, context).to(context.dtype) @ context  # (B, L, context_width)
        return torch.tanh(self.mix_attribute(attended) + self.mix_output(vectors))


class Att2SeqModel(ContextModel):
    """Att2Seq; see `ContextModel` for the settings."""

    kind = "att2seq"

    def new_module(self, n_types: int, longest: int) -> Att2SeqNetwork:
        return Att2SeqNetwork(n_types, **self.network_settings)
