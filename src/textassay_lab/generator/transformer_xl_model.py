"""Transformer-XL: a transformer with segment-level recurrence and relative positions.

It reads running text in segments; hidden states of earlier segments are its memory, through which no gradient flows.
Attention depends on distances, not on absolute positions, so that the memory stays valid.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019; settings and
numbers of weights as in its authors' script for WikiText-103. Random resets of the memory are from He et al.,
"Quantifying Exposure Bias for Neural Language Generation", appendix D: without them, tokens with a short context are
rare in training, and the model is bad at the first tokens of a sample.
Departs from it: attention reaches no farther than in training; no text is left over where its length is no multiple of
the batch; initial weights are larger in narrower networks, so that sums are as large.
Its adaptive softmax (Grave et al., "Efficient softmax approximation for GPUs", ICML 2017) has vectors of rare types as
wide as those of frequent ones, as in the authors' script; `torch.nn.AdaptiveLogSoftmaxWithLoss` projects them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import OptionError
from textassay.seeding import stream
from textassay_lab.generator.module import SentenceNetwork, State, dropped, linear_cross_entropy
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.objective import TrainingObjective
from textassay_lab.generator.scoring import log_probs_of
from textassay_lab.generator.transformer_xl import TransformerXlSettings
from textassay_lab.training.backend import threads

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_INIT_STD, _AT_WIDTH = 0.02, 410  # standard deviation of initial weights in the authors' script, and its width
_SLOWEST = 10_000.0  # wave lengths of position encodings go from 2 pi to 2 pi times this
_FIRST_CACHE = 16  # positions of a new key-value cache; doubled when it is full
_QUERIES = 128  # queries computed at once, so that memory grows linearly with the length of a text


def relative_attention_output(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distances: Tensor,
    *,
    content: Tensor,
    distance: Tensor,
    span: int | None,
) -> Tensor:
    """Return the causal attention output of the last L of K tokens, shape (B, heads, L, size).

    `query`: of the last L tokens, shape (B, heads, L, size); `key`, `value`: of all K tokens, shape (B, heads, K,
    size); `distances`: keys of the distances K - 1 down to 0, shape (heads, K, size); `content`, `distance`: biases of
    the query for tokens (u in the source) and for distances (v), shape (heads, size); `span`: most tokens that a query
    attends to, itself included; None for all.
    """
    length, n_keys = query.shape[2], key.shape[2]
    parts = []
    for start in range(0, length, _QUERIES):
        stop = min(start + _QUERIES, length)
        last = n_keys - length + stop
        first = 0 if span is None else max(0, n_keys - length + start + 1 - span)
        near_keys = key[:, :, first:last]
        by_content = (query[:, :, start:stop] + content[:, None]) @ near_keys.transpose(2, 3)
        by_distance = (query[:, :, start:stop] + distance[:, None]) @ distances[:, n_keys - last + first :].transpose(
            1, 2
        )
        scores = (by_content + _by_key(by_distance)) / math.sqrt(query.shape[3])
        places = torch.arange(first, last, device=key.device)
        away = places[start - stop :, None] - places  # (queries, keys)
        masked = away < 0 if span is None else (away < 0) | (away >= span)
        attention_weights = torch.softmax(scores.masked_fill(masked, -math.inf), -1)
        parts.append(attention_weights.to(value.dtype) @ value[:, :, first:last])
    return torch.cat(parts, 2)


def _by_key(by_distance: Tensor) -> Tensor:
    """Return scores by key, shape (B, heads, L, K), from scores by distance, K - 1 down to 0.

    The first key is K - L + i away from token i of the last L, so row i moves left by L - 1 - i; the values that come
    in on the right are of later tokens, which are masked.
    """
    batch, heads, length, n_keys = by_distance.shape
    padded = torch.nn.functional.pad(by_distance, (1, 0)).view(batch, heads, n_keys + 1, length)
    return padded[:, :, 1:].reshape(batch, heads, length, n_keys)


@dataclass(frozen=True)
class AdaptiveSoftmax:
    """An output layer in clusters of types, from frequent to rare, so that most tokens need few logits.

    The frequent types and one entry for each cluster share the first distribution; a type of a cluster has the
    probability of its cluster times that of the type within it. With ids in the order of frequency, which a learnt
    vocabulary has, clusters are ranges of ids; in another order it is only slower, not wrong.
    """

    # of all types, shapes (V, width) and (V,); a bias of -inf excludes a type
    matrix: Tensor
    bias: Tensor
    # of the clusters' entries in the first distribution, shapes (K, width) and (K,)
    heads: Tensor
    head_bias: Tensor
    cutoffs: tuple[int, ...]  # first id of each cluster, K ids, rising, above 0 and below V

    def loss(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the types `targets`, (N,), after vectors (N, width), to differentiate."""
        first = targets.clone()
        parts = []
        for number, (low, high) in enumerate(self._ranges()):
            inside = (targets >= low) & (targets < high)
            first[inside] = self.cutoffs[0] + number
            n_inside = int(inside.sum())
            if n_inside > 0:
                of_cluster = linear_cross_entropy(
                    vectors[inside], self.matrix[low:high], self.bias[low:high], targets[inside] - low
                )
                parts.append(of_cluster * (n_inside / len(targets)))
        return linear_cross_entropy(vectors, *self._first(), first) + sum(
            parts, torch.zeros_like(vectors[0, 0]).float()
        )

    def log_probs(self, vectors: Tensor) -> Tensor:
        """Return the log-probability of each type, (B, V), float32, after vectors (B, width)."""
        functional = torch.nn.functional
        first = torch.log_softmax(functional.linear(vectors, *self._first()).float(), 1)
        parts = [first[:, : self.cutoffs[0]]]
        for number, (low, high) in enumerate(self._ranges()):
            within = functional.linear(vectors, self.matrix[low:high], self.bias[low:high]).float()
            parts.append(torch.log_softmax(within, 1) + first[:, self.cutoffs[0] + number, None])
        return torch.cat(parts, 1)

    def _ranges(self) -> list[tuple[int, int]]:
        return list(pairwise((*self.cutoffs, len(self.matrix))))

    def _first(self) -> tuple[Tensor, Tensor]:
        """Return matrix and bias of the first distribution: the frequent types, then the clusters."""
        n = self.cutoffs[0]
        return torch.cat([self.matrix[:n], self.heads]), torch.cat([self.bias[:n], self.head_bias])


