"""The networks of discriminators: what they read of sentences, and the log-odds of being real that come out.

Their discriminators stand in files of their own, which need no PyTorch until they are fitted, and name the sources.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay_lab.generator.lstm_model import LstmLayer
from textassay_lab.generator.module import Network, dropped
from textassay_lab.judges.cnn import L2
from textassay_lab.judges.kernels import pool, spread
from textassay_lab.judges.network import N_PADS, PAD, Sentences
from textassay_lab.judges.ngram_network import CountedSentences

IntArray = npt.NDArray[np.int64]

_FAR = 1e4  # beyond any value that is pooled
_WINDOW = 3  # of recurrent and n-gram networks
_PER_SENTENCE = 10  # sums over tokens are divided by it, so that they are about as large as means
_NUMBERS = 5  # of each order: both logarithms, their difference, unseen on one side


class JudgeNetwork(Network):
    """A network that says how likely a sentence is real."""

    def forward(self, sentences: Any, rng: torch.Generator | None = None) -> Tensor:
        """Return the log-odds of being real, shape (N,); with dropout drawn from `rng`, without it where none."""
        raise NotImplementedError

    def loss(self, sentences: Any, is_real: IntArray, rng: torch.Generator | None) -> Tensor:
        """Return the mean cross-entropy in nats per sentence, a scalar; `is_real` is 1 for real, 0 for generated."""
        odds = self(sentences, rng)
        return nn.functional.binary_cross_entropy_with_logits(odds, torch.from_numpy(is_real).to(odds))


class CnnNetwork(JudgeNetwork):
    """Convolutions, the largest value of each filter over the sentence, a highway layer, two classes.

    `filters`: window to number of filters; `has_output`: whether there is an output layer.
    """

    def __init__(
        self, n_words: int, *, dimension: int, filters: Mapping[int, int], dropout: float, has_output: bool = True
    ) -> None:
        super().__init__()
        n_filters = sum(filters.values())
        self.words = nn.Embedding(n_words, dimension)
        self.filters: Any = nn.ModuleList(nn.Conv1d(dimension, count, window) for window, count in filters.items())
        self.highway = nn.Linear(n_filters, n_filters)
        self.gate = nn.Linear(n_filters, n_filters)
        self.head: Any = nn.Linear(n_filters, 2) if has_output else None
        self.counts, self.dropout = dict(filters), dropout

    def initialise(self, rng: torch.Generator) -> None:

        def normal(layer: Any) -> None:
            nn.init.trunc_normal_(layer.weight, std=0.1, a=-0.2, b=0.2, generator=rng)
            layer.bias.fill_(0.1)

        self.words.weight.uniform_(-1, 1, generator=rng)
        for bank in self.filters:
            normal(bank)
        for layer in (self.highway, self.gate):
            nn.init.xavier_uniform_(layer.weight, generator=rng)
            layer.bias.zero_()
        if self.head is not None:
            normal(self.head)

    def forward(self, sentences: Sentences, rng: torch.Generator | None = None) -> Tensor:
        logits = self.logits(sentences, rng).cpu().double()
        return logits[:, 1] - logits[:, 0]

    def loss(self, sentences: Sentences, is_real: IntArray, rng: torch.Generator | None) -> Tensor:
        """Return the mean cross-entropy, in nats per sentence, with the penalty on the output layer; a scalar."""
        labels = torch.from_numpy(is_real).to(self.device)
        cross_entropy = nn.functional.cross_entropy(self.logits(sentences, rng), labels)
        loss: Tensor = cross_entropy + L2 * sum((weight**2).sum() / 2 for weight in self.head.parameters())
        return loss

    def logits(self, sentences: Sentences, rng: torch.Generator | None = None) -> Tensor:
        """Return the logits of generated and real, shape (N, 2)."""
        logits: Tensor = self.head(self.features(sentences, rng))
        return logits

    def features(self, sentences: Sentences, rng: torch.Generator | None = None) -> Tensor:
        """Return what the output layer reads of each sentence, at least 0, shape (N, filters)."""
        on_cpu = self.device.type == "cpu"
        pooled = self.pooled_by_look_up(sentences) if on_cpu else self.pooled_by_convolution(sentences)
        y = torch.relu(pooled + torch.cat([bank.bias for bank in self.filters]))  # (n, filters)
        gate = torch.sigmoid(self.gate(y))
        y = gate * torch.relu(self.highway(y)) + (1 - gate) * y
        if rng is not None:
            y = y * (torch.rand(y.shape, generator=rng, device=y.device) >= self.dropout) / (1 - self.dropout)
        return y

    def pooled_by_look_up(self, sentences: Sentences) -> Tensor:
        """Return the largest value of each filter over each sentence, shape (N, filters), by table look-up."""
        distinct, local = np.unique(sentences.words, return_inverse=True)
        filters = [bank.weight.permute(1, 2, 0).flatten(1) for bank in self.filters]
        vectors = self.words.weight.index_select(0, torch.from_numpy(distinct))
        table = vectors @ torch.cat(filters, dim=1)  # (distinct words, window x filters, for each window)
        pooled: Tensor = _LookUp.apply(table, local.astype(np.int32), sentences.offsets, self.counts)  # type: ignore[no-untyped-call]
        return pooled

    def pooled_by_convolution(self, sentences: Sentences) -> Tensor:
        """Return the same as `pooled_by_look_up`, as PyTorch would: faster on a GPU."""
        vectors = self.words(torch.from_numpy(sentences.padded()).to(self.device)).transpose(1, 2)
        pooled = [nn.functional.conv1d(vectors, bank.weight).amax(2) for bank in self.filters]
        return torch.cat(pooled, dim=1)


class _LookUp(torch.autograd.Function):
    """From table, words and offsets to the pooled sums, shape (N, filters)."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, words: npt.NDArray[np.int32], offsets: IntArray, counts: Mapping[int, int]
    ) -> Tensor:
        pooled = np.empty((len(offsets) - 1, sum(counts.values())), dtype=np.float32)
        where = np.empty(pooled.shape, dtype=np.int32)
        numbers = table.detach().numpy()
        for window, (column, first, n_filters) in _layout(counts).items():
            pool(numbers, column, words, offsets, window, pooled, where, first, n_filters)
        ctx.table_shape, ctx.words, ctx.where, ctx.counts = table.shape, words, where, counts
        return torch.from_numpy(pooled)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        table = np.zeros(ctx.table_shape, dtype=np.float32)
        gradient = gradients[0].contiguous().numpy()
        for window, (column, first, n_filters) in _layout(ctx.counts).items():
            spread(gradient, ctx.words, ctx.where, first, n_filters, window, table, column)
        return torch.from_numpy(table), None, None, None


