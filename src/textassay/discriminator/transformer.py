"""A small transformer that tells real from generated sentences, from scratch or pre-trained as a language model.

Pre-training predicts each next word of both sides' training sentences, without saying which side they are from; the
same layers then learn to tell the sides apart. Attention looks back only, so that both tasks read a sentence alike.

Sources: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; Radford et al., "Improving Language Understanding by
Generative Pre-Training", 2018.
Departs from them: layer norms stand before the layers, and the mean, the maximum and the last vector are read.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textassay.discriminator.base import setting
from textassay.discriminator.network import (
    PAD,
    Sentences,
    WordNetworkDiscriminator,
    WordRows,
    padded_words,
    pooled,
    seeded,
)
from textassay.training import Recipe, dropped, train

if TYPE_CHECKING:
    import torch
    from torch import Tensor


CLASSIFYING = Recipe(max_epochs=6, learning_rate=1e-3, averaging=0.99, max_norm=1.0)
PRETRAINING = Recipe(max_epochs=4, learning_rate=2e-3, schedule="linear", max_norm=1.0)

_WIDTH = 64
_LAYERS = 2
_HEADS = 4
_MLP_RATIO = 4
_DROPOUT = 0.1


@dataclass(eq=False, kw_only=True)
class TransformerDiscriminator(WordNetworkDiscriminator):
    """Small transformer; needs the extra ``neural``."""

    pretraining: Recipe | None = setting(None, "how it learns to predict words first; not at all where None")
    recipe: Recipe = CLASSIFYING

    @property
    def name(self) -> str:
        """``transformer``, or ``transformer-pretrained``."""
        return "transformer" if self.pretraining is None else "transformer-pretrained"

    @property
    def network(self) -> str:
        """The layers, and how they are pre-trained."""
        before = self.pretraining
        pretrained = "" if before is None else f", {before.max_epochs} epochs of words at {before.learning_rate:g}"
        return f"{_WIDTH}-d, {_LAYERS} layers of {_HEADS} heads, dropout {_DROPOUT}{pretrained}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the initial weights; those of a layer's output are small, so that it adds little."""
        import torch

        def normal(*shape: int, scale: float = 1.0) -> "Tensor":
            return torch.nn.init.normal_(torch.empty(shape), std=scale / math.sqrt(shape[-1]), generator=rng)

        weights = {"words": normal(encoder.n_rows, _WIDTH)}
        output_scale = 1 / math.sqrt(2 * _LAYERS)
        for layer in range(_LAYERS):
            weights[f"layer {layer} attention"] = normal(3 * _WIDTH, _WIDTH)
            weights[f"layer {layer} attention output"] = normal(_WIDTH, _WIDTH, scale=output_scale)
            weights[f"layer {layer} mlp"] = normal(_MLP_RATIO * _WIDTH, _WIDTH)
            weights[f"layer {layer} mlp bias"] = torch.zeros(_MLP_RATIO * _WIDTH)
            weights[f"layer {layer} mlp output"] = normal(_WIDTH, _MLP_RATIO * _WIDTH, scale=output_scale)
            weights[f"layer {layer} mlp output bias"] = torch.zeros(_WIDTH)
            for part in ("attention", "mlp"):
                weights[f"layer {layer} {part} norm"] = torch.ones(_WIDTH)
        weights["norm"] = torch.ones(_WIDTH)
        weights["next bias"] = torch.zeros(encoder.n_rows)
        weights["output"] = normal(1, 3 * _WIDTH)
        weights["output bias"] = torch.zeros(1)
        return weights

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        import torch

        words, inside = padded_words(sentences, weights["words"].device)
        vectors = _read(weights, words, rng)
        last = vectors[torch.arange(len(words), device=words.device), inside.sum(1) - 1]
        hidden = dropped(torch.cat([*pooled(vectors, inside), last], 1), _DROPOUT, rng)
        odds: Tensor = torch.nn.functional.linear(hidden, weights["output"], weights["output bias"])[:, 0]
        return odds

    def pretrain(
        self, weights: "Mapping[str, Tensor]", sides: tuple[Sentences, Sentences], seed: int
    ) -> dict[str, Any]:
        """Teach the layers to predict words, for as many epochs as asked; the last is kept."""
        import torch

        if self.pretraining is None:
            return {}
        device = weights["words"].device

        def loss(rows: "tuple[Any, Any]", rng: "torch.Generator") -> "Tensor":
            chosen = Sentences.concatenate([side.take(part) for side, part in zip(sides, rows, strict=True)])
            words, inside = padded_words(chosen, device)
            inputs = torch.nn.functional.pad(words[:, :-1], (1, 0), value=PAD)  # padding begins and ends a sentence
            vectors = _read(weights, inputs, rng)[inside]
            logits = torch.nn.functional.linear(vectors, weights["words"], weights["next bias"])
            return torch.nn.functional.cross_entropy(logits, words[inside])

        n_scored = 0

        def score() -> float:
            nonlocal n_scored
            n_scored += 1
            return n_scored

        pretrained = {name: weight for name, weight in weights.items() if not name.startswith("output")}
        batches = seeded(len(sides[0]), len(sides[1]), self.batch_size, seed)
        history = train(pretrained, batches=batches, loss=loss, score=score, recipe=self.pretraining, seed=seed)
        return {"pretraining_losses": [epoch.loss for epoch in history.epochs]}


def _read(weights: "Mapping[str, Tensor]", words: "Tensor", rng: "torch.Generator | None") -> "Tensor":
    """Return the vector of each word after the last layer, shape (N, length, width)."""
    import torch
    from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

    n, length = words.shape
    positions = _positions(length).to(weights["words"].device)
    vectors = math.sqrt(_WIDTH) * torch.nn.functional.embedding(words, weights["words"]) + positions
    vectors = dropped(vectors, _DROPOUT, rng)
    for layer in range(_LAYERS):
        of_layer = {name.removeprefix(f"layer {layer} "): weight for name, weight in weights.items()}
        normed = layer_norm(vectors, (_WIDTH,), of_layer["attention norm"])
        query, key, value = linear(normed, of_layer["attention"]).view(n, length, 3, _HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, is_causal=True)  # (n, heads, length, head width)
        attended = attended.transpose(1, 2).reshape(n, length, _WIDTH)
        vectors = vectors + dropped(linear(attended, of_layer["attention output"]), _DROPOUT, rng)
        normed = layer_norm(vectors, (_WIDTH,), of_layer["mlp norm"])
        hidden = gelu(linear(normed, of_layer["mlp"], of_layer["mlp bias"]))
        mlp_output = linear(hidden, of_layer["mlp output"], of_layer["mlp output bias"])
        vectors = vectors + dropped(mlp_output, _DROPOUT, rng)
    return layer_norm(vectors, (_WIDTH,), weights["norm"])


def _positions(length: int) -> "Tensor":
    """Return a vector for each place in a sentence, sines and cosines of falling frequency, shape (length, width)."""
    import torch

    angles = np.arange(length)[:, None] * 10_000.0 ** (-np.arange(0, _WIDTH, 2) / _WIDTH)
    return torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32))
