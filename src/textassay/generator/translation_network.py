"""The encoder-decoder transformer.

Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017: sinusoidal positions, layer norm after each part,
embeddings scaled by the square root of the width. Departs from it as the public code of the study of exposure bias
does: dropout on embeddings and residual branches, none on attention; only the decoder's embeddings are tied to the
output layer; Glorot and Bengio's initial weights (AISTATS 2010).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.corpus import PAD, SOS
from textassay.generator.cross_entropy import linear_cross_entropy
from textassay.generator.reader import Weights
from textassay.training import dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_EPSILON = 1e-5  # added to variances in layer norm
_SLOWEST = 10_000.0  # wave lengths of position encodings go from 2 pi to 2 pi times this (the source)

Cache = list[tuple["Tensor", "Tensor"]]  # keys and values of each layer, (R, heads, L, size)


@dataclass(frozen=True)
class TranslationNetwork:
    """The network's settings; methods take the weights."""

    width: int  # embedding dimension, a multiple of `heads`
    inner: int  # width of the feed-forward layers
    encoder_layers: int
    decoder_layers: int
    heads: int
    dropout: float
    smoothing: float  # label smoothing: share of the target probability that is spread evenly over all types

    def shapes(self, n_types: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        width = self.width
        shapes: dict[str, tuple[int, ...]] = {"source words": (n_types, width), "words": (n_types, width)}
        for side, layers in (("encoder", self.encoder_layers), ("decoder", self.decoder_layers)):
            attentions = ("self",) if side == "encoder" else ("self", "source")
            for layer in range(layers):
                block = f"{side}.{layer}"
                for part in attentions:
                    for name, rows in (("query", width), ("memory", 2 * width), ("out", width)):
                        shapes[f"{block}.{part}.{name}"] = (rows, width)
                        shapes[f"{block}.{part}.{name} bias"] = (rows,)
                for name, shape in (("rise", (self.inner, width)), ("fall", (width, self.inner))):
                    shapes[f"{block}.{name}"] = shape
                    shapes[f"{block}.{name} bias"] = shape[:1]
                for part in (*attentions, "inner"):
                    shapes[f"{block}.{part} scale"] = (width,)
                    shapes[f"{block}.{part} shift"] = (width,)
        return shapes

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights of these shapes."""
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
        """Return the encoder's hidden states, shape (B, S, width), of sentences (B, S) padded with ``<pad>``."""
        source_mask = (source != PAD)[:, None, None]  # (B, 1, 1, S)
        vectors = self._embedded(weights, "source words", source, 0, rng)
        for layer in range(self.encoder_layers):
            block = f"encoder.{layer}"
            keys, values = self._memory(weights, f"{block}.self", vectors)
            attention_output = self._attention(weights, f"{block}.self", vectors, keys, values, source_mask)
            vectors = self._residual(weights, f"{block}.self", vectors, attention_output, rng)
            vectors = self._mlp(weights, block, vectors, rng)
        return vectors

    def decode(
        self,
        weights: Weights,
        source: "Tensor",
        encoded: "Tensor",
        inputs: "Tensor",
        rng: "torch.Generator | None" = None,
    ) -> "Tensor":
        """Return the decoder's hidden state after each token of `inputs`, (B, L), shape (B, L, width).

        `source`: ids, shape (B, S); `encoded`: their hidden states from `encode`.
        """
        return self._read(
            weights, inputs, 0, None, self.memories(weights, encoded), (source != PAD)[:, None, None], rng
        )

    def memories(self, weights: Weights, encoded: "Tensor") -> Cache:
        """Return keys and values of the source for each layer of the decoder, shapes (B, heads, S, size)."""
        return [self._memory(weights, f"decoder.{layer}.source", encoded) for layer in range(self.decoder_layers)]

    def empty_cache(self, weights: Weights, n: int) -> Cache:
        """Return the empty cache of `n` hypotheses."""
        empty = weights["words"].new_empty((n, self.heads, 0, self.width // self.heads))
        return [(empty, empty)] * self.decoder_layers

    def step(
        self,
        weights: Weights,
        inputs: "Tensor",
        position: int,
        cache: Cache,
        memories: Cache,
        source_mask: "Tensor",
    ) -> "Tensor":
        """Return the hidden states after the tokens at `position`, shape (B, K, width), of K hypotheses a source.

        `inputs`: shape (B, K); `cache`: keys and values of earlier positions of each layer, shapes (B K, heads,
        position, size); `memories`: from `memories`; `source_mask`: where sources are not padding, shape (B, 1, 1, S).
        """
        batch, places = inputs.shape
        vectors = self._read(weights, inputs.reshape(-1, 1), position, cache, memories, source_mask, None)
        return vectors.view(batch, places, self.width)

    def loss(self, weights: Weights, vectors: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the mean label-smoothed cross-entropy of the types `targets`, (N,), after hidden states (N, width)."""
        matrix, bias = self.output_layer(weights)
        loss = linear_cross_entropy(vectors, matrix, bias, targets)
        if self.smoothing == 0:
            return loss
        # against (1 - e) target + e uniform, it grows by e times the target logit less the mean logit
        mean = (matrix.sum(0) - matrix[PAD] - matrix[SOS]) / (len(matrix) - 2)
        return loss + self.smoothing * (vectors.float() * (matrix[targets] - mean)).sum(1).mean()

    def logits(self, weights: Weights, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token, shape (N, V), float32, after vectors (N, width); -inf: never."""
        import torch

        return torch.nn.functional.linear(vectors, *self.output_layer(weights)).float()

    def output_layer(self, weights: Weights) -> "tuple[Tensor, Tensor]":
        """Return the embeddings, to which the output layer is tied, and a bias of -inf for excluded types."""
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
        source_mask: "Tensor",
        rng: "torch.Generator | None",
    ) -> "Tensor":
        """Return the hidden states after `inputs`, (R, L): whole rows, or with a cache their next token."""
        import torch

        rows, length = inputs.shape
        n_sources = len(source_mask)
        vectors = self._embedded(weights, "words", inputs, position, rng)
        for layer in range(self.decoder_layers):
            block = f"decoder.{layer}"
            keys, values = self._memory(weights, f"{block}.self", vectors)
            if cache is not None:
                keys, values = (torch.cat(both, 2) for both in zip(cache[layer], (keys, values), strict=True))
                cache[layer] = keys, values
            attended = self._attention(weights, f"{block}.self", vectors, keys, values, None, is_causal=cache is None)
            vectors = self._residual(weights, f"{block}.self", vectors, attended, rng)
            queries = vectors.view(
                n_sources, rows * length // n_sources, self.width
            )  # translations of one source side by side
            attended = self._attention(weights, f"{block}.source", queries, *memories[layer], source_mask)
            vectors = self._residual(weights, f"{block}.source", vectors, attended.view(rows, length, self.width), rng)
            vectors = self._mlp(weights, block, vectors, rng)
        return vectors

    def _embedded(
        self, weights: Weights, name: str, tokens: "Tensor", position: int, rng: "torch.Generator | None"
    ) -> "Tensor":
        import torch

        words = torch.nn.functional.embedding(tokens, weights[name]) * math.sqrt(self.width)
        encodings = self._position_encodings(position, tokens.shape[1], words)
        return dropped(words + encodings, self.dropout, rng)

    def _position_encodings(self, start: int, length: int, like: "Tensor") -> "Tensor":
        """Return the sinusoidal position encodings, shape (L, width)."""
        import torch

        half = self.width // 2
        speeds = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(_SLOWEST) / max(half - 1, 1)))
        angles = torch.arange(start, start + length, dtype=torch.float64)[:, None] * speeds
        encodings = torch.cat((torch.sin(angles), torch.cos(angles)), 1)
        return torch.nn.functional.pad(encodings, (0, self.width % 2)).to(device=like.device, dtype=like.dtype)

    def _memory(self, weights: Weights, name: str, vectors: "Tensor") -> "tuple[Tensor, Tensor]":
        """Return keys and values, each (B, heads, L, size)."""
        keys, values = _linear(weights, f"{name}.memory", vectors).chunk(2, -1)
        return self._split_heads(keys), self._split_heads(values)

    def _split_heads(self, vectors: "Tensor") -> "Tensor":
        return vectors.view(*vectors.shape[:2], self.heads, -1).transpose(1, 2)

    def _attention(
        self,
        weights: Weights,
        name: str,
        vectors: "Tensor",
        keys: "Tensor",
        values: "Tensor",
        mask: "Tensor | None",
        *,
        is_causal: bool = False,
    ) -> "Tensor":
        """Return the attention output for `vectors`, shape (B, L, width)."""
        import torch

        queries = self._split_heads(_linear(weights, f"{name}.query", vectors))
        if torch.is_grad_enabled():  # the fused kernel's backward pass takes four times as long on short sentences
            scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])  # (B, heads, L, S)
            if is_causal:
                mask = scores.new_ones(scores.shape[2:], dtype=torch.bool).tril()
            attention_weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf), -1)
            attention_output = attention_weights.to(values.dtype) @ values
        else:
            attend = torch.nn.functional.scaled_dot_product_attention
            attention_output = attend(queries, keys, values, attn_mask=mask, is_causal=is_causal)
        return _linear(weights, f"{name}.out", attention_output.transpose(1, 2).flatten(2))

    def _mlp(self, weights: Weights, block: str, vectors: "Tensor", rng: "torch.Generator | None") -> "Tensor":
        """Return the vectors after the feed-forward layers, residual connection and layer norm."""
        mlp_output = _linear(weights, f"{block}.fall", _linear(weights, f"{block}.rise", vectors).relu())
        return self._residual(weights, f"{block}.inner", vectors, mlp_output, rng)

    def _residual(
        self, weights: Weights, name: str, vectors: "Tensor", update: "Tensor", rng: "torch.Generator | None"
    ) -> "Tensor":
        import torch

        scale, shift = weights[f"{name} scale"], weights[f"{name} shift"]
        both = vectors + dropped(update, self.dropout, rng)
        return torch.nn.functional.layer_norm(both, (self.width,), scale, shift, _EPSILON)


def _linear(weights: Weights, name: str, vectors: "Tensor") -> "Tensor":
    import torch

    return torch.nn.functional.linear(vectors, weights[name], weights[f"{name} bias"])