class RecurrentNetwork(JudgeNetwork):
    """An LSTM over word vectors, or over windows of three words; mean, largest and last output are read."""

    def __init__(self, n_words: int, *, width: int, dropout: float, convolution: bool, pooling: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, width)
        self.lstm = LstmLayer(width, width)
        self.head = nn.Linear(3 * width, 1)
        self.filters = nn.Conv1d(width, width, _WINDOW, padding=_WINDOW // 2) if convolution else None
        self.width, self.dropout, self.pooling = width, dropout, pooling

    def initialise(self, rng: torch.Generator) -> None:
        self.words.weight.normal_(std=0.3, generator=rng)
        for weight in (self.lstm.weight_ih, self.lstm.weight_hh):
            _even(weight, rng)
        self.lstm.initialise_bias()
        layers: list[Any] = [self.head, *([] if self.filters is None else [self.filters])]
        for layer in layers:
            _even(layer.weight, rng)
            layer.bias.zero_()

    def forward(self, sentences: Sentences, rng: torch.Generator | None = None) -> Tensor:
        words, inside = padded_words(sentences, self.device)  # (n, length)
        vectors = dropped(self.words(words), self.dropout, rng)  # (n, length, width)
        if self.filters is not None:
            vectors = vectors * inside[..., None]
            hidden = torch.relu(self.filters(vectors.transpose(1, 2)))
            if self.pooling > 1:  # what a pool reaches beyond the end of the sentence adds nothing
                hidden = nn.functional.max_pool1d(hidden * inside[:, None], self.pooling, ceil_mode=True)
                inside = inside[:, :: self.pooling]
            vectors = hidden.transpose(1, 2)  # (n, length / pooling, width)
        zeros = vectors.new_zeros(len(words), self.width)
        outputs, _, _ = self.lstm(vectors, zeros, zeros)
        read = torch.cat(summaries(outputs, inside), 1)
        odds: Tensor = self.head(dropped(read, self.dropout, rng))[:, 0]
        return odds


class TransformerLayer(nn.Module):
    """Attention that looks back, and feed-forward layers, each after a layer norm, each added to what came in."""

    def __init__(self, width: int, heads: int, mlp_ratio: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Linear(width, 3 * width, bias=False)
        self.attention_output = nn.Linear(width, width, bias=False)
        self.mlp = nn.Linear(width, mlp_ratio * width)
        self.mlp_output = nn.Linear(mlp_ratio * width, width)
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.mlp_norm = nn.LayerNorm(width, bias=False)
        self.heads, self.dropout = heads, dropout

    def forward(self, vectors: Tensor, rng: torch.Generator | None) -> Tensor:
        n, length, width = vectors.shape
        qkv = self.attention(self.attention_norm(vectors)).view(n, length, 3, self.heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        attended = attended.transpose(1, 2).reshape(n, length, width)
        vectors = vectors + dropped(self.attention_output(attended), self.dropout, rng)
        mlp_output = self.mlp_output(nn.functional.gelu(self.mlp(self.mlp_norm(vectors))))
        return vectors + dropped(mlp_output, self.dropout, rng)


class TransformerNetwork(JudgeNetwork):
    """A small transformer that can predict words, too; mean, largest and last vector are read."""

    def __init__(self, n_words: int, *, width: int, layers: int, heads: int, mlp_ratio: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, width)
        self.layers: Any = nn.ModuleList(TransformerLayer(width, heads, mlp_ratio, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        self.next_word = nn.ParameterDict({"bias": torch.empty(n_words)})
        self.head = nn.Linear(3 * width, 1)
        self.width, self.dropout = width, dropout

    def initialise(self, rng: torch.Generator) -> None:
        """Draw the weights; those of a layer's output are small, so that it adds little."""

        def normal(weight: Tensor, scale: float = 1.0) -> None:
            weight.normal_(std=scale / math.sqrt(weight.shape[-1]), generator=rng)

        normal(self.words.weight)
        output_scale = 1 / math.sqrt(2 * len(self.layers))
        for layer in self.layers:
            normal(layer.attention.weight)
            normal(layer.attention_output.weight, output_scale)
            normal(layer.mlp.weight)
            normal(layer.mlp_output.weight, output_scale)
            for part in (layer.mlp, layer.mlp_output):
                part.bias.zero_()
            for norm in (layer.attention_norm, layer.mlp_norm):
                norm.weight.fill_(1.0)
        self.norm.weight.fill_(1.0)
        self.next_word["bias"].zero_()
        normal(self.head.weight)
        self.head.bias.zero_()

    def forward(self, sentences: Sentences, rng: torch.Generator | None = None) -> Tensor:
        words, inside = padded_words(sentences, self.device)
        read = torch.cat(summaries(self.read(words, rng), inside), 1)
        odds: Tensor = self.head(dropped(read, self.dropout, rng))[:, 0]
        return odds

    def word_loss(self, sentences: Sentences, rng: torch.Generator | None) -> Tensor:
        """Return the mean cross-entropy of each next word, a scalar; padding begins and ends a sentence."""
        words, inside = padded_words(sentences, self.device)
        inputs = nn.functional.pad(words[:, :-1], (1, 0), value=PAD)
        logits = nn.functional.linear(self.read(inputs, rng)[inside], self.words.weight, self.next_word["bias"])
        return nn.functional.cross_entropy(logits, words[inside])

    def read(self, words: Tensor, rng: torch.Generator | None) -> Tensor:
        """Return the vector of each word after the last layer, shape (N, length, width)."""
        vectors = math.sqrt(self.width) * self.words(words) + self._positions(words.shape[1]).to(words.device)
        vectors = dropped(vectors, self.dropout, rng)
        for layer in self.layers:
            vectors = layer(vectors, rng)
        normed: Tensor = self.norm(vectors)
        return normed

    def _positions(self, length: int) -> Tensor:
        """Return a vector for each place, sines and cosines of falling frequency, shape (length, width)."""
        angles = np.arange(length)[:, None] * 10_000.0 ** (-np.arange(0, self.width, 2) / self.width)
        return torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32))


class NgramNetwork(JudgeNetwork):
    """Layers over counts at each token, and over sums over the sentence; `n_numbers`: of a sentence."""

    def __init__(
        self, n_words: int, n_numbers: int, *, max_order: int, word_width: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, word_width) if word_width else None
        self.token = nn.Linear(_NUMBERS * max_order + 2 * (max_order - 1) + word_width, width)
        self.window = nn.Conv1d(width, width, _WINDOW, padding=_WINDOW // 2)
        self.deeper = nn.Linear(width, width)
        self.sentence = nn.Linear(3 * width + n_numbers, width)
        self.head = nn.Linear(4 * width + n_numbers, 1)
        self.word_width, self.dropout = word_width, dropout

    def initialise(self, rng: torch.Generator) -> None:
        if self.words is not None:
            self.words.weight.normal_(std=0.1, generator=rng)
        layers: list[Any] = [self.token, self.window, self.deeper, self.sentence, self.head]
        for layer in layers:
            _even(layer.weight, rng)
            layer.bias.zero_()

    def forward(self, sentences: CountedSentences, rng: torch.Generator | None = None) -> Tensor:
        gelu = nn.functional.gelu
        words = torch.from_numpy(sentences.sentences.padded()[:, :-N_PADS]).to(self.device)  # (n, length)
        counts = torch.from_numpy(sentences.padded_counts()[:, :-N_PADS]).to(self.device)
        inside = counts[:, :, 0, 0] >= 0
        inputs = _token_inputs(counts)
        if self.words is not None:
            inputs = torch.cat([inputs, self.words(words)], 2)
        here = inside[..., None]
        tokens = gelu(self.token(inputs)) * here  # (n, length, width)
        tokens = tokens + gelu(self.window(tokens.transpose(1, 2)).transpose(1, 2))
        tokens = (tokens + gelu(self.deeper(tokens))) * here
        mean, most = pooled(tokens, inside)
        hidden = dropped(torch.cat([tokens.sum(1) / _PER_SENTENCE, mean, most], 1), self.dropout, rng)
        hidden = torch.cat([hidden, torch.from_numpy(sentences.numbers).to(self.device)], 1)
        deep = gelu(self.sentence(hidden))
        odds: Tensor = self.head(torch.cat([hidden, deep], 1))[:, 0]
        return odds


def _even(weight: Tensor, rng: torch.Generator) -> None:
    scale = 1 / math.sqrt(math.prod(weight.shape[1:]))
    weight.uniform_(-scale, scale, generator=rng)


def summaries(vectors: Tensor, inside: Tensor) -> list[Tensor]:
    """Return mean, maximum and last of the vectors (N, length, width) of each sentence, each (N, width)."""
    last = vectors[torch.arange(len(vectors), device=vectors.device), inside.sum(1) - 1]
    return [*pooled(vectors, inside), last]


def padded_words(sentences: Sentences, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the rows of the word vectors of N sentences and their ends, and which they are, both (N, length)."""
    table = sentences.padded()[:, : 1 - N_PADS]
    inside: npt.NDArray[np.bool_] = np.arange(table.shape[1]) < (np.diff(sentences.offsets) - N_PADS + 1)[:, None]
    return torch.from_numpy(table).to(device), torch.from_numpy(inside).to(device)


def pooled(vectors: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and maximum over each sentence, both (N, width), of vectors (N, length, width)."""
    here = inside[..., None].to(vectors)
    mean = (vectors * here).sum(1) / here.sum(1)
    return mean, (vectors - _FAR * (1 - here)).amax(1)


def _token_inputs(counts: Tensor) -> Tensor:
    """Return what is read at each token: numbers of the n-grams that end there, and of the contexts before it.

    `counts`: shape (n, length, max_order, 2), below 0 where there is no n-gram.

    Shape (n, length, 5 max_order + 2 (max_order - 1)).
    """
    present = counts[..., 0] >= 0
    known = counts.clamp(min=0).float()
    logs = torch.log1p(known) / 3
    real, generated = known.unbind(-1)
    contrast = torch.log((real + 0.5) / (generated + 0.5))
    only = [((first == 0) & (second > 0) & present).float() for first, second in ((real, generated), (generated, real))]
    before = torch.nn.functional.pad(logs[:, :-1, :-1], (0, 0, 0, 0, 1, 0)).flatten(2)
    return torch.cat([logs.flatten(2), contrast, *only, before], 2)


def _layout(counts: Mapping[int, int]) -> dict[int, tuple[int, int, int]]:
    """Return, for each window, its first column in the table, its first filter and how many it has."""
    layout, column, first = {}, 0, 0
    for window, n_filters in counts.items():
        layout[window] = (column, first, n_filters)
        column, first = column + window * n_filters, first + n_filters
    return layout