class RelativeAttention(nn.Module):
    """Self-attention whose scores depend on query, key and their distance (section 3.3 of the source)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.distances = nn.Linear(width, width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)
        self.heads = heads

    def keys_and_values(self, vectors: Tensor) -> tuple[Tensor, ...]:
        """Return keys and values, each of shape (B, heads, L, size)."""
        joint = self.key_value(vectors)
        batch, length, _ = joint.shape
        return tuple(joint.view(batch, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0))

    def forward(
        self, vectors: Tensor, key: Tensor, value: Tensor, encodings: Tensor, bias: nn.ParameterDict, span: int | None
    ) -> Tensor:
        batch, length, _ = vectors.shape
        query = self.query(vectors).view(batch, length, self.heads, -1).transpose(1, 2)
        distances = self.distances(encodings).view(key.shape[2], self.heads, -1).transpose(0, 1)
        attention_output = relative_attention_output(query, key, value, distances, **bias, span=span)
        joined: Tensor = self.mix(attention_output.transpose(1, 2).reshape(batch, length, -1))
        return joined


class Block(nn.Module):
    """Attention and feed-forward layers, each added to what came in, and then normed."""

    def __init__(self, width: int, inner: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = RelativeAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.dropout = dropout

    def forward(
        self,
        vectors: Tensor,
        key: Tensor,
        value: Tensor,
        encodings: Tensor,
        bias: nn.ParameterDict,
        span: int | None,
        rng: torch.Generator | None,
    ) -> Tensor:
        """Return the output for `vectors`, (B, L, width), the last of the K tokens of `key` and `value`."""
        attention_output = self.attention(vectors, key, value, encodings, bias, span)
        vectors = self.attention_norm(vectors + dropped(attention_output, self.dropout, rng))
        hidden = dropped(nn.functional.relu(self.inner(vectors)), self.dropout, rng)
        normed: Tensor = self.mlp_norm(vectors + dropped(self.outer(hidden), self.dropout, rng))
        return normed


class TransformerXlNetwork(SentenceNetwork):
    """The network; `span`: most tokens that a token attends to, itself included; None for all of its sentence."""

    def __init__(
        self,
        n_types: int,
        *,
        width: int,
        feedforward_width: int,
        layers: int,
        heads: int,
        dropout: float,
        cutoffs: Sequence[int],
        span: int | None,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_types, width)
        self.head = nn.ParameterDict({"bias": torch.empty(n_types)})
        self.cutoffs = tuple(cutoff for cutoff in cutoffs if cutoff < n_types)
        self.clusters = nn.Linear(width, len(self.cutoffs)) if self.cutoffs else None
        shape = (heads, width // heads)
        self.query_bias = nn.ParameterDict({"content": torch.empty(shape), "distance": torch.empty(shape)})
        self.blocks: Any = nn.ModuleList(Block(width, feedforward_width, heads, dropout) for _ in range(layers))
        self.width, self.heads, self.dropout, self.span = width, heads, dropout, span

    def initialise(self, rng: torch.Generator) -> None:
        std = _INIT_STD * (_AT_WIDTH / self.width) ** 0.5
        for name, weight in self.named_parameters():
            if name.endswith(".bias"):
                weight.zero_()
            elif "norm" in name:
                weight.normal_(1.0, _INIT_STD, generator=rng)
            else:
                weight.normal_(0.0, std, generator=rng)

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self.embedding.weight, self.head["bias"]  # tied to the embeddings

    def output_layer(self) -> tuple[Tensor, Tensor]:
        """Return matrix and bias of the output layer; raise where it is an adaptive softmax."""
        if self.clusters is not None:
            raise OptionError("an adaptive softmax has no single output layer: use the logits")
        return super().output_layer()

    def cross_entropy(self, vectors: Tensor, targets: Tensor) -> Tensor:
        if self.clusters is not None:
            return self.adaptive_softmax().loss(vectors, targets)
        return super().cross_entropy(vectors, targets)

    def plain_logits(self, vectors: Tensor) -> Tensor:
        if self.clusters is not None:
            return self.adaptive_softmax().log_probs(vectors)
        return super().plain_logits(vectors)

    def adaptive_softmax(self) -> AdaptiveSoftmax:
        """Return the output layer in clusters, which there must be."""
        assert self.clusters is not None
        return AdaptiveSoftmax(*super().output_layer(), self.clusters.weight, self.clusters.bias, self.cutoffs)

    def forward(self, tokens: Tensor, rng: torch.Generator | None = None) -> Tensor:
        return self.run(tokens, [], rng)[0]

    def run(self, tokens: Tensor, memory: list[Tensor], rng: torch.Generator | None) -> tuple[Tensor, list[Tensor]]:
        """Return the hidden states after each token, (B, L, width), and the input of each layer, for the memory."""
        vectors = self._embedded(tokens, rng)
        n_before = memory[0].shape[1] if memory else 0
        encodings = dropped(self._distance_encodings(n_before + tokens.shape[1], vectors), self.dropout, rng)
        layers = []
        for number, block in enumerate(self.blocks):
            layers.append(vectors.detach())
            joint = torch.cat([memory[number].to(vectors.dtype), vectors], 1) if memory else vectors
            key, value = block.attention.keys_and_values(joint)
            vectors = block(vectors, key, value, encodings, self.query_bias, self.span, rng)
        return dropped(vectors, self.dropout, rng), layers

    def begin(self, n: int) -> State:
        shape = (n, self.heads, _FIRST_CACHE, self.width // self.heads)
        return tuple(self.embedding.weight.new_zeros(shape) for _ in range(2 * len(self.blocks)))

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        if position == state[0].shape[2]:
            state = tuple(nn.functional.pad(part, (0, 0, 0, position)) for part in state)
        first = 0 if self.span is None else max(0, position + 1 - self.span)
        vectors = self._embedded(tokens[:, None], None)
        encodings = self._distance_encodings(position + 1 - first, vectors)
        for number, block in enumerate(self.blocks):
            kept = state[2 * number : 2 * number + 2]
            for part, new in zip(kept, block.attention.keys_and_values(vectors), strict=True):
                part[:, :, position] = new[:, :, 0]
            key, value = (part[:, :, first : position + 1] for part in kept)
            vectors = block(vectors, key, value, encodings, self.query_bias, self.span, None)
        return vectors[:, 0], state

    def _embedded(self, tokens: Tensor, rng: torch.Generator | None) -> Tensor:
        return dropped(self.embedding(tokens) * self.width**0.5, self.dropout, rng)

    def _distance_encodings(self, n: int, like: Tensor) -> Tensor:
        """Return the sinusoidal encodings of the distances n - 1 to 0, shape (n, width)."""
        rates = _SLOWEST ** (-torch.arange(0, self.width, 2, device=like.device) / self.width)
        angles = torch.arange(n - 1, -1, -1, device=like.device)[:, None] * rates
        return torch.cat([angles.sin(), angles.cos()], 1).to(like.dtype)


@dataclass(frozen=True)
class Segment:
    """Columns `start` to `stop` of all streams, and how many columns before them are in memory."""

    start: int
    stop: int
    remembered: int


def running(tokens: TokenArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return inputs and targets, each of shape (T + N,), of N sentences with T tokens, in order."""
    n_sentences = len(offsets) - 1
    places = np.arange(len(tokens)) + np.repeat(np.arange(n_sentences), np.diff(offsets))
    inputs = np.full(len(tokens) + n_sentences, SOS, dtype=np.int64)
    targets = np.full(len(tokens) + n_sentences, EOS, dtype=np.int64)
    inputs[places + 1] = tokens
    targets[places] = tokens
    return inputs, targets


