"""The encoder-decoder transformer: a network that reads a source, and then what was written of its translation.

Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017: sinusoidal positions, layer norm after each part,
word vectors scaled by the square root of the width. Departs from it as the public code of the study of exposure bias
does: dropout on embeddings and on what each part adds, none on attention; only the decoder's word vectors are shared
with its output layer; weights begin as Glorot and Bengio (AISTATS 2010) have it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.corpus import PAD, SOS
from textassay.network import Weights, linear_cross_entropy
from textassay.training import dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_EPSILON = 1e-5  # added to variances in layer norm
_SLOWEST = 10_000.0  # wave lengths of positions go up to so many times 2 pi (the source)

Cache = list[tuple["Tensor", "Tensor"]]  # keys and values of each layer, (R, heads, L, size)


@dataclass(frozen=True)
class TranslationNetwork:
    """Sizes, and what is computed with weights of these sizes."""

    width: int  # Numbers in a word vector, a multiple of `heads`
    inner: int  # Width of the inner layers
    # At least 1
    encoder_layers: int
    decoder_layers: int
    heads: int
    dropout: float  # Share that is left out in training
    smoothing: float  # Share of the wanted probability that is spread evenly over all types, in training

    def shapes(self, n_types: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        width = self.width
        shapes: dict[str, tuple[int, ...]] = {"source words": (n_types, width), "words": (n_types, width)}
        for side, layers in (("encoder", self.encoder_layers), ("decoder", self.decoder_layers)):
            listens = ("self",) if side == "encoder" else ("self", "source")
            for layer in range(layers):
                block = f"{side}.{layer}"
                for part in listens:
                    for name, rows in (("query", width), ("memory", 2 * width), ("out", width)):
                        shapes[f"{block}.{part}.{name}"] = (rows, width)
                        shapes[f"{block}.{part}.{name} bias"] = (rows,)
                for name, shape in (("rise", (self.inner, width)), ("fall", (width, self.inner))):
                    shapes[f"{block}.{name}"] = shape
                    shapes[f"{block}.{name} bias"] = shape[:1]
                for part in (*listens, "inner"):
                    shapes[f"{block}.{part} scale"] = (width,)
                    shapes[f"{block}.{part} shift"] = (width,)
        return shapes

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return weights of these shapes as they begin."""
        import torch

        weights = {}
        for name, shape in shapes.items():
            if name.endswith("scale"):
                weights[name] = torch.ones(shape)
            elif len(shape) == 1:
                weights[name] = torch.zeros(shape)
            elif "words" in name:
                weights[name] = torch.empty(shape).normal_(0.0, self.width**-0.5, generator=rng)
            else:
                rows = self.width if name.endswith("memory") else shape[0]  # keys and values are two matrices
                bound = math.sqrt(6 / (rows + shape[1]))
                weights[name] = torch.empty(shape).uniform_(-bound, bound, generator=rng)
        return weights

    def encode(self, weights: Weights, source: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return what is known of each token, shape (B, S, width), of sentences (B, S) padded with ``<pad>``."""
        heard = (source != PAD)[:, None, None]  # (B, 1, 1, S)
        vectors = self._embedded(weights, "source words", source, 0, rng)
        for layer in range(self.encoder_layers):
            block = f"encoder.{layer}"
            keys, values = self._memory(weights, f"{block}.self", vectors)
            told = self._told(weights, f"{block}.self", vectors, keys, values, heard)
            vectors = self._added(weights, f"{block}.self", vectors, told, rng)
            vectors = self._thought(weights, block, vectors, rng)
        return vectors

    def decode(
        self,
        weights: Weights,
        source: "Tensor",
        known: "Tensor",
        inputs: "Tensor",
        rng: "torch.Generator | None" = None,
    ) -> "Tensor":
        """Return the vector after each token of `inputs`, (B, L), that stands for the next one: (B, L, width).

        `source` are the ids, `known` what `encode` gave of them.
        """
        return self._read(weights, inputs, 0, None, self.memories(weights, known), (source != PAD)[:, None, None], rng)

    def memories(self, weights: Weights, known: "Tensor") -> Cache:
        """Return keys and values of the source for each layer of the decoder, shapes (B, heads, S, size)."""
        return [self._memory(weights, f"decoder.{layer}.source", known) for layer in range(self.decoder_layers)]

    def nothing_read(self, weights: Weights, n: int) -> Cache:
        """Return the keys and values of `n` beginnings of translations without tokens."""
        empty = weights["words"].new_empty((n, self.heads, 0, self.width // self.heads))
        return [(empty, empty)] * self.decoder_layers

    def step(
        self,
        weights: Weights,
        inputs: "Tensor",
        position: int,
        cache: Cache,
        memories: Cache,
        heard: "Tensor",
    ) -> "Tensor":
        """Return the vectors after the tokens at `position`, shape (B, K, width), of K translations of each source.

        `inputs`: shape (B, K); `cache`: keys and values of what was read, of each layer, shapes (B K, heads, position,
        size); `memories`, `heard`: what `memories` gave, and which tokens of the sources are none of padding, shape (B,
        1, 1, S).
        """
        batch, places = inputs.shape
        vectors = self._read(weights, inputs.reshape(-1, 1), position, cache, memories, heard, None)
        return vectors.view(batch, places, self.width)

    def loss(self, weights: Weights, vectors: "Tensor", wanted: "Tensor") -> "Tensor":
        """Return the mean smoothed cross-entropy of the types `wanted`, (N,), after vectors (N, width)."""
        matrix, bias = self.output_layer(weights)
        loss = linear_cross_entropy(vectors, matrix, bias, wanted)
        if self.smoothing == 0:
            return loss
        # against (1 - e) wanted + e even, it grows by e times how much higher the wanted logit is than the mean
        mean = (matrix.sum(0) - matrix[PAD] - matrix[SOS]) / (len(matrix) - 2)
        return loss + self.smoothing * (vectors.float() * (matrix[wanted] - mean)).sum(1).mean()

    def logits(self, weights: Weights, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token, shape (N, V), float32, after vectors (N, width); -inf: never."""
        import torch

        return torch.nn.functional.linear(vectors, *self.output_layer(weights)).float()

    def output_layer(self, weights: Weights) -> "tuple[Tensor, Tensor]":
        """Return the word vectors, to which the output layer is tied, and a bias that shuts out what never comes."""
        matrix = weights["words"]
        bias = matrix.new_zeros(len(matrix))
        bias[[PAD, SOS]] = -math.inf
        return matrix, bias

    def _read(
        self,
        weights: Weights,
        inputs: "Tensor",
        position: int,
        cache: Cache | None,
        memories: Cache,
        heard: "Tensor",
        rng: "torch.Generator | None",
    ) -> "Tensor":
        """Return the vectors after `inputs`, (R, L): all that is read, or with a cache one more token of each row."""
        import torch

        rows, length = inputs.shape
        n_sources = len(heard)
        vectors = self._embedded(weights, "words", inputs, position, rng)
        for layer in range(self.decoder_layers):
            block = f"decoder.{layer}"
            keys, values = self._memory(weights, f"{block}.self", vectors)
            if cache is not None:
                keys, values = (torch.cat(both, 2) for both in zip(cache[layer], (keys, values), strict=True))
                cache[layer] = keys, values
            told = self._told(weights, f"{block}.self", vectors, keys, values, None, is_causal=cache is None)
            vectors = self._added(weights, f"{block}.self", vectors, told, rng)
            asking = vectors.view(
                n_sources, rows * length // n_sources, self.width
            )  # translations of one source side by side
            told = self._told(weights, f"{block}.source", asking, *memories[layer], heard)
            vectors = self._added(weights, f"{block}.source", vectors, told.view(rows, length, self.width), rng)
            vectors = self._thought(weights, block, vectors, rng)
        return vectors

    def _embedded(
        self, weights: Weights, name: str, tokens: "Tensor", position: int, rng: "torch.Generator | None"
    ) -> "Tensor":
        import torch

        words = torch.nn.functional.embedding(tokens, weights[name]) * math.sqrt(self.width)
        places = self._places(position, tokens.shape[1], words)
        return dropped(words + places, self.dropout, rng)

    def _places(self, start: int, length: int, like: "Tensor") -> "Tensor":
        """Return the waves that stand for positions, shape (L, width)."""
        import torch

        half = self.width // 2
        speeds = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(_SLOWEST) / max(half - 1, 1)))
        angles = torch.arange(start, start + length, dtype=torch.float64)[:, None] * speeds
        waves = torch.cat((torch.sin(angles), torch.cos(angles)), 1)
        return torch.nn.functional.pad(waves, (0, self.width % 2)).to(device=like.device, dtype=like.dtype)

    def _memory(self, weights: Weights, name: str, vectors: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return keys and values, each (B, heads, L, size)."""
        keys, values = _linear(weights, f"{name}.memory", vectors).chunk(2, -1)
        return self._parted(keys), self._parted(values)

    def _parted(self, vectors: "Tensor") -> "Tensor":
        return vectors.view(*vectors.shape[:2], self.heads, -1).transpose(1, 2)

    def _told(
        self,
        weights: Weights,
        name: str,
        vectors: "Tensor",
        keys: "Tensor",
        values: "Tensor",
        heard: "Tensor | None",
        *,
        is_causal: bool = False,
    ) -> "Tensor":
        """Return what each of (B, L, width) vectors is told by attention, shape (B, L, width)."""
        import torch

        queries = self._parted(_linear(weights, f"{name}.query", vectors))
        if torch.is_grad_enabled():  # the fused kernel's way back takes four times as long on short sentences
            scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])  # (B, heads, L, S)
            if is_causal:
                heard = scores.new_ones(scores.shape[2:], dtype=torch.bool).tril()
            shares = torch.softmax(scores if heard is None else scores.masked_fill(~heard, -math.inf), -1)
            told = shares.to(values.dtype) @ values
        else:
            attend = torch.nn.functional.scaled_dot_product_attention
            told = attend(queries, keys, values, attn_mask=heard, is_causal=is_causal)
        return _linear(weights, f"{name}.out", told.transpose(1, 2).flatten(2))

    def _thought(self, weights: Weights, block: str, vectors: "Tensor", rng: "torch.Generator | None") -> "Tensor":
        """Return the vectors after the inner layer."""
        told = _linear(weights, f"{block}.fall", _linear(weights, f"{block}.rise", vectors).relu())
        return self._added(weights, f"{block}.inner", vectors, told, rng)

    def _added(
        self, weights: Weights, name: str, vectors: "Tensor", told: "Tensor", rng: "torch.Generator | None"
    ) -> "Tensor":
        import torch

        scale, shift = weights[f"{name} scale"], weights[f"{name} shift"]
        both = vectors + dropped(told, self.dropout, rng)
        return torch.nn.functional.layer_norm(both, (self.width,), scale, shift, _EPSILON)


def _linear(weights: Weights, name: str, vectors: "Tensor") -> "Tensor":
    import torch

    return torch.nn.functional.linear(vectors, weights[name], weights[f"{name} bias"])