def streams(tokens: TokenArray, offsets: IntArray, n_streams: int) -> tuple[IntArray, IntArray]:
    """Return inputs and targets in at most `n_streams` streams of equal length, the last padded: (streams, length)."""
    length = -(-(len(tokens) + len(offsets) - 1) // n_streams)
    rows = []
    for flat in running(tokens, offsets):
        n_rows = -(-len(flat) // length)
        rows.append(np.pad(flat, (0, n_rows * length - len(flat)), constant_values=PAD).reshape(n_rows, length))
    return rows[0], rows[1]


def segments(
    length: int, *, segment: int, memory: int, reset_prob: float = 0.0, seed: int = 0, epoch: int = 0
) -> list[Segment]:
    """Return the segments of streams of `length` columns; memory is reset with probability `reset_prob` before each."""
    starts = range(0, length, segment)
    resets = stream(seed, "emptied", epoch).random(len(starts)) < reset_prob
    parts: list[Segment] = []
    remembered = 0
    for start, is_reset in zip(starts, resets.tolist(), strict=True):
        stop = min(start + segment, length)
        parts.append(Segment(start, stop, 0 if is_reset else remembered))
        remembered = min(memory, parts[-1].remembered + stop - start)
    return parts


class TransformerXlModel(TransformerXlSettings, NetworkLanguageModel):
    """Transformer-XL language model; a `LanguageModel`. Needs the extra ``neural``.

    As a `LanguageModel` it reads each sentence with an empty memory; `running_log_probs` reads running text.
    """

    kind = "transformer-xl"

    @property
    def span(self) -> int | None:
        """Most tokens that a token attends to, itself included; None for all of its sentence."""
        return self.memory + self.segment if self.memory else None

    @property
    def _title(self) -> str:
        return (
            f"transformer-xl(width={self.width}, inner={self.feedforward_width}, layers={self.layers}, "
            f"heads={self.heads}, segment={self.segment}, memory={self.memory})"
        )

    def new_module(self, n_types: int, longest: int) -> TransformerXlNetwork:
        names = ("width", "feedforward_width", "layers", "heads", "dropout", "cutoffs", "span")
        return TransformerXlNetwork(n_types, **{name: getattr(self, name) for name in names})

    def running_log_probs(self, corpus: Corpus, *, reset_memory: bool = False) -> FloatArray:
        """Return the log-probability of each token and end of running text, as `token_log_probs`, shape (T + N,).

        `reset_memory`: whether the memory is reset before each segment.
        """
        module = self.working_module
        inputs, targets = running(self._tokens(corpus), corpus.offsets)
        device = module.device
        scores = np.empty(len(inputs))
        memory: list[Tensor] = []
        parts = segments(len(inputs), segment=self.segment, memory=self.memory, reset_prob=float(reset_memory))
        with threads(), torch.no_grad():
            for part in parts:
                tokens = torch.from_numpy(inputs[None, part.start : part.stop]).to(device)
                vectors, layers = module.run(tokens, memory if part.remembered else [], None)
                memory = _joined(memory if part.remembered else [], layers, self.memory)
                wanted = torch.from_numpy(targets[part.start : part.stop]).to(device)
                logits = module.logits(vectors[0]).float()
                scores[part.start : part.stop] = log_probs_of(logits, wanted).cpu().numpy()
        return scores

    def objective(self, train: Corpus, module: Any, *, seed: int) -> TrainingObjective:
        """Return segments of `batch_size` streams of the text, in order; the memory is carried between them."""
        if self.memory == 0:
            return super().objective(train, module, seed=seed)
        inputs, targets = streams(train.tokens, train.offsets, self.batch_size)
        kept = {
            f"memory {layer}": module.embedding.weight.new_zeros(len(inputs), self.memory, self.width)
            for layer in range(self.layers)
        }

        def loss(part: Segment, rng: torch.Generator) -> Tensor:
            wanted = targets[:, part.start : part.stop]
            inside = wanted != PAD
            tokens = torch.from_numpy(inputs[:, part.start : part.stop]).to(rng.device)
            memory = [each[:, self.memory - part.remembered :] for each in kept.values()]
            vectors, layers = module.run(tokens, memory, rng)
            for each, new in zip(kept.values(), _joined(memory, layers, self.memory), strict=True):
                each[:, self.memory - new.shape[1] :] = new
            rows = vectors[torch.from_numpy(inside).to(rng.device)]
            mean: Tensor = module.loss(rows, torch.from_numpy(wanted[inside]).to(rng.device))
            return mean

        def batches(epoch: int) -> list[Segment]:
            length = inputs.shape[1]
            return segments(
                length,
                segment=self.segment,
                memory=self.memory,
                reset_prob=self.memory_reset_prob,
                seed=seed,
                epoch=epoch,
            )

        return TrainingObjective(
            batches=batches,
            loss=loss,
            size=lambda part: int((targets[:, part.start : part.stop] != PAD).sum()),
            carried=kept,
        )


def _joined(memory: list[Tensor], layers: list[Tensor], memory_length: int) -> list[Tensor]:
    """Return the memory of each layer, its last `memory_length` inputs, shape (B, up to `memory_length`, width)."""
    before = memory or [layer[:, :0] for layer in layers]
    return [
        torch.cat([old, new], 1)[:, max(0, old.shape[1] + new.shape[1] - memory_length) :]
        for old, new in zip(before, layers, strict=True)
    ]
